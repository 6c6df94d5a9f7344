#!/usr/bin/env python3
"""Compares turns whose requests go over a websocket with turns over HTTP.

    model_websocket.py [--rounds 5] [--turns 100] [--history BYTES] OURS [REFERENCE]

The arguments are `codex` binaries; use release builds. This process is the scripted model, on the loopback interface; it
keeps HTTP connections open. Each round has two servers per binary, one per transport. They run turns of one message
alternately, so that other load on the machine affects both equally. Prints the medians over all rounds of the time from the
request of the client to the first piece of the answer, and of the processor time of the server. The first message of a
thread has BYTES bytes, because what a websocket saves depends on the length of the conversation. Needs Linux, Python 3.9 or
later, standard library only.
"""

import argparse
import base64
import hashlib
import json
import os
import statistics
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from comparison import Server, version  # noqa: E402

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TRANSPORTS = ("HTTP", "websocket")


class Model:
    """A scripted model that answers with one message, over both transports."""

    def __init__(self):
        numbers = iter(range(1, 1 << 62))

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def log_message(self, *_):
                pass

            def do_GET(self):
                if self.headers.get("upgrade", "").lower() == "websocket":
                    self.serve_websocket()
                else:
                    self.answer("application/json", b'{"data": [], "models": []}')

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                frames = (b"data: " + event + b"\n\n" for event in events(next(numbers)))
                self.answer("text/event-stream", b"".join(frames))

            def answer(self, kind, body):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                self.wfile.flush()

            def serve_websocket(self):
                key = hashlib.sha1((self.headers["sec-websocket-key"] + MAGIC).encode()).digest()
                self.send_response(101)
                self.send_header("upgrade", "websocket")
                self.send_header("connection", "Upgrade")
                self.send_header("sec-websocket-accept", base64.b64encode(key).decode())
                self.end_headers()
                self.wfile.flush()
                self.close_connection = True
                while (message := read_message(self.rfile)) is not None:
                    for event in events(next(numbers), b'"generate":false' not in message):
                        self.wfile.write(frame(event))
                    self.wfile.flush()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def read_message(stream):
    """The bytes of the next message, which is not compressed; none after a close."""
    message = b""
    while head := stream.read(2):
        size = head[1] & 127
        if size >= 126:
            size = int.from_bytes(stream.read(2 if size == 126 else 8), "big")
        mask, data = stream.read(4), stream.read(size)
        if head[0] & 15 == 8:
            return None
        if head[0] & 15 < 8:
            whole = int.from_bytes(data, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")
            message += whole.to_bytes(size, "big")
            if head[0] & 128:
                return message
    return None


def frame(data):
    size = bytes([len(data)]) if len(data) < 126 else bytes([126]) + struct.pack(">H", len(data))
    return b"\x81" + size + data


def events(number, answers=True):
    """The events of a response."""
    def event(kind, **fields):
        return json.dumps({"type": kind, **fields}).encode()

    response, item = f"r{number}", {"type": "message", "role": "assistant", "id": f"m{number}"}
    yield event("response.created", response={"id": response})
    if answers:
        yield event("response.output_item.added", output_index=0, item={**item, "content": []})
        yield event("response.output_text.delta", item_id=item["id"], output_index=0, content_index=0, delta="hello")
        content = [{"type": "output_text", "text": "hello", "annotations": []}]
        yield event("response.output_item.done", output_index=0, item={**item, "content": content})
    usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 10, "output_tokens_details": None,
             "total_tokens": 20}
    yield event("response.completed", response={"id": response, "usage": usage})


class Client(Server):
    """A server whose provider uses one of the transports."""

    def __init__(self, binary, port, websocket):
        super().__init__(binary, port, provider=f"supports_websockets = {json.dumps(websocket)}\n")

    def first_delta(self, thread, text):
        """Seconds from the request to the first piece of the answer."""
        began, first = time.perf_counter(), None
        self.next += 1
        params = {"threadId": thread, "input": [{"type": "text", "text": text, "text_elements": []}]}
        line = json.dumps({"id": self.next, "method": "turn/start", "params": params})
        self.child.stdin.write(line.encode() + b"\n")
        self.child.stdin.flush()
        while True:
            message = self.read()
            if message.get("method") == "item/agentMessage/delta" and first is None:
                first = time.perf_counter() - began
            if message.get("method") == "turn/completed":
                if message["params"]["turn"]["status"] != "completed":
                    raise RuntimeError(message)
                return first


def measure(binary, port, options):
    """Time to the first delta and processor time of a turn in milliseconds, over both transports."""
    clients = [Client(binary, port, websocket) for websocket in (False, True)]
    threads = [client.call("thread/start", {"cwd": client.work})["thread"]["id"] for client in clients]
    for client, thread in zip(clients, threads):
        client.first_delta(thread, "word " * (options.history // 5 or 1))
        client.settle()
    firsts, before = ([], []), [client.cpu() for client in clients]
    for number in range(options.turns):
        for side in (0, 1) if number % 2 else (1, 0):
            firsts[side].append(clients[side].first_delta(threads[side], "hello"))
    figures = []
    for client, first, cpu in zip(clients, firsts, before):
        client.settle()
        figures.append((statistics.median(first) * 1e3, (client.cpu() - cpu) / options.turns * 1e3))
        client.end()
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--history", type=int, default=100_000, metavar="BYTES")
    parser.add_argument("binaries", nargs="+", metavar="BINARY")
    options = parser.parse_args()
    binaries = [os.path.abspath(path) for path in options.binaries]
    port = Model().port
    rounds = {binary: [] for binary in binaries}
    for number in range(options.rounds):
        for binary in binaries if number % 2 == 0 else reversed(binaries):
            rounds[binary].append(measure(binary, port, options))
    print(f"{'a turn, in ms':<34} {TRANSPORTS[0]:>10} {TRANSPORTS[1]:>10} {'less':>8}")
    for binary in binaries:
        for index, what in enumerate(("time to the first delta", "processor")):
            http, websocket = ([figures[side][index] for figures in rounds[binary]] for side in (0, 1))
            less = statistics.median(1 - b / a for a, b in zip(http, websocket))
            title = f"{version(binary)}, {what}"
            print(f"{title:<34} {statistics.median(http):>10.2f} {statistics.median(websocket):>10.2f} {less:>+8.1%}")


if __name__ == "__main__":
    main()
