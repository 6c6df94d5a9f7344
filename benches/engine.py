#!/usr/bin/env python3
"""A benchmark of engines without a model in it: what an agent adds to the work of its model, and what it loses when something fails.

    engine.py [--only tokens,session,output,faults,kills] [--count COMMAND] NAME=[KIND:]PROGRAM ...

    engine.py ours=target/release/codex pi=node_modules/.bin/pi

The model is scripted and on the loopback interface, each run has a home and a repository of its own. KIND is codex, opencode, qwen,
claude, pi or gemini; by default it is the name of the program's file. Rows:

tokens    what the first request has: in all, its tools, and how many tools. COMMAND counts tokens: it reads a text and prints a number,
          such as `node count.mjs` with a tokenizer of npm. Without it a token is four characters.
session   35 requests in one turn, each of the first 34 answered with a command that prints 1.7 kB: which share of their
          characters is in a prefix that the request before has had, how many are new, and the processor time and the wall time that
          each round of a command costs (against a session of one request).
output    bytes that the model gets of a command that prints 400,000 bytes in lines.
faults    for a stream that is cut, an answer at its limit of length and a 429, at the last request: whether the run goes on to its
          answer or says what happened (exit status), and how many requests it takes more.
kills     the agent is killed when each of four requests arrives, and goes on in a new process: at how many of the kills no command ran
          twice, and at how many what was done before is in what the model gets.

Needs Linux, Python 3.9 or later, standard library only, and the agents (npm has them). Programs of others reach the network if they
want to; `unshare -n -r sh -c "ip link set lo up; …"` keeps them in.
"""

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines.drivers import DRIVERS, driver_of  # noqa: E402
from engines.model import ANSWER, Script, listen  # noqa: E402

LIMIT = 240
ROUNDS = 34
PRINT = "seq -f 'line %04g of the output of a command' {0} $(({0} + 45))"


class Run:
    """One run of an agent with a script: its home, its folder, what it printed and what it cost."""

    def __init__(self, program, driver, script):
        self.program, self.driver, self.script = program, driver, script
        self.root = Path(tempfile.mkdtemp(prefix="engine-"))
        self.home, self.work = self.root / "home", self.root / "work"
        self.home.mkdir()
        self.work.mkdir()
        (self.work / "AGENTS.md").write_text("Keep to the style of the code around.\n")
        subprocess.run(["git", "init", "-q", str(self.work)], check=True)
        self.server = listen(script)
        self.environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.home), "TERM": "dumb", "CI": "1",
                            "NO_PROXY": "127.0.0.1", **driver.environment(self.home, self.server.server_port)}
        self.processor = self.wall = 0.0
        self.process, self.printed, self.status, self.asked = None, "", None, 0

    def start(self, arguments):
        self.process = subprocess.Popen([self.program, *arguments], cwd=self.work, env=self.environment, text=True, errors="replace",
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def finish(self):
        """Waits for its end. Returns the exit status, none if it does not end by itself."""
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        try:
            self.printed = self.process.communicate(timeout=LIMIT)[0]
            status = self.process.returncode
        except subprocess.TimeoutExpired:
            self.kill()
            self.printed, status = self.process.communicate()[0], None
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.wall = time.monotonic() - began
        self.processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return status

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        shutil.rmtree(self.root, ignore_errors=True)


def whole(program, driver, commands, **more):
    """A run from its start to its end."""
    run = Run(program, driver, Script(commands, **more))
    run.start(driver.first("Do the work."))
    run.status = run.finish()
    return run


def tokens(agent, count):
    with whole(agent.program, agent.driver, []) as run:
        if not run.script.requests:
            return {"problem": last_line(run.printed)}
        first = run.script.requests[0]
        tools = "\n".join(first.parts[:len(first.tools)])
        return {"tokens": count(first.text), "of tools": count(tools), "tools": sum(1 for _ in first.functions())}


def session(agent, _):
    with whole(agent.program, agent.driver, []) as idle:
        pass
    with whole(agent.program, agent.driver, [PRINT.format(step * 50) for step in range(ROUNDS)]) as run:
        asked = run.script.requests
        if len(asked) < ROUNDS + 1:
            return {"problem": f"{len(asked)} requests: {last_line(run.printed)}"}
        shared = total = 0
        for before, request in zip([None, *asked], asked):
            total += len(request.text)
            shared += len(os.path.commonprefix([before.text, request.text])) if before else 0
        per_round = lambda figure: 1000 * (getattr(run, figure) - getattr(idle, figure)) / ROUNDS  # noqa: E731
        return {"reused": f"{100 * shared / total:.1f} %", "new characters": total - shared,
                "processor": f"{per_round('processor'):.1f} ms", "wall": f"{per_round('wall'):.1f} ms"}


def output(agent, _):
    with whole(agent.program, agent.driver, ["seq 100000 170000 | head -c 400000"]) as run:
        results = [result for request in run.script.requests for result in request.results()]
        return {"bytes of 400,000": len(results[-1].encode()) if results else f"none: {last_line(run.printed)}"}


def faults(agent, _):
    found = {}
    for fault in ("cut", "length", "429"):
        with whole(agent.program, agent.driver, ["echo one", "echo two"], fault=fault, at=2) as run:
            has_answer = ANSWER in " ".join(run.printed.split())
            ended = "answered" if has_answer else "does not end" if run.status is None else f"exit {run.status}"
            found[fault] = f"{ended}, {len(run.script.requests) - 3:+} requests"
    return found


def kills(agent, _):
    once = known = 0
    steps = range(4)
    for at in steps:
        run = killed(agent, at)
        with run:
            if len(run.script.requests) == run.asked or not run.asked:
                return {"problem": f"it does not go on: {last_line(run.printed)}"}
            done = (run.work / "ran.txt").read_text().split() if (run.work / "ran.txt").exists() else []
            once += len(done) == len(set(done))
            last = run.script.requests[-1].text if run.script.requests else ""
            known += all(f"did-{step}" in last for step in range(at))
    return {"nothing twice": f"{once} of {len(steps)}", "nothing lost": f"{known} of {len(steps)}"}


def killed(agent, at):
    """A session that is killed when its model is asked for the step, and that goes on after it."""
    commands = [f"echo did-{step} | tee -a ran.txt" for step in range(3)]
    script = Script(commands)
    run = Run(agent.program, agent.driver, script)
    is_killed = []

    def kill(step):
        if step == at and not is_killed:
            is_killed.append(True)
            run.kill()
            time.sleep(LIMIT)

    script.on_step = kill
    run.start(agent.driver.first("Do the work."))
    run.finish()
    script.on_step = None
    run.asked = len(script.requests)
    run.start(agent.driver.again("Go on."))
    run.finish()
    return run


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:120] if lines else "it printed nothing"


ROWS = {row.__name__: row for row in (tokens, session, output, faults, kills)}


class Agent:
    def __init__(self, argument):
        self.name, _, program = argument.partition("=")
        kind, colon, path = program.partition(":")
        self.driver = DRIVERS[kind]() if colon and kind in DRIVERS else driver_of(program)
        self.program = os.path.abspath(path if colon and kind in DRIVERS else program)


def counter(command):
    if command is None:
        return lambda text: len(text) // 4
    return lambda text: int(subprocess.run(command, shell=True, input=text, capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default=",".join(ROWS))
    parser.add_argument("--count")
    parser.add_argument("agents", nargs="+", metavar="NAME=[KIND:]PROGRAM")
    options = parser.parse_args()
    agents = [Agent(argument) for argument in options.agents]
    for name in options.only.split(","):
        head = None
        for agent in agents:
            figures = ROWS[name](agent, counter(options.count))
            if head is None and "problem" not in figures:
                head = list(figures)
                print(f"\n| {name} | {' | '.join(head)} |\n|---|{'---|' * len(head)}")
            shown = [f"{value:,}" if isinstance(value, int) else str(value) for value in figures.values()]
            print(f"| {agent.name} | {' | '.join(shown)} |", flush=True)


main()
