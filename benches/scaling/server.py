"""A server under measurement: requests, turns, and what its process takes."""

import json
import os
import re
import subprocess
import time

MIB = 1 << 20


def write_config(home, port):
    os.makedirs(home, exist_ok=True)
    with open(os.path.join(home, "config.toml"), "w") as f:
        f.write('model = "mock-model"\nmodel_provider = "mock"\napproval_policy = "never"\n'
                'sandbox_mode = "danger-full-access"\n[features]\nunified_exec = false\n[model_providers.mock]\nname = "Mock"\n'
                f'base_url = "http://127.0.0.1:{port}/v1"\nwire_api = "responses"\n')


class Process:
    """The process of a server, and its figures."""

    def __init__(self, binary, home, arguments=("app-server",), piped=True, under=()):
        """`under` is a command that runs the server, such as a profiler."""
        env = {"PATH": os.environ["PATH"], "HOME": home, "CODEX_HOME": home, "RUST_LOG": "error"}
        pipe = subprocess.PIPE if piped else subprocess.DEVNULL
        self.home = home
        self.child = subprocess.Popen([*under, binary, *arguments], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL,
                                      cwd=home, env=env)

    def cpu(self):
        """Processor seconds of the process, including ended threads (see clock_getcpuclockid)."""
        return time.clock_gettime((~self.child.pid << 3) | 2)

    def status(self, name):
        with open(f"/proc/{self.child.pid}/status") as f:
            return int(re.search(rf"^{name}:\s+(\d+)", f.read(), re.M).group(1))

    def resident(self):
        return self.status("VmRSS") / 1024

    def peak(self):
        return self.status("VmHWM") / 1024

    def forget_peak(self):
        with open(f"/proc/{self.child.pid}/clear_refs", "w") as f:
            f.write("5")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.child.pid}/fd"))

    def read_bytes(self):
        with open(f"/proc/{self.child.pid}/io") as f:
            return int(re.search(r"^rchar: (\d+)", f.read(), re.M).group(1))

    def settle(self):
        """Waits until there is no background work."""
        before = -1.0
        while self.cpu() - before > 0.001:
            before = self.cpu()
            time.sleep(0.3)


class Server(Process):
    """A server on standard input and output, with one client."""

    def __init__(self, binary, home, under=()):
        super().__init__(binary, home, under=under)
        self.next = 0
        self.received = 0
        self.call("initialize", {"clientInfo": {"name": "scale", "version": "1"},
                                 "capabilities": {"experimentalApi": True}})

    def call(self, method, params):
        self.next += 1
        self.child.stdin.write(json.dumps({"id": self.next, "method": method, "params": params}).encode() + b"\n")
        self.child.stdin.flush()
        while True:
            message = self.read()
            if message.get("id") == self.next and "method" not in message:
                if "error" in message:
                    raise RuntimeError(message["error"])
                return message["result"]

    def read(self):
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError("the server ended")
        self.received += len(line)
        return json.loads(line)

    def turn(self, thread, text, more=()):
        """Runs a turn to its end."""
        said = {"type": "text", "text": text, "text_elements": []}
        self.call("turn/start", {"threadId": thread, "input": [said, *more]})
        self.wait("turn/completed", lambda params: params["turn"]["status"] == "completed")

    def wait(self, method, is_right=lambda _: True):
        while True:
            message = self.read()
            if message.get("method") == method:
                if not is_right(message["params"]):
                    raise RuntimeError(message)
                return message["params"]

    def end(self):
        # Reads the remaining output, because the server may wait until it can write.
        self.child.communicate(timeout=120)


class Step:
    """Wall time, processor time, peak memory and bytes read of one step."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.server.forget_peak()
        self.cpu, self.bytes = self.server.cpu(), self.server.read_bytes()
        self.began = time.perf_counter()
        return self

    def __exit__(self, failure, *_):
        if failure is None:
            self.wall = time.perf_counter() - self.began
            self.cpu, self.peak = self.server.cpu() - self.cpu, self.server.peak()
            self.bytes = self.server.read_bytes() - self.bytes

    def figures(self):
        return (f"{milliseconds(self.wall)} wall, {milliseconds(self.cpu)} CPU, peak {self.peak:,.0f} MiB, "
                f"{self.bytes / MIB:,.1f} MiB read")


def milliseconds(seconds):
    return f"{seconds * 1000:,.{0 if seconds >= 0.1 else 1}f} ms"
