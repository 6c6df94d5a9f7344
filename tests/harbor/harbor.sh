#!/usr/bin/env bash
# Harbor, installed from PyPI, reads the trajectories of our agent: tests/harbor/harbor.sh [CODEX]. Says why if it cannot run.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=
for name in python3 python3.14 python3.13 python3.12; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
        python=$name
        break
    fi
done
if [ -z "$python" ]; then
    echo "not run: Harbor needs Python 3.12 or later"
    exit 0
fi
codex=${1:-}
if [ -z "$codex" ]; then
    cargo build --quiet --locked -p codex-cli
    codex=target/debug/codex
fi
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"$python" -m venv "$tools/python"
if ! "$tools/python/bin/pip" install --quiet --disable-pip-version-check harbor==0.26.0; then
    echo "not run: Harbor cannot be installed"
    exit 0
fi
PYTHONPATH=integrations/harbor "$tools/python/bin/python" tests/harbor/check_agent.py "$codex" scenarios/approve-command.toml 10
