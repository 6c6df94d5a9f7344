// Drives `codex acp --listen` with the TypeScript SDK of the Agent Client Protocol: two editors on one session, and one that comes back.
// Usage: node remote.mjs PATH_OF_CODEX FOLDER_OF_SCENARIOS

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import * as acp from "@agentclientprotocol/sdk";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { WebSocket } from "ws";

const [program, scenarios] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), "codex-acp-"));
const work = mkdtempSync(join(tmpdir(), "codex-work-"));
const token = join(home, "token");
writeFileSync(token, "open sesame");

const agent = spawn(program, ["acp", "--listen", "ws://127.0.0.1:0", "--ws-auth", "capability-token", "--ws-token-file", token,
  "--scenario", join(scenarios, "approve-command.toml")], {
  env: { ...process.env, HOME: home, CODEX_HOME: home }, cwd: work, stdio: ["ignore", "inherit", "pipe"],
});
let address;
for await (const line of createInterface({ input: agent.stderr })) {
  address = line.match(/listening on: (ws:.*)/)?.[1];
  if (address) break;
}
agent.stderr.resume();

/** Runs `steps` with an editor, which answers what it is asked with `choice`. */
async function edit(choice, steps) {
  const seen = { updates: [], asked: 0 };
  const app = acp.client({ name: "test" })
    .onNotification(acp.methods.client.session.update, ({ params }) => void seen.updates.push(params.update))
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
      seen.asked += 1;
      const option = params.options.find((option) => option.kind === choice);
      // An editor without a choice leaves the question open.
      return option ? { outcome: { outcome: "selected", optionId: option.optionId } } : new Promise(() => {});
    });
  const headers = { Authorization: "Bearer open sesame" };
  return app.connectWith(createWebSocketStream(`${address}/acp`, { WebSocket, headers }), async (peer) => {
    await peer.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    return steps((method, params) => peer.request(method, { cwd: work, mcpServers: [], ...params }), seen);
  });
}

const text = (seen, kind) => seen.updates
  .filter((update) => update.sessionUpdate === kind)
  .map((update) => update.content.text).join("");

async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
}

const prompt = (sessionId, text) => ({ sessionId, prompt: [{ type: "text", text }] });

// The first editor leaves while it is asked, so the others find the question.
const sessionId = await edit(undefined, async (call, seen) => {
  const { sessionId } = await call("session/new", {});
  call("session/prompt", prompt(sessionId, "go")).catch(() => {});
  await until(() => seen.asked === 1);
  return sessionId;
});
assert.ok(!existsSync(join(work, "release-notes")));
await edit(undefined, async (watch, watching) => {
  await watch("session/load", { sessionId });
  assert.equal(text(watching, "user_message_chunk"), "go");
  await until(() => watching.asked === 1);
  await edit("allow_once", async (call, seen) => {
    await call("session/load", { sessionId });
    await until(() => text(seen, "agent_message_chunk").includes("is there."));
    await until(() => text(watching, "agent_message_chunk").includes("is there."));
  });
});
assert.ok(existsSync(join(work, "release-notes")));
agent.kill("SIGTERM");
const code = await new Promise((resolve) => agent.on("exit", resolve));
assert.equal(code, 0);
console.log("ok remote");
process.exit(0);
