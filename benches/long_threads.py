#!/usr/bin/env python3
"""Measures reading, resuming, paging and forking of long threads, for one or more binaries.

    long_threads.py [--turns 100,1000,5000] [--times 5] NAME=BINARY [NAME=BINARY ...]

Creates a rollout with this many turns; each has a message, a command with its output and an answer (about 9 KiB), in the
format that 0.117 writes with extended history. For every figure a server is started several times. Prints the median
wall and CPU time in milliseconds, the size of the reply, and the peak memory of the process, also as a multiple of the
reply. Needs Linux, Python 3.9 or later, standard library only. Use release builds.
"""

import argparse
import datetime as dt
import os
import shutil
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from thread_lists import INSTRUCTIONS, Server, line  # noqa: E402

THREAD = "0195f0a0-7b1c-7000-8000-0000000000aa"
OUTPUT = "".join(f"{number}\n" for number in range(400))
ANSWER = " tok" * 250


def turn(at, number):
    name, call = f"0195f0a0-7b1c-7000-9000-{number:012x}", f"call_{number}"

    def event(kind, **more):
        return line(at, "event_msg", {"type": kind, **more})

    def item(kind, **more):
        return line(at, "response_item", {"type": kind, **more})
    tokens = {"input_tokens": 9, "cached_input_tokens": 0, "output_tokens": 9, "reasoning_output_tokens": 0,
              "total_tokens": 18}
    counted = event("token_count", info={"total_token_usage": tokens, "last_token_usage": tokens,
                                         "model_context_window": 258400}, rate_limits=None)
    text = f"message {number}"
    yield event("task_started", turn_id=name, model_context_window=258400, collaboration_mode_kind="default")
    yield line(at, "turn_context", {"turn_id": name, "cwd": "/", "approval_policy": "never",
                                    "sandbox_policy": {"type": "danger-full-access"}, "model": "mock-model",
                                    "summary": "auto"})
    yield item("message", role="user", content=[{"type": "input_text", "text": text}])
    yield event("user_message", message=text, images=[], local_images=[], text_elements=[])
    yield counted
    yield item("function_call", name="shell_command", arguments='{"command":"seq 1 400"}', call_id=call)
    yield event("exec_command_end", call_id=call, turn_id=name, command=["bash", "-lc", "seq 1 400"], cwd="/",
                parsed_cmd=[{"type": "unknown", "cmd": "seq 1 400"}], source="agent", stdout="", stderr="",
                aggregated_output=OUTPUT, exit_code=0, duration={"secs": 0, "nanos": 5000000}, formatted_output="",
                status="completed")
    yield item("function_call_output", call_id=call, output="Exit code: 0\nOutput:\n" + OUTPUT)
    yield counted
    yield event("agent_message", message=ANSWER, phase=None, memory_citation=None)
    yield item("message", role="assistant", content=[{"type": "output_text", "text": ANSWER}])
    yield counted
    yield event("task_complete", turn_id=name, last_agent_message=ANSWER)


def make_home(home, turns):
    begin = dt.datetime(2026, 3, 1, 10, tzinfo=dt.timezone.utc)
    folder = os.path.join(home, "sessions/2026/03/01")
    os.makedirs(folder)
    with open(os.path.join(home, "config.toml"), "w") as f:
        f.write('model = "mock-model"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "Mock"\n'
                'base_url = "http://127.0.0.1:9/v1"\nwire_api = "responses"\n')
    with open(os.path.join(folder, f"rollout-2026-03-01T10-00-00-{THREAD}.jsonl"), "w") as f:
        f.write(line(begin, "session_meta", {
            "id": THREAD, "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/", "originator": "bench",
            "cli_version": "0.117.0", "source": "vscode", "model_provider": "mock",
            "base_instructions": {"text": INSTRUCTIONS}}))
        for number in range(turns):
            f.writelines(turn(begin + dt.timedelta(seconds=number), number))


def once(binary, template, method, params, before=()):
    """Sends one request to a new server. None if the server does not support it."""
    home = tempfile.mkdtemp(prefix="long-threads-")
    try:
        shutil.copytree(template, home, dirs_exist_ok=True)
        server = Server(binary, home)
        server.call("thread/list", {})
        for request in before:
            server.call(*request)
        cpu = server.cpu()
        seconds, size = server.timed_call(method, params)
        figures = seconds * 1000, (server.cpu() - cpu) * 1000, size / 2 ** 20, server.peak()
        server.end()
        return figures
    except RuntimeError:
        return None
    finally:
        shutil.rmtree(home, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", default="100,1000,5000")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("binaries", nargs="+", metavar="NAME=BINARY")
    options = parser.parse_args()
    thread, page = {"threadId": THREAD}, {"threadId": THREAD, "limit": 20}
    rows = [("thread/read", "thread/read", {**thread, "includeTurns": True}, ()),
            ("thread/resume", "thread/resume", thread, ()),
            ("thread/resume, no turns", "thread/resume", {**thread, "excludeTurns": True}, ()),
            ("thread/fork", "thread/fork", thread, ()),
            ("thread/turns/list, first 20", "thread/turns/list", page, ()),
            ("thread/turns/list, 20 more", "thread/turns/list", {**page, "sortDirection": "asc"},
             [("thread/turns/list", page)])]
    for turns in (int(text) for text in options.turns.split(",")):
        template = tempfile.mkdtemp(prefix="long-threads-")
        try:
            make_home(template, turns)
            print(f"\n{turns} turns: wall ms, CPU ms, answer MiB, peak MiB (times the answer)")
            for what, method, params, before in rows:
                for name, binary in (text.split("=", 1) for text in options.binaries):
                    runs = [once(os.path.abspath(binary), template, method, params, before) for _ in range(options.times)]
                    if None in runs:
                        print(f"  {what:<28} {name:<12} not there")
                        continue
                    wall, cpu, size, peak = (statistics.median(run[part] for run in runs) for part in range(4))
                    times = f"({peak / size:.1f})" if size > 1 else ""
                    print(f"  {what:<28} {name:<12} {wall:9.1f} {cpu:8.0f} {size:8.1f} {peak:8.1f} {times}")
                sys.stdout.flush()
        finally:
            shutil.rmtree(template, ignore_errors=True)


if __name__ == "__main__":
    main()
