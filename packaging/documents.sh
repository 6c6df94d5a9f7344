#!/usr/bin/env bash
# Writes what an archive holds besides the program: manual pages and completions, in target/documents.
#
#     packaging/documents.sh [PROGRAM [FOLDER]]
#
# Without PROGRAM, it is built for this machine first.
set -euo pipefail
cd "$(dirname "$0")/.."

program=${1:-}
if [ -z "$program" ]; then
    cargo build --locked --bin codex
    program=${CARGO_TARGET_DIR:-target}/debug/codex
fi
folder=${2:-target/documents}

rm -rf "$folder"/{man,completions}
mkdir -p "$folder/completions"
"$program" man "$folder/man"
for shell in bash zsh fish powershell; do
    "$program" completion "$shell" >"$folder/completions/codex.$shell"
done
