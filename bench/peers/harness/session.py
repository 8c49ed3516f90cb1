"""One trial of one peer: its private folder, its processes, its ground truth.

Ground truth never comes from the peer. Services report their own start (a line in
the report file, stamped with CLOCK_MONOTONIC before anything else), and which
processes exist is read from /proc among the harness's own descendants.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from . import procfs


class BenchError(Exception):
    pass


def remove_cgroup(group: Path) -> None:
    """A group is busy until the last of its dead has been collected, which may take a moment."""
    end = time.monotonic() + 5
    while group.exists() and time.monotonic() < end:
        for folder, _, _ in os.walk(group, topdown=False):
            try:
                os.rmdir(folder)
            except OSError:
                time.sleep(0.01)


class Tools:
    """The C programs, compiled once per run. What peers are asked to run is static."""

    def __init__(self, source: Path, out: Path):
        compiler = os.environ.get("CC", "cc")
        out.mkdir(parents=True, exist_ok=True)
        own = source.parents[1] / "native"  # of Ostler's own bench
        for file in (source / "svc.c", source / "spawnloop.c", own / "drive.c"):
            subprocess.run([compiler, "-O2", "-static", "-o", str(out / file.stem), str(file)], check=True)
        self.svc = str(out / "svc")
        self.spawnloop = str(out / "spawnloop")
        self.drive = str(out / "drive")


@dataclass(frozen=True)
class Report:
    """A line that a service wrote about itself."""

    name: str
    role: str
    pid: int  # as the service sees it: another number than ours in a pid namespace
    ns: int


@dataclass(frozen=True)
class Instance:
    """A live process of the service program."""

    pid: int
    name: str
    role: str


class Session:
    def __init__(self, tools: Tools, scratch: Path, label: str):
        self.tools = tools
        self.dir = Path(tempfile.mkdtemp(prefix=label + "-", dir=scratch))
        self.report_file = self.dir / "report"
        self.report_file.touch()
        self.reports: list[Report] = []
        self.at_close: list[Callable[[], None]] = []  # run after every process is gone
        self._children: list[subprocess.Popen] = []
        self._offset = 0
        self._partial = b""

    # -- processes ---------------------------------------------------------------
    def spawn(self, argv: list[str], env: dict | None = None, log: str = "daemon.log") -> subprocess.Popen:
        with open(self.dir / log, "ab") as out:
            p = subprocess.Popen(argv, cwd=self.dir, env=self._env(env), stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        self._children.append(p)
        return p

    def run(self, argv: list[str], env: dict | None = None, timeout: float = 300,
            check: bool = False) -> tuple[int, float, str]:
        """Run a peer's command to its end: exit status (124: timed out), wall seconds, output."""
        with tempfile.TemporaryFile() as out:  # a file, not a pipe: a daemon may keep it open
            t0 = time.monotonic()
            p = subprocess.Popen(argv, cwd=self.dir, env=self._env(env), stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=subprocess.STDOUT)
            self._children.append(p)
            ended, _ = wait_watched([os.pidfd_open(p.pid)], timeout, t0)  # Popen.wait(timeout) polls: too coarse
            wall = time.monotonic() - t0 if ended is None else ended
            if ended is None:
                p.kill()
            rc = p.wait()
            if ended is None:
                rc = 124
            out.seek(0)
            text = out.read().decode(errors="replace")
        if check and rc != 0:
            raise BenchError(f"{argv[0]}: exit {rc}: {text[-1500:]}")
        return rc, wall, text

    def _env(self, extra: dict | None) -> dict:
        return {"PATH": os.environ["PATH"], "HOME": str(self.dir), "LANG": "C.UTF-8", **(extra or {})}

    def kill(self, pid: int, sig: int = signal.SIGKILL) -> None:
        """Signal a process; if it is an orphan we adopted, collect it at once, as init would."""
        proc = procfs.read_proc(pid)
        os.kill(pid, sig)
        if proc and proc.ppid == os.getpid() and sig == signal.SIGKILL and not any(p.pid == pid for p in self._children):
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                pass

    def reap(self) -> None:
        """Collect dead direct children (adopted orphans too): a zombie must not look alive to a peer."""
        for p in self._children:
            p.poll()
        known = {p.pid for p in self._children if p.returncode is None}
        for proc in procfs.all_procs().values():
            if proc.ppid == os.getpid() and proc.state == "Z" and proc.pid not in known:
                try:
                    os.waitpid(proc.pid, os.WNOHANG)
                except ChildProcessError:
                    pass

    # -- ground truth --------------------------------------------------------------
    def _is_service(self, argv: list[str]) -> bool:
        return len(argv) >= 4 and argv[0] == self.tools.svc and argv[2] == str(self.report_file)

    def instances(self) -> list[Instance]:
        out = []
        for p in procfs.descendants(os.getpid()):
            argv = procfs.cmdline(p.pid)
            if self._is_service(argv):
                out.append(Instance(p.pid, argv[3], argv[4] if argv[1] == "role" else "main"))
        return out

    def supervisor_procs(self) -> list[procfs.Proc]:
        """Every live descendant that is not one of the services."""
        return [p for p in procfs.descendants(os.getpid()) if not self._is_service(procfs.cmdline(p.pid))]

    def poll_reports(self) -> list[Report]:
        """Reports that arrived since the last call."""
        with open(self.report_file, "rb") as f:
            f.seek(self._offset)
            data = f.read()
        self._offset += len(data)
        *lines, self._partial = (self._partial + data).split(b"\n")
        new = []
        for line in lines:
            name, role, pid, ns = line.decode().split()
            new.append(Report(name, role, int(pid), int(ns)))
        self.reports.extend(new)
        return new

    def wait_report(self, want: Callable[[Report], bool], timeout: float, poll: float = 0.002) -> Report | None:
        """First new report for which want(report) holds."""
        end = time.monotonic() + timeout
        while True:
            for r in self.poll_reports():
                if want(r):
                    return r
            if time.monotonic() > end:
                return None
            time.sleep(poll)

    def wait_all_up(self, names: set[str], timeout: float, poll: float = 0.02) -> int | None:
        """Monotonic ns at which the last of the named services first executed; None if some never did."""
        first: dict[str, int] = {}
        seen = 0
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self.poll_reports()
            for r in self.reports[seen:]:
                if r.role in ("main", "ready") and r.name in names:
                    first.setdefault(r.name, r.ns)
            seen = len(self.reports)
            if len(first) == len(names):
                return max(first.values())
            time.sleep(poll)
        return None

    # -- the end -------------------------------------------------------------------
    def close(self) -> None:
        """Kill whatever is left (our own descendants only) and remove the folder."""
        for _ in range(100):
            left = procfs.descendants(os.getpid())
            if not left:
                break
            for p in left:
                try:
                    os.kill(p.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)
            self.reap()
        self.reap()
        for fn in reversed(self.at_close):
            fn()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *exc) -> None:
        self.close()


def watch(pids: list[int]) -> list[int]:
    """pidfds of those of pids that still exist."""
    fds = []
    for pid in pids:
        try:
            fds.append(os.pidfd_open(pid))
        except ProcessLookupError:
            pass
    return fds


def wait_watched(fds: list[int], timeout: float, t0: float, adopted: bool = False) -> tuple[float | None, int]:
    """Seconds from t0 until the last of the watched processes exited (None if some did not), and how many are left.
    adopted: collect those that are our children, as init would (a peer may wait for the zombie to go)."""
    poller = select.poll()
    for fd in fds:
        poller.register(fd, select.POLLIN)
    left, last, end = len(fds), time.monotonic(), time.monotonic() + timeout
    while left and time.monotonic() < end:
        for fd, _ in poller.poll(200):
            poller.unregister(fd)
            left -= 1
            if adopted:
                try:
                    os.waitid(os.P_PIDFD, fd, os.WEXITED | os.WNOHANG)
                except ChildProcessError:
                    pass
            last = time.monotonic()
    for fd in fds:
        os.close(fd)
    return (last - t0 if not left else None), left
