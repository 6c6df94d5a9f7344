// Drives `codex app-server` and `codex exec` through the community provider of the AI SDK.

import assert from "node:assert/strict";
import { rmdirSync } from "node:fs";
import { Output, generateText, streamText } from "ai";
import { createCodexAppServer, createCodexExec } from "ai-sdk-provider-codex-cli";
import { z } from "zod";

const codexPath = process.env.CODEX_PROGRAM;
const cwd = process.cwd();
const MODEL = "gpt-5.4";

async function check(name, run) {
  await run();
  console.log(`ok ${name}`);
}

/** The kinds of the parts of an answer. */
async function kinds(model, prompt) {
  const seen = [];
  for await (const part of streamText({ model, prompt }).fullStream) {
    assert.notEqual(part.type, "error", String(part.error));
    seen.push(part.type);
  }
  return seen;
}

const settings = { codexPath, cwd, approvalPolicy: "untrusted", autoApprove: true, logger: false };
const server = createCodexAppServer({ defaultSettings: settings });

await check("ai-sdk-provider-codex-cli: an approved command of the app-server", async () => {
  const seen = await kinds(server(MODEL), "make a folder");
  assert.ok(seen.indexOf("tool-call") < seen.indexOf("tool-approval-request"), seen.join());
  rmdirSync("made");
});

await check("ai-sdk-provider-codex-cli: a thread over two calls", async () => {
  const options = (more) => ({ model: server(MODEL), prompt: "hello", providerOptions: { "codex-app-server": more } });
  const first = await generateText(options({ threadMode: "persistent" }));
  const { threadId } = first.finalStep.providerMetadata["codex-app-server"];
  assert.equal((await generateText(options({ threadId }))).text, "Hello.");
});

await check("ai-sdk-provider-codex-cli: an object, the models, an abort", async () => {
  const output = Output.object({ schema: z.object({ name: z.string() }) });
  const answer = await generateText({ model: server(MODEL), prompt: "as an object", output });
  assert.deepEqual(answer.output, { name: "a" });
  assert.ok((await server.listModels()).models.length > 0);
  const abortSignal = AbortSignal.timeout(500);
  await assert.rejects(generateText({ model: server(MODEL), prompt: "slowly", abortSignal }));
});
await server.close();

const exec = createCodexExec({ defaultSettings: { codexPath, cwd, skipGitRepoCheck: true, logger: false } });
await check("ai-sdk-provider-codex-cli: an answer of exec", async () => {
  assert.ok((await kinds(exec(MODEL), "hello")).includes("text-delta"));
});
process.exit(0);
