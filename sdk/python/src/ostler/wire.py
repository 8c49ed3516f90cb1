"""The lines that go over the socket."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, Dict, Optional, Union

from .errors import KernelError

PROTOCOL_VERSION = "1.0"

MAX_LINE = 256 * 1024
"""Ostler refuses a longer line, its end included."""

MAX_INCOMING = 16 * 1024 * 1024
"""No answer is this long; without a bound a broken peer could fill the memory."""

Params = Dict[str, Any]


@dataclass(frozen=True)
class Answer:
    request_id: str
    result: Any


@dataclass(frozen=True)
class Refusal:
    request_id: str
    code: str
    message: str
    details: Any


@dataclass(frozen=True)
class Event:
    name: str
    payload: Params


Message = Union[Answer, Refusal, Event]


def encode(call_id: str, method: str, params: Params, token: Optional[str] = None) -> bytes:
    request: Params = {
        "id": call_id,
        "type": "request",
        "timestamp": int(time.time() * 1000),
        "method": method,
        "params": params,
    }
    if token is not None:
        request["token"] = token
    text = json.dumps(request, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A file name that is no UTF-8 has half characters in it, which no line may have.
    line = text.encode("utf-8", "replace") + b"\n"
    if len(line) > MAX_LINE:
        raise KernelError(
            "LINE_TOO_LONG",
            f"{method} would be a line of {len(line)} bytes; at most {MAX_LINE} are allowed",
        )
    return line


def decode(line: bytes) -> Optional[Message]:
    """Parses a line; None if it is neither an answer nor an event."""
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    if value.get("type") == "response" and isinstance(value.get("requestId"), str):
        if value.get("success") is True:
            return Answer(value["requestId"], value.get("result"))
        return _refusal(value["requestId"], value.get("error"))
    if value.get("type") == "event" and isinstance(value.get("event"), str):
        return Event(value["event"], as_object(value.get("payload")))
    return None


def _refusal(request_id: str, value: Any) -> Refusal:
    error = as_object(value)
    code, message = error.get("code"), error.get("message")
    return Refusal(
        request_id,
        code if isinstance(code, str) else "INTERNAL_ERROR",
        message if isinstance(message, str) else "Ostler refused it without a reason",
        error.get("details"),
    )


def as_object(value: Any) -> Params:
    return value if isinstance(value, dict) else {}
