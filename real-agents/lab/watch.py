"""An agent that the patrol watches, on a clock sixty times as fast: a minute of the guide is a second here. Ticks are made by hand."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

from .oracle import same
from .world import UNIT, Failed, World, command_of

TICK = 3.0  # seconds; three minutes by default
LADDER = """
[patrol.ladder]
grace = "5s"
nudge = "2s"
wake = "2s"
interrupt = "2s"
restart = "5s"
progress = "5s"
thinking = "3m"
"""
WATCH = """
stale = "5s"
very_stale = "15s"
"""


def options(*, asks: bool = False, in_shell: str = "") -> dict:
    """Of a world whose agent is watched. The patrol's own tick is so long that only ticks by hand count."""
    watch = WATCH + (f'process = ["{in_shell}"]\n' if in_shell else "")
    return {"asks": asks, "in_shell": bool(in_shell), "patrol": '[patrol]\nroot = "town"\ntick = "12h"\n' + LADDER, "watch": watch}


class Watch:
    def __init__(self, world: World):
        self.world = world
        self.ticks = 0
        self.steps: list[str] = []

    def begin(self, messages: int = 2) -> int:
        """The agent is up and has a conversation. Its pid is returned."""
        (self.world.work / "town").mkdir(exist_ok=True)
        self.world.up()
        for number in range(messages):
            self.say(f"remember {number}")
        pid = self.world.pid()
        if pid is None:
            raise Failed("the agent does not run")
        return pid

    def say(self, text: str) -> None:
        self.world.say(text)
        if ":" not in text:
            self.world.oracle.wait_quiet(0.3)

    def tick(self) -> list[dict]:
        self.ticks += 1
        text = self.world.ostler("patrol", "tick", "--json", seconds=90, check=False)
        try:
            document = json.loads(text)
        except ValueError as error:
            raise Failed(f"`ostler patrol tick --json` printed {text[:300]!r}") from error
        for agent in document.get("agents", []):
            decision = agent["decision"]
            self.world.tell(f"tick {self.ticks}: {decision['step']}: {decision['reason']} -> {agent['outcome']} {json.dumps(decision['evidence'])}")
        return document if isinstance(document, list) else document.get("agents", [document])

    def tick_for(self, seconds: float, until=None) -> bool:
        """Ticks at the usual pace; whether `until` came true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            self.tick()
            if until and until():
                return True
            time.sleep(max(0.0, TICK - (time.monotonic() - began)))
        return bool(until and until())

    def mail(self, subject: str) -> None:
        self.world.tell(f"mail: {subject}")
        self.world.ostler("mail", "send", UNIT, "-s", subject, "-m", "please")

    def unread(self) -> int:
        return len(json.loads(self.world.ostler("mail", "inbox", UNIT, "--json")))

    def escalations(self) -> list[str]:
        mails = json.loads(self.world.ostler("mail", "inbox", "overseer", "--json"))
        return [mail["subject"] for mail in mails]

    def heartbeat(self, age: float) -> None:
        """As an agent that wrote it once, so many seconds ago."""
        path = self.world.work / f"town/.runtime/heartbeats/gt-{UNIT}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        at = time.time() - age
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
        path.write_text(json.dumps({"timestamp": stamp, "cycle": 1, "last_action": "wrote a test"}))
        os.utime(path, (at, at))

    def from_patrol(self) -> list[str]:
        """Messages in the model's log that the patrol sent."""
        return [text for text in self.world.oracle.messages() if is_of_the_patrol(text)]

    def interrupted(self) -> list[str]:
        """Answers of the model that the agent did not wait for."""
        oracle = self.world.oracle
        return [f"request {entry['n']} {oracle.ends[entry['n']]}" for entry in oracle.conversation() if oracle.ends.get(entry["n"], "").startswith("hung up")]

    def tree(self, pid: int) -> list[int]:
        found = [pid]
        for one in found:
            try:
                for task in Path(f"/proc/{one}/task").iterdir():
                    found += [int(child) for child in (task / "children").read_text().split()]
            except OSError:
                continue
        return found

    def signal(self, pid: int, number: int) -> None:
        for one in self.tree(pid):
            self.world.tell(f"{signal.Signals(number).name} to {one} ({command_of(one).strip()[:60]})")
            try:
                os.kill(one, number)
            except OSError:
                pass

    def in_shell(self, pid: int) -> int:
        """The agent below the shell that is the unit's process."""
        children = self.tree(pid)[1:]
        if not children:
            raise Failed("the agent is not below its shell")
        return children[0]

    def is_same(self, pid: int) -> list[str]:
        now = self.world.pid()
        return [] if now == pid else [f"the agent was replaced: {pid}, now {now}"]

    def check_left_alone(self, pid: int, nudges: range, told: range) -> list[str]:
        """The same process, no answer cut off, so many nudges of the patrol, and a person notified so many times."""
        problems = self.is_same(pid) + [f"an answer was cut off: {one}" for one in self.interrupted()]
        if len(self.from_patrol()) not in nudges:
            problems.append(f"{len(self.from_patrol())} nudges of the patrol reached the model, not {wanted(nudges)}: {self.from_patrol()}")
        if len(self.escalations()) not in told:
            problems.append(f"a person was notified {len(self.escalations())} times, not {wanted(told)}: {self.escalations()}")
        return problems

    def has_conversation(self, pid: int) -> list[str]:
        """The agent is another process with the same conversation."""
        if self.world.pid() in (pid, None):
            return [f"the agent was not replaced within {self.ticks} ticks"]
        before = self.world.oracle.messages()
        self.say("do you remember")
        after = self.world.oracle.messages()
        lost = [text for text in ("remember 0", "remember 1") if same(text) not in after]
        return [f"the conversation is lost: {lost} are not among {len(after)} messages (before: {len(before)})"] if lost else []


def is_of_the_patrol(text: str) -> bool:
    return "ostler mail check" in text or text.startswith(("[from patrol]", "[from boot]")) or "Boot " in text[:40]


def wanted(counts: range) -> str:
    return str(counts.start) if len(counts) == 1 else f"{counts.start} to {counts.stop - 1}"
