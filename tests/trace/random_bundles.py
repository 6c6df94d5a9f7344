"""Random trace bundles: mostly possible sessions, with something odd now and then.

Everything follows from the seed. The texts are few, so that items collide; the ids are few, so that events meet.
"""

import json
import os
import random

AGENT_PATHS = ["/root", "/root/worker", "/root/helper"]
TEXTS = ["a", "b", "hello", "caf\u00e9 \u2603", "", '{"x": 1}', "line\nline", "x" * 300]
EXEC = {"type": "exec_command"}


def uuid(n):
    return "00000000-0000-7000-8000-%012x" % n


class Bundle:
    """Writes lines and payload files, and remembers what later events may refer to."""

    def __init__(self, path, seed, oddity, schema=1):
        self.rnd = random.Random(seed)
        self.schema = schema
        self.oddity = oddity
        self.path = path
        self.seq = 0
        self.clock = 1_700_000_000_000
        self.payloads = 0
        self.ids = 0
        self.lines = []
        os.makedirs(os.path.join(path, "payloads"))
        self.threads = {}
        self.turns = {}
        self.inferences = {}
        self.tools = {}
        self.cells = {}
        self.compactions = []
        self.compaction_requests = []
        self.terminals = []
        self.calls = []
        self.results = set()
        self.item_ids, self.commands, self.ended = [], [], []
        manifest = {
            "schema_version": schema, "trace_id": uuid(1), "rollout_id": uuid(100), "root_thread_id": uuid(100),
            "started_at_unix_ms": self.clock, "raw_event_log": "trace.jsonl", "payloads_dir": "payloads",
        }
        self.write("manifest.json", manifest)

    def odd(self, factor=1.0):
        return self.rnd.random() < self.oddity * factor

    def pick(self, values):
        return self.rnd.choice(list(values))

    def fresh(self, prefix):
        self.ids += 1
        return "%s_%d" % (prefix, self.ids)

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as f:
            json.dump(value, f, indent=2, ensure_ascii=False)

    def payload(self, kind, value):
        self.payloads += 1
        name = "payloads/%d.json" % self.payloads
        self.write(name, value)
        return {"raw_payload_id": "raw_payload:%d" % self.payloads, "kind": {"type": kind}, "path": name}

    def event(self, type_name, thread=None, turn=None, /, **fields):
        self.seq += 1
        self.clock += self.rnd.choice([0, 0, 1, 7])
        line = {
            "schema_version": self.schema, "seq": self.seq, "wall_time_unix_ms": self.clock, "rollout_id": uuid(100),
            "thread_id": thread, "codex_turn_id": turn, "payload": {"type": type_name, **fields},
        }
        self.lines.append(json.dumps(line, ensure_ascii=False, separators=(",", ":")))

    def close(self):
        with open(os.path.join(self.path, "trace.jsonl"), "w", encoding="utf-8") as f:
            f.write("".join(line + "\n" for line in self.lines))


class Session(Bundle):
    """Makes the events."""

    # ------------------------------------------------------------ items

    def content(self):
        r = self.rnd.random()
        if r < 0.03:
            return []
        if r < 0.08:
            return [{"type": "input_image", "image_url": "data:x"}]
        if r < 0.1:
            return "plain"
        return [{"type": self.pick(["input_text", "output_text", "text"]), "text": self.pick(TEXTS)}
                for _ in range(self.pick([1, 1, 1, 2]))]

    def with_id(self, item, prefix="msg"):
        """In schema 2 items have ids, mostly one each."""
        if self.schema == 1 or self.rnd.random() < 0.1:
            return item
        item_id = "%s_%d" % (prefix, self.ids + 1)
        self.ids += 1
        if self.rnd.random() < 0.08:
            item_id = self.pick(["msg_same", "msg_other", "", None, 7, *self.item_ids[-4:]])
        if isinstance(item_id, str):
            self.item_ids.append(item_id)
        return {"type": item.pop("type"), "id": item_id, **item}

    def message(self, role=None):
        return self.with_id(self.plain_message(role))

    def plain_message(self, role=None):
        item = {"type": "message", "role": role or self.pick(["user", "assistant", "developer", "system"]),
                "content": self.content()}
        if self.rnd.random() < 0.3:
            item["phase"] = self.pick(["commentary", "final_answer", "summary", "else", None])
        return item

    def reasoning(self):
        return self.with_id(self.plain_reasoning(), "rs")

    def plain_reasoning(self):
        item = {"type": "reasoning", "summary": [{"type": "summary_text", "text": self.pick(TEXTS)}
                                                 for _ in range(self.pick([0, 1, 2]))]}
        if self.rnd.random() < 0.4:
            item["content"] = self.pick([None, [{"type": "reasoning_text", "text": self.pick(TEXTS)}]])
        item["encrypted_content"] = self.pick(["e1", "e2", "e3", self.fresh("enc")])
        if self.odd():
            del item["encrypted_content"]
        return item

    def call_item(self, call, name=None):
        return self.with_id(self.plain_call_item(call, name), "fc")

    def plain_call_item(self, call, name=None):
        kind = self.pick(["function_call"] * 4 + ["custom_tool_call", "tool_search_call", "local_shell_call"])
        name = name or self.pick(["shell", "exec_command", "wait", "other"])
        if kind == "custom_tool_call":
            return {"type": kind, "name": self.pick(["exec", "apply_patch"]), "input": self.pick(TEXTS), "call_id": call}
        if kind == "function_call":
            arguments = self.pick(['{"cmd": "ls",  "n": 1.10}', "not json", '{"a":1,"a":2,"e":1E5}', '[-0, "\\u0007\\u00e9\\/"]',
                                   '{"k": "' + "y" * 400 + '"}', "", {"an": "object"}, None])
            return {"type": kind, "name": name, "arguments": arguments, "call_id": call}
        return {"type": kind, "call_id": call, "action": {"b": [1, 2.50, 1e30], "a": None}}

    def output_item(self, call, custom=False):
        return self.with_id(self.plain_output_item(call, custom), "fco")

    def plain_output_item(self, call, custom=False):
        kind = "custom_tool_call_output" if custom else self.pick(
            ["function_call_output"] * 4 + ["tool_search_output", "mcp_tool_call_output"])
        item = {"type": kind, "call_id": call}
        output = self.pick([*TEXTS, None, {"k": 1}, [{"type": "input_text", "text": "p"}]])
        if self.odd() or self.schema == 2 and self.rnd.random() < 0.2:
            output = self.pick([[], [{"type": "input_image", "image_url": "data:y", "detail": {"b": 1, "a": [None, 1.50]}}], [{"odd": 1}, 3]])
        item["output"] = output
        if self.odd():
            del item["output"]
        return item

    def mail(self, author, recipient, content):
        return self.with_id(self.plain_mail(author, recipient, content), "amsg")

    def plain_mail(self, author, recipient, content):
        kind = self.rnd.random()
        if self.schema == 2 and kind < 0.3:
            return {"type": "agent_message", "author": author, "recipient": recipient,
                    "content": [{"type": "input_text", "text": "head"}, {"type": "encrypted_content", "encrypted_content": content}]}
        if kind < 0.4:
            return {"type": "agent_message", "author": author, "recipient": recipient,
                    "content": [{"type": "input_text", "text": content}]}
        if kind < 0.6:
            return {"type": "agent_message", "author": author, "recipient": recipient,
                    "content": [{"type": "encrypted_content", "encrypted_content": content}]}
        envelope = {"author": author, "recipient": recipient, "content": content, "trigger_turn": True,
                    "other_recipients": []}
        if kind < 0.7:
            envelope["content"], envelope["encrypted_content"] = "hidden", content
        if kind < 0.75:
            del envelope["other_recipients"]
        return {"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": json.dumps(envelope)}]}

    def new_items(self, thread):
        """What a client would add to the history before the next request."""
        state = self.threads[thread]
        items = [self.output_item(call, custom) for call, custom in state["open_calls"] if not self.odd(3)]
        state["open_calls"] = []
        if self.rnd.random() < 0.6:
            items.append(self.message("user"))
        later = state.pop("shown_later", [])
        for item in later:
            if item["type"] == "agent_message" and self.rnd.random() < 0.3:
                item = {**item, "content": [{"type": "input_text", "text": self.pick(TEXTS)}]}
            items.append(item)
        while state["mail"] and self.rnd.random() < 0.8:
            items.append(self.mail(*state["mail"].pop(0)))
        if self.rnd.random() < 0.1:
            items.append(self.with_id({"type": self.pick(["compaction", "compaction_summary", "context_compaction"]),
                                       "encrypted_content": self.pick(TEXTS)}, "cmp"))
        if self.schema == 2 and self.rnd.random() < 0.1:
            items.append({"type": "additional_tools", "tools": []})
        if self.odd(0.3):
            items.append(self.pick([{"type": "other"}, {"no": "type"}, {"type": "message", "role": "nobody", "content": []},
                                    {"type": "reasoning", "summary": []}, {"type": "compaction"}]))
        return items

    def disturb(self, history):
        history = list(history)
        if history and self.rnd.random() < 0.15:
            del history[self.rnd.randrange(len(history))]
        if history and self.rnd.random() < 0.1:
            history.insert(self.rnd.randrange(len(history)), self.pick(history))
        if len(history) > 1 and self.rnd.random() < 0.1:
            i = self.rnd.randrange(len(history) - 1)
            history[i], history[i + 1] = history[i + 1], history[i]
        if self.rnd.random() < 0.1:
            history = [self.reworded(item) for item in history]
        return history

    def reworded(self, item):
        """Another writing of the same item, or nearly."""
        if "call_id" in item and item["type"] not in ("function_call", "function_call_output"):
            return item
        item = dict(item)
        if item.get("type") == "reasoning" and self.rnd.random() < 0.5:
            item.pop("content", None)
        if self.rnd.random() < 0.3:
            item["id"] = self.fresh("id")
        elif self.schema == 2 and self.rnd.random() < 0.5:
            item.pop("id", None)
        return dict(reversed(list(item.items())))

    # ------------------------------------------------------------ events

    def start_thread(self, parent=None):
        thread = uuid(100 + len(self.threads))
        path = AGENT_PATHS[min(len(self.threads), 2)]
        metadata = {"thread_id": thread, "agent_path": path, "task_name": self.pick([None, "job"]), "nickname": self.pick([None, "Nick"]),
                    "agent_role": self.pick([None, "explorer"]), "session_source": "cli", "model": self.pick([None, "m"])}
        if parent:
            spawn = {"parent_thread_id": parent, "depth": 1}
            for key, value in (("agent_path", path), ("agent_role", "r"), ("task_name", "t"), ("agent_nickname", None)):
                if self.rnd.random() < 0.5:
                    spawn[key] = value
            metadata["session_source"] = {"subagent": {"thread_spawn": spawn}}
        if self.odd(0.2):
            metadata["model"] = 7
        payload = self.payload("session_metadata", metadata) if self.rnd.random() < 0.9 else None
        self.event("thread_started", thread_id=thread, agent_path=path, metadata_payload=payload)
        self.threads[thread] = {"path": path, "history": [], "open_calls": [], "mail": [], "turn": None, "last_response": None, "cells": 0}
        return thread

    def start_turn(self, thread):
        turn = self.fresh("turn")
        self.turns[turn] = thread
        self.threads[thread]["turn"] = turn
        self.event("codex_turn_started", thread, turn, codex_turn_id=turn, thread_id=thread)

    def end_turn(self, thread):
        turn = self.threads[thread]["turn"]
        status = self.pick(["completed", "completed", "cancelled", "aborted", "failed", "running"])
        self.event("codex_turn_ended", thread, turn, codex_turn_id=turn, status=status)
        if not self.odd():
            self.threads[thread]["turn"] = None

    def request(self, thread):
        state = self.threads[thread]
        turn, call = state["turn"], self.fresh("inference")
        new = self.new_items(thread)
        body = {"model": "m", "instructions": "be good", "input": None, "tools": [{"type": "function", "name": "x"}]}
        if state["last_response"] and self.rnd.random() < 0.3 and not state.get("pending"):
            body["previous_response_id"] = state["last_response"]
            body["input"] = new
            state["history"] = state["history"] + new
        else:
            state["history"] = self.disturb(state["history"] + new)
            body["input"] = state["history"]
        state["last_response"] = None
        if self.odd(0.2):
            body["previous_response_id"] = self.pick(["unknown", None])
        if self.odd(0.2):
            body["input"] = self.pick([None, "text"])
        payload = self.payload("inference_request", body)
        self.event("inference_started", thread, turn, inference_call_id=call, thread_id=thread, codex_turn_id=turn, model="m",
                   provider_name="Mock", request_payload=payload)
        self.inferences[call] = thread
        self.accept(thread, new)
        state["open_inference"] = call

    def response(self, thread):
        state = self.threads[thread]
        call = state.pop("open_inference")
        items = []
        for _ in range(self.pick([0, 1, 1, 2, 3])):
            r = self.rnd.random()
            if r < 0.3:
                items.append(self.message("assistant"))
            elif r < 0.5:
                items.append(self.reasoning())
            else:
                used = self.pick(state["early"]) if state.get("early") and self.rnd.random() < 0.7 else self.fresh("call")
                item = self.call_item(used)
                items.append(item)
                if used in state.get("early", []):
                    state["early"].remove(used)
                else:
                    self.calls.append((thread, used))
                state["open_calls"].append((used, item["type"] == "custom_tool_call"))
        if state.get("history") and self.schema == 2 and self.rnd.random() < 0.1:
            items.append(self.pick(state["history"]))
        usage = {"input_tokens": 5, "cache_write_input_tokens": self.pick([2, 0, -4, 1.5, None]), "cached_input_tokens": 0, "output_tokens": self.pick([3, -1, 2.5, 3]), "reasoning_output_tokens": 0,
                 "total_tokens": 8}
        body = {"response_id": None, "upstream_request_id": None, "token_usage": self.pick([usage, None]), "output_items": items}
        if self.odd(0.2):
            del body["output_items"]
        payload = self.payload("inference_response", body)
        turn = state["turn"]
        how = self.rnd.random()
        if how < 0.8:
            response = self.fresh("resp") if self.rnd.random() < 0.9 else self.pick(["resp_same", None])
            self.event("inference_completed", thread, turn, inference_call_id=call, response_id=response,
                       upstream_request_id=self.pick([None, "up"]), response_payload=payload)
            state["last_response"] = response
        else:
            kind, text = self.pick([("inference_failed", "error"), ("inference_cancelled", "reason")])
            partial = payload if self.rnd.random() < 0.6 else None
            self.event(kind, thread, turn, inference_call_id=call, upstream_request_id=None, **{text: "broken"},
                       partial_response_payload=partial)
            if partial is None:
                items = []
            state["last_response"] = None
        state["history"] = state["history"] + items
        self.accept(thread, items)
        if self.odd(2):
            state["open_inference"] = call

    def accept(self, thread, items):
        """Some of the items become history, now or later."""
        if self.schema == 1:
            return
        waiting = self.threads[thread].setdefault("unaccepted", [])
        waiting += [item for item in items if isinstance(item.get("id"), str)]
        while waiting and self.rnd.random() < 0.8:
            item = waiting.pop(self.rnd.randrange(len(waiting)))
            if self.rnd.random() < 0.9:
                self.accept_one(thread, item)

    def accept_one(self, thread, item):
        turn = self.threads[thread]["turn"] if self.rnd.random() < 0.9 else None
        more = {}
        if item["type"] == "agent_message" and self.rnd.random() < 0.9:
            shown = dict(item)
            if self.odd(2):
                shown["id"] = "amsg_else"
            more["agent_message_payload"] = self.payload("protocol_event", shown)
        self.event("history_item_accepted", thread if not self.odd(0.2) else None, turn, item_id=item["id"], **more)
        if self.rnd.random() < 0.05:
            self.event("history_item_accepted", thread, turn, item_id=item["id"])

    def accept_mail(self, thread):
        """A message of an agent becomes history before any request shows it."""
        state = self.threads[thread]
        if not state["mail"]:
            return
        item = self.mail(*state["mail"].pop(0))
        state.setdefault("shown_later", []).append(item)
        if item["type"] == "agent_message" and isinstance(item.get("id"), str):
            self.accept_one(thread, item)

    def start_tool(self, thread):
        state = self.threads[thread]
        known = [call for owner, call in self.calls if owner == thread]
        if known and self.rnd.random() < 0.7:
            call = known[-1]
            if not self.odd():
                self.calls.remove((thread, call))
        else:
            call = self.fresh("call")
            state.setdefault("early", []).append(call)
        name = self.pick(["exec_command", "exec_command", "write_stdin", "apply_patch", "wait", "spawn_agent", "send_message",
                          "followup_task", "close_agent", "wait_agent", "other"])
        kinds = {"exec_command": EXEC, "followup_task": {"type": "assign_agent_task"}, "wait": {"type": "other", "name": "wait"},
                 "other": {"type": self.pick(["other"]), "name": "other"}}
        kind = kinds.get(name, {"type": name})
        arguments = {"cmd": "ls"}
        if name == "write_stdin":
            arguments = {"session_id": self.pick([8, 9.5, *self.terminals] if self.odd() else ["s%d" % self.ids, self.ids]), "chars": self.pick(["x", ""]),
                         "yield_time_ms": self.pick([5, None])}
            if self.odd():
                arguments = self.pick([{"session_id": ""}, {}, {"session_id": 1, "chars": 2}, {"session_id": 1, "yield_time_ms": -1}])
        if name == "wait":
            arguments = {"cell_id": str(self.rnd.randrange(1, 4))}
        message = self.pick(["do this", "and that", self.fresh("task"), self.fresh("task")])
        if name in ("spawn_agent", "send_message", "followup_task"):
            arguments = {"message": message, "task_name": "worker"}
        invocation = {"tool_name": name, "tool_namespace": self.pick([None, "ns"]),
                      "payload": {"type": "function", "arguments": json.dumps(arguments)}}
        if self.odd(0.3):
            invocation["payload"] = self.pick([{"type": "custom", "input": "x"}, {"type": "function", "arguments": "{"}])
        tool = call if self.rnd.random() < 0.8 else self.fresh("exec")
        requester = {"type": "model"}
        visible = call
        cells = [runtime for owner, runtime in self.cells if owner == thread]
        if cells and self.rnd.random() < 0.3:
            requester = {"type": "code_cell", "runtime_cell_id": self.pick(cells)}
            visible = None
        if self.odd(0.2):
            requester = {"type": "code_cell", "runtime_cell_id": "99"}
        payload = self.payload("tool_invocation", invocation) if self.rnd.random() < 0.95 else None
        turn = state["turn"] if not self.odd(0.2) else None
        self.event("tool_call_started", thread, turn, tool_call_id=tool, model_visible_call_id=visible,
                   code_mode_runtime_tool_id=None if visible else "tool-1", requester=requester, kind=kind,
                   summary={"type": "generic", "label": name, "input_preview": "i", "output_preview": None},
                   invocation_payload=payload)
        self.commands += [tool] if name == "exec_command" else []
        self.tools[tool] = {"kind": kind, "thread": thread, "turn": turn, "name": name, "step": 0, "message": message,
                            "invoked": payload is not None, "mcp": False,
                            "process": "p1" if self.schema == 2 and self.rnd.random() < 0.3 else None if name == "write_stdin" else self.pick([None, "p%d" % self.ids])}

    def advance_tool(self, tool):
        state = self.tools[tool]
        thread, turn, name = state["thread"], state["turn"], state["name"]
        state["step"] += 1
        begins = name != "write_stdin" or not state["invoked"] or self.odd()
        if state["step"] == 1 and begins and self.rnd.random() < 0.7:
            self.runtime(tool, state, ended=False)
        elif state["step"] <= 2 and self.rnd.random() < 0.7:
            self.runtime(tool, state, ended=True)
        elif state["step"] >= 2 and self.rnd.random() < 0.8:
            result = self.pick([
                {"type": "direct_response", "response_item": {"type": "function_call_output", "call_id": "c", "output": self.pick(
                    ["text", [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], [], None, {"o": 1}])}},
                {"type": "code_mode_response", "value": self.pick(
                    [{"output": "o", "exit_code": 0, "chunk_id": "c", "original_token_count": 3, "wall_time_seconds": 0.5},
                     {"output": "o", "exit_code": "bad"}, "text", None, [{"text": "t"}], {"other": 1}])},
                {"type": "error", "error": "went wrong"}])
            payload = self.payload("tool_result", result) if self.rnd.random() < 0.9 else None
            self.event("tool_call_ended", thread, turn, tool_call_id=tool, status=self.pick(["completed", "failed"]),
                       result_payload=payload)
            if not self.odd(2):
                del self.tools[tool]
        elif self.rnd.random() < 0.3:
            if state["mcp"] and not self.odd():
                return
            state["mcp"] = True
            self.event("mcp_tool_call_correlation_assigned", tool_call_id=tool, mcp_call_id=self.fresh("mcp"))

    def runtime(self, tool, state, ended):
        name, other = state["name"], self.other_thread(state["thread"])
        base = {"call_id": "c", "turn_id": "t", "started_at_ms": 1, "sender_thread_id": state["thread"]}
        if name in ("exec_command", "write_stdin"):
            value = {**base, "command": ["bash", "-lc", "ls"], "cwd": "/tmp", "parsed_cmd": [], "source": "agent"}
            if state["process"]:
                value["process_id"] = state["process"]
                self.terminals.append(state["process"])
            if ended:
                old = {} if self.schema == 2 and self.rnd.random() < 0.9 else {"stdout": "old", "stderr": "old", "formatted_output": "old"}
                value.update(old or {"nothing": 1}, aggregated_output="out") if self.schema == 2 else value.update(stdout="out", stderr="", aggregated_output="out", formatted_output="out")
                value.update( exit_code=self.pick([0, 1, -1]),
                             duration={"secs": 1, "nanos": 5}, status="completed")
                if self.odd():
                    value.pop(self.pick(["stdout", "exit_code", "aggregated_output"]), None)
        elif name in ("spawn_agent", "send_message", "followup_task", "close_agent"):
            value = self.agent_runtime(name, base, state, other, ended)
        else:
            value = {**base, "anything": True}
        payload = self.payload("tool_runtime_event", value)
        kind = "tool_call_runtime_ended" if ended else "tool_call_runtime_started"
        extra = {"status": self.pick(["completed", "failed", "cancelled"])} if ended else {}
        if self.schema == 2 and not ended:
            extra["kind"] = self.runtime_kind(state)
        self.event(kind, state["thread"], state["turn"], tool_call_id=tool, **extra, runtime_payload=payload)

    def runtime_kind(self, state):
        """The kind that a call turns out to have."""
        if self.rnd.random() < 0.1 or self.odd():
            return self.pick([{"type": "apply_patch"}, {"type": "mcp", "server": "s", "tool": "t"}, EXEC, {"type": "other", "name": "x"}])
        return state["kind"]

    def agent_runtime(self, name, base, state, other, ended):
        path = self.threads[other]["path"] if other in self.threads else "/root/worker"
        author = self.threads[state["thread"]]["path"]
        if name != "close_agent" and ended and other in self.threads:
            self.threads[other]["mail"].append((author, path, state["message"]))
        if ended and self.rnd.random() < 0.6:
            kind = {"spawn_agent": "started", "close_agent": "interrupted"}.get(name, "interacted")
            if self.odd():
                kind = self.pick(["started", "interacted", "interrupted", "unknown"])
            return {"event_id": "e", "occurred_at_ms": 1, "agent_thread_id": other.upper() if self.rnd.random() < 0.2 else other,
                    "agent_path": path, "kind": kind}
        value = {**base, "prompt": state["message"], "model": "m", "reasoning_effort": "medium"}
        if name != "spawn_agent":
            value["receiver_thread_id"] = other
        if ended:
            value["status"] = self.pick(["running", "pending_init", {"completed": None}, {"completed": "x"}, {"errored": "y"}])
            if name == "spawn_agent":
                value["new_thread_id"] = self.pick([other, other, None])
        return value

    def other_thread(self, thread):
        others = [other for other in self.threads if other != thread]
        return self.pick(others) if others and not self.odd() else uuid(100 + len(self.threads))

    def start_cell(self, thread):
        state = self.threads[thread]
        known = [call for owner, call in self.calls if owner == thread]
        call = known[-1] if known and self.rnd.random() < 0.5 else self.fresh("call")
        if call in known:
            self.calls.remove((thread, call))
        else:
            # The call item comes with the next response, if the dice say so.
            state.setdefault("early", []).append(call)
        state["cells"] += 1
        runtime = str(state["cells"])
        self.event("code_cell_started", thread, state["turn"], runtime_cell_id=runtime, model_visible_call_id=call, source_js="1+1")
        self.cells[(thread, runtime)] = {"turn": state["turn"]}

    def advance_cell(self, thread, runtime):
        turn = self.threads[thread]["turn"]
        kind = self.pick(["code_cell_initial_response", "code_cell_ended"])
        payload = self.payload("tool_result", {"response": {}}) if self.rnd.random() < 0.8 else None
        self.event(kind, thread, turn, runtime_cell_id=runtime,
                   status=self.pick(["starting", "running", "yielded", "completed", "failed", "terminated"]), response_payload=payload)

    def compact(self, thread):
        state = self.threads[thread]
        turn, compaction = state["turn"], self.fresh("compaction")
        for _ in range(self.pick([0, 1, 2])):
            request = self.fresh("compaction_request:")
            payload = self.payload("compaction_request", {"input": []})
            self.event("compaction_request_started", thread, turn, compaction_id=compaction, compaction_request_id=request,
                       thread_id=thread, codex_turn_id=turn, model="m", provider_name="Mock", request_payload=payload)
            if self.rnd.random() < 0.5:
                self.event("compaction_request_failed", thread, turn, compaction_id=compaction, compaction_request_id=request, error="no")
            elif self.rnd.random() < 0.9:
                payload = self.payload("compaction_response", {"output_items": []})
                self.event("compaction_request_completed", thread, turn, compaction_id=compaction, compaction_request_id=request,
                           response_payload=payload)
        kept = [item for item in state["history"] if item.get("role") == "user"][-2:]
        replacement = kept + [{"type": "compaction", "encrypted_content": self.pick(TEXTS)}]
        payload = self.payload("compaction_checkpoint", {"input_history": self.disturb(state["history"]), "replacement_history": replacement})
        self.event("compaction_installed", thread, turn, compaction_id=compaction, checkpoint_payload=payload)
        state["history"] = self.disturb(replacement)
        state["last_response"] = None

    def agent_result(self, child):
        state = self.threads[child]
        parent = uuid(100)
        turn = state["turn"] or self.pick(self.turns)
        if (child, turn) in self.results and not self.odd():
            return
        self.results.add((child, turn))
        message = self.pick(["done", "failed"])
        payload = self.payload("agent_result", {"message": message}) if self.rnd.random() < 0.8 else None
        self.threads[parent]["mail"].append((state["path"], "/root", message))
        self.event("agent_result_observed", child, turn, edge_id="edge:agent_result:%s:%s:%s" % (child, turn, parent),
                   child_thread_id=child, child_codex_turn_id=turn, parent_thread_id=parent, message=message, carried_payload=payload)

    def step(self):
        thread = self.pick(self.threads)
        state = self.threads[thread]
        if self.odd(0.5) and self.lines:
            self.oddity_line()
            return
        if state["turn"] is None:
            self.start_turn(thread)
            return
        choices = ["request"] * 5
        if state.get("open_inference"):
            choices = ["response"] * 5
            if self.odd(3):
                choices.append("request")
        choices += ["tool", "tool", "end_turn"]
        choices += ["advance_tool"] * min(4, 2 * len(self.tools))
        choices += ["cell"] + ["advance_cell"] * min(2, len(self.cells))
        choices += ["compact"] if self.rnd.random() < 0.3 else []
        choices += ["spawn"] if len(self.threads) < 3 and self.rnd.random() < 0.4 else []
        choices += ["result"] if len(self.threads) > 1 else []
        if self.schema == 2:
            choices += ["accept_mail"] * 2 + ["stdin_target"]
            choices += ["end_thread"] if thread != uuid(100) and thread not in self.ended and self.rnd.random() < 0.1 else []
            choices += ["resume"] * 3 if self.ended else []
        choices += ["protocol"] if self.rnd.random() < 0.2 else []
        match self.pick(choices):
            case "request":
                self.request(thread)
            case "response":
                self.response(thread)
            case "tool":
                self.start_tool(thread)
            case "end_turn":
                self.end_turn(thread)
            case "advance_tool":
                self.advance_tool(self.pick(self.tools))
            case "stdin_target":
                writers = [tool for tool in self.tools] or ["none"]
                commands = [*self.commands, "none"] if self.odd(2) else self.commands or ["none"]
                if commands != ["none"] and writers != ["none"] or self.odd():
                    self.event("stdin_target_resolved", thread, state["turn"], tool_call_id=self.pick(writers),
                               exec_tool_call_id=self.pick(commands))
            case "accept_mail":
                self.accept_mail(thread)
            case "end_thread":
                self.event("thread_ended", thread_id=thread, status=self.pick(["completed", "failed"]))
                self.ended.append(thread)
            case "resume":
                again = self.pick(self.ended)
                self.ended.remove(again)
                self.event("thread_resumed", thread_id=again)
            case "cell":
                self.start_cell(thread)
            case "advance_cell":
                self.advance_cell(*self.pick(self.cells))
            case "compact":
                self.compact(thread)
            case "spawn":
                self.start_thread(parent=thread)
            case "result":
                self.agent_result(self.pick([other for other in self.threads if other != uuid(100)]))
            case "protocol":
                self.event("protocol_event_observed", event_type="warning",
                           event_payload=self.payload("protocol_event", {"type": "warning", "message": "m"}))

    def oddity_line(self):
        """A line as no recorder writes it."""
        line = self.pick(self.lines[1:] or self.lines)
        how = self.rnd.random()
        if how < 0.5:
            self.lines.append(line)
        elif how < 0.6:
            self.lines.append("")
        elif how < 0.8 and len(self.lines) > 3:
            i = self.rnd.randrange(2, len(self.lines) - 1)
            self.lines[i], self.lines[i + 1] = self.lines[i + 1], self.lines[i]
        elif how < 0.9:
            del self.lines[self.rnd.randrange(len(self.lines))]
        else:
            self.lines.append(line[: len(line) // 2])


def make(path, seed, events=60, oddity=0.02, schema=1):
    """Writes one bundle to a new folder."""
    session = Session(path, seed, oddity, schema)
    session.event("rollout_started", trace_id=uuid(1), root_thread_id=uuid(100))
    session.start_thread()
    while session.seq < events:
        session.step()
    if session.rnd.random() < 0.7:
        session.event("thread_ended", thread_id=uuid(100), status="completed")
        session.event("rollout_ended", status=session.pick(["completed", "failed", "aborted"]))
        if schema == 2 and session.rnd.random() < 0.8:
            session.event("recording_completed")
            if session.odd(3):
                session.event("recording_completed")
    session.close()
