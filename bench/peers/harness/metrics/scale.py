"""Start-up, footprint, idle cost, status latency, respawn among many, stop: one session per N."""

from __future__ import annotations

import os
import time

from .. import procfs
from ..driver import Profile
from ..session import BenchError, wait_watched, watch
from ..stats import summary

NAME = "scale"
TITLE = "Start-up, footprint, status, stop at N services"
DEFINITION = (
    "startup_s: daemon's start command launched -> last of N services' own start stamp. "
    "Footprint: RSS and PSS (smaps_rollup) summed over every process of the supervisor (daemon and per-service "
    "helpers) after idle_s idle seconds; the services themselves are not counted; no per-service logging. "
    "footprint_early: the same before them, as soon as the CPU use has settled. "
    "idle: CPU time (schedstat) and context switches of those processes over idle_s seconds with nothing happening. "
    "status_s: wall time of the CLI's status/list. respawn_ms: kill -9 of one of N, default settings. "
    "stop_s: stop-everything command launched -> last of N service processes gone (pidfd); stop_cmd_s: the command's "
    "own time. Default settings throughout.")


def _supervisor(s) -> list[int]:
    return [p.pid for p in s.supervisor_procs()]


def settle(s, limit: float = 40.0) -> float:
    """Wait until the supervisor's processes use < 5% of a CPU, unchanged in number, for 2 s."""
    t0 = time.monotonic()
    count, calm = -1, 0
    while time.monotonic() - t0 < limit and calm < 2:
        pids = _supervisor(s)
        before = procfs.total_activity(pids)["cpu_ns"]
        time.sleep(1.0)
        used = (procfs.total_activity(pids)["cpu_ns"] - before) / 1e9
        calm = calm + 1 if used < 0.05 and len(pids) == count else 0
        count = len(pids)
    return time.monotonic() - t0


def footprint(s) -> dict:
    tot = {"rss_kib": 0, "pss_kib": 0, "uss_kib": 0, "pte_kib": 0, "procs": 0, "threads": 0, "fds": 0}
    for pid in _supervisor(s):
        for k, v in procfs.memory_kib(pid).items():
            tot[k + "_kib"] += v
        tot["procs"] += 1
        tot["threads"] += procfs.activity(pid)["threads"]
        try:
            tot["fds"] += len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            pass
    return tot


def idle(s, seconds: float) -> dict:
    pids = _supervisor(s)
    a, t0 = procfs.total_activity(pids), time.monotonic()
    time.sleep(seconds)
    b, dt = procfs.total_activity(pids), time.monotonic() - t0
    if b["cpu_ns"] < a["cpu_ns"]:
        return {}  # some of them ended meanwhile, with their counts: the supervisor was not idle
    return {"cpu_pct": round((b["cpu_ns"] - a["cpu_ns"]) / 1e7 / dt, 4),
            "switches_per_s": round((b["switches"] - a["switches"]) / dt, 2)}


def _status(s, d, reps: int) -> dict:
    walls, codes, text = [], set(), ""
    for _ in range(reps):
        rc, wall, text = s.run(d.status_argv(), env=d.env(), timeout=120)
        walls.append(wall)
        codes.add(rc)
    return {"status_s": walls, "status_rc": sorted(codes), "status_lines": text.count("\n")}


def _respawn(s, d, kills: int) -> list[float]:
    got = []
    for k in range(kills):
        victim = d.services[(k * 37) % len(d.services)].name
        inst = [i for i in s.instances() if i.name == victim]
        if not inst:
            continue
        s.poll_reports()
        t0 = time.monotonic_ns()
        s.kill(inst[0].pid)
        r = s.wait_report(lambda r: r.name == victim and r.ns > t0, 40.0)
        if r:
            got.append((r.ns - t0) / 1e6)
        s.reap()
        time.sleep(0.3)
    return got


def _stop(s, d) -> dict:
    s.reap()
    pids = [i.pid for i in s.instances()]
    out: dict = {"instances": len(pids)}
    fds = watch(pids)
    argv, env = d.stop_all_argv(), d.env()
    t0 = time.monotonic()
    p = s.spawn(argv, env=env, log="stop.log")
    gone, out["stop_left"] = wait_watched(fds, 120, t0, adopted=True)
    if gone is not None:
        out["stop_s"] = gone
    ended, _ = wait_watched(watch([p.pid]), 60, t0)
    if ended is not None:
        out["stop_rc"], out["stop_cmd_s"] = p.wait(), max(ended, gone or 0)
    return out


def one(bench, cls, n: int, full: bool) -> dict:
    large = n == max(bench.opt.sizes)
    with bench.session(f"scale-{cls.name}-{n}") as s:
        d = bench.driver(cls, s, Profile())
        d.configure(bench.services(cls, s, n))
        t0 = time.monotonic_ns()
        d.start()
        out: dict = {"startup_s": (bench.up(d) - t0) / 1e9}
        out["settle_s"] = settle(s)
        if full:
            out["footprint_early"] = footprint(s)
            out["idle"] = idle(s, bench.opt.idle_s)
            out["footprint"] = footprint(s)
        out |= _status(s, d, bench.opt.status_reps)
        if full and large:
            if cls.measure_default_respawn:
                out["respawn_ms"] = _respawn(s, d, 5)
            out["footprint_later"] = footprint(s)
        out |= _stop(s, d)
    return out


def run(bench, cls, full: bool = True) -> dict:
    """The first round is full; later ones repeat start-up, status and stop only."""
    out = {}
    for n in bench.opt.sizes:
        if n == 1 and not full:
            continue
        try:
            out[str(n)] = one(bench, cls, n, full)
        except BenchError as e:
            out[str(n)] = {"error": str(e)[-800:]}
    return out


def merge(rounds: list[dict]) -> dict:
    out: dict = {}
    for n in sorted({k for r in rounds for k in r}, key=int):
        trials = [r[n] for r in rounds if n in r]
        ok = [t for t in trials if "error" not in t]
        o: dict = {"errors": [t["error"] for t in trials if "error" in t]}
        for k in ("startup_s", "stop_s", "stop_cmd_s"):
            o[k] = summary(t[k] for t in ok if k in t)
        for k in ("status_s", "respawn_ms"):
            o[k] = summary(v for t in ok for v in t.get(k, []))
        for k in ("footprint", "footprint_early", "footprint_later", "idle", "status_rc", "status_lines", "instances", "stop_left",
                  "stop_rc", "settle_s"):
            vals = [t[k] for t in ok if k in t]
            if vals:
                o[k] = vals[0]
        out[n] = o
    sizes = [int(n) for n in out if "footprint" in out[n]]
    if len(sizes) > 1:
        lo, hi = str(min(sizes)), str(max(sizes))
        for k in ("rss_kib", "pss_kib"):
            diff = out[hi]["footprint"][k] - out[lo]["footprint"][k]
            out[hi]["per_service_" + k] = round(diff / (int(hi) - int(lo)), 2)
    return out
