"""What a metric gets: the tools, where the peers are installed, the options, and a maker of services."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .driver import Driver, Peer, Profile, Service
from .session import BenchError, Session, Tools


@dataclass
class Options:
    rounds: int = 3             # repetitions, interleaved over the peers
    sizes: tuple[int, ...] = (1, 100, 1000)
    repeat_s: float = 60.0      # a trial that takes longer is made once
    kills: int = 5              # respawn kills a round
    idle_s: float = 25.0
    status_reps: int = 10
    crash_services: int = 20
    log_mib: int = 1024
    log_mib_slow: int = 256
    oneshots: int = 2000


QUICK = Options(rounds=1, sizes=(1, 20), kills=3, idle_s=5.0, status_reps=3, crash_services=5, log_mib=64,
                log_mib_slow=16, oneshots=200)


@dataclass
class Bench:
    tools: Tools
    prefix: Path
    scratch: Path
    opt: Options = field(default_factory=Options)

    def session(self, label: str) -> Session:
        return Session(self.tools, self.scratch, label)

    def driver(self, cls: type[Peer], session: Session, profile: Profile = Profile()):
        return cls(session, self.prefix, profile)

    def services(self, cls: type[Driver], session: Session, n: int, mode: str = "beacon",
                 log: bool = False, extra: tuple[str, ...] = ()) -> list[Service]:
        out = []
        for i in range(n):
            name, pidfile = f"s{i:04d}", None
            argv = (self.tools.svc, mode, str(session.report_file), name, *extra)
            if cls.needs_pidfile:
                pidfile = str(session.dir / f"{name}.pid")
                argv = (argv[0], "daemon" if mode == "beacon" else mode, *argv[2:], pidfile)
            out.append(Service(name, argv, log=log, pidfile=pidfile))
        return out

    def up(self, d: Driver, timeout: float | None = None) -> int:
        """Wait until every service has executed; monotonic ns of the last one."""
        at = d.s.wait_all_up({s.name for s in d.services}, timeout or d.start_timeout_s)
        if at is None:
            got = len({r.name for r in d.s.reports})
            log = d.dir / "daemon.log"
            tail = log.read_text(errors="replace")[-800:] if log.exists() else ""
            raise BenchError(f"only {got} of {len(d.services)} services came up in time; {tail}")
        return at
