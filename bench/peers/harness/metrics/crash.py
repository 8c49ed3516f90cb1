"""The supervisor itself is killed with -9, then started again."""

from __future__ import annotations

import time

from .. import procfs
from ..driver import Profile

NAME = "crash"
TITLE = "Supervisor crash and restart"
FOLLOWED_WITHIN_S = 15
DEFINITION = (
    "20 services run (5 with --quick); the supervisor is killed with SIGKILL (the daemon alone; where it has more "
    "processes also all of them at once; Ostler's supervisor, its guardian, and both), and 2 s later started again as its "
    "manual says. "
    "alive_before_restart: originals still running then. 10 s later: originals = first-generation processes still "
    "running, instances = all processes of the services, duplicates = services with more than one instance, missing = "
    "services with none. adopted: originals whose death (kill -9) is followed by a new one within 15 s; orphans: the "
    "other originals, which run on without a supervisor.")


def _one(bench, cls, point: str | None) -> tuple[dict, list[str]]:
    """One crash at the named point, or at the first; and the names of all points."""
    with bench.session(f"crash-{cls.name}") as s:
        d = bench.driver(cls, s, Profile(fast=True))
        d.configure(bench.services(cls, s, bench.opt.crash_services))
        d.start()
        bench.up(d, 90)
        time.sleep(2.5)
        d.prepare_crash()
        time.sleep(1.0)
        s.reap()
        before = {i.pid for i in s.instances()}
        points = d.crash_points()
        supervisors = s.supervisor_procs()
        for pid in points[point or next(iter(points))]:
            try:
                s.kill(pid)
            except ProcessLookupError:
                pass
        time.sleep(2.0)
        s.reap()
        out: dict = {"supervisor_procs": len(supervisors), "originals_before": len(before),
                     "alive_before_restart": sum(procfs.alive(p) for p in before)}
        d.restart()
        time.sleep(10.0)
        s.reap()
        inst = s.instances()
        count = {sv.name: 0 for sv in d.services}
        for i in inst:
            count[i.name] += 1
        originals = [i for i in inst if i.pid in before]
        out |= {"instances": len(inst), "originals": len(originals),
                "duplicates": sum(c > 1 for c in count.values()), "missing": sum(c == 0 for c in count.values())}
        out["status_rc"], _, text = s.run(d.status_argv(), env=d.env(), timeout=30)
        out["status_tail"] = text[-200:]
        out["adopted"] = _followed(s, originals, {i.pid for i in inst})
        out["orphans"] = len(originals) - out["adopted"]
        log = d.dir / "daemon.log"
        out["daemon_log_tail"] = log.read_text(errors="replace")[-400:] if log.exists() else ""
        return out, list(points)


def _followed(s, originals: list, seen: set[int]) -> int:
    """Kills the originals, and counts those that the supervisor starts again: those it had taken over."""
    for victim in originals:
        s.kill(victim.pid)
    names = {i.name for i in originals}
    back: set[str] = set()
    end = time.monotonic() + FOLLOWED_WITHIN_S
    while time.monotonic() < end and back != names:
        time.sleep(0.25)
        s.reap()
        back |= {i.name for i in s.instances() if i.name in names and i.pid not in seen}
    return len(back)


def run(bench, cls) -> dict:
    first, points = _one(bench, cls, None)
    return {points[0]: first, **{point: _one(bench, cls, point)[0] for point in points[1:]}}


def merge(rounds: list[dict]) -> dict:
    keys = ("alive_before_restart", "originals", "instances", "duplicates", "missing", "adopted",
            "orphans")
    out = {}
    for point in rounds[0]:
        seen = [r[point] for r in rounds if point in r]
        agree = all(x.get(k) == seen[0].get(k) for x in seen for k in keys)
        out[point] = {**seen[0], "rounds": len(seen), "rounds_agree": agree}
    return out
