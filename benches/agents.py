#!/usr/bin/env python3
"""Measures what agents cost: the memory of a server with many agents at work at once, next to as many threads at work.

    agents.py [--count 50] [--rounds 3] NAME=BINARY [NAME=BINARY ...]

The model answers the root with calls of `spawn_agent` and lets the agents wait, so all of them are at work when the memory
(resident) is read. Prints the median of each, and the difference. The agents are those of the feature `multi_agent_v2`. Needs
Linux, Python 3.9 or later, standard library only. Use release builds.
"""

import argparse
import json
import os
import queue
import shutil
import statistics
import subprocess
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONFIG = """model = "m"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.mock]
name = "Mock"
base_url = "http://127.0.0.1:%d/v1"
wire_api = "responses"
[features.multi_agent_v2]
enabled = true
max_concurrent_threads_per_session = %d
%s
"""


class HoldingModel:
    """Answers the root; every other request waits until `release`."""

    def __init__(self, count, namespace):
        self.count, self.namespace = count, namespace
        self.waiting = threading.Semaphore(0)
        self.released = threading.Event()
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                self.send_response(404)
                self.end_headers()

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                try:
                    self.answer(model.items(body, self.headers.get("x-openai-subagent")))
                except OSError:
                    pass

            def answer(self, items):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                self.close_connection = True
                self.send("response.created", response={"id": "r"})
                if items is None:
                    model.waiting.release()
                    model.released.wait()
                    items = [message("done")]
                for item in items:
                    self.send("response.output_item.done", item=item)
                self.send("response.completed", response={"id": "r", "usage": None})

            def send(self, kind, **fields):
                self.wfile.write(b"data: %s\n\n" % json.dumps({"type": kind, **fields}).encode())
                self.wfile.flush()

        class Listener(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 1024

        self.server = Listener(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def items(self, body, agent):
        """None if the request has to wait."""
        said = json.dumps(body["input"])
        if agent or "start agents" not in said:
            return None
        if "function_call_output" in said:
            return [message("started")]
        return [self.spawn(number) for number in range(self.count)]

    def spawn(self, number):
        task = {"task_name": "agent_%d" % number, "message": "work", "fork_turns": "none"}
        call = {"type": "function_call", "name": "spawn_agent", "call_id": "c%d" % number, "arguments": json.dumps(task)}
        return {**call, "namespace": self.namespace} if self.namespace else call

    def until_all_wait(self):
        for _ in range(self.count):
            if not self.waiting.acquire(timeout=120):
                raise SystemExit("not all requests came")


def message(text):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


class Server:
    def __init__(self, binary, model, namespace):
        self.folder = tempfile.mkdtemp(prefix="agents-")
        setting = 'tool_namespace = "%s"' % namespace if namespace else ""
        with open(os.path.join(self.folder, "config.toml"), "w") as file:
            file.write(CONFIG % (model.port, model.count + 1, setting))
        env = {"PATH": os.environ["PATH"], "HOME": self.folder, "CODEX_HOME": self.folder}
        self.process = subprocess.Popen([binary, "app-server"], env=env, cwd=self.folder, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.replies, self.last = queue.Queue(), 0
        threading.Thread(target=self.read, daemon=True).start()
        self.call("initialize", {"clientInfo": {"name": "bench", "title": None, "version": "1"}})

    def read(self):
        for line in self.process.stdout:
            reply = json.loads(line)
            if "id" in reply and "method" not in reply:
                self.replies.put(reply)

    def call(self, method, params):
        self.last += 1
        self.process.stdin.write(json.dumps({"id": self.last, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        reply = self.replies.get(timeout=60)
        return reply["result"]

    def begin(self, text):
        thread = self.call("thread/start", {"cwd": self.folder})["thread"]["id"]
        self.call("turn/start", {"threadId": thread, "input": [{"type": "text", "text": text}]})

    def resident(self):
        with open("/proc/%d/status" % self.process.pid) as file:
            line = next(line for line in file if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def resident(binary, count, namespace, with_agents):
    """MiB of a server with this many agents or threads at work."""
    model = HoldingModel(count, namespace)
    server = Server(binary, model, namespace)
    try:
        if with_agents:
            server.begin("start agents")
        else:
            for _ in range(count):
                server.begin("work")
        model.until_all_wait()
        return server.resident()
    finally:
        server.end()
        model.released.set()
        model.server.shutdown()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--namespace", help="of the tools; releases choose it themselves from 0.169 on: collaboration")
    parser.add_argument("binaries", nargs="+", metavar="NAME=BINARY")
    options = parser.parse_args()
    for given in options.binaries:
        name, binary = given.split("=", 1)
        figures = [statistics.median(resident(os.path.abspath(binary), options.count, options.namespace, with_agents)
                                     for _ in range(options.rounds)) for with_agents in (False, True)]
        threads, agents = figures
        print("%s: %d threads at work %.1f MiB, a thread with %d agents at work %.1f MiB, difference %.1f MiB"
              % (name, options.count, threads, options.count, agents, agents - threads), flush=True)


if __name__ == "__main__":
    main()
