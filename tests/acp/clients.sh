#!/bin/sh
# Has real clients of the Agent Client Protocol drive `codex acp` with a scripted model: acpx (npm) and the Python SDK.
# They are installed into a temporary folder, so a registry has to be at hand.
#
# Usage: tests/acp/clients.sh [path of codex]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
codex=${1:-$root/target/debug/codex}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export HOME="$place/home" CODEX_HOME="$place/home"
mkdir -p "$HOME" "$place/work"

echo "acpx"
npm install --prefix "$place/npm" --no-audit --no-fund --silent acpx
said=$("$place/npm/node_modules/.bin/acpx" --approve-all --cwd "$place/work" \
    --agent "$codex acp --scenario $root/scenarios/approve-command.toml" exec "go")
case $said in
*"[done] end_turn"*) ;;
*) echo "$said"; exit 1 ;;
esac
test -d "$place/work/release-notes"

echo "Python SDK"
python3 -m venv "$place/python"
"$place/python/bin/pip" install --quiet --disable-pip-version-check agent-client-protocol
"$place/python/bin/python" "$here/client.py" "$codex" "$root/scenarios"
