#!/usr/bin/env python3
"""Fails if a binary is slower or larger than the last release, by more than noise.

    check.py [--base BINARY] [--only ROW,...] [--rounds 7] BINARY

The base is built from the last release tag, below target/check, if it is not given. Each round measures the base, the binary
and the base again, in changing order, so other load on the machine affects all three, and the two series of the base say
what noise is. Figures are processor time, which is steadier than wall time, and memory. A row that looks worse is measured
again with twice the rounds, and counts only if it looks worse again. The scripted model is scaling/model.py. Needs Linux,
Python 3.9 or later, standard library only. Use release builds of the same profile.
"""

import argparse
import base64
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import long_threads  # noqa: E402
import thread_lists  # noqa: E402
from scaling.model import ModelProcess  # noqa: E402
from scaling.rows import add_only  # noqa: E402
from scaling.server import Server, write_config  # noqa: E402

# A difference below this share never counts.
TOLERANCE = 0.05
# Nor one below this many times the noise.
NOISE = 3


class Home:
    """A home folder of one measurement."""

    def __init__(self, binary, port, folder):
        self.binary, self.path = binary, tempfile.mkdtemp(dir=folder)
        write_config(self.path, port)
        self.port = port

    def server(self):
        return Server(self.binary, self.path)


def start(home):
    """Start to the reply to `initialize`, with a home that was used before."""
    home.server().end()
    used = []
    for _ in range(5):
        server = home.server()
        used.append(server.cpu() * 1000)
        memory = server.resident()
        server.end()
    yield "start, CPU", statistics.median(used), "ms"
    yield "start, resident memory", memory, "MiB"


def threads(home):
    server = home.server()
    server.call("thread/start", {"cwd": home.path})
    cpu, memory = server.cpu(), server.resident()
    for _ in range(50):
        server.call("thread/start", {"cwd": home.path})
    yield "thread/start, CPU", (server.cpu() - cpu) * 1000 / 50, "ms"
    yield "thread/start, memory", (server.resident() - memory) * 1024 / 50, "KiB"
    server.end()


def turns(home):
    server = home.server()
    thread = server.call("thread/start", {"cwd": home.path})["thread"]["id"]
    for name, text in (("a turn", "hello"), ("a turn with a command", "RUN true")):
        server.turn(thread, text)
        cpu = server.cpu()
        for _ in range(40):
            server.turn(thread, text)
        yield f"{name}, CPU", (server.cpu() - cpu) * 1000 / 40, "ms"
    server.end()


def lists(home):
    shutil.rmtree(home.path)
    thread_lists.make_home(home.path, 300)
    server = home.server()
    while not server.call("thread/list", {"searchTerm": "item-299"})["data"]:
        pass
    yield "index of 300 threads, CPU", server.cpu() * 1000, "ms"
    cpu = server.cpu()
    for _ in range(50):
        server.call("thread/list", {"limit": 50})
    yield "thread/list, a page, CPU", (server.cpu() - cpu) * 1000 / 50, "ms"
    server.end()


def long_thread(home):
    shutil.rmtree(home.path)
    long_threads.make_home(home.path, 500)
    write_config(home.path, home.port)
    thread = {"threadId": long_threads.THREAD}
    for name, method, params in (("thread/read, 500 turns", "thread/read", {**thread, "includeTurns": True}),
                                 ("first page of 500 turns", "thread/turns/list", thread),
                                 ("thread/resume, 500 turns", "thread/resume", thread)):
        server = home.server()
        server.call("thread/list", {})
        server.forget_peak()
        cpu, memory = server.cpu(), server.resident()
        server.call(method, params)
        yield f"{name}, CPU", (server.cpu() - cpu) * 1000, "ms"
        yield f"{name}, memory", server.peak() - memory, "MiB"
        server.end()


def bulk(home):
    server = home.server()
    path = os.path.join(home.path, "data")
    with open(path, "wb") as f:
        f.write(os.urandom(10_000_000))
    data = base64.b64encode(os.urandom(4_000_000)).decode()
    command = {"command": ["head", "-c", "20000000", path], "cwd": home.path, "timeoutMs": 60_000}
    requests = (("fs/readFile, 10 MB", 5, "fs/readFile", {"path": path}),
                ("fs/writeFile, 4 MB", 5, "fs/writeFile", {"path": path + "2", "dataBase64": data}),
                ("command/exec, true", 50, "command/exec", {"command": ["true"], "cwd": home.path}),
                ("command/exec, 10 MB streamed", 3, "command/exec",
                 {**command, "processId": "p", "streamStdoutStderr": True, "disableOutputCap": True}))
    for name, times, method, params in requests:
        server.call(method, params)
        cpu = server.cpu()
        for _ in range(times):
            server.call(method, params)
        yield f"{name}, CPU", (server.cpu() - cpu) * 1000 / times, "ms"
    server.end()


MEASUREMENTS = {"start": start, "threads": threads, "turns": turns, "lists": lists, "long": long_thread, "bulk": bulk}


def measure(names, binaries, port, rounds):
    """The figures of each row: one list for each of base, base again, binary."""
    rows = {}
    folder = tempfile.mkdtemp(prefix="check-")
    try:
        for number in range(rounds):
            order = [0, 2, 1] if number % 2 == 0 else [1, 2, 0]
            for series in order:
                for name in names:
                    home = Home(binaries[series], port, folder)
                    for what, figure, unit in MEASUREMENTS[name](home):
                        row = rows.setdefault(what, (name, unit, ([], [], [])))
                        row[2][series].append(figure)
                    shutil.rmtree(home.path, ignore_errors=True)
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return rows


def judge(series):
    """Base, binary, their ratio, the ratio from which a difference counts."""
    first, again, own = map(statistics.median, series)
    base = statistics.median(series[0] + series[1])
    spread = statistics.median(abs(figure - base) for figure in series[0] + series[1])
    if base == 0:
        return base, own, 1.0, 1.0
    noise = max(abs(first - again), spread / len(series[0]) ** 0.5) / base
    return base, own, own / base, 1 + max(TOLERANCE, NOISE * noise)


def table(rows):
    """Prints the rows, and returns the worse ones with their measurements."""
    print("| row | base | this | ratio | worse from | |\n|---|---|---|---|---|---|")
    worse = {}
    for what, (name, unit, series) in rows.items():
        base, own, ratio, limit = judge(series)
        if ratio > limit:
            worse[what] = name
        print(f"| {what} | {base:.3g} {unit} | {own:.3g} {unit} | {ratio:.2f} | {limit:.2f} | "
              f"{'worse' if ratio > limit else ''} |", flush=True)
    return worse


def release():
    """Builds the binary of the last release tag."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

    def git(*arguments):
        return subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True, text=True).stdout.strip()
    try:
        tag = git("describe", "--tags", "--abbrev=0")
    except subprocess.CalledProcessError:
        print("There is no release tag to compare with, so nothing is measured; name a binary with --base.")
        sys.exit(0)
    folder = os.path.join(root, "target", "check", tag)
    binary = os.path.join(folder, "target", "release", "codex")
    if not os.path.exists(binary):
        if not os.path.exists(folder):
            git("worktree", "add", "--detach", folder, tag)
        subprocess.run(["cargo", "build", "--release", "--locked", "-p", "codex-cli"], cwd=folder, check=True,
                       env={**os.environ, "CARGO_TARGET_DIR": os.path.join(folder, "target")})
    return binary


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="the binary to compare with")
    add_only(parser, MEASUREMENTS)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("binary")
    options = parser.parse_args()
    base = os.path.abspath(options.base or release())
    binaries = [base, base, os.path.abspath(options.binary)]
    model = ModelProcess()
    try:
        worse = table(measure(options.only, binaries, model.port, options.rounds))
        if worse:
            print("\nAgain, what looks worse:\n")
            again = [name for name in MEASUREMENTS if name in worse.values()]
            still = table(measure(again, binaries, model.port, 2 * options.rounds))
            worse = [what for what in worse if what in still]
    finally:
        model.end()
    sys.exit(f"worse: {'; '.join(worse)}" if worse else 0)


if __name__ == "__main__":
    main()
