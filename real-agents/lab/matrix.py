"""Runs the tests, several at a time, and counts."""

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
from dataclasses import dataclass
from pathlib import Path

from . import selfcheck
from .offline import leave_the_network
from .tests import OTHERS, Test, all_tests, other_tests, short_tests
from .world import Failed, Programs, World


@dataclass
class Result:
    test: Test
    seconds: float = 0
    problems: list[str] | None = None
    skipped: str = ""
    folder: Path | None = None


class Matrix:
    def __init__(self, arguments: argparse.Namespace):
        agents = Path(arguments.agents).resolve()
        folders = [str(agents / "node24/node_modules/node/bin"), str(agents / "agents/node_modules/.bin")]
        folders += [str(agents / other / "node_modules/.bin") for other in OTHERS]
        self.programs = Programs(str(Path(arguments.ostler).resolve()), folders)
        self.scratch = Path(tempfile.mkdtemp(prefix="real-agents-"))
        self.keep = arguments.keep
        self.without_tmux = "" if shutil.which("tmux") else "tmux is not installed"
        self.lock = threading.Lock()
        self.open: set[World] = set()
        self.is_ended = False

    def run(self, test: Test) -> Result:
        result = Result(test)
        if test.backend == "tmux":
            result.skipped = self.without_tmux
        if self.is_ended:
            result.skipped = "the run was ended"
        if not result.skipped:
            self.do(result)
        self.show(result)
        return result

    def do(self, result: Result) -> None:
        test, began = result.test, time.monotonic()
        result.folder = self.scratch / test.name.replace("/", "-")
        try:
            world = World(self.programs, result.folder, test.agent, test.backend, **test.options)
        except OSError as error:
            result.problems = [f"its folder cannot be made: {error}"]
            return
        self.open.add(world)
        problems: list[str] = []
        try:
            problems += test.run(world)
        except Failed as failed:
            problems.append(str(failed))
        except Exception:  # a test that breaks is a test that failed
            problems.append(traceback.format_exc())
        for problem in problems:
            world.tell(f"FAILED: {problem}")
        if world in self.open:
            self.open.remove(world)
            problems += world.close()
        result.problems, result.seconds = problems, time.monotonic() - began
        if not problems and not self.keep:
            world.remove()

    def show(self, result: Result) -> None:
        with self.lock:
            if result.skipped:
                print(f"SKIPPED {result.test.name}: {result.skipped}", flush=True)
                return
            print(f"{'FAILED' if result.problems else 'passed'} {result.test.name} ({result.seconds:.0f} s)", flush=True)
            for problem in result.problems or []:
                print("    " + problem.replace("\n", "\n    "), flush=True)

    def leave(self, *_) -> None:
        """Ended by a signal: nothing is left running."""
        self.is_ended = True
        while self.open:
            self.open.pop().close()
        os._exit(143)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Real agents under a real Ostler, against a stand-in model.")
    parser.add_argument("--ostler", default="target/debug/ostler")
    parser.add_argument("--agents", required=True, help="the folder that .ci/agents installs into")
    parser.add_argument("--short", action="store_true", help="at most three minutes")
    parser.add_argument("--only", default="*", help="names of tests with * and ?, separated by commas")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    parser.add_argument("--texts", type=int, default=200, help="how many texts into each idle agent; a fifth of it elsewhere")
    parser.add_argument("--histories", type=int, default=60, help="how many random histories, over all agents and backends")
    parser.add_argument("--first", type=int, default=0, help="the first history")
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 2) + 1, help="tests at a time; they mostly wait")
    parser.add_argument("--keep", action="store_true", help="keep the folders of tests that passed")
    parser.add_argument("--others", action="store_true", help="agents that .ci/agents does not install: pi, qwen")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--skip", default="", help="skip everything, for this reason")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    tests = short_tests(asked.seed) if asked.short else all_tests(asked.seed, asked.texts, asked.histories, asked.first)
    if asked.others:
        tests = other_tests(asked.seed, asked.texts)
    tests = [test for test in tests if any(fnmatch.fnmatch(test.name, one) for one in asked.only.split(","))]
    if asked.list:
        print("\n".join(test.name for test in tests))
        return 0
    if asked.skip:
        for test in tests:
            print(f"SKIPPED {test.name}: {asked.skip}")
        print(f"real agents were NOT tried: {asked.skip}\n0 passed, 0 failed, {len(tests)} skipped")
        return 0
    for problem in selfcheck.wrong():
        print(f"the oracle is wrong: {problem}")
        return 1
    online = leave_the_network()
    if online:
        print(f"no network namespace ({online}): only their settings keep the agents from calling out")
    matrix = Matrix(asked)
    signal.signal(signal.SIGTERM, matrix.leave)
    signal.signal(signal.SIGINT, matrix.leave)
    print(f"seed {asked.seed}, {len(tests)} tests, {asked.jobs} at a time, in {matrix.scratch}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        results = list(pool.map(matrix.run, tests))
    skipped = [result for result in results if result.skipped]
    failed = [result for result in results if result.problems]
    if failed or asked.keep:
        print(f"each test's story, model.log and home are in {matrix.scratch}")
    else:
        shutil.rmtree(matrix.scratch, ignore_errors=True)
    for result in [*skipped, *failed]:
        print(f"{'SKIPPED' if result.skipped else 'FAILED'} {result.test.name}")
    print(f"{len(results) - len(failed) - len(skipped)} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed else 0
