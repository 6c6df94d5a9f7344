#!/bin/sh
# Has the official Python SDK (PyPI: openai-codex) drive `codex app-server` with a scripted model. It is installed into a
# temporary folder, so a registry has to be at hand.
#
# Usage: tests/sdk/python_sdk.sh [path of codex]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
codex=${1:-$root/target/debug/codex}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check openai-codex
"$place/venv/bin/python" -c 'import openai_codex; print("openai-codex", openai_codex.__version__)'
"$place/venv/bin/python" "$here/python_sdk.py" "$codex" "$root/scenarios"
