"""runit (Debian), runsvdir started by hand."""

from __future__ import annotations

import shlex
from pathlib import Path

from ..driver import Driver, Service


class Runit(Driver):
    name = "runit"
    language = "C"
    needs = ("runsvdir", "runsv", "sv", "svlogd")
    restart_note = "none to set: at once, but 1 s pause if the run was shorter than 1 s; run script is /bin/sh exec"
    log_note = "svlogd in log/run, s0 (no rotation): one more process per logged service"
    hardened_note = "sv force-stop (SIGKILL to main after the wait)"
    stop_note = "sv stop (all service directories in one command)"

    def version(self) -> str:
        return self.s.run(["sh", "-c", "apt-cache policy runit | sed -n 's/.*Candidate: //p'"])[2].strip()

    def version_argv(self) -> list[str]:
        return [self.exe("sv")]

    def _script(self, path: Path, body: str) -> None:
        path.write_text("#!/bin/sh\n" + body)
        path.chmod(0o755)

    def configure(self, services: list[Service]) -> None:
        self.services = services
        for s in services:
            d = self.dir / "sv" / s.name
            d.mkdir(parents=True)
            self._script(d / "run", f"exec {shlex.join(s.argv)}{'' if s.log else ' >/dev/null'} 2>&1\n")
            if s.log:
                (d / "log" / "main").mkdir(parents=True)
                (d / "log" / "main" / "config").write_text("s0\n")
                self._script(d / "log" / "run", f"exec {self.exe('svlogd')} ./main\n")

    def start(self) -> None:
        self._p = self.s.spawn([self.exe("runsvdir"), "-P", str(self.dir / "sv")], env=self.env())

    def daemon_pid(self) -> int:
        return self._p.pid

    def _dirs(self) -> list[str]:
        return [str(self.dir / "sv" / s.name) for s in self.services]

    def status_argv(self) -> list[str]:
        return [self.exe("sv"), "status", *self._dirs()]

    def _stop(self, dirs: list[str]) -> list[str]:
        grace = str(self.services[0].stop_grace_s)
        return [self.exe("sv"), "-w", grace, "force-stop" if self.profile.hardened else "stop", *dirs]

    def stop_service_argv(self, name: str) -> list[str]:
        return self._stop([str(self.dir / "sv" / name)])

    def stop_all_argv(self) -> list[str]:
        return self._stop(self._dirs())

    def log_files(self, name: str) -> list[Path]:
        d = self.dir / "sv" / name / "log" / "main"
        return [d / "current", *d.glob("@*")]
