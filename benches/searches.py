#!/usr/bin/env python3
"""Measures `thread/search` over many threads, and pages of items of a long thread.

    searches.py [--threads 10000] [--turns 100] [--long 5000] [--home FOLDER] NAME=BINARY [NAME=BINARY ...]

Creates a home folder with this many rollouts of this many turns (about 2.8 KiB a turn, words of a vocabulary of 20,000),
and one thread with 5,000 turns. Measures for each binary: the first search, which reads the threads; the time until
the tables are complete; warm searches (a word of one thread, a word of many, a word of none, two letters, a phrase); the
size of the tables against the rollouts; pages of items. Prints the median wall time in milliseconds and the server's CPU
time. Needs Linux, Python 3.9 or later, standard library only. Use release builds: 10,000 threads take about 2.8 GB.
"""

import argparse
import datetime as dt
import os
import random
import shutil
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import long_threads  # noqa: E402
from thread_lists import Server, line  # noqa: E402

PER_DAY = 40
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "il")]
WORDS = 20000


def vocabulary():
    rnd = random.Random(2)
    return ["".join(rnd.choices(SYLLABLES, k=rnd.randint(2, 4))) for _ in range(WORDS)]


def turn(at, number, question, answer):
    name = f"0195f0a0-7b1c-7000-9000-{number:012x}"
    yield line(at, "event_msg", {"type": "task_started", "turn_id": name, "model_context_window": 258400,
                                 "collaboration_mode_kind": "default"})
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": question}]}
    yield line(at, "response_item", item)
    yield line(at, "event_msg", {"type": "user_message", "message": question, "images": [], "local_images": [],
                                 "text_elements": []})
    yield line(at, "event_msg", {"type": "agent_message", "message": answer, "phase": None, "memory_citation": None})
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": answer}]}
    yield line(at, "response_item", item)
    yield line(at, "event_msg", {"type": "task_complete", "turn_id": name, "last_agent_message": answer})


def rollout_file(home, at, thread):
    folder = os.path.join(home, "sessions", at.strftime("%Y/%m/%d"))
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, f"rollout-{at.strftime('%Y-%m-%dT%H-%M-%S')}-{thread}.jsonl")


def meta(at, thread):
    return line(at, "session_meta", {
        "id": thread, "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.000Z"), "cwd": "/", "originator": "bench",
        "cli_version": "0.117.0", "source": "vscode", "model_provider": "mock",
        "base_instructions": {"text": long_threads.INSTRUCTIONS}})


def make_home(home, threads, turns, long_turns):
    os.makedirs(home)
    with open(os.path.join(home, "config.toml"), "w") as f:
        f.write('model = "mock-model"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "Mock"\n'
                'base_url = "http://127.0.0.1:9/v1"\nwire_api = "responses"\n')
    words, rnd = vocabulary(), random.Random(3)
    newest = dt.datetime(2026, 3, 1, tzinfo=dt.timezone.utc)
    size = 0
    for number in range(threads):
        at = newest - dt.timedelta(seconds=86400 // PER_DAY) * number
        thread = f"0195f0a0-7b1c-7000-8000-{threads - number:012x}"
        with open(rollout_file(home, at, thread), "w") as f:
            f.write(meta(at, thread))
            for count in range(turns):
                said = rnd.choices(words, k=70)
                question = f"please look at item-{number}-{count}x " + " ".join(said[:15])
                f.writelines(turn(at, count, question, " ".join(said[15:])))
            size += f.tell()
    at = newest + dt.timedelta(days=1)
    with open(rollout_file(home, at, long_threads.THREAD), "w") as f:
        f.write(meta(at, long_threads.THREAD))
        for number in range(long_turns):
            f.writelines(long_threads.turn(at, number))
        size += f.tell()
    with open(os.path.join(home, "size"), "w") as f:
        f.write(str(size))
    return words


def timed(server, method, params, times=20):
    walls, before = [], server.cpu()
    for _ in range(times):
        walls.append(server.timed_call(method, params)[0] * 1000)
    return statistics.median(walls), (server.cpu() - before) * 1000 / times


def tables(home):
    names = [name for name in os.listdir(home) if name.startswith("thread-search")]
    return sum(os.path.getsize(os.path.join(home, name)) for name in names)


def warm_up(server, home):
    """Waits until the tables no longer grow."""
    began, last, still = time.perf_counter(), -1, 0
    while still < 8:
        time.sleep(0.25)
        now = (tables(home), server.cpu())
        still = still + 1 if now == last else 0
        last = now
    return (time.perf_counter() - began - still * 0.25) * 1000


def measure(binary, home, threads):
    for name in os.listdir(home):
        if "sqlite" in name:
            os.remove(os.path.join(home, name))
    rows = []
    server = Server(binary, home)
    wall, _ = server.timed_call("thread/search", {"searchTerm": "item-17-3x"})
    rows.append(("first search", wall * 1000, None))
    rows.append(("until the tables are complete", warm_up(server, home), server.cpu() * 1000))
    with open(os.path.join(home, "size")) as f:
        whole = int(f.read())
    rows.append(("tables, percent of the rollouts", tables(home) * 100 / whole, None))
    words = vocabulary()
    middle = threads // 2
    for what, term in (("a word of one thread", f"item-{middle}-42x"), ("a word of many", words[7]),
                       ("a word of all", "please look"), ("a word of none", "xyzzyplugh"),
                       ("pieces of all, word of none", words[1][:4] + words[2][-4:]), ("two letters", "zo")):
        rows.append((f"search: {what}", *timed(server, "thread/search", {"searchTerm": term})))
    occurrences = {"threadId": long_threads.THREAD, "searchTerm": "message 4711"}
    rows.append(("occurrences in the long thread", *timed(server, "thread/searchOccurrences", occurrences, 5)))
    items = {"threadId": long_threads.THREAD, "limit": 50}
    first = server.call("thread/items/list", items)
    for what, more in (("first", {}), ("second", {"cursor": first["nextCursor"]}), ("last", {"sortDirection": "desc"})):
        rows.append((f"items: {what} page", *timed(server, "thread/items/list", {**items, **more})))
    turns = {"threadId": long_threads.THREAD, "limit": 20}
    rows.append(("turns: newest page", *timed(server, "thread/turns/list", turns)))
    rows.append(("peak memory, MiB", server.peak(), None))
    server.end()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=10000)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--long", type=int, default=5000)
    parser.add_argument("--home", help="where to create the home folder; a temporary folder by default")
    parser.add_argument("binaries", nargs="+", metavar="NAME=BINARY")
    options = parser.parse_args()
    root = options.home or tempfile.mkdtemp(prefix="searches-")
    try:
        home = os.path.join(root, f"home-{options.threads}-{options.turns}")
        if not os.path.exists(home):
            make_home(home, options.threads, options.turns, options.long)
        for name, binary in (text.split("=", 1) for text in options.binaries):
            print(f"\n{name}, {options.threads} threads of {options.turns} turns")
            for what, figure, cpu in measure(os.path.abspath(binary), home, options.threads):
                beside = "" if cpu is None else f"   {cpu:9.2f} CPU"
                print(f"  {what:<44} {figure:10.2f}{beside}")
            sys.stdout.flush()
    finally:
        if not options.home:
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
