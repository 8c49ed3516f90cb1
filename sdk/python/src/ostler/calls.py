"""The calls that have no answer yet."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Dict, List, Union

from .errors import KernelError
from .wire import Answer, Params, Refusal


@dataclass
class Call:
    id: str
    method: str
    params: Params
    answer: "asyncio.Future[Any]"
    idempotent: bool
    """Whether it does no harm to be sent twice."""
    urgent: bool
    """It is part of resuming: it does not wait for it, and does not survive its connection."""
    sent: bool = False

    def reject(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class Calls:
    """Calls in the order they were made."""

    def __init__(self) -> None:
        self._open: Dict[str, Call] = {}
        self._made = 0

    def make(self, method: str, params: Params, *, idempotent: bool, urgent: bool) -> Call:
        self._made += 1
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        call = Call(str(self._made), method, params, answer, idempotent, urgent)
        self._open[call.id] = call
        return call

    def forget(self, call: Call) -> None:
        self._open.pop(call.id, None)

    def answer(self, message: Union[Answer, Refusal]) -> None:
        """An answer to a call that has timed out is dropped."""
        call = self._open.get(message.request_id)
        if call is None or call.answer.done():
            return
        if isinstance(message, Answer):
            call.answer.set_result(message.result)
        else:
            text = f"{call.method}: {message.message}"
            call.reject(KernelError(message.code, text, message.details))

    def unsent(self) -> List[Call]:
        return [call for call in self._open.values() if not (call.sent or call.answer.done())]

    def lost(self) -> None:
        """The connection is gone: what may be sent again waits for the next one."""
        for call in self._open.values():
            if call.sent and (call.urgent or not call.idempotent):
                what = f"the connection was lost before {call.method} was answered; it may have been done"
                call.reject(KernelError("CONNECTION_LOST", what))
            call.sent = False

    def refuse(self, code: str, why: str) -> None:
        for call in self._open.values():
            call.reject(KernelError(code, f"{call.method}: {why}"))
