"""The log of a campaign's steps: printed, and written to a file that is kept after a violation."""

from __future__ import annotations

import threading
import time
from pathlib import Path

SLOW = 15  # a call that takes more seconds than this is reported


class Violation(Exception):
    """An invariant does not hold."""


class StepsLog:
    def __init__(self, path: Path, quiet: bool):
        self.path, self.quiet = path, quiet
        self.began = time.monotonic()
        self.lock = threading.Lock()
        self.step = 0

    def report(self, text: str, always: bool = False) -> None:
        line = f"{time.monotonic() - self.began:8.2f}  {self.step:4}  {text}"
        with self.lock:
            with open(self.path, "a") as file:
                file.write(line + "\n")
            if always or not self.quiet:
                print(line, flush=True)
