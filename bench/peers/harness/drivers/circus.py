"""circus (pip)."""

from __future__ import annotations

import shlex
from pathlib import Path

from ..driver import Driver, Service


class Circus(Driver):
    name = "circus"
    language = "Python (ZeroMQ, tornado)"
    needs = ("circusd", "circusctl")
    slow_logs = True
    restart_note = "check_delay=0.05 s (default 5 s): exits are noticed by polling"
    log_note = "FileStream, no max_bytes"
    hardened_note = "stop_children=true"
    stop_note = "circusctl stop --waiting"

    def version(self) -> str:
        return self.s.run([self.exe("circusd"), "--version"])[2].strip()

    def version_argv(self) -> list[str]:
        return [self.exe("circusctl"), "--version"]

    def configure(self, services: list[Service]) -> None:
        self.services = services
        d = self.dir
        out = [f"[circus]\nendpoint=ipc://{d}/e.sock\npubsub_endpoint=ipc://{d}/p.sock\nstatsd=False\n"
               "loglevel=WARNING\n" + ("check_delay=0.05\n" if self.profile.fast else "")]
        for s in services:
            out.append(f"[watcher:{s.name}]\ncmd={s.argv[0]}\nargs={shlex.join(s.argv[1:])}\nnumprocesses=1\n"
                       f"graceful_timeout={s.stop_grace_s}\nmax_retry=-1\n"
                       + (f"stdout_stream.class=FileStream\nstdout_stream.filename={self.log_files(s.name)[0]}\n"
                          if s.log else "")
                       + ("stop_children=true\n" if self.profile.hardened else ""))
        (d / "circus.ini").write_text("\n".join(out))

    def start(self) -> None:
        self._p = self.s.spawn([self.exe("circusd"), str(self.dir / "circus.ini")])

    def daemon_pid(self) -> int:
        return self._p.pid

    def _ctl(self, *args: str) -> list[str]:
        return [self.exe("circusctl"), "--endpoint", f"ipc://{self.dir}/e.sock", "--timeout", "120", *args]

    def status_argv(self) -> list[str]:
        return self._ctl("status")

    def stop_service_argv(self, name: str) -> list[str]:
        return self._ctl("stop", name, "--waiting")

    def stop_all_argv(self) -> list[str]:
        return self._ctl("stop", "--waiting")

    def log_files(self, name: str) -> list[Path]:
        return [self.dir / f"{name}.log"]
