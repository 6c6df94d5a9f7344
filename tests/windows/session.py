#!/usr/bin/env python3
"""Drives the program for Windows through a session with a scripted model: session.py PROGRAM

Start, thread, commands with approval, a patch, a terminal, an interrupt, a resume, a kill of the server with a command
running, and the sandbox, which wine does not enforce. On other systems the program is started by wine. CODEX_TEST_SHELL names the shell; its default is `cmd`, because the
PowerShell of wine does nothing. Python's standard library only; a line for each check, and a status that is not zero if one
failed.
"""

import base64
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PATIENCE = 120
IS_WINDOWS = sys.platform == "win32"
SHELL = os.environ.get("CODEX_TEST_SHELL", r"C:\Windows\System32\cmd.exe")
LONG = "ping -n 1000 127.0.0.1"
# Wine does not connect a program to the terminal that it is started in.
IN_TERMINAL = "" if IS_WINDOWS else " <CONIN$ >CONOUT$"

PATCH = """*** Begin Patch
*** Update File: notes.txt
@@
 first
-second
+2nd
*** Add File: sub/new.txt
+new
*** End Patch"""


def native(path):
    """A path as the program sees it."""
    return str(path) if IS_WINDOWS else "Z:" + str(path).replace("/", "\\")


def reply(*steps):
    return {"steps": list(steps)}


def scenario(cwd):
    def tool(name, **arguments):
        return {"tool": {"name": name, "arguments": arguments}}

    def long_command(file):
        # Not `exec_command`, whose terminals outlive a turn.
        return tool("shell_command", command=f"{LONG} > {file}", timeout_ms=1_000_000)

    return {
        "description": "A session on Windows.",
        "settings": {
            "approval_policy": "untrusted",
            "sandbox_mode": "danger-full-access",
            "features": {"unified_exec": True},
        },
        "replies": [
            reply({"command": "echo from the command"}, {"command": "exit 3"}),
            reply({"message": "One of them failed."}),
            reply({"patch": PATCH}),
            reply({"message": "Patched."}),
            reply(tool("exec_command", cmd="echo in-a-terminal" + IN_TERMINAL, tty=True, yield_time_ms=10000)),
            reply({"message": "It was a terminal."}),
            reply(long_command("interrupted.txt")),
            reply(long_command("killed.txt")),
        ],
    }


def sandboxed_scenario(outside):
    return {
        "description": "Commands in the sandbox of Windows.",
        "settings": {
            "approval_policy": "on-request",
            "sandbox_mode": "workspace-write",
            "sandbox_workspace_write": {"network_access": True},
        },
        "replies": [
            reply({"command": "echo in> inside.txt"}, {"command": f"echo out> {native(outside)}"}),
            reply({"message": "One of them wrote."}),
        ],
    }


class Server:
    def __init__(self, program, cwd, script, env):
        launcher = [] if IS_WINDOWS else ["wine"]
        command = [*launcher, program, "app-server", "--scenario", native(script)]
        self.process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.inbox = queue.Queue()
        self.seen = []
        self.next_id = 1
        self.approvals = 0
        threading.Thread(target=self.read, daemon=True).start()
        self.call("initialize", clientInfo={"name": "session", "version": "1"},
                  capabilities={"experimentalApi": True})
        self.send({"method": "initialized"})

    def read(self):
        for line in self.process.stdout:
            self.inbox.put(json.loads(line))
        self.inbox.put(None)

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def wait(self, wanted):
        for at, message in enumerate(self.seen):
            if wanted(message):
                return self.seen.pop(at)
        deadline = time.monotonic() + PATIENCE
        while True:
            message = self.receive(deadline - time.monotonic())
            if wanted(message):
                return message
            self.seen.append(message)

    def receive(self, seconds):
        """The next message. What needs an approval gets it."""
        message = self.inbox.get(timeout=max(0.1, seconds))
        if message is None:
            raise EOFError("the server has ended")
        if str(message.get("method", "")).endswith("/requestApproval"):
            self.approvals += 1
            self.send({"id": message["id"], "result": {"decision": "accept"}})
        return message

    def notification(self, method):
        return self.wait(lambda message: message.get("method") == method)["params"]

    def request(self, method, **params):
        self.next_id += 1
        self.send({"id": self.next_id, "method": method, "params": params})
        return self.next_id

    def answer(self, number):
        answer = self.wait(lambda message: message.get("id") == number and "method" not in message)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def call(self, method, **params):
        return self.answer(self.request(method, **params))

    def begin_turn(self, thread, text):
        return self.call("turn/start", threadId=thread, input=[{"type": "text", "text": text}])["turn"]["id"]

    def turn(self, thread, text):
        """Runs a turn to its end. Returns its state and the completed items."""
        self.begin_turn(thread, text)
        end = self.notification("turn/completed")["turn"]["status"]
        done = [m for m in self.seen if m.get("method") == "item/completed"]
        self.seen = [m for m in self.seen if m.get("method") != "item/completed"]
        return end, [message["params"]["item"] for message in done]

    def close(self):
        self.process.stdin.close()
        return self.process.wait(timeout=PATIENCE)


FAILED = []


def check(name, is_true, found=""):
    print(("ok    " if is_true else "FAILED ") + name + ("" if is_true else f": {found}"), flush=True)
    if not is_true:
        FAILED.append(name)


def eventually(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def removable(file):
    """A file that a process writes cannot be removed."""
    def removed():
        try:
            file.unlink()
            return True
        except FileNotFoundError:
            return True
        except PermissionError:
            return False
    def removed_by_wine():
        subprocess.run(["wine", "cmd", "/c", "del", native(file)], capture_output=True)
        return not file.exists()
    # Linux itself removes any file.
    return eventually(removed if IS_WINDOWS else removed_by_wine)


def of_kind(items, kind):
    return [item for item in items if item["type"] == kind]


def first_commands(server, thread):
    end, items = server.turn(thread, "Run commands.")
    commands = of_kind(items, "commandExecution")
    found = sorted((item["exitCode"], (item["aggregatedOutput"] or "").split()) for item in commands)
    check("commands run after an approval", found == [(0, ["from", "the", "command"]), (3, [])], items)
    check("a turn ends", end == "completed", end)


def patch(server, thread, cwd):
    (cwd / "notes.txt").write_bytes(b"first\r\nsecond\r\n")
    _, items = server.turn(thread, "Patch the files.")
    changes = of_kind(items, "fileChange")
    check("a patch is applied", [change["status"] for change in changes] == ["completed"], items)
    content = (cwd / "notes.txt").read_bytes()
    check("a patch keeps the ends of lines", content == b"first\r\n2nd\r\n", content)
    check("a patch adds a file in a new folder", (cwd / "sub" / "new.txt").exists())


def terminal_of_model(server, thread):
    _, items = server.turn(thread, "Use a terminal.")
    commands = of_kind(items, "commandExecution")
    output = "".join(item["aggregatedOutput"] or "" for item in commands)
    check("exec_command has a terminal", "in-a-terminal" in output, items)


def terminal_of_client(server):
    number = server.request("command/exec", command=["cmd", "/c", "cmd" + IN_TERMINAL], tty=True,
                            processId="t", streamStdoutStderr=True, size={"rows": 20, "cols": 70})
    server.notification("command/exec/outputDelta")
    if IS_WINDOWS:
        # Wine cannot change the size.
        server.call("command/exec/resize", processId="t", size={"rows": 30, "cols": 90})
    typed = base64.b64encode(b"set /a 40+2\nexit\n").decode()
    server.call("command/exec/write", processId="t", deltaBase64=typed)
    result = server.answer(number)
    shown = [m["params"]["deltaBase64"] for m in server.seen if m.get("method") == "command/exec/outputDelta"]
    shown = "".join(base64.b64decode(text).decode() for text in shown)
    check("command/exec has a terminal", result["exitCode"] == 0 and "42" in shown, (result, shown))


def interrupt(server, thread, cwd):
    turn = server.begin_turn(thread, "Wait.")
    until_running(server, cwd / "interrupted.txt")
    server.call("turn/interrupt", threadId=thread, turnId=turn)
    end = server.notification("turn/completed")["turn"]["status"]
    check("a turn is interrupted", end == "interrupted", end)


def sandbox(server, cwd, outside):
    def set_up(mode):
        server.call("windowsSandbox/setupStart", mode=mode, cwd=native(cwd))
        return server.notification("windowsSandbox/setupCompleted")

    def readiness():
        return server.call("windowsSandbox/readiness")["status"]

    elevated = set_up("elevated")
    check("there is no elevated sandbox", not elevated["success"], elevated)
    check("the sandbox is not chosen at first", readiness() == "notConfigured")
    outcome = set_up("unelevated")
    check("the sandbox is set up, if the system enforces it", outcome["success"] == IS_WINDOWS, outcome)
    print(outcome["error"] or "set up")
    check("the sandbox is ready, if the system enforces it",
          readiness() == ("ready" if IS_WINDOWS else "notConfigured"))
    thread = server.call("thread/start", cwd=native(cwd))["thread"]["id"]
    _, items = server.turn(thread, "Write files.")
    wrote = [file.exists() for file in (cwd / "inside.txt", outside)]
    if IS_WINDOWS:
        check("the sandbox lets commands write inside only, unasked",
              (wrote, server.approvals) == ([True, False], 0), items)
    else:
        check("without sandbox each command is asked about", (wrote, server.approvals) == ([True, True], 2), items)
    check("nothing is left of the sandbox in the folder", not (cwd / ".codex").exists())


def until_running(server, file):
    """Waits until the long command is approved and has opened its file."""
    def is_there():
        try:
            server.seen.append(server.receive(0.1))
        except queue.Empty:
            pass
        return file.exists()
    check("a long command runs", eventually(is_there))


def main():
    program = os.path.abspath(sys.argv[1])
    launcher = [] if IS_WINDOWS else ["wine"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = Path(folder).resolve()
        home, cwd = folder / "home", folder / "work"
        home.mkdir()
        cwd.mkdir()
        script = folder / "script.json"
        script.write_text(json.dumps(scenario(cwd)))
        env = {**os.environ, "CODEX_HOME": native(home), "SHELL": SHELL}

        version = subprocess.run([*launcher, program, "--version"], env=env, capture_output=True, text=True)
        check("--version", version.stdout.startswith("codex"), version)
        doctor = subprocess.run([*launcher, program, "doctor"], env=env, capture_output=True, text=True, cwd=cwd)
        print(doctor.stdout)
        check("doctor", "platform" in doctor.stdout.lower() or doctor.returncode in (0, 1), doctor)

        server = Server(program, cwd, script, env)
        thread = server.call("thread/start", cwd=native(cwd))["thread"]["id"]
        first_commands(server, thread)
        patch(server, thread, cwd)
        terminal_of_model(server, thread)
        terminal_of_client(server)
        interrupt(server, thread, cwd)
        check("the interrupted command is gone", removable(cwd / "interrupted.txt"))
        before = server.call("thread/read", threadId=thread, includeTurns=True)["thread"]["turns"]
        check("a server ends with its input", server.close() == 0)

        server = Server(program, cwd, script, env)
        resumed = server.call("thread/resume", threadId=thread)["thread"]["turns"]
        check("a thread is resumed", len(resumed) == 4 and resumed == before, (before, resumed))
        server.begin_turn(server.call("thread/start", cwd=native(cwd))["thread"]["id"], "Run commands.")
        server.notification("turn/completed")
        server.process.kill()

        long = {**scenario(cwd), "replies": scenario(cwd)["replies"][-1:]}
        script.write_text(json.dumps(long))
        server = Server(program, cwd, script, env)
        server.begin_turn(server.call("thread/start", cwd=native(cwd))["thread"]["id"], "Wait.")
        until_running(server, cwd / "killed.txt")
        server.process.kill()
        check("a killed server leaves no command behind", removable(cwd / "killed.txt"))

        confined, outside = folder / "confined", folder / "outside.txt"
        confined.mkdir()
        script.write_text(json.dumps(sandboxed_scenario(outside)))
        server = Server(program, cwd, script, env)
        sandbox(server, confined, outside)
        server.close()
    print(f"{len(FAILED)} failed")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
