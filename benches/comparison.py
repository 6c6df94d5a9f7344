#!/usr/bin/env python3
"""Prints the table "How it compares" of the README.

    comparison.py [--repetitions N] OURS REFERENCE

Both are `codex` binaries; use release builds. This process is the scripted model, on the loopback interface. The
binaries are measured alternately, and each figure is the median of its repetitions. Processor time is that of the
server process, including its ended children where the row says so. Needs Linux, Python 3.9 or later, standard library
only. Temporary folders are created below TMPDIR, which must be on a disk: writes to a memory file system are not counted.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TURNS = 40
PIECES = 20_000
KIB, MIB = 1 << 10, 1 << 20
TICKS = os.sysconf("SC_CLK_TCK")


class Model:
    """A scripted model. Answers in as many pieces as the last message says, or in one."""

    def __init__(self):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.answer("application/json", [b'{"data": [], "models": []}'])

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                pieces = PIECES if b"MANY PIECES" in body else 1
                self.answer("text/event-stream", events(pieces))

            def answer(self, kind, parts):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("connection", "close")
                self.end_headers()
                for part in parts:
                    self.wfile.write(part)
                self.close_connection = True

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def events(pieces):
    def event(kind, **fields):
        return ("event: %s\ndata: %s\n\n" % (kind, json.dumps({"type": kind, **fields}))).encode()

    item = {"type": "message", "role": "assistant", "id": "m"}
    yield event("response.created", response={"id": "r"})
    yield event("response.output_item.added", output_index=0, item={**item, "content": []})
    for _ in range(pieces):
        yield event("response.output_text.delta", item_id="m", output_index=0, content_index=0, delta="a few words ")
    content = [{"type": "output_text", "text": "a few words " * pieces}]
    yield event("response.output_item.done", output_index=0, item={**item, "content": content})
    usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 10, "output_tokens_details": None,
             "total_tokens": 20}
    yield event("response.completed", response={"id": "r", "usage": usage})


class Server:
    """A server with its own home and working folders."""

    def __init__(self, binary, port, environment=None, provider=""):
        self.root = tempfile.mkdtemp(prefix="comparison-")
        self.home, self.work = os.path.join(self.root, "home"), os.path.join(self.root, "work")
        os.makedirs(self.home)
        os.makedirs(self.work)
        with open(os.path.join(self.home, "config.toml"), "w") as f:
            f.write('model = "mock-model"\nmodel_provider = "mock"\napproval_policy = "never"\n'
                    'sandbox_mode = "read-only"\n[model_providers.mock]\nname = "Mock"\n'
                    f'base_url = "http://127.0.0.1:{port}/v1"\nwire_api = "responses"\n{provider}')
        self.before = size_of(self.home)
        env = {"PATH": os.environ["PATH"], "HOME": self.root, "CODEX_HOME": self.home, **(environment or {})}
        self.child = subprocess.Popen([binary, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, cwd=self.work, env=env)
        self.next = 0
        self.call("initialize", {"clientInfo": {"name": "comparison", "version": "1"}})

    def call(self, method, params):
        self.next += 1
        self.child.stdin.write(json.dumps({"id": self.next, "method": method, "params": params}).encode() + b"\n")
        self.child.stdin.flush()
        while True:
            message = self.read()
            if message.get("id") == self.next and "method" not in message:
                if "error" in message:
                    raise RuntimeError(message["error"])
                return message["result"]

    def read(self):
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError("the server ended")
        return json.loads(line)

    def turn(self, thread, text):
        self.call("turn/start", {"threadId": thread, "input": [{"type": "text", "text": text, "text_elements": []}]})
        while True:
            message = self.read()
            if message.get("method") == "turn/completed":
                if message["params"]["turn"]["status"] != "completed":
                    raise RuntimeError(message)
                return

    def cpu(self):
        """Processor seconds of the process, including ended threads (see clock_getcpuclockid)."""
        return time.clock_gettime((~self.child.pid << 3) | 2)

    def children_cpu(self):
        with open(f"/proc/{self.child.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[13]) + int(fields[14])) / TICKS

    def told(self, file, name):
        with open(f"/proc/{self.child.pid}/{file}") as f:
            return next(int(line.split()[1]) for line in f if line.startswith(name + ":"))

    def settle(self):
        """Waits until there is no background work."""
        before = -1.0
        while self.cpu() - before > 0.001:
            before = self.cpu()
            time.sleep(0.3)

    def end(self):
        self.child.stdin.close()
        self.child.wait(60)
        written = size_of(self.home) - self.before
        shutil.rmtree(self.root)
        return written


def size_of(folder):
    return sum(os.lstat(os.path.join(at, name)).st_size for at, _, names in os.walk(folder) for name in names)


def measure(binary, port):
    """Measures one binary once. The figures are in the order of the rows."""
    server = Server(binary, port)
    start, memory = server.cpu() * 1e3, server.told("status", "VmRSS") * KIB / MIB
    server.settle()
    written = server.end() / KIB
    server = Server(binary, port)
    thread = server.call("thread/start", {"cwd": server.work})["thread"]["id"]
    server.turn(thread, "warm up")
    server.settle()
    before = server.cpu() + server.children_cpu()
    for _ in range(TURNS):
        server.turn(thread, "hello")
    turn = (server.cpu() + server.children_cpu() - before) / TURNS * 1e3
    thread = server.call("thread/start", {"cwd": server.work})["thread"]["id"]
    server.settle()
    before, disk = server.cpu(), server.told("io", "write_bytes")
    server.turn(thread, "MANY PIECES")
    server.settle()
    pieces, disk = server.cpu() - before, (server.told("io", "write_bytes") - disk) / MIB
    server.end()
    return start, memory, written, turn, pieces, disk


ROWS = [
    ("start up to the first reply: processor time", "ms"),
    ("memory after it (resident)", "MiB"),
    ("written to an empty home by a first start", "KiB"),
    ("a turn of one message: processor time, with that of child processes", "ms"),
    (f"an answer in {PIECES:,} pieces: processor time", "s"),
    ("… written to disk for it", "MiB"),
]


def figure(value, unit):
    digits = 0 if value == 0 or value >= 10 else 1 if value >= 1 else 2
    return f"{value:,.{digits}f} {unit}"


def version(binary):
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    return said.split()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("ours")
    parser.add_argument("reference")
    options = parser.parse_args()
    binaries = [os.path.abspath(path) for path in (options.ours, options.reference)]
    port = Model().port
    figures = {binary: [] for binary in binaries}
    for number in range(options.repetitions):
        for binary in binaries if number % 2 == 0 else reversed(binaries):
            figures[binary].append(measure(binary, port))
            print(f"{number + 1}/{options.repetitions} {os.path.basename(binary)}", file=sys.stderr)
    print(f"| | this | {version(binaries[1])} |\n|---|---|---|")
    medians = [[statistics.median(column) for column in zip(*figures[binary])] for binary in binaries]
    for (name, unit), ours, theirs in zip(ROWS, *medians):
        print(f"| {name} | {figure(ours, unit)} | {figure(theirs, unit)} |")


if __name__ == "__main__":
    main()
