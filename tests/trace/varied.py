"""Sessions put together at random for the recorder: turns, tools, approvals, faults, compaction, agents and code cells."""

import random

import recorder
from recorder import Broken, call, custom, run, say, think

NAMESPACE = {1: None, 2: recorder.V2, 3: recorder.V2}
# Scripts of the model: calls beside each other and one after the other, failures, output before the end, and ends of all sorts.
SCRIPTS = [
    "const r = await tools.exec_command({cmd: 'echo nested'}); text(r.output);",
    "text((await Promise.all(['a', 'b', 'c'].map((w) => tools.exec_command({cmd: 'echo ' + w})))).map((r) => r.output).join(''))",
    "for (const step of ['one', 'two']) await tools.update_plan({plan: [{step, status: 'pending'}]}); text('planned')",
    "await tools.apply_patch('nonsense').catch((e) => text(typeof e)); await tools.exec_command({cmd: 'exit 3'}).then((r) => text(r.exit_code))",
    "text(await tools.apply_patch(`*** Begin Patch\\n*** Add File: by-script\\n+made\\n*** End Patch`))",
    "const r = await tools.view_image({path: 'pixel.png'}); image(r.image_url); text('seen')",
    "await tools.update_plan({plan: 7}).catch((e) => text('refused')); await tools.no_such_tool?.({})",
    "notify('soon'); await tools.exec_command({cmd: 'sleep 0.1; echo x'}); text('told')",
    "store('k', {n: (load('k')?.n ?? 0) + 1}); text(load('k'))",
    "tools.exec_command({cmd: 'sleep 20'}); text('left')",
    "// @exec: {\"max_output_tokens\": 20}\ntext('x'.repeat(4000)); text('y'.repeat(4000))",
    "setTimeout(() => { throw new Error('late') }, 30); await new Promise(() => {})",
    "text('before'); throw new Error('after')", "throw 'plain'", "text(1 + 1)", "throw new Error('no')", "", "((", "exit()",
    "// @exec: {\"other\": 1}\ntext(1)", "import fs from 'fs'", "await import('fs')", "text(ALL_TOOLS.length > 3)",
]
# Scripts that the model has to wait for.
LONG_SCRIPTS = [
    "text('a'); yield_control(); await tools.exec_command({cmd: 'sleep 0.3'}); text('b')",
    "// @exec: {\"yield_time_ms\": 50}\nawait tools.exec_command({cmd: 'sleep 0.5'}); text('late')",
    "// @exec: {\"yield_time_ms\": 50}\ntext('never'); await new Promise(() => {})",
    "yield_control(); await new Promise((next) => setTimeout(next, 300)); throw new Error('in the end')",
]

WORDS = ["alpha", "beta \u2603", "<b>&amp;", "a\\b\"c", "line\nline", "", " ", "caf\u00e9 " * 30]


class Session:
    """One session, from a seed. What the model answers follows what the client does."""

    def __init__(self, seed, schema, kind=None):
        self.chance = random.Random(seed)
        self.schema, self.namespace = schema, NAMESPACE[schema]
        self.calls, self.turns = 0, 0
        self.script, self.child, self.steps = [], [], []
        self.kind = kind or self.chance.choice(["plain", "plain", "shell", "approvals", "agents", "agents", "cells", "remote", "mcp"])
        for _ in range(self.chance.randint(2, 5)):
            self.step()

    def id(self):
        self.calls += 1
        return "c%d" % self.calls

    def word(self):
        return self.chance.choice(WORDS)

    def command(self):
        return self.chance.choice(["echo one", "exit 3", "seq 1 300", "printf '\\303'", "echo out; echo err >&2", "cat pixel.png | wc -c",
                                   "sleep 0.2; echo late", "true", "no-such-program", "touch made-%d" % self.calls])

    def tool(self):
        """A call of a tool that this kind of session has, or of none."""
        own = {
            "agents": [lambda: call(self.id(), "list_agents", {}, self.namespace),
                       lambda: call(self.id(), "wait_agent", {"timeout_ms": 3000}, self.namespace),
                       lambda: call(self.id(), "send_message", {"target": "worker", "message": self.word() or "news"}, self.namespace),
                       lambda: call(self.id(), "followup_task", {"target": "worker", "message": "more"}, self.namespace)],
            "cells": [lambda: custom(self.id(), "exec", self.chance.choice(SCRIPTS)),
                      lambda: custom(self.id(), "exec", self.chance.choice(LONG_SCRIPTS)),
                      lambda: call(self.id(), "wait", {"cell_id": str(self.chance.randint(1, 4)), "yield_time_ms": 2000,
                                                       "terminate": self.chance.random() < 0.4})],
            "shell": [lambda: call(self.id(), "shell_command", {"command": self.command()}),
                      lambda: call(self.id(), "shell", {"command": ["bash", "-c", self.command()]})],
            "mcp": [lambda: call(self.id(), "echo", {"text": self.word()}, "mcp__test")],
        }
        general = [
            lambda: run(self.id(), self.command()), lambda: run(self.id(), self.command(), tty=True),
            lambda: run(self.id(), "echo up; sleep 1", yield_time_ms=250),
            lambda: custom(self.id(), "apply_patch", recorder.PATCH.replace("new", "new%d" % self.calls)),
            lambda: custom(self.id(), "apply_patch", "nonsense"),
            lambda: call(self.id(), "update_plan", {"plan": [{"step": self.word() or "a", "status": "pending"}]}),
            lambda: call(self.id(), "no_such_tool", {"a": self.word()}), lambda: call(self.id(), "exec_command", "{not json"),
        ]
        return self.chance.choice(own.get(self.kind, general) if self.chance.random() < 0.6 else general)()

    def answer(self):
        """The answers of one turn: some with tools, the last without."""
        for _ in range(self.chance.choice([0, 1, 1, 2, 3])):
            items = [think(self.word() or "hm", "s%d" % self.calls)] if self.chance.random() < 0.3 else []
            items += [say(self.word() or "working", "commentary")] if self.chance.random() < 0.3 else []
            items += [self.tool() for _ in range(self.chance.choice([1, 1, 2, 3]))]
            if self.chance.random() < 0.1:
                items.append(dict(items[0]))
            fault = self.chance.random()
            self.script.append(Broken(items=items) if fault < 0.08 else Broken(failed=True) if fault < 0.12 else items)
        self.script.append([say(self.word() or "done", "final_answer")] if self.chance.random() < 0.9 else Broken(status=400))

    def step(self):
        self.turns += 1
        text = "turn %d %s" % (self.turns, self.word())
        doing = self.chance.choice(["turn"] * 6 + ["compact", "interrupt", "steer", "inject", "restart", "fork", "kill", "shell", "spawn"])
        if doing == "spawn" or (self.kind == "agents" and self.turns == 1):
            name = self.chance.choice(["worker", "worker", "second"])
            self.script.append([call(self.id(), "spawn_agent", {"message": "job", "task_name": name}, self.namespace)])
            self.child += [[run(self.id(), self.command())], [say(self.word() or "child done")], [say("child done again")]]
            if self.chance.random() < 0.7:
                self.script.append([call(self.id(), "wait_agent", {"timeout_ms": 5000}, self.namespace)])
            self.answer()
            self.steps.append(lambda r: r.turn(text))
        elif doing == "turn":
            self.answer()
            self.steps.append(lambda r: r.turn(text))
        elif doing == "compact":
            if self.kind != "remote":
                self.script.append([say("a summary of it")] if self.chance.random() < 0.8 else Broken(status=400))
            self.steps.append(lambda r: r.compact())
        elif doing == "interrupt":
            self.script.append(Broken(items=[think("start")], hang=True))
            self.steps.append(lambda r: r.interrupt(text, recorder.method("item/agentMessage/delta")))
        elif doing == "steer":
            self.script += [Broken(items=[say("soon")], hang=False), [say("then")]]
            self.steps.append(lambda r: r.turn(text))
        elif doing == "inject":
            self.steps.append(lambda r: r.inject("a note"))
        elif doing in ("restart", "kill", "fork"):
            self.script.append([say("before")])
            self.again(doing)
        elif doing == "shell":
            self.steps.append(lambda r: r.shell("echo mine"))

    def again(self, doing):
        """A turn, and then the thread in another process or another thread."""
        if doing == "restart":
            self.steps.append(lambda r: (r.turn("before"), r.restart()))
        elif doing == "kill":
            self.steps.append(lambda r: (r.turn("before"), r.restart(kill=True)))
        elif doing == "fork":
            self.steps.append(lambda r: (r.turn("before"), r.fork()))

    def described(self):
        features = {"agents": "multi_agent_v2 = true\n", "cells": "code_mode = true\n", "shell": "unified_exec = false\n",
                    "remote": recorder.REMOTE["features"]}
        described = {"script": self.script, "child": self.child, "features": features.get(self.kind, ""), "mcp": self.kind == "mcp",
                     "steps": lambda r: [step(r) for step in self.steps]}
        if self.kind == "remote":
            described["provider"] = recorder.REMOTE["provider"]
        if self.kind == "approvals":
            decisions = [self.chance.choice(["accept", "accept", "decline", "acceptForSession", "cancel"]) for _ in range(40)]
            # Release 0.169 has no other policy that asks.
            policy = "untrusted" if self.schema == 1 else "on-request"
            described.update(policy=policy, sandbox="workspace-write", decisions=decisions)
        return described


def session(seed, schema, kind=None):
    return Session(seed, schema, kind).described()
