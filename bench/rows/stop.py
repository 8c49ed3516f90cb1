"""`ostler stop` with many runs that honour TERM: from the call until all are gone, and until it returns."""

import json
import os
import subprocess
import time

from bench import Bench, Failed, Result, Samples, Supervisor, figure, most, no_target
from rows.adopt import die, live_pids

TARGET_MS = most(500.0)
REST = 0.5
LOOK = 0.001


def measure(bench: Bench) -> list[Result]:
    runs = 100 if bench.quick else 1000
    times = {name: Samples() for name in ("kill", "gone", "returned", "adopted_gone", "adopted_returned")}
    for number in range(bench.rounds):
        times["kill"].add(float(bench.run_tool("killtree", bench.tool("tree"), runs)) * 1e3)
        for before, kind in ("", False), ("adopted_", True):
            gone, returned = stop(bench, runs, kind)
            times[before + "gone"].add(gone * 1e3)
            times[before + "returned"].add(returned * 1e3)
        bench.progress(
            f"stop {number + 1}/{bench.rounds}: "
            + ", ".join(f"{name} {samples.values[-1]:.0f} ms" for name, samples in times.items())
        )
    data = {"runs": runs, "times_ms": {name: samples.as_json() for name, samples in times.items()}}
    what = f"`ostler stop` with {runs} runs that honour TERM: the call →"
    baseline = times["kill"].shown("{:.0f}") + " ms: kill(-pgid, KILL) of a tree in C"
    results = []
    for name, label, target in (
        ("gone", "all gone and reaped", TARGET_MS),
        ("returned", "it returns", no_target()),
        ("adopted_gone", "all gone, after the supervisor was killed once and has adopted them", no_target()),
        ("adopted_returned", "it returns, after the same", no_target()),
    ):
        results.append(figure("stop", f"{what} {label}", times[name], target, "{:.0f}", "ms", baseline, data=data))
    return results


def stop(bench: Bench, runs: int, adopted: bool) -> tuple[float, float]:
    with bench.supervisor() as supervisor:
        supervisor.start_live(runs)
        if adopted:
            die(supervisor, runs, 0)
        pids = list(live_pids(supervisor).values())
        if len(pids) != runs:
            raise Failed(f"{len(pids)} runs are live instead of {runs}")
        time.sleep(REST)
        return stop_timed(supervisor, pids)


def stop_timed(supervisor: Supervisor, pids: list[int]) -> tuple[float, float]:
    """Seconds until all are gone, and until the call returns."""
    runs, pids = len(pids), list(pids)
    argv = [str(supervisor.bench.ostler), "--no-start", "stop", "--json"]
    gone = None
    begin = time.perf_counter()
    call = subprocess.Popen(argv, env=supervisor.environment, stdout=subprocess.PIPE, text=True)
    # It writes at its end, more than a pipe holds; so it is read, and looked for between.
    os.set_blocking(call.stdout.fileno(), False)
    said, open_end = b"", True
    while gone is None or open_end:
        while pids and is_gone(pids[-1]):
            pids.pop()
        if not pids and gone is None:
            gone = time.perf_counter() - begin
        try:
            piece = os.read(call.stdout.fileno(), 1 << 20)
            said += piece
            open_end = bool(piece)
        except BlockingIOError:
            time.sleep(LOOK)
        if time.perf_counter() - begin > 120:
            raise Failed(f"{len(pids)} runs are there after 120 s")
    code = call.wait()
    returned = time.perf_counter() - begin
    call.stdout.close()
    if code != 0:
        raise Failed(f"ostler stop: exit {code}")
    ended = json.loads(said)["ended"]
    # 15: each was ended by TERM, none had to be killed.
    if len(ended) != runs or any(result["exitSignal"] != 15 for result in ended):
        raise Failed(f"{len(ended)} runs were ended, not all by TERM")
    supervisor.check_stopped()
    return gone, returned


def is_gone(pid: int) -> bool:
    """A zombie is not gone."""
    try:
        os.kill(pid, 0)
        return False
    except ProcessLookupError:
        return True
