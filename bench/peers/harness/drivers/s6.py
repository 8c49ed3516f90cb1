"""s6 (Debian), s6-svscan started by hand."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

from ..driver import Driver, Service


class S6(Driver):
    name = "s6"
    language = "C"
    needs = ("s6-svscan", "s6-supervise", "s6-svstat", "s6-log")
    restart_note = ("notification-fd: a service that was ready for over 1 s restarts at once; without it (default) "
                    "always after 1 s; run script is /bin/sh exec")
    log_note = "s6-log, s268435455 n20 (its largest file size): s6-supervise + s6-log more per logged service"
    hardened_note = "timeout-kill file (SIGKILL to main)"
    stop_note = "s6-svscanctl -t (whole tree; the daemon goes too)"

    def version(self) -> str:
        return self.s.run(["dpkg-query", "-W", "-f=${Version}", "s6"])[2].strip()

    def version_argv(self) -> list[str]:
        return [self.exe("s6-svstat"), "-h"]

    @classmethod
    def find(cls, prefix: Path, name: str) -> str | None:
        # Debian's s6-svscan has the path of s6-supervise built in: the installed set, not the unpacked one.
        return shutil.which(name)

    def _script(self, path: Path, body: str) -> None:
        path.write_text("#!/bin/sh\n" + body)
        path.chmod(0o755)

    def configure(self, services: list[Service]) -> None:
        self.services = services
        for s in services:
            d = self.dir / "sv" / s.name
            d.mkdir(parents=True)
            ready = ""
            if self.profile.fast:  # s6-supervise waits 1 s before restarting what was never ready
                (d / "notification-fd").write_text("3\n")
                ready = "echo >&3\nexec 3>&-\n"
            self._script(d / "run", f"{ready}exec {shlex.join(s.argv)}{'' if s.log else ' >/dev/null'} 2>&1\n")
            if self.profile.hardened:
                (d / "timeout-kill").write_text(f"{s.stop_grace_s * 1000}\n")
            if s.log:
                (d / "log").mkdir()
                self._script(d / "log" / "run",
                             f"exec {self.exe('s6-log')} s268435455 n20 {self.dir}/logs-{s.name}\n")

    def start(self) -> None:
        self._p = self.s.spawn([self.exe("s6-svscan"), "-c", str(2 * len(self.services) + 20),
                                str(self.dir / "sv")])

    def daemon_pid(self) -> int:
        return self._p.pid

    def status_argv(self) -> list[str]:
        # s6-svstat takes one service directory: a list of N is N commands, here from one shell.
        return ["sh", "-c", f'for d in "$1"/*; do {self.exe("s6-svstat")} "$d"; done', "sh", str(self.dir / "sv")]

    def stop_service_argv(self, name: str) -> list[str]:
        return [self.exe("s6-svc"), "-wd", "-T", "8000", "-d", str(self.dir / "sv" / name)]

    def stop_all_argv(self) -> list[str]:
        return [self.exe("s6-svscanctl"), "-t", str(self.dir / "sv")]

    def log_files(self, name: str) -> list[Path]:
        d = self.dir / f"logs-{name}"
        return [d / "current", *d.glob("@*")]
