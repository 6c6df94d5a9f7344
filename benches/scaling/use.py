"""A day of use, a command that prints much, images in every turn."""

import base64
import os
import struct
import zlib

from .server import MIB, Server, Step

HOURS = 24


def day(context, turns):
    """24 simulated hours with this many turns in each; nothing waits for the clock.

    In an hour five threads are started and five of the earlier ones resumed, their turns run a command each, and all are
    unloaded again but one. One thread is archived.
    """
    server = Server(context.binary, context.new_home())
    # Threads without a turn are not stored.
    turns, stored = max(turns, 10), []
    for hour in range(1, HOURS + 1):
        loaded = [server.call("thread/start", {"cwd": server.home})["thread"]["id"] for _ in range(5)]
        for thread in stored[-6:-1]:
            server.call("thread/resume", {"threadId": thread, "excludeTurns": True})
            loaded.append(thread)
        cpu = server.cpu()
        for number in range(turns):
            thread = loaded[number % len(loaded)]
            server.turn(thread, "hello" if number % 4 == 0 else f"RUN seq 1 {number * 37 % 2000}")
        cpu = server.cpu() - cpu
        for thread in loaded[1:]:
            server.call("thread/unsubscribe", {"threadId": thread})
        server.call("thread/list", {"limit": 50})
        stored.extend(loaded[:5])
        if hour > 6:
            server.call("thread/archive", {"threadId": stored.pop(0)})
        server.settle()
        if hour in (1, 2, 3) or hour % 3 == 0:
            yield f"hour {hour}", (f"{server.resident():,.1f} MiB, {server.descriptors()} descriptors, "
                                   f"{server.status('Threads')} threads, {cpu / turns * 1000:.2f} ms CPU a turn")
    server.end()


def printing(context, size):
    """One turn whose command prints this many MiB."""
    server = Server(context.binary, context.new_home())
    thread = server.call("thread/start", {"cwd": server.home})["thread"]
    server.turn(thread["id"], "hello")
    server.received = 0
    with Step(server) as step:
        server.turn(thread["id"], f"RUN yes some output of a command | head -c {size * MIB}")
    yield "the turn", step.figures()
    yield "rate", f"{size / step.wall:,.0f} MiB/s"
    yield "to the client", f"{server.received / MIB:,.1f} MiB"
    yield "in the rollout", f"{os.path.getsize(thread['path']) / MIB:,.1f} MiB"
    server.end()


def picture(number, side=256):
    """A PNG file of noise, about 192 KiB."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    noise = os.urandom(side * 3 * 16)
    rows = b"".join(b"\0" + bytes(((number + row) % 256,)) + noise[row % 16 * side * 3 + 1:][:side * 3 - 1]
                    for row in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b""))


def images(context, turns):
    """An image in each of these turns, as data in the request."""
    server = Server(context.binary, context.new_home())
    thread = server.call("thread/start", {"cwd": server.home})["thread"]
    server.turn(thread["id"], "hello")
    sent = 0
    with Step(server) as step:
        for number in range(turns):
            url = "data:image/png;base64," + base64.b64encode(picture(number)).decode()
            sent += len(url)
            server.turn(thread["id"], "look", [{"type": "image", "url": url}])
    yield "all turns", step.figures()
    stored = os.path.getsize(thread["path"])
    yield "sent as images; stored", f"{sent / MIB:,.1f} MiB; {stored / MIB:,.1f} MiB ({stored / sent:.2f} times)"
    server.end()
    server = Server(context.binary, server.home)
    with Step(server) as step:
        server.call("thread/resume", {"threadId": thread["id"], "excludeTurns": True})
    yield "resumed without turns", step.figures()
    with Step(server) as step:
        page = server.call("thread/turns/list", {"threadId": thread["id"], "limit": 5})["data"]
    shown = sum(len(part["url"]) for turn in page for item in turn["items"] if item["type"] == "userMessage"
                for part in item["content"] if part["type"] == "image")
    yield "page of 5 turns", f"{step.figures()}; {shown / MIB:,.1f} MiB of images"
    server.end()
