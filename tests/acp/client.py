"""Drives `codex acp` with the Python SDK of the Agent Client Protocol: `client.py CODEX SCENARIOS`."""

import asyncio
import os
import sys
import tempfile

import acp
from acp.schema import AllowedOutcome, RequestPermissionResponse


class Editor:
    """Allows everything, and keeps what it hears."""

    def __init__(self):
        self.updates = []
        self.asked = 0

    def on_connect(self, conn):
        pass

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked += 1
        allowed = next(option for option in options if option.kind == "allow_once")
        outcome = AllowedOutcome(outcome="selected", option_id=allowed.option_id)
        return RequestPermissionResponse(outcome=outcome)

    def said(self):
        chunks = (update for update in self.updates if update.session_update == "agent_message_chunk")
        return "".join(chunk.content.text for chunk in chunks)


async def drive(codex, scenario, home, work, steps):
    editor = Editor()
    env = dict(os.environ, HOME=home, CODEX_HOME=home)
    started = acp.spawn_agent_process(editor, codex, "acp", "--scenario", scenario, env=env, cwd=work)
    async with started as (agent, process):
        handshake = await agent.initialize(protocol_version=1)
        assert handshake.protocol_version == 1
        assert handshake.auth_methods
        await steps(agent, editor, work)
    return process


async def approve(agent, editor, work):
    session = await agent.new_session(cwd=work, mcp_servers=[])
    prompt = [acp.text_block("go")]
    reply = await agent.prompt(session_id=session.session_id, prompt=prompt)
    assert reply.stop_reason == "end_turn", reply
    assert editor.asked == 1
    assert os.path.isdir(os.path.join(work, "release-notes"))
    said = editor.said()
    editor.updates.clear()
    await agent.close_session(session_id=session.session_id)
    await agent.load_session(session_id=session.session_id, cwd=work, mcp_servers=[])
    assert editor.said() == said, editor.said()
    listed = await agent.list_sessions(cwd=work)
    assert [one.session_id for one in listed.sessions] == [session.session_id]


async def cancel(agent, editor, work):
    session = await agent.new_session(cwd=work, mcp_servers=[])
    prompt = asyncio.ensure_future(agent.prompt(session_id=session.session_id, prompt=[acp.text_block("go")]))
    while not editor.said():
        await asyncio.sleep(0.01)
    await agent.cancel(session_id=session.session_id)
    assert (await prompt).stop_reason == "cancelled"


def main():
    codex, scenarios = sys.argv[1:]
    for scenario, steps in (("approve-command.toml", approve), ("slow-answer.toml", cancel)):
        with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as work:
            path = os.path.join(scenarios, scenario)
            asyncio.run(drive(codex, path, home, work, steps))
        print("ok", scenario)


main()
