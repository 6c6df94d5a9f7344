"""Has HAPI serve a session with an approved command: its hub and its runner start `codex app-server` behind a Unix socket.

Usage: hapi.py PROGRAM, with the wrapper of `clients.sh` as `codex` on the PATH
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

PORT = "18556"
KEY = "a-token-of-the-tests-of-hapi"


def call(method, path, body=None, token=None):
    headers = {"content-type": "application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", data, headers, method=method)
    return json.load(urllib.request.urlopen(request, timeout=60))


def until(ask, wanted, patience=40):
    """Asks until the answer has what is wanted."""
    end = time.monotonic() + patience
    while True:
        try:
            found = wanted(ask())
        except OSError:
            found = None
        if found:
            return found
        assert time.monotonic() < end, "HAPI does not get there"
        time.sleep(0.2)


def converse(token):
    machines = until(lambda: call("GET", "/api/machines", token=token), lambda reply: reply["machines"])
    spawn = f"/api/machines/{machines[0]['id']}/spawn"
    spawned = call("POST", spawn, {"directory": os.getcwd(), "agent": "codex"}, token)
    assert spawned["type"] == "success", spawned
    session = f"/api/sessions/{spawned['sessionId']}"
    call("POST", f"{session}/messages", {"text": "make a folder"}, token)

    def asked(reply):
        return (reply["session"].get("agentState") or {}).get("requests")

    for request in until(lambda: call("GET", session, token=token), asked):
        call("POST", f"{session}/permissions/{request}/approve", {}, token)
    until(lambda: call("GET", f"{session}/messages", token=token), lambda reply: "Made." in json.dumps(reply))
    os.rmdir("made")
    call("POST", f"{session}/archive", {}, token)


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass
    process.wait(20)


def main():
    (hapi,) = sys.argv[1:]
    settings = {"HAPI_HOME": os.path.join(os.environ["HOME"], ".hapi"), "CLI_API_TOKEN": KEY, "HAPI_LISTEN_HOST": "127.0.0.1",
                "HAPI_LISTEN_PORT": PORT, "HAPI_API_URL": f"http://127.0.0.1:{PORT}"}
    environment = {**os.environ, **settings}
    # Each in a group of its own, because the program that npm installs starts another one.
    quiet = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    started = [subprocess.Popen([hapi, "hub"], **quiet)]
    try:
        token = until(lambda: call("POST", "/api/auth", {"accessToken": KEY}), lambda reply: reply["token"])
        started.append(subprocess.Popen([hapi, "runner", "start-sync"], **quiet))
        converse(token)
    finally:
        subprocess.run([hapi, "runner", "stop"], timeout=60, **quiet)
        for process in started:
            end_group(process)
    print("ok hapi")


if __name__ == "__main__":
    main()
