"""`ostler start` in an empty home: from the call until it reports that the supervisor answers."""

import os
import time

from bench import Bench, Failed, Result, Samples, figure, most, timed

TARGET_MS = most(60.0)


def measure(bench: Bench) -> list[Result]:
    starts = 3 if bench.quick else 10
    start_ms, version_ms, bare_ms = Samples(), Samples(), Samples()
    for number in range(bench.rounds):
        start, version = Samples(), Samples()
        # A guardian and a supervisor are two processes.
        bare_ms.add(2e3 * float(bench.run_tool("spawnloop", 100, 1, "/bin/true")) / 100)
        for _ in range(starts):
            supervisor = bench.supervisor()
            out = os.open(bench.scratch / "out", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            version.add(timed([str(bench.ostler), "--version"], supervisor.environment, out) * 1e3)
            os.close(out)
            began = time.perf_counter()
            with supervisor:
                start.add((time.perf_counter() - began) * 1e3)
                if not all(supervisor.status[name] for name in ("pid", "supervisorPid")):
                    raise Failed(f"not both are there: {supervisor.status}")
        start_ms.add(start.median)
        version_ms.add(version.median)
        bench.progress(f"start {number + 1}/{bench.rounds}: {start.median:.1f} ms, version {version.median:.1f} ms")
    return [
        figure(
            "start",
            f"`ostler start` → ready, empty home (medians of {starts})",
            start_ms,
            TARGET_MS,
            "{:.1f}",
            "ms",
            f"{bare_ms.shown('{:.1f}')} ms for two of posix_spawn + wait in C; {version_ms.shown('{:.1f}')} ms for `--version`",
            data={"version": version_ms.as_json(), "bare": bare_ms.as_json()},
        )
    ]
