#!/usr/bin/env python3
"""Records sessions with our own codex and packs their bundles for the tests of the reducer.

    pack.py --codex BIN [NAME ...]        by default: mixed, shell, short

Writes crates/rollout-trace/tests/bundles/engine_NAME.jsonl, a line `["PATH","TEXT"]` for each file. Ids and times are
numbered and paths are made neutral, so that recording again changes only what the engine changed. Instructions and
tools, which the reducer does not read, are left out. Afterwards hold the reducer against the reference with
trace_equality.py, and look at what changed in the snapshots.
"""

import argparse
import json
import os
import re
import shutil
import tempfile

import recorder

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
FIRST_MS = 1_700_000_000_000
BUNDLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../crates/rollout-trace/tests/bundles")


class Neutral:
    """Gives everything that differs from run to run a value that does not."""

    def __init__(self, started_ms):
        self.ids, self.started_ms = {}, started_ms

    def text(self, text):
        text = UUID.sub(lambda found: self.ids.setdefault(found[0], "00000000-0000-7000-8000-%012d" % (len(self.ids) + 1)), text)
        text = re.sub(r"/tmp/trace-record-\w+/home", "/home/user/.codex", text)
        text = re.sub(r"/tmp/trace-record-\w+/work", "/home/user/project", text)
        text = re.sub(r"/tmp/trace-record-\w+", "/home/user", text)
        text = re.sub(r"\d{4}(/\d\d){2}/rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d", "2023/11/14/rollout-2023-11-14T22-13-20", text)
        text = re.sub(r"<current_date>[^<]*", "<current_date>2023-11-14", text)
        text = re.sub(r"<timezone>[^<]*", "<timezone>Etc/UTC", text)
        text = re.sub(r"Chunk ID: \w+", "Chunk ID: 0a1b2c", text)
        text = re.sub(r"Wall time: [\d.]+", "Wall time: 0.1", text)
        return re.sub(r"http://127\.0\.0\.1:\d+", "http://127.0.0.1:8080", text)

    def json(self, value, key=None):
        if isinstance(value, dict):
            short = {"instructions": "...", "tools": []} if "input" in value and "model" in value else {}
            # Checksums would be those of what is made neutral here.
            return {self.text(k): short[k] if k in short else self.json(v, k) for k, v in value.items() if k != "xxh3"}
        if isinstance(value, list):
            return [self.json(v) for v in value]
        if isinstance(value, str):
            return self.text(value)
        if key and key.endswith(("_unix_ms", "_at_ms")) and isinstance(value, int):
            return FIRST_MS + value - self.started_ms
        if key in ("secs", "nanos"):
            return 0
        return value


def pack(bundle, destination):
    def read(path):
        with open(os.path.join(bundle, path), encoding="utf-8") as f:
            return f.read()

    manifest = json.loads(read("manifest.json"))
    neutral = Neutral(manifest["started_at_unix_ms"])
    files = [("manifest.json", json.dumps(neutral.json(manifest), indent=2))]
    lines = [json.dumps(neutral.json(json.loads(line)), separators=(",", ":"), ensure_ascii=False) for line in read("trace.jsonl").splitlines()]
    files.append(("trace.jsonl", "\n".join(lines) + "\n"))
    for name in sorted(os.listdir(os.path.join(bundle, "payloads")), key=lambda name: int(name[:-5])):
        value = neutral.json(json.loads(read("payloads/" + name)))
        files.append(("payloads/" + name, json.dumps(value, indent=2, ensure_ascii=False)))
    with open(destination, "w", encoding="utf-8") as f:
        for file in files:
            f.write(json.dumps(file, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--codex", required=True)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    sessions = dict(recorder.sessions())
    for name in options.names or ["mixed", "shell", "short"]:
        folder = tempfile.mkdtemp(prefix="trace-pack-")
        trouble = recorder.record(os.path.abspath(options.codex), sessions[name], folder)
        if trouble:
            raise SystemExit("%s: %s" % (name, trouble))
        pack(os.path.join(folder, "0"), os.path.join(BUNDLES, "engine_%s.jsonl" % name))
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
