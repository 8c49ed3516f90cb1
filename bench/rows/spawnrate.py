"""Trivial runs to completion, each with its spawn and its exit in the registry, a second."""

import sqlite3

from bench import Bench, Failed, Result, Samples, least, ratio, no_target

PROGRAM = "/bin/true"
TARGET = least(0.5)
IN_FLIGHT = 32


def measure(bench: Bench) -> list[Result]:
    # Not more than the history keeps, so that every record can be counted at the end.
    count = 400 if bench.quick else 2000
    rates = {name: Samples() for name in ("bare", "bare2", "each", "last")}
    for number in range(bench.rounds):
        rates["bare"].add(count / float(bench.run_tool("spawnloop", count, 1, PROGRAM)))
        rates["each"].add(ours(bench, count, "each"))
        rates["bare2"].add(count / float(bench.run_tool("spawnloop", count, 2, PROGRAM)))
        rates["last"].add(ours(bench, count, "last"))
        bench.progress(
            f"spawnrate {number + 1}/{bench.rounds}: "
            + ", ".join(f"{name} {samples.values[-1]:.0f}/s" for name, samples in rates.items())
        )
    data = {"count": count, "in_flight": IN_FLIGHT, "rates": {name: s.as_json() for name, s in rates.items()}}
    results = []
    for ours_name, what in (("each", "a `wait` for each"), ("last", "no `wait`, registry counted")):
        for floor, floor_what in (("bare", "one after the other"), ("bare2", "2 in flight")):
            against = Samples([a / b for a, b in zip(rates[ours_name].values, rates[floor].values)])
            target = TARGET if (ours_name, floor) == ("each", "bare") else no_target()
            results.append(
                ratio(
                    "spawnrate",
                    f"runs of {PROGRAM} a second, {what}, against posix_spawn + wait {floor_what}",
                    against,
                    target,
                    rates[floor].shown("{:.0f}") + " /s",
                    rates[ours_name].shown("{:.0f}") + " /s",
                    data,
                )
            )
    return results


def ours(bench: Bench, count: int, how: str) -> float:
    with bench.supervisor() as supervisor:
        took = float(bench.run_tool("drive", supervisor.socket, count, IN_FLIGHT, how, PROGRAM))
        # Read while the supervisor runs: only what it has committed, not what it writes at its stop.
        with sqlite3.connect(f"file:{supervisor.registry}?mode=ro", uri=True) as registry:
            recorded = registry.execute(
                "SELECT count(*) FROM runs WHERE state = 'exited' AND termination = 'exit' "
                "AND exit_code = 0 AND extinct = 'yes' AND started_at_ms IS NOT NULL"
            ).fetchone()[0]
        registry.close()
        if recorded != count:
            raise Failed(f"{recorded} exits are recorded instead of {count}")
    return count / took
