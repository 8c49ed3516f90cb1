"""A program that Ostler runs as an app."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from typing import Any, Iterator, Optional

from .answers import Configuration
from .client import KernelClient
from .environment import Manifest, ManifestSource, load_manifest
from .errors import KernelError
from .heart import Heart
from .stop import Stop, StopRequest
from .wire import Params

log = logging.getLogger("ostler")


class App:
    """Subclasses say how to set it up and how to take it down; ``run`` does the rest."""

    shutdown_timeout: float = 5.0
    """How many seconds ``teardown`` may take when a signal, and not Ostler, asks for the end."""

    def __init__(self, manifest: Optional[ManifestSource] = None) -> None:
        """The manifest or its path; by default ``openclawos.manifest.json`` in the working directory."""
        self._source = manifest
        self._client: Optional[KernelClient] = None
        self._stop: Optional[StopRequest] = None
        self._configuration = Configuration({}, None)
        self._setup_begun = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def setup(self) -> None:
        """Gets everything ready. The app counts as ready when it is done."""

    async def teardown(self) -> None:
        """Cleans up; ``run`` returns when it is done."""

    async def on_config(self, config: Params, version: Any) -> None:
        """The configuration has changed; ``config`` already is the new one."""

    @property
    def config(self) -> Params:
        """The app's configuration, from before ``setup`` on."""
        return self._configuration.config

    @property
    def kernel(self) -> KernelClient:
        """The connection to Ostler, from before ``setup`` on."""
        if self._client is None:
            raise KernelError("CLOSED", "the app does not run yet: run() comes first")
        return self._client

    async def busy_for(self, seconds: float) -> None:
        """Declares that the app may be silent for that long. 0 takes it back."""
        await self.kernel.heartbeat(busy_for=seconds)

    async def status(self, status: str, **details: Any) -> None:
        """Reports the app's status (healthy, degraded, unhealthy), now and with each further heartbeat."""
        await self.kernel.heartbeat(status, details)

    def stop(self, reason: str) -> None:
        """Ends the app, in the same way as a stop request does."""
        if self._stop is None:
            raise KernelError("CLOSED", "the app does not run yet: run() comes first")
        self._stop.ask(Stop(reason, self.shutdown_timeout, own_will=True))

    async def run(self) -> None:
        """Runs the app until a stop request. Exits with 1 if anything failed."""
        try:
            await self._live()
        except KernelError as error:
            log.error("%s", error)
            raise SystemExit(1) from None
        except Exception:
            log.exception("the app failed")
            raise SystemExit(1) from None

    async def _live(self) -> None:
        client = KernelClient()
        manifest = load_manifest(self._source)
        self._client = client
        self._stop = StopRequest()
        self._listen(client, self._stop)
        heart = Heart(client)
        try:
            with self._signals():
                start = asyncio.ensure_future(self._start(client, manifest, heart, self._stop))
                asked = self._stop.asked
                either: set[asyncio.Future[Any]] = {start, asked}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if start.done():
                    await start
                await self._finish(client, await asked, start)
        finally:
            for task in self._tasks:
                task.cancel()
            await client.close()

    def _listen(self, client: KernelClient, stop: StopRequest) -> None:
        def shutdown(timeout: Optional[float], reason: Optional[str]) -> None:
            limit = self.shutdown_timeout if timeout is None else timeout
            stop.ask(Stop(reason or "shutdown", limit, own_will=False))

        def resumed() -> None:
            log.warning("connected to Ostler again")
            self._spawn(self._catch_up(client))

        def say(text: str) -> None:
            log.warning("%s", text)

        client.on("shutdown", shutdown)
        client.on("config", self._configure)
        client.on("resumed", resumed)
        client.on("disconnected", lambda: say("the connection to Ostler was lost; reconnecting"))
        client.on("superseded", lambda: say("another connection of this app has taken over"))
        client.on("warning", say)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Only the main thread can set signal handlers."""
        loop = asyncio.get_running_loop()
        caught = []
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(ValueError, RuntimeError):
                loop.add_signal_handler(number, self.stop, number.name)
                caught.append(number)
        try:
            yield
        finally:
            for number in caught:
                loop.remove_signal_handler(number)

    async def _start(
        self, client: KernelClient, manifest: Manifest, heart: Heart, stop: StopRequest
    ) -> None:
        await client.connect()
        await client.register(manifest)
        self._spawn(heart.beat())
        self._configuration = await _configuration(client)
        if stop.is_asked:
            return
        self._setup_begun = True
        await self.setup()
        if not stop.is_asked:
            await client.ready()
            self._is_ready()

    def _is_ready(self) -> None:
        """For the plain app, whose work begins here."""

    async def _finish(self, client: KernelClient, stop: Stop, start: asyncio.Future[None]) -> None:
        if not self._setup_begun:
            # There is nothing to clean up, and the result of the start has no effect any more.
            start.cancel()
            return
        if stop.own_will:
            self._spawn(_notice(client, stop))
        down = asyncio.ensure_future(self._take_down(start))
        # The process is killed at the timeout: shortly before, it can still report why.
        timeout = stop.timeout * 0.95
        done, _ = await asyncio.wait({down}, timeout=timeout)
        if not done:
            down.cancel()
            raise KernelError("TIMEOUT", f"the app was not down within {timeout:.3g} s")
        await down

    async def _take_down(self, start: asyncio.Future[None]) -> None:
        await start
        await self.teardown()

    async def _catch_up(self, client: KernelClient) -> None:
        """A change while the connection was lost was not reported."""
        try:
            self._configure(await _configuration(client))
        except KernelError as error:
            log.warning("could not get the configuration: %s", error)

    def _configure(self, configuration: Configuration) -> None:
        if configuration.version == self._configuration.version:
            return
        self._configuration = configuration
        self._spawn(self._tell(configuration))

    async def _tell(self, configuration: Configuration) -> None:
        try:
            await self.on_config(configuration.config, configuration.version)
        except Exception:
            log.exception("on_config failed")

    def _spawn(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _configuration(client: KernelClient) -> Configuration:
    """An app that has no configuration has an empty one."""
    try:
        return await client.config()
    except KernelError as error:
        if error.code not in ("NOT_FOUND", "METHOD_NOT_FOUND"):
            raise
        return Configuration({}, None)


async def _notice(client: KernelClient, stop: Stop) -> None:
    with contextlib.suppress(KernelError):
        await client.shutdown_notice(stop.reason, stop.timeout)
