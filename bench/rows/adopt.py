"""The death of the supervisor with many live runs: from SIGKILL until the next one has adopted all."""

import json
import os
import signal
import time
from pathlib import Path

from bench import Bench, Failed, Result, Samples, Supervisor, figure, most, no_target

TARGET_MS = most(300.0)
# The guardian's delay before it starts the next supervisor is not counted.
WAIT = 1.0
DEATHS = 3
LOOK = 0.001


def measure(bench: Bench) -> list[Result]:
    runs = 100 if bench.quick else 1000
    seen = {name: Samples() for name in ("answer", "listed", "since_start", "bare")}
    for number in range(bench.rounds):
        with bench.supervisor() as supervisor:
            supervisor.start_live(runs)
            seen["bare"].add(bare_ms(bench, supervisor))
            for death in range(DEATHS):
                # The first waits are 1, 2 and 4 s.
                for name, value in die(supervisor, runs, WAIT * 2**death).items():
                    seen[name].add(value)
        bench.progress(
            f"adopt {number + 1}/{bench.rounds}: "
            + ", ".join(f"{name} {shown(samples.values[-DEATHS:])} ms" for name, samples in seen.items())
        )
    data = {"runs": runs, "deaths_a_round": DEATHS, **{name: samples.as_json() for name, samples in seen.items()}}
    baseline = seen["bare"].shown("{:.0f}") + " ms: a pidfd and the stat of each in C"
    what = f"SIGKILL of the supervisor with {runs} runs → the next has adopted all and"
    return [
        figure(
            "adopt",
            f"{what} answers (without the wait of 1, 2, 4 s)",
            seen["answer"],
            TARGET_MS,
            "{:.0f}",
            "ms",
            baseline,
            f"{seen['since_start'].shown('{:.0f}')} ms since its process exists",
            data,
        ),
        figure(
            "adopt", f"{what} `ostler runs --json` shows them", seen["listed"], no_target(), "{:.0f}", "ms", baseline, data=data
        ),
    ]


def bare_ms(bench: Bench, supervisor: Supervisor) -> float:
    """The time that the kernel alone needs to identify each run."""
    pids = "\n".join(map(str, live_pids(supervisor).values()))
    return float(bench.run_tool("look", "identity", text=pids).split()[0]) * 1e3


def shown(values: list[float]) -> str:
    return " ".join(f"{value:.0f}" for value in values)


def die(supervisor: Supervisor, runs: int, wait: float) -> dict[str, float]:
    before = live_pids(supervisor)
    if len(before) != runs:
        raise Failed(f"{len(before)} runs are live instead of {runs}")
    dead = supervisor.pid
    begin = time.perf_counter()
    os.kill(dead, signal.SIGKILL)
    # Until its last thread has ended: that could still accept the call.
    while Path(f"/proc/{dead}").exists():
        time.sleep(LOOK)
    pong = first_answer(supervisor)
    answered = time.perf_counter()
    if pong["live"] != runs or pong["pid"] == dead:
        raise Failed(f"{dead} was killed, and the first answer after it is {pong}")
    listed = live_pids(supervisor)
    shown_at = time.perf_counter()
    if listed != before:
        raise Failed("a run has another pid than before")
    supervisor.status["supervisorPid"] = pong["pid"]
    if pong["guardian"] != supervisor.guardian:
        raise Failed("the guardian is another")
    return {
        "answer": (answered - begin - wait) * 1e3,
        "listed": (shown_at - begin - wait) * 1e3,
        "since_start": (answered - born(pong["pid"])) * 1e3,
    }


def first_answer(supervisor: Supervisor) -> dict:
    """The socket stays open, so a call waits in it; a call whose connection is closed is repeated."""
    while True:
        try:
            control = supervisor.control()
            try:
                return control.call("daemon.ping")
            finally:
                control.close()
        except (OSError, Failed):
            time.sleep(LOOK)


def live_pids(supervisor: Supervisor) -> dict[str, int]:
    runs = json.loads(supervisor.cli("runs", "--json"))
    return {run["runId"]: run["pid"] for run in runs if run["state"] == "running"}


def born(pid: int) -> float:
    """On the clock of `perf_counter`, to 10 ms."""
    behind = time.clock_gettime(time.CLOCK_BOOTTIME) - time.perf_counter()
    return int(stat(pid)[19]) / os.sysconf("SC_CLK_TCK") - behind


def stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
