#!/usr/bin/env python3
"""Holds a realtime conversation of ten minutes of sound in both directions, and prints the memory of the server.

    realtime.py [--minutes 10] [--limit KIB] OURS

OURS is a `codex` binary; use a release build. The realtime server is scripted: it answers each second of sound with a second of
sound. Time is simulated: the client sends a piece of 20 ms when the reply to the last one is there. Prints, for every minute, the
memory of the server and how much sound it has passed on. Fails if the memory grows by more than the limit after the first minute.
Needs Linux, Python 3.9 or later, standard library only.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

RATE, PIECE_MS = 24_000, 20
VERSIONS = ("v1", "v2")
SCENARIO = """
description = "echo"
replies = [{ steps = [{ message = "nothing" }] }]
[realtime]
version = "%s"
[[realtime.replies]]
when = { audio_ms = 1000 }
repeat = true
steps = [{ audio_ms = 1000 }]
"""


class Server:
    def __init__(self, binary, version):
        self.folder = tempfile.TemporaryDirectory()
        scenario = os.path.join(self.folder.name, "scenario.toml")
        with open(scenario, "w", encoding="utf-8") as file:
            file.write(SCENARIO % version)
        home = os.path.join(self.folder.name, "home")
        os.mkdir(home)
        self.child = subprocess.Popen(
            [binary, "app-server", "--scenario", scenario], cwd=home,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"CODEX_HOME": home, "PATH": os.environ["PATH"]})
        self.next, self.heard_ms, self.ended = 0, 0, None

    def read(self):
        message = json.loads(self.child.stdout.readline())
        if message.get("method") == "thread/realtime/outputAudio/delta":
            self.heard_ms += len(message["params"]["audio"]["data"]) * 3 // 4 * 1000 // (2 * RATE)
        if message.get("method") in ("thread/realtime/closed", "thread/realtime/error"):
            self.ended = message["params"]
        return message

    def call(self, method, params):
        self.next += 1
        self.child.stdin.write(json.dumps({"id": self.next, "method": method, "params": params}).encode() + b"\n")
        self.child.stdin.flush()
        while (message := self.read()).get("id") != self.next or "method" in message:
            pass
        if "error" in message:
            raise RuntimeError(message)
        return message["result"]

    def wait_for(self, method):
        while self.read().get("method") != method:
            pass

    def memory(self):
        """Resident memory in KiB."""
        with open(f"/proc/{self.child.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def end(self):
        self.child.stdin.close()
        self.child.wait()
        self.folder.cleanup()


def hold(binary, version, minutes, limit):
    server = Server(binary, version)
    server.call("initialize", {"clientInfo": {"name": "bench", "version": "1"},
                               "capabilities": {"experimentalApi": True}})
    thread = server.call("thread/start", {})["thread"]["id"]
    server.call("thread/realtime/start", {"threadId": thread, "prompt": ""})
    server.wait_for("thread/realtime/started")
    audio = {"data": "A" * (RATE * 2 * PIECE_MS // 1000 * 4 // 3), "sampleRate": RATE, "numChannels": 1,
             "samplesPerChannel": RATE * PIECE_MS // 1000, "itemId": None}
    print(f"{version}: {'minute':>6} {'memory':>12} {'sent':>8} {'heard':>8}")
    after_first = None
    for minute in range(1, minutes + 1):
        for _ in range(60_000 // PIECE_MS):
            server.call("thread/realtime/appendAudio", {"threadId": thread, "audio": audio})
            if server.ended:
                raise RuntimeError(server.ended)
        memory = server.memory()
        after_first = after_first or memory
        print(f"    {minute:>6} {memory:>8} KiB {minute * 60:>6} s {server.heard_ms // 1000:>6} s", flush=True)
    server.call("thread/realtime/stop", {"threadId": thread})
    server.end()
    growth = memory - after_first
    print(f"    grown by {growth} KiB after the first minute")
    return growth <= limit


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--limit", type=int, default=2048, metavar="KIB")
    parser.add_argument("binary", metavar="OURS")
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    held = [hold(binary, version, options.minutes, options.limit) for version in VERSIONS]
    if not all(held):
        sys.exit("the memory is not constant")


if __name__ == "__main__":
    main()
