"""A container that is killed → another one runs, beyond the time that the engine itself needs to create one."""

import http.client
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

from bench import Bench, Failed, Result, Samples, Skipped, Supervisor, figure, most

ABOVE_MS = most(100.0)
IMAGE = "bench:1"


def measure(bench: Bench) -> list[Result]:
    if not all(shutil.which(program) for program in ("dockerd", "docker", "busybox")):
        raise Skipped("dockerd, docker or busybox is not installed")
    count = 10 if bench.quick else 30
    rounds = min(bench.rounds, 3)
    seen = {name: Samples() for name in ("run_ms", "killed_ms", "reported_ms", "above_ms")}
    engine = Engine(bench)
    try:
        for number in range(rounds):
            run = [engine.run() for _ in range(count)]
            killed, reported = ours(bench, engine, count)
            middle = lambda values: sorted(values)[len(values) // 2] * 1e3  # noqa: E731
            seen["run_ms"].add(middle(run))
            seen["killed_ms"].add(middle(killed))
            seen["reported_ms"].add(middle(reported))
            seen["above_ms"].add(seen["killed_ms"].values[-1] - seen["run_ms"].values[-1])
            bench.progress(
                f"containers {number + 1}/{rounds}: "
                + ", ".join(f"{name} {samples.values[-1]:.1f}" for name, samples in seen.items())
            )
    finally:
        engine.close()
    data = {"count": count, **{name: samples.as_json() for name, samples in seen.items()}}
    return [
        figure(
            "containers",
            f"SIGKILL of a container → another runs, p50 of {count}, above the engine's own create and start",
            seen["above_ms"],
            ABOVE_MS,
            "{:.1f}",
            "ms",
            seen["run_ms"].shown("{:.1f}") + " ms",
            seen["killed_ms"].shown("{:.1f}") + " ms",
            data,
        )
    ]


def ours(bench: Bench, engine: "Engine", count: int) -> tuple[list[float], list[float]]:
    """From the kill to the start of the next; and from the kill to the engine's word that it died."""
    supervisor = Supervisor(bench)
    supervisor.environment["DOCKER_HOST"] = f"unix://{engine.socket}"
    supervisor.environment["CONTAINER_RUNTIME"] = "docker"
    file = supervisor.home / "ostler.toml"
    file.write_text(
        f"[units.a]\nbackend = 'container'\nimage = '{IMAGE}'\nnetwork = 'none'\n"
        "command = ['/bin/busybox', 'sleep', '100000']\n"
        "restart = { initial = '0', limit = { count = 0, window = '1s' } }\n"
    )
    killed, reported = [], []
    supervisor.start()
    try:
        supervisor.cli("up", "-f", str(file))
        for _ in range(count):
            (container,) = engine.call("GET", "/containers/json")
            pid = engine.call("GET", f"/containers/{container['Id']}/json")["State"]["Pid"]
            time.sleep(0.2)
            engine.forget()
            began = time.monotonic()
            os.kill(pid, signal.SIGKILL)
            reported.append(engine.event("die") - began)
            killed.append(engine.event("start") - began)
        supervisor.cli("down", "-f", str(file))
        supervisor.stop()
    finally:
        supervisor.end_what_is_left() if supervisor.status is not None else None
        shutil.rmtree(supervisor.home, ignore_errors=True)
    if engine.call("GET", "/containers/json?all=1"):
        raise Failed("a container is left")
    return killed, reported


class Unix(http.client.HTTPConnection):
    def __init__(self, path: Path):
        super().__init__("engine")
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))


class Engine:
    """A docker of our own, in a folder of its own."""

    def __init__(self, bench: Bench):
        self.folder = bench.folder("docker")
        self.socket = self.folder / "d.sock"
        self.events: queue.Queue = queue.Queue()
        options = ["--bridge=none", "--iptables=false", "--ip6tables=false", f"--data-root={self.folder}/data"]
        options += [f"--exec-root={self.folder}/exec", f"--pidfile={self.folder}/pid", "-H", f"unix://{self.socket}"]
        log = open(self.folder / "log", "w")
        self.daemon = subprocess.Popen(["dockerd", *options], stdout=log, stderr=log, start_new_session=True)
        for _ in range(200):
            try:
                self.call("GET", "/version")
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise Failed("dockerd does not answer")
        root = self.folder / "root" / "bin"
        root.mkdir(parents=True)
        shutil.copy(shutil.which("busybox"), root / "busybox")
        tar = subprocess.run(["tar", "-C", root.parent, "-c", "."], capture_output=True, check=True)
        docker = ["docker", "-H", f"unix://{self.socket}", "import", "-", IMAGE]
        subprocess.run(docker, input=tar.stdout, capture_output=True, check=True)
        threading.Thread(target=self.listen, daemon=True).start()
        time.sleep(0.5)

    def call(self, method: str, path: str, body: dict | None = None) -> object:
        connection = Unix(self.socket)
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        read = answer.read()
        connection.close()
        if answer.status >= 400:
            raise Failed(f"{method} {path}: {read.decode(errors='replace')}")
        return json.loads(read) if read else None

    def listen(self) -> None:
        connection = Unix(self.socket)
        connection.request("GET", "/events")
        answer = connection.getresponse()
        while line := answer.readline():
            event = json.loads(line)
            if event.get("Type") == "container":
                self.events.put((time.monotonic(), event["Action"]))

    def forget(self) -> None:
        while not self.events.empty():
            self.events.get()

    def event(self, action: str) -> float:
        """When the engine reported it."""
        until = time.monotonic() + 30
        while True:
            try:
                at, what = self.events.get(timeout=max(until - time.monotonic(), 0.01))
            except queue.Empty as error:
                raise Failed(f"no event {action!r}") from error
            if what == action:
                return at

    def run(self) -> float:
        """The time that the engine alone needs until a container runs."""
        body = {"Image": IMAGE, "Cmd": ["/bin/busybox", "sleep", "100000"], "HostConfig": {"NetworkMode": "none"}}
        self.forget()
        began = time.monotonic()
        made = self.call("POST", "/containers/create", body)["Id"]
        self.call("POST", f"/containers/{made}/start")
        took = self.event("start") - began
        self.call("DELETE", f"/containers/{made}?force=1&v=1")
        return took

    def close(self) -> None:
        self.daemon.terminate()
        self.daemon.wait(timeout=30)
        subprocess.run(["umount", "-l", self.folder / "data"], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)
