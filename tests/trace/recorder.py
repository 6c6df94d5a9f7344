"""Drives an app-server through scripted sessions, so that it records trace bundles.

A session is a configuration, a script of model answers and a list of things that the client does. The model is a
small Responses API server in this process; everything stays on the loopback interface.
"""

import base64
import glob
import hashlib
import json
import os
import queue
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIXEL = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


# ------------------------------------------------------------------ answers

def say(text, phase=None):
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return {**item, "phase": phase} if phase else item


def think(text, encrypted="sealed"):
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}], "encrypted_content": encrypted,
            "content": [{"type": "reasoning_text", "text": text + "!"}]}


def call(call_id, name, arguments, namespace=None):
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": text}
    return {**item, "namespace": namespace} if namespace else item


def run(call_id, command, **more):
    return call(call_id, "exec_command", {"cmd": command, **more})


def custom(call_id, name, text):
    return {"type": "custom_tool_call", "call_id": call_id, "name": name, "input": text}


class Broken:
    """An answer that fails: an HTTP status, or a stream that stops after some items."""

    def __init__(self, status=0, items=(), hang=False, failed=False):
        self.status, self.items, self.hang, self.failed = status, list(items), hang, failed


REFUSED = {"error": {"message": "as scripted", "type": "invalid_request_error"}}


def read_message(stream):
    """The text of the next message of a websocket, which is not compressed; none after a close."""
    message = b""
    while len(head := stream.read(2)) == 2:
        size = head[1] & 127
        if size >= 126:
            size = int.from_bytes(stream.read(2 if size == 126 else 8), "big")
        mask, data = stream.read(4), stream.read(size)
        if head[0] & 15 == 8:
            return None
        if head[0] & 15 < 8:
            whole = int.from_bytes(data, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")
            message += whole.to_bytes(size, "big")
            if head[0] & 128:
                return message.decode("utf-8", "replace")
    return None


class Model:
    """Answers each request with the next entry of the script: a list of items, `Broken`, or a function of the
    request's body. The requests of spawned agents, told by a header, have a script of their own."""

    def __init__(self, script, child=()):
        self.script, self.child = list(script), list(child)
        self.count = 0
        self.lock = threading.Lock()
        self.closing = threading.Event()
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                if self.headers.get("upgrade", "").lower() == "websocket":
                    return model.serve_websocket(self)
                self.reply(200, {"object": "list", "data": [], "models": []})

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "replace")
                if self.path.split("?")[0].endswith("/compact"):
                    refused = model.refusal()
                    if refused:
                        self.reply(refused.status, REFUSED)
                    else:
                        self.reply(200, {"output": [{"type": "compaction", "encrypted_content": "unary summary"}]})
                else:
                    try:
                        model.answer(self, body)
                    except OSError:
                        pass

            def reply(self, status, value):
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def refusal(self):
        """The next entry, if it refuses: a request for a unary compaction takes no other."""
        with self.lock:
            refuses = self.script and isinstance(self.script[0], Broken) and self.script[0].status
            return self.script.pop(0) if refuses else None

    def next(self, body, spawned):
        if '"compaction_trigger"' in body:
            return [{"type": "compaction", "encrypted_content": "streamed summary"}]
        with self.lock:
            self.count += 1
            script = self.child if spawned else self.script
            entry = script.pop(0) if script else [say("nothing more")]
        return entry(body) if callable(entry) else entry

    def answer(self, handler, body):
        entry = self.next(body, handler.headers.get("x-openai-subagent") == "collab_spawn")
        if isinstance(entry, Broken) and entry.status:
            handler.reply(entry.status, REFUSED)
            return
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("connection", "close")
        handler.end_headers()
        handler.close_connection = True

        def send(kind, **fields):
            handler.wfile.write(("event: %s\ndata: %s\n\n" % (kind, json.dumps({"type": kind, **fields}))).encode())
            handler.wfile.flush()

        self.stream(entry, send)

    def serve_websocket(self, handler):
        """Answers each message; one that only prepares a response gets an empty one."""
        accept = hashlib.sha1((handler.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode())
        handler.send_response(101)
        for name, value in (("upgrade", "websocket"), ("connection", "Upgrade"),
                            ("sec-websocket-accept", base64.b64encode(accept.digest()).decode())):
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.flush()
        handler.close_connection = True

        def send(kind, **fields):
            data = json.dumps({"type": kind, **fields}).encode()
            size = bytes([len(data)]) if len(data) < 126 else bytes([126]) + struct.pack(">H", len(data))
            handler.wfile.write(b"\x81" + size + data)
            handler.wfile.flush()

        while (message := read_message(handler.rfile)) is not None:
            if '"generate":false' in message:
                send("response.created", response={"id": "warm"})
                send("response.completed", response={"id": "warm", "usage": None})
            else:
                self.stream(self.next(message, False), send)

    def stream(self, entry, send):
        response = "resp_%d" % self.count
        items = entry.items if isinstance(entry, Broken) else entry
        send("response.created", response={"id": response})
        for index, item in enumerate(items):
            item = {"id": "item_%d_%d" % (self.count, index), **item}
            send("response.output_item.added", output_index=index, item={**item, "content": []} if "content" in item else item)
            if item["type"] == "message":
                for part in item["content"]:
                    send("response.output_text.delta", item_id=item["id"], output_index=index, content_index=0, delta=part["text"])
            send("response.output_item.done", output_index=index, item=item)
        if isinstance(entry, Broken):
            if entry.failed:
                send("response.failed", response={"id": response, "error": {"code": "server_error", "message": "as scripted"}})
            elif entry.hang:
                send("response.output_item.added", output_index=len(items), item=say("half"))
                send("response.output_text.delta", item_id="x", output_index=len(items), content_index=0, delta="half")
                self.closing.wait(60)
            return
        usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 7}, "output_tokens": 10,
                 "output_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 110}
        send("response.completed", response={"id": response, "usage": usage})

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()


# ------------------------------------------------------------------- client

class Client:
    """One app-server process, spoken to in lines."""

    def __init__(self, binary, env, cwd, decisions=()):
        self.started_as = (binary, env, cwd, decisions)
        self.decisions = iter(decisions)
        self.process = subprocess.Popen([binary, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=env, cwd=cwd, text=True)
        self.messages = queue.Queue()
        self.writing = threading.Lock()
        self.ids = 0
        threading.Thread(target=self.read, daemon=True).start()
        self.call("initialize", {"clientInfo": {"name": "trace", "title": None, "version": "1"},
                                 "capabilities": {"experimentalApi": True}})
        self.send({"method": "initialized"})

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message and "id" in message:
                self.send({"id": message["id"], "result": {"decision": next(self.decisions, "decline")}})
            self.messages.put(message)
        self.messages.put(None)

    def send(self, message):
        with self.writing:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()

    def wait(self, wanted, timeout=40):
        """The first message that fits; the others are gone."""
        end = time.monotonic() + timeout
        while True:
            message = self.messages.get(timeout=max(0.01, end - time.monotonic()))
            if message is None:
                raise EOFError("the server is gone")
            if wanted(message):
                return message

    def call(self, method, params):
        self.ids += 1
        own = self.ids
        self.send({"id": own, "method": method, "params": params})
        reply = self.wait(lambda m: m.get("id") == own and ("result" in m or "error" in m))
        if "unknown variant" in str(reply.get("error")):
            raise Unknown(method)
        if "error" in reply:
            raise RuntimeError("%s: %s" % (method, reply["error"]))
        return reply["result"]

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


    def kill(self):
        self.process.kill()
        self.process.wait()


class Unknown(Exception):
    """This release does not have what a session needs."""


class Run:
    """A session under way, as its steps see it."""

    def __init__(self, client, cwd):
        self.client, self.cwd = client, cwd
        self.thread = client.call("thread/start", {"cwd": cwd})["thread"]["id"]

    def begin(self, text, extra=()):
        user = [{"type": "text", "text": text, "text_elements": []}, *extra]
        return self.client.call("turn/start", {"threadId": self.thread, "input": user})["turn"]["id"]

    def is_end(self, message):
        return message.get("method") == "turn/completed" and message["params"]["threadId"] == self.thread

    def finish(self):
        self.client.wait(self.is_end)

    def turn(self, text, extra=()):
        self.begin(text, extra)
        self.finish()

    def interrupt(self, text, when):
        """Interrupts a turn once a message fits `when`. Without the tool that would make it, the turn ends by itself."""
        turn = self.begin(text)
        if self.is_end(self.client.wait(lambda m: when(m) or self.is_end(m))):
            return
        time.sleep(0.1)
        self.client.call("turn/interrupt", {"threadId": self.thread, "turnId": turn})
        self.finish()

    def compact(self):
        self.client.call("thread/compact/start", {"threadId": self.thread})
        self.finish()

    def review(self, delivery="inline", when=None):
        """Has something reviewed; interrupts that once a message fits `when`."""
        target = {"type": "custom", "instructions": "look at it"}
        reply = self.client.call("review/start", {"threadId": self.thread, "delivery": delivery, "target": target})
        thread = reply["reviewThreadId"]
        if when:
            begun = self.client.wait(method("turn/started"))["params"]["turn"]["id"]
            self.client.wait(when)
            self.interrupt_either(thread, reply["turn"]["id"], begun)
        self.client.wait(lambda m: m.get("method") == "turn/completed" and m["params"]["threadId"] == thread)

    def interrupt_either(self, thread, *turns):
        """Releases know a review under different ones of its two ids."""
        for turn in turns:
            try:
                return self.client.call("turn/interrupt", {"threadId": thread, "turnId": turn})
            except RuntimeError as error:
                refused = error
        raise refused

    def shell(self, command):
        """Runs what the person typed, as a turn of its own."""
        self.client.call("thread/shellCommand", {"threadId": self.thread, "command": command})
        self.finish()

    def steer(self, text, more, when):
        turn = self.begin(text)
        self.client.wait(when)
        user = [{"type": "text", "text": more, "text_elements": []}]
        self.client.call("turn/steer", {"threadId": self.thread, "expectedTurnId": turn, "input": user})
        self.finish()

    def plan(self, text):
        """A turn in plan mode."""
        settings = {"model": "mock-model", "reasoning_effort": None, "developer_instructions": None}
        user = [{"type": "text", "text": text, "text_elements": []}]
        self.client.call("turn/start", {"threadId": self.thread, "input": user,
                                        "collaborationMode": {"mode": "plan", "settings": settings}})
        self.finish()

    def restart(self, kill=False):
        """Ends the server, and continues the thread in another one."""
        self.client.kill() if kill else self.client.close()
        self.client = Client(*self.client.started_as)
        self.client.call("thread/resume", {"threadId": self.thread})

    def fork(self):
        """Continues in a copy of the thread."""
        self.thread = self.client.call("thread/fork", {"threadId": self.thread})["thread"]["id"]

    def inject(self, text):
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        self.client.call("thread/inject_items", {"threadId": self.thread, "items": [item]})

    def roll_back(self, turns):
        self.client.call("thread/rollback", {"threadId": self.thread, "numTurns": turns})


def method(name):
    return lambda m: m.get("method") == name


def command_started(m):
    return m.get("method") == "item/started" and m["params"]["item"]["type"] == "commandExecution"


# ----------------------------------------------------------------- sessions

def session_id(body):
    """The id of the process that an earlier output told of."""
    return int(re.findall(r"session ID (\d+)", body)[-1])


def write_to_process(body):
    return [call("w1", "write_stdin", {"session_id": session_id(body), "chars": "there\n", "yield_time_ms": 2000})]


def agent_id(body):
    return re.findall(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", body[body.rfind("function_call_output"):])[0]


V1 = "multi_agent_v1"
V2 = "collaboration"
PATCH = "*** Begin Patch\n*** Add File: new.txt\n+one\n+two\n*** End Patch"
REMOTE = {"provider": "OpenAI", "features": "enable_request_compression = false\n"}


def sessions(schema=2):
    """Name -> what to configure, what the model answers, what the client does."""
    # Release 0.140 has the tools for agents without a namespace.
    namespace = V2 if schema >= 2 else None
    yield "messages", {
        "script": [[think("hm"), say("working", "commentary"), say("hello", "final_answer")], [say("again")], [think("x", "s2"), say("bye")]],
        "steps": lambda r: [r.turn("hi"), r.turn("hi"), r.turn("caf\u00e9 \u2603")],
    }
    yield "tools", {
        "script": [[run("c1", "echo one"), run("c2", "exit 3")], [run("c3", "seq 1 4000")], [call("c4", "no_such_tool", {"a": 1})],
                   [call("c5", "exec_command", "{not json")], [say("done")], [run("c6", "read x; echo got $x", yield_time_ms=250, tty=True)],
                   write_to_process, [say("done")], [call("u1", "update_plan", {"plan": [{"step": "a", "status": "completed"}]})], [say("end")]],
        "steps": lambda r: [r.turn("go"), r.turn("talk"), r.turn("plan")],
    }
    yield "patch", {
        "script": [[custom("p1", "apply_patch", PATCH)], [custom("p2", "apply_patch", "nonsense")],
                   [run("p3", "apply_patch <<'EOF'\n%s\nEOF" % PATCH.replace("new", "other"))], [say("done")]],
        "steps": lambda r: [r.turn("patch it")],
    }
    yield "websocket", {
        "websockets": True,
        "script": [[think("hm"), run("c1", "echo one")], [say("done")], [say("again")]],
        "steps": lambda r: [r.turn("go"), r.turn("more")],
    }
    yield "short", {
        "script": [[run("c1", "echo one")], [say("done")]],
        "steps": lambda r: [r.turn("go")],
    }
    yield "shell", {
        "features": "unified_exec = false\n",
        "script": [[call("c1", "shell_command", {"command": "echo one"}), call("c2", "shell", {"command": ["echo", "one"]})],
                   [call("c3", "shell_command", {"command": "exit 3"}), call("c4", "shell", {"command": ["bash", "-c", "exit 3"]})],
                   [say("done")], [call("c5", "shell_command", {"command": "sleep 30"}), call("c6", "shell", {"command": ["sleep", "30"]})],
                   [say("done")]],
        "steps": lambda r: [r.turn("go"), r.interrupt("sleep", command_started), r.turn("next")],
    }
    yield "mixed", {
        "features": "apply_patch_freeform = true\n",
        "script": [[think("hm"), say("working", "commentary"), run("c1", "echo one"), run("c2", "exit 3")],
                   [custom("p1", "apply_patch", PATCH)], [custom("p2", "apply_patch", "nonsense")], [call("c3", "no_such_tool", {"a": 1})],
                   [run("c4", "read x; echo got $x", yield_time_ms=250, tty=True)], write_to_process, [say("done", "final_answer")],
                   Broken(items=[say("partial")]), [say("whole")], Broken(status=400), [say("a summary of it")], [say("after")],
                   Broken(items=[think("start")], hang=True), [say("fine")]],
        "steps": lambda r: [r.turn("go"), r.turn("fail once"), r.turn("fail"), r.compact(), r.turn("next"),
                            r.interrupt("slow", method("item/agentMessage/delta")), r.turn("end")],
    }
    yield "interrupt", {
        "script": [Broken(items=[think("start")], hang=True), [say("fine")], [run("c1", "sleep 30")], [say("fine")]],
        "steps": lambda r: [r.interrupt("slow", method("item/agentMessage/delta")), r.turn("next"),
                            r.interrupt("sleep", command_started), r.turn("next")],
    }
    yield "failures", {
        "script": [Broken(status=400), [say("ok")], Broken(items=[say("partial")]), [say("ok")], Broken(failed=True), [say("ok")],
                   Broken(status=500)],
        "steps": lambda r: [r.turn("a"), r.turn("b"), r.turn("c"), r.turn("d"), r.turn("e"), r.turn("f")],
    }
    yield "web_search", {
        "script": [[{"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}, say("found")], [say("ok")]],
        "steps": lambda r: [r.turn("search"), r.turn("next")],
    }
    yield "compact_local", {
        "script": [[say("one")], [say("a summary of it")], [say("two")]],
        "steps": lambda r: [r.turn("hi"), r.compact(), r.turn("next")],
    }
    for name, more in (("compact_streamed", ""), ("compact_unary", "remote_compaction_v2 = false\n")):
        yield name, {
            **REMOTE, "features": REMOTE["features"] + more,
            "script": [[run("c1", "echo one")], [say("one")], [say("two")], [say("three")], [say("four")]],
            "steps": lambda r: [r.turn("hi"), r.compact(), r.turn("next"), r.turn("more"), r.compact(), r.turn("last")],
        }
    verdict = json.dumps({"findings": [{"title": "A bug", "body": "It is wrong.", "confidence_score": 0.9, "priority": 1,
                          "code_location": {"absolute_file_path": "/x/y.rs", "line_range": {"start": 1, "end": 2}}}],
                          "overall_correctness": "patch is incorrect", "overall_explanation": "One bug.",
                          "overall_confidence_score": 0.8})
    yield "review_inline", {
        "script": [[say("one")], [think("hm"), run("c1", "echo look")], [say(verdict)], [say("two")], Broken(items=[say("half")]),
                   [say("It is fine.")], [say("three")]],
        "steps": lambda r: [r.turn("hi"), r.review(), r.turn("next"), r.review(), r.turn("last")],
    }
    yield "review_first", {
        "script": [[say(verdict)], [say("one")]],
        "steps": lambda r: [r.review(), r.turn("hi")],
    }
    yield "review_detached", {
        "script": [[say("one")], [run("c1", "echo look")], [say(verdict)], [say("two")]],
        "steps": lambda r: [r.turn("hi"), r.review("detached"), r.turn("next")],
    }
    yield "review_broken", {
        "script": [[say("one")], [run("c1", "sleep 30")], [say("two")], Broken(status=400), [say("three")]],
        "steps": lambda r: [r.turn("hi"), r.review(when=command_started), r.turn("next"), r.review(), r.turn("last")],
    }
    yield "compact_broken", {
        "script": [[say("one")], Broken(status=400), [say("two")], Broken(items=[say("part")]), [say("a summary of it")], [say("three")]],
        "steps": lambda r: [r.turn("hi"), r.compact(), r.turn("next"), r.compact(), r.turn("last")],
    }
    yield "compact_unary_broken", {
        **REMOTE, "features": REMOTE["features"] + "remote_compaction_v2 = false\n",
        "script": [[say("one")], Broken(status=400), [say("two")], [say("three")]],
        "steps": lambda r: [r.turn("hi"), r.compact(), r.turn("next"), r.compact(), r.turn("last")],
    }
    yield "user_shell", {
        "script": [[say("one")], [say("two")]],
        "steps": lambda r: [r.shell("echo mine"), r.turn("hi"), r.shell("exit 3"), r.turn("next")],
    }
    yield "plan_mode", {
        "script": [[think("hm"), say("Here it is.\n<proposed_plan>\n- a step\n</proposed_plan>\n")], [say("done")]],
        "steps": lambda r: [r.plan("plan it"), r.turn("do it")],
    }
    yield "background", {
        "script": [[run("c1", "echo up; sleep 1; echo down", yield_time_ms=250), run("c2", "cat", yield_time_ms=250, tty=True)],
                   [say("they run")], [run("c3", "echo beside")], [say("still")],
                   lambda body: [call("w1", "write_stdin", {"session_id": session_id(body), "chars": "typed\n", "yield_time_ms": 500}),
                                 call("w2", "write_stdin", {"session_id": 424242, "chars": "", "yield_time_ms": 250})],
                   [say("said")]],
        "steps": lambda r: [r.turn("start"), r.turn("go on"), time.sleep(1.2), r.turn("type")],
    }
    yield "steer_and_roll_back", {
        "script": [[run("c1", "sleep 1")], [say("done")], [say("more")], [say("again")]],
        "steps": lambda r: [r.steer("go", "and this too", command_started), r.turn("more"), r.roll_back(1), r.turn("again")],
    }
    yield "image_in_output", {
        "script": [[call("v1", "view_image", {"path": "pixel.png"})], [say("seen")], [say("ok")]],
        "steps": lambda r: [r.turn("look"), r.turn("next")],
    }
    yield "image_from_user", {
        "script": [[say("seen")], [say("ok")]],
        "steps": lambda r: [r.turn("look", [{"type": "image", "url": "data:image/png;base64," + PIXEL}]), r.turn("next")],
    }
    yield "bad_write_stdin", {
        "script": [[call("w1", "write_stdin", {"chars": "x"})], [say("ok")]],
        "steps": lambda r: [r.turn("go")],
    }
    yield "mcp", {
        "mcp": True,
        "script": [[call("m1", "echo", {"text": "hi"}, "mcp__test"), call("m2", "mcp__test__echo", {"text": "hi"})],
                   [call("m3", "wait", {"text": "hi"}, "mcp__test")], [say("ok")]],
        "steps": lambda r: [time.sleep(0.5), r.turn("go")],
    }
    yield "agents_v1", {
        "script": [[call("a1", "spawn_agent", {"message": "job"}, V1)],
                   lambda body: [call("a2", "wait_agent", {"targets": [agent_id(body)], "timeout_ms": 20000}, V1)], [say("done")]],
        "child": [[run("c1", "echo child")], [say("child done")]],
        "steps": lambda r: [r.turn("spawn one")],
    }
    yield "agents_v2", {
        "features": "multi_agent_v2 = true\n",
        "script": [[call("a1", "spawn_agent", {"message": "job", "task_name": "worker"})],
                   [call("a2", "wait_agent", {"timeout_ms": 20000})],
                   [call("a3", "send_message", {"target": "worker", "message": "news"})],
                   [call("a4", "followup_task", {"target": "worker", "message": "more"})],
                   [call("a5", "wait_agent", {"timeout_ms": 20000})],
                   [call("a6", "interrupt_agent", {"target": "worker"})], [say("done")], [say("later")]],
        "child": [[run("c1", "echo child")], [say("child done")], [say("child done again")]],
        "steps": lambda r: [r.turn("spawn one"), r.turn("and then")],
    }
    def task(name, text="job", **more):
        return call("s_" + name, "spawn_agent", {"message": text, "task_name": name, **more}, namespace)

    def waited(call_id):
        return [call(call_id, "wait_agent", {"timeout_ms": 5000}, namespace)]
    yield "collaboration", {
        "features": "multi_agent_v2 = true\n",
        "script": [[task("worker")], waited("a2"),
                   [call("a3", "send_message", {"target": "worker", "message": "news"}, namespace)],
                   [call("a4", "followup_task", {"target": "worker", "message": "more"}, namespace)],
                   waited("a5"), [call("a6", "list_agents", {}, namespace)],
                   [call("a7", "interrupt_agent", {"target": "worker"}, namespace)], [say("done")], [say("later")]],
        "child": [[run("c1", "echo child")], [say("child done")], [say("child done again")]],
        "steps": lambda r: [r.turn("spawn one"), r.turn("and then")],
    }
    yield "two_agents", {
        "features": "multi_agent_v2 = true\n",
        "script": [[task("one"), task("two", "other job", fork_turns="all")], waited("a2"), waited("a3"), [say("done")], [say("end")]],
        "child": [[run("c1", "echo a")], [run("c2", "exit 2")], [say("a done")], [say("b done")]],
        "steps": lambda r: [r.turn("spawn two"), r.turn("end")],
    }
    yield "agent_fails", {
        "features": "multi_agent_v2 = true\n",
        "script": [[task("broken")], waited("a2"), [say("noted")], [say("end")]],
        "child": [Broken(status=400)],
        "steps": lambda r: [r.turn("spawn one"), r.turn("end")],
    }
    yield "agent_resumed", {
        "features": "multi_agent_v2 = true\n",
        "script": [[task("worker")], waited("a2"), [say("done")],
                   [call("a3", "followup_task", {"target": "worker", "message": "more"}, namespace)], waited("a4"), [say("end")]],
        "child": [[say("child done")], [say("child done again")]],
        "steps": lambda r: [r.turn("spawn one"), r.restart(), r.turn("again")],
    }
    yield "resumed", {
        "script": [[think("hm"), run("c1", "echo one")], [say("one")], [say("two")], [run("c2", "echo three")], [say("three")]],
        "steps": lambda r: [r.turn("hi"), r.turn("more"), r.restart(), r.turn("go on")],
    }
    yield "forked", {
        "script": [[run("c1", "echo one")], [say("one")], [say("two")], [say("three")]],
        "steps": lambda r: [r.turn("hi"), r.fork(), r.turn("aside"), r.turn("again")],
    }
    yield "killed", {
        "script": [[run("c1", "echo one")], [say("one")], [run("c2", "sleep 30")], [say("after")]],
        "steps": lambda r: [r.turn("hi"), r.begin("sleep"), r.client.wait(command_started), time.sleep(0.7), r.restart(kill=True),
                            r.turn("go on")],
    }
    yield "injected", {
        "script": [[say("one")], [say("two")], [say("three")]],
        "steps": lambda r: [r.inject("a note before"), r.turn("hi"), r.inject("a note between"), r.turn("next"), r.compact(), r.turn("last")],
    }
    yield "compact_resumed", {
        **REMOTE,
        "script": [[run("c1", "echo one")], [say("one")], [say("two")], [say("three")]],
        "steps": lambda r: [r.turn("hi"), r.compact(), r.turn("next"), r.restart(), r.turn("more"), r.compact(), r.turn("last")],
    }
    yield "steered", {
        "script": [[run("c1", "sleep 1")], [say("done")], [say("more")]],
        "steps": lambda r: [r.steer("go", "and this too", command_started), r.turn("more")],
    }
    yield "parallel_parts", {
        "script": [[think("a"), run("c1", "sleep 0.3; echo slow"), think("b", "s2"), run("c2", "echo quick"), custom("p1", "apply_patch", PATCH),
                    say("between", "commentary")], Broken(items=[think("c", "s3"), run("c3", "echo kept")]), [say("same")], [say("same")],
                   [say("same")]],
        "steps": lambda r: [r.turn("go"), r.turn("go"), r.turn("go")],
    }
    cell = "const r = await tools.exec_command({cmd: 'echo nested'}); text(r.output);"
    yield "code_cells", {
        "features": "code_mode = true\n",
        "script": [[custom("x1", "exec", cell)], [custom("x2", "exec", "throw new Error('no')")],
                   [custom("x3", "exec", "// @exec: {\"yield_time_ms\": 50}\nawait tools.exec_command({cmd: 'sleep 1'}); text('late')")],
                   [call("x4", "wait", {"cell_id": "3", "yield_time_ms": 5000})], [custom("x5", "exec", "")], [say("done")]],
        "steps": lambda r: [r.turn("compute")],
    }


MCP_SERVER = r'''
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    result = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}},
        "tools/list": {"tools": [{"name": n, "description": n, "inputSchema": schema} for n in ("echo", "wait")]},
        "tools/call": {"content": [{"type": "text", "text": "echoed"}]},
    }.get(m["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
'''


def configuration(session, port, root):
    text = """model = "mock-model"
model_provider = "mock"
approval_policy = "%s"
sandbox_mode = "%s"

[model_providers.mock]
name = "%s"
base_url = "http://127.0.0.1:%d/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 1
supports_websockets = %s

[features]
%s
""" % (session.get("policy", "never"), session.get("sandbox", "danger-full-access"), session.get("provider", "Mock"), port,
       "true" if session.get("websockets") else "false", session.get("features", ""))
    if session.get("mcp"):
        server = os.path.join(root, "mcp_server.py")
        with open(server, "w") as f:
            f.write(MCP_SERVER)
        text += "[mcp_servers.test]\ncommand = %s\nargs = [%s]\n" % (json.dumps(sys.executable), json.dumps(server))
    return text


def record(binary, session, destination, schema=1):
    """Runs one session; moves the bundles that it made to `destination`. Says what went wrong, if anything did."""
    root = tempfile.mkdtemp(prefix="trace-record-")
    model = Model(session["script"], session.get("child", ()))
    trouble = None
    try:
        home, cwd, traces = (os.path.join(root, name) for name in ("home", "work", "traces"))
        for folder in (home, cwd, traces):
            os.mkdir(folder)
        with open(os.path.join(cwd, "pixel.png"), "wb") as f:
            f.write(base64.b64decode(PIXEL))
        with open(os.path.join(home, "config.toml"), "w") as f:
            f.write(configuration(session, model.port, root))
        env = {"PATH": os.environ["PATH"], "HOME": root, "CODEX_HOME": home, "LANG": "C.UTF-8", "SHELL": "/bin/bash",
               "RUST_LOG": "error", "CODEX_ROLLOUT_TRACE_ROOT": traces, "CODEX_ROLLOUT_TRACE_SCHEMA": str(schema)}
        run = None
        try:
            run = Run(Client(binary, env, cwd, session.get("decisions", ())), cwd)
            session["steps"](run)
        except Unknown as missing:
            print("cut short: this release has no %s" % missing)
        except (EOFError, RuntimeError, OSError, queue.Empty) as error:
            trouble = repr(error)
        finally:
            if run:
                run.client.close()
        bundles = sorted(glob.glob(os.path.join(traces, "trace-*")))
        for number, bundle in enumerate(bundles):
            shutil.move(bundle, os.path.join(destination, str(number)))
        return trouble or (None if bundles else "no bundle was written")
    finally:
        model.close()
        shutil.rmtree(root, ignore_errors=True)
