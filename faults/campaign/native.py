"""The small programs in C, compiled once for each campaign."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "native"


def build(out: Path) -> Path:
    compiler = os.environ.get("CC", "cc")
    out.mkdir(parents=True)
    # Static, so that what is laid under Ostler by LD_PRELOAD never reaches the copies.
    subprocess.run([compiler, "-O2", "-static", "-o", str(out / "copy"), str(SOURCE / "copy.c")], check=True)
    return out
