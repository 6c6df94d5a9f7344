#!/usr/bin/env python3
"""Compares agents of the Agent Client Protocol: `acp_agents.py NAME=COMMAND…`.

Every agent gets the same requests and a scripted model on the loopback interface. Measures the time from the start to the
reply to `initialize`, the time of `session/new`, of a prompt that is answered with one message and of one that is answered
in 10,000 pieces, and the processor time and peak memory of the whole tree of processes until then.

The model supports the Responses API and Chat Completions. OPENAI_BASE_URL contains its address, which also replaces {model}
in a command. The name `this` measures this program: `acp_agents.py this=target/release/codex`.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time

from scripted import ScriptedModel, event, peak, processes, processor, serve

PIECES = 10_000
ROUNDS = 5


class Model(ScriptedModel):
    """A scripted model. A prompt that contains a number is answered in that many pieces, any other in one."""

    def events(self, body):
        pieces = PIECES if "ten thousand pieces" in body else 1
        write = chat if self.path.endswith("/chat/completions") else responses
        return write(pieces)


def responses(pieces):
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
    text = {"type": "output_text", "annotations": []}
    whole = dict(message, content=[dict(text, text="word " * pieces)])
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield event("response.created", response={"id": "r", "status": "in_progress"})
    yield event("response.output_item.added", output_index=0, item=dict(message, status="in_progress", content=[]))
    yield event("response.content_part.added", item_id="m", output_index=0, content_index=0, part=dict(text, text=""))
    for _ in range(pieces):
        yield event("response.output_text.delta", item_id="m", output_index=0, content_index=0, delta="word ")
    yield event("response.output_item.done", output_index=0, item=whole)
    done = {"id": "r", "status": "completed", "output": [whole], "usage": usage}
    yield event("response.completed", response=done)


def chat(pieces):
    def chunk(delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return f"data: {json.dumps({'id': 'c', 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"

    for _ in range(pieces):
        yield chunk({"role": "assistant", "content": "word "})
    yield chunk({}, "stop")
    yield "data: [DONE]\n\n"


class Agent:
    def __init__(self, command, env, work):
        self.started = time.monotonic()
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=env, cwd=work)
        self.next_id = 0
        self.chunks = 0

    def write(self, message):
        self.process.stdin.write((json.dumps(dict(message, jsonrpc="2.0")) + "\n").encode())
        self.process.stdin.flush()

    def request(self, method, params):
        """Returns the reply and the time until it arrived."""
        self.next_id += 1
        begun = time.monotonic()
        self.write({"id": self.next_id, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"the agent ended at {method}")
            message = json.loads(line)
            if message.get("id") == self.next_id and "method" not in message:
                if "error" in message:
                    raise SystemExit(f"{method}: {message['error']}")
                return message["result"], time.monotonic() - begun
            if message.get("method") == "session/update":
                self.chunks += message["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
            elif "id" in message:
                self.write({"id": message["id"], "error": {"code": -32601, "message": "not offered"}})

    def close(self):
        """Ends the agent. Returns what it and its children used: processor time in seconds, peak memory in MiB."""
        tree = list(processes(self.process.pid))
        used = sum(processor(pid) for pid in tree), sum(peak(pid) for pid in tree)
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return used


def measure(command, address):
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as work:
        subprocess.run(["git", "init", "-q", work], check=True)
        env = dict(os.environ, HOME=home, CODEX_HOME=home, OPENAI_BASE_URL=address, OPENAI_API_KEY="none")
        agent = Agent(command, env, work)
        agent.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        figures = [time.monotonic() - agent.started]
        session, took = agent.request("session/new", {"cwd": work, "mcpServers": []})
        figures.append(took)
        for text in ("one message", "ten thousand pieces"):
            prompt = [{"type": "text", "text": text}]
            figures.append(agent.request("session/prompt", {"sessionId": session["sessionId"], "prompt": prompt})[1])
        return figures + list(agent.close())


def own(program, address):
    provider = {"name": "Scripted", "base_url": address, "wire_api": "responses"}
    settings = [("model_provider", "scripted"), ("model", "gpt-5.2-codex")]
    settings += [(f"model_providers.scripted.{key}", value) for key, value in provider.items()]
    flags = [part for key, value in settings for part in ("-c", f"{key}={json.dumps(value)}")]
    return [os.path.abspath(program), "acp", *flags]


def main():
    address = f"http://127.0.0.1:{serve(Model).server_port}/v1"
    print("| agent | initialize | session/new | one message | 10,000 pieces | processor | memory |")
    print("|---|---|---|---|---|---|---|")
    for argument in sys.argv[1:]:
        name, command = argument.split("=", 1)
        command = own(command, address) if name == "this" else shlex.split(command.replace("{model}", address))
        rounds = sorted(measure(command, address) for _ in range(ROUNDS))
        middle = [sorted(column)[ROUNDS // 2] for column in zip(*rounds)]
        times = " | ".join(f"{1000 * seconds:.0f} ms" for seconds in middle[:4])
        print(f"| {name} | {times} | {middle[4]:.2f} s | {middle[5]:.0f} MiB |", flush=True)


main()
