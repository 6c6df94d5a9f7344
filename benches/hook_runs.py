#!/usr/bin/env python3
"""Measures what a hook costs a turn of `codex app-server`, beside the process of the hook itself.

    hook_runs.py [--rounds 7] [--turns 60] NAME=BINARY [NAME=BINARY ...]

Each round has two servers, one of them with a hook for `UserPromptSubmit` that writes a file. They run turns of one message
alternately, so that other load on the machine affects both equally. Prints, in milliseconds, the medians over all rounds of
the processor time of the server for a turn without and with the hook, the difference in the same round, which is what the
hook costs the server, and the wall time that the hook adds to a turn, which has its process in it. The target for the
difference is 1 ms. Needs Linux, Python 3.9 or later, standard library only. Use release builds.
"""

import argparse
import json
import os
import statistics
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from comparison import Model, Server  # noqa: E402

HOOK = {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": ": > ran"}]}]}}


def with_hook(binary, port):
    server = Server(binary, port, provider="[features]\ncodex_hooks = true\n")
    with open(os.path.join(server.home, "hooks.json"), "w") as file:
        json.dump(HOOK, file)
    return server


def measure(binary, port, turns):
    """Processor time of a turn without and with a hook, and the wall time that it adds, in milliseconds."""
    servers = [Server(binary, port), with_hook(binary, port)]
    threads = [server.call("thread/start", {"cwd": server.work})["thread"]["id"] for server in servers]
    for server, thread in zip(servers, threads):
        server.turn(thread, "warm up")
        server.settle()
    if not os.path.exists(os.path.join(servers[1].work, "ran")):
        sys.exit("the hook has not run")
    walls, before = ([], []), [server.cpu() for server in servers]
    for number in range(turns):
        for side in (0, 1) if number % 2 else (1, 0):
            began = time.perf_counter()
            servers[side].turn(threads[side], "hello")
            walls[side].append(time.perf_counter() - began)
    used = []
    for server, cpu in zip(servers, before):
        server.settle()
        used.append((server.cpu() - cpu) / turns * 1e3)
        server.end()
    without, own = (statistics.median(wall) * 1e3 for wall in walls)
    return used[0], used[1], used[1] - used[0], own - without


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("binaries", nargs="+", metavar="NAME=BINARY")
    options = parser.parse_args()
    port = Model().port
    print(f"{'':12}{'without':>12}{'with a hook':>14}{'difference':>14}{'wall added':>14}")
    for entry in options.binaries:
        name, binary = entry.split("=", 1)
        rounds = [measure(os.path.abspath(binary), port, options.turns) for _ in range(options.rounds)]
        figures = [statistics.median(figure) for figure in zip(*rounds)]
        print(f"{name:12}{figures[0]:12.2f}" + "".join(f"{figure:14.2f}" for figure in figures[1:]))


if __name__ == "__main__":
    main()
