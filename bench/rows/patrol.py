"""One tick over fifty agents in sessions of tmux: how long, and with how many processes; and the patrol between ticks.

The agents show the input boxes of claude, codex and opencode, and are judged by their profiles.
"""

import json
import os
import shutil
import time
from pathlib import Path

from bench import Bench, Failed, Result, Samples, Skipped, Supervisor, figure, most, timed

TICK_MS = most(100.0)
PROCESSES = most(3)
WOKEN = most(0)
AGENTS = 50
# The lines of an input box, and where the cursor is in them.
SIDE = "─" * 78
PICTURES = {
    "claude": ([SIDE, "❯ ", SIDE, "  ? for shortcuts"], 1, 2),
    "codex": (["", "› ", "", "  gpt-5 default · ~/work"], 1, 2),
    "opencode": (["  ┃", "  ┃", "  ┃  Build · m1", "  ╹" + "▀" * 70, "  ~/work"], 1, 5),
}
PROFILES = tuple(PICTURES)


def measure(bench: Bench) -> list[Result]:
    if not shutil.which("tmux"):
        raise Skipped("tmux is not installed")
    rounds = min(bench.rounds, 3)
    seen = {name: Samples() for name in ("tick_ms", "bare_ms", "processes", "woken")}
    for number in range(rounds):
        trial(bench, 5 if bench.quick else 20, seen)
        bench.progress(
            f"patrol {number + 1}/{rounds}: "
            + ", ".join(f"{name} {samples.values[-1]:.2f}" for name, samples in seen.items())
        )
    data = {"agents": AGENTS, **{name: samples.as_json() for name, samples in seen.items()}}
    return [
        figure(
            "patrol",
            f"one tick over {AGENTS} agents with profiles in tmux",
            seen["tick_ms"],
            TICK_MS,
            "{:.1f}",
            "ms",
            seen["bare_ms"].shown("{:.1f}") + " ms for two listings by tmux itself",
            "the median of a round's ticks",
            data,
        ),
        figure("patrol", "processes of tmux that a tick starts", seen["processes"], PROCESSES, "{:.0f}", "", data=data),
        figure("patrol", "wake-ups of the patrol between ticks, in 10 s", seen["woken"], WOKEN, "{:.0f}", "", data=data),
    ]


def trial(bench: Bench, ticks: int, seen: dict[str, Samples]) -> None:
    with bench.supervisor() as supervisor:
        town = supervisor.home / "town"
        town.mkdir()
        text = '[patrol]\nroot = "town"\ntick = "1h"\n'
        for number in range(AGENTS):
            profile = PROFILES[number % len(PROFILES)]
            shown = picture(supervisor.home, profile)
            text += f'[patrol.watch.a{number:02}]\nagent = "{profile}"\ncommand = ["sh", "-c", "cat {shown}; exec sleep 100000"]\n'
        file = supervisor.home / "ostler.toml"
        file.write_text(text)
        out = os.open(supervisor.home / "out", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        timed([str(bench.ostler), "up", "-f", str(file)], supervisor.environment, out)
        os.close(out)
        until((town / "daemon" / "state.json").exists, "the first tick")
        until(lambda: shown_idle(supervisor) == AGENTS, "the prompt of every agent")
        seen["bare_ms"].add(bare_ms(bench, supervisor))
        took, processes = [], []
        for _ in range(ticks):
            ticked = json.loads(supervisor.cli("patrol", "tick", "--json"))
            alive = sum(1 for agent in ticked["agents"] if agent["decision"]["step"] == "nothing")
            if alive != AGENTS:
                raise Failed(f"{alive} of {AGENTS} agents were well")
            took.append(ticked["tookMs"])
            processes.append(ticked["tmuxProcesses"])
        seen["tick_ms"].add(sorted(took)[len(took) // 2])
        seen["processes"].add(max(processes))
        pid = int((town / "daemon" / "daemon.pid").read_text())
        before = switches(pid)
        time.sleep(2 if bench.quick else 10)
        seen["woken"].add(switches(pid) - before)
        supervisor.cli("down", "-f", str(file))


def shown_idle(supervisor: Supervisor) -> int:
    """How many a tick sees at their prompt."""
    agents = json.loads(supervisor.cli("patrol", "tick", "--json"))["agents"]
    return sum(1 for agent in agents if agent["decision"]["evidence"].get("shows") == "idle")


def picture(folder: Path, profile: str) -> Path:
    """The screen of an agent at its prompt, with the cursor in its input box."""
    path = folder / f"{profile}.screen"
    lines, row, column = PICTURES[profile]
    talk = [f"line {number} of a conversation" for number in range(12)]
    place = f"\x1b[{len(talk) + row + 1};{column + 1}H\x1b[?25h"
    path.write_text("\x1b[2J\x1b[H" + "\r\n".join(talk + lines) + place, encoding="utf-8")
    return path


def bare_ms(bench: Bench, supervisor: Supervisor) -> float:
    """Two questions to the same server, which has the same sessions."""
    tmux = [shutil.which("tmux"), "-S", str(supervisor.home / "tmux.sock"), "list-panes", "-a"]
    out = os.open(supervisor.home / "out", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    took = sorted(2 * timed(tmux, supervisor.environment, out) for _ in range(5))
    os.close(out)
    return took[2] * 1e3


def until(is_so, what: str) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        if time.monotonic() > deadline:
            raise Failed(f"{what} did not come")
        time.sleep(0.05)


def switches(pid: int) -> int:
    """How often its threads went to sleep: each time, something had woken them."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as status:
            total += sum(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt_switches"))
    return total
