"""The guardian of many live runs: its memory, and its activity when idle."""

import os
import time

from bench import Bench, Failed, Result, Samples, figure, most, no_target
from rows.rest import bare_mb, field, switches, ticks

TARGET_MB = most(3.0)
# For each run it holds standard output, error and input, and the process.
HELD_A_RUN = 3


def measure(bench: Bench) -> list[Result]:
    runs = 1000
    seconds = 6 if bench.quick else 12
    rounds = min(bench.rounds, 3)
    seen = {
        name: Samples()
        for name in ("rss_mb", "anon_mb", "pss_mb", "empty_rss_mb", "held", "wakeups", "cpu_ms", "after_rss_mb", "bare_mb")
    }
    for number in range(rounds):
        with bench.supervisor() as supervisor:
            pid = supervisor.guardian
            seen["empty_rss_mb"].add(field(pid, "status", "VmRSS") / 1e6)
            supervisor.start_live(runs)
            time.sleep(2)
            held = len(os.listdir(f"/proc/{pid}/fd"))
            if held < runs * HELD_A_RUN:
                raise Failed(f"the guardian holds {held} descriptors for {runs} runs")
            seen["held"].add(held)
            seen["bare_mb"].add(bare_mb(bench, "hold", held))
            before = switches(pid)[0], ticks(pid)
            time.sleep(seconds)
            seen["wakeups"].add((switches(pid)[0] - before[0]) / seconds)
            seen["cpu_ms"].add((ticks(pid) - before[1]) * 1e3 / os.sysconf("SC_CLK_TCK") / seconds)
            seen["rss_mb"].add(field(pid, "status", "VmRSS") / 1e6)
            seen["anon_mb"].add(field(pid, "status", "RssAnon") / 1e6)
            seen["pss_mb"].add(field(pid, "smaps_rollup", "Pss") / 1e6)
            # The memory after a thousand more runs that have ended.
            bench.run_tool("drive", supervisor.socket, runs, 32, "each", "/bin/true")
            seen["after_rss_mb"].add(field(pid, "status", "VmRSS") / 1e6)
        bench.progress(
            f"guardian {number + 1}/{rounds}: "
            + ", ".join(f"{name} {samples.values[-1]:.2f}" for name, samples in seen.items())
        )
    data = {"runs": runs, "seconds": seconds, **{name: samples.as_json() for name, samples in seen.items()}}
    return [
        figure(
            "guardian",
            f"resident memory with the descriptors of {runs} runs ({seen['held'].median:.0f})",
            seen["rss_mb"],
            TARGET_MB,
            "{:.2f}",
            "MB",
            f"{seen['empty_rss_mb'].shown()} MB without runs; {seen['bare_mb'].shown()} MB in C with as many descriptors",
            f"{seen['anon_mb'].shown()} MB its own (anonymous), {seen['pss_mb'].shown()} MB proportional",
            data,
        ),
        figure(
            "guardian",
            f"wake-ups a second with {runs} live runs ({seconds} s)",
            seen["wakeups"],
            no_target(),
            "{:.2f}",
            "/s",
            ours=f"{seen['cpu_ms'].median:.2f} ms of processor a second",
            data=data,
        ),
    ]
