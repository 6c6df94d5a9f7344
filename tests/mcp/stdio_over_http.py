"""Serves a program that speaks MCP on its standard input and output over HTTP, for the conformance kit: a process for each session, and
one for all requests without a handshake. Usage: stdio_over_http.py PORT COMMAND...
"""

import json
import queue
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Program:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.waiting = {}
        self.lock = threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            waiting = self.waiting.pop(json.dumps(message.get("id")), None)
            if waiting and "method" not in message:
                waiting.put(message)

    def exchange(self, message):
        reply = queue.Queue()
        with self.lock:
            if "id" in message:
                self.waiting[json.dumps(message["id"])] = reply
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        return reply.get(timeout=20) if "id" in message else None


command = sys.argv[2:]
sessions = {}
stateless = Program(command)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def reply(self, status, message=None, session=None):
        body = json.dumps(message).encode() if message is not None else b""
        self.send_response(status)
        if body:
            self.send_header("content-type", "application/json")
        if session:
            self.send_header("mcp-session-id", session)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply(405)

    def do_DELETE(self):
        self.reply(200 if sessions.pop(self.headers.get("mcp-session-id"), None) else 404)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        session = self.headers.get("mcp-session-id")
        if message.get("method") == "initialize" and session is None:
            session = str(uuid.uuid4())
            sessions[session] = Program(command)
            return self.reply(200, sessions[session].exchange(message), session)
        if session is not None and session not in sessions:
            return self.reply(404)
        reply = sessions.get(session, stateless).exchange(message)
        if reply is None:
            return self.reply(202)
        code = reply.get("error", {}).get("code")
        status = 200 if session else {-32601: 404, -32602: 400, -32022: 400}.get(code, 200)
        self.reply(status, reply)


class Server(ThreadingHTTPServer):
    def handle_error(self, request, address):
        """The kit closes connections as it likes."""


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
