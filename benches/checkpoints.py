#!/usr/bin/env python3
"""Measures checkpoints in large folders, and kills restores.

    benches/checkpoints.py large [--server PATH] [--files COUNT] [--git]
    benches/checkpoints.py kills [--server PATH] [COUNT]

`large` makes a folder with this many files (300,000 by default) and prints how long turns take in it and in a folder with
one file: without a command, with a reading command, with a patch, with the first writing command and with a later one. `kills`
restores files with `codex checkpoint restore` and ends the process with SIGKILL at a random moment, 200 times by
default. After each time the files must be all old or all new, and nothing may be left over.
crates/checkpoints/tests/it/killed.rs is the short version of this. Needs Linux; uses the standard library only.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kills import Server  # noqa: E402

SETTINGS = """
description = "Turns in a folder."

[settings]
approval_policy = "never"
sandbox_mode = "danger-full-access"
"""

PATCH = "*** Begin Patch\n*** Add File: patched%d\n+text\n*** End Patch"


def reply(step):
    return f"\n[[replies]]\nsteps = [{{ {step} }}]\n"


def command(script):
    return reply(f"command = {script!r}") + reply('message = "done"')


def patch(number):
    return reply("patch = '''\n" + PATCH % number + "'''") + reply('message = "done"')


TURNS = [
    ("no command", reply('message = "done"')),
    ("reading command", command("cat first")),
    ("patch", patch(1)),
    ("first writing command", command("echo x > second")),
    ("later writing command", command("echo y > second")),
]


def start(program, home, cwd, replies):
    scenario = os.path.join(home, "scenario.toml")
    with open(scenario, "w", encoding="utf-8") as file:
        file.write(SETTINGS + "".join(replies))
    server = Server(program, home, scenario)
    server.call("initialize", {"clientInfo": {"name": "checkpoints", "version": "1"},
                               "capabilities": {"experimentalApi": True}})
    thread = server.call("thread/start", {"cwd": cwd})["thread"]["id"]
    return server, thread


def turn(server, thread):
    """Runs a turn and returns how long it took, in milliseconds."""
    ended = len(server.ended)
    begun = time.monotonic()
    server.call("turn/start", {"threadId": thread, "input": [{"type": "text", "text": "go"}]})
    with server.changed:
        server.changed.wait_for(lambda: len(server.ended) > ended or server.is_gone, timeout=600)
    if server.is_gone:
        sys.exit("the server has ended")
    return (time.monotonic() - begun) * 1000


def fill(folder, files):
    for number in range(files):
        if number % 100 == 0:
            below = os.path.join(folder, f"d{number // 10000}", f"e{number // 100 % 100}")
            os.makedirs(below, exist_ok=True)
        with open(os.path.join(below, f"f{number}"), "w", encoding="utf-8") as file:
            file.write(f"file {number}\n" * 10)


def prepare(files, with_git):
    folder = tempfile.TemporaryDirectory()
    with open(os.path.join(folder.name, "first"), "w", encoding="utf-8") as file:
        file.write("first\n")
    fill(folder.name, files)
    if with_git:
        run = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-C", folder.name]
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
            subprocess.run(run + arguments, check=True)
    return folder


def large(program, files, with_git, times):
    print(f"milliseconds, median of {times}; {files} files, {'a' if with_git else 'no'} repository")
    print("| turn | one file | many files |")
    print("|---|---|---|")
    columns = []
    for count in (0, files):
        with prepare(count, with_git) as folder:
            runs = []
            for _ in range(times):
                with tempfile.TemporaryDirectory() as home:
                    server, thread = start(program, home, folder, [replies for _, replies in TURNS])
                    runs.append([turn(server, thread) for _ in TURNS])
                    server.stop()
                for name in ("second", "patched1"):
                    os.unlink(os.path.join(folder, name))
            columns.append([statistics.median(of_turn) for of_turn in zip(*runs)])
    for (name, _), few, many in zip(TURNS, *columns):
        print(f"| {name} | {few:.1f} | {many:.1f} |")


def picture(folder):
    found = {}
    for path, folders, files in os.walk(folder):
        for name in folders + files:
            full = os.path.join(path, name)
            content = os.readlink(full) if os.path.islink(full) else None
            if content is None and os.path.isfile(full):
                with open(full, "rb") as file:
                    content = file.read()
            found[full] = (os.lstat(full).st_mode, content)
    return found


CHANGES = ("for f in d0/e[0-3]/*; do echo new > $f; done; rm -r d0/e4; mv d0/e5 moved; mkdir -p x/y; "
           "for i in $(seq 200); do echo $i > x/y/$i; done; rm -r d0/e6; echo file > d0/e6; ln -s d0 link")


def kills(program, count, rng):
    with prepare(1000, False) as cwd, tempfile.TemporaryDirectory() as home:
        old = picture(cwd)
        server, thread = start(program, home, cwd, [command(CHANGES)])
        turn(server, thread)
        server.stop()
        new = picture(cwd)
        environment = dict(os.environ, HOME=home, CODEX_HOME=home)

        def codex(*arguments):
            return subprocess.run([program, "checkpoint", *arguments], cwd=cwd, env=environment, check=True,
                                  capture_output=True, text=True).stdout

        def restore():
            newest = codex("list", thread).split()[0]
            return subprocess.Popen([program, "checkpoint", "restore", thread, newest], cwd=cwd, env=environment,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        begun = time.monotonic()
        restore().wait()
        whole = time.monotonic() - begun
        if picture(cwd) != old:
            sys.exit("a restore that nobody killed did not bring the files back")
        states, now = {"old": 0, "new": 0}, "old"
        done = 0
        for _ in range(count):
            process = restore()
            time.sleep(rng.random() * whole)
            process.kill()
            process.wait()
            # The next program that opens the store finishes what was begun.
            codex("list", thread)
            found = picture(cwd)
            if found not in (old, new):
                sys.exit(f"neither the old nor the new files: {cwd}")
            if os.listdir(os.path.join(home, "checkpoints", "journal")):
                sys.exit("a journal is left")
            before, now = now, "old" if found == old else "new"
            done += before != now
            states[now] += 1
        print(f"{count} kills: {done} restores were done or finished by the next program, {count - done} had not begun")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["large", "kills"])
    parser.add_argument("count", nargs="?", type=int, default=200)
    parser.add_argument("--server", default="target/release/codex")
    parser.add_argument("--files", type=int, default=300_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--git", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.server)
    if arguments.what == "large":
        large(program, arguments.files, arguments.git, arguments.times)
    else:
        print(f"seed {arguments.seed}", flush=True)
        kills(program, arguments.count, random.Random(arguments.seed))


if __name__ == "__main__":
    main()
