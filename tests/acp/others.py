"""Drives `codex acp` with clients that others built on the protocol: `others.py NAME CODEX SCENARIOS`."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path


async def simple_acp_client(agent, work):
    from simple_acp_client.sdk.client import PyACPAgentOptions, PyACPSDKClient

    options = PyACPAgentOptions(cwd=work, agent_program=agent[0], agent_args=agent[1:])
    async with PyACPSDKClient(options) as client:
        await client.query("go")
        return "".join([getattr(message, "text", "") async for message in client.receive_messages()])


async def acp_client(agent, work):
    from acp_client import Agent

    async def permit(request):
        return next(option["optionId"] for option in request["options"] if option["kind"] == "allow_once")

    client = Agent(agent, Path(work), permission=permit)
    said = await client.ask("go")
    await client.stop()
    return said


async def main():
    name, codex, scenarios = sys.argv[1:]
    agent = [codex, "acp", "--scenario", os.path.join(scenarios, "approve-command.toml")]
    clients = {"simple-acp-client": simple_acp_client, "acp-client": acp_client}
    with tempfile.TemporaryDirectory() as work:
        said = await clients[name](agent, work)
        assert said, "nothing was said"
        assert os.path.isdir(os.path.join(work, "release-notes")), "the command did not run"
    print("ok", name)


asyncio.run(main())
