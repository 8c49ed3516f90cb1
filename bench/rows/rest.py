"""An idle supervisor with many live runs: wake-ups, processor time and memory."""

import os
import re
import subprocess
import time
from pathlib import Path

from bench import Bench, Failed, Result, Samples, figure, most

RUNS = 1000
WAKEUPS = most(2.0)
# 12 MB, and 8 kB a run.
RESIDENT_MB = most(12.0 + RUNS * 0.008)


def measure(bench: Bench) -> list[Result]:
    runs = RUNS
    seconds = 6 if bench.quick else 20
    rounds = min(bench.rounds, 3)
    seen = {name: Samples() for name in ("wakeups", "forced", "cpu_ms", "rss_mb", "pss_mb", "empty_rss_mb", "bare_mb")}
    for number in range(rounds):
        seen["bare_mb"].add(bare_mb(bench, "respawn", runs, "/bin/sleep", "100000"))
        with bench.supervisor() as supervisor:
            seen["empty_rss_mb"].add(field(supervisor.pid, "status", "VmRSS") / 1e6)
            supervisor.start_live(runs)
            # The work of the start must finish first.
            time.sleep(2)
            before = switches(supervisor.pid), ticks(supervisor.pid)
            time.sleep(seconds)
            after = switches(supervisor.pid), ticks(supervisor.pid)
            seen["wakeups"].add((after[0][0] - before[0][0]) / seconds)
            seen["forced"].add((after[0][1] - before[0][1]) / seconds)
            seen["cpu_ms"].add((after[1] - before[1]) * 1e3 / os.sysconf("SC_CLK_TCK") / seconds)
            seen["rss_mb"].add(field(supervisor.pid, "status", "VmRSS") / 1e6)
            seen["pss_mb"].add(field(supervisor.pid, "smaps_rollup", "Pss") / 1e6)
        bench.progress(
            f"rest {number + 1}/{rounds}: "
            + ", ".join(f"{name} {samples.values[-1]:.2f}" for name, samples in seen.items())
        )
    data = {"runs": runs, "seconds": seconds, **{name: samples.as_json() for name, samples in seen.items()}}
    return [
        figure(
            "rest",
            f"wake-ups a second with {runs} live runs (all threads, {seconds} s)",
            seen["wakeups"],
            WAKEUPS,
            "{:.2f}",
            "/s",
            ours=f"{seen['cpu_ms'].median:.2f} ms of processor a second",
            data=data,
        ),
        figure(
            "rest",
            f"resident memory with {runs} live runs",
            seen["rss_mb"],
            RESIDENT_MB,
            "{:.1f}",
            "MB",
            baseline=f"{seen['empty_rss_mb'].shown('{:.1f}')} MB without runs; {seen['bare_mb'].shown('{:.1f}')} MB in C",
            ours=f"{seen['pss_mb'].shown('{:.1f}')} MB proportional",
            data=data,
        ),
    ]


def bare_mb(bench: Bench, *words: object) -> float:
    """The resident memory of a program in C that waits for the end of its input, after its first line."""
    argv = [bench.tool(str(words[0])), *map(str, words[1:])]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as keeper:
        if not keeper.stdout.readline():
            raise Failed(f"{words[0]} did not get ready")
        resident = field(keeper.pid, "status", "VmRSS") / 1e6
        keeper.stdin.close()
    return resident


def field(pid: int, file: str, name: str) -> int:
    """Bytes."""
    found = re.search(rf"^{name}:\s+(\d+) kB", Path(f"/proc/{pid}/{file}").read_text(), re.MULTILINE)
    return int(found[1]) * 1024


def switches(pid: int) -> tuple[int, int]:
    """How often the threads went to sleep by themselves (and so were woken), and were interrupted."""
    totals = [0, 0]
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        text = status.read_text()
        totals[0] += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.MULTILINE)[1])
        totals[1] += int(re.search(r"^nonvoluntary_ctxt_switches:\s+(\d+)", text, re.MULTILINE)[1])
    return totals[0], totals[1]


def ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
