"""A scripted model that speaks four APIs: Responses, Chat Completions, Messages and generateContent.

What it answers depends on how many results of tools a request has, so a request that is repeated gets the same answer: a call of
the shell for each command of the script, then a message. Requests without tools (titles, summaries) get a word and are no part of
the session. A fault is for one step, once.
"""

import http.server
import json
import threading
import time

from scripted import event, serve

SHELLS = ("exec_command", "shell_command", "shell", "local_shell", "bash", "run_shell_command")
ANSWER = "The work is done; the last word is Finis."


def plain(value):
    """JSON without what marks places for caches."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items() if key != "cache_control"}
    return [plain(part) for part in value] if isinstance(value, list) else value


class Request:
    """What a request to a model says, whichever API it is for."""

    def __init__(self, path, body):
        self.path, self.body, self.at = path, body, time.monotonic()
        self.api = next((api for api in ("responses", "chat", "messages") if f"/{api}" in path), "generate")
        part = {"responses": ["instructions", "input"], "chat": ["messages"], "messages": ["system", "messages"],
                "generate": ["systemInstruction", "contents"]}[self.api]
        self.tools = body.get("tools") or []
        said = [body[name] for name in part if body.get(name)]
        whole = [item for value in said for item in (value if isinstance(value, list) else [value])]
        # In the order of the prompt.
        self.parts = [json.dumps(plain(item), ensure_ascii=False, separators=(",", ":")) for item in [*self.tools, *whole]]
        self.text = "\n".join(self.parts)

    def functions(self):
        """Names of tools, and the schemas of what they take."""
        for tool in self.tools:
            inner = tool.get("functionDeclarations") or tool.get("tools") or [tool.get("function") or tool]
            for function in inner:
                schema = next((function[key] for key in ("parameters", "input_schema", "parametersJsonSchema") if function.get(key)), {})
                yield function.get("name", ""), schema

    def results(self):
        """What tools returned, as text."""
        if self.api == "responses":
            items = self.body.get("input") or []
            return [text_of(item.get("output")) for item in items if str(item.get("type", "")).endswith("_call_output")]
        if self.api == "chat":
            return [text_of(item.get("content")) for item in self.body["messages"] if item.get("role") == "tool"]
        name, kind = ("messages", "tool_result") if self.api == "messages" else ("contents", "functionResponse")
        found = []
        for item in self.body[name]:
            parts = item.get("content" if self.api == "messages" else "parts")
            for part in parts if isinstance(parts, list) else []:
                if part.get("type") == kind or kind in part:
                    found.append(text_of(part.get("content") or part.get(kind, {}).get("response")))
        return found

    def call(self, command):
        """The name and the arguments of the call that runs a command, as the agent's own tool wants it."""
        known = {name.lower(): (name, schema) for name, schema in self.functions()}
        name, schema = next((known[shell] for shell in SHELLS if shell in known), ("shell", {}))
        kinds = schema.get("properties") or {}
        key = next((key for key in ("command", "cmd", "script") if key in kinds), "command")
        value = ["bash", "-c", command] if kinds.get(key, {}).get("type") == "array" else command
        fill = {"boolean": False, "number": 10000, "integer": 10000}
        needed = {other: fill.get(kinds.get(other, {}).get("type"), "run it") for other in schema.get("required") or []}
        return name, {**needed, key: value}


def text_of(value):
    if isinstance(value, list):
        return "".join(text_of(part.get("text", part)) if isinstance(part, dict) else str(part) for part in value)
    return value if isinstance(value, str) else json.dumps(value)


class Script:
    """The commands of a session, the fault of a step, and what was asked."""

    def __init__(self, commands, fault=None, at=0, on_step=None):
        self.commands, self.fault, self.at, self.on_step = commands, fault, at, on_step
        self.requests, self.lock, self.has_failed = [], threading.Lock(), False

    def take(self, request):
        """The step of a request, and the fault that it meets."""
        with self.lock:
            self.requests.append(request)
            step = len(request.results())
            meets = self.fault and step == self.at and not self.has_failed
            self.has_failed = self.has_failed or bool(meets)
        if self.on_step:
            self.on_step(step)
        return step, self.fault if meets else None


def stream(request, step, commands, fault):
    """The events of an answer. A stream that is cut ends in the middle of its text."""
    call = request.call(commands[step]) if request.tools and step < len(commands) else None
    text = ANSWER if request.tools else "Title"
    if fault == "cut":
        call, text = None, ANSWER[:20]
    return {"responses": responses, "chat": chat, "messages": messages, "generate": generate}[request.api](call, text, fault, step)


def responses(call, text, fault, step):
    usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    yield event("response.created", response={"id": f"r{step}", "status": "in_progress"})
    if call:
        item = {"type": "function_call", "id": f"f{step}", "call_id": f"c{step}", "name": call[0], "arguments": json.dumps(call[1])}
    else:
        item = {"type": "message", "id": f"m{step}", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}]}
        yield event("response.output_item.added", output_index=0, item=dict(item, status="in_progress", content=[]))
        yield event("response.output_text.delta", item_id=item["id"], output_index=0, content_index=0, delta=text)
    if fault == "cut":
        return
    yield event("response.output_item.done", output_index=0, item=item)
    if fault == "length":
        cut = {"id": f"r{step}", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "usage": usage}
        yield event("response.incomplete", response=cut)
        return
    yield event("response.completed", response={"id": f"r{step}", "status": "completed", "output": [item], "usage": usage})


def chat(call, text, fault, step):
    def chunk(delta, reason=None, **more):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        data = {"id": f"r{step}", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}
        return f"data: {json.dumps(data)}\n\n"

    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        yield chunk({"role": "assistant", "tool_calls": [{"index": 0, "id": f"c{step}", "type": "function", "function": function}]})
    else:
        yield chunk({"role": "assistant", "content": text})
    if fault == "cut":
        return
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    yield chunk({}, "length" if fault == "length" else "tool_calls" if call else "stop", usage=usage)
    yield "data: [DONE]\n\n"


def messages(call, text, fault, step):
    usage = {"input_tokens": 100, "output_tokens": 10}
    message = {"id": f"r{step}", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None, "usage": usage}
    yield event("message_start", message=message)
    block = {"type": "tool_use", "id": f"c{step}", "name": call[0], "input": {}} if call else {"type": "text", "text": ""}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])} if call else {"type": "text_delta", "text": text}
    yield event("content_block_start", index=0, content_block=block)
    yield event("content_block_delta", index=0, delta=delta)
    if fault == "cut":
        return
    yield event("content_block_stop", index=0)
    reason = "max_tokens" if fault == "length" else "tool_use" if call else "end_turn"
    yield event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=usage)
    yield event("message_stop")


def generate(call, text, fault, step):
    part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": text}
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}}
    if fault != "cut":
        candidate["finishReason"] = "MAX_TOKENS" if fault == "length" else "STOP"
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
    yield f"data: {json.dumps({'candidates': [candidate], 'usageMetadata': usage})}\n\n"


def listen(script):
    """Starts the model. Returns its server."""

    class Model(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def do_GET(self):
            self.answer(200, "application/json", json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}], "models": []}))

        def do_HEAD(self):
            self.answer(200, "application/json", "")

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                request = Request(self.path, json.loads(body))
            except (ValueError, KeyError):
                return self.answer(404, "application/json", "{}")
            if "count" in self.path.lower():
                return self.answer(200, "application/json", json.dumps({"input_tokens": 100, "totalTokens": 100}))
            if not request.tools:
                return self.answer_all(request, stream(request, 0, [], None))
            step, fault = script.take(request)
            if fault == "429":
                error = json.dumps({"error": {"type": "rate_limit_error", "message": "too many requests", "code": 429}})
                return self.answer(429, "application/json", error, {"Retry-After": "1"})
            self.answer_all(request, stream(request, step, script.commands, fault))

        def answer_all(self, request, events):
            """Streams. Who does not want a stream asks for a title or a summary, and gets a word."""
            if request.body.get("stream") or "stream" in self.path or request.api == "responses":
                return self.answer(200, "text/event-stream", "".join(events))
            text = "Title"
            whole = {"chat": {"id": "r", "object": "chat.completion", "model": "m", "choices": [
                {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]},
                "messages": {"id": "r", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                             "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1, "output_tokens": 1}},
                "generate": {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}]}}
            return self.answer(200, "application/json", json.dumps(whole[request.api]))

        def answer(self, status, kind, text, headers=None):
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(data)
            except OSError:
                pass

    return serve(Model)
