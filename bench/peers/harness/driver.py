"""What a peer is to the harness. To add one: a module in drivers/, a class, its name in drivers/__init__.py."""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from .session import BenchError, Session


@dataclass(frozen=True)
class Service:
    name: str
    argv: tuple[str, ...]
    log: bool = False           # stdout goes to the peer's own log (else discarded, where the peer can)
    pidfile: str | None = None  # set only for peers with needs_pidfile
    stop_grace_s: int = 3       # SIGTERM, then SIGKILL after this long where the peer can


@dataclass(frozen=True)
class Profile:
    """fast: restart delay and polling at the least the peer allows (else its defaults).
    hardened: the peer's options that kill more of a service's tree."""

    fast: bool = False
    hardened: bool = False


class Peer(ABC):
    """Something installed that can be asked for its version, and perhaps run one-shot commands."""

    name = ""
    language = ""
    needs: tuple[str, ...] = ()  # executables without which it is skipped
    supervises = True            # False: only for one-shot commands
    restart_note = ""            # what 'fast' sets, and the floor it leaves
    log_note = "does not capture output"
    hardened_note = "no such option"
    stop_note = ""               # what 'stop all' is

    def __init__(self, session: Session, prefix: Path, profile: Profile = Profile()):
        self.s = session
        self.dir = session.dir
        self.prefix = prefix
        self.profile = profile

    @classmethod
    def folder(cls) -> str:
        """Its folder below the prefix; a variant of a peer shares the peer's."""
        return cls.name

    @classmethod
    def find(cls, prefix: Path, name: str) -> str | None:
        """An executable: in PREFIX/<peer>/{bin,usr/bin,usr/sbin,node_modules/.bin}, else on PATH."""
        for sub in ("bin", "usr/bin", "usr/sbin", "node_modules/.bin"):
            there = prefix / cls.folder() / sub / name
            if there.exists():
                return str(there)
        return shutil.which(name)

    @classmethod
    def unavailable(cls, prefix: Path) -> str | None:
        """Why it cannot be measured here; None if it can."""
        missing = [name for name in cls.needs if cls.find(prefix, name) is None]
        return f"{', '.join(missing)} not installed" if missing else None

    def exe(self, name: str) -> str:
        found = self.find(self.prefix, name)
        if not found:
            raise BenchError(f"{self.name}: {name} is not installed")
        return found

    def env(self) -> dict:
        root = self.prefix / self.folder()
        extra = [str(root / d) for d in ("bin", "usr/bin", "node_modules/.bin") if (root / d).is_dir()]
        return {"PATH": ":".join(extra + [os.environ["PATH"]])}

    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def version_argv(self) -> list[str]:
        """The cheapest command of the CLI that does nothing (--version or --help)."""

    def install_paths(self) -> list[Path]:
        return [self.prefix / self.folder()]


class Driver(Peer):
    """A peer that keeps services running."""

    needs_pidfile = False       # the service must daemonise itself (monit)
    has_logs = True             # captures stdout itself or with its own logger
    slow_logs = False           # gets less to write in the bulk case
    start_timeout_s = 240.0
    respawn_timeout_s = 15.0
    measure_default_respawn = True

    def __init__(self, session: Session, prefix: Path, profile: Profile = Profile()):
        super().__init__(session, prefix, profile)
        self.services: list[Service] = []

    @abstractmethod
    def configure(self, services: list[Service]) -> None: ...

    @abstractmethod
    def start(self) -> None:
        """Launch the daemon with the services; may return before they are up."""

    @abstractmethod
    def daemon_pid(self) -> int:
        """The top-level supervisor process."""

    def crash_points(self) -> dict[str, list[int]]:
        """Which processes to kill together in a crash of the supervisor, by a word for it."""
        everything = [p.pid for p in self.s.supervisor_procs()]
        top = self.daemon_pid()
        points = {"daemon": [top]}
        if len(everything) > 1:
            points["daemon and helpers"] = sorted(everything, key=lambda pid: pid != top)
        return points

    @abstractmethod
    def status_argv(self) -> list[str]: ...

    @abstractmethod
    def stop_service_argv(self, name: str) -> list[str]: ...

    @abstractmethod
    def stop_all_argv(self) -> list[str]:
        """Stop every service (the daemon may stay or go)."""

    def prepare_crash(self) -> None:
        """What the peer's manual says to do so that a restart finds its services again."""

    def restart(self) -> None:
        """Start the daemon again after it was killed."""
        self.start()

    def log_files(self, name: str) -> list[Path]:
        raise BenchError(f"{self.name} does not write service logs")
