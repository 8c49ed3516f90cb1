"""1 GiB of 100-byte lines from one run into its log, against `cmd | cat > file`."""

import os
import subprocess
import time

from bench import Bench, Failed, Result, Samples, least, ratio, spec, no_target

LINE = 100
BULK_TARGET = least(1.5)
# The writer's own system call takes the time there: docs/performance.md, "Where a target is missed".
LINE_TARGET = least(1.5, known=0.7)
BULK = 64 << 10


def measure(bench: Bench) -> list[Result]:
    lines = ((64 << 20) if bench.quick else (1 << 30)) // LINE
    results = []
    for size, what, aim in (
        (BULK, "bulk writes of 64 KiB", BULK_TARGET),
        (LINE, "one write a line", LINE_TARGET),
    ):
        rates = {name: Samples() for name in ("cat", "ours", "in_c")}
        for number in range(bench.rounds):
            for name, trial in (("cat", by_cat), ("ours", ours), ("in_c", by_c_reader)):
                warm(bench, lines * LINE)
                rates[name].add(lines * LINE / trial(bench, lines, size) / 1e6)
            bench.progress(
                f"logs, {what} {number + 1}/{bench.rounds}: "
                + ", ".join(f"{name} {samples.values[-1]:.0f} MB/s" for name, samples in rates.items())
            )
        data = {"lines": lines, "write_size": size, "rates": {name: s.as_json() for name, s in rates.items()}}
        for name, subject, target in (
            ("ours", f"{lines * LINE / (1 << 20):.0f} MiB of lines, {what}; every line checked", aim),
            ("in_c", f"the same, the fastest reader in C that we wrote, {what}", no_target()),
        ):
            results.append(
                ratio(
                    "logs",
                    f"{subject}, against `cmd \\| cat > file`",
                    Samples([a / b for a, b in zip(rates[name].values, rates["cat"].values)]),
                    target,
                    rates["cat"].shown("{:.0f}") + " MB/s",
                    rates[name].shown("{:.0f}") + " MB/s",
                    data,
                )
            )
    return results


def warm(bench: Bench, size: int) -> None:
    """Takes the memory that the trial will need and gives it back.

    Without this, a trial is often twice as fast if another has just freed what it needs; probably the
    host of a virtual machine hands out memory at first touch. What an earlier trial left
    to be written to disk is not this one's burden either.
    """
    os.sync()
    folder = bench.folder("warm")
    block = bytes(1 << 20)
    with (folder / "block").open("wb", buffering=0) as file:
        for _ in range(size // len(block) + 64):
            file.write(block)
    (folder / "block").unlink()
    folder.rmdir()


def by_cat(bench: Bench, lines: int, size: int) -> float:
    folder = bench.folder("cat")
    file = folder / "log"
    shell = f"{bench.tool('emit')} {lines} {size} | cat > {file}"
    begin = time.perf_counter()
    subprocess.run(["/bin/sh", "-c", shell], check=True)
    took = time.perf_counter() - begin
    verify(bench, [file], lines)
    file.unlink()
    folder.rmdir()
    return took


def by_c_reader(bench: Bench, lines: int, size: int) -> float:
    folder = bench.folder("pour")
    file = folder / "log"
    took = float(bench.run_tool("pour", bench.tool("emit"), lines, size, file))
    verify(bench, [file], lines)
    file.unlink()
    folder.rmdir()
    return took


def ours(bench: Bench, lines: int, size: int) -> float:
    with bench.supervisor() as supervisor:
        control = supervisor.control()
        begin = time.perf_counter()
        run = control.call("runs.spawn", spec(bench.tool("emit"), str(lines), str(size)))["runId"]
        result = control.call("runs.wait", {"run": run})
        took = time.perf_counter() - begin
        control.close()
        if result["exitCode"] != 0:
            raise Failed(f"the emitter ended with {result}")
        verify(bench, supervisor.log_files(run), lines)
    return took


def verify(bench: Bench, files: list, lines: int) -> None:
    """Every byte, outside the measured time."""
    with subprocess.Popen(["cat", *files], stdout=subprocess.PIPE) as cat:
        checked = subprocess.run(
            [bench.tool("verify"), str(lines)], stdin=cat.stdout, capture_output=True, text=True
        )
    if checked.returncode != 0:
        raise Failed(f"the log is not what was written: {checked.stderr.strip()}")
