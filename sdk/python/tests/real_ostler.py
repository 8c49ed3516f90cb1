"""The real Ostler, in a home of its own, with one app."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Awaitable, Callable, Dict

from ostler import KernelClient

from .fake_kernel import MANIFEST

BINARY = os.environ.get("OSTLER_BIN", "")
FIXTURE = Path(__file__).with_name("fixture_app.py")
PATIENCE = 30.0


class RealOstler:
    def __init__(self, face: str) -> None:
        self.face = face
        self.folder = tempfile.mkdtemp(prefix="ostler-sdk-")
        self.home = os.path.join(self.folder, "h")
        self.env = {**os.environ, "OSTLER_HOME": self.home, "OSTLER_WAIT_MS": "50"}
        self.operator = KernelClient(os.path.join(self.home, "kernel.sock"))

    def declare(self, kind: str, more: str) -> None:
        """``more`` are keys of the unit besides its manifest."""
        app = Path(self.folder, "app")
        app.mkdir(exist_ok=True)
        manifest = {**MANIFEST, "command": [sys.executable, str(FIXTURE), self.face, kind]}
        app.joinpath("openclawos.manifest.json").write_text(json.dumps(manifest))
        Path(self.folder, "ostler.toml").write_text(f'[units.a]\nmanifest = "app"\n{more}\n')

    def call(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            [os.path.abspath(BINARY), *words],
            cwd=self.folder,
            env=self.env,
            check=check,
            stdout=subprocess.PIPE,
            text=True,
            timeout=120,
        )
        return done.stdout

    async def up(self, kind: str, more: str) -> None:
        self.declare(kind, more)
        self.call("up")
        await self.operator.connect()

    async def info(self) -> Dict[str, Any]:
        found: Dict[str, Any] = await self.operator.request(
            "apps.info", {"packageId": MANIFEST["id"]}
        )
        return found

    async def until(self, what: str, look: Callable[[], Awaitable[bool]]) -> None:
        """Asks until it is so."""
        end = time.monotonic() + PATIENCE
        while not await look():
            if time.monotonic() > end:
                raise AssertionError(f"waited without success: {what}")
            await asyncio.sleep(0.01)

    def log(self) -> str:
        return self.call("logs", "a")

    def kill_supervisor(self) -> None:
        os.kill(json.loads(self.call("status", "--json"))["supervisorPid"], signal.SIGKILL)

    async def stop(self) -> None:
        await self.operator.close()
        self.call("--no-start", "stop", check=False)
        shutil.rmtree(self.folder)
