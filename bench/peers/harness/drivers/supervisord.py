"""supervisord (pip: supervisor)."""

from __future__ import annotations

import shlex
from pathlib import Path

from ..driver import Driver, Service


class Supervisord(Driver):
    name = "supervisord"
    language = "Python"
    needs = ("supervisord", "supervisorctl")
    slow_logs = True
    restart_note = "startsecs=0; no delay to set"
    log_note = "stdout_logfile, stdout_logfile_maxbytes=0 (no rotation)"
    hardened_note = "stopasgroup=true, killasgroup=true"
    stop_note = "supervisorctl stop all"

    def version(self) -> str:
        return self.s.run([self.exe("supervisord"), "--version"])[2].strip()

    def version_argv(self) -> list[str]:
        return [self.exe("supervisorctl"), "--help"]

    def configure(self, services: list[Service]) -> None:
        self.services = services
        d = self.dir
        out = [f"[unix_http_server]\nfile={d}/s.sock\n",
               f"[supervisord]\nlogfile={d}/supervisord.log\npidfile={d}/supervisord.pid\nnodaemon=true\n"
               f"minfds=16000\nminprocs=4000\nchildlogdir={d}\n",
               "[rpcinterface:supervisor]\n"
               "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n",
               f"[supervisorctl]\nserverurl=unix://{d}/s.sock\n"]
        for s in services:
            out.append(f"[program:{s.name}]\ncommand={shlex.join(s.argv)}\nautorestart=true\nredirect_stderr=true\n"
                       f"stopwaitsecs={s.stop_grace_s}\nstdout_logfile_maxbytes=0\n"
                       f"stdout_logfile={self.log_files(s.name)[0] if s.log else 'NONE'}\n"
                       + ("startsecs=0\n" if self.profile.fast else "")
                       + ("stopasgroup=true\nkillasgroup=true\n" if self.profile.hardened else ""))
        (d / "supervisord.conf").write_text("\n".join(out))

    def start(self) -> None:
        self._p = self.s.spawn([self.exe("supervisord"), "-c", str(self.dir / "supervisord.conf")])

    def daemon_pid(self) -> int:
        return self._p.pid

    def _ctl(self, *args: str) -> list[str]:
        return [self.exe("supervisorctl"), "-c", str(self.dir / "supervisord.conf"), *args]

    def status_argv(self) -> list[str]:
        return self._ctl("status")

    def stop_service_argv(self, name: str) -> list[str]:
        return self._ctl("stop", name)

    def stop_all_argv(self) -> list[str]:
        return self._ctl("stop", "all")

    def log_files(self, name: str) -> list[Path]:
        return [self.dir / f"{name}.log"]
