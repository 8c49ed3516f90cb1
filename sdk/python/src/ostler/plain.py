"""Apps for programs without asyncio.

The asyncio app runs in a thread of its own, so heartbeats go out whatever the program does. It hands
``setup``, ``work`` and ``teardown`` to the thread that called ``run``, one after the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import signal
import sys
import threading
from typing import Any, Callable, Coroutine, Iterator, Optional, TypeVar

from . import app as _asyncio
from .environment import ManifestSource
from .errors import KernelError
from .wire import Params

log = logging.getLogger("ostler")

T = TypeVar("T")
Job = Callable[[], None]

_LAST_WAIT = 0.2


class App:
    """Subclasses say how to set it up, what it does, and how to take it down."""

    shutdown_timeout: float = 5.0
    """How many seconds the end may take when a signal, and not Ostler, asks for it."""

    def __init__(self, manifest: Optional[ManifestSource] = None) -> None:
        """The manifest or its path; by default ``openclawos.manifest.json`` in the working directory."""
        self.stopping = threading.Event()
        self._jobs: queue.SimpleQueue[Optional[Job]] = queue.SimpleQueue()
        self._inner = _Inner(self, manifest)

    def setup(self) -> None:
        """Gets everything ready. The app counts as ready when it is done."""

    def work(self) -> None:
        """What the app does; it must return soon after ``stopping`` is set. If it returns earlier the
        app ends by its own will.
        """
        self.stopping.wait()

    def teardown(self) -> None:
        """Cleans up; ``run`` returns when it is done."""

    def on_config(self, config: Params, version: Any) -> None:
        """The configuration has changed. It is called in a thread of its own."""

    @property
    def config(self) -> Params:
        """The app's configuration, from before ``setup`` on."""
        return self._inner.config

    def busy_for(self, seconds: float) -> None:
        """Declares that the app may be silent for that long, even its thread. 0 takes it back."""
        self._wait_for(self._inner.busy_for(seconds))

    def status(self, status: str, **details: Any) -> None:
        """Reports the app's status (healthy, degraded, unhealthy), now and with each further heartbeat."""
        self._wait_for(self._inner.status(status, **details))

    def request(self, method: str, params: Optional[Params] = None) -> Any:
        """Calls any method."""
        return self._wait_for(self._inner.kernel.request(method, params))

    def stop(self, reason: str) -> None:
        """Ends the app, in the same way as a stop request does."""
        if self._inner.loop is None:
            raise KernelError("CLOSED", "the app does not run yet: run() comes first")
        self._inner.loop.call_soon_threadsafe(self._inner.stop, reason)

    def run(self) -> None:
        """Runs the app until a stop request. Exits with 1 if anything failed."""
        outcome = _Outcome()
        thread = threading.Thread(target=self._talk, args=(outcome,), name="ostler", daemon=True)
        with self._signals():
            thread.start()
            while (job := self._jobs.get()) is not None:
                job()
            outcome.taken.set()
            thread.join()
        if outcome.failed:
            sys.exit(1)

    def _talk(self, outcome: _Outcome) -> None:
        try:
            asyncio.run(self._inner.run())
        except SystemExit:
            outcome.failed = True
        self._jobs.put(None)
        if outcome.failed and not outcome.taken.wait(_LAST_WAIT):
            # The time is up and the program is still at its own work, which nothing else can end.
            logging.shutdown()
            os._exit(1)

    def _wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        if self._inner.loop is None:
            work.close()
            raise KernelError("CLOSED", "the app does not run yet: run() comes first")
        return asyncio.run_coroutine_threadsafe(work, self._inner.loop).result()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Only the main thread can set signal handlers."""

        def ask(number: int, _frame: object) -> None:
            if self._inner.loop is None:
                sys.exit(0)
            # The loop's thread does it: here the program may be holding any lock. A loop that is
            # closed needs no further notice.
            with contextlib.suppress(RuntimeError):
                self.stop(signal.Signals(number).name)

        before = []
        if threading.current_thread() is threading.main_thread():
            before = [(n, signal.signal(n, ask)) for n in (signal.SIGTERM, signal.SIGINT)]
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)


class _Outcome:
    """What the thread of the connection leaves for the one that called ``run``."""

    def __init__(self) -> None:
        self.failed = False
        self.taken = threading.Event()


class _Inner(_asyncio.App):
    """The asyncio app behind a plain one."""

    def __init__(self, outer: App, manifest: Optional[ManifestSource]) -> None:
        super().__init__(manifest)
        self.loop: Optional[asyncio.AbstractEventLoop] = None
        self._outer = outer
        self._failure: Optional[Exception] = None

    async def run(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.shutdown_timeout = self._outer.shutdown_timeout
        await super().run()

    async def setup(self) -> None:
        assert self._stop is not None
        self._stop.asked.add_done_callback(lambda _: self._outer.stopping.set())
        await self._hand_over(self._outer.setup)

    def _is_ready(self) -> None:
        self._spawn(self._work())

    async def _work(self) -> None:
        try:
            await self._hand_over(self._outer.work)
        except Exception as error:
            self._failure = error
        self.stop("its work is done" if self._failure is None else "its work failed")

    async def teardown(self) -> None:
        await self._hand_over(self._outer.teardown)
        if self._failure is not None:
            raise self._failure

    async def on_config(self, config: Params, version: Any) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._outer.on_config, config, version)

    async def _hand_over(self, work: Callable[[], None]) -> None:
        """Has it done by the thread that called ``run``."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def settle(error: Optional[Exception]) -> None:
            if done.done():
                return
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

        def job() -> None:
            outcome: Optional[Exception] = None
            try:
                work()
            except Exception as error:
                outcome = error
            # No caller waits when the loop is closed.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, outcome)

        self._outer._jobs.put(job)
        await done


Hook = Callable[[App], None]


def run_app(
    *,
    setup: Optional[Hook] = None,
    work: Optional[Hook] = None,
    teardown: Optional[Hook] = None,
    manifest: Optional[ManifestSource] = None,
) -> None:
    """Runs an app that is made of functions instead of a class."""

    class Hooked(App):
        def setup(self) -> None:
            if setup is not None:
                setup(self)

        def work(self) -> None:
            (work or App.work)(self)

        def teardown(self) -> None:
            if teardown is not None:
                teardown(self)

    Hooked(manifest).run()
