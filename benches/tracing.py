#!/usr/bin/env python3
"""What recording a trace costs a turn of `codex app-server`.

    tracing.py [--rounds 11] [--turns 40] [--pause MS] [--traces FOLDER] NAME=BINARY [NAME=BINARY ...]

Each round has a server without and one with `CODEX_ROLLOUT_TRACE_ROOT`, in turns the one and the other first, each of
which answers so many turns of one message: one after the other, or with a pause in between. Prints the medians over the
rounds of what a turn takes from the request to its end and of the processor time of the server, the writing of the trace
included, and how much more that is with a trace than without in the same round. Traces are made below FOLDER, TMPDIR
unless given: what a file costs differs between file systems. Linux, Python 3.9 or later, standard library only. Measure
a release build.
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
    """Milliseconds of wall and of processor time that a turn takes."""
    server = Server(binary, port, {"CODEX_ROLLOUT_TRACE_ROOT": traces} if traces else {})
    thread = server.call("thread/start", {"cwd": server.work})["thread"]["id"]
    server.turn(thread, "warm up")
    server.settle()
    walls, cpu = [], server.cpu()
    for _ in range(options.turns):
        time.sleep(options.pause / 1e3)
        began = time.perf_counter()
        server.turn(thread, "hello")
        walls.append(time.perf_counter() - began)
    server.settle()
    figures = statistics.median(walls) * 1e3, (server.cpu() - cpu) / options.turns * 1e3
    server.end()
    return figures


def pair(binary, port, options, traces, traced_first):
    sides = [traces, None] if traced_first else [None, traces]
    figures = {side: measure(binary, port, options, side) for side in sides}
    return figures[None], figures[traces]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--turns", type=int, default=40)
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
        for number in range(options.rounds):
            for name, path in binaries:
                rounds[name].append(pair(os.path.abspath(path), port, options, folder, number % 2 == 1))
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
