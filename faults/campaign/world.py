"""The work that Ostler runs: units of every kind, and their declarations."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import procfs
from .engine import Engine
from .home import Home
from .procfs import Process

AT_ONCE = 'restart = { when = "always", initial = "0", limit = { count = 0, window = "1s" } }'
SOON = 'restart = { when = "always", initial = "1s", factor = 1, max = "1s", limit = { count = 0, window = "1s" } }'

# By engine: name, words, the rest.
CONTAINERS = {"docker": [("docked", "tree", AT_ONCE), ("moored", "", SOON)], "podman": [("podded", "tree", SOON)]}


@dataclass
class Unit:
    name: str
    words: str
    rest: str
    must_run: bool = True  # ready whenever no fault hits it
    numbered: bool = False
    engine: str | None = None  # whose container it is
    is_agent: bool = False  # the patrol starts it again


@dataclass
class World:
    home: Home
    copy: str
    facts: Path  # where copies report of themselves
    ports: list[int] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    engines: list[Engine] = field(default_factory=list)
    bystanders: list[Process] = field(default_factory=list)
    forged: list[tuple[subprocess.Popen, Process]] = field(default_factory=list)  # bystanders that say they are of a run
    own: list[subprocess.Popen] = field(default_factory=list)
    deaf: set[str] = field(default_factory=set)  # runs whose output could not be read any longer
    lossy: set[str] = field(default_factory=set)  # runs that lived while there was no room for output
    unreported: set[str] = field(default_factory=set)  # runs whose losses were reported in a registry that was damaged
    struck: set[str] = field(default_factory=set)  # runs that lived while guardian and supervisor were killed
    since_ns: int = 0  # copies before this have no record, because their registry was lost
    lock: threading.Lock = field(default_factory=threading.Lock)

    def prepare(self, with_tmux: bool) -> None:
        for facts in (self.facts, self.inside()):
            for folder in ("locks", "written"):
                (facts / folder).mkdir(parents=True)
            for file in ("lives", "overlaps"):
                (facts / file).touch()
        self.ports = [free_port()]
        self.units = [
            Unit("quick", "tree", AT_ONCE),
            Unit("soon", "tree ignore-term", SOON),
            Unit("numbers", "numbers 5 2", AT_ONCE, numbered=True),
            Unit("bursts", "numbers 200 400", SOON, numbered=True),
            Unit("terminal", "numbers 20 3", f'backend = "pty"\n{AT_ONCE}', numbered=True),
            # Forty lines, and then nothing for days: what was result before a kill is shown after it.
            Unit("result", "numbers 1000000000 40", AT_ONCE, numbered=True),
            Unit("shown", "numbers 1000000000 40", f'backend = "pty"\n{AT_ONCE}', numbered=True),
            Unit("usual", "life 1500 1", "", must_run=False),
            Unit("asked", "", f'health = {{ exec = ["test", "-d", "{self.facts}"], interval = "300ms", timeout = "10s", start_after = "0", failures = 3 }}\n{AT_ONCE}'),
            Unit("web", f"port {self.ports[0]}", f'ready = {{ http = "http://127.0.0.1:{self.ports[0]}/" }}\nhealth = {{ http = "http://127.0.0.1:{self.ports[0]}/", expect = "healthy", interval = "500ms", timeout = "10s", failures = 3, start_after = "1s" }}\n{SOON}'),
            Unit("timed", "life 300 0", 'schedule = { cron = "*/2 * * * * *", overlap = "skip" }', must_run=False),
            Unit("after", "", f'depends_on = ["web"]\n{SOON}'),
        ]
        if with_tmux:
            self.units.append(Unit("seated", "tree", f'backend = "tmux"\n{SOON}'))
            self.units += [Unit("deacon", "tree", "", is_agent=True), Unit("digger", "", "", is_agent=True)]
        for engine in self.engines:
            self.units += [Unit(name, words, rest, engine=engine.kind) for name, words, rest in CONTAINERS[engine.kind]]
        self.declare()

    def declare(self) -> None:
        """A file for units without an engine and with docker, and one for podman: a file uses the engine of its `up`'s environment."""
        texts: dict[Path, str] = {}
        if self.agents():
            (self.home.project / "town").mkdir()
            texts[self.home.project / "ostler.toml"] = '[patrol]\nroot = "town"\ntick = "1s"\n\n'
        for unit in self.units:
            file = self.project(unit.engine) / "ostler.toml"
            program = ["/bin/copy", "/facts"] if unit.engine else [self.copy, str(self.facts)]
            words = ", ".join(f'"{word}"' for word in [*program, unit.name, *unit.words.split()])
            table = "patrol.watch" if unit.is_agent else "units"
            text = f'[{table}.{unit.name}]\ncommand = [{words}]\nenv.FAULTS_MARK = "{self.home.mark}"\n'
            if unit.engine:
                image = next(engine.image for engine in self.engines if engine.kind == unit.engine)
                text += f'backend = "container"\nimage = "{image}"\nnetwork = "none"\nvolumes = ["{self.inside()}:/facts"]\n'
            texts[file] = texts.get(file, "") + text + f'stop = {{ grace = "500ms" }}\n{unit.rest}\n\n'
        for file, text in texts.items():
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)

    def project(self, engine: str | None) -> Path:
        return self.home.project.with_name("q") if engine == "podman" else self.home.project

    def each_project(self) -> list[dict]:
        """The folder and environment for `up` and `down`."""
        others = [engine for engine in self.engines if engine.kind == "podman"]
        return [{}, *({"cwd": self.project(engine.kind), "env": self.home.environment | engine.variables()} for engine in others)]

    def inside(self) -> Path:
        """The folder in which copies in containers record themselves: their pid differs there, and they do not know their run."""
        return self.facts / "inside"

    def agents(self) -> list[Unit]:
        return [unit for unit in self.units if unit.is_agent]

    def tmux(self, *words: str) -> str:
        """Calls the home's tmux server from outside."""
        words = ("-S", str(self.home.path / "tmux.sock"), *words)
        return self.home.finish(self.home.spawn(list(words), program="tmux"), list(words), 60).out

    def sessions(self) -> list[str]:
        return self.tmux("list-sessions", "-F", "#{session_name}").split()

    def contained(self) -> list[Unit]:
        return [unit for unit in self.units if unit.engine]

    def names(self) -> list[str]:
        return [unit.name for unit in self.units]

    def start_bystanders(self) -> None:
        """Bystanders: the same program and arguments, not started by Ostler."""
        for words in (["quick", "tree"], ["numbers"], ["web"]):
            facts = self.facts.parent / "elsewhere" / words[0]
            for folder in ("locks", "written"):
                (facts / folder).mkdir(parents=True)
            with self.home.reaper.lock:
                child = subprocess.Popen([self.copy, str(facts), *words], start_new_session=True, cwd=self.facts,
                                         env={"PATH": os.defpath}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
                self.home.reaper.waited.add(child.pid)
            self.own.append(child)
            while not (facts / "lives").exists():
                time.sleep(0.005)
        # No other process is below the campaign yet, and what was orphaned has come to us.
        below = [seen.process for seen in procfs.descendants(os.getpid())]
        self.bystanders = [process for process in below if not any(engine.is_own(process.pid) for engine in self.engines)]
        for engine in self.engines:
            unit = CONTAINERS[engine.kind][0][0]
            facts = self.facts.parent / "elsewhere" / unit
            for folder in ("locks", "written"):
                (facts / folder).mkdir(parents=True)
            engine.make_foreign(unit, facts)
            while not (facts / "lives").exists():
                time.sleep(0.005)
            self.bystanders += [seen.process for seen in procfs.everyone().values() if engine.container_of(seen.process.pid) == engine.foreign]

    def start_forged(self, run: str) -> int:
        with self.home.reaper.lock:
            child = subprocess.Popen([self.copy, "stay"], start_new_session=True, env={"PATH": os.defpath, "OSTLER_RUN_ID": run},
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            self.home.reaper.waited.add(child.pid)
        process = procfs.look(child.pid).process
        self.forged.append((child, process))
        with self.lock:
            self.bystanders.append(process)
        return child.pid

    def end_forged(self) -> None:
        child, process = self.forged.pop(0)
        with self.lock:
            if process in self.bystanders:
                self.bystanders.remove(process)
            child.kill()
            child.wait()
        self.home.reaper.waited.discard(child.pid)

    def stop_bystanders(self) -> None:
        while self.forged:
            self.end_forged()
        for process in self.bystanders:
            process.signal(signal.SIGKILL)
        for child in self.own:
            child.wait()
            self.home.reaper.waited.discard(child.pid)

    def excuse(self, which: set[str], runs: set[str]) -> None:
        with self.lock:
            which |= runs


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def has_tmux() -> bool:
    return shutil.which("tmux") is not None
