"""Drives `codex mcp-server` with the Python SDK of MCP: `client.py CODEX SCENARIOS`."""

import asyncio
import os
import sys
import tempfile

import mcp_types
from mcp import Client, StdioServerParameters


class Editor:
    """Answers approvals with `action`, and counts them."""

    def __init__(self, action):
        self.action = action
        self.asked = 0

    async def elicit(self, context, params):
        self.asked += 1
        content = {} if self.action == "accept" else None
        return mcp_types.ElicitResult(action=self.action, content=content)


async def drive(codex, scenario, mode, editor, steps):
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as work:
        env = dict(os.environ, HOME=home, CODEX_HOME=home)
        server = StdioServerParameters(command=codex, args=["mcp-server", "--scenario", scenario], env=env, cwd=work)
        async with Client(server, mode=mode, elicitation_callback=editor.elicit) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == ["codex", "codex-reply"]
            await steps(client, editor, work)


async def approve(client, editor, work):
    steps = []

    async def progress(step, total, message):
        steps.append(message)

    result = await client.call_tool("codex", {"prompt": "go", "cwd": work}, progress_callback=progress)
    made = os.path.isdir(os.path.join(work, "release-notes"))
    assert editor.asked == 1, editor.asked
    assert made == (editor.action == "accept")
    assert not result.is_error, result
    assert result.structured_content["content"] == result.content[0].text
    assert steps, "no progress"


async def go_on(client, editor, work):
    first = await client.call_tool("codex", {"prompt": "hi", "cwd": work})
    thread = first.structured_content["threadId"]
    second = await client.call_tool("codex-reply", {"prompt": "and now?", "threadId": thread})
    assert second.structured_content["threadId"] == thread
    unknown = await client.call_tool("codex-reply", {"prompt": "hi", "threadId": "nobody"})
    assert unknown.is_error


async def cancel(client, editor, work):
    call = asyncio.create_task(client.call_tool("codex", {"prompt": "go", "cwd": work}))
    await asyncio.sleep(0.5)
    call.cancel()
    try:
        await call
        raise AssertionError("the call was not cancelled")
    except asyncio.CancelledError:
        pass
    # The server goes on.
    assert (await client.list_tools()).tools


async def main():
    codex, scenarios = sys.argv[1:]
    cases = [
        ("approve-command.toml", "accept", approve),
        ("approve-command.toml", "decline", approve),
        ("chat.toml", "decline", go_on),
        ("slow-answer.toml", "decline", cancel),
    ]
    for mode in ("legacy", "2026-07-28", "auto"):
        for scenario, action, steps in cases:
            path = os.path.join(scenarios, scenario)
            await drive(codex, path, mode, Editor(action), steps)
            print("ok", mode, scenario, action)


asyncio.run(main())
