#!/usr/bin/env bash
# Makes the npm packages from the archives of a release: the launcher in OUT, those of the platforms in OUT/platforms.
#
#     packaging/npm/from_archives.sh ARCHIVES OUT
set -euo pipefail
archives=$(realpath "$1")
mkdir -p "$2/platforms"
out=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

binaries=()
add() {
    local platform=$1 program=$scratch/$2/$3
    binaries+=(--binary "$platform=$program")
}
for archive in "$archives"/codex-cli-*.tar.gz; do
    tar -xzf "$archive" -C "$scratch"
done
for archive in "$archives"/codex-cli-*.zip; do
    name=$(basename "$archive" .zip)
    unzip -q "$archive" -d "$scratch/$name"
done
add linux-x64 codex-cli-x86_64-unknown-linux-musl codex
add linux-arm64 codex-cli-aarch64-unknown-linux-musl codex
add darwin-x64 codex-cli-x86_64-apple-darwin codex
add darwin-arm64 codex-cli-aarch64-apple-darwin codex
add win32-x64 codex-cli-x86_64-pc-windows-msvc codex.exe

"$(dirname "$0")/pack.mjs" --out "$out" "${binaries[@]}"
mv "$out"/*-{linux,darwin,win32}-*.tgz "$out/platforms/"
