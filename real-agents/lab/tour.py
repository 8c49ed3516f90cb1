"""The short form: one agent in many situations, one after the other."""

from __future__ import annotations

import time

from . import nudges
from .ledger import Ledger
from .person import wait_to_see
from .texts import Texts
from .watch import Watch
from .world import Failed, World


def tour(world: World, texts: Texts) -> list[str]:
    world.model.rules.append(("ostler mail check", world.reads_mail))
    watch = Watch(world)
    ledger = Ledger(world)
    # The first message right after the start.
    (world.work / "town").mkdir()
    world.up()
    nudges.first(world, ledger)
    pid = world.pid() or 0
    problems: list[str] = []
    for number in range(10):
        receipt = ledger.nudge("idle", texts.next())
        if receipt.receipt != "delivered" and not nudges.cannot_be_sent(world.agent, receipt.text):
            problems.append(f"not delivered to an idle agent: {receipt}")
        world.oracle.wait_for(receipt.text, 15 if receipt.receipt == "delivered" else 0)
    nudges.together(world, ledger, "crowd", [texts.next() for _ in range(3)])
    world.oracle.wait_quiet(0.5)

    nudges.work(world, ledger, "SILENT:4 work")
    watch.tick()
    for _ in range(2):
        ledger.nudge("busy, immediate", texts.next(), mode="immediate")
    world.oracle.wait_quiet(1)
    ledger.flush("busy")

    problems += half_typed(world, ledger, texts)
    problems += permission(world, ledger, watch, texts)

    watch.mail("the build is red")
    if not watch.tick_for(40, lambda: watch.unread() == 0):
        problems.append("the mail was not read within 40 s")
    world.oracle.wait_quiet(0.5)
    problems += watch.is_same(pid)
    for message in watch.from_patrol():
        ledger.typed("patrol", message)
    problems += nudges.finish(world, ledger, "tour", pid)

    watch.signal(pid, 9)
    watch.tick_for(40, lambda: world.pid() not in (pid, None))
    before = len(world.oracle.messages())
    world.say("are you back")
    if world.pid() in (pid, None) or len(world.oracle.messages()) <= before:
        problems.append(f"after SIGKILL it did not come back with its conversation: {before} messages before, {len(world.oracle.messages())} now")
    return problems


def half_typed(world: World, ledger: Ledger, texts: Texts) -> list[str]:
    person = world.person()
    line = "half a sentence"
    person.type(line)
    if not wait_to_see(person, line):
        raise Failed("the half-typed line is not on the screen")
    time.sleep(0.3)
    ledger.nudge("half-typed, immediate", texts.next(), mode="immediate")
    problems = ["the half-typed line was sent"] if world.oracle.has(line) else []
    person.press(b"\r")
    ledger.typed("the half-typed line", line)
    if not world.oracle.wait_for(line, 20):
        problems.append("the half-typed line did not reach the model as it was typed")
    world.oracle.wait_quiet(0.5)
    return problems


def permission(world: World, ledger: Ledger, watch: Watch, texts: Texts) -> list[str]:
    person = world.person()
    person.forget()
    made = world.folder / "made"
    nudges.work(world, ledger, f"ESCALATE:<<touch {made}>> it")
    if not wait_to_see(person, world.recipe.permission):
        raise Failed("no permission dialog came up")
    time.sleep(0.5)
    requests = len(world.oracle.conversation())
    ledger.nudge("permission, immediate", texts.next(), mode="immediate")
    watch.tick()
    watch.tick()
    problems = []
    if made.exists() or len(world.oracle.conversation()) != requests:
        problems.append("the dialog was answered")
    if len(watch.escalations()) != 1:
        problems.append(f"a person was notified {len(watch.escalations())} times, not 1: {watch.escalations()}")
    person.press(world.recipe.decline)
    time.sleep(1.5)
    return problems
