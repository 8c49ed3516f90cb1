"""One test's own world: a home, an Ostler, a model, and one agent. Nothing of it is left when it is closed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from model.server import Model

from .oracle import Oracle
from .person import PtyPerson, TmuxPerson
from .recipes import RECIPES, Seat

UNIT = "a"


class Failed(Exception):
    """A promise is broken, or a test could not get where it wanted."""


@dataclass
class Programs:
    ostler: str
    # Folders with node and the agents.
    path: list[str]


@dataclass
class Receipt:
    text: str
    receipt: str
    why: str
    id: str | None
    seconds: float

    def __str__(self) -> str:
        return f"{self.receipt} in {self.seconds:.1f} s ({self.why}) for {shown(self.text)}"


def shown(text: str) -> str:
    short = text if len(text) <= 90 else f"{text[:45]}…{text[-40:]}"
    return f"{ascii(short)} ({len(text)} characters)"


class World:
    def __init__(self, programs: Programs, folder: Path, agent: str, backend: str, *, asks: bool = False, patrol: str = "", watch: str = "", in_shell: bool = False):
        self.programs, self.folder, self.agent, self.backend = programs, folder, agent, backend
        self.recipe = RECIPES[agent]
        self.home, self.work, self.ostler_home = folder / "home", folder / "work", folder / "ostler"
        self.bin = folder / "bin"
        # A login shell may have another PATH, so it is named in full.
        self.reads_mail = f"{self.bin}/ostler mail check --inject"
        for made in (self.bin, self.home, self.work, self.ostler_home, folder / "bodies"):
            made.mkdir(parents=True)
        (self.bin / "ostler").symlink_to(programs.ostler)
        (self.work / "README.md").write_text("A folder to work in.\n")
        subprocess.run(["git", "init", "-q", str(self.work)], check=True, env={**os.environ, "HOME": str(self.home)})
        self.model = Model(0, folder / "model.log", folder / "bodies" if os.environ.get("LAB_BODIES") else None)
        self.model.start()
        self.oracle = Oracle(folder / "model.log")
        harmless = ("python3", self.reads_mail)
        own = self.recipe.settings(Seat(self.home, self.work, self.model.port, asks, harmless))
        self.env = {
            "PATH": ":".join([str(self.bin), *programs.path, os.environ["PATH"]]),
            "HOME": str(self.home),
            "OSTLER_HOME": str(self.ostler_home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "SHELL": "/bin/bash",
            **own,
        }
        self.session = f"gt-{UNIT}" if patrol else f"ostler-{UNIT}"
        self.file = self.work / "ostler.toml"
        self.file.write_text(self.declare(list(own), patrol, watch, in_shell))
        self.is_closed = False
        self.people: list[TmuxPerson | PtyPerson] = []
        self.story = open(folder / "story", "a", buffering=1, encoding="utf-8")

    def declare(self, names: list[str], patrol: str, watch: str, in_shell: bool) -> str:
        command, resume = self.recipe.command, self.recipe.resume
        if in_shell:
            command, resume = (["bash", "-c", f"{' '.join(words)}; sleep 100000"] for words in (command, resume))
        inherited = json.dumps(["PATH", "HOME", "LANG", "SHELL", *names])
        table = f"patrol.watch.{UNIT}" if patrol else f"units.{UNIT}"
        return f"""{patrol}
[{table}]
backend = "{self.backend}"
command = {json.dumps(command)}
resume = {json.dumps(resume)}
cwd = "{self.work}"
inherit_env = {inherited}
{watch if patrol else 'restart = { when = "never" }'}
"""

    def tell(self, text: str) -> None:
        self.story.write(f"{time.strftime('%H:%M:%S')} {text}\n")

    def ostler(self, *words: str, seconds: float = 60, stdin: str | None = None, check: bool = True) -> str:
        if self.is_closed and "stop" not in words:
            raise Failed("the test was ended from outside")
        try:
            done = subprocess.run(
                [self.programs.ostler, *words], env=self.env, cwd=self.work, capture_output=True, text=True, timeout=seconds, input=stdin if stdin is not None else "",
            )
        except subprocess.TimeoutExpired as error:
            raise Failed(f"`ostler {' '.join(words)[:80]}` did not end within {seconds} s") from error
        if check and done.returncode != 0:
            raise Failed(f"`ostler {' '.join(words)[:80]}` ended with {done.returncode}: {(done.stderr or done.stdout).strip()[:500]}")
        return done.stdout

    def up(self) -> None:
        self.tell(f"up: {self.agent} on {self.backend}")
        self.ostler("up", seconds=90)

    def view(self) -> dict:
        views = json.loads(self.ostler("ls", "--json"))
        return next((view for view in views if view["unit"] == UNIT), {})

    def pid(self) -> int | None:
        return self.view().get("pid")

    def nudge(self, text: str, *, mode: str | None = None, seconds: float = 90) -> Receipt:
        """`mode` is one of --mode, or wake or interrupt."""
        how = [f"--{mode}"] if mode in ("wake", "interrupt") else ["--mode", mode] if mode else []
        words = ["nudge", UNIT, "--json", *how, "-"]
        began = time.monotonic()
        answer = self.ostler(*words, seconds=seconds, stdin=text, check=False)
        past = time.monotonic() - began
        try:
            document = json.loads(answer)
        except ValueError as error:
            raise Failed(f"a nudge printed no receipt but {answer[:200]!r}, for {shown(text)}") from error
        receipt = Receipt(text, document["receipt"], document.get("why") or "", document.get("id"), past)
        self.tell(" ".join(["nudge", *how, str(receipt)]))
        return receipt

    def nudge_killed(self, text: str, after: float) -> None:
        """Whoever types it is killed so many seconds later."""
        words = [self.programs.ostler, "nudge", UNIT, "--json", "-"]
        typist = subprocess.Popen(words, env=self.env, cwd=self.work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            said = typist.communicate(text, timeout=after)[0].strip()
        except subprocess.TimeoutExpired:
            typist.kill()
            said = "killed " + typist.communicate()[0].strip()
        self.tell(f"nudge, killed after {after:.2f} s: {said[:200]} for {shown(text)}")

    def settled(self, receipt: Receipt, seconds: float = 240) -> Receipt:
        """As it is when it no longer waits."""
        end = time.monotonic() + seconds
        while receipt.receipt == "queued" and time.monotonic() < end:
            time.sleep(0.5)
            now = self.nudges()[receipt.id or ""]
            receipt = Receipt(receipt.text, now["receipt"], now["why"], receipt.id, receipt.seconds)
        return receipt

    def say(self, text: str) -> Receipt:
        """The agent gets it and the model too, or the test has failed."""
        for _ in range(3):
            receipt = self.settled(self.nudge(text))
            # Nothing of it was sent, so it may be said again.
            if receipt.receipt != "refused":
                break
        # An agent that was busy when it took the text comes to it after its turn.
        if receipt.receipt != "delivered" or not self.oracle.wait_for(text, 90):
            raise Failed(f"it did not reach the model: {receipt}")
        return receipt

    def nudges(self) -> dict[str, dict]:
        """All that were ever queued, by their id."""
        return {nudge["id"]: nudge for nudge in json.loads(self.ostler("nudge", "--list", UNIT, "--json"))}

    def person(self) -> TmuxPerson | PtyPerson:
        if self.backend == "tmux":
            person: TmuxPerson | PtyPerson = TmuxPerson(self.ostler_home / "tmux.sock", self.session)
        else:
            person = PtyPerson(self.programs.ostler, UNIT, self.env, self.work)
        self.people.append(person)
        return person

    def members(self) -> list[int]:
        """Processes that have this world's home in their environment."""
        mark = f"OSTLER_HOME={self.ostler_home}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found

    def close(self) -> list[str]:
        """Ends everything, and tells what was left behind."""
        problems = []
        self.is_closed = True
        for person in self.people:
            person.leave()
        try:
            self.ostler("--no-start", "stop", seconds=60, check=False)
        except Failed as failed:
            problems.append(str(failed))
        end = time.monotonic() + 5
        while (left := self.members()) and time.monotonic() < end:
            time.sleep(0.1)
        for pid in left:
            problems.append(f"process {pid} was left behind: {command_of(pid)}")
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.model.stop()
        self.story.close()
        return problems

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:160]
    except OSError:
        return "gone"
