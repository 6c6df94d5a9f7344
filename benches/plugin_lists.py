#!/usr/bin/env python3
"""Measures `plugin/list` with many plugins, and `thread/start` with and without installed plugins.

    plugin_lists.py [--count 200] [--installed 20] NAME=BINARY [NAME=BINARY ...]

Creates a home folder with a marketplace of this many plugins, each with a manifest, a skill and an MCP server that is disabled, and installs
some of them. Prints for each binary the wall time of the first list, the median of the next ones, and the medians of
`thread/start` without and with installed plugins, in milliseconds. The target for 200 plugins is 20 ms warm.
Needs Python 3.9 or later, standard library only. Use release builds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 20


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def make_marketplace(root, count):
    entries = []
    for number in range(count):
        name = f"plugin-{number:03}"
        entries.append({"name": name, "source": {"source": "local", "path": f"./plugins/{name}"}, "category": "Tools"})
        folder = f"{root}/plugins/{name}"
        interface = {"displayName": name, "shortDescription": "Short. " * 10, "longDescription": "Long. " * 200,
                     "capabilities": ["Read", "Write"], "logo": "./assets/logo.png", "defaultPrompt": "Do it"}
        manifest = {"name": name, "version": "1.0.0", "description": "What it is for. " * 5, "interface": interface}
        write(f"{folder}/.codex-plugin/plugin.json", json.dumps(manifest, indent=1))
        write(f"{folder}/skills/work/SKILL.md", f"---\nname: work\ndescription: work of {name}\n---\nWork.\n")
        servers = {f"server-{number}": {"command": "true", "enabled": False}}
        write(f"{folder}/.mcp.json", json.dumps({"mcpServers": servers}))
    write(f"{root}/.agents/plugins/marketplace.json", json.dumps({"name": "bench", "plugins": entries}))


class Server:
    def __init__(self, binary, home):
        environment = dict(os.environ, CODEX_HOME=home, HOME=f"{home}/person", OPENAI_API_KEY="none")
        self.process = subprocess.Popen([binary, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=environment, cwd=home)
        self.number = 0
        self.call("initialize", {"clientInfo": {"name": "bench", "version": "1"}})
        self.send({"method": "initialized"})

    def send(self, message):
        self.process.stdin.write((json.dumps(message) + "\n").encode())
        self.process.stdin.flush()

    def call(self, method, params):
        self.number += 1
        begun = time.perf_counter()
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                sys.exit(f"the server has ended in {method}")
            reply = json.loads(line)
            if reply.get("id") == self.number and "method" not in reply:
                self.milliseconds = (time.perf_counter() - begun) * 1000
                if "error" in reply:
                    sys.exit(f"{method}: {reply['error']['message']}")
                return reply["result"]

    def median(self, method, params):
        times = []
        for _ in range(ROUNDS):
            self.call(method, params)
            times.append(self.milliseconds)
        return statistics.median(times)

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


def measure(binary, count, installed):
    with tempfile.TemporaryDirectory() as home:
        home = os.path.realpath(home)
        os.makedirs(f"{home}/person")
        write(f"{home}/config.toml", "")
        root = f"{home}/market"
        make_marketplace(root, count)
        listing = {"cwds": [root]}
        server = Server(binary, home)
        server.median("thread/start", {"cwd": home})
        without = server.median("thread/start", {"cwd": home})
        found = server.call("plugin/list", listing)
        first = server.milliseconds
        plugins = [plugin for marketplace in found["marketplaces"] for plugin in marketplace["plugins"]]
        if len(plugins) != count:
            sys.exit(f"{len(plugins)} plugins instead of {count} were listed")
        for plugin in plugins[:installed]:
            path = f"{root}/.agents/plugins/marketplace.json"
            server.call("plugin/install", {"marketplacePath": path, "pluginName": plugin["name"]})
        warm = server.median("plugin/list", listing)
        with_plugins = server.median("thread/start", {"cwd": home})
        server.end()
        return first, warm, without, with_plugins


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--installed", type=int, default=20)
    parser.add_argument("binaries", nargs="+", metavar="NAME=BINARY")
    arguments = parser.parse_args()
    print(f"{'':12}{'list, first':>14}{'list, warm':>14}{'thread/start':>14}{'with plugins':>14}")
    for entry in arguments.binaries:
        name, binary = entry.split("=", 1)
        figures = measure(os.path.abspath(binary), arguments.count, arguments.installed)
        print(f"{name:12}" + "".join(f"{figure:14.2f}" for figure in figures))


if __name__ == "__main__":
    main()
