"""A client of the app-server: one prompt, its answer, a question before each command and patch.

    python3 client.py "What is in this folder?"

What follows the prompt goes to the server, for example `--scenario ../scenarios/tour.toml`.
"""

import itertools
import json
import os
import subprocess
import sys

prompt, *options = sys.argv[1:] or ["Hello"]
server = subprocess.Popen(
    [os.environ.get("CODEX_PATH", "codex"), "app-server", *options],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
    encoding="utf-8",
)
ids = itertools.count()
# What each command or patch would do. Texts of the model are shown with their control characters as escapes.
known = {}
APPROVALS = ["item/commandExecution/requestApproval", "item/fileChange/requestApproval"]


def send(message):
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()


def messages():
    """What the server says, but for its questions, which are answered."""
    for line in server.stdout:
        message = json.loads(line)
        if message.get("method") == "item/started":
            note(message["params"]["item"])
        if "method" in message and "id" in message:
            answer(message)
        else:
            yield message
    sys.exit("the server has ended")


def note(item):
    if item["type"] == "commandExecution":
        known[item["id"]] = json.dumps(item["command"])
    if item["type"] == "fileChange":
        paths = (json.dumps(change["path"]) for change in item["changes"])
        known[item["id"]] = f"a patch of {', '.join(paths)}"


def answer(request):
    if request["method"] not in APPROVALS:
        error = {"code": -32601, "message": "this client cannot answer that"}
        return send({"id": request["id"], "error": error})
    params = request["params"]
    command = params.get("command")
    what = json.dumps(command) if command else known.get(params["itemId"])
    # What is not known is not allowed.
    word = what and input(f"{params.get('engineNotice') or ''}\nAllow {what}? [y/n] ")
    send({"id": request["id"], "result": {"decision": "accept" if word == "y" else "decline"}})


def call(method, params):
    """Notifications that come before the reply are not shown."""
    number = next(ids)
    send({"id": number, "method": method, "params": params})
    reply = next(message for message in messages() if message.get("id") == number)
    if "error" in reply:
        sys.exit(reply["error"]["message"])
    return reply["result"]


call("initialize", {"clientInfo": {"name": "example", "version": "1.0"}})
send({"method": "initialized"})
thread = call("thread/start", {"approvalPolicy": "untrusted"})["thread"]
call("turn/start", {"threadId": thread["id"], "input": [{"type": "text", "text": prompt}]})
for message in messages():
    params = message.get("params", {})
    if message["method"] == "item/agentMessage/delta":
        print(params["delta"], end="", flush=True)
    elif message["method"] == "item/completed":
        print(f"\n[{params['item']['type']}]")
    elif message["method"] == "turn/completed":
        print((params["turn"]["error"] or {}).get("message", params["turn"]["status"]))
        break
server.stdin.close()
server.wait()
