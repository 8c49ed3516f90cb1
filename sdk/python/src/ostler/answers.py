"""What Ostler answers, as this side sees it: times are in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .environment import heartbeat_fallback
from .errors import KernelError
from .wire import Params, as_object


@dataclass(frozen=True)
class Registration:
    app_id: str
    token: str
    protocol_version: str
    heartbeat_interval: float

    @classmethod
    def of(cls, result: Any) -> Registration:
        answer = as_object(result)
        token, interval = answer.get("token"), answer.get("heartbeatInterval")
        if not isinstance(token, str):
            raise KernelError("BAD_ANSWER", "the answer to app.register has no token", result)
        if isinstance(interval, (int, float)) and interval > 0:
            seconds = interval / 1000
        else:
            seconds = heartbeat_fallback()
        return cls(
            app_id=str(answer.get("appId")),
            token=token,
            protocol_version=str(answer.get("protocolVersion")),
            heartbeat_interval=seconds,
        )


@dataclass(frozen=True)
class Configuration:
    config: Params
    version: Any

    @classmethod
    def of(cls, value: Any) -> Configuration:
        answer = as_object(value)
        return cls(as_object(answer.get("config")), answer.get("version"))
