"""monit (Debian). Not a parent: it polls pid files and runs start and stop programs."""

from __future__ import annotations

import shlex

from ..driver import Driver, Service


class Monit(Driver):
    name = "monit"
    language = "C"
    needs = ("monit",)
    needs_pidfile = True
    has_logs = False
    start_timeout_s = 200.0
    respawn_timeout_s = 20.0
    measure_default_respawn = False  # it is the poll interval, whatever that is set to
    restart_note = "set daemon 1: polls once a second (its minimum; 30 s in 'default'), then runs the start program"
    hardened_note = "no such option (the stop program is yours)"
    stop_note = "monit stop all (returns before they are stopped)"

    def version(self) -> str:
        return self.s.run([self.exe("monit"), "-V"])[2].splitlines()[0].split()[-1]

    def version_argv(self) -> list[str]:
        return [self.exe("monit"), "-V"]

    def configure(self, services: list[Service]) -> None:
        self.services = services
        d = self.dir
        out = [f"set daemon {1 if self.profile.fast else 30}\nset log {d}/monit.log\nset pidfile {d}/monit.pid\n"
               f"set idfile {d}/monit.id\nset statefile {d}/monit.state\n"
               f"set httpd unixsocket {d}/m.sock\n  allow root:monit\n"]
        for s in services:
            out.append(f'check process {s.name} with pidfile {s.pidfile}\n'
                       f'  start program = "{shlex.join(s.argv)}"\n'
                       f'  stop program = "/bin/sh -c \'kill $(cat {s.pidfile})\'" with timeout {s.stop_grace_s} seconds\n')
        rc = d / "monitrc"
        rc.write_text("\n".join(out))
        rc.chmod(0o600)

    def start(self) -> None:
        self._p = self.s.spawn(self._cmd("-I"))

    def _cmd(self, *args: str) -> list[str]:
        return [self.exe("monit"), "-c", str(self.dir / "monitrc"), *args]

    def daemon_pid(self) -> int:
        return self._p.pid

    def status_argv(self) -> list[str]:
        return self._cmd("summary")

    def stop_service_argv(self, name: str) -> list[str]:
        return self._cmd("stop", name)

    def stop_all_argv(self) -> list[str]:
        return self._cmd("stop", "all")
