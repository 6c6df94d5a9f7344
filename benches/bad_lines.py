#!/usr/bin/env python3
"""Sends invalid lines to a server and counts the replies.

    benches/bad_lines.py [--server PATH] [COUNT]

COUNT is 1,000,000 by default. Every line with an id must get a reply with that id, and the server must still
run at the end. The seed is printed; `--seed` repeats a run. tests/e2e/odd_lines.rs is a short version of this.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

SEEDS = [
    b'{"id":1,"method":"thread/start","params":{"cwd":"/tmp","config":{"model":"x"},"ephemeral":true}}',
    b'{"id":2,"method":"turn/start","params":{"threadId":"0195f0a0-7b1c-7000-8000-0000000000ab","input":[]}}',
    b'{"id":3,"method":"thread/read","params":{"threadId":"x","includeTurns":true}}',
    b'{"id":4,"method":"thread/list","params":{"limit":1,"cursor":"x"}}',
    b'{"id":5,"method":"model/list","params":{"cursor":"1","limit":2}}',
    b'{"id":6,"method":"config/value/write","params":{"keyPath":"a.b","value":1,"mergeStrategy":"replace"}}',
    b'{"id":0,"result":{"decision":"accept"}}',
    b'{"method":"initialized"}',
]
PIECES = [b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"null", b"1e999", b"-0", b"\xff", b"\x00", b"a." * 2000,
          b"[" * 500, b'{"a":' * 500, b"\xed\xa0\x80", "\u2028".encode()]
HELLO = {"id": "hello", "method": "initialize", "params": {"clientInfo": {"name": "lines", "version": "1"}}}
LAST = {"id": "last", "method": "no/such/method"}


def bad_line(number, rng):
    line = bytearray(rng.choice(SEEDS).replace(b'"id":', b'"id":%d' % (number + 10), 1))
    for _ in range(rng.randrange(5)):
        at = rng.randrange(len(line) + 1)
        kind = rng.randrange(4)
        if kind == 0 and line:
            line[min(at, len(line) - 1)] = rng.randrange(256)
        elif kind == 1:
            line[at:at] = rng.choice(PIECES)
        elif kind == 2:
            del line[at:at + rng.randrange(1, 9)]
        else:
            line[at:at] = line[at:at + rng.randrange(40)]
    return bytes(line).replace(b"\n", b" ")


def id_of(line):
    """The id that the reply to a line must have; None if the line may be invalid."""
    try:
        message = json.loads(line.decode(), parse_constant=lambda _: 1 / 0)
    except (ValueError, ZeroDivisionError, RecursionError):
        return None
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        return None
    found = message.get("id")
    return found if isinstance(found, int) and abs(found) < 2**62 and not isinstance(found, bool) else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("count", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--server", default="target/release/codex")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as home:
        server = subprocess.Popen(
            [arguments.server, "app-server"], cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=dict(os.environ, HOME=home, CODEX_HOME=home))
        replied, is_over = {}, threading.Event()

        def read():
            for line in server.stdout:
                message = json.loads(line)
                if "method" in message:
                    continue
                key = message.get("id")
                replied[key] = replied.get(key, 0) + 1
                if key == "last":
                    is_over.set()
            is_over.set()

        reader = threading.Thread(target=read)
        reader.start()
        expected = {}
        server.stdin.write(json.dumps(HELLO).encode() + b"\n")
        for number in range(arguments.count):
            line = bad_line(number, rng)
            server.stdin.write(line + b"\n")
            if (key := id_of(line)) is not None:
                expected[key] = expected.get(key, 0) + 1
        server.stdin.write(json.dumps(LAST).encode() + b"\n")
        server.stdin.flush()
        is_over.wait(timeout=600)
        # Requests before the last line may still be running.
        deadline = time.monotonic() + 30
        while any(replied.get(key, 0) < times for key, times in expected.items()) and time.monotonic() < deadline:
            time.sleep(0.1)
        server.stdin.close()
        code = server.wait(timeout=60)
        reader.join()
    missing = [key for key, times in expected.items() if replied.get(key, 0) < times]
    print(f"{arguments.count} lines, {len(expected)} ids, {len(missing)} without a reply, exit {code}")
    if missing or code != 0 or "last" not in replied:
        print(f"missing: {missing[:10]}")
        sys.exit(1)


if __name__ == "__main__":
    main()
