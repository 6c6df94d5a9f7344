"""Serves LiteLLM's proxy until standard input ends.

Usage: python lite.py CONFIGURATION; the last line that it prints is the address
"""

import asyncio
import os
import sys
import threading

os.environ["CONFIG_FILE_PATH"] = sys.argv[1]
# Nothing is fetched.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import uvicorn
from litellm.proxy.proxy_server import app

server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))


def stop_with_input():
    sys.stdin.read()
    server.should_exit = True


async def serve():
    serving = asyncio.create_task(server.serve())
    while not server.started:
        if serving.done():
            # It says why it could not start.
            return await serving
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}", flush=True)
    threading.Thread(target=stop_with_input, daemon=True).start()
    await serving


asyncio.run(serve())
