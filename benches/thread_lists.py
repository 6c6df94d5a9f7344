#!/usr/bin/env python3
"""Measures `thread/list` with many stored threads, for one or more binaries.

    thread_lists.py [--count 1000,10000] [--home FOLDER] NAME=BINARY [NAME=BINARY ...]

Creates a home folder with this many small rollouts (40 per day, deterministic). Measures for each binary: the first page
without an index, the time until every thread is found, the first page after a start with an index, further pages with
filters, and paging through all threads. Prints wall time in milliseconds, the server's CPU time, and its peak memory.
Needs Linux, Python 3.9 or later, standard library only. Use release builds.
"""

import argparse
import datetime as dt
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

INSTRUCTIONS = "You are an agent. " * 600  # About the size of real instructions.
PER_DAY = 40
TICKS = os.sysconf("SC_CLK_TCK")


def line(at, kind, payload):
    stamp = at.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return json.dumps({"timestamp": stamp, "type": kind, "payload": payload}, separators=(",", ":")) + "\n"


def rollout(at, thread, number):
    text = f"please look at topic-{number % 97:02} item-{number}"
    cwd = f"/home/someone/project-{number % 50}"
    turn = f"turn-{number}"
    yield line(at, "session_meta", {
        "id": thread, "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.000Z"), "cwd": cwd, "originator": "bench",
        "cli_version": "0.117.0", "source": "vscode", "model_provider": "mock",
        "base_instructions": {"text": INSTRUCTIONS},
        "git": {"commit_hash": "0" * 40, "branch": "main", "repository_url": "https://example.com/x.git"}})
    yield line(at, "event_msg", {"type": "task_started", "turn_id": turn, "model_context_window": 258400,
                                 "collaboration_mode_kind": "default"})
    item = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules " * 500}]}
    yield line(at, "response_item", item)
    yield line(at, "turn_context", {"turn_id": turn, "cwd": cwd, "approval_policy": "never",
                                    "sandbox_policy": {"type": "danger-full-access"}, "model": "mock-model",
                                    "summary": "auto"})
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    yield line(at, "response_item", item)
    yield line(at, "event_msg", {"type": "user_message", "message": text, "images": [], "local_images": [],
                                 "text_elements": []})
    yield line(at, "event_msg", {"type": "agent_message", "message": "done"})
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    yield line(at, "response_item", item)
    yield line(at, "event_msg", {"type": "task_complete", "turn_id": turn, "last_agent_message": "done"})


def make_home(home, count):
    os.makedirs(home)
    with open(os.path.join(home, "config.toml"), "w") as f:
        f.write('model = "mock-model"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "Mock"\n'
                'base_url = "http://127.0.0.1:9/v1"\nwire_api = "responses"\n')
    rnd = random.Random(1)
    newest = dt.datetime(2026, 3, 1, tzinfo=dt.timezone.utc)
    for number in range(count):
        at = newest - dt.timedelta(seconds=86400 // PER_DAY) * number
        ms = int(at.timestamp() * 1000)
        bits = (ms & (2 ** 48 - 1)) << 80 | 7 << 76 | rnd.getrandbits(12) << 64 | 2 << 62 | rnd.getrandbits(62)
        digits = "%032x" % bits
        thread = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        folder = os.path.join(home, "sessions", at.strftime("%Y/%m/%d"))
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"rollout-{at.strftime('%Y-%m-%dT%H-%M-%S')}-{thread}.jsonl")
        with open(path, "w") as f:
            f.writelines(rollout(at, thread, number))
        touched = at.timestamp() + (rnd.random() * 3600 if number % 10 else rnd.random() * 86400 * 20)
        os.utime(path, (touched, touched))


class Server:
    def __init__(self, binary, home):
        env = {"PATH": os.environ["PATH"], "HOME": home, "CODEX_HOME": home, "RUST_LOG": "error"}
        self.began = time.perf_counter()
        self.child = subprocess.Popen([binary, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, cwd=home, env=env)
        self.next = 0
        self.call("initialize", {"clientInfo": {"name": "bench", "title": "Bench", "version": "1"},
                                 "capabilities": {"experimentalApi": True}})

    def call(self, method, params):
        message = json.loads(self.answer(method, params))
        if "error" in message:
            raise RuntimeError(message["error"])
        return message["result"]

    def timed_call(self, method, params):
        """Returns the time until the reply arrived, and its length."""
        began = time.perf_counter()
        answer = self.answer(method, params)
        seconds = time.perf_counter() - began
        if answer[:200].count(b'"error"'):
            raise RuntimeError(answer)
        return seconds, len(answer)

    def answer(self, method, params):
        """The line with the reply to a request."""
        self.next += 1
        request = {"id": self.next, "method": method, "params": params}
        self.child.stdin.write(json.dumps(request).encode() + b"\n")
        self.child.stdin.flush()
        own = b'"id":%d,' % self.next
        while True:
            line = self.child.stdout.readline()
            if not line:
                raise RuntimeError("the server ended")
            # The id is near one end of the line; long lines are not parsed as JSON.
            if (own in line[:40] or own[:-1] + b"}" in line[-40:]) and b'"method"' not in line[:40]:
                return line

    def cpu(self):
        with open(f"/proc/{self.child.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def peak(self):
        with open(f"/proc/{self.child.pid}/status") as f:
            return next(int(text.split()[1]) for text in f if text.startswith("VmHWM")) / 1024

    def end(self):
        # Reads the remaining output, because the server may wait until it can write.
        self.child.communicate(timeout=60)


def page(server, **more):
    return server.call("thread/list", {"limit": 50, **more})


def timed(server, times, **more):
    walls, before = [], server.cpu()
    for _ in range(times):
        began = time.perf_counter()
        page(server, **more)
        walls.append((time.perf_counter() - began) * 1000)
    return sorted(walls)[len(walls) // 2], (server.cpu() - before) * 1000 / times


def through_all(server, limit=100, patience=60, **more):
    seen, cursor, calls, began = set(), None, 0, time.perf_counter()
    while time.perf_counter() - began < patience:
        answer = server.call("thread/list", {"limit": limit, **({"cursor": cursor} if cursor else {}), **more})
        seen.update(thread["id"] for thread in answer["data"])
        cursor, calls = answer["nextCursor"], calls + 1
        if not cursor:
            break
    return (time.perf_counter() - began) * 1000, len(seen), calls


def measure(binary, home, count):
    for name in os.listdir(home):
        if "sqlite" in name:
            os.remove(os.path.join(home, name))
    rows = []
    server = Server(binary, home)
    page(server)
    rows.append(("no index: start to first page", (time.perf_counter() - server.began) * 1000, None))
    # Not every server fills its index by listing, so wait until a search finds the last thread.
    oldest = {"searchTerm": f"item-{count - 1}"}
    while time.perf_counter() - server.began < 60 + count / 500:
        if len(page(server, **oldest)["data"]) == 1:
            break
        time.sleep(0.05)
    rows.append(("no index: start to every thread found", (time.perf_counter() - server.began) * 1000, server.cpu() * 1000))
    rows.append(("peak memory of that server, MiB", server.peak(), None))
    server.end()
    server = Server(binary, home)
    page(server)
    rows.append(("index there: start to first page", (time.perf_counter() - server.began) * 1000, None))
    time.sleep(2 + count / 50000)  # Background work does not count for the page.
    for what, more in (("created", {}), ("updated", {"sortKey": "updated_at"}),
                       ("a folder", {"cwd": "/home/someone/project-7"}), ("no such folder", {"cwd": "/nowhere"}),
                       ("a word", {"searchTerm": "topic-42"}), ("no such word", {"searchTerm": "nowhere"})):
        rows.append((f"warm page: {what}", *timed(server, 20, **more)))
    wall, seen, calls = through_all(server)
    rows.append((f"through all by created ({seen} in {calls})", wall, None))
    wall, seen, calls = through_all(server, sortKey="updated_at")
    rows.append((f"through all by updated ({seen} in {calls})", wall, None))
    rows.append(("peak memory, MiB", server.peak(), None))
    server.end()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", default="1000,10000")
    parser.add_argument("--home", help="where to create the home folders; a temporary folder by default")
    parser.add_argument("binaries", nargs="+", metavar="NAME=BINARY")
    options = parser.parse_args()
    root = options.home or tempfile.mkdtemp(prefix="thread-lists-")
    try:
        for count in (int(text) for text in options.count.split(",")):
            home = os.path.join(root, f"home-{count}")
            if not os.path.exists(home):
                make_home(home, count)
            for name, binary in (text.split("=", 1) for text in options.binaries):
                print(f"\n{name}, {count} threads")
                for what, figure, cpu in measure(os.path.abspath(binary), home, count):
                    beside = "" if cpu is None else f"   {cpu:9.2f} CPU"
                    print(f"  {what:<44} {figure:10.2f}{beside}")
                sys.stdout.flush()
    finally:
        if not options.home:
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
