"""A thousand units: `ostler up` until all run, the idle daemon with them, `ostler ls`."""

import json
import os
import subprocess
import time

from bench import Bench, Failed, Result, Samples, figure, most, ratio, timed
from rows.rest import field, switches

UP_TARGET = most(2.0)
RESIDENT_MB = most(16.0)
WAKEUPS = most(2.0)
LS_TARGET_MS = most(8.0)
PROGRAM = ("/bin/sleep", "100000")


def measure(bench: Bench) -> list[Result]:
    units = 1000
    seconds = 6 if bench.quick else 20
    rounds = min(bench.rounds, 3)
    names = ("bare_s", "bare_mb", "up_s", "rss_mb", "supervisor_mb", "guardian_mb", "wakeups", "ls_ms", "version_ms", "more_ms")
    seen = {name: Samples() for name in names}
    for number in range(rounds):
        for name, value in bare(bench, units).items():
            seen[name].add(value)
        trial(bench, units, seconds, seen)
        bench.progress(
            f"units {number + 1}/{rounds}: "
            + ", ".join(f"{name} {samples.values[-1]:.2f}" for name, samples in seen.items())
        )
    data = {"units": units, "seconds": seconds, **{name: samples.as_json() for name, samples in seen.items()}}
    against = Samples([a / b for a, b in zip(seen["up_s"].values, seen["bare_s"].values)])
    return [
        ratio(
            "units",
            f"{units} units of sleep from `ostler up` to all running, against a loop of posix_spawn",
            against,
            UP_TARGET,
            seen["bare_s"].shown() + " s",
            seen["up_s"].shown() + " s",
            data,
        ),
        figure(
            "units",
            f"supervisor and guardian resident with {units} units",
            seen["rss_mb"],
            RESIDENT_MB,
            "{:.1f}",
            "MB",
            f"{seen['bare_mb'].shown('{:.1f}')} MB in C",
            f"{seen['supervisor_mb'].shown('{:.1f}')} + {seen['guardian_mb'].shown('{:.1f}')} MB",
            data,
        ),
        figure(
            "units",
            f"wake-ups of both a second with {units} units ({seconds} s)",
            seen["wakeups"],
            WAKEUPS,
            "{:.2f}",
            "/s",
            data=data,
        ),
        figure(
            "units",
            f"`ostler ls` of {units} units over `ostler --version`",
            seen["more_ms"],
            LS_TARGET_MS,
            "{:.1f}",
            "ms",
            seen["version_ms"].shown("{:.1f}") + " ms",
            seen["ls_ms"].shown("{:.1f}") + " ms",
            data,
        ),
    ]


def bare(bench: Bench, units: int) -> dict[str, float]:
    """As many children of a program in C that only keeps them."""
    keeper = subprocess.Popen(
        [bench.tool("respawn"), str(units), *PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    seen = {"bare_s": float(keeper.stdout.readline()), "bare_mb": field(keeper.pid, "status", "VmRSS") / 1e6}
    keeper.stdin.close()
    keeper.wait()
    keeper.stdout.close()
    return seen


def trial(bench: Bench, units: int, seconds: int, seen: dict[str, Samples]) -> None:
    words = ", ".join(f"'{word}'" for word in PROGRAM)
    text = "".join(f"[units.u{number:04}]\ncommand = [{words}]\n" for number in range(units))
    with bench.supervisor() as supervisor:
        file = supervisor.home / "ostler.toml"
        file.write_text(text)
        out = os.open(supervisor.home / "out", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        up = [str(bench.ostler), "up", "-f", str(file)]
        seen["up_s"].add(timed(up, supervisor.environment, out))
        views = json.loads(supervisor.cli("ls", "--json"))
        views = views if isinstance(views, list) else views["units"]
        running = sum(view["state"] == "ready" and os.path.exists(f"/proc/{view['pid']}") for view in views)
        if running != units:
            raise Failed(f"{running} units run instead of {units}")
        time.sleep(2)
        pids = (supervisor.pid, supervisor.guardian)
        before = sum(switches(pid)[0] for pid in pids)
        time.sleep(seconds)
        seen["wakeups"].add((sum(switches(pid)[0] for pid in pids) - before) / seconds)
        for name, pid in zip(("supervisor_mb", "guardian_mb"), pids):
            seen[name].add(field(pid, "status", "VmRSS") / 1e6)
        seen["rss_mb"].add(seen["supervisor_mb"].values[-1] + seen["guardian_mb"].values[-1])
        own, version = Samples(), Samples()
        for _ in range(5 if bench.quick else 20):
            version.add(timed([str(bench.ostler), "--version"], supervisor.environment, out) * 1e3)
            own.add(timed([str(bench.ostler), "ls"], supervisor.environment, out) * 1e3)
        os.close(out)
        seen["ls_ms"].add(own.median)
        seen["version_ms"].add(version.median)
        seen["more_ms"].add(own.median - version.median)
        supervisor.cli("down", "-f", str(file))
