"""Log throughput."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from .. import procfs
from ..driver import Profile
from ..session import BenchError
from ..stats import summary

NAME = "logs"
TITLE = "Log throughput"
DEFINITION = (
    "One service, started by a signal, writes 100-byte lines to stdout as fast as it can (bulk: 65,500-byte writes, "
    "1024 MiB, or 256 for slow peers; lines: one write per line, 256 MiB) -> all bytes are in the "
    "peer's log files (sizes added up: visible, not necessarily on disk). MB/s is 10^6 bytes. cpu_s_per_gib: CPU seconds of "
    "the supervisor's processes (loggers too) per GiB. lost_lines: lines written less lines found. Baselines: stdout "
    "straight to a file, and through cat.")


def _count(paths: list[Path]) -> tuple[int, int]:
    size = lines = 0
    for p in paths:
        with open(p, "rb", buffering=0) as f:
            while block := f.read(1 << 20):
                size += len(block)
                lines += block.count(b"\n")
    return size, lines


def _size(files) -> int:
    return sum(f.stat().st_size for f in files())


def _measure(files, supervisors: list[int], service: int, total: int, timeout: float, seen=None, count=None) -> dict:
    """Let the service go; follow the size of the log until it is all there or has stopped growing.
    seen() and count(): for a peer whose log is not plain text (bytes so far; bytes and lines at the end)."""
    seen = seen or (lambda: _size(files))
    count = count or (lambda: _count(files()))
    cpu0 = procfs.total_activity(supervisors)["cpu_ns"]
    t0 = time.monotonic()
    os.kill(service, signal.SIGUSR1)
    size, moved = 0, t0
    while size < total and time.monotonic() - t0 < timeout and time.monotonic() - moved < 15:
        try:
            now = seen()
        except FileNotFoundError:  # being rotated
            now = size
        if now > size:
            size, moved = now, time.monotonic()
        time.sleep(0.002)
    wall = max(moved - t0, 1e-6)
    time.sleep(0.5)
    cpu = (procfs.total_activity(supervisors)["cpu_ns"] - cpu0) / 1e9
    got, lines = count()
    return {"wall_s": wall, "mb_s": min(got, total) / 1e6 / wall, "cpu_s_per_gib": cpu / (total / 2**30),
            "bytes": total, "lost_lines": total // 100 - lines, "extra_bytes": got - total}


def _cases(bench, slow_bulk: bool):
    for label, chunk, slow in (("bulk", 65500, slow_bulk), ("lines", 100, True)):
        mib = bench.opt.log_mib_slow if slow else bench.opt.log_mib
        yield label, chunk, (mib << 20) // 100 * 100


def run(bench, cls) -> dict:
    if not cls.has_logs:
        return {"na": cls.log_note}
    out = {}
    for label, chunk, total in _cases(bench, cls.slow_logs):
        with bench.session(f"logs-{cls.name}") as s:
            d = bench.driver(cls, s, Profile())
            d.configure(bench.services(cls, s, 1, mode="firehose", log=True, extra=(str(total), str(chunk))))
            d.start()
            bench.up(d, 60)
            time.sleep(2.0)
            name = d.services[0].name
            own = {k: (lambda f=getattr(d, f"log_{k}"): f(name)) for k in ("seen", "count") if hasattr(d, f"log_{k}")}
            out[label] = _measure(lambda: [p for p in d.log_files(name) if p.exists()],
                                  [p.pid for p in s.supervisor_procs()], s.instances()[0].pid, total, 240, **own)
    return out


def baseline(bench, through: str) -> dict:
    """through: 'file' or 'cat'."""
    out = {}
    for label, chunk, total in _cases(bench, False):
        with bench.session(f"logs-base-{through}") as s:
            target = s.dir / "out.log"
            cmd = f'exec "$0" firehose "$1" base {total} {chunk}'
            shell = f"{cmd} > out.log" if through == "file" else f"( {cmd} ) | cat > out.log"
            s.spawn(["sh", "-c", shell, bench.tools.svc, str(s.report_file)])
            if s.wait_report(lambda r: r.role == "ready", 10) is None:
                raise BenchError("baseline did not start")
            time.sleep(0.5)
            cats = [p.pid for p in s.supervisor_procs() if p.comm == "cat"]
            out[label] = _measure(lambda: [target], cats, s.instances()[0].pid, total, 120)
    return out


def extra(bench) -> dict:
    """Baselines, measured in every round beside the peers."""
    return {"(direct > file)": lambda: baseline(bench, "file"), "(| cat > file)": lambda: baseline(bench, "cat")}


def merge(rounds: list[dict]) -> dict:
    if "na" in rounds[0]:
        return rounds[0]
    out = {}
    for label in ("bulk", "lines"):
        rs = [r[label] for r in rounds]
        out[label] = {"mb_s": summary((r["mb_s"] for r in rs), 1),
                      "cpu_s_per_gib": summary((r["cpu_s_per_gib"] for r in rs), 3),
                      "lost_lines": max(r["lost_lines"] for r in rs), "bytes": rs[0]["bytes"],
                      "extra_bytes": rs[0]["extra_bytes"]}
    return out
