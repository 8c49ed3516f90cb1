"""Checks the promises. Ostler's own reports are among the things that are checked, and are not trusted."""

from __future__ import annotations

import time

from ..engine import Container
from ..registry import Unreadable
from ..steps_log import StepsLog, Violation
from ..world import World
from . import bystanders, containers, copies, daemon, mail, output, ownership, patrol, records, units
from .snapshot import Snapshot

# At once: what has happened cannot be put right. Settled: what must become true, and soon.
NEVER = (bystanders.touched, copies.overlapping, containers.alone)
SETTLED = (daemon.alone, units.running, containers.running, containers.kept, containers.foreign, patrol.alone, patrol.sessions,
           ownership.every_process_has_a_run, ownership.no_leaf_of_the_ended, records.sound,
           records.copies_have_one, records.open_ones_live, records.lease, daemon.sound_registry)
ONCE_CALM = (output.whole, output.shown, mail.once, records.counters)

TELL_AFTER = 8  # seconds


class Oracle:
    def __init__(self, world: World, log: StepsLog, traffic):
        self.world, self.log, self.traffic = world, log, traffic
        self.checks: dict[str, int] = {}
        self.output = output.Logs(world)
        self.counted: dict[str, int] = {}
        self.kept: dict[str, Container] = {}  # by unit: what must still be there, if no fault hits it

    def run(self, check, snapshot: Snapshot) -> list[str]:
        name = f"{check.__module__.rpartition('.')[2]}.{check.__name__}"
        self.checks[name] = self.checks.get(name, 0) + 1
        return [f"{name}: {problem}" for problem in check(self, snapshot)]

    def never(self) -> None:
        """Checks what must never happen."""
        snapshot = Snapshot(self.world, quick=True)
        for check in NEVER:
            for problem in self.run(check, snapshot):
                raise Violation(problem)

    def settle(self, seconds: float = 60) -> None:
        """All checks must hold at the same time, and no single problem may last this long."""
        began = time.monotonic()
        since: dict[str, float] = {}
        next_word = began + TELL_AFTER
        while True:
            self.never()
            problems = []
            try:
                snapshot = Snapshot(self.world)
                for check in SETTLED:
                    problems += self.run(check, snapshot)
            except Unreadable as error:
                problems = [f"registry: {error}"]
            now = time.monotonic()
            since = {problem: since.get(problem, now) for problem in problems}
            if not problems:
                self.kept = {one.unit: one for one in snapshot.containers}
                break
            for problem, first in since.items():
                if now - first > seconds:
                    raise Violation(f"for {seconds:.0f} s: {problem}")
            if now - began > 3 * seconds:
                raise Violation(f"never calm, at last: {problems}")
            if now > next_word:
                next_word = now + TELL_AFTER
                self.log.report(f"  not well since {now - began:.0f} s: {problems[:3]}")
            time.sleep(0.1)
        for check in ONCE_CALM:
            self.calm(check, seconds)

    def calm(self, check, seconds: float) -> None:
        """The state changes during a check: a problem is checked again before it counts."""
        end = time.monotonic() + min(seconds, 15)
        while True:
            try:
                problems = self.run(check, Snapshot(self.world))
            except Unreadable as error:
                problems = [f"registry: {error}"]
            if not problems:
                return
            if time.monotonic() > end:
                raise Violation("; ".join(problems[:5]))
            time.sleep(0.2)
