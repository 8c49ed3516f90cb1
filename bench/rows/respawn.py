"""SIGKILL of a unit without a wait before its restart → its replacement runs."""

import os
import subprocess
from pathlib import Path

from bench import Bench, Failed, Result, Samples, most, ratio

# The 99th is `setsid`, which the floor does not need: docs/performance.md, "Where a target is missed".
TARGETS = {"p50": most(2.0), "p99": most(5.0, known=7.0)}


def measure(bench: Bench) -> list[Result]:
    count = 50 if bench.quick else 200
    sides = {name: {point: Samples() for point in TARGETS} for name in ("bare", "ours")}
    for number in range(bench.rounds):
        for name, trial in (("bare", bare), ("ours", ours)):
            took = sorted(trial(bench, count))
            for point, share in (("p50", 0.5), ("p99", 0.99)):
                sides[name][point].add(took[min(int(share * len(took)), len(took) - 1)] * 1e3)
        bench.progress(
            f"respawn {number + 1}/{bench.rounds}: "
            + ", ".join(
                f"{name} {point} {samples.values[-1]:.2f} ms"
                for name, points in sides.items()
                for point, samples in points.items()
            )
        )
    data = {
        "count": count,
        **{f"{name}_{point}_ms": s.as_json() for name, points in sides.items() for point, s in points.items()},
    }
    results = []
    for point, target in TARGETS.items():
        own, floor = sides["ours"][point], sides["bare"][point]
        against = Samples([a / b for a, b in zip(own.values, floor.values)])
        results.append(
            ratio(
                "respawn",
                f"kill -9 of a unit → the first act of its replacement, {point} of {count}, against posix_spawn + epoll",
                against,
                target,
                floor.shown() + " ms",
                own.shown() + " ms",
                data,
            )
        )
    return results


def bare(bench: Bench, count: int) -> list[float]:
    fifo = new_fifo(bench)
    keeper = subprocess.Popen(
        [bench.tool("respawn"), "1", bench.tool("beat"), str(fifo)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        return strikes(bench, fifo, count)
    finally:
        keeper.stdin.close()
        keeper.wait()


def ours(bench: Bench, count: int) -> list[float]:
    fifo = new_fifo(bench)
    file = fifo.with_name("ostler.toml")
    file.write_text(
        f"[units.beat]\ncommand = ['{bench.tool('beat')}', '{fifo}']\n"
        "restart = { initial = '0', limit = { count = 0, window = '1s' } }\n"
    )
    with bench.supervisor() as supervisor:
        supervisor.cli("up", "-f", str(file))
        took = strikes(bench, fifo, count)
        supervisor.cli("down", "-f", str(file))
    return took


def new_fifo(bench: Bench) -> Path:
    fifo = bench.folder("beat") / "fifo"
    os.mkfifo(fifo)
    return fifo


def strikes(bench: Bench, fifo: Path, count: int) -> list[float]:
    took = [float(line) for line in bench.run_tool("strike", fifo, count).splitlines()]
    if len(took) != count:
        raise Failed(f"{len(took)} came back instead of {count}")
    return took
