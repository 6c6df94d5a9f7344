"""Runs a codex program in place of another one, and writes down what an app-server of it is sent and sends, in order.

Usage: recorder.py PROGRAM FOLDER RELEASE ARGUMENTS…
Clients that do not say their release have RELEASE. Each server has a file in FOLDER, with a line of JSON for each
message: [0, line] from the client, [1, line] to it.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading

program, folder, release, *arguments = sys.argv[1:]
if arguments[:1] != ["app-server"] or "--listen" in arguments:
    os.execv(program, [program, *arguments])

handle, path = tempfile.mkstemp(suffix=".jsonl", dir=folder)
log = os.fdopen(handle, "w", encoding="utf-8")
lock = threading.Lock()
server = subprocess.Popen([program, *arguments, "--client-release", release], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def record(sender, line):
    """A message is written down before it is passed on, so a reply never stands before its request."""
    with lock:
        log.write(json.dumps([sender, line.decode("utf-8", "replace")]) + "\n")
        log.flush()


def pass_on(sender, source, target):
    try:
        for line in source:
            record(sender, line)
            target.write(line)
            target.flush()
    except BrokenPipeError:
        pass
    try:
        target.close()
    except BrokenPipeError:
        pass


threading.Thread(target=pass_on, args=(0, sys.stdin.buffer, server.stdin), daemon=True).start()
pass_on(1, server.stdout, sys.stdout.buffer)
status = server.wait()
log.close()
os._exit(status if status >= 0 else 128 - status)
