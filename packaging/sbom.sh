#!/usr/bin/env bash
# Writes the list of all packages in the program, as CycloneDX, to a file.
#
#     packaging/sbom.sh FILE
set -euo pipefail
file=$(realpath "$1")
cd "$(dirname "$0")/.."

version=0.5.9
installed=$(cargo cyclonedx --version 2>/dev/null || true)
if [ "$installed" != "cargo-cyclonedx-cyclonedx $version" ]; then
    cargo install --quiet --locked "cargo-cyclonedx@$version"
fi
# It writes one list beside each manifest of the workspace.
list=codex.sbom
trap 'find crates -name "$list.json" -delete' EXIT
cargo cyclonedx --quiet --manifest-path crates/cli/Cargo.toml --format json --all --target all --override-filename "$list"
mv "crates/cli/$list.json" "$file"
