"""Cancel of a tree: from the call until all are gone and reaped."""

import os
import time

from bench import Bench, Failed, Result, Samples, Supervisor, most, ratio, spec, no_target

TARGET = most(3.0)
REST = 0.1


def measure(bench: Bench) -> list[Result]:
    processes = 200 if bench.quick else 1000
    times = {name: Samples() for name in ("kill", "socket", "cli")}
    for number in range(bench.rounds):
        times["kill"].add(float(bench.run_tool("killtree", bench.tool("tree"), processes)) * 1e3)
        times["socket"].add(ours(bench, processes, by_socket) * 1e3)
        times["cli"].add(ours(bench, processes, by_cli) * 1e3)
        bench.progress(
            f"cancel {number + 1}/{bench.rounds}: "
            + ", ".join(f"{name} {samples.values[-1]:.1f} ms" for name, samples in times.items())
        )
    data = {"processes": processes, "times_ms": {name: s.as_json() for name, s in times.items()}}
    results = []
    for name, what, target in (("socket", "over the socket", TARGET), ("cli", "with `ostler cancel`", no_target())):
        against = Samples([a / b for a, b in zip(times[name].values, times["kill"].values)])
        results.append(
            ratio(
                "cancel",
                f"a tree of {processes}, {what}, against kill(-pgid, KILL) and waiting for all",
                against,
                target,
                times["kill"].shown("{:.1f}") + " ms",
                times[name].shown("{:.1f}") + " ms",
                data,
            )
        )
    return results


def by_socket(supervisor: Supervisor, run: str) -> float:
    control = supervisor.control()
    begin = time.perf_counter()
    answer = control.call("runs.cancel", {"run": run})
    took = time.perf_counter() - begin
    control.close()
    if answer["alreadyEnded"] or answer["result"]["extinct"] != "yes":
        raise Failed(f"the cancel did not end the tree: {answer}")
    return took


def by_cli(supervisor: Supervisor, run: str) -> float:
    begin = time.perf_counter()
    supervisor.cli("cancel", run)
    return time.perf_counter() - begin


def ours(bench: Bench, processes: int, way) -> float:
    with bench.supervisor() as supervisor:
        control = supervisor.control()
        record = control.call("runs.spawn", spec(bench.tool("tree"), str(processes)))
        wait_until_ready(supervisor, record["runId"])
        time.sleep(REST)
        took = way(supervisor, record["runId"])
        # A group exists as long as one of its members does, including zombies.
        try:
            os.killpg(record["processGroupId"], 0)
            raise Failed("processes of the tree are left")
        except ProcessLookupError:
            pass
        control.close()
    return took


def wait_until_ready(supervisor: Supervisor, run: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if any(file.read_bytes() == b"ready\n" for file in supervisor.log_files(run)):
            return
        time.sleep(0.01)
    raise Failed("the tree did not get ready")
