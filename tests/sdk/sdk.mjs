// Drives `codex exec` through the official TypeScript SDK with a scripted model.
// Usage: node sdk.mjs PATH_OF_CODEX FOLDER_OF_SCENARIOS

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Codex } from "@openai/codex-sdk";

const [program, scenarios] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), "codex-sdk-"));

// The SDK does not pass flags of ours on, so a script in front of the program adds the scenario.
function codex(scenario) {
  const path = join(home, `${scenario}.sh`);
  const file = join(scenarios, `${scenario}.toml`);
  const script = `#!/bin/sh\ncommand=$1\nshift\nexec '${program}' "$command" --scenario '${file}' "$@"\n`;
  writeFileSync(path, script, { mode: 0o755 });
  const env = { PATH: process.env.PATH, HOME: home, CODEX_HOME: home };
  return new Codex({ codexPathOverride: path, env });
}

const options = { workingDirectory: home, skipGitRepoCheck: true };

async function check(name, run) {
  await run();
  console.log(`ok ${name}`);
}

await check("threads and resume", async () => {
  const client = codex("chat");
  const thread = client.startThread(options);
  const first = await thread.run("hi");
  assert.ok(first.finalResponse.length > 0);
  assert.ok(first.usage.output_tokens > 0);
  const second = await thread.run("and now?");
  assert.ok(second.finalResponse.length > 0);
  const resumed = client.resumeThread(thread.id, options);
  assert.ok((await resumed.run("again")).finalResponse.length > 0);
  assert.equal(resumed.id, thread.id);
});

await check("streamed events", async () => {
  const { events } = await codex("approve-command").startThread(options).runStreamed("go");
  const seen = [];
  for await (const event of events) seen.push(event);
  assert.equal(seen[0].type, "thread.started");
  assert.equal(seen[1].type, "turn.started");
  assert.equal(seen.at(-1).type, "turn.completed");
  assert.ok(seen.some((event) => event.item?.type === "command_execution"));
});

await check("structured output", async () => {
  const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false };
  const turn = await codex("chat").startThread(options).run("hi", { outputSchema: schema });
  assert.ok(turn.finalResponse.length > 0);
});

await check("images", async () => {
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const path = join(home, "dot.png");
  writeFileSync(path, Buffer.from(png, "base64"));
  const input = [{ type: "text", text: "What is this?" }, { type: "local_image", path }];
  const turn = await codex("chat").startThread(options).run(input);
  assert.ok(turn.finalResponse.length > 0);
});

await check("abort", async () => {
  const abort = new AbortController();
  const { events } = await codex("slow-answer").startThread(options).runStreamed("hi", { signal: abort.signal });
  await assert.rejects(async () => {
    for await (const event of events) if (event.type === "turn.started") abort.abort();
  });
});

await check("a failed turn", async () => {
  await assert.rejects(codex("usage-limit").startThread(options).run("hi"));
});
