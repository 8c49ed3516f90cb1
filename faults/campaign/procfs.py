"""Processes as the kernel reports them: identities, descent, environments and cgroups. Nothing here is from Ostler."""

from __future__ import annotations

import ctypes
import os
import signal as signals
import threading
import time
from dataclasses import dataclass
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Process:
    """A process: its pid and its start, in ticks since boot."""

    pid: int
    start: int

    def alive(self) -> bool:
        now = look(self.pid)
        return now is not None and now.process == self and now.state not in "ZX"

    def signal(self, number: int) -> bool:
        """By pidfd, and checked again once it is open: a process that reused the pid never gets the signal."""
        try:
            handle = os.pidfd_open(self.pid)
        except OSError:
            return False
        try:
            if not self.alive():
                return False
            signals.pidfd_send_signal(handle, number)
            return True
        except OSError:
            return False
        finally:
            os.close(handle)

    def wait_gone(self, seconds: float = 20) -> bool:
        end = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() > end:
                return False
            time.sleep(0.002)
        return True


@dataclass(frozen=True)
class Look:
    process: Process
    parent: int
    state: str
    name: str


def look(pid: int) -> Look | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode(errors="replace")
    except OSError:
        return None
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    return Look(Process(pid, int(fields[19])), int(fields[1]), fields[0], head.partition("(")[2])


def everyone() -> dict[int, Look]:
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (seen := look(int(entry))):
            found[seen.process.pid] = seen
    return found


def descendants(root: int, all_of_them: dict[int, Look] | None = None) -> list[Look]:
    """Live descendants; those that were orphaned too, if the root is their subreaper."""
    processes = everyone() if all_of_them is None else all_of_them
    children: dict[int, list[int]] = {}
    for seen in processes.values():
        children.setdefault(seen.parent, []).append(seen.process.pid)
    found, todo = [], list(children.get(root, []))
    while todo:
        pid = todo.pop()
        if processes[pid].state not in "ZX":
            found.append(processes[pid])
        todo.extend(children.get(pid, []))
    return found


def arguments(pid: int) -> list[str]:
    return [word.decode(errors="replace") for word in raw(pid, "cmdline").split(b"\0")[:-1]]


def variable(pid: int, name: str) -> str | None:
    start = name.encode() + b"="
    # The last one is empty, or cut off because the process ended while it was read.
    for entry in raw(pid, "environ").split(b"\0")[:-1]:
        if entry.startswith(start):
            return entry[len(start):].decode(errors="replace")
    return None


def group(pid: int) -> str:
    """Its cgroup of version 2, from the root of that hierarchy."""
    for line in raw(pid, "cgroup").decode(errors="replace").splitlines():
        if line.startswith("0::"):
            return line[3:]
    return ""


def memory(pid: int) -> int:
    """Its anonymous resident memory in bytes."""
    for line in raw(pid, "status").decode(errors="replace").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) << 10
    return 0


def open_files(pid: int) -> list[Path]:
    found = []
    try:
        for handle in os.scandir(f"/proc/{pid}/fd"):
            found.append(Path(os.readlink(handle.path)))
    except OSError:
        pass
    return found


def raw(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def become_subreaper() -> None:
    """Becomes the subreaper: no process can hide by a double fork."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


class Reaper:
    """Reaps adopted zombies, but not the children that other threads wait for."""

    def __init__(self) -> None:
        self.waited: set[int] = set()
        self.lock = threading.Lock()  # held while a child is started, until its caller is known
        threading.Thread(target=self.loop, daemon=True).start()

    def loop(self) -> None:
        me = os.getpid()
        while True:
            time.sleep(0.1)
            with self.lock:
                dead = [seen.process.pid for seen in everyone().values() if seen.parent == me and seen.state == "Z"]
                for pid in dead:
                    if pid not in self.waited:
                        try:
                            os.waitpid(pid, os.WNOHANG)
                        except ChildProcessError:
                            pass
