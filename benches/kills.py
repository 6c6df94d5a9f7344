#!/usr/bin/env python3
"""Kills servers at random moments and checks that nothing that they acknowledged is lost.

    benches/kills.py [--server PATH] [COUNT]

COUNT is 10,000 by default. In each round a server with a scripted model runs turns on a few threads, forks them, queues
messages, archives, unarchives and sets goals, all at the same time, and is killed. The next server must find

- every turn that was reported as completed, and every fork;
- every queued message once: in the queue, or in a turn;
- every thread in exactly one of the two lists, and in the one that the last reply put it in;
- for every thread the goal of the last reply, or one that was asked for after it.

tests/e2e/soak.rs and broken_stores.rs are short versions of this.
"""

import argparse
import collections
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
        self.next_id, self.sending = 0, threading.Lock()
        self.replies, self.changed = {}, threading.Condition()
        self.ended, self.is_gone = [], False
        threading.Thread(target=self.read, daemon=True).start()
        self.call("initialize", {"clientInfo": {"name": "kills", "version": "1"},
                                 "capabilities": {"experimentalApi": True, "clientRelease": "0.171"}})

    def read(self):
        for line in self.process.stdout:
            if not line.endswith(b"\n"):
                break
            message = json.loads(line)
            with self.changed:
                if message.get("method") == "turn/completed":
                    params = message["params"]
                    if params["turn"]["status"] == "completed":
                        self.ended.append((params["threadId"], params["turn"]["id"]))
                elif "method" not in message:
                    self.replies[message["id"]] = message
                self.changed.notify_all()
        with self.changed:
            self.is_gone = True
            self.changed.notify_all()

    def call(self, method, params):
        """The result, or None if the server answered with an error or ended before it answered."""
        with self.sending:
            self.next_id += 1
            key = self.next_id
            line = json.dumps({"id": key, "method": method, "params": params})
            try:
                self.process.stdin.write(line.encode() + b"\n")
                self.process.stdin.flush()
            except OSError:
                pass
        with self.changed:
            self.changed.wait_for(lambda: key in self.replies or self.is_gone, timeout=60)
            return self.replies.get(key, {}).get("result")

    def stop(self):
        self.process.kill()
        self.process.wait()
        with self.changed:
            self.changed.wait_for(lambda: self.is_gone, timeout=60)

    def listed(self, **filters):
        """The ids of all threads on a list."""
        found, cursor = set(), None
        while True:
            page = self.call("thread/list", {"limit": 100, "cursor": cursor, **filters})
            found.update(thread["id"] for thread in page["data"])
            cursor = page["nextCursor"]
            if cursor is None:
                return found


class Round:
    """What clients of one server asked for, and what they were told."""

    def __init__(self, server, rng):
        self.server, self.rng, self.stop = server, rng, threading.Event()
        self.threads, self.movable = [], []
        self.forks, self.messages, self.archived = [], {}, {}
        self.goals = collections.defaultdict(list)

    def begin(self):
        for kind in [self.threads, self.threads, self.threads, self.movable, self.movable]:
            started = self.server.call("thread/start", {})
            if not started:
                return
            kind.append(started["thread"]["id"])
        for thread in self.movable:  # Only a thread with a turn is stored and can be archived.
            self.server.call("turn/start", text(thread, "go"))
        self.workers = [threading.Thread(target=work, args=(random.Random(self.rng.random()),))
                        for work in (self.run_turns, self.queue_messages, self.move_threads, self.set_goals)]
        for worker in self.workers:
            worker.start()

    def end(self):
        self.stop.set()
        for worker in self.workers:
            worker.join()

    def run_turns(self, rng):
        while not self.stop.is_set():
            thread = rng.choice(self.threads)
            if rng.random() < 0.1:
                forked = self.server.call("thread/fork", {"threadId": thread})
                if forked:
                    self.forks.append(forked["thread"]["id"])
            else:
                self.server.call("turn/start", text(thread, "go"))
            time.sleep(rng.random() / 100)

    def queue_messages(self, rng):
        while not self.stop.is_set():
            thread, message = rng.choice(self.threads), f"queued {rng.getrandbits(64):016x}"
            if self.server.call("thread/queue/add", {**text(thread, message), "clientUserMessageId": message}):
                self.messages[message] = thread
            time.sleep(rng.random() / 50)

    def move_threads(self, rng):
        is_archived = dict.fromkeys(self.movable, False)
        while not self.stop.is_set():
            thread = rng.choice(self.movable)
            goal = not is_archived[thread]
            method = "thread/archive" if goal else "thread/unarchive"
            self.archived[thread] = None  # In flight: it may be in either list.
            if self.server.call(method, {"threadId": thread}) is not None:
                self.archived[thread] = is_archived[thread] = goal
            time.sleep(rng.random() / 50)

    def set_goals(self, rng):
        while not self.stop.is_set():
            thread, goal = rng.choice(self.threads), f"goal {rng.getrandbits(64):016x}"
            self.goals[thread].append((goal, False))
            asked = {"threadId": thread, "objective": goal, "status": rng.choice(["paused", "active"])}
            if self.server.call("thread/goal/set", asked):
                self.goals[thread][-1] = (goal, True)
            time.sleep(rng.random() / 20)

    def lost(self, server):
        """What the next server does not know."""
        lost = []
        reads = {}

        def read(thread):
            if thread not in reads:
                reads[thread] = server.call("thread/read", {"threadId": thread, "includeTurns": True})
            return reads[thread]

        for thread, turn in self.server.ended:
            found = read(thread)
            if not found or not any(one["id"] == turn and one["status"] == "completed"
                                    for one in found["thread"]["turns"]):
                lost.append(f"turn {turn} of {thread}")
        for thread in self.forks:
            if not server.call("thread/read", {"threadId": thread, "includeTurns": False}):
                lost.append(f"fork {thread}")
        queues = {thread: json.dumps(server.call("thread/queue/list", {"threadId": thread, "limit": 100}))
                  for thread in set(self.messages.values())}
        for message, thread in self.messages.items():
            count = queues[thread].count(f'"text": "{message}"')
            found = read(thread)
            for turn in found["thread"]["turns"] if found else []:
                count += sum(json.dumps(item).count(f'"text": "{message}"')
                             for item in turn["items"] if item["type"] == "userMessage")
            if count != 1:
                lost.append(f"queued message {message} of {thread}: there {count} times")
        if self.archived:
            lists = {False: server.listed(archived=False), True: server.listed(archived=True)}
            for thread, goal in self.archived.items():
                places = [place for place, listed in lists.items() if thread in listed]
                if len(places) != 1 or (goal is not None and places != [goal]):
                    lost.append(f"thread {thread}: archived {goal}, in lists {places}")
        for thread, goals in self.goals.items():
            last = max((at for at, (_, is_known) in enumerate(goals) if is_known), default=None)
            if last is not None:
                found = server.call("thread/goal/get", {"threadId": thread})
                if not found or (found["goal"] or {}).get("objective") not in {goal for goal, _ in goals[last:]}:
                    lost.append(f"goal of {thread}: {found}, not of {goals[last:]}")
        return lost

    def counts(self):
        return collections.Counter(
            turns=len(self.server.ended), forks=len(self.forks), messages=len(self.messages),
            moves=sum(goal is not None for goal in self.archived.values()),
            goals=sum(is_known for goals in self.goals.values() for _, is_known in goals))


def text(thread, message):
    return {"threadId": thread, "input": [{"type": "text", "text": message}]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("count", nargs="?", type=int, default=10_000)
    parser.add_argument("--server", default="target/release/codex")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    rng = random.Random(arguments.seed)
    program = os.path.abspath(arguments.server)
    counts = collections.Counter()
    for round_number in range(arguments.count):
        if round_number % 50 == 0:  # A new home now and then keeps the lists short.
            folder = tempfile.TemporaryDirectory()
            scenario = os.path.join(folder.name, "scenario.toml")
            with open(scenario, "w", encoding="utf-8") as file:
                file.write(SCENARIO)
            with open(os.path.join(folder.name, "config.toml"), "w", encoding="utf-8") as file:
                file.write("[features]\ngoals = true\n")
        server = Server(program, folder.name, scenario)
        this = Round(server, rng)
        this.begin()
        if len(this.movable) < 2:
            sys.exit("a server ended before it had its threads")
        time.sleep(rng.random() / 2)
        server.stop()
        this.end()
        counts += this.counts()
        after = Server(program, folder.name, scenario)
        lost = this.lost(after)
        after.stop()
        if lost:
            print(f"round {round_number}: lost {lost}")
            sys.exit(1)
        if (round_number + 1) % 100 == 0:
            print(f"{round_number + 1} kills, {dict(counts)}", flush=True)
    print(f"{arguments.count} kills, {dict(counts)}, none lost")


if __name__ == "__main__":
    main()
