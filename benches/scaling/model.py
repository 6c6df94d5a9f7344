"""A scripted model for the scale measurements, in a process of its own.

Answers one message. If the last message of the user is `RUN` and a command, it calls the shell with that command first; if it is
`PATCH` and a name, it adds that file with a patch first; if it is `STREAM` and a number, it answers in so many deltas.
Requests are searched as bytes, not parsed, so that long conversations cost it little.
"""

import asyncio
import json
import subprocess
import sys

COMMAND_LIMIT_MS = 3_600_000


def event(kind, **fields):
    return b"data: " + json.dumps({"type": kind, **fields}, separators=(",", ":")).encode() + b"\n\n"


def response(item):
    usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 10, "output_tokens_details": None,
             "total_tokens": 20}
    return b"".join((event("response.created", response={"id": "r"}),
                     event("response.output_item.done", output_index=0, item=item),
                     event("response.completed", response={"id": "r", "usage": usage})))


def message():
    return response({"type": "message", "role": "assistant", "id": "m",
                     "content": [{"type": "output_text", "text": "a few words"}]})


def stream(count):
    delta = event("response.output_text.delta", item_id="m", output_index=0, content_index=0, delta="a few words ")
    added = event("response.output_item.added", output_index=0, item={"type": "message", "role": "assistant", "id": "m", "content": []})
    return event("response.created", response={"id": "r"}) + added + delta * count + message()


def asked(body, word):
    """What the last message asks for with this word, unless the output of a call came after it."""
    at = body.rfind(b'"text":"%s ' % word)
    if at < 0 or max(body.rfind(b'"type":"function_call_output"'), body.rfind(b'"type":"custom_tool_call_output"')) > at:
        return None
    text, _ = json.JSONDecoder().raw_decode(body[at + 7:at + 10_000].decode(errors="replace"))
    # An earlier message does not count.
    return text.split(" ", 1)[1] if body.find(b'"type":"input_text"', at) < 0 else None


def special_answer(body, number):
    """What the last message of the user asks for, if it asks for something."""
    if command := asked(body, b"RUN"):
        return call(body, command, number)
    if name := asked(body, b"PATCH"):
        return call(body, f"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {name}\n+text\n*** End Patch\nEOF", number)
    if count := asked(body, b"STREAM"):
        return stream(int(count))
    return None


def call(body, command, number):
    """A call of the shell."""
    if b'"name":"exec_command"' in body:
        name, arguments = "exec_command", {"cmd": command, "yield_time_ms": COMMAND_LIMIT_MS}
    else:
        name, arguments = "shell_command", {"command": command, "timeout_ms": COMMAND_LIMIT_MS}
    return response({"type": "function_call", "name": name, "arguments": json.dumps(arguments),
                     "call_id": f"call_{number}"})


class Model:
    def __init__(self):
        self.requests = 0
        self.answer = message()

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                at = head.find(b"content-length:")
                body = await reader.readexactly(int(head[at + 15:head.index(b"\r", at)])) if at >= 0 else b""
                kind, answer = self.answer_to(head, body)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n" % (kind, len(answer))
                             + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def answer_to(self, head, body):
        if head.startswith(b"get"):
            return b"application/json", b'{"data": [], "models": []}'
        self.requests += 1
        return b"text/event-stream", special_answer(body, self.requests) or self.answer


async def main():
    server = await asyncio.start_server(Model().serve, "127.0.0.1", 0, limit=1 << 20, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    # The end of standard input, so that the model does not outlive the measurement.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


class ModelProcess:
    """The model as a child process."""

    def __init__(self):
        self.child = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.child.stdout.readline())

    def end(self):
        self.child.communicate()


if __name__ == "__main__":
    asyncio.run(main())
