"""One home of Ostler's, its environment, its daemon as the kernel sees it, and calls of the executable."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from . import procfs
from .procfs import Process
from .steps_log import Violation

MARK = "FAULTS_MARK"


@dataclass
class CallResult:
    """How a call ended."""

    words: list[str]
    code: int
    out: str
    err: str

    def json(self):
        try:
            return json.loads(self.out)
        except ValueError:
            raise Violation(f"`{' '.join(self.words)}` ended with {self.code} and no JSON: {self.out[:200]!r} {self.err[:300]!r}")


class Home:
    def __init__(self, ostler: Path, folder: Path, reaper: procfs.Reaper, variables: dict[str, str]):
        self.ostler, self.folder, self.reaper = ostler, folder, reaper
        self.path = folder / "h"
        self.path.mkdir(mode=0o700)
        self.project = folder / "p"
        self.project.mkdir()
        self.mark = folder.name
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("OSTLER_") and name not in ("GT_ROLE", "BD_ACTOR", "TMUX", "TERM")}
        self.environment |= {"OSTLER_HOME": str(self.path), MARK: self.mark} | variables
        self.registry = self.path / "registry.db"

    def spawn(self, words: list[str], program: str | None = None, **options) -> subprocess.Popen:
        defaults = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": self.environment, "cwd": self.project}
        with self.reaper.lock:
            child = subprocess.Popen([program or str(self.ostler), *words], **(defaults | options))
            self.reaper.waited.add(child.pid)
        return child

    def finish(self, child: subprocess.Popen, words: list[str], seconds: float) -> CallResult:
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            raise Violation(f"`ostler {' '.join(words)}` gave no answer within {seconds:.0f} s: "
                            f"{out[-200:]!r} {err[-300:]!r}")
        finally:
            if child.returncode is not None:
                self.reaper.waited.discard(child.pid)
        return CallResult(words, child.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def call(self, *words: str, seconds: float = 60, **options) -> CallResult:
        return self.finish(self.spawn(list(words), **options), list(words), seconds)

    def own(self, verb: str) -> list[Process]:
        """Processes of this home that are the supervisor or the guardian, by their arguments and environment."""
        found = []
        for seen in procfs.descendants(os.getpid()):
            words = procfs.arguments(seen.process.pid)
            if len(words) > 1 and words[0].endswith("ostler") and words[1] == verb:
                if procfs.variable(seen.process.pid, MARK) == self.mark:
                    found.append(seen.process)
        return found

    def supervisor(self) -> Process | None:
        return next(iter(self.own("supervisor")), None)

    def guardian(self) -> Process | None:
        return next(iter(self.own("guardian")), None)

    def kill_daemon(self) -> None:
        """Kills guardian and supervisor at the same time: neither sees the other die."""
        supervisor, guardian = self.supervisor(), self.guardian()
        if supervisor:
            supervisor.signal(signal.SIGSTOP)
        for process in (guardian, supervisor):
            if process:
                process.signal(signal.SIGKILL)
                process.wait_gone()
        # A guardian that was just being made beside the supervisor has no supervisor now.
        for process in self.own("guardian") + self.own("supervisor"):
            process.signal(signal.SIGKILL)
            process.wait_gone()

    def instance(self) -> str:
        try:
            return (self.path / "instance").read_text().strip()
        except OSError:
            return ""

    def groups(self) -> Path | None:
        """The parent of the home's cgroups, if there is one. The daemon was started in this process's cgroup, so it is below that."""
        base = Path("/sys/fs/cgroup")
        for mounted in (base / "unified", base):
            if (mounted / "cgroup.procs").exists():
                return Path(f"{mounted}{procfs.group(os.getpid())}") / f"ostler-{self.instance()}"
        return None

    def crashes_in_a_row(self) -> int:
        """How many crashes this guardian has counted, which determines the next restart delay."""
        try:
            return json.loads((self.path / "supervisor.json").read_text()).get("crash_count", 0)
        except (OSError, ValueError):
            return 0

    def until_answers(self, seconds: float = 90) -> dict:
        """Waits until a supervisor answers, without starting one."""
        end = time.monotonic() + seconds
        while True:
            result = self.call("status", "--json")
            if result.code == 0 and (status := result.json()).get("version"):
                return status
            if time.monotonic() > end:
                raise Violation(f"no supervisor answered within {seconds:.0f} s: {result.out[:300]!r} {result.err[:300]!r}")
            time.sleep(0.05)
