"""What measurements with a scripted model share: its HTTP server on the loopback interface, and what a tree of processes uses."""

import http.server
import json
import os
import threading


class ScriptedModel(http.server.BaseHTTPRequestHandler):
    """Answers requests with what `events` yields; a subclass says what."""

    protocol_version = "HTTP/1.1"
    # Head and body are written apart: the second would wait 40 ms for the acknowledgement of the first.
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.reply("application/json", json.dumps({"object": "list", "data": [], "models": []}))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.reply("text/event-stream", "".join(self.events(body)))

    def reply(self, kind, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def serve(model):
    """Starts a server of a model; its port is `server_port`."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), model)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def event(kind, **fields):
    return f"event: {kind}\ndata: {json.dumps(dict(fields, type=kind))}\n\n"


def processes(pid):
    """The process and its children, and theirs."""
    yield pid
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="utf-8") as children:
                for child in children.read().split():
                    yield from processes(int(child))
    except OSError:
        pass


def processor(pid):
    """Seconds that the process has used, with children that have ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def peak(pid):
    """The most memory that the process has had, in MiB."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            return sum(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    except OSError:
        return 0
