"""Apps: heartbeats per second of one core, the latency of answers, the cost of an idle app."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

from bench import Bench, Failed, Result, Samples, figure, least, most
from rows.rest import field, ticks

BEATS = least(50_000)
ANSWER_MS = most(5.0)
MEMORY_KB = most(16.0)
FLOODERS = 16
PATIENCE_S = 120


def measure(bench: Bench) -> list[Result]:
    seconds = 2 if bench.quick else 5
    rounds = min(bench.rounds, 3)
    seen = {name: Samples() for name in ("beats", "bare_beats", "answered", "p50_ms", "p99_ms", "kb")}
    for number in range(rounds):
        bare(bench, seconds, seen)
        flood(bench, seconds, seen)
        steady(bench, seconds, seen)
        idle(bench, seen)
        bench.progress(
            f"apps {number + 1}/{rounds}: "
            + ", ".join(f"{name} {samples.values[-1]:.2f}" for name, samples in seen.items())
        )
    data = {"seconds": seconds, **{name: samples.as_json() for name, samples in seen.items()}}
    return [
        figure(
            "apps",
            "heartbeats answered a second of the supervisor's processor time, 16 apps that send all they can",
            seen["beats"],
            BEATS,
            "{:.0f}",
            "/s",
            seen["bare_beats"].shown("{:.0f}") + " /s in C, which answers without reading them",
            seen["answered"].shown("{:.0f}") + " a second of real time",
            data,
        ),
        figure(
            "apps",
            "5,000 heartbeats a second from 500 apps, p99 until the answer",
            seen["p99_ms"],
            ANSWER_MS,
            "{:.2f}",
            "ms",
            ours="p50 " + seen["p50_ms"].shown("{:.2f}") + " ms",
            data=data,
        ),
        figure(
            "apps",
            "resident memory that an idle connected app adds, over the same unit that does not connect",
            seen["kb"],
            MEMORY_KB,
            "{:.1f}",
            "kB",
            data=data,
        ),
    ]


def bare(bench: Bench, seconds: int, seen: dict[str, Samples]) -> None:
    """The same apps at a server in C that looks at nothing but the ends of lines."""
    folder = bench.folder("echo")
    results, socket_path = folder / "results", folder / "s"
    results.mkdir()
    server = subprocess.Popen([bench.tool("echo"), str(socket_path)], stdout=subprocess.PIPE, text=True)
    apps = []
    try:
        until = time.monotonic() + PATIENCE_S
        while not socket_path.exists() and time.monotonic() < until:
            time.sleep(0.01)
        around = {"OPENCLAWOS_SOCKET": str(socket_path), "OPENCLAWOS_APP_ID": "@bench/bare"}
        argv = [bench.tool("app"), "0", str(seconds), str(results)]
        apps = [subprocess.Popen(argv, env=around) for _ in range(FLOODERS)]
        time.sleep(0.2)
        pids = [app.pid for app in apps]
        go(pids)
        answered = sum(int(text.split("\n", 1)[0]) for text in collected(results, pids))
    finally:
        for app in apps:
            app.kill()
            app.wait()
        server.terminate()
        used = float(server.communicate()[0] or "nan")
    seen["bare_beats"].add(answered / used)


def flood(bench: Bench, seconds: int, seen: dict[str, Samples]) -> None:
    with bench.supervisor() as supervisor:
        results, pids = up(bench, supervisor, FLOODERS, 0, seconds)
        before = ticks(supervisor.pid)
        go(pids)
        answered = sum(int(text.split("\n", 1)[0]) for text in collected(results, pids))
        used = (ticks(supervisor.pid) - before) / os.sysconf("SC_CLK_TCK")
        seen["answered"].add(answered / seconds)
        seen["beats"].add(answered / used)


def steady(bench: Bench, seconds: int, seen: dict[str, Samples]) -> None:
    with bench.supervisor() as supervisor:
        results, pids = up(bench, supervisor, 500, 10, seconds)
        go(pids)
        took = sorted(float(line) for text in collected(results, pids) for line in text.split("\n")[1:] if line)
        if len(took) < 500 * 10 * seconds * 0.9:
            raise Failed(f"{len(took)} heartbeats were answered in {seconds} s instead of {500 * 10 * seconds}")
        seen["p50_ms"].add(took[len(took) // 2] * 1e3)
        seen["p99_ms"].add(took[len(took) * 99 // 100] * 1e3)


def idle(bench: Bench, seen: dict[str, Samples]) -> None:
    count = 500
    with bench.supervisor() as supervisor:
        plain = "".join(f"[units.u{number}]\ncommand = ['/bin/sleep', '100000']\n" for number in range(count))
        file = supervisor.home / "ostler.toml"
        file.write_text(plain)
        supervisor.cli("up", "-f", str(file))
        without = settled(supervisor.pid)
    with bench.supervisor() as supervisor:
        up(bench, supervisor, count, 1, 1)
        seen["kb"].add((settled(supervisor.pid) - without) / count / 1e3)


def settled(pid: int) -> int:
    """It returns unneeded memory after an idle time."""
    time.sleep(8)
    return field(pid, "status", "VmRSS")


def up(bench: Bench, supervisor, count: int, rate: int, seconds: int) -> tuple[Path, list[int]]:
    results = supervisor.home / "results"
    results.mkdir()
    text = ""
    for number in range(count):
        manifest = {
            "id": f"@bench/app{number}",
            "type": "app",
            "protocol": {"version": "1.0"},
            "command": [bench.tool("app"), str(rate), str(seconds), str(results)],
        }
        folder = supervisor.home / "apps" / str(number)
        folder.mkdir(parents=True)
        (folder / "openclawos.manifest.json").write_text(json.dumps(manifest))
        text += f"[units.app{number}]\nmanifest = 'apps/{number}'\n"
    file = supervisor.home / "ostler.toml"
    file.write_text(text)
    supervisor.cli("up", "-f", str(file))
    views = json.loads(supervisor.cli("ls", "--json"))
    views = views if isinstance(views, list) else views["units"]
    return results, [view["pid"] for view in views]


def go(pids: list[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGUSR1)


def collected(results: Path, pids: list[int]) -> list[str]:
    until = time.monotonic() + PATIENCE_S
    while not all((results / str(pid)).exists() for pid in pids):
        if time.monotonic() > until:
            raise Failed("not every app has come to its end")
        time.sleep(0.5)  # reading 500 files takes time itself
    return [(results / str(pid)).read_text() for pid in pids]
