#!/usr/bin/env python3
"""Measures trace commands, and what following a session costs it.

    traces.py [--only reduce,view,replay,follow] [--rounds 5] NAME=BINARY [NAME=BINARY ...]

Prints the median wall time and the highest memory of each command and binary:

    reduce   1,000 and 5,000 small turns; 1 GiB in 450 turns that repeat all messages; 256 MiB that no message repeats
    view     the page of 256 MiB in 225 turns that repeat all messages, and of 256 MiB that no message repeats
    replay   1,000 turns that the first binary recorded, replayed by each
    follow   turns of `codex app-server` while `trace-view --follow` reads its bundle, against turns that are only recorded

Commands that a binary does not have are left out. Needs Linux, Python 3.9 or later, standard library only. Use release builds.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from comparison import Model, Server  # noqa: E402

MIB = 1 << 20


def write_bundle(folder, turns, text_bytes, repeats=False):
    """A bundle of turns with one request and one response each; requests repeat all messages, or only name the response before."""
    os.makedirs(os.path.join(folder, "payloads"))
    thread, filler, seq, payload, history = "thread", "x" * text_bytes, 0, 0, []

    def add(kind, value):
        nonlocal payload
        payload += 1
        path = "payloads/%d.json" % payload
        with open(os.path.join(folder, path), "w") as file:
            json.dump(value, file)
        return {"raw_payload_id": "raw_payload:%d" % payload, "kind": {"type": kind}, "path": path}

    with open(os.path.join(folder, "trace.jsonl"), "w") as log:
        def event(body, turn=None):
            nonlocal seq
            seq += 1
            line = {"schema_version": 1, "seq": seq, "wall_time_unix_ms": 1_700_000_000_000 + seq, "rollout_id": thread,
                    "thread_id": thread if turn else None, "codex_turn_id": turn, "payload": body}
            log.write(json.dumps(line) + "\n")

        event({"type": "rollout_started", "trace_id": "trace", "root_thread_id": thread})
        event({"type": "thread_started", "thread_id": thread, "agent_path": "/root", "metadata_payload": None})
        for number in range(turns):
            turn, call = "turn-%d" % number, "call-%d" % number
            event({"type": "codex_turn_started", "codex_turn_id": turn, "thread_id": thread}, turn)
            message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "%d %s" % (number, filler)}]}
            history = [*history, message] if repeats else [message]
            request = {"model": "m", "input": history}
            if number and not repeats:
                request["previous_response_id"] = "response-%d" % (number - 1)
            event({"type": "inference_started", "inference_call_id": call, "thread_id": thread, "codex_turn_id": turn, "model": "m",
                   "provider_name": "p", "request_payload": add("inference_request", request)}, turn)
            answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done %d" % number}]}
            history.append(answer)
            response = {"response_id": "response-%d" % number, "upstream_request_id": None, "token_usage": None, "output_items": [answer]}
            event({"type": "inference_completed", "inference_call_id": call, "response_id": "response-%d" % number,
                   "upstream_request_id": None, "response_payload": add("inference_response", response)}, turn)
            event({"type": "codex_turn_ended", "codex_turn_id": turn, "status": "completed"}, turn)
        event({"type": "thread_ended", "thread_id": thread, "status": "completed"})
        event({"type": "rollout_ended", "status": "completed"})
    with open(os.path.join(folder, "manifest.json"), "w") as file:
        json.dump({"schema_version": 1, "trace_id": "trace", "rollout_id": thread, "root_thread_id": thread,
                   "started_at_unix_ms": 1_700_000_000_000, "raw_event_log": "trace.jsonl", "payloads_dir": "payloads"}, file)


def run(command, home):
    """Wall time in milliseconds, memory in MiB, exit status."""
    env = {"PATH": os.environ["PATH"], "HOME": home, "CODEX_HOME": home}
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        began = time.perf_counter()
        status = subprocess.call(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        took = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        os.write(writer, json.dumps([took * 1e3, peak, status]).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        figures = json.loads(pipe.read())
    os.waitpid(pid, 0)
    return figures


def row(name, binaries, rounds, command, home):
    cells = []
    for label, binary in binaries:
        figures = [run([binary, *command], home) for _ in range(rounds)]
        if any(status not in (0, 3) for _, _, status in figures):
            cells.append("%s: exit status %d" % (label, figures[0][2]))
            continue
        cells.append("%s: %.0f ms, %.0f MiB" % (label, statistics.median(took for took, _, _ in figures), max(peak for _, peak, _ in figures)))
    print("%-32s %s" % (name, "   ".join(cells)), flush=True)


def record(binary, folder, turns):
    """The bundle of a session of this many turns."""
    server = Server(binary, Model().port, {"CODEX_ROLLOUT_TRACE_ROOT": folder})
    thread = server.call("thread/start", {"cwd": server.work})["thread"]["id"]
    for _ in range(turns):
        server.turn(thread, "hello")
    server.end()
    return os.path.join(folder, next(name for name in os.listdir(folder) if name.startswith("trace-")))


def follow(binary, folder, turns):
    """Medians of a turn in milliseconds: only recorded, and followed."""
    walls = ([], [])
    servers, followers = [], []
    for side in (0, 1):
        root = os.path.join(folder, str(side))
        os.makedirs(root)
        server = Server(binary, Model().port, {"CODEX_ROLLOUT_TRACE_ROOT": root})
        thread = server.call("thread/start", {"cwd": server.work})["thread"]["id"]
        server.turn(thread, "warm up")
        servers.append((server, thread))
        if side:
            command = [binary, "debug", "trace-view", "--follow", root]
            followers.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            followers[-1].stdout.readline()
    for number in range(turns):
        for side in (0, 1) if number % 2 else (1, 0):
            server, thread = servers[side]
            began = time.perf_counter()
            server.turn(thread, "hello")
            walls[side].append((time.perf_counter() - began) * 1e3)
    for follower in followers:
        follower.terminate()
        follower.wait()
    for server, _ in servers:
        server.end()
    return [statistics.median(wall) for wall in walls]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="reduce,view,replay,follow")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=300, help="of a followed session")
    parser.add_argument("binaries", nargs="+", metavar="NAME=BINARY")
    options = parser.parse_args()
    binaries = [(name, os.path.abspath(path)) for name, path in (text.split("=", 1) for text in options.binaries)]
    only = options.only.split(",")
    folder = tempfile.mkdtemp(prefix="traces-")
    place = lambda name: os.path.join(folder, name)  # noqa: E731
    os.mkdir(place("home"))
    try:
        output = ["-o", place("out")]
        if "reduce" in only:
            bundles = (("1,000 turns", 1000, 20, False), ("5,000 turns", 5000, 20, False), ("1 GiB", 450, 10_000, True),
                       ("256 MiB", 400, 640 << 10, False))
            for name, *bundle in bundles:
                write_bundle(place(name), *bundle)
                row("reduce " + name, binaries, options.rounds, ["debug", "trace-reduce", place(name), *output], place("home"))
                shutil.rmtree(place(name))
        if "view" in only:
            for name, *bundle in (("256 MiB", 225, 10_000, True), ("256 MiB, no repeats", 400, 640 << 10, False)):
                write_bundle(place("big"), *bundle)
                row("view " + name, binaries, options.rounds, ["debug", "trace-view", place("big"), *output], place("home"))
                print("%-32s %.1f MiB" % ("  the page", os.path.getsize(place("out")) / MIB))
                shutil.rmtree(place("big"))
        if "replay" in only:
            bundle = record(binaries[0][1], place("recorded"), 1000)
            row("replay 1,000 turns", binaries, options.rounds, ["debug", "trace-replay", bundle], place("home"))
        if "follow" in only:
            for name, binary in binaries:
                alone, followed = follow(binary, place("follow-" + name), options.turns)
                print("%-32s %s: %.3f ms, %.3f ms followed (%+.1f %%)" % ("a turn", name, alone, followed, (followed / alone - 1) * 100))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
