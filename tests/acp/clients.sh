#!/bin/sh
# Has clients of the Agent Client Protocol that others wrote drive `codex acp` with a scripted model. They are installed
# into a temporary folder, so npm and PyPI have to be at hand. With `all` more of them do.
#
# Usage: tests/acp/clients.sh [path of codex] [all]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
codex=${1:-$root/target/debug/codex}
scenarios=$root/scenarios
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export HOME="$place/home" CODEX_HOME="$place/home"
mkdir -p "$HOME"

# A fresh folder to work in.
work() {
    rm -rf "$place/work"
    mkdir "$place/work"
    cd "$place/work"
}

npm install --prefix "$place" --no-audit --no-fund --no-update-notifier --loglevel=error \
    acpx@0.1.15 @agentclientprotocol/sdk@2.4.0 acp-factory@0.1.14 @mcpc-tech/acp-ai-provider@0.2.9 ai@6 ws@8.23.0
cp "$here"/*.mjs "$place/"

work
said=$("$place/node_modules/.bin/acpx" --approve-all --cwd "$place/work" \
    --agent "$codex acp --scenario $scenarios/approve-command.toml" exec "go")
case $said in
*"[done] end_turn"*) ;;
*) echo "$said"; exit 1 ;;
esac
test -d "$place/work/release-notes"
echo "ok acpx"

echo "TypeScript SDK"
node "$place/client.mjs" "$codex" "$scenarios"
node "$place/remote.mjs" "$codex" "$scenarios"
echo "Clients on top of it"
node "$place/others.mjs" "$codex" "$scenarios"

# A client of Python, in an environment of its own.
python() {
    package=$1
    shift
    python3 -m venv "$place/${package%%=*}"
    "$place/${package%%=*}/bin/pip" install --quiet --disable-pip-version-check "$package"
    "$place/${package%%=*}/bin/python" "$@"
}

echo "Python SDK"
python agent-client-protocol==0.12.1 "$here/client.py" "$codex" "$scenarios"
test "${2:-}" = all || exit 0

for package in simple-acp-client==0.1.6 acp-client==0.1.0; do
    python "$package" "$here/others.py" "${package%%=*}" "$codex" "$scenarios"
done
