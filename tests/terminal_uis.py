#!/usr/bin/env python3
"""Drives terminal UIs of the reference through their menus, connected to our server, and looks for errors on the screen.

    terminal_uis.py CODEX UI [UI ...]

CODEX serves `app-server --listen` with a scripted model; each UI is a `codex` of the npm package `@openai/codex`, started
with `--remote` in tmux. Exit status 0 if no screen shows an error. Needs tmux, Python 3.9 or later, standard library only.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

SCENARIO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenarios", "chat.toml")
MENUS = ["/status", "/permissions", "/agents", "/mcp", "/hooks", "/skills", "/plugins", "/model", "/rename Named", "/ps",
         "/compact", "/fork", "/review", "/goal", "/side"]
TIME_LIMIT = 20  # For a command of tmux and for the end of the server, in seconds.
# How errors look; interrupting what runs is told in the same way and is none.
PROBLEM = re.compile(r"(?im)^.*(?:■|error|failed|unknown|unsupported|panicked).*$")
# So is a mark without a text, which 0.140 sometimes draws after a command that ends at once.
EXPECTED = re.compile(r"Conversation interrupted|unavailable in side conversations|^\s*■\s*$")
# A provider of its own, so that the UI does not ask for a login.
CONFIG = ('model = "mock"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "Mock"\n'
          'base_url = "http://127.0.0.1:9/v1"\nwire_api = "responses"\n')


class Screen:
    """A UI in a window of a tmux server of its own."""

    def __init__(self, ui, port, home):
        self.socket = os.path.join(home, "tmux")
        with open(os.path.join(home, "config.toml"), "w") as f:
            f.write(CONFIG)
        variables = f"PATH={os.environ['PATH']} TERM=xterm-256color LANG=C.UTF-8 HOME={home} CODEX_HOME={home}"
        self.tmux("new-session", "-d", "-x", "130", "-y", "50", f"env -i {variables} {ui} --remote ws://127.0.0.1:{port}")

    def tmux(self, *arguments):
        command = ["tmux", "-S", self.socket, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT).stdout

    def text(self):
        return self.tmux("capture-pane", "-p")

    def settled(self, patience=10):
        """The screen once it has not changed for a while."""
        last, since, began = None, time.monotonic(), time.monotonic()
        while time.monotonic() - began < patience:
            now = self.text()
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > 1.2:
                break
            time.sleep(0.1)
        return last or ""

    def keys(self, *keys):
        for key in keys:
            self.tmux("send-keys", *([key] if key in ("Enter", "Escape", "BTab", "C-c") else ["-l", key]))
            time.sleep(0.3)  # A UI takes keys that come faster for a paste.
        return self.settled()


def walk(screen):
    """The label and the screen of every step."""
    shown = screen.settled(20)
    for _ in range(3):  # Questions about trust and newer models.
        if "trust" in shown.lower() or "confirm" in shown.lower():
            shown = screen.keys("Enter")
    yield "start", shown
    yield "a message", screen.keys("Hello!", "Enter")
    yield "a question", screen.keys("Run something.", "Enter")
    yield "an approval", screen.keys("Enter")
    for menu in MENUS:
        yield menu, screen.keys(menu, "Enter")
        screen.keys("Escape")
    yield "!command", screen.keys("!echo from-shell", "Enter")
    yield "Shift-Tab", screen.keys("BTab")
    yield "@file", screen.keys("hi @R")


def check(ui, port):
    home = tempfile.mkdtemp(prefix="ui-")
    screen = Screen(ui, port, home)
    problems = []
    try:
        for label, shown in walk(screen):
            found = [line.strip() for line in PROBLEM.findall(shown) if not EXPECTED.search(line)]
            if found or not shown.strip():
                problems.append(f"{label}: {found or 'the screen is empty'}")
    finally:
        screen.tmux("kill-server")
        shutil.rmtree(home, ignore_errors=True)
    return problems


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def stopped(server):
    """Ends the server as a user does, and says whether that works: the first signal waits for turns, of which one may
    wait for an answer of a UI that is gone; the second one does not."""
    for patience in (2, TIME_LIMIT):
        server.terminate()
        try:
            server.wait(patience)
            return True
        except subprocess.TimeoutExpired:
            pass
    server.kill()
    server.wait()
    print(f"FAIL the server does not end within {TIME_LIMIT} seconds of the second signal", flush=True)
    return False


def main():
    codex, uis = os.path.abspath(sys.argv[1]), sys.argv[2:]
    port, home = free_port(), tempfile.mkdtemp(prefix="uis-")
    work = os.path.join(home, "work")
    os.makedirs(work)
    command = [codex, "app-server", "--scenario", SCENARIO, "--listen", f"ws://127.0.0.1:{port}"]
    server = subprocess.Popen(command, cwd=work, env={**os.environ, "HOME": home, "CODEX_HOME": home},
                              stderr=subprocess.DEVNULL)
    failed = False
    try:
        time.sleep(1)
        for ui in uis:
            problems = check(os.path.abspath(ui), port)
            print(f"{'FAIL' if problems else 'ok  '} {ui}", *problems, sep="\n       " if problems else " ", flush=True)
            failed |= bool(problems)
    finally:
        failed |= not stopped(server)
        shutil.rmtree(home, ignore_errors=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
