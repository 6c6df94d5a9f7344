"""Has a client of `codex app-server` or `codex exec` from PyPI do what it can, with the model of `model.toml`.

Usage: python.py PACKAGE, with the wrapper of `clients.sh` as `codex` on the PATH and in CODEX_PROGRAM, in an empty folder
"""

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

CODEX = os.environ["CODEX_PROGRAM"]
HERE = os.getcwd()
MAKE = "make a folder"


def made():
    """The command of the model ran, after the client had approved it."""
    os.rmdir("made")


async def codex_agent_sdk():
    from codex_agent_sdk import Agent, CodexClient, CodexClientOptions

    agent = Agent(auto_approve=True, cwd=HERE)
    assert (await agent.run("hello").response()).text == "Hello."
    async with agent.conversation() as conversation:
        assert (await conversation.send(MAKE)).text == "Made."
        assert (await conversation.send("hello")).text == "Hello."
    made()
    async with CodexClient(CodexClientOptions(codex_path=CODEX)) as client:
        thread = (await client.thread_start({"cwd": HERE}))["thread"]["id"]
        assert "".join([text async for text in client.stream_prompt_text(thread, "hello")]) == "Hello."
        assert (await client.thread_fork({"threadId": thread}))["thread"]["id"] != thread
        assert (await client.thread_resume({"threadId": thread}))["thread"]["id"] == thread
        turn = await client.turn_start({"threadId": thread, "input": [{"type": "text", "text": "slowly"}]})
        assert await client.turn_interrupt({"threadId": thread, "turnId": turn["turn"]["id"]}) == {}


async def codex_app_server_client():
    from codex_app_server_client import CodexAppServer, EventAction
    from codex_app_server_client.types import threads

    async def approve(method, params):
        return {"decision": "accept"}

    def stop(method, event):
        return EventAction.INTERRUPT if method == "item/agentMessage/delta" else None

    async with CodexAppServer(codex_bin=CODEX) as codex:
        low = codex.low_level
        low.on_server_request("item/commandExecution/requestApproval", approve)
        thread = await codex.start_thread(threads.ThreadStartParams(cwd=HERE))
        assert (await thread.run(MAKE)).final_response == "Made."
        made()
        for listing in (low.thread_list, low.model_list, low.config_read, low.skills_list, low.mcp_server_status_list):
            await listing()
        read = await low.thread_read(threads.ThreadReadParams(thread_id=thread.id, include_turns=True))
        assert read.thread.id == thread.id
        await low.thread_fork(threads.ThreadForkParams(thread_id=thread.id))
        assert (await thread.run("slowly", on_event=stop)).status == "interrupted"
        resumed = await codex.resume_thread(thread.id)
        assert (await resumed.run("hello")).final_response == "Hello."


async def codex_app_server_sdk():
    from codex_app_server_sdk import CodexClient, CodexTurnInactiveError, ThreadConfig

    async def approve(request):
        return "accept"

    async with CodexClient.connect_stdio(command=[CODEX, "app-server"], cwd=HERE) as client:
        client.set_approval_handler(approve)
        thread = await client.start_thread(ThreadConfig(cwd=HERE, approval_policy="untrusted"))
        steps = [step.step_type async for step in thread.chat(MAKE)]
        assert steps[-3:] == ["thinking", "exec", "codex"], steps
        made()
        fork = await thread.fork()
        assert (await fork.chat_once("hello")).final_text == "Hello."
        await thread.set_name("Named")
        await client.list_threads()
        await thread.compact()
        try:
            await client.chat_once("slowly", thread_id=thread.thread_id, inactivity_timeout=0.2)
        except CodexTurnInactiveError as error:
            await client.cancel(error.continuation)
        await thread.archive()
        await thread.unarchive()
        resumed = await client.resume_thread(thread.thread_id)
        assert (await resumed.chat_once("hello")).final_text == "Hello."


def codex_python_sdk():
    from codex_python_sdk import create_client

    with create_client(on_command_approval=lambda params: {"decision": "accept"}) as client:
        thread = client.thread_start(params={"cwd": HERE})["thread"]["id"]
        assert client.responses_create(prompt=MAKE, thread_id=thread).text == "Made."
        made()
        assert "".join(client.responses_stream_text(prompt="hello", thread_id=thread)) == "Hello."
        client.thread_name_set(thread, "Named")
        assert client.thread_fork(thread)["thread"]["id"] != thread
        client.thread_archive(thread)
        client.thread_unarchive(thread)


async def codex_sdk_python():
    from codex_sdk import AppServerClient, AppServerOptions, ApprovalDecisions, Codex, CodexOptions, ThreadOptions

    async with AppServerClient(AppServerOptions(codex_path_override=CODEX)) as client:
        thread = (await client.thread_start(cwd=HERE))["thread"]["id"]
        session = await client.turn_session(thread, MAKE, approvals=ApprovalDecisions(command_execution="accept"))
        assert [one.method async for one in session.notifications()][-1] == "turn/completed"
        made()
        for listing in (client.thread_list, client.thread_loaded_list, client.model_list, client.account_read):
            await listing()
        await client.thread_shell_command(thread_id=thread, command="true")
    codex = Codex(CodexOptions(codex_path_override=CODEX))
    options = ThreadOptions(working_directory=HERE, skip_git_repo_check=True)
    thread = codex.start_thread(options)
    assert (await thread.run("hello")).final_response == "Hello."
    assert (await codex.resume_thread(thread.id, options).run("hello")).final_response == "Hello."


async def openai_codex_sdk():
    from openai_codex_sdk import Codex

    codex = Codex({"codex_path_override": CODEX})
    options = {"working_directory": HERE, "skip_git_repo_check": True}
    thread = codex.start_thread(options)
    assert (await thread.run("hello")).final_response == "Hello."
    events = (await codex.resume_thread(thread.id, options).run_streamed("hello")).events
    assert [event.type async for event in events][-1] == "turn.completed"


def tdai_codex_sdk():
    from codex_app_server import AppServerConfig, Codex, TextInput

    with Codex(AppServerConfig(codex_bin=CODEX, cwd=HERE)) as codex:
        thread = codex.thread_start()
        assert thread.run(MAKE).final_response == "Made."
        made()
        assert len(thread.read(include_turns=True).thread.turns) == 1
        assert codex.thread_fork(thread.id).id != thread.id
        turn = thread.turn(TextInput("slowly"))
        events = turn.stream()
        next(events)
        turn.interrupt()
        assert [event.method for event in events][-1] == "turn/completed"
        assert codex.models().data
        assert codex.thread_resume(thread.id).run("hello").final_response == "Hello."


def codex_gateway():
    """An HTTP server like that of OpenAI, in front of an app-server."""
    port = "18437"
    start = "import sys; from codex_gateway import server; server.main(sys.argv[1:])"
    arguments = [sys.executable, "-u", "-c", start, "--port", port]
    gateway = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        key = next(line.split('api_key="')[1].split('"')[0] for line in gateway.stdout if "api_key=" in line)
        body = {"model": "gpt-5.4", "messages": [{"role": "user", "content": "hello"}]}
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        for _ in range(50):
            try:
                reply = json.load(urllib.request.urlopen(request, timeout=20))
                break
            except urllib.error.URLError:
                time.sleep(0.1)
        assert reply["choices"][0]["message"]["content"] == "Hello.", reply
    finally:
        gateway.terminate()
        gateway.wait(10)


async def super_agents():
    """An MCP server that starts turns of an app-server behind a Unix socket."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    listener = subprocess.Popen([CODEX, "app-server", "--listen", "unix://"], stderr=subprocess.PIPE, text=True)
    while "listening on" not in listener.stderr.readline():
        pass
    server = StdioServerParameters(command=sys.executable, args=["-m", "super_agents"], env=dict(os.environ))
    try:
        async with stdio_client(server, errlog=open(os.devnull, "w")) as streams, ClientSession(*streams) as session:
            await session.initialize()

            async def call(tool, /, **arguments):
                called = await session.call_tool(tool, arguments)
                assert not called.isError, (tool, called)
                return json.loads(called.content[0].text)

            await call("super_agents_start", name="one", prompt="hello", cwd=HERE)
            await call("super_agents_start_turn", name="one", prompt="slowly")
            await call("super_agents_steer", name="one", prompt="more")
            assert (await call("super_agents_cancel", name="one"))["cancelled"]
            await call("super_agents_rename", name="one", newName="two")
            await call("super_agents_resume", name="two")
    finally:
        listener.terminate()
        listener.wait(20)


def main():
    (package,) = sys.argv[1:]
    check = globals()[package.replace("-", "_")]
    if asyncio.iscoroutinefunction(check):
        asyncio.run(asyncio.wait_for(check(), 90))
    else:
        check()
    print(f"ok {package}")


if __name__ == "__main__":
    main()
