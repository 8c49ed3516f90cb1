"""Which tests there are, and runs them."""

from __future__ import annotations

import argparse
import concurrent.futures
import fnmatch
import os
import shutil
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import nudges, patrol, watch
from .texts import Texts
from .world import Failed, Programs, World

AGENTS = ("claude", "codex", "opencode")
BACKENDS = ("pty", "tmux")


@dataclass(frozen=True)
class Test:
    name: str
    agent: str
    backend: str
    options: dict
    run: Callable[[World], list[str]]


@dataclass
class Result:
    test: Test
    problems: list[str]
    seconds: float
    folder: Path


def nudge_tests(agent: str, backend: str, count: int, seed: int) -> list[Test]:
    some = max(4, count // 5)

    def texts(part: str) -> Texts:
        return Texts(f"{seed} {agent} {backend} {part}")

    parts: dict[str, tuple[Callable[[World], list[str]], dict]] = {
        "idle": (lambda world: nudges.at_idle(world, texts("idle"), count), {}),
        "crowd": (lambda world: nudges.crowd(world, texts("crowd"), some), {}),
        "busy": (lambda world: nudges.busy(world, texts("busy"), some, None), {}),
        "busy-immediate": (lambda world: nudges.busy(world, texts("busy-immediate"), some, "immediate"), {}),
        "start": (lambda world: nudges.at_start(world, texts("start"), some), {}),
        "half-typed": (lambda world: nudges.half_typed(world, texts("half-typed"), some), {}),
        "permission": (lambda world: nudges.dialog(world, texts("permission"), some, "permission"), {"asks": True}),
        "question": (lambda world: nudges.dialog(world, texts("question"), some, "question"), {"asks": True}),
    }
    return [Test(f"nudge/{part}/{agent}/{backend}", agent, backend, options, run) for part, (run, options) in parts.items()]


def patrol_tests(agent: str, backend: str) -> list[Test]:
    plain, asks = watch.options(), watch.options(asks=True)
    parts: dict[str, tuple[Callable[[World], list[str]], dict]] = {
        "idle": (patrol.idle, plain),
        "idle-stale": (patrol.idle_stale, plain),
        "mail-read": (lambda world: patrol.mail_read(world, False), plain),
        "mail-read-stale": (lambda world: patrol.mail_read(world, True), plain),
        "mail-ignored": (patrol.mail_ignored, plain),
        "silent": (lambda world: patrol.at_work(world, f"SILENT:{patrol.LONG}"), plain),
        "streaming": (lambda world: patrol.at_work(world, f"STREAM:{patrol.LONG}"), plain),
        "in-a-command": (lambda world: patrol.at_work(world, f"BASH:<<sleep {patrol.LONG}>>"), plain),
        "stopped": (patrol.stopped, plain),
        "stopped-at-work": (patrol.stopped_at_work, plain),
        "killed": (patrol.killed, plain),
        "permission": (lambda world: patrol.dialog(world, "permission"), asks),
        "question": (lambda world: patrol.dialog(world, "question"), asks),
        "half-typed": (patrol.half_typed, plain),
        "spawned": (patrol.spawned, plain),
        "limited": (patrol.limited, plain),
    }
    return [Test(f"patrol/{part}/{agent}/{backend}", agent, backend, options, run) for part, (run, options) in parts.items()]


def all_tests(arguments: argparse.Namespace) -> list[Test]:
    tests = []
    for agent in (*AGENTS, "codex-daemon"):
        for backend in BACKENDS:
            tests += nudge_tests(agent, backend, arguments.texts, arguments.seed)
            tests += patrol_tests(agent, backend)
    return tests


# Worlds that are open, to be closed if the run is ended from outside.
OPEN: set[World] = set()
ENDED = threading.Event()


def run_one(test: Test, programs: Programs, scratch: Path) -> Result:
    folder = scratch / test.name.replace("/", "-")
    began = time.monotonic()
    if ENDED.is_set():
        return Result(test, ["the run was ended from outside"], 0, folder)
    world = World(programs, folder, test.agent, test.backend, **test.options)
    OPEN.add(world)
    problems: list[str] = []
    try:
        problems += test.run(world)
    except Failed as failed:
        problems.append(str(failed))
    except Exception:  # noqa: BLE001 - a test that breaks is a test that failed
        problems.append(traceback.format_exc())
    for problem in problems:
        world.tell(f"FAILED: {problem}")
    if world in OPEN:
        OPEN.remove(world)
        problems += world.close()
    return Result(test, problems, time.monotonic() - began, folder)


def leave(*_) -> None:
    """Ended by a signal: nothing is left running."""
    ENDED.set()
    while OPEN:
        OPEN.pop().close()
    os._exit(143)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ostler", required=True)
    parser.add_argument("--agents", required=True, help="the folder where node24 and agents are installed")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", default="*", help="patterns of tests, separated by commas")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2)))
    parser.add_argument("--keep", action="store_true", help="keep the folders of tests that passed")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    tests = [test for test in all_tests(arguments) if any(fnmatch.fnmatch(test.name, one) for one in arguments.only.split(","))]
    if arguments.list:
        print("\n".join(test.name for test in tests))
        return 0
    agents = Path(arguments.agents).resolve()
    programs = Programs(str(Path(arguments.ostler).resolve()), [str(agents / "node24/node_modules/node/bin"), str(agents / "agents/node_modules/.bin")])
    scratch = Path(tempfile.mkdtemp(prefix="real-agents-"))
    print(f"seed {arguments.seed}, {len(tests)} tests, {arguments.jobs} at a time, in {scratch}", flush=True)
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    lock = threading.Lock()

    def one(test: Test) -> Result:
        result = run_one(test, programs, scratch)
        with lock:
            print(f"{'FAILED' if result.problems else 'passed'} {test.name} ({result.seconds:.0f} s)", flush=True)
            for problem in result.problems:
                print("    " + problem.replace("\n", "\n    "), flush=True)
        if not result.problems and not arguments.keep:
            shutil.rmtree(result.folder, ignore_errors=True)
        return result

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(one, tests))
    failed = sum(bool(result.problems) for result in results)
    if not failed and not arguments.keep:
        shutil.rmtree(scratch, ignore_errors=True)
    else:
        print(f"the folders of tests that failed are in {scratch}")
    print(f"{len(results) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0
