"""Drives `codex app-server` with the official Python SDK (PyPI: openai-codex) and a scripted model.

Usage: python_sdk.py CODEX SCENARIOS_FOLDER
"""

import os
import sys
import tempfile

from openai_codex import Codex, CodexConfig, CodexRpcError, Sandbox


def connect(codex, scenario, home, folder):
    arguments = (codex, "app-server", "--scenario", scenario)
    config = CodexConfig(codex_bin=codex, launch_args_override=arguments, cwd=folder, env={"CODEX_HOME": home})
    return Codex(config)


def conversation(codex, scenarios, home, folder):
    """A thread with turns, read, named, listed, forked, resumed and archived."""
    with connect(codex, os.path.join(scenarios, "chat.toml"), home, folder) as client:
        assert client.metadata.userAgent
        assert client.models().data
        thread = client.thread_start(sandbox=Sandbox.read_only)
        first = thread.run("What is in this folder?")
        assert first.final_response, first
        thread.set_name("From Python")
        read = thread.read(include_turns=True)
        assert read.thread.name == "From Python" and len(read.thread.turns) == 1, read
        fork = client.thread_fork(thread.id)
        assert fork.id != thread.id
        listed = {one.id for one in client.thread_list().data}
        assert listed == {thread.id, fork.id}, listed
        client.thread_archive(fork.id)
        client.thread_unarchive(fork.id)
        again = client.thread_resume(thread.id)
        assert again.id == thread.id
        try:
            client.thread_resume("00000000-0000-7000-8000-000000000000")
        except CodexRpcError as error:
            assert "no rollout found" in str(error), error
        else:
            raise AssertionError("a thread that does not exist was resumed")


def stream(codex, scenarios, home, folder):
    """The events of a turn with commands, one after the other."""
    with connect(codex, os.path.join(scenarios, "parallel-commands.toml"), home, folder) as client:
        thread = client.thread_start(sandbox=Sandbox.full_access)
        methods = [event.method for event in thread.turn("go").stream()]
        assert methods[0] == "turn/started" and methods[-1] == "turn/completed", methods
        assert "item/started" in methods and "item/completed" in methods, methods


def interrupt(codex, scenarios, home, folder):
    with connect(codex, os.path.join(scenarios, "slow-answer.toml"), home, folder) as client:
        turn = client.thread_start().turn("go")
        events = turn.stream()
        next(events)
        turn.interrupt()
        last = list(events)[-1]
        assert last.payload.turn.status.value == "interrupted", last


def main():
    codex, scenarios = map(os.path.abspath, sys.argv[1:])
    for check in (conversation, stream, interrupt):
        with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as folder:
            check(codex, scenarios, home, folder)
        print(f"ok {check.__name__}")


if __name__ == "__main__":
    main()
