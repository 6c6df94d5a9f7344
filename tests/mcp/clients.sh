#!/bin/sh
# Has the official clients of MCP drive `codex mcp-server` with a scripted model: those for TypeScript and Python, and
# with `all` the command line of the inspector. They are installed into a temporary folder, so npm and PyPI have to be
# at hand.
#
# Usage: tests/mcp/clients.sh [path of codex] [all]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
codex=${1:-$root/target/debug/codex}
scenarios=$root/scenarios
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export HOME="$place/home" CODEX_HOME="$place/home"
mkdir -p "$HOME"

npm install --prefix "$place" --no-audit --no-fund --no-update-notifier --loglevel=error \
    @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0
cp "$here/client.mjs" "$place/"
node "$place/client.mjs" "$codex" "$scenarios"

python3 -m venv "$place/python"
"$place/python/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
"$place/python/bin/python" "$here/client.py" "$codex" "$scenarios"
test "${2:-}" = all || exit 0

npm install --prefix "$place" --no-audit --no-fund --no-update-notifier --loglevel=error @modelcontextprotocol/inspector@0.15.0
inspect() {
    "$place/node_modules/.bin/mcp-inspector" --cli "$codex" mcp-server --scenario "$scenarios/chat.toml" "$@"
}
inspect --method tools/list | grep -q '"codex-reply"'
inspect --method tools/call --tool-name codex --tool-arg prompt=hi | grep -q '"threadId"'
echo "ok inspector"
