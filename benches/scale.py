#!/usr/bin/env python3
"""Measures one binary at sizes at which long use shows: memory and time must follow what is asked for, not what is stored.

    scale.py [--small] [--only NAME,...] [--folder FOLDER] BINARY

Each measurement runs at a tenth of its size and at its size, and the table has both side by side. The largest needs 6 GiB
of disk below FOLDER (by default the folder for temporary files) and removes it; `--small` makes everything a hundred times
smaller. Files were just written when they are read, so they come from the page cache where it is large enough. "Read" is
what the server asked the system for. This starts a scripted model on the loopback interface. Needs Linux, Python 3.9 or
later, standard library only. Use a release build.
"""

import argparse
import os
import resource
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from scaling import clients, rollouts, use  # noqa: E402
from scaling.model import ModelProcess  # noqa: E402
from scaling.rows import add_only  # noqa: E402
from scaling.server import write_config  # noqa: E402

# Name, function, full size.
MEASUREMENTS = {
    "rollout": (rollouts.long_thread, 200_000),
    "threads": (rollouts.many_threads, 100_000),
    "clients": (clients.websocket_clients, 1_000),
    "loaded": (clients.loaded_threads, 2_000),
    "day": (use.day, 400),
    "printing": (use.printing, 10_240),
    "images": (use.images, 200),
}
DESCRIPTORS = 8192


class Context:
    """What a measurement needs: the binary, the port of the model, folders."""

    def __init__(self, binary, port, folder):
        self.binary, self.port, self.folder = os.path.abspath(binary), port, folder
        self.homes = 0

    def new_home(self, created=True):
        self.homes += 1
        home = os.path.join(self.folder, f"home-{self.homes}")
        if created:
            write_config(home, self.port)
        return home


def measure(context, function, size):
    """The rows at one size. Its folders are removed."""
    rows = {}
    try:
        for what, figures in function(context, size):
            rows[what] = figures
            print(f"  {size:,}: {what}: {figures}", file=sys.stderr, flush=True)
    finally:
        for name in os.listdir(context.folder):
            shutil.rmtree(os.path.join(context.folder, name), ignore_errors=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    add_only(parser, MEASUREMENTS)
    parser.add_argument("--folder")
    parser.add_argument("binary")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < DESCRIPTORS:
        sys.exit(f"{DESCRIPTORS} open files are needed; the limit is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, DESCRIPTORS), hard))
    folder = tempfile.mkdtemp(prefix="scale-", dir=options.folder)
    model = ModelProcess()
    try:
        context = Context(options.binary, model.port, folder)
        for name in options.only:
            function, size = MEASUREMENTS[name]
            size = max(10, size // 100) if options.small else size
            began = time.perf_counter()
            columns = [measure(context, function, at) for at in (size // 10, size)]
            summary = function.__doc__.splitlines()[0]
            print(f"\n### {name}: {summary}\n\n| | {size // 10:,} | {size:,} |\n|---|---|---|")
            for what in columns[1]:
                print(f"| {what} | {columns[0].get(what, '')} | {columns[1][what]} |")
            print(f"\n{time.perf_counter() - began:,.0f} s in all", flush=True)
    finally:
        model.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
