"""CLI start-up time and install size."""

from __future__ import annotations

import os
from pathlib import Path

from ..stats import summary

NAME = "cli"
TITLE = "CLI start-up and install size"
DEFINITION = (
    "cli_s: wall time of the CLI's --version/--help. install_mib: bytes of the peer's own install folder "
    "(its packages and dependencies; not the Python or Node interpreter, nor libc).")


def _bytes(p: Path) -> int:
    if p.is_file():
        return p.lstat().st_size
    return sum(os.lstat(os.path.join(r, f)).st_size for r, _, fs in os.walk(p) for f in fs)


def run(bench, cls) -> dict:
    with bench.session(f"cli-{cls.name}") as s:
        d = bench.driver(cls, s)
        argv, env = d.version_argv(), d.env()
        s.run(argv, env=env)
        runs = [s.run(argv, env=env) for _ in range(10)]
        size = sum(_bytes(p) for p in d.install_paths() if p.exists())
        return {"cli_s": [wall for _, wall, _ in runs], "rc": sorted({rc for rc, _, _ in runs}),
                "argv": [Path(argv[0]).name, *argv[1:]], "version": d.version(),
                **({"install_mib": round(size / 2**20, 2)} if size else {}),
                "notes": {"language": cls.language, "restart": cls.restart_note, "log": cls.log_note,
                          "hardened": cls.hardened_note, "stop": cls.stop_note}}


def applies(cls) -> bool:
    return True


def merge(rounds: list[dict]) -> dict:
    return {**rounds[0], "cli_s": summary(v for r in rounds for v in r["cli_s"])}
