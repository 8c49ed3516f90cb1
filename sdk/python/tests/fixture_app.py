"""Apps whose behaviour is chosen by the first two arguments. They print what happens."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import ostler  # noqa: E402
from ostler import plain  # noqa: E402

MANIFEST = {"id": "@test/app", "type": "app", "protocol": {"version": "1.0"}}


def say(text: str) -> None:
    print(text, flush=True)


class AsyncApp(ostler.App):
    def __init__(self, kind: str) -> None:
        super().__init__(None if kind == "no_manifest" else MANIFEST)
        self.kind = kind

    async def setup(self) -> None:
        say(f"setup {self.config}")
        if self.kind == "bad_setup":
            raise RuntimeError("no database")
        if self.kind == "slow_setup":
            go_on = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, go_on.set)
            say("setup begins")
            await go_on.wait()
            say("setup ends")
        if self.kind == "own_will":
            await self.busy_for(1)
            await self.status("degraded", queue=3)
            self.stop("all done")

    async def teardown(self) -> None:
        if self.kind == "bad_teardown":
            raise RuntimeError("cannot flush")
        if self.kind == "slow_teardown":
            await asyncio.Event().wait()
        say("teardown")

    async def on_config(self, config: Any, version: Any) -> None:
        say(f"config {config} {version}")
        if self.kind == "bad_config":
            raise RuntimeError("cannot use it")


class PlainApp(plain.App):
    def __init__(self, kind: str) -> None:
        super().__init__(None if kind == "no_manifest" else MANIFEST)
        self.kind = kind

    def setup(self) -> None:
        assert threading.current_thread() is threading.main_thread()
        say(f"setup {self.config}")
        if self.kind == "bad_setup":
            raise RuntimeError("no database")
        if self.kind == "slow_setup":
            go_on = threading.Event()
            signal.signal(signal.SIGUSR2, lambda *_: go_on.set())
            say("setup begins")
            go_on.wait()
            say("setup ends")
        if self.kind == "own_will":
            self.busy_for(1)
            self.status("degraded", queue=3)
            self.stop("all done")

    def work(self) -> None:
        if self.kind == "bad_work":
            raise RuntimeError("out of ideas")
        if self.kind == "short_work":
            return
        if self.kind == "deaf_work":
            threading.Event().wait()
        super().work()

    def teardown(self) -> None:
        if self.kind == "bad_teardown":
            raise RuntimeError("cannot flush")
        if self.kind == "slow_teardown":
            threading.Event().wait()
        say("teardown")

    def on_config(self, config: Any, version: Any) -> None:
        say(f"config {config} {version}")
        if self.kind == "bad_config":
            raise RuntimeError("cannot use it")


async def async_setup(_app: ostler.App) -> None:
    say("setup")


async def async_teardown(_app: ostler.App) -> None:
    say("teardown")


face, kind = sys.argv[1:]
if (face, kind) == ("asyncio", "hooks"):
    ostler.serve(setup=async_setup, teardown=async_teardown, manifest=MANIFEST)
elif (face, kind) == ("plain", "hooks"):
    plain.run_app(
        setup=lambda _: say("setup"), teardown=lambda _: say("teardown"), manifest=MANIFEST
    )
elif face == "asyncio":
    asyncio.run(AsyncApp(kind).run())
else:
    PlainApp(kind).run()
