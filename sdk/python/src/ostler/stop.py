"""Why an app ends, and how long it has for it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True)
class Stop:
    reason: str
    timeout: float
    own_will: bool
    """Whether Ostler does not know of it yet."""


class StopRequest:
    """The first request decides; Ostler may well send both an event and a signal."""

    def __init__(self) -> None:
        self.asked: asyncio.Future[Stop] = asyncio.get_running_loop().create_future()

    @property
    def is_asked(self) -> bool:
        return self.asked.done()

    def ask(self, stop: Stop) -> None:
        if not self.asked.done():
            self.asked.set_result(stop)
