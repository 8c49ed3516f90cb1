"""Nudges in every situation. A receipt is compared with the model's log; nothing may be lost, doubled or mixed."""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Callable
from pathlib import Path

from .ledger import Entry, Ledger
from .oracle import same
from .person import wait_to_see
from .recipes import waits
from .texts import Texts
from .world import Failed, World

# How many nudges share one busy time, one half-typed line or one dialog.
BATCH = 4
CROWD = 6
# A test ends early when so much is wrong.
MOST_PROBLEMS = 12


def first(world: World, ledger: Ledger) -> None:
    """A first message, so that what follows finds a conversation."""
    ledger.add("first", world.say("hello"))
    world.oracle.wait_quiet(0.5)


def finish(world: World, ledger: Ledger, situation: str, pid: int | None) -> list[str]:
    ledger.flush(situation)
    problems = ledger.check()
    if pid is not None and world.pid() != pid:
        problems.append(f"the agent is not the same process any more: {pid}, now {world.pid()} ({world.view().get('why')})")
    world.tell(f"receipts: {ledger.counts()}")
    return problems


def at_idle(world: World, texts: Texts, count: int, form: Callable[[Texts], str] = Texts.next) -> list[str]:
    world.up()
    ledger = Ledger(world)
    first(world, ledger)
    pid = world.pid()
    problems: list[str] = []
    for _ in range(count):
        receipt = ledger.nudge("idle", form(texts))
        if receipt.receipt == "delivered":
            world.oracle.wait_for(receipt.text, 15)
        elif not cannot_be_sent(world.agent, receipt.text):
            problems.append(f"not delivered to an idle agent: {receipt}")
        if receipt.receipt in ("not-sent", "queued"):
            clear(world)
            ledger.flush("idle")
        if world.pid() != pid:
            problems.append(f"the agent ended; the last nudge: {receipt}")
        if len(problems) >= MOST_PROBLEMS:
            break
    return problems + finish(world, ledger, "idle", pid)


def cannot_be_sent(agent: str, text: str) -> bool:
    """The agent would take it for a command whatever is done: it is to be refused."""
    if agent.startswith("claude") and text.lstrip().startswith("/"):
        return True
    if agent.startswith("codex"):
        return text.lstrip().startswith("!")
    if agent == "pi":
        return text.lstrip().startswith(("!", "/")) or any(c in "\u200d\ufe0f" or "\U0001f3fb" <= c <= "\U0001f3ff" or "\U0001f1e6" <= c <= "\U0001f1ff" for c in text)
    if agent == "qwen" and (text.lstrip().startswith("/") or any(word.startswith("@") and len(word) > 1 for word in text.split())):
        return True
    return text.strip() in ("exit", "quit", ":q")


def clear(world: World) -> None:
    """As a person who finds a text in the input box that nobody wants."""
    person = world.person()
    for _ in range(40):
        person.press(b"\x15")
    time.sleep(1)
    person.leave()
    world.people.remove(person)


def crowd(world: World, texts: Texts, count: int) -> list[str]:
    """Several at once into an idle agent."""
    world.up()
    ledger = Ledger(world)
    first(world, ledger)
    pid = world.pid()
    for number in range((count + CROWD - 1) // CROWD):
        together(world, ledger, "crowd", [texts.next() for _ in range(min(CROWD, count - number * CROWD))])
        ledger.flush("crowd")
        world.oracle.wait_quiet(0.5)
    return finish(world, ledger, "crowd", pid)


def together(world: World, ledger: Ledger, situation: str, texts: list[str], mode: str | None = None) -> None:
    with concurrent.futures.ThreadPoolExecutor(len(texts) or 1) as pool:
        for receipt in pool.map(lambda text: world.nudge(text, mode=mode), texts):
            ledger.add(situation, receipt)


def busy(world: World, texts: Texts, count: int, mode: str | None) -> list[str]:
    """While the model is silent, while it streams, and while a command runs."""
    world.up()
    ledger = Ledger(world)
    first(world, ledger)
    pid = world.pid()
    for number in range((count + BATCH - 1) // BATCH):
        word, directive = (("silent", "SILENT:8"), ("streaming", "STREAM:8"), ("in a command", f"BASH:<<{waits(8)}>>"))[number % 3]
        situation = f"{word}, {mode or 'default mode'}"
        work(world, ledger, f"{directive} work {number}")
        time.sleep(texts.random.choice((0, 0.5, 2)))
        batch = [texts.next() for _ in range(min(BATCH, count - number * BATCH))]
        if mode is None:
            together(world, ledger, situation, batch)
        else:
            for text in batch:
                ledger.nudge(situation, text, mode=mode)
        world.oracle.wait_quiet(1)
        ledger.flush(situation)
        world.oracle.wait_quiet(1)
    return finish(world, ledger, "busy", pid)


def work(world: World, ledger: Ledger, text: str) -> None:
    """The model does as it is told, and is at it when this returns."""
    ledger.add("work", world.say(text))


def woken(world: World, texts: Texts, count: int) -> list[str]:
    """With Escape or Ctrl-C first: an idle agent does not end by it, one at work is interrupted where that is known."""
    world.up()
    ledger = Ledger(world)
    first(world, ledger)
    pid = world.pid()
    problems = []
    for number in range(count):
        mode = ("wake", "interrupt")[number % 2]
        is_busy = number % 4 >= 2
        if is_busy:
            work(world, ledger, f"{('SILENT:8', 'STREAM:8')[number // 4 % 2]} work {number}")
            time.sleep(texts.random.choice((0, 1, 2)))
        receipt = ledger.nudge(f"{mode}, {'busy' if is_busy else 'idle'}", texts.next(), mode=mode)
        world.oracle.wait_quiet(1)
        if receipt.receipt == "not-sent" or (is_busy and world.agent != "claude"):
            # A message that was interrupted may be back in the box. That of claude is taken out and waits again.
            clear(world)
        ledger.flush(mode)
        if world.pid() != pid:
            return [*problems, f"the agent ended: {receipt}"]
    taken_back = {same(f"{word} work {number}") for word in ("SILENT:8", "STREAM:8") for number in range(count)}
    for entry in ledger.entries:
        if same(entry.text) in taken_back and same(entry.text) not in world.oracle.messages():
            world.oracle.forgive(entry.text)
            entry.receipt = "taken back by the interrupt"
    return problems + finish(world, ledger, "woken", pid)


def typist_killed(world: World, texts: Texts, count: int) -> list[str]:
    """SIGKILL of whoever types: its text arrives or not, and is never mixed with the next one."""
    world.up()
    ledger = Ledger(world)
    first(world, ledger)
    pid = world.pid()
    for _ in range(count):
        text = texts.next()
        after = texts.random.uniform(0, 0.8)
        world.nudge_killed(text, after)
        ledger.entries.append(Entry(text, "killed", f"after {after:.2f} s", "its typist was killed"))
        time.sleep(0.3)
        receipt = ledger.nudge("after a typist was killed", texts.next())
        if receipt.receipt == "delivered":
            world.oracle.wait_for(receipt.text)
        elif receipt.receipt in ("not-sent", "queued"):
            ledger.flush("after a typist was killed")
    return finish(world, ledger, "killed", pid)


def at_start(world: World, texts: Texts, count: int) -> list[str]:
    """Right after the agent's start, again and again. The conversation continues, so that the log has all of it."""
    ledger = Ledger(world)
    world.up()
    for number in range(count):
        situation = f"start {number}"
        if number:
            world.ostler("restart", "a", seconds=60)
        mode = "immediate" if number % 3 == 1 else None
        if number % 4 == 3:
            time.sleep(texts.random.uniform(0, 3))
        ledger.nudge(situation, texts.next(), mode=mode)
        ledger.flush(situation)
        # A message that the agent took has reached the model before the agent ends.
        ledger.settle()
    return finish(world, ledger, "start", None)


def half_typed(world: World, texts: Texts, count: int) -> list[str]:
    """Beside a line that a person has begun: it stays, and is not sent until the person sends it."""
    world.up()
    ledger = Ledger(world)
    first(world, ledger)
    pid = world.pid()
    person = world.person()
    for number in range((count + BATCH - 1) // BATCH):
        line = f"half a sentence {number}"
        person.forget()
        person.type(line)
        if not wait_to_see(person, line):
            raise Failed(f"the half-typed line is not on the screen: {line}")
        time.sleep(0.3)
        batch = [texts.next() for _ in range(min(BATCH, count - number * BATCH))]
        for text in batch[:2]:
            ledger.nudge("half-typed, immediate", text, mode="immediate")
        # Those in the default mode wait for 15 s each, so they wait together.
        together(world, ledger, "half-typed, default mode", batch[2:])
        if world.oracle.has(line):
            raise Failed(f"the half-typed line was sent: {line}")
        person.press(b"\r")
        ledger.typed("the half-typed line", line)
        if not world.oracle.wait_for(line, 20):
            raise Failed(f"the half-typed line did not reach the model as it was typed: {line}; the newest message is {world.oracle.messages()[-1:]}")
        world.oracle.wait_quiet(0.5)
        ledger.flush("half-typed")
    return finish(world, ledger, "half-typed", pid)


def dialog(world: World, texts: Texts, count: int, kind: str) -> list[str]:
    """Into a question that is for a person: nothing is answered, nothing is approved."""
    world.up()
    ledger = Ledger(world)
    first(world, ledger)
    pid = world.pid()
    person = world.person()
    problems = []
    for number in range((count + BATCH - 1) // BATCH):
        made = Path(world.folder / f"made-{number}")
        text = f"ESCALATE:<<touch {made}>> step {number}" if kind == "permission" else f"ASK step {number}"
        person.forget()
        work(world, ledger, text)
        if not wait_to_see(person, world.recipe.permission if kind == "permission" else world.recipe.question):
            raise Failed(f"no {kind} dialog came up")
        time.sleep(0.5)
        requests = len(world.oracle.conversation())
        batch = [texts.next() for _ in range(min(BATCH, count - number * BATCH))]
        for one in batch[:2]:
            ledger.nudge(f"{kind} dialog, immediate", one, mode="immediate")
        together(world, ledger, f"{kind} dialog, default mode", batch[2:])
        if made.exists():
            problems.append(f"the command was approved: {made.name} exists")
        if len(world.oracle.conversation()) != requests:
            problems.append("the dialog was answered: the model was called while only a person could answer")
        world.oracle.wait_quiet(0.5)
        person.press(world.recipe.decline)
        time.sleep(1.5)
        ledger.flush(f"{kind} dialog")
        if made.exists():
            problems.append(f"the command ran after the dialog was declined: {made.name} exists")
    return problems + finish(world, ledger, f"{kind} dialog", pid)
