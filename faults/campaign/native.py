"""The small programs in C, compiled once for each campaign, and the page that the preloaded library reads."""

from __future__ import annotations

import mmap
import os
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "native"


def build(out: Path) -> Path:
    compiler = os.environ.get("CC", "cc")
    out.mkdir(parents=True)
    # Static, so that the layer under Ostler never reaches the copies.
    subprocess.run([compiler, "-O2", "-static", "-o", str(out / "copy"), str(SOURCE / "copy.c")], check=True)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(out / "under.so"), str(SOURCE / "under.c")], check=True)
    return out


class Control:
    """The offset of the wall clock and the delay of the disk, for the preloaded library."""

    def __init__(self, path: Path):
        path.write_bytes(bytes(mmap.PAGESIZE))
        with open(path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    def set_clock(self, seconds: float) -> None:
        self.page[0:8] = struct.pack("q", int(seconds * 1e9))

    def set_slow(self, seconds: float) -> None:
        self.page[8:16] = struct.pack("q", int(seconds * 1e6))
