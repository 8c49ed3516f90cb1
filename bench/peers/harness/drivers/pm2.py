"""pm2 (npm)."""

from __future__ import annotations

import json
from pathlib import Path

from ..driver import Driver, Service


class Pm2(Driver):
    name = "pm2"
    language = "JavaScript (Node)"
    needs = ("pm2", "node")
    slow_logs = True
    start_timeout_s = 420.0
    restart_note = "restart_delay=0 (its default), max_restarts out of the way"
    log_note = "out_file (no rotation without the pm2-logrotate module)"
    hardened_note = "treekill=true is already its default (walks the parent links)"
    stop_note = "pm2 stop all"

    def env(self) -> dict:
        return {**super().env(), "PM2_HOME": str(self.dir / "pm2"), "NO_COLOR": "1"}

    def version(self) -> str:
        pkg = self.prefix / self.name / "node_modules" / "pm2" / "package.json"
        node = self.s.run(["node", "--version"])[2].strip()
        return f"{json.loads(pkg.read_text())['version']} (node {node})"

    def version_argv(self) -> list[str]:
        return [self.exe("pm2"), "--version"]

    def configure(self, services: list[Service]) -> None:
        self.services = services
        apps = [{
            "name": s.name, "script": s.argv[0], "args": list(s.argv[1:]), "interpreter": "none",
            "exec_mode": "fork", "autorestart": True, "max_restarts": 1000000, "min_uptime": 0,
            "kill_timeout": s.stop_grace_s * 1000, "vizion": False, "pmx": False, "merge_logs": True,
            "out_file": str(self.log_files(s.name)[0]) if s.log else "/dev/null",
            "error_file": "/dev/null", "cwd": str(self.dir),
        } for s in services]
        (self.dir / "eco.config.json").write_text(json.dumps({"apps": apps}))

    def start(self) -> None:
        self.s.spawn([self.exe("pm2"), "start", str(self.dir / "eco.config.json")], env=self.env())

    def daemon_pid(self) -> int:
        return int((self.dir / "pm2" / "pm2.pid").read_text())

    def prepare_crash(self) -> None:
        self.s.run([self.exe("pm2"), "save"], env=self.env(), check=True)

    def restart(self) -> None:
        self.s.run([self.exe("pm2"), "resurrect"], env=self.env(), timeout=60)

    def status_argv(self) -> list[str]:
        return [self.exe("pm2"), "list"]

    def stop_service_argv(self, name: str) -> list[str]:
        return [self.exe("pm2"), "stop", name]

    def stop_all_argv(self) -> list[str]:
        return [self.exe("pm2"), "stop", "all"]

    def log_files(self, name: str) -> list[Path]:
        return [self.dir / f"{name}.log"]
