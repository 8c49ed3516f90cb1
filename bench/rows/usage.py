"""The cost of sampling the usage of a thousand units, each with its whole tree."""

import os
import time

from bench import Bench, ControlSocket, Failed, Result, Samples, figure, most, timed

CPU_MS = most(50.0)
PROGRAM = ("/bin/sleep", "100000")
#: Nearer than this to the last look, that one is still true.
FRESH_S = 0.3


def measure(bench: Bench) -> list[Result]:
    units = 1000
    rounds = min(bench.rounds, 3)
    seen = {name: Samples() for name in ("cpu_ms", "wall_ms", "bare_ms")}
    for number in range(rounds):
        trial(bench, units, 5 if bench.quick else 20, seen)
        bench.progress(
            f"usage {number + 1}/{rounds}: "
            + ", ".join(f"{name} {samples.values[-1]:.2f}" for name, samples in seen.items())
        )
    data = {"units": units, **{name: samples.as_json() for name, samples in seen.items()}}
    return [
        figure(
            "usage",
            f"the supervisor's processor time for one look at what {units} units use",
            seen["cpu_ms"],
            CPU_MS,
            "{:.1f}",
            "ms",
            seen["bare_ms"].shown("{:.1f}") + " ms to read the same files in C",
            seen["wall_ms"].shown("{:.1f}") + " ms until answered",
            data,
        )
    ]


def trial(bench: Bench, units: int, looks: int, seen: dict[str, Samples]) -> None:
    words = ", ".join(f"'{word}'" for word in PROGRAM)
    text = "".join(f"[units.u{number:04}]\ncommand = [{words}]\n" for number in range(units))
    with bench.supervisor() as supervisor:
        file = supervisor.home / "ostler.toml"
        file.write_text(text)
        out = os.open(supervisor.home / "out", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        timed([str(bench.ostler), "up", "-f", str(file)], supervisor.environment, out)
        os.close(out)
        control = ControlSocket(supervisor.socket)
        look(control, units)
        pids = "\n".join(str(view["pid"]) for view in control.call("units.list"))
        seen["bare_ms"].add(float(bench.run_tool("look", "usage", text=pids).split()[1]) * 1e3)
        time.sleep(FRESH_S)
        # A look takes a few ticks of the kernel's clock; its nanoseconds are exact.
        before, began = ran_ns(supervisor.pid), time.monotonic()
        for _ in range(looks):
            look(control, units)
            time.sleep(FRESH_S)
        seen["cpu_ms"].add((ran_ns(supervisor.pid) - before) / 1e6 / looks)
        seen["wall_ms"].add((time.monotonic() - began) * 1e3 / looks - FRESH_S * 1e3)
        control.close()
        supervisor.cli("down", "-f", str(file))


def look(control: ControlSocket, units: int) -> None:
    looks = control.call("units.look", {"names": [], "depth": "whole", "brief": True})
    used = sum(1 for seen in looks if seen["usage"] and seen["usage"]["descriptors"])
    if used != units:
        raise Failed(f"{used} of {units} units were looked at")


def ran_ns(pid: int) -> int:
    """On a processor, all threads that live."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        except FileNotFoundError:
            pass
    return total
