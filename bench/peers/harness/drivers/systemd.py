"""systemd as pid 1 of its own pid, mount and cgroup namespaces, with only our units.

The unit path holds our units alone and /usr/lib/tmpfiles.d is hidden: a stock boot would
run systemd-tmpfiles, whose 'D /tmp' empties the /tmp it shares with the host.
"""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path

from .. import procfs
from ..driver import Driver, Service
from ..session import BenchError, remove_cgroup


PROGRAMS = ("/usr/lib/systemd/systemd", "/lib/systemd/systemd")
ONESHOTS = 100


class Systemd(Driver):
    name = "systemd"
    language = "C"
    needs = ("systemctl", "unshare", "nsenter")
    restart_note = "RestartSec=0 (default 100 ms), start limit off"
    log_note = "StandardOutput=file: (the service writes the file itself; journald is not run)"
    hardened_note = "KillMode=control-group is already its default"
    stop_note = "systemctl stop '*.service'"

    @classmethod
    def unavailable(cls, prefix: Path) -> str | None:
        missing = super().unavailable(prefix)
        if missing:
            return missing
        if not any(os.access(p, os.X_OK) for p in PROGRAMS):
            return "systemd not installed"
        if os.geteuid() != 0:
            return "needs root: it is process 1 of namespaces of its own"
        return None if _cgroup_root() else "no cgroup v2 is mounted"

    def version(self) -> str:
        return self.s.run([self._systemd(), "--version"])[2].splitlines()[0]

    def _systemd(self) -> str:
        for p in PROGRAMS:
            if os.access(p, os.X_OK):
                return p
        raise BenchError("systemd: not installed")

    def version_argv(self) -> list[str]:
        return [self.exe("systemctl"), "--version"]

    def install_paths(self) -> list[Path]:
        out = self.s.run(["dpkg", "-L", "systemd", "libsystemd-shared"])[2].splitlines()
        return [Path(p) for p in out if os.path.isfile(p) and not os.path.islink(p)]

    def configure(self, services: list[Service]) -> None:
        self.services = services
        d = self.dir / "units"
        d.mkdir(exist_ok=True)
        (d / "bench.target").write_text("[Unit]\nDefaultDependencies=no\nWants="
                                        + " ".join(f"{s.name}.service" for s in services) + "\n")
        for s in services:
            out = f"file:{self.log_files(s.name)[0]}" if s.log else "null"
            (d / f"{s.name}.service").write_text(
                "[Unit]\nDefaultDependencies=no\nStartLimitIntervalSec=0\n[Service]\n"
                f"ExecStart={shlex.join(s.argv)}\nRestart=always\nStandardOutput={out}\nStandardError=null\n"
                f"TimeoutStopSec={s.stop_grace_s}\n" + ("RestartSec=0\n" if self.profile.fast else ""))
        boot = self.dir / "boot.sh"
        boot.write_text(
            "#!/bin/sh\nset -e\nmount --make-rprivate /\nmount -t tmpfs tmpfs /usr/lib/tmpfiles.d\n"
            "mount -t tmpfs tmpfs /run\nmount -t tmpfs tmpfs /sys/fs/cgroup\n"
            "mount -t cgroup2 cgroup2 /sys/fs/cgroup\n"
            f"exec env -i container=bench PATH=$PATH SYSTEMD_UNIT_PATH={d} SYSTEMD_LOG_TARGET=null "
            f"{self._systemd()} --system --unit=bench.target\n")
        boot.chmod(0o755)

    def _cgroup(self) -> Path:
        """A cgroup of our own, which becomes the root that this systemd sees."""
        root = _cgroup_root()
        if root is None:
            raise BenchError("no cgroup v2 is mounted")
        group = root / self.dir.name
        if not group.exists():
            group.mkdir()
            self.s.at_close.append(lambda: remove_cgroup(group))
        return group

    def start(self) -> None:
        self._p = self.s.spawn(["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(self._cgroup()),
                                "unshare", "--fork", "--pid", "--mount", "--mount-proc", "--cgroup", "--uts", "--ipc",
                                "--kill-child", str(self.dir / "boot.sh")])

    def daemon_pid(self) -> int:
        for p in procfs.descendants(os.getpid()):
            if p.ppid == self._p.pid:
                return p.pid
        raise BenchError("systemd is not running")

    def crash_points(self) -> dict[str, list[int]]:
        return {"daemon": [self.daemon_pid()]}  # the other process is unshare

    def _ns(self, *args: str) -> list[str]:
        return ["nsenter", "-t", str(self.daemon_pid()), "-m", "-p", "--", *args]

    def status_argv(self) -> list[str]:
        return self._ns(self.exe("systemctl"), "--no-pager", "list-units", "--type=service")

    def stop_service_argv(self, name: str) -> list[str]:
        return self._ns(self.exe("systemctl"), "stop", f"{name}.service")

    def stop_all_argv(self) -> list[str]:
        return self._ns(self.exe("systemctl"), "stop", "*.service")

    def add_oneshot(self, name: str, argv: list[str]) -> None:
        """A unit that runs a command to its end (systemd-run needs D-Bus, which is not started)."""
        (self.dir / "units" / f"{name}.service").write_text(
            "[Unit]\nDefaultDependencies=no\nStartLimitIntervalSec=0\n[Service]\nType=oneshot\n"
            f"ExecStart={shlex.join(argv)}\nStandardOutput=null\nStandardError=null\n")

    def run_oneshot_argv(self, name: str) -> list[str]:
        return self._ns(self.exe("systemctl"), "start", f"{name}.service")

    def log_files(self, name: str) -> list[Path]:
        return [self.dir / f"{name}.log"]

    @classmethod
    def oneshot_rate(cls, bench, n: int) -> dict[str, float]:
        with bench.session("oneshot-systemd") as s:
            d = bench.driver(cls, s)
            d.configure(bench.services(cls, s, 1))
            d.add_oneshot("once", [bench.tools.svc, "true"])
            d.start()
            bench.up(d, 30)
            time.sleep(1)
            argv = d.run_oneshot_argv("once")
            s.run(argv, check=True)
            n = min(n, ONESHOTS)
            t0 = time.monotonic()
            bad = sum(s.run(argv)[0] != 0 for _ in range(n))
            return {"systemctl start of a oneshot unit, one after another": (n - bad) / (time.monotonic() - t0)}


def _cgroup_root() -> Path | None:
    with open("/proc/self/mountinfo") as f:
        mounts = [line.split() for line in f]
    return next((Path(m[4]) for m in mounts if m[m.index("-") + 1] == "cgroup2"), None)
