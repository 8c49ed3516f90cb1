"""Ostler: a guardian and a supervisor in a home of their own, units declared in one ostler.toml."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

from ..driver import Driver, Profile, Service
from ..session import BenchError, remove_cgroup

CLI_RUNS = 100
IN_FLIGHT = 32


class Ostler(Driver):
    name = "ostler"
    language = "Rust"
    needs = ("ostler",)
    restart_note = "restart.initial=0 (default 1 s, then doubled); the limit on restarts is off in both"
    log_note = "always captured (runs/<id>/, raw bytes); a service cannot discard its output"
    hardened_note = "no option needed: the whole tree is ended, by cgroup where there is one"
    stop_note = "ostler down"
    binary: Path | None = None  # set by --ostler

    @classmethod
    def find(cls, prefix: Path, name: str) -> str | None:
        if cls.binary is not None:
            return str(cls.binary) if os.access(cls.binary, os.X_OK) else None
        return shutil.which(name)

    def __init__(self, session, prefix: Path, profile: Profile = Profile()):
        super().__init__(session, prefix, profile)
        self.home = session.dir / "home"
        self.file = session.dir / "ostler.toml"
        session.at_close.append(self._remove_boundary)

    def env(self) -> dict:
        settings = {name: value for name, value in os.environ.items() if name.startswith("OSTLER_")}
        return {**super().env(), **settings, "OSTLER_HOME": str(self.home)}

    def install_paths(self) -> list[Path]:
        return [Path(self.exe("ostler")).resolve()]

    def version(self) -> str:
        return self.s.run(self._cmd("--version"), env=self.env())[2].strip()

    def version_argv(self) -> list[str]:
        return self._cmd("--version")

    def _cmd(self, *args: str) -> list[str]:
        return [self.exe("ostler"), *args]

    def configure(self, services: list[Service]) -> None:
        self.services = services
        initial = 'initial = "0", ' if self.profile.fast else ""
        out = [f'[defaults]\nrestart = {{ {initial}limit = {{ count = 0, window = "1s" }} }}\n']
        for s in services:
            words = ", ".join(f"'{word}'" for word in s.argv)
            out.append(f'[units.{s.name}]\ncommand = [{words}]\nstop = {{ grace = "{s.stop_grace_s}s" }}\n')
        self.file.write_text("\n".join(out))

    def start(self) -> None:
        self.s.spawn(self._cmd("up", "-f", str(self.file)), env=self.env())

    def _status(self) -> dict:
        _, _, text = self.s.run(self._cmd("--no-start", "status", "--json"), env=self.env(), timeout=30)
        return json.loads(text)

    def daemon_pid(self) -> int:
        """The supervisor: the process that starts, watches and stops services."""
        return self._status()["supervisorPid"]

    def crash_points(self) -> dict[str, list[int]]:
        status = self._status()
        supervisor, guardian = status["supervisorPid"], status["pid"]
        return {"supervisor": [supervisor], "guardian": [guardian], "both at once": [guardian, supervisor]}

    def restart(self) -> None:
        self.s.run(self._cmd("start"), env=self.env(), timeout=60)

    def status_argv(self) -> list[str]:
        return self._cmd("ls")

    def stop_service_argv(self, name: str) -> list[str]:
        return self._cmd("stop", name)

    def stop_all_argv(self) -> list[str]:
        return self._cmd("down", "-f", str(self.file))

    def log_files(self, name: str) -> list[Path]:
        return sorted(self.home.glob("runs/*/*.log"))

    def _remove_boundary(self) -> None:
        """The harness kills what is left at the end, so no supervisor removes the cgroups."""
        try:
            instance = (self.home / "instance").read_text().strip()
        except OSError:
            return
        for folder, _, _ in os.walk("/sys/fs/cgroup"):
            if folder.endswith(f"/ostler-{instance}"):
                remove_cgroup(Path(folder))

    @classmethod
    def oneshot_rate(cls, bench, n: int) -> dict[str, float]:
        with bench.session("oneshot-ostler") as s:
            d = bench.driver(cls, s)
            s.run(d._cmd("start"), env=d.env(), check=True)
            argv = d._cmd("run", "--", bench.tools.svc, "true")
            s.run(argv, env=d.env(), check=True)
            count = min(n, CLI_RUNS)
            t0 = time.monotonic()
            bad = sum(s.run(argv, env=d.env())[0] != 0 for _ in range(count))
            out = {"ostler run, one after another": (count - bad) / (time.monotonic() - t0)}
            # More than the history keeps could not be counted; `drive` waits for the exit record of each.
            n = min(n, 2000)
            done = subprocess.run([bench.tools.drive, str(d.home / "ostler.sock"), str(n), str(IN_FLIGHT), "each",
                                   bench.tools.svc], capture_output=True, text=True)
            if done.returncode != 0:
                raise BenchError(f"ostler: {done.stderr.strip()}")
            out[f"ostler, one connection, {IN_FLIGHT} in flight"] = n / float(done.stdout)
            s.run(d._cmd("stop"), env=d.env(), check=True)
        return out
