"""Just enough of Ostler for tests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
from typing import Any, Callable, Dict, List, Optional

MANIFEST = {"id": "@test/app", "type": "app", "protocol": {"version": "1.0"}}

SILENT = object()
"""What a method returns to leave its request unanswered."""

Request = Dict[str, Any]
Method = Callable[[Request, asyncio.StreamWriter], Any]


class Refused(Exception):
    def __init__(self, code: str, details: Any = None) -> None:
        super().__init__(f"refused with {code}")
        self.code = code
        self.details = details


class FakeKernel:
    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="ostler-sdk-")
        self.path = os.path.join(self.folder, "socket")
        self.token = "token-1"
        self.interval: Optional[float] = 30_000
        self.connections = 0
        self.clients: List[asyncio.StreamWriter] = []
        self.requests: List[Request] = []
        self.changed = asyncio.Condition()
        self.methods: Dict[str, Method] = {
            "app.register": self._register,
            "app.ready": self._known({"ok": True}),
            "app.heartbeat": self._known({"ok": True, "serverTime": 5}),
            "app.shutdown": self._known({"ok": True}),
            "config.get": self._known({"config": {}, "version": 1}),
        }

    async def listen(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, self.path)

    async def die(self) -> None:
        """Ends the server and each connection, as when Ostler dies."""
        self._server.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        await self.drop()

    async def stop(self) -> None:
        await self.die()
        shutil.rmtree(self.folder)

    async def drop(self) -> None:
        for client in self.clients:
            client.transport.abort()
        await self.until(lambda: not self.clients)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(condition), 10)

    async def next(self, method: str) -> Request:
        """The next request with that method that was not returned yet."""
        await self.until(lambda: self.count(method) > 0)
        request = next(r for r in self.requests if r["method"] == method)
        self.requests.remove(request)
        return request

    def count(self, method: str) -> int:
        return sum(request["method"] == method for request in self.requests)

    def event(self, name: str, **payload: Any) -> None:
        self.send({"id": "e", "type": "event", "timestamp": 0, "event": name, "payload": payload})

    def send(self, message: Any) -> None:
        for client in self.clients:
            client.write(_line(message))

    def _register(self, _request: Request, _writer: asyncio.StreamWriter) -> Any:
        return {
            "appId": MANIFEST["id"],
            "token": self.token,
            "protocolVersion": "1.0",
            "heartbeatInterval": self.interval,
        }

    def _known(self, result: Any) -> Method:
        def answer(request: Request, _writer: asyncio.StreamWriter) -> Any:
            if request.get("token") != self.token:
                raise Refused("UNAUTHORIZED")
            return result

        return answer

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.clients.append(writer)
        self.connections += 1
        await self._tell()
        try:
            while line := await reader.readline():
                self._answer(json.loads(line), writer)
                await self._tell()
        except OSError:
            pass
        finally:
            writer.close()
            self.clients.remove(writer)
            await self._tell()

    async def _tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        response = {"id": "r", "type": "response", "timestamp": 0, "requestId": request["id"]}
        try:
            method = self.methods.get(request["method"])
            if method is None:
                raise Refused("METHOD_NOT_FOUND")
            result = method(request, writer)
            if result is not SILENT:
                writer.write(_line({**response, "success": True, "result": result}))
        except Refused as refused:
            error = {"code": refused.code, "message": str(refused), "details": refused.details}
            writer.write(_line({**response, "success": False, "error": error}))
        self.requests.append(request)


def _line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"
