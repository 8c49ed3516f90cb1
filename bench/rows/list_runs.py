"""`ostler runs --json` with many live runs, over `ostler --version`."""

import json
import os

from bench import Bench, Failed, Result, Samples, figure, most, timed

TARGET_MS = most(20.0)


def measure(bench: Bench) -> list[Result]:
    runs = 1000
    times = 5 if bench.quick else 20
    more, list_ms, version_ms = Samples(), Samples(), Samples()
    for number in range(bench.rounds):
        with bench.supervisor() as supervisor:
            supervisor.start_live(runs)
            listed = json.loads(supervisor.cli("runs", "--json"))
            if sum(run["state"] == "running" for run in listed) != runs:
                raise Failed(f"{len(listed)} runs are listed instead of {runs}")
            out = os.open(supervisor.home / "out", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            ours, version = Samples(), Samples()
            for _ in range(times):
                version.add(timed([str(bench.ostler), "--version"], supervisor.environment, out) * 1e3)
                ours.add(timed([str(bench.ostler), "runs", "--json"], supervisor.environment, out) * 1e3)
            os.close(out)
        more.add(ours.median - version.median)
        list_ms.add(ours.median)
        version_ms.add(version.median)
        bench.progress(
            f"list {number + 1}/{bench.rounds}: runs {ours.median:.1f} ms, version {version.median:.1f} ms"
        )
    return [
        figure(
            "list",
            f"`ostler runs --json` with {runs} live runs, over `ostler --version` (medians of {times})",
            more,
            TARGET_MS,
            "{:.1f}",
            "ms",
            version_ms.shown("{:.1f}") + " ms",
            list_ms.shown("{:.1f}") + " ms",
            {"runs": runs, "list_ms": list_ms.as_json(), "version_ms": version_ms.as_json()},
        )
    ]
