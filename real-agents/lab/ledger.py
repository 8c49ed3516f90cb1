"""All that was sent to one agent, each with its receipt; compared with the model's log at the end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from .oracle import same
from .world import Receipt, World, shown

# Seconds after which a text that waits should have been typed.
BY_ITSELF = 40
# Those that were not are typed before the next nudge.
FLUSHES = 10


@dataclass
class Entry:
    text: str
    receipt: str
    why: str
    situation: str
    id: str | None = None


@dataclass
class Ledger:
    world: World
    entries: list[Entry] = field(default_factory=list)
    flushed: int = 0
    late: list[str] = field(default_factory=list)
    resumed_at: int = 0  # how many entries there were when the agent's process was last replaced
    forgotten: set[str] = field(default_factory=set)

    def resumed(self) -> None:
        """The agent was killed and took its conversation up again. What was compared with the log before may be missing from
        then on: claude killed during a command takes up its conversation before that command when it is killed again."""
        self.resumed_at = len(self.entries)

    def add(self, situation: str, receipt: Receipt) -> Receipt:
        self.entries.append(Entry(receipt.text, receipt.receipt, receipt.why, situation, receipt.id))
        return receipt

    def typed(self, situation: str, text: str) -> None:
        """A person typed and sent it."""
        self.entries.append(Entry(text, "delivered", "a person sent it", situation))

    def nudge(self, situation: str, text: str, *, mode: str | None = None) -> Receipt:
        return self.add(situation, self.world.nudge(text, mode=mode))

    def update(self) -> list[Entry]:
        """Receipts of what was queued, as they are now. Those that still wait are returned."""
        waiting = [entry for entry in self.entries if entry.receipt == "queued"]
        if waiting:
            now = self.world.nudges()
            for entry in waiting:
                nudge = now.get(entry.id or "")
                if nudge and nudge["receipt"] != "queued":
                    entry.receipt, entry.why = nudge["receipt"], f"queued, then: {nudge['why']}"
        return [entry for entry in waiting if entry.receipt == "queued"]

    def flush(self, situation: str, meanwhile: Callable[[], None] = lambda: time.sleep(0.5)) -> None:
        """What waits is typed when the agent comes to rest; what still waits then, by further nudges."""
        end = time.monotonic() + BY_ITSELF
        while waiting := self.update():
            if time.monotonic() > end:
                break
            meanwhile()
        self.late += [f"not typed within {BY_ITSELF} s although the agent was at rest: {shown(entry.text)}: {entry.situation}" for entry in waiting]
        before = None
        for _ in range(FLUSHES):
            waiting = self.update()
            if not waiting or (before is not None and len(waiting) >= before):
                return
            before = len(waiting)
            self.world.oracle.wait_quiet()
            self.flushed += 1
            self.nudge(f"flush after {situation}", f"flush {self.flushed}")
        self.update()

    def settle(self) -> None:
        """Waits until all that was delivered is in the log, and nothing more comes."""
        oracle = self.world.oracle
        wanted = Counter(same(entry.text) for entry in self.entries if entry.receipt == "delivered")
        oracle.wait(lambda: not wanted - Counter(oracle.messages()), 30)
        oracle.wait_quiet(2)

    def check(self, is_anothers: Callable[[str], bool] = lambda text: False) -> list[str]:
        """Every receipt against the log. What others send may come at any time, and has no entry."""
        self.update()
        self.settle()
        problems, self.late = self.late, []
        found = Counter(text for text in self.world.oracle.messages() if not is_anothers(text))
        ever = Counter({text: count for text, count in self.world.oracle.ever().items() if not is_anothers(text)})
        by_text: dict[str, list[Entry]] = {}
        for entry in self.entries:
            by_text.setdefault(same(entry.text), []).append(entry)
        for text, entries in by_text.items():
            sent = sum(entry.receipt == "delivered" for entry in entries)
            # Whoever typed it was killed: it arrived, or it did not.
            sent += min(found[text] - sent, sum(entry.receipt == "killed" for entry in entries)) if found[text] > sent else 0
            told = "; ".join(f"{entry.situation}: {entry.receipt} ({entry.why})" for entry in entries)
            if found[text] < sent:
                problem = "taken back" if ever[text] >= sent else "lost"
                if problem == "taken back" and all(entry in self.entries[:self.resumed_at] for entry in entries):
                    if text not in self.forgotten:
                        self.world.tell(f"not in the conversation since the agent resumed it: {shown(text)}")
                    self.forgotten.add(text)
                    continue
                problems.append(f"{problem}: {shown(text)} reached the model {found[text]} times, receipts say {sent}: {told}")
            elif found[text] > sent:
                problem = "doubled" if sent else "sent all the same"
                problems.append(f"{problem}: {shown(text)} reached the model {found[text]} times, receipts say {sent}: {told}")
            elif ever[text] > sent:
                problems.append(f"sent, then gone: {shown(text)} was in a request {ever[text]} times, receipts say {sent}: {told}")
        for text in (found | ever) - Counter({text: 1_000_000 for text in by_text}):
            problems.append(f"mixed or changed: the model got {shown(text)}, which nobody sent")
        for entry in self.entries:
            if entry.receipt == "queued":
                problems.append(f"still queued: {shown(entry.text)}: {entry.situation}: {entry.why}")
        return problems

    def counts(self) -> str:
        counted = Counter(entry.receipt for entry in self.entries)
        return ", ".join(f"{count} {receipt}" for receipt, count in sorted(counted.items()))
