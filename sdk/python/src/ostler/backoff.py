"""How long to wait before the next attempt to connect."""

from __future__ import annotations

_FIRST = 0.1
_LONGEST = 5.0


class Backoff:
    """100 ms, twice as long each time, at most 5 s."""

    def __init__(self) -> None:
        self._next = _FIRST

    def next(self) -> float:
        delay = self._next
        self._next = min(delay * 2, _LONGEST)
        return delay

    def settle(self, lasted: float) -> None:
        """After a connection that lasted, the delay begins at its minimum again."""
        if lasted > _LONGEST:
            self._next = _FIRST
