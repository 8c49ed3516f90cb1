"""An app's side of the socket.

    idle ── connect() ──▶ open ◀──────── resumed ────────┐
                           └── lost ──▶ reconnecting ────┘      any ── close(), superseded ──▶ closed

While it reconnects, calls wait. The first thing on a new connection is a heartbeat with the token: it
proves the token and makes this the connection that gets the events. Where the token is no longer known the
app is registered again, and reported ready again if it was.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any, Callable, Dict, List, Optional

from .answers import Configuration, Registration
from .backoff import Backoff
from .calls import Call, Calls
from .connection import Connection
from .environment import Manifest, launch_secret, socket_path
from .errors import KernelError, is_forgotten
from .pulse import Pulse
from .wire import Event, Message, Params, Refusal, encode

log = logging.getLogger("ostler")

# They change nothing when they are done twice, and so may be sent again on the next connection.
_IDEMPOTENT = frozenset({"app.register", "app.ready", "app.heartbeat", "config.get"})


class KernelClient:
    """Times are in seconds. All of it belongs to the event loop that ``connect`` ran in."""

    def __init__(
        self,
        socket: Optional[str] = None,
        *,
        secret: Optional[str] = None,
        connect_timeout: float = 5.0,
        request_timeout: float = 30.0,
    ) -> None:
        self._socket = socket or socket_path()
        self._secret = secret or launch_secret()
        self._connect_timeout = connect_timeout
        self._request_timeout = request_timeout

        self._phase = "idle"
        self._connection: Optional[Connection] = None
        self._open_since = 0.0
        self._calls = Calls()
        self._backoff = Backoff()
        self._tasks: set[asyncio.Task[None]] = set()
        self._listeners: Dict[str, List[Callable[..., None]]] = {}

        self._pulse = Pulse()
        self._manifest: Optional[Manifest] = None
        self._token: Optional[str] = None
        self._readiness: Optional[Params] = None

    def on(self, event: str, listener: Callable[..., None]) -> None:
        """Calls the listener in the event loop whenever it happens.

        ``shutdown(timeout, reason)``, either may be None; ``config(Configuration)``; ``superseded()``;
        ``event(name, payload)`` for every event; and of this side ``registered(Registration)``,
        ``disconnected()``, ``resumed()`` and ``warning(message)``.
        """
        self._listeners.setdefault(event, []).append(listener)

    async def connect(self) -> None:
        """Tries until the timeout is over, since Ostler may be in the middle of its own restart."""
        if self._phase != "idle":
            raise KernelError("CONFLICT", "connect() was called before")
        end = time.monotonic() + self._connect_timeout
        backoff = Backoff()
        while True:
            try:
                await self._dial(end - time.monotonic())
                break
            except KernelError:
                delay = backoff.next()
                if self._is_closed() or time.monotonic() + delay >= end:
                    raise
                await asyncio.sleep(delay)
        self._open()

    async def register(self, manifest: Manifest) -> Registration:
        registration = await self._register(manifest, urgent=False)
        self._manifest = manifest
        return registration

    async def ready(self, metadata: Optional[Params] = None) -> None:
        params: Params = {} if metadata is None else {"metadata": metadata}
        await self.request("app.ready", params)
        self._readiness = params

    async def heartbeat(
        self,
        status: Optional[str] = None,
        details: Optional[Params] = None,
        *,
        busy_for: Optional[float] = None,
    ) -> Any:
        """What is left out is repeated from the last one, with what is left of its busy time."""
        if status is not None:
            self._pulse.report(status, details or {})
        if busy_for is not None:
            self._pulse.busy_for(busy_for)
        return await self._beat(urgent=False)

    async def shutdown_notice(
        self, reason: Optional[str] = None, timeout: Optional[float] = None
    ) -> None:
        """Announces that the app will exit by itself."""
        params: Params = {}
        if reason is not None:
            params["reason"] = reason
        if timeout is not None:
            params["timeout"] = round(timeout * 1000)
        await self.request("app.shutdown", params)

    async def config(self) -> Configuration:
        return Configuration.of(await self.request("config.get"))

    async def request(
        self,
        method: str,
        params: Optional[Params] = None,
        *,
        timeout: Optional[float] = None,
        idempotent: Optional[bool] = None,
    ) -> Any:
        """Any method. A call that is idempotent is sent again when its connection is lost."""
        if idempotent is None:
            idempotent = method in _IDEMPOTENT
        call = self._make(method, params or {}, idempotent=idempotent, urgent=False)
        return await self._answer(call, timeout)

    async def close(self) -> None:
        """What was sent before still arrives; what has no answer yet is refused."""
        connection = self._connection
        self._end("CLOSED", "the client was closed")
        if connection is not None:
            await connection.wait_closed()

    def _make(self, method: str, params: Params, *, idempotent: bool, urgent: bool) -> Call:
        if self._phase in ("idle", "closed"):
            why = "connect() comes first" if self._phase == "idle" else "the client is closed"
            raise KernelError("CLOSED", f"{method}: {why}")
        call = self._calls.make(method, params, idempotent=idempotent, urgent=urgent)
        if urgent or self._phase == "open":
            self._send(call)
        return call

    async def _answer(self, call: Call, timeout: Optional[float] = None) -> Any:
        limit = self._request_timeout if timeout is None else timeout
        try:
            return await asyncio.wait_for(call.answer, limit)
        except asyncio.TimeoutError:
            late = f"{call.method} was not answered within {limit:g} s"
            raise KernelError("TIMEOUT", late) from None
        finally:
            self._calls.forget(call)

    async def _call(self, method: str, params: Params, urgent: bool) -> Any:
        return await self._answer(self._make(method, params, idempotent=True, urgent=urgent))

    def _send(self, call: Call) -> None:
        if self._connection is None:
            if call.urgent:
                call.reject(KernelError("CONNECTION_LOST", "the connection was lost"))
            return
        try:
            self._connection.send(encode(call.id, call.method, call.params, self._token))
            call.sent = True
        except (KernelError, TypeError, ValueError) as error:
            call.reject(error)

    async def _register(self, manifest: Manifest, *, urgent: bool) -> Registration:
        params: Params = {"manifest": {key: manifest[key] for key in ("id", "type", "protocol")}}
        if self._secret is not None:
            params["secret"] = self._secret
        registration = Registration.of(await self._call("app.register", params, urgent))
        self._token = registration.token
        self._emit("registered", registration)
        return registration

    async def _beat(self, *, urgent: bool) -> Any:
        try:
            return await self._call("app.heartbeat", self._pulse.params(), urgent)
        except KernelError as error:
            if self._manifest is None or not is_forgotten(error):
                raise
        await self._register(self._manifest, urgent=urgent)
        if self._readiness is not None:
            await self._call("app.ready", self._readiness, urgent)
        return await self._call("app.heartbeat", self._pulse.params(), urgent)

    async def _dial(self, timeout: float) -> None:
        connection = await Connection.open(self._socket, timeout)
        if self._is_closed():
            connection.abort()
            raise KernelError("CLOSED", "the client was closed")
        self._connection = connection
        self._spawn(self._receive(connection))

    async def _receive(self, connection: Connection) -> None:
        await connection.receive(self._take, self._garbage)
        connection.abort()
        self._lost(connection)

    def _open(self) -> None:
        self._phase = "open"
        self._open_since = time.monotonic()
        for call in self._calls.unsent():
            self._send(call)

    def _lost(self, connection: Connection) -> None:
        if connection is not self._connection:
            return
        self._connection = None
        self._calls.lost()
        if self._phase != "open":
            return
        self._phase = "reconnecting"
        self._backoff.settle(time.monotonic() - self._open_since)
        self._emit("disconnected")
        self._spawn(self._reconnect())

    async def _reconnect(self) -> None:
        reported = ""
        while True:
            await asyncio.sleep(self._backoff.next())
            try:
                await self._dial(self._connect_timeout)
                if self._manifest is not None:
                    await self._beat(urgent=True)
            except KernelError as error:
                self._drop()
                if str(error) != reported:
                    self._emit("warning", f"could not reconnect yet: {error}")
                reported = str(error)
                continue
            if self._connection is not None:
                break
        self._open()
        self._emit("resumed")

    def _drop(self) -> None:
        """The calls of a connection that we give up end as if it had been lost."""
        if self._connection is not None:
            self._connection.abort()
        self._connection = None
        self._calls.lost()

    def _take(self, message: Message) -> None:
        if isinstance(message, Event):
            self._tell(message)
            return
        if message.request_id == "" and isinstance(message, Refusal):
            self._emit("warning", f"Ostler refused: {message.message} ({message.code})")
        self._calls.answer(message)

    def _garbage(self, line: bytes) -> None:
        self._emit("warning", f"Ostler sent no message, but {line[:80]!r}")

    def _tell(self, event: Event) -> None:
        self._emit("event", event.name, event.payload)
        if event.name == "shutdown":
            timeout, reason = event.payload.get("timeout"), event.payload.get("reason")
            self._emit("shutdown", timeout / 1000 if isinstance(timeout, (int, float)) else None, reason)
        elif event.name == "config":
            self._emit("config", Configuration.of(event.payload))
        elif event.name == "superseded":
            self._end("SUPERSEDED", "another connection of this app has taken over")
            self._emit("superseded")

    def _end(self, code: str, why: str) -> None:
        if self._is_closed():
            return
        self._phase = "closed"
        self._calls.refuse(code, why)
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.begin_close()
        # Among them may be the one that tells us this; it has nothing more to do.
        for task in self._tasks:
            task.cancel()

    def _is_closed(self) -> bool:
        return self._phase == "closed"

    def _emit(self, event: str, *args: object) -> None:
        for listener in self._listeners.get(event, []):
            try:
                listener(*args)
            except Exception:
                log.exception("a listener of %s failed", event)

    def _spawn(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
