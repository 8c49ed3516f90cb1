"""Which processes of a service's tree outlive the service."""

from __future__ import annotations

import time

from .. import procfs
from ..driver import Profile
from ..session import BenchError

NAME = "containment"
TITLE = "Containment (leaks)"
ROLES = ("main", "child", "grandchild", "stubborn", "newpgrp", "daemon")
DEFINITION = (
    "One service starts a tree: child, grandchild (same process group), stubborn (same group, ignores "
    "TERM/INT/HUP/QUIT), newpgrp (setpgid), daemon (fork, setsid, fork). stop: the peer's stop command for that "
    "service, stop grace 3 s; survivors 6 s after it returned. crash: kill -9 of main alone; survivors of the OLD tree "
    "2 s after the successor started. default, and hardened: with options that "
    "kill more, as listed under Settings; not claimed to be all there are.")


def _tree(bench, cls, s, profile):
    d = bench.driver(cls, s, profile)
    d.configure(bench.services(cls, s, 1, mode="tree"))
    d.start()
    end = time.monotonic() + 40
    while time.monotonic() < end:
        if {i.role for i in s.instances()} >= set(ROLES):
            time.sleep(2.0)
            return d, s.instances()
        time.sleep(0.1)
    raise BenchError(f"tree did not come up: {sorted(i.role for i in s.instances())}")


def _survivors(s, before) -> list[str]:
    s.reap()
    return sorted((i.role for i in before if procfs.alive(i.pid)), key=ROLES.index)


def run(bench, cls) -> dict:
    out: dict = {}
    for label, hardened in (("default", False), ("hardened", True)):
        profile = Profile(fast=True, hardened=hardened)
        with bench.session(f"contain-{cls.name}") as s:
            d, before = _tree(bench, cls, s, profile)
            rc, wall, text = s.run(d.stop_service_argv(d.services[0].name), env=d.env(), timeout=40)
            time.sleep(6)
            out[f"stop_{label}"] = {"survivors": _survivors(s, before), "rc": rc, "wall_s": round(wall, 3),
                                    "output": text[-300:]}
        with bench.session(f"contain-{cls.name}") as s:
            d, before = _tree(bench, cls, s, profile)
            main = next(i for i in before if i.role == "main")
            s.poll_reports()
            t0 = time.monotonic_ns()
            s.kill(main.pid)
            r = s.wait_report(lambda r: r.role == "main" and r.ns > t0, 20)
            time.sleep(2)
            out[f"crash_{label}"] = {"survivors": _survivors(s, before), "respawned": r is not None}
    return out


def merge(rounds: list[dict]) -> dict:
    agree = all(r[k]["survivors"] == rounds[0][k]["survivors"] for r in rounds for k in rounds[0])
    return {**rounds[0], "rounds": len(rounds), "rounds_agree": agree}
