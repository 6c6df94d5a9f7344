"""Has the MCP client of the app-server do what a scenario of the conformance kit expects of a client.

The kit calls it with the address of its server: `conformance_client.py CODEX ADDRESS`. The app-server logs in to the server if the
scenario is about that, lists its tools and calls each of them.
"""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

PATIENCE = 40


class AppServer:
    def __init__(self, codex, home):
        env = dict(os.environ, HOME=home, CODEX_HOME=home)
        self.process = subprocess.Popen([codex, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True)
        self.arrived = queue.Queue()
        self.notifications = []
        self.last_id = 0
        threading.Thread(target=self.read, daemon=True).start()
        self.call("initialize", {"clientInfo": {"name": "kit", "version": "1"}, "capabilities": {"experimentalApi": True}})
        self.send({"method": "initialized"})

    def read(self):
        for line in self.process.stdout:
            self.arrived.put(json.loads(line))

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def take(self):
        """The next message, after a question in it was answered with the defaults of its form."""
        message = self.arrived.get(timeout=PATIENCE)
        if "method" in message and "id" in message:
            schema = message["params"].get("requestedSchema") or {}
            content = {name: it["default"] for name, it in schema.get("properties", {}).items() if "default" in it}
            self.send({"id": message["id"], "result": {"action": "accept", "content": content}})
        elif "method" in message:
            self.notifications.append(message)
        return message

    def call(self, method, params):
        self.last_id += 1
        number = self.last_id
        self.send({"id": number, "method": method, "params": params})
        while True:
            message = self.take()
            if message.get("id") == number and "method" not in message:
                return message

    def wait_for(self, method):
        while True:
            for message in self.notifications:
                if message["method"] == method:
                    self.notifications.remove(message)
                    return message["params"]
            self.take()

    def log_in(self):
        reply = self.call("mcpServer/oauth/login", {"name": "kit"})
        if "error" in reply:
            print("no login:", reply["error"], file=sys.stderr)
            return
        try:
            urllib.request.urlopen(reply["result"]["authorizationUrl"]).read()
        except urllib.error.HTTPError as error:
            print("the browser:", error, file=sys.stderr)
        print("login:", self.wait_for("mcpServer/oauthLogin/completed"), file=sys.stderr)

    def end(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)


def configuration(url, context):
    text = f'model = "none"\n[mcp_servers.kit]\nurl = "{url}"\ntool_timeout_sec = 20\n'
    known = {name: context[name] for name in ("client_id", "client_secret") if name in context}
    if known:
        text += "[mcp_servers.kit.oauth]\n"
        text += "".join(f'{name} = "{value}"\n' for name, value in known.items())
    return text


def arguments(name, tools, context):
    for call in context.get("toolCalls", []):
        if call.get("name") == name:
            return call.get("arguments", {})
    examples = {"number": 2, "integer": 2, "string": "x", "boolean": True, "array": []}
    properties = tools[name].get("inputSchema", {}).get("properties", {})
    made = {}
    for member, schema in properties.items():
        kind = schema.get("type") if isinstance(schema, dict) else None
        # A tool that takes a schema is given that of another one.
        others = [tool["inputSchema"] for other, tool in tools.items() if other != name]
        made[member] = (others or [{}])[0] if kind == "object" else examples.get(kind)
    return made


def main():
    codex, url = sys.argv[1], sys.argv[-1]
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    with tempfile.TemporaryDirectory() as home:
        with open(os.path.join(home, "config.toml"), "w") as file:
            file.write(configuration(url, context))
        server = AppServer(codex, home)
        if scenario.startswith("auth/"):
            server.log_in()
        for _ in range(3):
            thread = server.call("thread/start", {"cwd": home})["result"]["thread"]["id"]
            while (status := server.wait_for("mcpServer/startupStatus/updated"))["status"] == "starting":
                pass
            needs_login = "not logged in" in (status.get("error") or "")
            tools = server.call("mcpServerStatus/list", {})["result"]["data"][0]["tools"]
            for name in tools:
                params = {"threadId": thread, "server": "kit", "tool": name, "arguments": arguments(name, tools, context)}
                error = server.call("mcpServer/tool/call", params).get("error", {}).get("message", "")
                needs_login |= "lacks scopes" in error or "Auth required" in error
            if not needs_login or not scenario.startswith("auth/"):
                break
            server.log_in()
        server.end()


main()
