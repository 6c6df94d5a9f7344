#!/usr/bin/env python3
"""Measures scripts of the model: code_mode.py [--reference OTHER] OURS.

OURS is a `codex` binary, OTHER one of a release that knows the feature `code_mode`; use release builds. The model is scripted and
calls `exec` in every turn. Measures, by the processor time of the whole tree of processes, what a turn costs with

- a script that does nothing, against a turn with a plain call of `update_plan`: the cost of a fresh cell,
- a script that calls `update_plan` once: the cost of a nested call,
- a script with 1,000 parallel calls: the time until all have completed,

and the peak memory of the server while a script exhausts its heap. Turns of the two programs alternate.
Needs Linux, Python 3.9 or later, standard library only.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

from scripted import ScriptedModel, event, peak, processes, processor, serve

ROUNDS = 100
PLAN = {"plan": [{"step": "a", "status": "pending"}]}
CALL = "await tools.update_plan(%s)" % json.dumps(PLAN)
MANY = "const all = []; for (let i = 0; i < 1000; i++) all.push(tools.update_plan(%s)); await Promise.all(all)" % json.dumps(PLAN)
HEAP = "const a = []; for (;;) a.push(new Array(1000).fill(a.length))"


class Model(ScriptedModel):
    """Answers the first request of a turn with the call of its server, the next with a message."""

    def events(self, body):
        last = json.loads(body)["input"][-1]
        if "output" in last:
            self.server.outputs.append(json.dumps(last["output"]))
            item = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
        else:
            item = self.server.call
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        yield event("response.created", response={"id": "r"})
        yield event("response.output_item.done", item=item)
        yield event("response.completed", response={"id": "r", "usage": usage})


CONFIG = """
model = "gpt-5.2"
model_provider = "local"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[features]
code_mode = true
[model_providers.local]
name = "Local"
base_url = "http://127.0.0.1:%d"
wire_api = "responses"
"""


class Server:
    def __init__(self, binary):
        self.model, self.folder, self.next = serve(Model), tempfile.TemporaryDirectory(), 0
        self.model.outputs = []
        home = self.folder.name
        with open(os.path.join(home, "config.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIG % self.model.server_port)
        self.child = subprocess.Popen(
            [binary, "app-server"], cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={"CODEX_HOME": home, "HOME": home, "PATH": os.environ["PATH"]})
        self.call("initialize", {"clientInfo": {"name": "bench", "version": "1"}})
        self.thread = self.call("thread/start", {"cwd": home})["thread"]["id"]

    def read(self):
        return json.loads(self.child.stdout.readline())

    def call(self, method, params):
        self.next += 1
        self.child.stdin.write(json.dumps({"id": self.next, "method": method, "params": params}).encode() + b"\n")
        self.child.stdin.flush()
        while (message := self.read()).get("id") != self.next or "method" in message:
            pass
        return message["result"]

    def turn(self, call):
        """Runs a turn; its wall time and the processor time of the tree, in milliseconds."""
        self.model.call = dict(call, call_id=f"c{self.next}")
        cpu, started = self.cpu(), time.perf_counter()
        self.call("turn/start", {"threadId": self.thread, "input": [{"type": "text", "text": "go"}]})
        while self.read().get("method") != "turn/completed":
            pass
        return 1000 * (time.perf_counter() - started), self.cpu() - cpu

    def cpu(self):
        """Milliseconds of the tree, also of children that have ended, as their parents waited for them."""
        return 1000 * sum(processor(process) for process in processes(self.child.pid))

    def end(self):
        self.child.stdin.close()
        self.child.wait()
        self.model.shutdown()
        self.folder.cleanup()


def script(source):
    return {"type": "custom_tool_call", "name": "exec", "input": source}


PLAIN = {"type": "function_call", "name": "update_plan", "arguments": json.dumps(PLAN)}
KINDS = [("plain call", PLAIN), ("empty script", script("1")), ("script with a call", script(CALL))]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("ours")
    options.add_argument("--reference")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options = options.parse_args()
    names = [("ours", options.ours)] + ([("reference", options.reference)] if options.reference else [])
    servers = [(name, Server(binary)) for name, binary in names]
    for _, server in servers:
        for _, call in KINDS:
            server.turn(call)
    results = {}
    for kind, call in KINDS:
        for _ in range(options.rounds):
            for name, server in servers:
                results.setdefault((kind, name), []).append(server.turn(call))
    for kind, _ in KINDS:
        for name, _ in servers:
            walls, cpus = zip(*results[(kind, name)])
            print(f"{kind:20} {name:10} {statistics.median(walls):8.2f} ms {statistics.mean(cpus):8.2f} ms of CPU")
    for name, server in servers:
        wall, cpu = server.turn(script(MANY))
        if "Script completed" not in server.model.outputs[-1]:
            raise SystemExit(f"{name}: the 1,000 calls did not complete: {server.model.outputs[-1][:300]}")
        print(f"{'1,000 calls':20} {name:10} {wall:8.2f} ms {cpu:8.2f} ms of CPU")
    for name, server in servers:
        if name == "ours":
            before = peak(server.child.pid)
            server.turn(script(HEAP))
            print(f"{'exhausted heap':20} {name:10} the server grew by {peak(server.child.pid) - before:.1f} MiB")
        server.end()


if __name__ == "__main__":
    main()
