"""Many clients on websockets, and many loaded threads."""

import asyncio
import base64
import json
import os
import socket
import struct
import time

from .server import Process, Server, Step, milliseconds


class WebsocketClient:
    """The part of a websocket client that a server on the loopback interface needs."""

    async def connect(self, port):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
        key = base64.b64encode(os.urandom(16)).decode()
        self.writer.write((f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        head = await self.reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in head:
            raise RuntimeError(head)
        self.next = 0

    def send(self, message):
        data = json.dumps(message, separators=(",", ":")).encode()
        length = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
        self.writer.write(b"\x81" + length + b"\0\0\0\0" + data)

    async def receive(self):
        while True:
            first, length = await self.reader.readexactly(2)
            if length == 126:
                length, = struct.unpack(">H", await self.reader.readexactly(2))
            elif length == 127:
                length, = struct.unpack(">Q", await self.reader.readexactly(8))
            data = await self.reader.readexactly(length)
            if first & 15 == 9:
                self.writer.write(b"\x8a\x80\0\0\0\0")
            elif first & 15 == 8:
                raise RuntimeError(f"closed by the server: {data}")
            else:
                return data

    async def call(self, method, params):
        self.next += 1
        self.send({"id": self.next, "method": method, "params": params})
        # The reply is the only message that begins with this id.
        while True:
            message = await self.receive()
            if b'"method"' not in message[:60]:
                message = json.loads(message)
                if "error" in message:
                    raise RuntimeError(message["error"])
                return message["result"]

    async def turn(self, cwd):
        thread = (await self.call("thread/start", {"cwd": cwd}))["thread"]["id"]
        said = [{"type": "text", "text": "hello", "text_elements": []}]
        await self.call("turn/start", {"threadId": thread, "input": said})
        while b'"turn/completed"' not in (message := await self.receive())[:60]:
            pass
        if b'"status":"completed"' not in message:
            raise RuntimeError(message)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as held:
        return held.getsockname()[1]


# What every client is told of the threads of all others: with as many threads as clients, that is the square of them.
TOLD_TO_ALL = ["thread/started", "thread/status/changed"]


async def run_clients(server, port, count, opted_out):
    """The figures of connecting and of a turn of each."""
    clients = [WebsocketClient() for _ in range(count)]

    async def connect(client):
        await client.connect(port)
        await client.call("initialize", {"clientInfo": {"name": "scale", "version": "1"},
                                         "capabilities": {"experimentalApi": True,
                                                          "optOutNotificationMethods": opted_out}})
        client.send({"method": "initialized"})

    own = time.process_time()
    with Step(server) as connected:
        await asyncio.gather(*map(connect, clients))
    idle = server.resident()
    with Step(server) as turns:
        await asyncio.gather(*(client.turn(server.home) for client in clients))
    own = time.process_time() - own
    for client in clients:
        client.writer.close()
    return connected, idle, turns, own


def websocket_clients(context, count):
    """This many clients at once, each with a thread and a turn."""
    for opted_out in (TOLD_TO_ALL, []):
        port, home = free_port(), context.new_home()
        server = Process(context.binary, home, ("app-server", "--listen", f"ws://127.0.0.1:{port}"), piped=False)
        try:
            await_listener(server, port)
            connected, idle, turns, own = asyncio.run(run_clients(server, port, count, opted_out))
        finally:
            server.child.terminate()
            server.child.wait(60)
        if opted_out:
            yield "all connected", connected.figures()
            yield "memory then", f"{idle:,.0f} MiB"
        told = "not told of others" if opted_out else "told of all others"
        yield f"a thread and a turn of each, {told}", turns.figures()
        yield f"processor time of the clients themselves, {told}", milliseconds(own)


def await_listener(server, port):
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            if server.child.poll() is not None:
                raise RuntimeError("the server ended") from None
            time.sleep(0.01)


def loaded_threads(context, count):
    """This many loaded threads, each of which has run a turn."""
    server = Server(context.binary, context.new_home())
    server.turn(server.call("thread/start", {"cwd": server.home})["thread"]["id"], "hello")
    before = server.resident()
    with Step(server) as started:
        threads = [server.call("thread/start", {"cwd": server.home})["thread"]["id"] for _ in range(count)]
    yield "started", started.figures()
    yield "memory each", f"{(server.resident() - before) * 1024 / count:,.1f} KiB"
    with Step(server) as turns:
        for thread in threads:
            server.turn(thread, "hello")
    yield "a turn in each", turns.figures()
    server.settle()
    yield "memory each after it", f"{(server.resident() - before) * 1024 / count:,.1f} KiB"
    yield "descriptors, threads of the system", f"{server.descriptors()}, {server.status('Threads')}"
    with Step(server) as again:
        server.turn(threads[0], "hello")
    yield "one more turn", again.figures()
    server.end()
