"""Which tests there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from . import nudges, patrol, watch
from .histories import Histories
from .recipes import RECIPES, waits
from .texts import Texts
from .tour import tour
from .world import World

AGENTS = ("claude", "codex", "opencode")
BACKENDS = ("pty", "tmux")
# Tried on demand, where they are installed in a folder of their own beside the others.
OTHERS = ("pi", "qwen")
OTHERS_PARTS = ("idle", "crowd", "busy", "busy-immediate", "woken", "typist-killed", "start", "half-typed")


@dataclass(frozen=True)
class Test:
    name: str
    agent: str
    backend: str
    options: dict
    run: Callable[[World], list[str]]


Part = tuple[Callable[[World], list[str]], dict]


def nudge_parts(agent: str, backend: str, count: int, seed: int) -> dict[str, Part]:
    some = max(4, count // 5)

    def texts(part: str) -> Texts:
        return Texts(f"{seed} {agent} {backend} {part}")

    return {
        "nudge/idle": (lambda world: nudges.at_idle(world, texts("idle"), count), {}),
        "nudge/edge": (lambda world: nudges.at_idle(world, texts("edge"), some, Texts.edge), {}),
        "nudge/crowd": (lambda world: nudges.crowd(world, texts("crowd"), some), {}),
        "nudge/busy": (lambda world: nudges.busy(world, texts("busy"), some, None), {}),
        "nudge/busy-immediate": (lambda world: nudges.busy(world, texts("busy-immediate"), some, "immediate"), {}),
        "nudge/woken": (lambda world: nudges.woken(world, texts("woken"), some), {}),
        "nudge/typist-killed": (lambda world: nudges.typist_killed(world, texts("typist-killed"), some), {}),
        "nudge/start": (lambda world: nudges.at_start(world, texts("start"), some), {}),
        "nudge/half-typed": (lambda world: nudges.half_typed(world, texts("half-typed"), some), {}),
        "nudge/permission": (lambda world: nudges.dialog(world, texts("permission"), some, "permission"), {"asks": True}),
        "nudge/question": (lambda world: nudges.dialog(world, texts("question"), some, "question"), {"asks": True}),
    }


def patrol_parts(agent: str) -> dict[str, Part]:
    plain, asks = watch.options(), watch.options(asks=True)
    return {
        "patrol/idle": (patrol.idle, plain),
        "patrol/idle-stale": (patrol.idle_stale, plain),
        "patrol/mail-read": (lambda world: patrol.mail_read(world, False), plain),
        "patrol/mail-read-stale": (lambda world: patrol.mail_read(world, True), plain),
        "patrol/mail-ignored": (patrol.mail_ignored, plain),
        "patrol/silent": (lambda world: patrol.at_work(world, f"SILENT:{patrol.LONG}", patrol.LONG), plain),
        "patrol/streaming": (lambda world: patrol.at_work(world, f"STREAM:{patrol.LONG}", patrol.LONG), plain),
        "patrol/in-a-command": (lambda world: patrol.at_work(world, f"BASH:<<{waits(patrol.COMMAND)}>>", patrol.COMMAND), plain),
        "patrol/stopped": (patrol.stopped, plain),
        "patrol/stopped-at-work": (patrol.stopped_at_work, plain),
        "patrol/killed": (patrol.killed, plain),
        "patrol/killed-in-session": (patrol.killed_in_session, watch.options(in_shell=RECIPES[agent].command[0])),
        "patrol/permission": (lambda world: patrol.dialog(world, "permission"), asks),
        "patrol/question": (lambda world: patrol.dialog(world, "question"), asks),
        "patrol/half-typed": (patrol.half_typed, plain),
        "patrol/spawned": (patrol.spawned, plain),
        "patrol/limited": (patrol.limited, plain),
    }


def short_tests(seed: int) -> list[Test]:
    """Each agent once through many situations; opencode, which is slow, on one backend, which changes with the seed."""
    seats = [("opencode", BACKENDS[seed % 2])] + [(agent, backend) for agent in ("codex", "claude") for backend in BACKENDS]
    tests = []
    for agent, backend in seats:
        texts = Texts(f"{seed} {agent} {backend} tour")
        tests.append(Test(f"tour/{agent}/{backend}", agent, backend, watch.options(asks=True), partial(tour, texts=texts)))
    return tests


def all_tests(seed: int, texts: int, histories: int, first: int) -> list[Test]:
    tests = []
    for agent in (*AGENTS, "codex-daemon"):
        for backend in BACKENDS:
            parts = nudge_parts(agent, backend, texts, seed) | patrol_parts(agent)
            tests += [Test(f"{name}/{agent}/{backend}", agent, backend, options, run) for name, (run, options) in parts.items()]
    seats = [(agent, backend) for agent in AGENTS for backend in BACKENDS]
    for number, (agent, backend) in enumerate(seats):
        share = histories // len(seats) + (number < histories % len(seats))
        if share:
            tests.append(history_test(agent, backend, seed, first, share))
    return tests


def other_tests(seed: int, texts: int) -> list[Test]:
    """Nudges into agents that .ci/agents does not install."""
    tests = []
    for agent in OTHERS:
        for backend in BACKENDS:
            parts = nudge_parts(agent, backend, texts, seed)
            for part in OTHERS_PARTS:
                run, options = parts[f"nudge/{part}"]
                tests.append(Test(f"nudge/{part}/{agent}/{backend}", agent, backend, options, run))
    return tests


def history_test(agent: str, backend: str, seed: int, first: int, count: int) -> Test:
    name = f"histories/{agent}/{backend}"
    return Test(name, agent, backend, watch.options(asks=True), lambda world: Histories(world, seed, name).run(first, count))
