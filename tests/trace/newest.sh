#!/bin/sh
# Holds our trace reducer against the newest package of the reference, so that the next schema is noticed on its first day.
#
#   tests/trace/newest.sh OURS [REFERENCE]
#
# OURS is our `codex`, REFERENCE that of the reference; without it, its newest package is fetched with npm. One session is
# recorded to see which schema it writes; then all are recorded and compared. Exit status: 0 all equal, 1 something
# differs, or the schema is one that we do not know, 2 there is no reference.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
ours=${1:?usage: newest.sh OURS [REFERENCE]}
reference=${2:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if [ -z "$reference" ]; then
    case "$(uname -s)-$(uname -m)" in
        Linux-x86_64) platform=linux-x64 ;;
        Linux-aarch64) platform=linux-arm64 ;;
        Darwin-arm64) platform=darwin-arm64 ;;
        *) platform=darwin-x64 ;;
    esac
    (cd "$scratch" && npm pack --silent "@openai/codex@$platform" >/dev/null && tar -xzf ./*.tgz) || true
    reference=$(find "$scratch" -path '*/vendor/*' -name codex -type f | head -n 1)
fi
if [ -z "$reference" ] || [ ! -x "$reference" ]; then
    echo "there is no reference binary: name it as the second argument" >&2
    exit 2
fi
"$reference" --version

python3 - "$here" "$reference" "$scratch/first" <<'PYTHON'
import os
import sys

here, reference, folder = sys.argv[1:]
sys.path.insert(0, here)
import recorder

os.makedirs(folder)
name, session = next(iter(recorder.sessions(2)))
trouble = recorder.record(reference, session, folder, 2)
if trouble:
    sys.exit("%s was not recorded: %s" % (name, trouble))
PYTHON
manifest=$(find "$scratch/first" -name manifest.json | head -n 1)
schema=$(sed -n 's/.*"schema_version": *\([0-9]*\).*/\1/p' "$manifest")
echo "the reference writes schema $schema"
case "$schema" in
    1 | 2 | 3) ;;
    *)
        echo "schema $schema is not known: record its bundles and read docs/trace.md" >&2
        exit 1
        ;;
esac
exec python3 "$here/../trace_equality.py" --ours "$ours" --reference "$reference" --schema "$schema" --random 0
