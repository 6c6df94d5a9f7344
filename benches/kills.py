#!/usr/bin/env python3
"""Kills servers at random moments and checks that no completed turn is lost.

    benches/kills.py [--server PATH] [COUNT]

COUNT is 10,000 by default. In each round a server with a scripted model runs turns on a few threads, sometimes
forks one, and is killed. The next server must find every turn that was reported as completed, and every fork.
tests/e2e/soak.rs and broken_stores.rs are short versions of this.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

SCENARIO = """
description = "An answer to everything."

[[replies]]
repeat = true
steps = [{ message = "done" }]
"""


class Server:
    def __init__(self, program, home, scenario):
        self.process = subprocess.Popen(
            [program, "app-server", "--scenario", scenario], cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=dict(os.environ, HOME=home, CODEX_HOME=home))
        self.next_id = 0
        self.replies, self.changed = {}, threading.Condition()
        self.ended, self.forked, self.waiting_forks, self.is_gone = [], [], set(), False
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            if not line.endswith(b"\n"):
                break
            message = json.loads(line)
            with self.changed:
                if message.get("method") == "turn/completed":
                    params = message["params"]
                    self.ended.append((params["threadId"], params["turn"]["id"]))
                elif "method" not in message:
                    self.replies[message["id"]] = message
                    if message["id"] in self.waiting_forks and "result" in message:
                        self.forked.append(message["result"]["thread"]["id"])
                self.changed.notify_all()
        with self.changed:
            self.is_gone = True
            self.changed.notify_all()

    def begin(self, method, params):
        self.next_id += 1
        if method == "thread/fork":
            self.waiting_forks.add(self.next_id)
        line = json.dumps({"id": self.next_id, "method": method, "params": params})
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            pass
        return self.next_id

    def call(self, method, params):
        key = self.begin(method, params)
        with self.changed:
            self.changed.wait_for(lambda: key in self.replies or self.is_gone, timeout=60)
            return self.replies.get(key, {}).get("result")

    def stop(self):
        self.process.kill()
        self.process.wait()
        with self.changed:
            self.changed.wait_for(lambda: self.is_gone, timeout=60)


def work(server, threads, rng, stop):
    for _ in range(3):
        started = server.call("thread/start", {})
        with server.changed:
            if started:
                threads.append(started["thread"]["id"])
            server.changed.notify_all()
    while not stop.is_set():
        thread = rng.choice(threads) if threads else None
        if thread is None:
            return
        if rng.random() < 0.1:
            server.call("thread/fork", {"threadId": thread})
            continue
        server.call("turn/start", {"threadId": thread, "input": [{"type": "text", "text": "go"}]})
        time.sleep(rng.random() / 100)


def check(server, ended, forked):
    lost = []
    turns = {}
    for thread, turn in ended:
        if thread not in turns:
            read = server.call("thread/read", {"threadId": thread, "includeTurns": True})
            found = read["thread"]["turns"] if read else []
            turns[thread] = {one["id"] for one in found if one["status"] == "completed"}
        if turn not in turns[thread]:
            lost.append(f"turn {turn} of {thread}")
    for thread in forked:
        if not server.call("thread/read", {"threadId": thread, "includeTurns": False}):
            lost.append(f"fork {thread}")
    return lost


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("count", nargs="?", type=int, default=10_000)
    parser.add_argument("--server", default="target/release/codex")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    rng = random.Random(arguments.seed)
    program = os.path.abspath(arguments.server)
    turns = forks = 0
    with tempfile.TemporaryDirectory() as home:
        scenario = os.path.join(home, "scenario.toml")
        with open(scenario, "w", encoding="utf-8") as file:
            file.write(SCENARIO)
        hello = {"clientInfo": {"name": "kills", "version": "1"}}
        before = Server(program, home, scenario)
        before.call("initialize", hello)
        for round_number in range(arguments.count):
            stop, threads = threading.Event(), []
            working = threading.Thread(target=work, args=(before, threads, rng, stop))
            working.start()
            with before.changed:
                before.changed.wait_for(lambda: threads or before.is_gone, timeout=60)
            time.sleep(rng.random() / 2)
            before.stop()
            stop.set()
            working.join()
            if not threads:
                sys.exit("a server ended before it had a thread")
            turns, forks = turns + len(before.ended), forks + len(before.forked)
            after = Server(program, home, scenario)
            after.call("initialize", hello)
            lost = check(after, before.ended, before.forked)
            if lost:
                print(f"round {round_number}: lost {lost}")
                sys.exit(1)
            before = after
            if (round_number + 1) % 100 == 0:
                print(f"{round_number + 1} kills, {turns} turns, {forks} forks", flush=True)
        before.stop()
    print(f"{arguments.count} kills, {turns} completed turns, {forks} forks, none lost")


if __name__ == "__main__":
    main()
