#!/bin/sh
# Has generators of others make code from the bundles of JSON Schema, and checks that it compiles: quicktype and
# datamodel-code-generator, and typify where cargo can install it. They are installed into a temporary folder, so npm,
# PyPI and crates.io have to be at hand.
#
# Usage: tests/types/generators.sh [path of codex]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
codex=${1:-$root/target/debug/codex}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
# Types of other folders are none of these.
mkdir "$place/no-types"

for surface in stable experimental; do
    test $surface = stable && option= || option=--experimental
    "$codex" app-server generate-json-schema --out "$place/$surface" $option
done
bundle=codex_app_server_protocol.schemas.json
flat=codex_app_server_protocol.v2.schemas.json

npm install --prefix "$place/npm" --no-audit --no-fund --no-update-notifier --loglevel=error quicktype@26 typescript@5
npm install --prefix "$place/older" --no-audit --no-fund --no-update-notifier --loglevel=error quicktype@23
bin=$place/npm/node_modules/.bin
for surface in stable experimental; do
    # As people call it: the bundle and the name of a file.
    "$bin/quicktype" --src-lang schema --src "$place/$surface/$bundle" --out "$place/message_$surface.ts" --just-types
    "$bin/tsc" --strict --noEmit --target es2022 --module es2022 --typeRoots "$place/no-types" "$place/message_$surface.ts"
    # It makes one interface of all messages, as any of them may come.
    grep -q "^export interface" "$place/message_$surface.ts"
    # Older versions do not know intersections, which the bundle at one level does not have.
    "$place/older/node_modules/.bin/quicktype" --src-lang schema --src "$place/$surface/$flat" \
        --out "$place/older_$surface.ts" --just-types
    "$bin/tsc" --strict --noEmit --target es2022 --module es2022 --typeRoots "$place/no-types" "$place/older_$surface.ts"
    echo "ok quicktype $surface"
done

python3 -m venv "$place/python"
"$place/python/bin/pip" install --quiet --disable-pip-version-check 'datamodel-code-generator[ruff]==0.*' 'pydantic==2.*'
for surface in stable experimental; do
    "$place/python/bin/datamodel-codegen" --input "$place/$surface/$flat" --input-file-type jsonschema \
        --output "$place/models_$surface.py" --output-model-type pydantic_v2.BaseModel --use-title-as-name 2>/dev/null
    (cd "$place" && "$place/python/bin/python" "$here/models.py" "models_$surface" "$surface/$flat")
    echo "ok datamodel-code-generator $surface"
done

if command -v cargo >/dev/null; then
    cargo install --quiet --root "$place/cargo" cargo-typify
    mkdir -p "$place/typify/src"
    cp "$here/typify.toml" "$place/typify/Cargo.toml"
    for surface in stable experimental; do
        "$place/cargo/bin/cargo-typify" typify "$place/$surface/$flat" --output "$place/typify/src/lib.rs"
        cargo check --quiet --manifest-path "$place/typify/Cargo.toml" --target-dir "$place/typify/target"
        echo "ok typify $surface"
    done
fi
