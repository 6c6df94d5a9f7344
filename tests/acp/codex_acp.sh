#!/bin/sh
# Has the adapter `@agentclientprotocol/codex-acp` (npm), a client of `codex app-server`, serve a prompt of acpx with a
# scripted model. Both are installed into a temporary folder, so a registry has to be at hand.
#
# Usage: tests/acp/codex_acp.sh [path of codex]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
codex=${1:-$root/target/debug/codex}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export HOME="$place/home" CODEX_HOME="$place/home" CODEX_PATH="$place/codex" APP_SERVER_LOGS="$place/logs"
mkdir -p "$HOME" "$place/work" "$APP_SERVER_LOGS"

# The adapter starts `codex app-server`; its model is the scripted one.
cat > "$CODEX_PATH" <<END
#!/bin/sh
shift
exec "$codex" app-server --scenario "$root/scenarios/approve-command.toml" "\$@"
END
chmod +x "$CODEX_PATH"

npm install --prefix "$place/npm" --no-audit --no-fund --silent acpx @agentclientprotocol/codex-acp
adapter="$place/npm/node_modules/@agentclientprotocol/codex-acp"
echo "codex-acp $(node -p "require('$adapter/package.json').version")"
said=$("$place/npm/node_modules/.bin/acpx" --approve-all --cwd "$place/work" --agent "node $adapter/dist/index.js" \
    exec "go" 2>&1)
case $said in
*"[done] end_turn"*) ;;
*) echo "$said"; exit 1 ;;
esac
test -d "$place/work/release-notes"
# Requests that the server refused.
if grep -E '\[OUT\] \{"id":[0-9]+,"error"|\[OUT\] \{"error"' "$APP_SERVER_LOGS"/*.log; then
    exit 1
fi
