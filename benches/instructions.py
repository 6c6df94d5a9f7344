#!/usr/bin/env python3
"""Fails if a binary needs more instructions for a row than the last release.

    instructions.py [--base BINARY] [--only ROW,...] BINARY

Instructions are counted by callgrind, so they do not depend on what else the machine does; the kernel's are not counted. There
is no row with a command: the program starts itself for each, which does not work below callgrind. A row is the difference between a long run and a short one, so that a start counts in no other row.
Most rows of one binary differ by less than 1 percent between runs; a turn differs by up to 9, because work in the background may
be done together. A row that needs 3 percent more is measured three times, and the least of either binary counts. The base is built as check.py does if it is not given. Needs
Linux, valgrind, Python 3.9 or later, standard library only. Use release builds of the same profile.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import long_threads  # noqa: E402
import thread_lists  # noqa: E402
from check import release  # noqa: E402
from scaling.model import ModelProcess  # noqa: E402
from scaling.rows import add_only  # noqa: E402
from scaling.server import Server, write_config  # noqa: E402
from traces import write_bundle  # noqa: E402

TOLERANCE = 0.03


class Home:
    """A home folder of one measurement."""

    def __init__(self, binary, port, folder):
        self.binary, self.port = binary, port
        self.path = tempfile.mkdtemp(dir=folder)
        self.counts = os.path.join(folder, "counts")
        write_config(self.path, port)

    def under(self):
        return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.counts}"]

    def counted(self):
        with open(self.counts) as f:
            return int(re.search(r"^(?:summary|totals): (\d+)", f.read(), re.M).group(1))

    def server(self, use):
        """The instructions of a server that is used so."""
        server = Server(self.binary, self.path, self.under())
        use(server)
        server.end()
        return self.counted()


def repeated(home, short, long, step, prepare=lambda server: None):
    """The instructions of one step."""
    def use(times):
        def run(server):
            prepared = prepare(server)
            for number in range(times):
                step(server, prepared, number)
        return run
    return (home.server(use(long)) - home.server(use(short))) / (long - short)


def start_thread(server):
    return server.call("thread/start", {"cwd": server.home})["thread"]["id"]


def turns(text):
    """Turns of this text, in which `%d` is their number."""
    def row(home):
        # What the first turns of a process make once is left out.
        return repeated(home, 5, 25, lambda server, thread, number: server.turn(thread, text.replace("%d", f"{os.getpid()}-{number}")),
                        start_thread)
    return row


def start(home):
    home.server(lambda server: None)
    return home.server(lambda server: None)


def threads(home):
    return repeated(home, 5, 25, lambda server, _, number: start_thread(server))


def deltas(home):
    short, long = (home.server(lambda server: server.turn(start_thread(server), f"STREAM {count}")) for count in (100, 5_100))
    return (long - short) / 5_000


def list_page(home):
    shutil.rmtree(home.path)
    thread_lists.make_home(home.path, 200)

    def prepare(server):
        while not server.call("thread/list", {"searchTerm": "item-199"})["data"]:
            pass
    # The index is made once, before what is counted.
    home.server(prepare)
    return repeated(home, 5, 25, lambda server, *_: server.call("thread/list", {"limit": 50}), prepare)


def read_page(home):
    shutil.rmtree(home.path)
    long_threads.make_home(home.path, 500)
    write_config(home.path, home.port)
    params = {"threadId": long_threads.THREAD}

    def prepare(server):
        server.call("thread/list", {})
        server.call("thread/turns/list", params)
    home.server(prepare)
    return repeated(home, 5, 25, lambda server, *_: server.call("thread/turns/list", params), prepare)


def resume(home):
    shutil.rmtree(home.path)
    long_threads.make_home(home.path, 500)
    write_config(home.path, home.port)

    def run(server):
        server.call("thread/list", {})
        server.call("thread/resume", {"threadId": long_threads.THREAD})
    home.server(run)
    return home.server(run)


def read_file(home):
    path = os.path.join(home.path, "data")
    with open(path, "wb") as f:
        f.write(bytes(range(256)) * 400)
    return repeated(home, 5, 25, lambda server, *_: server.call("fs/readFile", {"path": path}))


def reduce(home):
    bundle = os.path.join(home.path, "bundle")
    write_bundle(bundle, 200, 2_000, repeats=True)
    subprocess.run([*home.under(), home.binary, "debug", "trace-reduce", bundle], check=True, cwd=home.path,
                   env={"PATH": os.environ["PATH"], "HOME": home.path, "CODEX_HOME": home.path},
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return home.counted()


ROWS = {"start": start, "thread/start": threads, "turn": turns("hello"), "patch": turns("PATCH file-%d"), "delta": deltas,
        "list-page": list_page, "read-page": read_page, "resume": resume, "read-file": read_file, "reduce": reduce}


def count(binary, row, port):
    folder = tempfile.mkdtemp(prefix="instructions-")
    try:
        return ROWS[row](Home(binary, port, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="the binary to compare with")
    add_only(parser, ROWS)
    parser.add_argument("binary")
    options = parser.parse_args()
    base, binary = os.path.abspath(options.base or release()), os.path.abspath(options.binary)
    model, worse = ModelProcess(), []
    print("| row | base | this | ratio | |\n|---|---|---|---|---|")
    try:
        for row in options.only:
            before, after = count(base, row, model.port), count(binary, row, model.port)
            for _ in range(2):
                if after > before * (1 + TOLERANCE):
                    before, after = min(before, count(base, row, model.port)), min(after, count(binary, row, model.port))
            is_worse = after > before * (1 + TOLERANCE)
            worse += [row] if is_worse else []
            print(f"| {row} | {before:,.0f} | {after:,.0f} | {after / before:.3f} | {'worse' if is_worse else ''} |", flush=True)
    finally:
        model.end()
    sys.exit(f"worse: {', '.join(worse)}" if worse else 0)


if __name__ == "__main__":
    main()
