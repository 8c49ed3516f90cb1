"""After the last stop there is no process, no cgroup and no open record."""

from __future__ import annotations

import os
import time

from .. import procfs, registry
from ..steps_log import Violation
from . import bystanders, containers, copies, output
from .snapshot import Snapshot, members


def nothing_left(oracle) -> None:
    world = oracle.world
    # `stop` returns when all is gone; what is looked at here is looked at at once.
    left = members(world, procfs.everyone())
    if left:
        words = [(member.look.process.pid, " ".join(procfs.arguments(member.look.process.pid))[-80:]) for member in left]
        raise Violation(f"processes are left after the stop: {words[:10]}")
    folder = world.home.groups()
    if folder and folder.exists():
        raise Violation(f"a cgroup is left after the stop: {folder} with {sorted(entry.name for entry in folder.iterdir() if entry.is_dir())}")
    if open_ones := registry.live_runs(world.home.registry):
        raise Violation(f"records are open after the stop: {sorted(open_ones)}")
    quick = Snapshot(world, quick=True)
    quick.records = {row["run_id"]: dict(row) for row in registry.rows(world.home.registry, "SELECT * FROM runs")}
    for check in (copies.overlapping, bystanders.touched, containers.left, containers.foreign, output.whole):
        for problem in oracle.run(check, quick):
            raise Violation(problem)


def remove_groups(home) -> None:
    folder = home.groups()
    end = time.monotonic() + 5
    while home.instance() and folder and folder.exists() and time.monotonic() < end:
        for place, _, _ in os.walk(folder, topdown=False):
            try:
                os.rmdir(place)
            except OSError:
                time.sleep(0.01)
