#!/usr/bin/env python3
"""Measures what recording a trace costs a turn of `codex app-server`.

    tracing.py [--rounds 11] [--turns 100] [--pause MS] [--traces FOLDER] NAME=BINARY [NAME=BINARY ...]

Each round has two servers, one of them with `CODEX_ROLLOUT_TRACE_ROOT`. They run turns of one message alternately, so that
other load on the machine affects both equally. Prints the medians over all rounds of the time from the request to the end
of the turn and of the processor time of the server, including the writing of the trace, and the difference between the
two servers in the same round. Traces are written below FOLDER, by default TMPDIR; the cost of a file depends on the file
system. Needs Linux, Python 3.9 or later, standard library only. Use release builds.
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
    """Wall time and processor time of a turn in milliseconds, without and with a trace."""
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
    # Removed only at the end: ext4 is slow to create files where others were removed minutes before.
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
