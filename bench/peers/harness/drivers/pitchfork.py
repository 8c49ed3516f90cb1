"""pitchfork (cargo install pitchfork-cli)."""

from __future__ import annotations

import json
import shlex
import sqlite3
from pathlib import Path

from ..driver import Driver, Service


class Pitchfork(Driver):
    name = "pitchfork"
    language = "Rust"
    needs = ("pitchfork",)
    slow_logs = True
    restart_note = ("PITCHFORK_INTERVAL=10ms (default 10 s): restarts are made by a periodic check; retry=true "
                    "(its default is not to restart)")
    log_note = "a log-sink process per service into one SQLite file (logs.db, WAL); lines counted in the database"
    hardened_note = "no further option (own session; stop signals the process group, SIGKILL after the grace)"
    stop_note = "pitchfork stop --all"
    captured = False  # whether a service without log=True is captured all the same (as shipped)

    @classmethod
    def folder(cls) -> str:
        return Pitchfork.name

    def env(self) -> dict:
        e = {**super().env(), "PITCHFORK_STATE_DIR": str(self.dir / "state"),
             "PITCHFORK_CONFIG_DIR": str(self.dir / "config"), "PITCHFORK_WEB_AUTO_START": "false",
             "PITCHFORK_API_AUTO_START": "false", "PITCHFORK_PROXY_ENABLE": "false",
             "PITCHFORK_SUPERVISOR_AUTO_START": "false", "NO_COLOR": "1"}
        return {**e, "PITCHFORK_INTERVAL": "10ms"} if self.profile.fast else e

    def version(self) -> str:
        return self.s.run([self.exe("pitchfork"), "--version"], env=self.env())[2].strip()

    def version_argv(self) -> list[str]:
        return [self.exe("pitchfork"), "--version"]

    def configure(self, services: list[Service]) -> None:
        self.services = services
        (self.dir / "config").mkdir()
        out = []
        for s in services:
            # There is no option not to capture: discarding is the service's own redirection, on which its sink exits.
            run = list(s.argv) if s.log or self.captured else f"exec {shlex.join(s.argv)} >/dev/null 2>&1"
            out.append(f"[daemons.{s.name}]\nrun = {json.dumps(run)}\nretry = true\nboot_start = true\n"
                       f'stop_signal = {{ signal = "SIGTERM", timeout = "{s.stop_grace_s}s" }}\n')
        (self.dir / "config" / "config.toml").write_text("\n".join(out))

    def start(self) -> None:
        self._p = self.s.spawn([self.exe("pitchfork"), "supervisor", "run", "--boot"], env=self.env())

    def daemon_pid(self) -> int:
        return self._p.pid

    def status_argv(self) -> list[str]:
        return [self.exe("pitchfork"), "list"]

    def stop_service_argv(self, name: str) -> list[str]:
        return [self.exe("pitchfork"), "stop", name]

    def stop_all_argv(self) -> list[str]:
        return [self.exe("pitchfork"), "stop", "--all"]

    # The log is a database: bytes and lines are read from it rather than from the file's size.
    def _query(self, sql: str, *args: str) -> tuple:
        if not hasattr(self, "_db"):
            path = self.dir / "state" / "logs" / "logs.db"
            self._db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
        return self._db.execute(sql, args).fetchone() or (0,)

    def log_seen(self, name: str) -> int:
        """Bytes of output in the log by now: the last row's number (one service), 100 bytes a line."""
        return 100 * self._query("SELECT seq FROM sqlite_sequence WHERE name = 'log_entries'")[0]

    def log_count(self, name: str) -> tuple[int, int]:
        """Bytes (with their newlines) and lines of the service in the log."""
        size, lines = self._query("SELECT sum(length(message) + 1), count(*) FROM log_entries WHERE daemon_id = ?",
                                  f"global/{name}")
        return size or 0, lines


class PitchforkCaptured(Pitchfork):
    """As shipped: no service discards its output, so each keeps its log-sink process."""

    name = "pitchfork+sinks"
    captured = True
