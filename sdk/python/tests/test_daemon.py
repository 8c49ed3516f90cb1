"""Both kinds of app against the real Ostler: OSTLER_BIN=target/debug/ostler python3 -m unittest"""

from __future__ import annotations

import asyncio
import subprocess
import time
import unittest

from ostler import KernelError

from .real_ostler import BINARY, RealOstler

BEATS = 'heartbeat = { interval = "100ms", timeout = "10s", misses = 100 }'


class Faces:
    """Holds the cases, so that they are run for the faces only."""

    @unittest.skipUnless(BINARY, "OSTLER_BIN names no Ostler to test against")
    class Case(unittest.IsolatedAsyncioTestCase):
        face = ""

        async def asyncSetUp(self) -> None:
            # Commands are waited for in the loop: nothing else goes on in it.
            asyncio.get_running_loop().slow_callback_duration = 60
            self.ostler = RealOstler(self.face)

        async def asyncTearDown(self) -> None:
            await self.ostler.stop()

        async def is_heard_after(self, ms: float) -> bool:
            try:
                info = await self.ostler.info()
            except KernelError:
                return False
            return (info["lastHeartbeat"] or 0) > ms

        async def test_set_up_ready_beating_and_taken_down(self) -> None:
            await self.ostler.up("simple", f"{BEATS}\nconfig = {{ level = 1 }}")
            self.assertEqual((await self.ostler.info())["state"], "ready")
            await self.ostler.until("a heartbeat", lambda: self.is_heard_after(0))
            first = (await self.ostler.info())["lastHeartbeat"]
            await self.ostler.until("another", lambda: self.is_heard_after(first))
            self.assertEqual((await self.ostler.info())["health"], {"status": "healthy"})
            self.ostler.call("stop", "a")
            self.assertEqual((await self.ostler.info())["state"], "stopped")
            self.assertEqual(self.ostler.log(), "setup {'level': 1}\nteardown\n")

        async def test_is_told_when_its_configuration_changes(self) -> None:
            await self.ostler.up("simple", f"{BEATS}\nconfig = {{ level = 1 }}")
            before = await self.ostler.info()
            self.ostler.declare("simple", f"{BEATS}\nconfig = {{ level = 2 }}")
            self.ostler.call("reload")

            async def is_told() -> bool:
                return "config {'level': 2}" in self.ostler.log()

            await self.ostler.until("the news", is_told)
            self.assertEqual((await self.ostler.info())["pid"], before["pid"])

        async def test_comes_back_when_the_supervisor_is_killed(self) -> None:
            await self.ostler.up("simple", BEATS)
            before, now = await self.ostler.info(), time.time() * 1000
            self.ostler.kill_supervisor()
            await self.ostler.until("a heartbeat", lambda: self.is_heard_after(now))
            info = await self.ostler.info()
            self.assertEqual(
                (info["pid"], info["restartCount"], info["state"]), (before["pid"], 0, "ready")
            )
            self.ostler.call("stop", "a")
            self.assertIn("teardown", self.ostler.log())

        async def test_ends_by_its_own_will_and_ostler_knows_why(self) -> None:
            self.ostler.declare("own_will", f'{BEATS}\nrestart = {{ when = "on-failure" }}')
            self.ostler.call("up", "--no-wait")
            await self.ostler.operator.connect()

            async def is_told() -> bool:
                return "all done" in self.ostler.call("why", "a")

            async def is_over() -> bool:
                return (await self.ostler.info())["pid"] is None

            await self.ostler.until("its reason", is_told)
            await self.ostler.until("its end", is_over)
            self.assertEqual((await self.ostler.info())["state"], "stopped")

        async def test_that_cannot_be_set_up_is_told_with_its_exit_code(self) -> None:
            once = 'restart = { limit = { count = 1, window = "1m" } }'
            with self.assertRaises(subprocess.CalledProcessError):
                await self.ostler.up("bad_setup", f"{BEATS}\n{once}")
            await self.ostler.operator.connect()
            info = await self.ostler.info()
            self.assertEqual(info["state"], "error")
            self.assertIn("exit 1", info["lastError"])
            self.assertIn("no database", self.ostler.log())


class Asyncio(Faces.Case):
    face = "asyncio"


class Plain(Faces.Case):
    face = "plain"
