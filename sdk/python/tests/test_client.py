from __future__ import annotations

import asyncio
import unittest
from typing import Any, List

from ostler import KernelClient, KernelError
from ostler.answers import Configuration

from .fake_kernel import MANIFEST, SILENT, FakeKernel, Refused


class Client(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.kernel = FakeKernel()
        await self.kernel.listen()
        self.seen: "asyncio.Queue[tuple[str, Any]]" = asyncio.Queue()
        self.use(KernelClient(self.kernel.path, secret="s3cret"))

    def use(self, client: KernelClient) -> None:
        self.client = client
        for name in ("warning", "resumed", "disconnected", "superseded", "shutdown", "config"):
            self.client.on(name, lambda *args, name=name: self.seen.put_nowait((name, args)))

    async def asyncTearDown(self) -> None:
        await self.client.close()
        await self.kernel.stop()

    async def registered(self) -> None:
        await self.client.connect()
        await self.client.register(MANIFEST)

    async def saw(self, name: str) -> Any:
        while True:
            seen, args = await asyncio.wait_for(self.seen.get(), 10)
            if seen == name:
                return args

    async def refused(self, code: str, call: Any) -> KernelError:
        with self.assertRaises(KernelError) as caught:
            await call
        self.assertEqual(caught.exception.code, code)
        return caught.exception

    async def test_registers_with_the_secret_and_only_what_is_asked_for(self) -> None:
        await self.client.connect()
        registration = await self.client.register({**MANIFEST, "main": "app.py"})
        self.assertEqual(registration.heartbeat_interval, 30.0)
        request = await self.kernel.next("app.register")
        self.assertEqual(request["params"], {"manifest": MANIFEST, "secret": "s3cret"})
        self.assertNotIn("token", request)

    async def test_carries_the_token_in_each_later_call(self) -> None:
        await self.registered()
        await self.client.ready({"port": 1})
        await self.client.shutdown_notice("done", 1.5)
        self.assertEqual(await self.client.config(), Configuration({}, 1))
        self.assertEqual((await self.kernel.next("app.ready"))["token"], "token-1")
        notice = await self.kernel.next("app.shutdown")
        self.assertEqual(notice["params"], {"reason": "done", "timeout": 1500})

    async def test_raises_the_code_message_and_details_of_a_refusal(self) -> None:
        def no(*_: Any) -> None:
            raise Refused("FORBIDDEN", {"why": "not yours"})

        self.kernel.methods["x.y"] = no
        await self.client.connect()
        error = await self.refused("FORBIDDEN", self.client.request("x.y"))
        self.assertEqual(error.message, "x.y: refused with FORBIDDEN")
        self.assertEqual(error.details, {"why": "not yours"})

    async def test_gives_up_a_call_and_ignores_the_late_answer(self) -> None:
        self.kernel.methods["x.slow"] = lambda *_: SILENT
        self.kernel.methods["x.fast"] = lambda *_: "fast"
        await self.client.connect()
        await self.refused("TIMEOUT", self.client.request("x.slow", timeout=0.02))
        late = await self.kernel.next("x.slow")
        self.kernel.send({"type": "response", "requestId": late["id"], "success": True})
        self.assertEqual(await self.client.request("x.fast"), "fast")

    async def test_lives_on_when_ostler_sends_garbage(self) -> None:
        await self.registered()
        self.kernel.clients[0].write(b'\n{"type":\n[1]\n\xff\xfe\n')
        self.assertIn("no message", (await self.saw("warning"))[0])
        await self.client.heartbeat()

    async def test_a_character_torn_apart_is_whole_again(self) -> None:
        await self.registered()
        line = '{"type":"event","event":"config","payload":{"config":{"a":"grün 🐎"},"version":2}}\n'
        for byte in line.encode():
            self.kernel.clients[0].write(bytes([byte]))
            await asyncio.sleep(0)
        (configuration,) = await self.saw("config")
        self.assertEqual(configuration.config, {"a": "grün 🐎"})

    async def test_tells_of_a_refusal_that_belongs_to_no_call(self) -> None:
        await self.registered()
        error = {"code": "CONFLICT", "message": "too many"}
        self.kernel.send({"type": "response", "requestId": "", "success": False, "error": error})
        self.assertIn("too many (CONFLICT)", (await self.saw("warning"))[0])

    async def test_refuses_a_line_that_is_too_long_and_only_that(self) -> None:
        await self.registered()
        big = {"text": "x" * 256 * 1024}
        await self.refused("LINE_TOO_LONG", self.client.request("x.big", big))
        await self.client.heartbeat()

    async def test_resumes_with_the_token_on_a_new_connection(self) -> None:
        await self.registered()
        await self.client.heartbeat("degraded", busy_for=60)
        await self.kernel.next("app.heartbeat")
        await self.kernel.drop()
        await self.saw("resumed")
        beat = await self.kernel.next("app.heartbeat")
        self.assertEqual(beat["token"], "token-1")
        self.assertEqual(beat["params"]["status"], {"status": "degraded"})
        self.assertGreater(beat["params"]["busyFor"], 50_000)
        self.assertEqual(self.kernel.count("app.register"), 1)

    async def test_registers_anew_and_is_ready_again_when_the_token_is_forgotten(self) -> None:
        await self.registered()
        await self.client.ready({"port": 1})
        await self.kernel.next("app.register")
        await self.kernel.next("app.ready")
        await self.kernel.die()
        self.kernel.token = "token-2"
        await self.kernel.listen()
        await self.saw("resumed")
        await self.kernel.next("app.register")
        ready = await self.kernel.next("app.ready")
        self.assertEqual((ready["token"], ready["params"]), ("token-2", {"metadata": {"port": 1}}))

    async def test_registers_anew_when_a_heartbeat_finds_the_token_forgotten(self) -> None:
        await self.registered()
        self.kernel.token = "token-2"
        await self.client.heartbeat()
        self.assertEqual(self.kernel.count("app.register"), 2)
        await self.client.config()

    async def test_survives_a_connection_lost_in_the_middle_of_a_line(self) -> None:
        answer = self.kernel.methods["app.heartbeat"]

        def half(_request: Any, writer: asyncio.StreamWriter) -> Any:
            self.kernel.methods["app.heartbeat"] = answer
            writer.write(b'{"type":"response","requestId":"')
            writer.close()
            return SILENT

        self.kernel.methods["app.heartbeat"] = half
        await self.registered()
        self.assertEqual((await self.client.heartbeat())["serverTime"], 5)

    async def test_sends_again_what_is_idempotent_and_only_that(self) -> None:
        answer = self.kernel.methods["app.ready"]
        self.kernel.methods["app.ready"] = lambda *_: SILENT
        self.kernel.methods["x.once"] = lambda *_: SILENT
        await self.registered()
        ready = asyncio.ensure_future(self.client.ready())
        once = asyncio.ensure_future(self.client.request("x.once"))
        await self.kernel.next("x.once")
        self.kernel.methods["app.ready"] = answer
        await self.kernel.drop()
        error = await self.refused("CONNECTION_LOST", once)
        self.assertIn("may have been done", error.message)
        await ready
        self.assertEqual(self.kernel.count("x.once"), 0)

    async def test_sends_a_registration_again_that_was_never_answered(self) -> None:
        answer = self.kernel.methods["app.register"]

        def die(_request: Any, writer: asyncio.StreamWriter) -> Any:
            self.kernel.methods["app.register"] = answer
            writer.transport.abort()
            return SILENT

        self.kernel.methods["app.register"] = die
        await self.registered()
        self.assertEqual(self.kernel.count("app.register"), 2)

    async def test_keeps_calls_made_without_a_connection_until_there_is_one(self) -> None:
        self.kernel.methods["x.once"] = lambda *_: "done"
        await self.registered()
        await self.kernel.die()
        await self.saw("disconnected")
        call = asyncio.ensure_future(self.client.request("x.once"))
        await self.kernel.listen()
        self.assertEqual(await call, "done")

    async def test_goes_on_trying_when_resuming_is_refused(self) -> None:
        await self.registered()
        answer, left = self.kernel.methods["app.heartbeat"], [1, 2]

        def refuse(request: Any, writer: asyncio.StreamWriter) -> Any:
            if left:
                left.pop()
                raise Refused("INTERNAL_ERROR")
            return answer(request, writer)

        self.kernel.methods["app.heartbeat"] = refuse
        await self.kernel.drop()
        warnings: List[str] = []
        while True:
            name, args = await asyncio.wait_for(self.seen.get(), 10)
            if name == "resumed":
                break
            if name == "warning":
                warnings.append(args[0])
        self.assertEqual(len(warnings), 1, "the same reason is reported once")

    async def test_gives_up_a_connection_on_which_resuming_is_not_answered(self) -> None:
        self.use(KernelClient(self.kernel.path, request_timeout=0.4))
        await self.registered()
        answer = self.kernel.methods["app.heartbeat"]

        def silent(*_: Any) -> Any:
            self.kernel.methods["app.heartbeat"] = answer
            return SILENT

        self.kernel.methods["app.heartbeat"] = silent
        await self.kernel.drop()
        self.assertIn("app.heartbeat was not answered", (await self.saw("warning"))[0])
        await self.saw("resumed")
        await self.client.config()

    async def test_does_not_reconnect_once_it_is_superseded(self) -> None:
        self.kernel.methods["x.wait"] = lambda *_: SILENT
        await self.registered()
        call = asyncio.ensure_future(self.client.request("x.wait"))
        await self.kernel.next("x.wait")
        self.kernel.event("superseded")
        await self.refused("SUPERSEDED", call)
        await self.saw("superseded")
        await self.kernel.until(lambda: not self.kernel.clients)
        await self.refused("CLOSED", self.client.heartbeat())
        self.assertEqual(self.kernel.connections, 1)

    async def test_tells_the_shutdown_in_seconds(self) -> None:
        await self.registered()
        self.kernel.event("shutdown", timeout=1500, reason="stop")
        self.assertEqual(await self.saw("shutdown"), (1.5, "stop"))
        self.kernel.event("shutdown")
        self.assertEqual(await self.saw("shutdown"), (None, None))

    async def test_waits_a_little_for_an_ostler_that_is_about_to_come(self) -> None:
        await self.kernel.die()
        connecting = asyncio.ensure_future(self.client.connect())
        await asyncio.sleep(0)
        await self.kernel.listen()
        await connecting

    async def test_says_what_it_could_not_connect_to(self) -> None:
        lonely = KernelClient(self.kernel.path + ".none", connect_timeout=0.05)
        error = await self.refused("CONNECT_FAILED", lonely.connect())
        self.assertRegex(str(error), r"socket\.none.*No such file")

    async def test_refuses_what_is_open_when_it_is_closed(self) -> None:
        await self.registered()
        await self.kernel.die()
        await self.saw("disconnected")
        call = asyncio.ensure_future(self.client.request("x.never"))
        await asyncio.sleep(0)
        await self.client.close()
        await self.refused("CLOSED", call)
