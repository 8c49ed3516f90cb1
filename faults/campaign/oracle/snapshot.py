"""A snapshot of the kernel's, the registry's and Ostler's view, taken as close together as possible."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from .. import procfs, registry
from ..engine import Away, Container, Engine
from ..home import MARK
from ..procfs import Look, Process
from ..world import World

FORGED = "01900000-0000-7000-8000-000000000000"  # what a child of native/copy.c says of itself
LEAF = re.compile(r"/ostler-([0-9a-f-]+)/run-([0-9a-f-]+)")


@dataclass(frozen=True)
class Life:
    """A copy, as it recorded itself."""

    name: str
    process: Process
    run: str
    at_ns: int


@dataclass(frozen=True)
class Member:
    """A live process that is neither the campaign's own, nor a bystander, nor a caller."""

    look: Look
    leaf: str | None  # the run whose cgroup it is in
    run: str | None  # OSTLER_RUN_ID
    verb: str | None  # of Ostler's own: supervisor, guardian, shim, pane-exec ...
    container: str | None = None  # the one it is in


class Snapshot:
    def __init__(self, world: World, quick: bool = False):
        self.lives = lives(world, "lives")
        self.overlaps = lives(world, "overlaps") + lives(world, "inside/overlaps")
        self.inside = lives(world, "inside/lives")
        with world.lock:  # the bystanders do not change meanwhile
            self.bystanders = list(world.bystanders)
            self.everyone = procfs.everyone()
        self.containers = [one for engine in world.engines for one in asked(world, engine, quick)]
        if quick:
            return
        self.members = members(world, self.everyone)
        self.records = {row["run_id"]: dict(row) for row in registry.rows(world.home.registry, "SELECT * FROM runs")}
        self.leases = [dict(row) for row in registry.rows(world.home.registry, "SELECT * FROM leases")]
        self.views = {view["unit"]: view for view in world.home.call("ls", "--json").json()}

    def is_alive(self, process: Process) -> bool:
        now = self.everyone.get(process.pid)
        return now is not None and now.process == process and now.state not in "ZX"


def lives(world: World, file: str) -> list[Life]:
    found = []
    for line in (world.facts / file).read_text().splitlines():
        name, pid, start, run, at_ns = line.split()
        found.append(Life(name, Process(int(pid), int(start)), run, int(at_ns)))
    return found


def asked(world: World, engine: Engine, quick: bool) -> list[Container]:
    """In a quick snapshot an engine that does not answer is no problem: the next snapshot covers it."""
    try:
        return engine.containers(world.home.instance(), 2 if quick else 20, deep=not quick)
    except Away as error:
        if quick:
            return []
        raise registry.Unreadable(str(error)) from None


def is_below(pid: int, whom: set[int], everyone: dict[int, Look]) -> bool:
    while pid in everyone:
        if pid in whom:
            return True
        pid = everyone[pid].parent
    return False


def by_lock(world: World, pid: int) -> str | None:
    """The run of the copy whose lock it has inherited: without cgroups, the only evidence for a process without environment."""
    for file in procfs.open_files(pid):
        if file.parent == world.facts / "locks":
            return next((life.run for life in reversed(lives(world, "lives")) if life.name == file.name), None)
    return None


def members(world: World, everyone: dict[int, Look]) -> list[Member]:
    others = {process.pid for process in world.bystanders} | set(world.home.reaper.waited)
    below = {look.process.pid: look for look in procfs.descendants(os.getpid(), everyone)}
    # A process with the mark that is not below the campaign has escaped.
    for pid, look in everyone.items():
        if pid not in below and look.state not in "ZX" and procfs.variable(pid, MARK) == world.home.mark:
            below[pid] = look
    found = []
    engines = {pid for pid in below if any(str(engine.folder) in word for engine in world.engines for word in procfs.arguments(pid))}
    for pid, look in below.items():
        if pid in others:
            continue
        if container := next((id for engine in world.engines if (id := engine.container_of(pid))), None):
            found.append(Member(look, None, None, None, container))
            continue
        if is_below(pid, engines, everyone):
            continue
        words = procfs.arguments(pid)
        leaf = LEAF.search(procfs.group(pid))
        verb = words[1] if len(words) > 1 and words[0].endswith("ostler") else None
        run = procfs.variable(pid, "OSTLER_RUN_ID")
        run = None if run == FORGED else run
        if verb == "reaper" and len(words) > 2:
            run = words[2]  # whose orphans come to it
        if not leaf and not run:
            run = by_lock(world, pid)
        if leaf and leaf[1] != world.home.instance():
            leaf = None
        found.append(Member(look, leaf[2] if leaf else None, run, verb))
    return found
