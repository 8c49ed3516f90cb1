"""The base of all rows: the native programs, a separate supervisor for each trial, and results."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
# A unix socket's path has at most 107 bytes.
LONGEST_SOCKET = 107
WITHOUT_LIBRARY = {"sleeper"}


class Failed(Exception):
    """A trial that failed before its measurement. It gives no number."""


class Skipped(Exception):
    """A row that cannot be measured on this machine."""


@dataclass
class Samples:
    """The same thing measured several times."""

    values: list[float] = field(default_factory=list)

    def add(self, value: float) -> None:
        self.values.append(value)

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def shown(self, form: str = "{:.2f}") -> str:
        least, most = min(self.values), max(self.values)
        return f"{form.format(self.median)} ({form.format(least)}–{form.format(most)})"

    def as_json(self) -> dict:
        return {"median": self.median, "min": min(self.values), "max": max(self.values), "values": self.values}


@dataclass(frozen=True)
class Target:
    """The target of a figure. Declared only in its row."""

    bound: float | None = None
    is_least: bool = False
    #: The worst round counts instead of the median.
    every: bool = False
    #: A miss that docs/performance.md explains; worse than this is a regression.
    known: float | None = None

    def shown(self, form: str, unit: str) -> str:
        return "" if self.bound is None else f"{'≥' if self.is_least else '≤'} {form.format(self.bound)} {unit}".strip()

    def reached(self, value: float) -> bool:
        return not self.worse(value, self.bound)

    def worse(self, value: float, than: float) -> bool:
        return value < than if self.is_least else value > than


def least(bound: float, **more) -> Target:
    return Target(bound, is_least=True, **more)


def most(bound: float, **more) -> Target:
    return Target(bound, **more)


def no_target() -> Target:
    """A figure that only informs."""
    return Target()


@dataclass
class Result:
    """One line of the table. `baseline` is the floor measured in the same run, `ours` is printed beside the figure."""

    row: str
    what: str
    samples: Samples
    target: Target
    form: str
    unit: str
    baseline: str
    ours: str
    data: dict

    @property
    def value(self) -> float:
        if not self.target.every:
            return self.samples.median
        return (min if self.target.is_least else max)(self.samples.values)

    @property
    def verdict(self) -> str:
        if self.target.bound is None:
            return "for information"
        if self.target.reached(self.value):
            return "met"
        is_known = self.target.known is not None and not self.target.worse(self.value, self.target.known)
        return "known miss" if is_known else "MISSED"

    def as_json(self) -> dict:
        return {
            "row": self.row,
            "what": self.what,
            "value": self.value,
            "unit": self.unit,
            "target": self.target.bound,
            "is_least": self.target.is_least,
            "known": self.target.known,
            "verdict": self.verdict,
            "measured": f"{self.samples.shown(self.form)} {self.unit}".strip(),
            "shown_target": self.target.shown("{:g}", self.unit),
            "baseline": self.baseline,
            "ours": self.ours,
            "samples": self.samples.as_json(),
            "data": self.data,
        }


def figure(
    row: str, what: str, samples: Samples, target: Target, form: str, unit: str,
    baseline: str = "", ours: str = "", data: dict | None = None,
) -> Result:
    return Result(row, what, samples, target, form, unit, baseline, ours, data or {})


def ratio(row: str, what: str, samples: Samples, target: Target, baseline: str, ours: str, data: dict) -> Result:
    """Against the floor of the same round."""
    return figure(row, what, samples, target, "{:.2f}", "×", baseline, ours, data)


@dataclass
class Bench:
    """The settings of one invocation."""

    ostler: Path
    scratch: Path
    rounds: int
    quick: bool
    native: Path

    def tool(self, name: str) -> str:
        return str(self.native / name)

    def run_tool(self, name: str, *arguments: object, text: str | None = None) -> str:
        """Runs a native program with `text` as input; returns its output."""
        done = subprocess.run([self.tool(name), *map(str, arguments)], capture_output=True, text=True, input=text)
        if done.returncode != 0:
            raise Failed(f"{name} {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout.strip()

    def supervisor(self, home: Path | None = None) -> Supervisor:
        return Supervisor(self, home)

    def folder(self, name: str) -> Path:
        return Path(tempfile.mkdtemp(prefix=name + "-", dir=self.scratch))

    def progress(self, text: str) -> None:
        print(f"  {text}", flush=True)


def build(target: Path) -> None:
    compiler = os.environ.get("CC", "cc")
    target.mkdir(parents=True, exist_ok=True)
    for source in sorted((HERE / "native").glob("*.c")):
        more = ["-static", "-nostdlib"] if source.stem in WITHOUT_LIBRARY else []
        subprocess.run([compiler, "-O2", "-Wall", "-Wextra", *more, "-o", target / source.stem, source], check=True)


def become_reaper() -> None:
    """Whatever a trial leaves behind becomes our child, so that it can be found without guessing."""
    subreaper = 36
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(subreaper, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot become the reaper of descendants")


def descendants() -> list[int]:
    found, unseen = [], [os.getpid()]
    while unseen:
        for task in Path(f"/proc/{unseen.pop()}/task").glob("*/children"):
            try:
                children = [int(pid) for pid in task.read_text().split()]
            except OSError:
                continue
            found += children
            unseen += children
    return found


class ControlSocket:
    """One connection to a supervisor: a JSON object a line."""

    def __init__(self, path: Path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.reading = self.socket.makefile("rb")
        self.last = 0

    def call(self, method: str, params: dict | None = None) -> dict:
        self.last += 1
        request: dict = {"id": self.last, "method": method}
        if params is not None:
            request["params"] = params
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        line = self.reading.readline()
        if not line:
            raise Failed(f"the supervisor hung up during {method}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(f"{method}: {answer['error']}")
        return answer["ok"]

    def close(self) -> None:
        self.reading.close()
        self.socket.close()


def spec(*argv: str) -> dict:
    return {
        "argv": list(argv),
        "cwd": "/",
        "env": ["PATH=/usr/bin:/bin"],
        "umask": 0o022,
        "backend": "pipe",
        "size": {"columns": 120, "rows": 30},
        "stdin": False,
        "sessionId": "bench",
        "unit": None,
        "scopeKey": None,
        "limits": {"timeoutMs": None, "noOutputTimeoutMs": None, "graceMs": 3000},
        "detach": "forbid",
    }


class Supervisor:
    """A supervisor under its guardian, in a fresh home. At the end `ostler stop`; nothing may be left."""

    def __init__(self, bench: Bench, home: Path | None = None):
        self.bench = bench
        self.home = home or bench.folder("home")
        self.keep = home is not None
        if len(str(self.socket)) > LONGEST_SOCKET:
            raise Failed(f"--scratch is too deep for a unix socket: {self.socket}")
        settings = {name: value for name, value in os.environ.items() if name.startswith("OSTLER_")}
        self.environment = {
            **settings,
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self.home),
            "OSTLER_HOME": str(self.home),
        }
        self.status: dict | None = None

    @property
    def socket(self) -> Path:
        return self.home / "ostler.sock"

    @property
    def registry(self) -> Path:
        return self.home / "registry.db"

    @property
    def pid(self) -> int:
        return self.known("supervisorPid")

    @property
    def guardian(self) -> int:
        return self.known("pid")

    def known(self, name: str) -> int:
        if self.status is None:
            raise Failed("the supervisor is not running")
        return self.status[name]

    def start(self) -> None:
        """Returns once it answers."""
        self.status = json.loads(self.cli("start", "--json"))
        if not self.status["running"]:
            raise Failed(f"the supervisor did not start: {self.status}")

    def cli(self, *arguments: str) -> str:
        done = subprocess.run(
            [self.bench.ostler, *arguments], env=self.environment, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise Failed(f"ostler {' '.join(arguments)}: exit {done.returncode}, {done.stderr.strip()}")
        return done.stdout

    def control(self) -> ControlSocket:
        return ControlSocket(self.socket)

    def start_live(self, count: int) -> None:
        """Runs that sleep."""
        self.bench.run_tool("drive", self.socket, count, 32, "live", "/bin/sleep", "100000")

    def log_files(self, run: str) -> list[Path]:
        return sorted((self.home / "runs" / run).glob("*.log"))

    def stop(self) -> None:
        if self.status is None:
            return
        self.cli("--no-start", "stop")
        self.check_stopped()

    def check_stopped(self) -> None:
        """After `ostler stop` has returned."""
        pids = [self.guardian, self.pid]
        self.status = None
        reap()
        there = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        if there:
            raise Failed(f"it said it stopped, but {there} are there")
        instance = (self.home / "instance").read_text().strip()
        # os.walk passes over folders of others that go while it looks.
        left = [folder for folder, _, _ in os.walk("/sys/fs/cgroup") if folder.endswith(f"/ostler-{instance}")]
        if left:
            raise Failed(f"a boundary is left: {left}")

    def __enter__(self) -> Supervisor:
        self.start()
        return self

    def __exit__(self, kind, error, trace) -> None:
        try:
            if kind is None:
                self.stop()
                check_nothing_left()
        finally:
            self.end_what_is_left()
            if not self.keep:
                shutil.rmtree(self.home, ignore_errors=True)

    def end_what_is_left(self) -> None:
        """Only after a failure: our own descendants, by pid."""
        self.status = None
        for _ in range(100):
            left = descendants()
            if not left:
                return
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            reap()
            time.sleep(0.01)


def reap() -> None:
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


def check_nothing_left() -> None:
    left = descendants()
    if left:
        commands = []
        for pid in left:
            try:
                commands.append(f"{pid} {Path(f'/proc/{pid}/cmdline').read_bytes().split(bytes(1))[0].decode()}")
            except OSError:
                pass
        raise Failed(f"left behind: {', '.join(commands) or left}")


def timed(argv: list[str], environment: dict[str, str], out: int) -> float:
    """Seconds from the start of a program to its end, its output into a descriptor."""
    begin = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, environment, file_actions=[(os.POSIX_SPAWN_DUP2, out, 1)])
    _, status = os.waitpid(pid, 0)
    took = time.perf_counter() - begin
    if os.waitstatus_to_exitcode(status) != 0:
        raise Failed(f"{' '.join(argv)}: exit {os.waitstatus_to_exitcode(status)}")
    return took
