"""What both kinds of app do, as processes of their own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import unittest
from pathlib import Path
from typing import Dict, Optional

from .fake_kernel import MANIFEST, FakeKernel

FIXTURE = Path(__file__).with_name("fixture_app.py")


class Faces:
    """Holds the cases, so that they are run for the faces only."""

    class Case(unittest.IsolatedAsyncioTestCase):
        face = ""

        async def asyncSetUp(self) -> None:
            self.kernel = FakeKernel()
            await self.kernel.listen()
            self.child: Optional[asyncio.subprocess.Process] = None

        async def asyncTearDown(self) -> None:
            if self.child is not None and self.child.returncode is None:
                self.child.kill()
                await self.child.wait()
            await self.kernel.stop()

        async def start(self, kind: str, env: Optional[Dict[str, str]] = None) -> None:
            if env is None:
                env = {"OPENCLAWOS_SOCKET": self.kernel.path}
            self.output = ""
            self.child = await asyncio.create_subprocess_exec(
                sys.executable,
                str(FIXTURE),
                self.face,
                kind,
                cwd=self.kernel.folder,
                env={"PATH": os.environ["PATH"], **env},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )

        async def said(self, text: str) -> None:
            while text not in self.output:
                self.output += await asyncio.wait_for(self.line(), 10)

        async def line(self) -> str:
            assert self.child is not None and self.child.stdout is not None
            line = await self.child.stdout.readline()
            self.assertTrue(line, f"it ended, having said {self.output!r}")
            return line.decode()

        async def exit_code(self) -> int:
            assert self.child is not None
            rest, _ = await asyncio.wait_for(self.child.communicate(), 20)
            self.output += rest.decode()
            assert self.child.returncode is not None
            return self.child.returncode

        def signal(self, number: int) -> None:
            assert self.child is not None
            self.child.send_signal(number)

        async def ends(self, code: int = 0) -> None:
            """Asks for the end as Ostler does."""
            self.kernel.event("shutdown", timeout=5000, reason="stop")
            self.assertEqual(await self.exit_code(), code, self.output)

        async def test_registered_set_up_ready_and_taken_down_when_asked(self) -> None:
            env = {"OPENCLAWOS_KERNEL_SOCKET": self.kernel.path, "OPENCLAWOS_LAUNCH_SECRET": "s3cret"}
            await self.start("simple", env)
            self.assertEqual((await self.kernel.next("app.register"))["params"]["secret"], "s3cret")
            await self.kernel.next("app.ready")
            await self.ends()
            self.assertEqual(self.output, "setup {}\nteardown\n")
            self.assertEqual(self.kernel.count("app.shutdown"), 0)

        async def test_reads_its_manifest_from_the_working_directory(self) -> None:
            path = Path(self.kernel.folder, "openclawos.manifest.json")
            path.write_text(json.dumps(MANIFEST))
            await self.start("no_manifest")
            register = await self.kernel.next("app.register")
            self.assertEqual(register["params"], {"manifest": MANIFEST})

        async def test_says_so_when_it_has_no_manifest(self) -> None:
            await self.start("no_manifest")
            self.assertEqual(await self.exit_code(), 1)
            self.assertRegex(self.output, r"openclawos\.manifest\.json.*BAD_MANIFEST")

        async def test_says_what_would_be_right_when_not_run_by_ostler(self) -> None:
            await self.start("simple", {})
            self.assertEqual(await self.exit_code(), 1)
            self.assertRegex(self.output, "OPENCLAWOS_SOCKET is not set.*ostler up")

        async def test_taken_down_by_a_signal_and_tells_ostler(self) -> None:
            for number in (signal.SIGTERM, signal.SIGINT):
                await self.start("simple")
                await self.kernel.next("app.ready")
                self.signal(number)
                self.assertEqual(await self.exit_code(), 0, self.output)
                self.assertIn("teardown", self.output)
                notice = await self.kernel.next("app.shutdown")
                self.assertEqual(notice["params"], {"reason": number.name, "timeout": 5000})

        async def test_fails_when_it_cannot_be_set_up_and_never_was_ready(self) -> None:
            await self.start("bad_setup")
            self.assertEqual(await self.exit_code(), 1)
            self.assertIn("no database", self.output)
            self.assertEqual(self.kernel.count("app.ready"), 0)

        async def test_fails_when_it_cannot_be_taken_down(self) -> None:
            await self.start("bad_teardown")
            await self.kernel.next("app.ready")
            await self.ends(1)
            self.assertIn("cannot flush", self.output)

        async def test_fails_when_it_is_not_taken_down_in_time(self) -> None:
            await self.start("slow_teardown")
            await self.kernel.next("app.ready")
            self.kernel.event("shutdown", timeout=100, reason="stop")
            self.assertEqual(await self.exit_code(), 1)
            self.assertIn("not down within 0.095 s", self.output)

        async def test_asked_to_end_while_set_up_finishes_that_first(self) -> None:
            await self.start("slow_setup")
            await self.said("setup begins")
            self.kernel.event("shutdown", timeout=20_000, reason="stop")
            self.kernel.event("config", config={"seen": True}, version=2)
            await self.said("config {'seen': True}")
            self.signal(signal.SIGUSR2)
            self.assertEqual(await self.exit_code(), 0, self.output)
            self.assertIn("setup ends\nteardown", self.output)
            self.assertEqual(self.kernel.count("app.ready"), 0)

        async def test_can_end_by_its_own_will_and_tells_how_it_is(self) -> None:
            await self.start("own_will")
            self.assertEqual(await self.exit_code(), 0, self.output)
            self.assertGreater((await self.kernel.next("app.heartbeat"))["params"]["busyFor"], 0)
            status = (await self.kernel.next("app.heartbeat"))["params"]["status"]
            self.assertEqual(status, {"status": "degraded", "queue": 3})
            self.assertEqual((await self.kernel.next("app.shutdown"))["params"]["reason"], "all done")

        async def test_sends_heartbeats_by_itself(self) -> None:
            self.kernel.interval = 20
            await self.start("slow_teardown")
            await self.kernel.next("app.ready")
            self.kernel.event("shutdown", timeout=20_000, reason="stop")
            for _ in range(3):
                beat = await self.kernel.next("app.heartbeat")
                self.assertEqual(beat["params"], {"status": {"status": "healthy"}})

        async def test_takes_the_interval_from_its_environment(self) -> None:
            self.kernel.interval = None
            env = {"OPENCLAWOS_SOCKET": self.kernel.path, "OSTLER_HEARTBEAT_MS": "20"}
            await self.start("simple", env)
            await self.kernel.next("app.heartbeat")

        async def test_outlives_ostler_and_learns_what_changed_meanwhile(self) -> None:
            await self.start("simple")
            await self.kernel.next("app.ready")
            await self.kernel.die()
            await self.said("was lost")
            self.kernel.token = "token-2"
            self.kernel.methods["config.get"] = lambda *_: {"config": {"level": 2}, "version": 2}
            await self.kernel.listen()
            await self.kernel.next("app.ready")
            await self.said("config {'level': 2} 2")
            await self.ends()

        async def test_not_ended_by_a_configuration_it_cannot_use(self) -> None:
            await self.start("bad_config")
            await self.kernel.next("app.ready")
            self.kernel.event("config", config={}, version=2)
            await self.said("cannot use it")
            await self.ends()

        async def test_works_on_when_superseded_until_a_signal_ends_it(self) -> None:
            await self.start("simple")
            await self.kernel.next("app.ready")
            self.kernel.event("superseded")
            await self.said("taken over")
            await self.kernel.until(lambda: not self.kernel.clients)
            self.signal(signal.SIGTERM)
            self.assertEqual(await self.exit_code(), 0)
            self.assertIn("teardown", self.output)

        async def test_needs_no_class(self) -> None:
            await self.start("hooks")
            await self.kernel.next("app.ready")
            await self.ends()
            self.assertEqual(self.output, "setup\nteardown\n")


class Asyncio(Faces.Case):
    face = "asyncio"


class Plain(Faces.Case):
    face = "plain"

    async def test_ends_when_its_work_is_done(self) -> None:
        await self.start("short_work")
        self.assertEqual(await self.exit_code(), 0, self.output)
        self.assertIn("teardown", self.output)
        reason = (await self.kernel.next("app.shutdown"))["params"]["reason"]
        self.assertEqual(reason, "its work is done")

    async def test_fails_when_its_work_fails_and_is_taken_down_before(self) -> None:
        await self.start("bad_work")
        self.assertEqual(await self.exit_code(), 1)
        self.assertIn("teardown", self.output)
        self.assertIn("out of ideas", self.output)

    async def test_fails_when_its_work_does_not_end_in_time(self) -> None:
        await self.start("deaf_work")
        await self.kernel.next("app.ready")
        self.kernel.event("shutdown", timeout=100, reason="stop")
        self.assertEqual(await self.exit_code(), 1)
        self.assertIn("not down within", self.output)
