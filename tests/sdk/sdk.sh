#!/bin/sh
# Has the official TypeScript SDK (npm: @openai/codex-sdk) drive `codex exec` with a scripted model. It is installed into
# a temporary folder, so a registry has to be at hand.
#
# Usage: tests/sdk/sdk.sh [path of codex]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
codex=${1:-$root/target/debug/codex}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
# Without the program that it would start otherwise.
npm install --prefix "$place" --no-audit --no-fund --no-update-notifier --loglevel=error --omit=optional @openai/codex-sdk@0.163.0
cp "$here/sdk.mjs" "$place/"
cd "$place"
echo "@openai/codex-sdk $(node -p "require('./node_modules/@openai/codex-sdk/package.json').version")"
node sdk.mjs "$codex" "$root/scenarios"
