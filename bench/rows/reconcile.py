"""Stale records at start: from the start of the supervisor to its first answer."""

import os
import shutil
import sqlite3
import time
import uuid
from pathlib import Path

from bench import Bench, Failed, Result, Samples, figure, most

TARGET_S = most(1.0)


def measure(bench: Bench) -> list[Result]:
    stale = 1000 if bench.quick else 10_000
    times = {name: Samples() for name in ("empty", "stale")}
    for number in range(bench.rounds):
        times["empty"].add(start_time(bench, 0))
        times["stale"].add(start_time(bench, stale))
        bench.progress(
            f"reconcile {number + 1}/{bench.rounds}: "
            + ", ".join(f"{name} {samples.values[-1] * 1e3:.0f} ms" for name, samples in times.items())
        )
    more = Samples([a - b for a, b in zip(times["stale"].values, times["empty"].values)])
    return [
        figure(
            "reconcile",
            f"start → first answer with {stale} stale records, more than with none",
            more,
            TARGET_S,
            "{:.3f}",
            "s",
            times["empty"].shown("{:.3f}") + " s",
            times["stale"].shown("{:.3f}") + " s",
            {"stale": stale, "times": {name: s.as_json() for name, s in times.items()}},
        )
    ]


def start_time(bench: Bench, stale: int) -> float:
    home = bench.folder("home")
    try:
        # The first start makes the registry and the instance's id.
        with bench.supervisor(home):
            pass
        instance = (home / "instance").read_text().strip()
        if stale:
            insert(home / "registry.db", instance, stale)
        # The file is in the page cache either way; the disk is not what is measured.
        os.sync()
        supervisor = bench.supervisor(home)
        begin = time.perf_counter()
        with supervisor:
            control = supervisor.control()
            control.call("daemon.ping")
            took = time.perf_counter() - begin
            control.close()
            check(home / "registry.db", stale)
        return took
    finally:
        shutil.rmtree(home, ignore_errors=True)


def insert(path: Path, instance: str, count: int) -> None:
    """Runs that a supervisor killed in mid-work would leave: some pids are free, some are another's now."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    free = int(Path("/proc/sys/kernel/pid_max").read_text()) + 1
    at_ms = int(time.time() * 1e3) - 60_000
    rows = []
    for number in range(count):
        run = str(uuid.uuid4())
        pid = os.getpid() if number % 2 else free + number
        rows.append(
            (run, "bench", "pipe", pid, 1, boot, pid, f"/sys/fs/cgroup/ostler-{instance}/run-{run}", "running",
             at_ms, at_ms, instance, "no", "/bin/sleep 100000", at_ms, 3000, 0, 1)
        )
    registry = sqlite3.connect(path)
    with registry:
        registry.executemany(
            "INSERT INTO runs (run_id, session_id, backend_id, pid, start_time, boot_id, process_group_id, cgroup, "
            "state, created_at_ms, updated_at_ms, owner_instance_id, extinct, command, started_at_ms, grace_ms, "
            "detach_allowed, started_mono_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
    registry.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    registry.close()


def check(path: Path, stale: int) -> None:
    registry = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    live = registry.execute("SELECT count(*) FROM runs WHERE state <> 'exited'").fetchone()[0]
    settled = registry.execute("SELECT count(*) FROM runs WHERE termination = 'reconciled-stale'").fetchone()[0]
    registry.close()
    # The history may have been pruned by then; but nothing may be open.
    if live or (stale and not settled):
        raise Failed(f"{live} records are still open, {settled} are settled")
