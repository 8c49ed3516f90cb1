"""The patrol with real agents: nobody healthy is interrupted or ended, a hung or dead agent comes back, a question goes to a person."""

from __future__ import annotations

import signal
import time

from .person import wait_to_see
from .watch import Watch
from .world import Failed, World

LONG = 40  # seconds that the model thinks or streams
COMMAND = 28  # seconds of a command; codex asks the model again after 30
IDLE = 60  # seconds without work: an hour of the guide


def once(count: int) -> range:
    return range(count, count + 1)


def idle(world: World) -> list[str]:
    """Without work it is left alone."""
    watch = Watch(world)
    pid = watch.begin()
    watch.tick_for(IDLE)
    return watch.check_left_alone(pid, once(0), once(0))


def idle_stale(world: World) -> list[str]:
    """With a heartbeat that was promised and is very old, and without work: asked once an hour, never more."""
    watch = Watch(world)
    watch.heartbeat(3600)
    pid = watch.begin()
    watch.tick_for(IDLE)
    return watch.check_left_alone(pid, range(0, 2), once(0))


def mail_read(world: World, heartbeat: bool) -> list[str]:
    """With mail it is nudged, reads its mail, and is left alone."""
    world.model.rules.append(("ostler mail check", world.reads_mail))
    watch = Watch(world)
    if heartbeat:
        watch.heartbeat(3600)
    pid = watch.begin()
    watch.mail("the build is red")
    if not watch.tick_for(90, lambda: bool(watch.from_patrol())):
        return ["no nudge reached the model within 90 s", *watch.check_left_alone(pid, once(1), once(0))]
    world.oracle.wait_quiet(1)
    world.oracle.wait(lambda: watch.unread() == 0, 10)
    problems = [] if watch.unread() == 0 else ["the agent did not read its mail: is the way to it in the nudge?"]
    watch.tick_for(30)
    return problems + watch.check_left_alone(pid, once(1), once(0))


def mail_ignored(world: World) -> list[str]:
    """It answers and does not read its mail: nudged ever more seldom, then a person is notified. It is never interrupted."""
    watch = Watch(world)
    pid = watch.begin()
    watch.mail("the build is red")
    watch.tick_for(120, lambda: bool(watch.escalations()))
    problems = watch.check_left_alone(pid, range(2, 6), once(1))
    nudges = len(watch.from_patrol())
    watch.tick_for(30)
    return problems + watch.check_left_alone(pid, once(nudges), once(1))


def at_work(world: World, directive: str, seconds: int) -> list[str]:
    """While it thinks, streams or runs a command nothing is done to it, though mail waits."""
    watch = Watch(world)
    pid = watch.begin()
    text = f"{directive} long work"
    watch.say(text)
    watch.mail("the build is red")
    begun = len(world.oracle.conversation())
    # A tick may take some seconds, so the last one begins well before the end.
    watch.tick_for(seconds - 18)
    problems = watch.is_same(pid)
    if len(world.oracle.conversation()) != begun:
        problems.append("the model was called again before it, or its command, had come to the end")
    world.oracle.wait_quiet(3, LONG)
    world.oracle.wait(lambda: len(world.oracle.conversation()) > begun or not directive.startswith("BASH"), LONG)
    return problems + [f"an answer was cut off: {one}" for one in watch.interrupted()] + watch.is_same(pid)


def stopped(world: World) -> list[str]:
    """SIGSTOP with work: it comes back with its conversation."""
    watch = Watch(world)
    pid = watch.begin()
    watch.signal(pid, signal.SIGSTOP)
    watch.mail("the build is red")
    watch.tick_for(150, lambda: world.pid() not in (pid, None))
    return watch.has_conversation(pid)


def stopped_at_work(world: World) -> list[str]:
    """SIGSTOP in the middle of an answer."""
    watch = Watch(world)
    pid = watch.begin()
    watch.say("SILENT:10 long work")
    time.sleep(1)
    watch.signal(pid, signal.SIGSTOP)
    watch.mail("the build is red")
    watch.tick_for(200, lambda: world.pid() not in (pid, None))
    return watch.has_conversation(pid)


def killed(world: World) -> list[str]:
    """SIGKILL: it is started again with its conversation."""
    watch = Watch(world)
    pid = watch.begin()
    watch.signal(pid, signal.SIGKILL)
    watch.tick_for(60, lambda: world.pid() not in (pid, None))
    return watch.has_conversation(pid)


def killed_in_session(world: World) -> list[str]:
    """SIGKILL of the agent below a shell that lives on: the session is there, and the agent in it is dead."""
    watch = Watch(world)
    pid = watch.begin()
    watch.signal(watch.in_shell(pid), signal.SIGKILL)
    watch.tick_for(60, lambda: world.pid() not in (pid, None))
    return watch.has_conversation(pid)


def dialog(world: World, kind: str) -> list[str]:
    """A question is a person's: one is notified once, and nothing is pressed."""
    watch = Watch(world)
    pid = watch.begin()
    made = world.folder / "made"
    person = world.person()
    person.forget()
    watch.say(f"ESCALATE:<<touch {made}>> do it" if kind == "permission" else "ASK me")
    if not wait_to_see(person, world.recipe.permission if kind == "permission" else world.recipe.question):
        raise Failed(f"no {kind} dialog came up")
    watch.mail("the build is red")
    requests = len(world.oracle.conversation())
    watch.tick_for(45)
    problems = watch.check_left_alone(pid, once(0), once(1))
    if made.exists():
        problems.append("the command was approved")
    if len(world.oracle.conversation()) != requests:
        problems.append("the dialog was answered")
    person.press(world.recipe.decline)
    time.sleep(2)
    watch.tick_for(6)
    if made.exists():
        problems.append("the command ran although it was declined")
    return problems + watch.is_same(pid)


def half_typed(world: World) -> list[str]:
    """A person's half line stays, though mail waits; a person is notified once."""
    watch = Watch(world)
    pid = watch.begin()
    person = world.person()
    person.forget()
    person.type("half a sentence")
    if not wait_to_see(person, "half a sentence"):
        raise Failed("the half-typed line is not on the screen")
    watch.mail("the build is red")
    watch.tick_for(45)
    problems = watch.check_left_alone(pid, once(0), range(0, 2))
    person.press(b"\r")
    if not world.oracle.wait_for("half a sentence", 20):
        problems.append(f"the half-typed line did not reach the model as it was typed: {world.oracle.messages()[-2:]}")
    return problems + watch.is_same(pid)


def spawned(world: World) -> list[str]:
    """`patrol spawn -m TEXT` of an agent that was stopped: the first message reaches the model once."""
    watch = Watch(world)
    watch.begin()
    problems = []
    for number in range(3):
        world.ostler("stop", "a")
        text = f"first message {number}"
        world.ostler("patrol", "spawn", "a", "-m", text)
        watch.tick_for(60, lambda: world.oracle.has(text) or any(text in message for message in world.oracle.messages()))
        world.oracle.wait_quiet(1)
        found = sum(text in message for message in world.oracle.messages())
        if found != 1:
            problems.append(f"the first message reached the model {found} times: {text}; nudges: {[(one['text'], one['receipt'], one['why']) for one in world.nudges().values()]}")
    return problems


def limited(world: World) -> list[str]:
    """At a usage limit nothing is typed; when it is over the agent is told to go on, once."""
    watch = Watch(world)
    pid = watch.begin()
    world.nudge("LIMIT:30 work")
    world.oracle.wait_for("LIMIT:30 work")
    time.sleep(2)
    watch.mail("the build is red")
    requests = len(world.oracle.conversation())
    watch.tick_for(25)
    problems = watch.is_same(pid)
    if len(world.oracle.messages()) > 3:
        problems.append(f"something was typed at a usage limit: {world.oracle.messages()[3:]}")
    world.tell(f"{requests} requests before, {len(world.oracle.conversation())} now; told: {watch.escalations()}")
    if len(watch.escalations()) != 1:
        problems.append(f"a person was notified {len(watch.escalations())} times, not 1: {watch.escalations()}")
    return problems
