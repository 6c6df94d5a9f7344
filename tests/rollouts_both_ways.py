#!/usr/bin/env python3
"""Holds the rollouts of two builds against each other: what either writes, the other lists, reads and resumes.

    rollouts_both_ways.py OURS REFERENCE [REFERENCE ...]

Each binary is a `codex` that has `app-server`; a reference is one of the npm package `@openai/codex`. A session of some
turns is recorded with each over a scripted model on this machine (text, a command, a name, git facts), and then every
other binary gets the file in a home of its own. Checked: it is listed, read with the same turns (ids, states, texts of
user and agent, in their order), and resumed, and a turn can follow. Then ours and each reference go on with the same
thread in one home, by turns, whichever began it; ours serves its client as one of that release. Exit status 0 if all agree. Python 3.9 or later,
standard library only.
"""

import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

TEXTS = ["first", "second: with `code`, ünïcode and a\nline", "third"]


class Model(http.server.BaseHTTPRequestHandler):
    """Answers every request with a message, and one that asks for it with a command first."""

    protocol_version = "HTTP/1.1"
    count = 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        Model.count += 1
        number = Model.count
        wants_command = b"third" in body and b"function_call_output" not in body
        if wants_command:
            item = {"type": "function_call", "id": f"fc-{number}", "call_id": f"call-{number}", "name": "shell_command",
                    "arguments": json.dumps({"command": "echo from-a-command"})}
        else:
            item = {"type": "message", "id": f"msg-{number}", "role": "assistant",
                    "content": [{"type": "output_text", "text": f"answer {number}"}]}
        usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 5, "output_tokens_details": None,
                 "total_tokens": 15}
        events = [{"type": "response.created", "response": {"id": f"r{number}"}},
                  {"type": "response.output_item.done", "output_index": 0, "item": item},
                  {"type": "response.completed", "response": {"id": f"r{number}", "usage": usage}}]
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self.send_response(404)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Server:
    def __init__(self, binary, home, cwd, arguments=()):
        env = {"PATH": os.environ["PATH"], "HOME": home, "CODEX_HOME": home, "RUST_LOG": "error", "SHELL": "/bin/bash"}
        self.child = subprocess.Popen([binary, "app-server", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, cwd=cwd, env=env)
        self.next = 0
        self.call("initialize", {"clientInfo": {"name": "both-ways", "title": "Both ways", "version": "1"},
                                 "capabilities": {"experimentalApi": True}})

    def receive(self):
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError("the server ended")
        return json.loads(line)

    def call(self, method, params):
        self.next += 1
        self.child.stdin.write(json.dumps({"id": self.next, "method": method, "params": params}).encode() + b"\n")
        self.child.stdin.flush()
        while True:
            message = self.receive()
            if message.get("id") == self.next and "method" not in message:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def turn(self, thread, text):
        self.call("turn/start", {"threadId": thread, "input": [{"type": "text", "text": text}]})
        while self.receive().get("method") != "turn/completed":
            pass

    def end(self):
        self.child.stdin.close()
        self.child.wait(30)


def make_home(root, name, port):
    home = os.path.join(root, name)
    os.makedirs(home)
    with open(os.path.join(home, "config.toml"), "w") as f:
        f.write('model = "mock-model"\nmodel_provider = "mock"\napproval_policy = "never"\n'
                'sandbox_mode = "danger-full-access"\n[model_providers.mock]\nname = "Mock"\n'
                f'base_url = "http://127.0.0.1:{port}/v1"\nwire_api = "responses"\nrequest_max_retries = 0\n'
                'stream_max_retries = 0\nsupports_websockets = false\n')
    return home


def record(binary, home, cwd, arguments=()):
    """A session; answers the id of its thread."""
    server = Server(binary, home, cwd, arguments)
    thread = server.call("thread/start", {"cwd": cwd, "persistExtendedHistory": True})["thread"]["id"]
    for text in TEXTS:
        server.turn(thread, text)
        pin(server, thread)
    server.call("thread/name/set", {"threadId": thread, "name": "A name"})
    server.call("thread/metadata/update", {"threadId": thread, "gitInfo": {"branch": "topic"}})
    turns = shapes(server.call("thread/read", {"threadId": thread, "includeTurns": True})["thread"])
    server.end()
    return thread, turns


def pin(server, thread):
    """Pins an item, which is a line that only ours writes."""
    try:
        turn = server.call("thread/turns/list", {"threadId": thread, "limit": 1})["data"][0]
        item = next(item["id"] for item in turn["items"] if item["type"] == "agentMessage")
        server.call("thread/pin/add", {"threadId": thread, "turnId": turn["id"], "itemId": item})
    except RuntimeError:
        pass  # Not ours, or one that has no such method.


def shapes(thread):
    """Of every turn what both must show the same way."""
    def text_of(item):
        if item["type"] == "userMessage":
            return "".join(part.get("text", "") for part in item["content"])
        return item.get("text") or item.get("aggregatedOutput") or ""
    kinds = ("userMessage", "agentMessage", "commandExecution")
    return [(turn["id"], turn["status"], [(item["type"], text_of(item)) for item in turn["items"] if item["type"] in kinds])
            for turn in thread["turns"]]


def only(kinds, turns):
    return [(turn, status, [item for item in items if item[0] in kinds]) for turn, status, items in turns]


def check(binary, home, cwd, thread, expected, kinds, arguments=(), reads_unloaded=True):
    """What is wrong with the thread, and its turns with one more."""
    problems = []

    def expect(what, found, wanted):
        if found != wanted:
            problems.append(f"{what}: {found!r} instead of {wanted!r}")
    server = Server(binary, home, cwd, arguments)
    listed = server.call("thread/list", {})["data"]
    expect("list", [(found["id"], found["preview"]) for found in listed], [(thread, TEXTS[0])])
    # Releases from 0.169 on read a thread that is not loaded from tables of their own, which do not know others' turns yet.
    if reads_unloaded:
        read = server.call("thread/read", {"threadId": thread, "includeTurns": True})["thread"]
        expect("read", only(kinds, shapes(read)), expected)
    resumed = server.call("thread/resume", {"threadId": thread})["thread"]
    expect("resume", only(kinds, shapes(resumed)), expected)
    server.turn(thread, "and on")
    again = server.call("thread/read", {"threadId": thread, "includeTurns": True})["thread"]
    again = only(kinds, shapes(again))
    expect("a turn more", (again[:-1], len(again)), (expected, len(expected) + 1))
    server.end()
    return problems, again


def go_on(first, second, kinds, home, cwd):
    """Both go on with a thread of the first, three times each. Each is a program with its arguments."""
    thread, turns = record(first[0], home, cwd, first[1])
    for number in range(6):
        program, arguments = (second, first)[number % 2]
        problems, turns = check(program, home, cwd, thread, only(kinds, turns), kinds, arguments, False)
        if problems:
            return [f"time {number + 1}, {program}: {problem}" for problem in problems]
    return []


def newer_flag(reference):
    """The flag with which ours serves a client of that release."""
    said = subprocess.run([reference, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    minor = int(said.split()[-1].split(".")[1])
    return ["--newer-clients"] if minor > 117 else []


def report(title, problems):
    print(f"{'ok  ' if not problems else 'FAIL'} {title}")
    for problem in problems:
        print(f"       {problem}")
    return bool(problems)


def main():
    binaries = [os.path.abspath(path) for path in sys.argv[1:]]
    if len(binaries) < 2 or not all(os.access(path, os.X_OK) for path in binaries):
        sys.exit(__doc__)
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    root, failed = tempfile.mkdtemp(prefix="both-ways-"), False
    try:
        cwd = os.path.join(root, "work")
        os.makedirs(cwd)
        homes = [make_home(root, f"written-{number}", model.server_port) for number in range(len(binaries))]
        recorded = [record(binary, home, cwd) for binary, home in zip(binaries, homes)]
        for number, writer in enumerate(binaries):
            home, (thread, expected) = homes[number], recorded[number]
            for other, reader in enumerate(binaries):
                # Two references need not agree with each other: that is not ours to see to.
                if other == number or (number and other):
                    continue
                copy = make_home(root, f"read-{number}-{other}", model.server_port)
                shutil.copytree(os.path.join(home, "sessions"), os.path.join(copy, "sessions"))
                try:
                    # A version that keeps no commands of its own does not show those of others either.
                    kinds = {kind for turn in recorded[other][1] for kind, _ in turn[2]}
                    problems, _ = check(reader, copy, cwd, thread, only(kinds, expected), kinds)
                except RuntimeError as error:
                    problems = [str(error)]
                failed |= report(f"written by {writer}\n     read by    {reader}", problems)
        for number, reference in enumerate(binaries[1:]):
            ours, theirs = (binaries[0], newer_flag(reference)), (reference, [])
            for first, second in [(ours, theirs), (theirs, ours)]:
                home = make_home(root, f"shared-{number}-{first is ours}", model.server_port)
                try:
                    kinds = {kind for turn in recorded[number + 1][1] for kind, _ in turn[2]}
                    problems = go_on(first, second, kinds, home, cwd)
                except RuntimeError as error:
                    problems = [str(error)]
                failed |= report(f"begun by {first[0]}\n     and gone on with by {second[0]}", problems)
    finally:
        model.shutdown()
        shutil.rmtree(root, ignore_errors=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
