"""Heartbeats, at the interval Ostler asks for."""

from __future__ import annotations

import asyncio
import logging

from .answers import Registration
from .client import KernelClient
from .errors import KernelError

log = logging.getLogger("ostler")


class Heart:
    def __init__(self, client: KernelClient) -> None:
        self._client = client
        self._interval = 0.0
        client.on("registered", self._registered)

    def _registered(self, registration: Registration) -> None:
        self._interval = registration.heartbeat_interval

    async def beat(self) -> None:
        """Goes on until the client is closed. One heartbeat at a time: a waiting one is enough."""
        while True:
            await asyncio.sleep(self._interval)
            try:
                await self._client.heartbeat()
            except KernelError as error:
                if error.code in ("CLOSED", "SUPERSEDED"):
                    return
                log.warning("a heartbeat failed: %s", error)
