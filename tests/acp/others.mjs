// Drives `codex acp` with clients that others built on the protocol: acp-factory, and the provider for the AI SDK.
// Usage: node others.mjs PATH_OF_CODEX FOLDER_OF_SCENARIOS

import assert from "node:assert/strict";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentFactory } from "acp-factory";
import { createACPProvider } from "@mcpc-tech/acp-ai-provider";
import { generateText } from "ai";

const [program, scenarios] = process.argv.slice(2);
const folder = () => mkdtempSync(join(tmpdir(), "codex-acp-"));
const args = (scenario) => ["acp", "--scenario", join(scenarios, scenario)];

{
  const work = folder();
  AgentFactory.register("codex", { command: program, args: args("approve-command.toml"), env: {} });
  const agent = await AgentFactory.spawn("codex", { permissionMode: "auto-approve" });
  const session = await agent.createSession(work);
  let said = "";
  for await (const update of session.prompt("go"))
    if (update.sessionUpdate === "agent_message_chunk") said += update.content.text;
  await agent.close();
  assert.ok(said.length > 0);
  assert.ok(existsSync(join(work, "release-notes")));
  console.log("ok acp-factory");
}

{
  const session = { cwd: folder(), mcpServers: [] };
  const provider = createACPProvider({ command: program, args: args("chat.toml"), session });
  const result = await generateText({ model: provider.languageModel(), prompt: "hi" });
  provider.cleanup?.();
  assert.ok(result.text.length > 0, JSON.stringify(result));
  console.log("ok @mcpc-tech/acp-ai-provider");
}
process.exit(0);
