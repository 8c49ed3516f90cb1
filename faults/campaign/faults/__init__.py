"""The faults. A fault causes its damage, undoes what only the campaign can undo, and returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable


@dataclass(frozen=True)
class Fault:
    name: str
    does: Callable  # (campaign, choice) -> None
    weight: int
    alone: bool  # never together with another
    why_not: Callable  # (campaign) -> str | None


ALL: dict[str, Fault] = {}


def fault(name: str, weight: int = 2, alone: bool = False, why_not: Callable = lambda campaign: None):
    def add(does):
        ALL[name] = Fault(name, does, weight, alone, why_not)
        return does
    return add


from . import disks, sockets, engines, files, forged, kills, pressure, stops, watched  # noqa: E402, F401
