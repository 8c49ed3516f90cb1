"""An app on the Python SDK that does what its test tells it, over a socket beside it."""

import ast
import asyncio
import inspect
import json
import os
import signal
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, open(os.path.join(HERE, "sdk")).read())

import ostler  # noqa: E402


class App(ostler.App):
    async def setup(self):
        self.told = []
        reader, self.strings = await asyncio.open_unix_connection(os.path.join(HERE, "strings"))
        self.orders = asyncio.ensure_future(self.obey(reader))

    async def teardown(self):
        with open(os.path.join(HERE, "teardown"), "a") as file:
            file.write("down\n")

    async def on_config(self, config, version):
        self.told.append({"config": config, "version": version})

    async def obey(self, reader):
        world = {**globals(), "app": self}
        while line := await reader.readline():
            order = json.loads(line)
            try:
                code, kind = (order["eval"], "eval") if "eval" in order else (order["run"], "exec")
                value = eval(compile(code, "order", kind, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), world)
                if inspect.isawaitable(value):
                    value = await value
                answer = {"is": value}
            except Exception:
                answer = {"failed": traceback.format_exc()}
            self.strings.write(json.dumps(answer).encode() + b"\n")


asyncio.run(App().run())
