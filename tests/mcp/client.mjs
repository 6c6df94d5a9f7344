// Drives `codex mcp-server` with the official TypeScript clients of MCP: the one that shakes hands, and the newer one.
// Usage: node client.mjs PATH_OF_CODEX FOLDER_OF_SCENARIOS

import assert from "node:assert/strict";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as HandshakeClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as HandshakeTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [program, scenarios] = process.argv.slice(2);

async function drive(name, scenario, make, steps) {
  const work = mkdtempSync(join(tmpdir(), "codex-mcp-"));
  const env = { ...process.env, HOME: work, CODEX_HOME: work };
  const server = { command: program, args: ["mcp-server", "--scenario", join(scenarios, scenario)], env, cwd: work };
  const seen = { asked: 0, work };
  const client = await make(server, seen);
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ["codex", "codex-reply"]);
  await steps(client, seen);
  await client.close();
  console.log("ok", name, scenario);
}

const accept = (seen) => async () => {
  seen.asked += 1;
  return { action: "accept", content: {} };
};

const info = { name: "test", version: "1" };
const capabilities = { elicitation: { form: {} } };

async function withHandshake(server, seen) {
  const client = new HandshakeClient(info, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, accept(seen));
  await client.connect(new HandshakeTransport(server));
  return client;
}

const newer = (mode) => async (server, seen) => {
  const client = new Client(info, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler("elicitation/create", accept(seen));
  await client.connect(new StdioClientTransport(server));
  return client;
};

async function approve(client, seen) {
  const steps = [];
  const options = { onprogress: (step) => steps.push(step.message), timeout: 30_000 };
  const call = { name: "codex", arguments: { prompt: "go", cwd: seen.work } };
  const result = client instanceof HandshakeClient
    ? await client.callTool(call, undefined, options)
    : await client.callTool(call, options);
  assert.ok(!result.isError, JSON.stringify(result));
  assert.equal(seen.asked, 1);
  assert.ok(existsSync(join(seen.work, "release-notes")));
  assert.equal(result.structuredContent.content, result.content[0].text);
  assert.ok(steps.length > 0);
}

await drive("handshake", "approve-command.toml", withHandshake, approve);
for (const mode of ["legacy", { pin: "2026-07-28" }, "auto"])
  await drive(JSON.stringify(mode), "approve-command.toml", newer(mode), approve);
