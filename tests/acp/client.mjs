// Drives `codex acp` with the TypeScript SDK of the Agent Client Protocol. It checks every message by its schema.
// Usage: node client.mjs PATH_OF_CODEX FOLDER_OF_SCENARIOS

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [program, scenarios] = process.argv.slice(2);

/** Runs `steps` with an agent that plays the scenario, and answers what it asks. */
async function drive(scenario, capabilities, steps) {
  const home = mkdtempSync(join(tmpdir(), "codex-acp-"));
  const work = mkdtempSync(join(tmpdir(), "codex-work-"));
  const env = { ...process.env, HOME: home, CODEX_HOME: home };
  const agent = spawn(program, ["acp", "--scenario", join(scenarios, scenario)], {
    env, cwd: work, stdio: ["pipe", "pipe", "inherit"],
  });
  const seen = { updates: [], asked: [], written: [], work };
  const app = acp.client({ name: "test" })
    .onNotification(acp.methods.client.session.update, ({ params }) => void seen.updates.push(params.update))
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
      seen.asked.push(params);
      const allowed = params.options.find((option) => option.kind === "allow_once");
      return { outcome: { outcome: "selected", optionId: allowed.optionId } };
    })
    .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => ({ content: readFileSync(params.path, "utf8") }))
    .onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => {
      seen.written.push(params.path);
      writeFileSync(params.path, params.content);
      return {};
    });
  const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
  await app.connectWith(stream, async (peer) => {
    const call = (method, params) => peer.request(method, params);
    const handshake = await call("initialize", { protocolVersion: 1, clientCapabilities: capabilities });
    assert.equal(handshake.protocolVersion, 1);
    assert.ok(handshake.authMethods.length > 0);
    const { sessionId } = await call("session/new", { cwd: work, mcpServers: [] });
    const prompt = (text) => call("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    await steps({ call, prompt, sessionId, seen, peer });
  });
  agent.stdin.end();
  const code = await new Promise((resolve) => agent.exitCode === null ? agent.on("exit", resolve) : resolve(agent.exitCode));
  assert.equal(code, 0, `${scenario}: the agent ended with ${code}`);
  console.log("ok", scenario);
}

const said = (seen) => seen.updates
  .filter((update) => update.sessionUpdate === "agent_message_chunk")
  .map((update) => update.content.text).join("");

await drive("tour.toml", {}, async ({ prompt, seen }) => {
  assert.equal((await prompt("go")).stopReason, "end_turn");
  const kinds = new Set(seen.updates.map((update) => update.sessionUpdate));
  for (const kind of ["agent_message_chunk", "tool_call", "tool_call_update", "usage_update"])
    assert.ok(kinds.has(kind), `${kind} is not in ${[...kinds]}`);
});

await drive("approve-patch.toml", { fs: { readTextFile: true, writeTextFile: true } }, async ({ prompt, seen, call, sessionId }) => {
  writeFileSync(join(seen.work, "greet.sh"), '#!/bin/sh\necho "hello"\n');
  assert.equal((await prompt("go")).stopReason, "end_turn");
  const [{ toolCall }] = seen.asked;
  assert.ok(toolCall.content.some((content) => content.type === "diff"));
  assert.ok(readFileSync(join(seen.work, "greet.sh"), "utf8").includes("hello, "));
  const before = said(seen);
  await call("session/close", { sessionId });
  seen.updates.length = 0;
  await call("session/load", { sessionId, cwd: seen.work, mcpServers: [] });
  assert.equal(said(seen), before);
});

await drive("slow-answer.toml", {}, async ({ prompt, seen, peer, sessionId }) => {
  const reply = prompt("go");
  while (!said(seen)) await new Promise((resolve) => setTimeout(resolve, 5));
  await peer.notify("session/cancel", { sessionId });
  assert.equal((await reply).stopReason, "cancelled");
});
