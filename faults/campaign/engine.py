"""The campaign's own container engine: with a folder, a socket, an image and a foreign container."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from . import disk, procfs
from .procfs import Process

NEEDED = {"docker": ("dockerd", "containerd", "runc"), "podman": ("podman", "conmon", "runc")}
UP_WITHIN = 40  # seconds
PATIENCE = 20


class Away(Exception):
    """The engine does not answer, or with an error."""


@dataclass(frozen=True)
class Container:
    """A container, as the engine reports it."""

    engine: str
    id: str
    unit: str | None
    run: str | None
    state: str
    root: Process | None = None
    started: str = ""


class Wire(http.client.HTTPConnection):
    def __init__(self, path: Path, seconds: float):
        super().__init__("localhost", timeout=seconds)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Engine:
    def __init__(self, kind: str, folder: Path, reaper: procfs.Reaper):
        self.kind, self.folder, self.reaper = kind, folder, reaper
        self.socket = folder / "e.sock"
        self.image = "copy:1" if kind == "docker" else "localhost/copy:1"
        self.groups = f"{folder.parent.name}-{kind}"
        self.in_group = re.compile(rf"/{self.groups}/([0-9a-f]{{64}})" if kind == "docker" else r"/libpod-([0-9a-f]{64})")
        self.child: subprocess.Popen | None = None
        self.foreign: str | None = None
        self.struck = threading.RLock()  # held during each fault on it

    def why_not(self, copy: Path) -> str | None:
        """Starts the engine, with an image; returns the reason if it cannot."""
        if missing := [name for name in NEEDED[self.kind] if not shutil.which(name)]:
            return f"{missing[0]} is not installed"
        if os.getuid() != 0:
            return "it is only tried as root"
        self.folder.mkdir()
        if self.kind == "podman":
            (self.folder / "containers.conf").write_text(
                '[containers]\ndefault_ulimits = ["nofile=20000:20000","nproc=1000:1000"]\nnetns = "none"\n'
                '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
                f'lock_type = "file"\nexit_command_delay = 1\ntmp_dir = "{self.folder}/tmp"\n')
        try:
            self.start()
            self.make_image(copy)
            return None
        except (Away, OSError) as error:
            self.end()
            return f"it does not start: {error}"

    def variables(self) -> dict[str, str]:
        """The variables that make Ostler use it."""
        host = "DOCKER_HOST" if self.kind == "docker" else "CONTAINER_HOST"
        return {"CONTAINER_RUNTIME": self.kind, host: f"unix://{self.socket}"} | self.own_variables()

    def own_variables(self) -> dict[str, str]:
        return {"CONTAINERS_CONF": str(self.folder / "containers.conf")} if self.kind == "podman" else {}

    def words(self) -> list[str]:
        d = self.folder
        if self.kind == "podman":
            return ["podman", "--root", f"{d}/root", "--runroot", f"{d}/run", "system", "service", "--time=0", f"unix://{self.socket}"]
        return ["dockerd", "--live-restore", "--bridge=none", "--iptables=false", "--ip6tables=false", f"--cgroup-parent=/{self.groups}",
                "--data-root", f"{d}/data", "--exec-root", f"{d}/exec", "-H", f"unix://{self.socket}", "--pidfile", f"{d}/e.pid"]

    def start(self) -> None:
        """Starts it; returns when it answers."""
        with open(self.folder / "log", "ab") as log, self.reaper.lock:
            self.child = subprocess.Popen(self.words(), env=os.environ | self.own_variables(), cwd=self.folder, stdin=subprocess.DEVNULL,
                                          stdout=log, stderr=log, start_new_session=True)
            self.reaper.waited.add(self.child.pid)
        end = time.monotonic() + UP_WITHIN
        while True:
            try:
                self.ask("GET", "/_ping", seconds=2)
                return
            except Away as error:
                if self.child.poll() is not None or time.monotonic() > end:
                    raise Away(f"{error}: {(self.folder / 'log').read_text(errors='replace')[-500:]}") from None
            time.sleep(0.02)

    def strike(self, number: int) -> None:
        """The engine's first process; if that ends it, until it has ended."""
        beside = self.containerd()
        self.child.send_signal(number)
        if number in (signal.SIGTERM, signal.SIGKILL):
            try:
                self.child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
            self.reaper.waited.discard(self.child.pid)
            # It goes too, a moment later. The next docker would take it for its own until then, even while it waits to be reaped.
            if beside:
                beside.signal(signal.SIGKILL)
                while (seen := procfs.look(beside.pid)) and seen.process == beside:
                    time.sleep(0.005)

    def containerd(self) -> Process | None:
        """Docker's containerd."""
        for seen in procfs.everyone().values():
            if seen.name == "containerd" and str(self.folder) in " ".join(procfs.arguments(seen.process.pid)):
                return seen.process
        return None

    def ask(self, method: str, path: str, body: dict | bytes | None = None, seconds: float = PATIENCE):
        wire = Wire(self.socket, seconds)
        kind = "x-tar" if isinstance(body, bytes) else "json"
        try:
            wire.request(method, path, json.dumps(body) if isinstance(body, dict) else body, {"Content-Type": f"application/{kind}"})
            answer = wire.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise Away(f"{self.kind}: {error or type(error).__name__}") from None
        finally:
            wire.close()
        if answer.status >= 400:
            raise Away(f"{self.kind}: {method} {path.partition('?')[0]}: {answer.status} {text[:300].decode(errors='replace')}")
        try:
            return json.loads(text)
        except ValueError:
            return None

    def containers(self, home: str, seconds: float = PATIENCE, deep: bool = True) -> list[Container]:
        """The containers with the label of this home, running or not."""
        listed = self.ask("GET", "/v1.41/containers/json?all=1&filters=" + quote(json.dumps({"label": [f"ostler.home={home}"]})), seconds=seconds) or []
        found = []
        for one in listed:
            labels = one.get("Labels") or {}
            root, started, state = None, "", one["State"]
            if deep:
                try:
                    inspected = self.ask("GET", f"/v1.41/containers/{one['Id']}/json")["State"]
                except Away:
                    continue  # it has gone meanwhile
                seen = procfs.look(inspected["Pid"]) if inspected["Pid"] else None
                root, started, state = seen and seen.process, inspected["StartedAt"], inspected["Status"]
            found.append(Container(self.kind, one["Id"], labels.get("ostler.unit"), labels.get("ostler.run"), state, root, started))
        return found

    def make_image(self, copy: Path) -> None:
        root = self.folder / "image"
        (root / "bin").mkdir(parents=True)
        shutil.copy(copy, root / "bin" / "copy")
        subprocess.run(["tar", "-C", str(root), "-cf", str(self.folder / "image.tar"), "."], check=True)
        name, tag = self.image.split(":")
        docker, podman = f"/v1.41/images/create?fromSrc=-&repo={name}&tag={tag}", f"/v4.0.0/libpod/images/import?reference={self.image}"
        self.ask("POST", docker if self.kind == "docker" else podman, (self.folder / "image.tar").read_bytes())

    def make_foreign(self, unit: str, facts: Path) -> None:
        """A foreign container: the same image and arguments, a similar name, the labels of another home."""
        labels = {"ostler.home": "00000000-0000-4000-8000-000000000000", "ostler.unit": unit, "ostler.run": "00000000-0000-4000-8000-000000000001"}
        self.foreign = self.make(f"ostler-{unit}-000000", labels, ["/bin/copy", "/facts", unit, "tree"], [f"{facts}:/facts"])

    def make(self, name: str, labels: dict[str, str], words: list[str], volumes: list[str]) -> str:
        body = {"Image": self.image, "Cmd": words, "Labels": labels, "HostConfig": {"NetworkMode": "none", "Binds": volumes}}
        made = self.ask("POST", f"/v1.41/containers/create?name={name}", body)["Id"]
        self.ask("POST", f"/v1.41/containers/{made}/start")
        return made

    def container_of(self, pid: int) -> str | None:
        found = self.in_group.search(procfs.raw(pid, "cgroup").decode(errors="replace"))
        return found[1] if found else None

    def end(self) -> None:
        """Ends it with all its containers, after Ostler has ended."""
        if self.child is None:
            return
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGCONT)
            try:
                for one in self.ask("GET", "/v1.41/containers/json?all=1") or []:
                    self.ask("DELETE", f"/v1.41/containers/{one['Id']}?force=1&v=1")
            except Away:
                pass
            self.strike(signal.SIGTERM)
        end = time.monotonic() + PATIENCE
        while (left := [seen.process for seen in procfs.everyone().values() if self.is_own(seen.process.pid)]) and time.monotonic() < end:
            for process in left:
                process.signal(signal.SIGKILL)
            time.sleep(0.05)
        places = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for place in sorted((place for place in places if place.startswith(f"{self.folder}/")), reverse=True):
            disk.unmount(Path(place))
        self.remove_groups()

    def is_own(self, pid: int) -> bool:
        return any(str(self.folder) in word for word in procfs.arguments(pid)) or self.kind == "docker" and bool(self.container_of(pid))

    def remove_groups(self) -> None:
        """Docker leaves its parent cgroup."""
        base = Path("/sys/fs/cgroup")
        for top in [base / self.groups, *base.glob(f"*/{self.groups}")]:
            for place, _, _ in os.walk(top, topdown=False):
                try:
                    os.rmdir(place)
                except OSError:
                    pass
