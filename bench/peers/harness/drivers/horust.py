"""horust (cargo install horust horustctl)."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from ..driver import Driver, Service


class Horust(Driver):
    name = "horust"
    language = "Rust"
    needs = ("horust", "horustctl")
    restart_note = "restart.backoff=0s (its default)"
    log_note = "stdout=<file>"
    stop_note = "SIGTERM to the daemon (horustctl 0.1.14 has no stop)"

    def version(self) -> str:
        crates = json.loads((self.prefix / self.name / ".crates2.json").read_text())["installs"]
        return ", ".join(sorted(k.rsplit(" (", 1)[0] for k in crates))

    def version_argv(self) -> list[str]:
        return [self.exe("horust"), "--help"]

    def configure(self, services: list[Service]) -> None:
        self.services = services
        d = self.dir / "services"
        d.mkdir()
        (self.dir / "uds").mkdir()
        for s in services:
            out = str(self.log_files(s.name)[0]) if s.log else "/dev/null"
            (d / f"{s.name}.toml").write_text(
                f'command = {json.dumps(shlex.join(s.argv))}\nstdout = "{out}"\nstderr = "/dev/null"\n'
                '[restart]\nstrategy = "always"\nbackoff = "0s"\nattempts = 1000000\n'
                f'[termination]\nsignal = "TERM"\nwait = "{s.stop_grace_s}s"\n')

    def start(self) -> None:
        self._p = self.s.spawn([self.exe("horust"), "--services-path", str(self.dir / "services"),
                                "--uds-folder-path", str(self.dir / "uds")])

    def daemon_pid(self) -> int:
        return self._p.pid

    def status_argv(self) -> list[str]:
        # horustctl 0.1.14 cannot list: it panics without a name. This is the status of one service.
        return [self.exe("horustctl"), "--uds-folder-path", str(self.dir / "uds"), "--pid", str(self._p.pid),
                "status", f"{self.services[0].name}.toml"]

    def stop_service_argv(self, name: str) -> list[str]:
        return self.stop_all_argv()

    def stop_all_argv(self) -> list[str]:
        return ["kill", "-TERM", str(self._p.pid)]

    def log_files(self, name: str) -> list[Path]:
        return [self.dir / f"{name}.log"]
