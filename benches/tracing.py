#!/usr/bin/env python3
"""What recording a trace costs a turn of `codex app-server`.

    tracing.py [--rounds 11] [--turns 100] [--pause MS] [--traces FOLDER] NAME=BINARY [NAME=BINARY ...]

Each round has two servers, one of them with `CODEX_ROLLOUT_TRACE_ROOT`, which answer so many turns of one message in
turns: one after the other, or with a pause in between. So what else the machine does meets both alike. Prints the
medians over the rounds of what a turn takes from the request to its end and of the processor time of the server, the
writing of the trace included, and how much more that is with a trace than without in the same round. Traces are made
below FOLDER, TMPDIR unless given: what a file costs differs between file systems. Linux, Python 3.9 or later, standard
library only. Measure a release build.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from comparison import Model, Server  # noqa: E402


def measure(binary, port, options, traces):
    """Milliseconds of wall and of processor time that a turn takes, without a trace and with one."""
    servers = [Server(binary, port, {"CODEX_ROLLOUT_TRACE_ROOT": root} if root else {}) for root in (None, traces)]
    threads = [server.call("thread/start", {"cwd": server.work})["thread"]["id"] for server in servers]
    for server, thread in zip(servers, threads):
        server.turn(thread, "warm up")
        server.settle()
    walls, before = ([], []), [server.cpu() for server in servers]
    for number in range(options.turns):
        for side in (0, 1) if number % 2 else (1, 0):
            time.sleep(options.pause / 1e3)
            began = time.perf_counter()
            servers[side].turn(threads[side], "hello")
            walls[side].append(time.perf_counter() - began)
    figures = []
    for server, wall, cpu in zip(servers, walls, before):
        server.settle()
        figures.append((statistics.median(wall) * 1e3, (server.cpu() - cpu) / options.turns * 1e3))
        server.end()
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--pause", type=float, default=0, metavar="MS")
    parser.add_argument("--traces", metavar="FOLDER")
    parser.add_argument("binaries", nargs="+", metavar="NAME=BINARY")
    options = parser.parse_args()
    binaries = [text.split("=", 1) for text in options.binaries]
    port = Model().port
    rounds = {name: [] for name, _ in binaries}
    # Removed at the end only: ext4 is slow to make files where others were removed less than minutes ago.
    folder = tempfile.mkdtemp(prefix="tracing-", dir=options.traces)
    try:
        for _ in range(options.rounds):
            for name, path in binaries:
                rounds[name].append(measure(os.path.abspath(path), port, options, folder))
    finally:
        shutil.rmtree(folder)
    print(f"{'a turn, in ms':<24} {'without':>10} {'with':>10} {'more':>8}")
    for name, _ in binaries:
        for index, what in enumerate(("wall", "processor")):
            off, on = ([figures[side][index] for figures in rounds[name]] for side in (0, 1))
            more = statistics.median(b / a - 1 for a, b in zip(off, on))
            title = f"{name}, {what}"
            print(f"{title:<24} {statistics.median(off):>10.2f} {statistics.median(on):>10.2f} {more:>+8.1%}")


if __name__ == "__main__":
    main()
