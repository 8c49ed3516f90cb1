"""The content of the next heartbeat."""

from __future__ import annotations

import math
import time
from typing import Any

from .wire import Params

LONGEST_BUSY = 3600.0
"""Ostler takes no longer declaration, in seconds."""

_STATUSES = ("healthy", "degraded", "unhealthy")


class Pulse:
    """A heartbeat without a busy declaration takes the last one back, so each of ours repeats what is
    left of it. The rest is measured on a monotonic clock.
    """

    def __init__(self) -> None:
        self._status: Params = {"status": "healthy"}
        self._busy_until = 0.0

    def report(self, status: str, details: Params) -> None:
        if status not in _STATUSES:
            raise ValueError(f"status {status!r}: it may be one of {', '.join(_STATUSES)}")
        self._status = {**details, "status": status}

    def busy_for(self, seconds: float) -> None:
        if not 0 <= seconds <= LONGEST_BUSY:
            raise ValueError(f"busy for {seconds} s: it may be 0 to 3600 (one hour) at a time")
        self._busy_until = time.monotonic() + seconds

    def params(self) -> Params:
        params: dict[str, Any] = {"status": self._status}
        busy_for = math.ceil((self._busy_until - time.monotonic()) * 1000)
        if busy_for > 0:
            params["busyFor"] = busy_for
        return params
