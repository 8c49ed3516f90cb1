"""What can go wrong between an app and Ostler."""

from __future__ import annotations

from typing import Any


class KernelError(Exception):
    """A refusal by Ostler, or a failure on this side of the socket.

    Ostler's codes are those of the wire protocol. This side's are ``NO_SOCKET``, ``BAD_MANIFEST``,
    ``BAD_ANSWER``, ``CONNECT_FAILED``, ``CONNECTION_LOST``, ``LINE_TOO_LONG``, ``SUPERSEDED`` and
    ``CLOSED``; ``TIMEOUT`` is used on both.
    """

    def __init__(self, code: str, message: str, details: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


def is_forgotten(error: KernelError) -> bool:
    """Whether Ostler no longer knows the token, so that only ``app.register`` helps."""
    return error.code in ("UNAUTHORIZED", "APP_NOT_REGISTERED")
