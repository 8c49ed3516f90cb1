"""One connection, from its opening to its end."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Callable

from .errors import KernelError
from .wire import MAX_INCOMING, Message, decode

_CLOSE_TIMEOUT = 1.0


class Connection:
    """It knows lines, and nothing of what they mean."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, path: str, timeout: float) -> Connection:
        opening = asyncio.open_unix_connection(path, limit=MAX_INCOMING)
        try:
            return cls(*await asyncio.wait_for(opening, timeout))
        except asyncio.TimeoutError:
            why = f"no answer within {timeout:.1f} s"
        except OSError as error:
            why = str(error)
        raise KernelError("CONNECT_FAILED", f"could not connect to {path}: {why}")

    async def receive(
        self, message: Callable[[Message], None], garbage: Callable[[bytes], None]
    ) -> None:
        """Hands on what comes in, until the connection is lost. Half a line at its end is dropped."""
        with contextlib.suppress(OSError, ValueError):
            while True:
                line = await self._reader.readline()
                if not line.endswith(b"\n"):
                    return
                value = decode(line)
                if value is None:
                    garbage(line)
                else:
                    message(value)

    def send(self, line: bytes) -> None:
        self._writer.write(line)

    def abort(self) -> None:
        self._writer.transport.abort()

    def begin_close(self) -> None:
        """What was sent before still arrives."""
        self._writer.close()

    async def wait_closed(self) -> None:
        """Waits for that, but not for a peer that does not read."""
        try:
            with contextlib.suppress(OSError):
                await asyncio.wait_for(self._writer.wait_closed(), _CLOSE_TIMEOUT)
        except asyncio.TimeoutError:
            self.abort()
