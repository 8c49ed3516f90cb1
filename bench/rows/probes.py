"""Health checks of many units: their cost for the supervisor, and whether each runs on time."""

import os
import resource
import signal
import socket
import subprocess
import time

from bench import Bench, Failed, Result, Samples, Supervisor, figure, most, ratio, timed
from rows.usage import ran_ns

HTTP_UNITS, EXEC_UNITS = 500, 200
CPU_PERCENT = most(10.0)
# None may be later.
LATE_MS = most(100.0, every=True)
EXEC = most(1.3)
PROGRAM = "/bin/true"
#: Until all units run and all checks have found their time.
SETTLE_S = 3.0


def measure(bench: Bench) -> list[Result]:
    seconds = 3 if bench.quick else 10
    rounds = min(bench.rounds, 3)
    seen = {name: Samples() for name in ("cpu_percent", "bare_percent", "late_ms", "exec_ms", "bare_ms")}
    for number in range(rounds):
        bare_http(bench, seconds, seen)
        http(bench, seconds, seen)
        commands(bench, seconds, seen)
        bench.progress(
            f"probes {number + 1}/{rounds}: "
            + ", ".join(f"{name} {samples.values[-1]:.2f}" for name, samples in seen.items())
        )
    data = {"seconds": seconds, **{name: samples.as_json() for name, samples in seen.items()}}
    against = Samples([ours / bare for ours, bare in zip(seen["exec_ms"].values, seen["bare_ms"].values)])
    return [
        figure(
            "probes",
            f"{HTTP_UNITS} http checks a second: the supervisor's processor time, of one core",
            seen["cpu_percent"],
            CPU_PERCENT,
            "{:.1f}",
            "%",
            seen["bare_percent"].shown("{:.1f}") + " % to ask as often in C",
            data=data,
        ),
        figure(
            "probes",
            f"{HTTP_UNITS} http checks a second: the latest of all, in the worst round",
            seen["late_ms"],
            LATE_MS,
            "{:.1f}",
            "ms",
            data=data,
        ),
        ratio(
            "probes",
            f"{EXEC_UNITS} checks by {PROGRAM} a second: processor time of each, with all it starts",
            against,
            EXEC,
            seen["bare_ms"].shown("{:.2f}") + " ms",
            seen["exec_ms"].shown("{:.2f}") + " ms",
            data,
        ),
    ]


def declare(bench: Bench, supervisor: Supervisor, healths: list[str]) -> None:
    units = (
        f"[units.u{number:04}]\ncommand = ['/bin/sleep', '100000']\nhealth = {{ {health}, interval = '1s', start_after = '1s' }}\n"
        for number, health in enumerate(healths)
    )
    file = supervisor.home / "ostler.toml"
    file.write_text("".join(units))
    out = os.open(supervisor.home / "out", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    timed([str(bench.ostler), "up", "-f", str(file)], supervisor.environment, out)
    os.close(out)
    time.sleep(SETTLE_S)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def bare_http(bench: Bench, seconds: int, seen: dict[str, Samples]) -> None:
    port, folder = free_port(), bench.folder("asked")
    server = subprocess.Popen([bench.tool("answer"), str(port), str(folder / "asked")])
    try:
        wait_for(port)
        used_s = float(bench.run_tool("ask", port, HTTP_UNITS, seconds))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
    seen["bare_percent"].add(used_s * 100 / seconds)


def wait_for(port: int) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with socket.socket() as knock:
            if knock.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise Failed(f"no process listens on port {port}")


def http(bench: Bench, seconds: int, seen: dict[str, Samples]) -> None:
    port = free_port()
    with bench.supervisor() as supervisor:
        notes = supervisor.home / "asked"
        server = subprocess.Popen([bench.tool("answer"), str(port), str(notes)])
        try:
            url = f"http://127.0.0.1:{port}"
            declare(bench, supervisor, [f"http = '{url}/{number}', expect = 'healthy'" for number in range(HTTP_UNITS)])
            began, before = time.monotonic(), ran_ns(supervisor.pid)
            time.sleep(seconds)
            after, ended = ran_ns(supervisor.pid), time.monotonic()
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
        seen["cpu_percent"].add((after - before) / 1e7 / (ended - began))
        seen["late_ms"].add(latest(notes.read_text(), began, ended) * 1e3)
        if any(restarts for restarts in restarted(supervisor)):
            raise Failed("a unit that was well was started anew")
        supervisor.cli("down", "-f", str(supervisor.home / "ostler.toml"))


def restarted(supervisor: Supervisor) -> list[int]:
    control = supervisor.control()
    views = control.call("units.list")
    control.close()
    return [view["restarts"] for view in views]


def latest(notes: str, began: float, ended: float) -> float:
    """How far behind its own clock the latest check came, in seconds."""
    times: dict[str, list[float]] = {}
    for line in notes.splitlines():
        path, at = line.split()
        if began <= float(at) <= ended:
            times.setdefault(path, []).append(float(at))
    few = [path for path, all_of_it in times.items() if len(all_of_it) < ended - began - 1.5]
    if len(times) != HTTP_UNITS or few:
        raise Failed(f"{len(times)} of {HTTP_UNITS} were asked, {len(few)} too seldom")
    late = 0.0
    for all_of_it in times.values():
        behind = [at - round(at - all_of_it[0]) for at in all_of_it]
        late = max(late, max(behind) - min(behind))
    return late


def commands(bench: Bench, seconds: int, seen: dict[str, Samples]) -> None:
    count = EXEC_UNITS * seconds
    before = used(resource.getrusage(resource.RUSAGE_CHILDREN))
    bench.run_tool("spawnloop", count, 1, PROGRAM)
    seen["bare_ms"].add((used(resource.getrusage(resource.RUSAGE_CHILDREN)) - before) * 1e3 / count)
    with bench.supervisor() as supervisor:
        declare(bench, supervisor, [f"exec = ['{PROGRAM}']"] * EXEC_UNITS)
        began, before = time.monotonic(), with_children_s(supervisor.pid)
        time.sleep(seconds)
        after, ended = with_children_s(supervisor.pid), time.monotonic()
        seen["exec_ms"].add((after - before) * 1e3 / (EXEC_UNITS * (ended - began)))
        supervisor.cli("down", "-f", str(supervisor.home / "ostler.toml"))


def used(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


def with_children_s(pid: int) -> float:
    """Its own processor time, and that of all it has reaped."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return sum(int(fields[index]) for index in (11, 12, 13, 14)) / os.sysconf("SC_CLK_TCK")
