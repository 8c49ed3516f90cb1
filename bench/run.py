#!/usr/bin/env python3
"""Measures a release build of Ostler against bare C programs, side by side in one run.

    bench/run.py [--ostler PATH] [--only ROW,ROW] [--rounds N] [--quick] [--scratch FOLDER] [--json FILE]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

import bench
import rows


def main() -> int:
    arguments = parse()
    if not os.access(arguments.ostler, os.X_OK):
        print(f"{arguments.ostler} is not there; build it with: cargo build --release -p ostler-cli", file=sys.stderr)
        return 2
    bench.become_reaper()
    scratch = Path(tempfile.mkdtemp(prefix="ob-", dir=arguments.scratch))
    failed = []
    results: list[bench.Result] = []
    try:
        bench.build(scratch / "native")
        settings = bench.Bench(
            ostler=arguments.ostler.resolve(),
            scratch=scratch,
            rounds=arguments.rounds,
            quick=arguments.quick,
            native=scratch / "native",
        )
        for name in arguments.only:
            print(name, flush=True)
            try:
                results += rows.ALL[name](settings)
            except bench.Failed as error:
                print(f"  FAILED: {error}", file=sys.stderr, flush=True)
                failed.append({"row": name, "error": str(error)})
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print()
    print(table(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(document(arguments, results, failed), indent=1) + "\n")
    return 1 if failed else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = bench.HERE.parent / "target" / "release" / "ostler"
    parser.add_argument("--ostler", type=Path, default=default, help="the release binary")
    parser.add_argument("--only", type=chosen, default=list(rows.ALL), help="of " + ",".join(rows.ALL))
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured (5)")
    parser.add_argument("--quick", action="store_true", help="smaller amounts: a look, not a measurement")
    parser.add_argument("--scratch", type=Path, help="where the homes are made (the temp folder)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample into this file")
    return parser.parse_args()


def chosen(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in rows.ALL:
            raise argparse.ArgumentTypeError(f"{name} is no row; there are {', '.join(rows.ALL)}")
    return names


def table(results: list[bench.Result]) -> str:
    lines = ["| row | what | baseline | ours | measured | target | verdict |", "|---|---|---|---|---|---|---|"]
    for result in results:
        cells = (
            result.row, result.what, result.baseline, result.ours, result.measured, result.target, result.verdict,
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def document(arguments: argparse.Namespace, results: list[bench.Result], failed: list[dict]) -> dict:
    return {
        "machine": {"cores": os.cpu_count(), "kernel": platform.release(), "architecture": platform.machine()},
        "rounds": arguments.rounds,
        "quick": arguments.quick,
        "settings": {name: value for name, value in os.environ.items() if name.startswith("OSTLER_")},
        "results": [{**dataclasses.asdict(result), "verdict": result.verdict} for result in results],
        "failed": failed,
    }


if __name__ == "__main__":
    sys.exit(main())
