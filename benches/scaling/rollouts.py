"""A rollout of a very long thread, and many rollouts: listed, paged, resumed, a turn after."""

import datetime as dt
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from long_threads import INSTRUCTIONS, line, turn  # noqa: E402
from thread_lists import make_home  # noqa: E402

from .server import MIB, Server, Step, milliseconds, write_config  # noqa: E402

THREAD = "0195f0a0-7b1c-7000-8000-0000000000aa"
# Turns between two compactions. With 16 KiB of model items in a turn a context window is full after about this many.
COMPACTED_AFTER = 100
# Added to the output of each command, so that a turn takes 25 KiB.
PADDING = "\\n" + "the output of a command, in a line of usual length\\n" * 150


def write_rollout(home, turns):
    """Writes the thread. Only times and ids differ between its turns, so one turn is made and changed."""
    begin = dt.datetime(2026, 3, 1, 10, tzinfo=dt.timezone.utc)
    folder = os.path.join(home, "sessions/2026/03/01")
    os.makedirs(folder)
    path = os.path.join(folder, f"rollout-2026-03-01T10-00-00-{THREAD}.jsonl")
    number, at = 999_999_999_999, "2026-03-01T10:00:00.000Z"
    text = "".join(turn(begin, number)).replace("399\\n", "399" + PADDING)
    text = text.replace(f"{number:012x}", "@ID@").replace(str(number), "@N@").replace(at, "@AT@")
    kept = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "message"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a summary " * 500}]}]
    compacted = line(begin, "compacted", {"message": "a summary " * 500, "replacement_history": kept})
    with open(path, "w") as f:
        f.write(line(begin, "session_meta", {
            "id": THREAD, "timestamp": at, "cwd": home, "originator": "bench", "cli_version": "0.117.0",
            "source": "vscode", "model_provider": "mock", "base_instructions": {"text": INSTRUCTIONS}}))
        for number in range(turns):
            if number % COMPACTED_AFTER == COMPACTED_AFTER - 1:
                f.write(compacted)
            now = (begin + dt.timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
            f.write(text.replace("@ID@", f"{number:012x}").replace("@N@", str(number)).replace("@AT@", now))
    return path


def long_thread(context, turns):
    """One thread of this many turns."""
    home = context.new_home()
    path = write_rollout(home, turns)
    yield "the rollout", f"{turns:,} turns, {os.path.getsize(path) / MIB:,.0f} MiB"
    thread = {"threadId": THREAD}
    page = {**thread, "limit": 20}
    for process in ("first", "second"):
        server = Server(context.binary, home)
        for what, method, params in (
                ("listed", "thread/list", {}),
                ("newest page of 20 turns", "thread/turns/list", page),
                ("the same page again", "thread/turns/list", page),
                ("oldest page", "thread/turns/list", {**page, "sortDirection": "asc"})):
            with Step(server) as step:
                found = server.call(method, params)["data"]
            if not found:
                raise RuntimeError(f"{what}: nothing found")
            yield f"{process} process: {what}", step.figures()
        server.end()
    for process in ("third", "fourth"):
        server = Server(context.binary, home)
        with Step(server) as step:
            server.call("thread/resume", {**thread, "excludeTurns": True})
        yield f"{process} process: resumed without turns", step.figures()
        with Step(server) as step:
            server.turn(THREAD, "hello")
        yield f"{process} process: a turn after that", step.figures()
        with Step(server) as step:
            server.call("thread/turns/list", page)
        yield f"{process} process: newest page after that", step.figures()
        yield f"{process} process: memory then", f"{server.resident():,.0f} MiB"
        server.end()


def many_threads(context, count):
    """This many stored threads."""
    home = context.new_home(created=False)
    make_home(home, count)
    write_config(home, context.port)
    began = time.perf_counter()
    server = Server(context.binary, home)
    server.call("thread/list", {"limit": 50})
    yield "no index: start to the first page", milliseconds(time.perf_counter() - began)
    oldest = {"searchTerm": f"item-{count - 1}", "limit": 50}
    while not server.call("thread/list", oldest)["data"]:
        time.sleep(0.02)
    yield "no index: start to every thread found", (f"{milliseconds(time.perf_counter() - began)} wall, "
                                                    f"{milliseconds(server.cpu())} CPU, peak {server.peak():,.0f} MiB")
    server.end()
    began = time.perf_counter()
    server = Server(context.binary, home)
    server.call("thread/list", {"limit": 50})
    yield "index there: start to the first page", milliseconds(time.perf_counter() - began)
    server.settle()
    yield "index there: check of all files", f"{milliseconds(server.cpu())} CPU, peak {server.peak():,.0f} MiB"
    for what, more in (("a page", {}), ("a page by update", {"sortKey": "updated_at"}),
                       ("a page of a folder", {"cwd": "/home/someone/project-7"}), ("a page with a word", {"searchTerm": "topic-42"})):
        with Step(server) as step:
            server.call("thread/list", {"limit": 50, **more})
        yield what, step.figures()
    with Step(server) as step:
        seen, cursor = 0, None
        while True:
            answer = server.call("thread/list", {"limit": 100, **({"cursor": cursor} if cursor else {})})
            seen, cursor = seen + len(answer["data"]), answer["nextCursor"]
            if not cursor:
                break
    if seen != count:
        raise RuntimeError(f"{seen} of {count} threads were listed")
    yield "through all, 100 at a time", step.figures()
    server.end()
