"""A client of the app-server for the tests of `codex debug app-server check`.

Usage: client.py [MISTAKE]. Without a mistake it is a correct client: it runs one turn, answers every request of the
server, and exits. `CODEX_PATH` names the server.
"""

import json
import os
import subprocess
import sys

mistake = sys.argv[1] if len(sys.argv) > 1 else None
server = subprocess.Popen(
    [os.environ["CODEX_PATH"], "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)


def send(message):
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()


def answer(request):
    if mistake == "unanswered":
        server.stdin.close()
        sys.exit()
    result = {"decision": "perhaps" if mistake == "invalidResult" else "accept"}
    send({"id": request["id"], "result": result})


def receive():
    message = json.loads(server.stdout.readline())
    if "method" in message and "id" in message:
        answer(message)
    if mistake == "failed" and message.get("method") == "turn/completed":
        sys.exit(3)
    return message


def call(number, method, params):
    send({"id": number, "method": method, "params": params})
    while True:
        message = receive()
        if message.get("id") == number and "method" not in message:
            return message


if mistake == "beforeInitialize":
    call(90, "thread/list", {})
call(0, "initialize", {"clientInfo": {"name": "check", "version": "1"}})
send({"method": "initialized"})
if mistake == "invalidJson":
    server.stdin.write("{\n")
    server.stdin.flush()
if mistake == "unknownMethod":
    call(91, "thread/begin", {})
if mistake == "invalidParams":
    call(92, "turn/start", {"threadId": 7})
if mistake == "unexpectedReply":
    send({"id": 93, "result": {}})
if mistake == "timedOut":
    server.wait()
thread = call(1, "thread/start", {})["result"]["thread"]["id"]
text = [{"type": "text", "text": "go"}]
call(2, "turn/start", {"threadId": thread, "input": text})
while receive().get("method") != "turn/completed":
    pass
server.stdin.close()
server.wait()
