"""Random histories: what users do to an agent, with ticks of the patrol in between. No healthy agent may be interrupted or replaced.

What a history does follows from the seed and its number alone.
"""

from __future__ import annotations

import random
import signal
import time

from .ledger import Ledger
from .oracle import same
from .person import wait_to_see
from .recipes import waits
from .texts import Texts
from .watch import TICK, Watch, is_of_the_patrol
from .world import UNIT, Failed, World

EVENTS = {
    "nudge": 6, "crowd": 1, "mail": 4, "think": 4, "stream": 3, "command": 3, "idle": 4, "half-typed": 3, "dialog": 2, "pause": 2, "stop": 1, "kill": 1,
}
# An agent that is stopped or killed is back within this time.
BACK_WITHIN = 220


class Histories:
    def __init__(self, world: World, seed: int, name: str):
        self.world, self.seed, self.name = world, seed, name
        self.watch = Watch(world)
        self.ledger = Ledger(world)
        self.problems: list[str] = []
        self.person = None
        self.number = 0
        self.pid = 0
        # Answers that were cut off because the test ended the agent.
        self.excused: set[str] = set()
        self.texts = Texts(f"{seed} {name}")

    def run(self, first: int, count: int) -> list[str]:
        self.world.model.rules.append(("ostler mail check", self.world.reads_mail))
        self.pid = self.watch.begin()
        for message in self.world.oracle.messages():
            self.ledger.typed("begin", message)
        for number in range(first, first + count):
            self.one(number)
            if self.problems:
                self.problems.append(f"in history {number} of {self.name}: --only '{self.name}' --seed {self.seed} --first {number}")
                break
        return self.problems

    def one(self, number: int) -> None:
        chance = random.Random(f"{self.seed} {self.name} {number}")
        self.texts.number = number * 1000
        events = chance.choices(list(EVENTS), list(EVENTS.values()), k=chance.randint(3, 6))
        self.world.tell(f"history {number}: {', '.join(events)}")
        if chance.random() < 0.3:
            self.watch.heartbeat(chance.choice((0, 8, 3600)))
        for event in events:
            self.number += 1
            self.world.tell(f"event {self.number}: {event}")
            getattr(self, event.replace("-", "_"))(chance)
            for _ in range(chance.randint(0, 2)):
                self.ticks(1)
            self.look(event)
            if self.problems:
                return
        self.settle()

    def ticks(self, count: int) -> None:
        for _ in range(count):
            began = time.monotonic()
            self.watch.tick()
            time.sleep(max(0.0, TICK - (time.monotonic() - began)))

    def tick_while(self, until, seconds: float) -> bool:
        return self.watch.tick_for(seconds, until)

    # What users do.

    def nudge(self, chance: random.Random) -> None:
        mode = chance.choice((None, None, "immediate", "queue"))
        self.ledger.nudge(f"event {self.number}", self.texts.next(), mode=mode)

    def crowd(self, chance: random.Random) -> None:
        from .nudges import together

        together(self.world, self.ledger, f"event {self.number}", [self.texts.next() for _ in range(3)])

    def mail(self, chance: random.Random) -> None:
        self.watch.mail(f"mail {self.number}")

    def idle(self, chance: random.Random) -> None:
        self.ticks(chance.randint(2, 6))

    def busy(self, directive: str) -> None:
        receipt = self.ledger.nudge(f"event {self.number}", f"{directive} event {self.number}")
        if receipt.receipt == "delivered":
            self.world.oracle.wait_for(receipt.text)

    def think(self, chance: random.Random) -> None:
        seconds = chance.randint(3, 25)
        self.busy(f"SILENT:{seconds}")
        self.ticks(seconds // 4)

    def stream(self, chance: random.Random) -> None:
        seconds = chance.randint(3, 20)
        self.busy(f"STREAM:{seconds}")
        self.ticks(seconds // 4)

    def command(self, chance: random.Random) -> None:
        seconds = chance.randint(3, 20)
        self.busy(f"BASH:<<{waits(seconds)}>>")
        self.ticks(seconds // 4)

    def half_typed(self, chance: random.Random) -> None:
        if not self.world.oracle.wait_quiet(1, 40):
            return
        self.settle()
        person = self.at_terminal()
        line = f"half a line {self.number}"
        person.forget()
        person.type(line)
        if not wait_to_see(person, line, 10):
            raise Failed(f"the half-typed line is not on the screen: {line}")
        self.ticks(chance.randint(1, 4))
        if chance.random() < 0.5:
            self.nudge(chance)
        self.world.tell(f"a person presses Enter: {line}")
        person.press(b"\r")
        self.ledger.typed(f"event {self.number}", line)
        if not self.world.oracle.wait_for(line, 20):
            self.problems.append(f"the half-typed line did not reach the model as it was typed: {line}; the newest: {self.world.oracle.messages()[-2:]}")

    def dialog(self, chance: random.Random) -> None:
        """Only a person approves; then the command runs."""
        if not self.world.oracle.wait_quiet(1, 40):
            return
        self.settle()
        person = self.at_terminal()
        made = self.world.folder / f"made-{self.number}"
        person.forget()
        text = f"ESCALATE:<<touch {made}>> event {self.number}"
        receipt = self.ledger.nudge(f"event {self.number}", text)
        if receipt.receipt != "delivered" or not self.world.oracle.wait_for(text):
            return
        if not wait_to_see(person, self.world.recipe.permission):
            raise Failed("no permission dialog came up")
        requests = len(self.world.oracle.conversation())
        self.ticks(chance.randint(1, 4))
        self.ledger.nudge(f"event {self.number}, dialog", self.texts.next(), mode="immediate")
        if made.exists() or len(self.world.oracle.conversation()) != requests:
            self.problems.append("the dialog was answered by nobody")
            return
        approve = chance.random() < 0.5
        self.world.tell(f"a person {'approves' if approve else 'declines'}")
        person.press(b"\r" if approve else self.world.recipe.decline)
        # opencode asks twice: for a folder that is not its own, and for the command.
        for _ in range(2):
            if approve and not self.world.oracle.wait(made.exists, 10):
                person.press(b"\r")
        if approve and not self.world.oracle.wait(made.exists, 10):
            self.problems.append("a person approved, and the command did not run")
        time.sleep(1)
        if not approve and made.exists():
            self.problems.append("the command ran although it was declined")

    def pause(self, chance: random.Random) -> None:
        """Stopped for a moment, as by a machine that sleeps: it goes on by itself."""
        self.watch.signal(self.pid, signal.SIGSTOP)
        self.ticks(1)
        self.watch.signal(self.pid, signal.SIGCONT)

    def stop(self, chance: random.Random) -> None:
        """Hung for good, with work."""
        self.excuse()
        self.settle()
        self.watch.signal(self.pid, signal.SIGSTOP)
        self.watch.mail(f"mail {self.number}")
        self.replaced("stopped")

    def kill(self, chance: random.Random) -> None:
        self.settle()
        self.watch.signal(self.pid, signal.SIGKILL)
        self.replaced("killed")

    # What is checked.

    def replaced(self, how: str) -> None:
        before = self.pid
        self.leave_terminal()
        if not self.tick_while(lambda: self.world.pid() not in (before, None), BACK_WITHIN):
            self.problems.append(f"the agent was {how} and is not back after {BACK_WITHIN} s")
            return
        self.excuse()
        # Or after five of them it would be a crash loop.
        self.world.ostler("patrol", "clear", UNIT)
        self.pid = self.world.pid() or 0
        self.ledger.resumed()
        text = f"are you back {self.number}"
        self.watch.say(text)
        self.ledger.typed(f"event {self.number}", text)

    def excuse(self) -> None:
        self.world.oracle.wait(lambda: not self.world.oracle.is_busy(), 30)
        self.excused |= set(self.watch.interrupted())

    def look(self, event: str) -> None:
        """The agent is the same process, and waited for every answer."""
        self.problems += [f"after {event}: {problem}" for problem in self.watch.is_same(self.pid)]
        for one in self.watch.interrupted():
            if one not in self.excused and not self.is_steered(one):
                self.problems.append(f"after {event}: an answer was cut off: {one}")

    def is_steered(self, request: str) -> bool:
        """codex ends a silent answer when a message comes, and asks again with it: that is how it takes one while it works."""
        number = int(request.split()[1])
        requests = self.world.oracle.conversation()
        position = next(index for index, entry in enumerate(requests) if entry["n"] == number)
        following = requests[position + 1:]
        return bool(following) and len(following[0]["users"]) > len(requests[position]["users"]) and self.is_ours(following[0]["users"][-1])

    def is_ours(self, text: str) -> bool:
        """It was sent by a user in the immediate mode, not by the patrol."""
        return not is_of_the_patrol(text) and any(same(entry.text) == same(text) for entry in self.ledger.entries)

    def settle(self) -> None:
        """At the end of a history every receipt agrees with the log."""
        self.leave_terminal()
        self.world.oracle.wait_quiet(1)
        self.ledger.flush(f"event {self.number}", lambda: self.ticks(1))
        self.problems += self.ledger.check(is_of_the_patrol)
        self.problems += self.twice()

    def twice(self) -> list[str]:
        """The patrol sends the same words again and again; each of its nudges arrives once at most."""
        sent = sum("-> delivered" in line or "-> queued" in line for line in (self.world.folder / "story").read_text(encoding="utf-8").splitlines() if " tick " in line)
        came = len(self.watch.from_patrol())
        return [f"the patrol sent {sent} texts, and the model got {came}"] if came > sent else []

    def at_terminal(self):
        self.leave_terminal()
        self.person = self.world.person()
        return self.person

    def leave_terminal(self) -> None:
        if self.person:
            self.person.leave()
            self.world.people.remove(self.person)
            self.person = None
