"""One campaign: it starts the work, causes a fault and checks everything step by step, and ends all at the end."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import stat
import threading
import time
from pathlib import Path

from . import disk, faults, native, procfs, registry
from .engine import Engine
from .home import Home
from .oracle import Oracle, ending
from .oracle.snapshot import lives, members
from .steps_log import SLOW, StepsLog, Violation
from .traffic import Traffic
from .world import World, has_tmux

# A guardian waits twice as long after each crash; after so many in a row a new one is due, or most of the time is waiting.
MOST_CRASHES = 3
# Two of these at the same time may leave neither guardian nor supervisor.
OF_THE_DAEMON = {"kill-supervisor", "kill-supervisor-twice", "kill-guardian", "stop-supervisor", "stop-guardian", "stop-both", "commands",
                 "restart-daemon", "forged-id", "sockets-removed", "no-descriptors", "full-disk", "kill-both", "kill-both-apart"}


class Campaign:
    def __init__(self, ostler: Path, folder: Path, log: StepsLog, seed: int, only: list[str]):
        self.folder, self.log, self.seed, self.only = folder, log, seed, only
        self.report = log.report
        self.done: dict[str, int] = {}
        tools = native.build(folder / "bin")
        procfs.become_subreaper()
        self.reaper = procfs.Reaper()
        self.control = native.Control(folder / "control")
        self.home = Home(ostler, folder, self.reaper, variables(folder, tools))
        self.engines: list[Engine] = []
        self.without_engine: dict[str, str] = {}
        self.without_disk = disk.mount(self.home.path)
        self.without_layer = None if is_dynamic(ostler) else "the executable is static"
        self.without_clock: str | None = "not tried yet"
        self.without_tmux = None if has_tmux() else "there is no tmux"
        self.world = World(self.home, str(tools / "copy"), folder / "facts", engines=self.engines)
        self.traffic = Traffic(self.world, log, seed)
        self.oracle = Oracle(self.world, log, self.traffic)

    def members(self):
        return members(self.world, procfs.everyone())

    def begin(self) -> None:
        self.start_engines()
        self.world.prepare(not self.without_tmux)
        self.world.start_bystanders()
        self.up()
        self.without_clock = self.try_clock()
        self.oracle.settle()
        self.traffic.begin()

    def start_engines(self) -> None:
        for engine in [Engine(kind, self.folder / kind, self.reaper) for kind in ("docker", "podman")]:
            if why := engine.why_not(Path(self.world.copy)):
                self.without_engine[engine.kind] = why
                continue
            self.engines.append(engine)
            if engine.kind == "docker":
                self.home.environment |= engine.variables()

    def try_clock(self) -> str | None:
        """Whether the preloaded library changes the supervisor's clock: otherwise a jump is no fault."""
        self.control.set_clock(3600)
        run = self.home.call("run", "--json", "--", "true").json()["runId"]
        self.control.set_clock(0)
        made = registry.rows(self.home.registry, f"SELECT created_at_ms FROM runs WHERE run_id = '{run}'")[0][0]
        return None if made / 1000 > time.time() + 1800 else "the supervisor reads the wall clock past libc, where the layer does not reach"

    def up(self) -> None:
        for project in self.world.each_project():
            result = self.home.call("up", "--no-wait", **project)
            if result.code != 0:
                raise Violation(f"`ostler up` ended with {result.code}: {result.err[:500]}")

    def wanted(self) -> None:
        """Starts every unit, whatever was requested in between."""
        self.up()
        began = time.monotonic()
        result = self.home.call("start", *self.world.names(), seconds=90)
        if (took := time.monotonic() - began) > SLOW:
            self.report(f"  start of all took {took:.0f} s: {result.code} {result.out[-200:]!r} {result.err[-300:]!r}")

    @contextlib.contextmanager
    def unheard(self):
        """Guardian and supervisor die together: live runs may lose output from then on, and from just before."""
        began = time.monotonic_ns()
        self.world.deaf |= self.live()
        try:
            yield
        finally:
            self.world.deaf |= {life.run for life in lives(self.world, "lives") if life.at_ns >= began}

    def no_room(self, since_ns: int) -> None:
        self.world.lossy |= self.live() | {life.run for life in lives(self.world, "lives") if life.at_ns >= since_ns}

    def live(self) -> set[str]:
        """The live copies, by their own records."""
        return {life.run for life in lives(self.world, "lives") if life.process.alive()}

    def lives_of(self, name: str):
        return [life for life in lives(self.world, "lives") if life.name == name]

    def forget_records(self) -> None:
        """A registry was damaged: its earlier content is no longer checked."""
        self.containers_struck()
        self.world.since_ns = time.monotonic_ns()
        self.world.unreported |= self.world.lossy
        self.oracle.counted.clear()
        with self.traffic.lock:
            self.traffic.acknowledged.clear()

    def containers_struck(self) -> None:
        """Ended by a user who may do that: another copy is as good."""
        self.oracle.kept = {}

    def step(self, number: int) -> None:
        choice = random.Random(f"{self.seed}/{number}")
        possible = [fault for name, fault in faults.ALL.items() if (not self.only or name in self.only) and not fault.why_not(self)]
        struck = [choice.choices(possible, [fault.weight for fault in possible])[0]]
        if choice.random() < 0.25 and not struck[0].alone:
            others = [fault for fault in possible if not fault.alone and fault != struck[0]]
            struck += choice.sample(others, min(1, len(others)))
        self.log.step = number
        self.report(" and ".join(fault.name for fault in struck))
        time.sleep(choice.uniform(0, 0.5))
        choices = [random.Random(f"{self.seed}/{number}/{fault.name}") for fault in struck]
        # Together they may end guardian and supervisor at once.
        with self.unheard() if sum(fault.name in OF_THE_DAEMON for fault in struck) > 1 else contextlib.nullcontext():
            self.strike(list(zip(struck, choices)))
        for fault in struck:
            self.done[fault.name] = self.done.get(fault.name, 0) + 1
        self.oracle.never()
        self.look()

    def strike(self, struck) -> None:
        failed: list[BaseException] = []

        def do(fault, choice):
            try:
                fault.does(self, choice)
            except BaseException as error:  # raised again by the caller
                failed.append(error)

        threads = [threading.Thread(target=do, args=pair, daemon=True) for pair in struck]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]

    def look(self) -> None:
        """Calls a command first: a daemon that was killed completely is started when it is needed."""
        self.home.call("ls", seconds=90)
        self.traffic.pause()
        self.agents_back()
        self.oracle.settle()
        if self.traffic.trouble:
            raise Violation(self.traffic.trouble[0])
        if self.home.crashes_in_a_row() >= MOST_CRASHES:
            self.renew()
        self.traffic.go_on()

    def agents_back(self) -> None:
        """The patrol waits longer after each death of an agent, and is restarted later after each of its own; a person
        clears both, as after a cause that is known."""
        began = time.monotonic()
        for unit in self.world.agents():
            self.home.call("patrol", "clear", unit.name, seconds=90)  # also of a death that is yet to be noticed
        while self.world.agents() and time.monotonic() < began + 15:
            views = {view["unit"]: view["state"] for view in self.home.call("ls", "--json", seconds=90).json()}
            away = [unit.name for unit in self.world.agents() if views.get(unit.name) != "ready"]
            patrol = views.get("patrol")
            if patrol == "error":
                raise Violation("the patrol was given up")
            if patrol != "ready" and time.monotonic() > began + 2:
                self.home.call("start", "patrol", seconds=90)
            elif patrol == "ready" and not away:
                return
            for name in away:
                self.home.call("patrol", "clear", name, seconds=90)
            time.sleep(0.3)

    def renew(self) -> None:
        """A new guardian, whose restart delay is a second again."""
        self.report("  a new guardian: stop and start")
        self.containers_struck()
        self.home.call("stop", seconds=90)
        self.home.call("start", seconds=90)
        self.oracle.settle()

    def end(self) -> None:
        self.log.step += 1
        self.report("down and stop")
        self.control.set_clock(0)
        self.traffic.pause()
        self.traffic.end()
        for words, options in [*((["down"], project) for project in self.world.each_project()), (["stop"], {})]:
            result = self.home.call(*words, seconds=120, **options)
            if result.code != 0:
                raise Violation(f"`ostler {words[0]}` ended with {result.code}: {result.err[:500]}")
        ending.nothing_left(self.oracle)
        self.world.stop_bystanders()

    def clean(self, keep: bool) -> None:
        """After a violation: all processes below the campaign are ended, by pidfd, until none is left."""
        self.traffic.over.set()
        if self.engines:
            for seen in members(self.world, procfs.everyone()):
                if not seen.container:
                    seen.look.process.signal(signal.SIGKILL)
            for engine in self.engines:
                engine.end()
        while below := procfs.descendants(os.getpid()):
            for seen in below:
                seen.process.signal(signal.SIGKILL)
            time.sleep(0.05)
        ending.remove_groups(self.home)
        if not self.without_disk:
            if keep:
                shutil.copytree(self.home.path, self.folder / "kept", symlinks=True, ignore=no_files)
            disk.unmount(self.home.path)


def variables(folder: Path, tools: Path) -> dict[str, str]:
    return {"OSTLER_HISTORY_COUNT": "1000000", "OSTLER_HISTORY_AGE": "999999h",
            "LD_PRELOAD": str(tools / "under.so"), "FAULTS_CONTROL": str(folder / "control")}


def is_dynamic(program: Path) -> bool:
    with open(program, "rb") as file:
        return b"ld-linux" in file.read(4096)


def no_files(folder: str, names: list[str]) -> list[str]:
    """Sockets and pipes, which cannot be copied."""
    modes = [(name, os.lstat(os.path.join(folder, name)).st_mode) for name in names]
    return [name for name, mode in modes if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))]
