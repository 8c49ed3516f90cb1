"""Eight hostile clients on the control socket, the app socket and HTTP: their effect on other callers."""

import json
import os
import signal
import socket
import threading
import time
from pathlib import Path

from bench import Bench, Failed, Result, Samples, figure, most, ratio
from rows.respawn import new_fifo, strikes
from rows.rest import field

CLIENTS = 8
TARGET_MB = most(64 * 1.048576, every=True)
TARGET_RESPAWN = most(5.0)
TARGET_ANSWER = most(1.0, every=True)
#: Ended runs, so that an answer to `runs` is large.
HISTORY = 500


def measure(bench: Bench) -> list[Result]:
    seconds = 5 if bench.quick else 30
    count = 100 if bench.quick else 400
    seen = {name: Samples() for name in ("quiet_p99_ms", "hostile_p99_ms", "peak_mb", "slowest_s", "answers")}
    rounds = min(bench.rounds, 2)
    for number in range(rounds):
        trial(bench, seconds, count, seen)
        line = ", ".join(f"{name} {samples.values[-1]:.2f}" for name, samples in seen.items())
        bench.progress(f"hostile {number + 1}/{rounds}: {line}")
    data = {"seconds": seconds, "clients": CLIENTS, **{name: samples.as_json() for name, samples in seen.items()}}
    quiet, hostile = seen["quiet_p99_ms"], seen["hostile_p99_ms"]
    against = Samples([a / b for a, b in zip(hostile.values, quiet.values)])
    what = f"{CLIENTS} hostile clients for {seconds} s"
    return [
        figure("hostile", f"{what}: the most memory the supervisor had", seen["peak_mb"], TARGET_MB, "{:.1f}", "MB", data=data),
        ratio(
            "hostile", f"{what}: kill -9 of a unit → its replacement, p99 of {count}, against without them",
            against, TARGET_RESPAWN, quiet.shown() + " ms", hostile.shown() + " ms", data,
        ),
        figure(
            "hostile", f"{what}: the slowest answer to another caller (`ls`, `runs`, `metrics`)", seen["slowest_s"], TARGET_ANSWER,
            "{:.3f}", "s", ours=f"of {seen['answers'].shown('{:.0f}')} answers", data=data,
        ),
    ]


def trial(bench: Bench, seconds: float, count: int, seen: dict[str, Samples]) -> None:
    supervisor = bench.supervisor()
    supervisor.environment["OSTLER_HTTP"] = "127.0.0.1:0"
    with supervisor:
        bench.run_tool("drive", supervisor.socket, HISTORY, 32, "each", "/bin/true")
        seen["quiet_p99_ms"].add(p99(struck(bench, supervisor, count)))
        address = http_address(supervisor.home)
        until = time.monotonic() + seconds
        clients = [attack(supervisor, number, address, until) for number in range(CLIENTS)]
        caller = Caller(supervisor)
        try:
            caller.start()
            took = []
            while time.monotonic() < until:
                took += struck(bench, supervisor, count)
            seen["hostile_p99_ms"].add(p99(took))
        finally:
            caller.leave()
            for pid in clients:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        if caller.error or not caller.took:
            raise Failed(f"another caller: {caller.error or 'no answer at all'}")
        seen["slowest_s"].add(max(caller.took))
        seen["answers"].add(len(caller.took))
        seen["peak_mb"].add(field(supervisor.pid, "status", "VmHWM") / 1e6)
        if json.loads(supervisor.cli("status", "--json"))["supervisorPid"] != supervisor.pid:
            raise Failed("the supervisor was replaced")


def struck(bench: Bench, supervisor, count: int) -> list[float]:
    """A separate unit is killed repeatedly."""
    fifo = new_fifo(bench)
    file = fifo.with_name("ostler.toml")
    file.write_text(
        f"[units.beat]\ncommand = ['{bench.tool('beat')}', '{fifo}']\n"
        "restart = { initial = '0', limit = { count = 0, window = '1s' } }\n"
    )
    supervisor.cli("up", "--no-wait", "-f", str(file))
    took = strikes(bench, fifo, count)
    supervisor.cli("down", "-f", str(file))
    return took


def p99(took: list[float]) -> float:
    ordered = sorted(took)
    return ordered[min(int(0.99 * len(ordered)), len(ordered) - 1)] * 1e3


def http_address(home: Path) -> tuple[str, int]:
    for _ in range(200):
        try:
            host, port = json.loads((home / "http.json").read_text())["address"].rsplit(":", 1)
            return host, int(port)
        except (OSError, KeyError, AttributeError, ValueError):
            time.sleep(0.05)
    raise Failed("HTTP does not listen")


class Caller(threading.Thread):
    """An ordinary client that sends a query repeatedly."""

    def __init__(self, supervisor):
        super().__init__()
        self.supervisor, self.took, self.error, self.is_over = supervisor, [], None, threading.Event()

    def run(self) -> None:
        questions = [("ls",), ("runs", "--live"), ("metrics",)]
        turn = 0
        while not self.is_over.is_set():
            begin = time.perf_counter()
            try:
                self.supervisor.cli("--no-start", *questions[turn % len(questions)])
            except Failed as error:
                self.error = str(error)
                return
            self.took.append(time.perf_counter() - begin)
            turn += 1
            time.sleep(0.05)

    def leave(self) -> None:
        self.is_over.set()
        if self.is_alive():
            self.join()


def attack(supervisor, number: int, address: tuple[str, int], until: float) -> int:
    """A separate process; its attack follows from its number."""
    pid = os.fork()
    if pid:
        return pid
    try:
        kinds = [never_reads, hoards, floods, half_lines, app_logs, app_floods, http_floods, http_hoards]
        while time.monotonic() < until + 5:
            try:
                kinds[number % len(kinds)](supervisor, address)
            except (OSError, ValueError):
                time.sleep(0.01)
    finally:
        os._exit(0)


def connected(path: Path | tuple[str, int]) -> socket.socket:
    if isinstance(path, tuple):
        return socket.create_connection(path, timeout=1)
    stream = socket.socket(socket.AF_UNIX)
    stream.settimeout(1)
    stream.connect(str(path))
    return stream


RUNS = b'{"id":1,"method":"runs.list","params":{"liveOnly":false,"newestEnded":null,"unit":null}}\n'
PING = b'{"id":1,"method":"daemon.ping"}\n'


def never_reads(supervisor, _) -> None:
    held = [connected(supervisor.socket) for _ in range(16)]
    for _ in range(100):
        for stream in held:
            stream.settimeout(0.01)
            try:
                stream.sendall(RUNS * 50)
            except TimeoutError:
                pass


def hoards(supervisor, _) -> None:
    held = []
    try:
        while len(held) < 2_000:
            held.append(connected(supervisor.socket))
    finally:
        time.sleep(0.2)
        del held


def floods(supervisor, _) -> None:
    stream = connected(supervisor.socket)
    for _ in range(1_000):
        stream.sendall(PING * 100)
        stream.recv(1 << 20)


def half_lines(supervisor, _) -> None:
    held = [connected(supervisor.socket) for _ in range(32)]
    for stream in held:
        stream.settimeout(0.05)
        try:
            stream.sendall(b"x" * (8 << 20))
        except TimeoutError:
            pass
    time.sleep(0.5)


def app_request(method: str, params: dict) -> bytes:
    return json.dumps({"id": "1", "type": "request", "method": method, "params": params}).encode() + b"\n"


def app_logs(supervisor, _) -> None:
    held = [connected(supervisor.home / "kernel.sock") for _ in range(60)]
    for stream in held:
        stream.settimeout(0.01)
        try:
            stream.sendall(app_request("apps.list", {}) * 1_000)
        except TimeoutError:
            pass
    time.sleep(0.5)


def app_floods(supervisor, _) -> None:
    stream = connected(supervisor.home / "kernel.sock")
    for _ in range(1_000):
        stream.sendall(app_request("app.heartbeat", {}) * 100)
        stream.recv(1 << 20)


def http_floods(_, address) -> None:
    stream = connected(address)
    for _ in range(1_000):
        stream.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n" * 20)
        if not stream.recv(1 << 16):
            return


def http_hoards(_, address) -> None:
    held = [connected(address) for _ in range(300)]
    for stream in held:
        stream.sendall(b"GET /v1/apps HTTP/1.1\r\nx: ")
    time.sleep(0.5)
