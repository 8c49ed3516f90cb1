"""People and programs that use Ostler meanwhile: they send mail, and run things in the foreground, on a terminal, by scope."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import threading
import time

from .home import Said
from .story import Story, Violation
from .world import World

# How a foreground run may end: as its program, or struck by something that the campaign did.
CODE = 23


class Traffic:
    def __init__(self, world: World, story: Story, seed: int):
        self.world, self.story, self.seed = world, story, seed
        self.lock = threading.Lock()
        self.sent: list[str] = []
        self.acknowledged: list[str] = []
        self.results: dict[str, int] = {}
        self.trouble: list[str] = []
        self.told: set[tuple[int, str]] = set()
        self.calm = threading.Event()  # set: nobody begins anything
        self.over = threading.Event()
        self.busy = 0
        self.clients: dict[int, subprocess.Popen] = {}
        self.threads = [threading.Thread(target=self.loop, args=(work,), daemon=True)
                        for work in (self.mail, self.once, self.terminal, self.scope)]

    def begin(self) -> None:
        for thread in self.threads:
            thread.start()

    def end(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(90)

    def loop(self, work) -> None:
        choice = random.Random(f"{self.seed} {work.__name__}")
        number = 0
        while not self.over.is_set():
            if self.calm.is_set():
                time.sleep(0.02)
                continue
            with self.lock:
                self.busy += 1
            try:
                work(choice, number)
            except Violation as violation:
                with self.lock:
                    self.trouble.append(f"{work.__name__}: {violation}")
            finally:
                with self.lock:
                    self.busy -= 1
            number += 1
            self.over.wait(choice.uniform(0.05, 0.6))

    def pause(self, seconds: float = 120) -> None:
        """Until everybody has finished what he began."""
        self.calm.set()
        end = time.monotonic() + seconds
        while self.busy:
            if time.monotonic() > end:
                raise Violation(f"{self.busy} callers still wait after {seconds:.0f} s")
            time.sleep(0.02)

    def go_on(self) -> None:
        self.calm.clear()

    def call(self, *words: str) -> Said:
        child = self.world.home.spawn(list(words))
        with self.lock:
            self.clients[child.pid] = child
        try:
            return self.world.home.finish(child, list(words), 110)
        finally:
            with self.lock:
                self.clients.pop(child.pid, None)

    def kill_one(self, choice: random.Random) -> str | None:
        with self.lock:
            living = sorted(self.clients)
            if not living:
                return None
            pid = choice.choice(living)
            # Its number cannot be another's: it is ours, and nobody has waited for it yet.
            self.clients[pid].send_signal(signal.SIGKILL)
            return f"pid {pid}"

    def count(self, what: str) -> None:
        with self.lock:
            self.results[what] = self.results.get(what, 0) + 1

    def tell(self, text: str) -> None:
        """Each thing once a step, without what differs from call to call."""
        same = (self.story.step, re.sub(r"[0-9.]+ ?m?s\b|[0-9a-f-]{36}", "", text))
        if same not in self.told:
            self.told.add(same)
            self.story.tell(f"  {text}")

    def mail(self, choice: random.Random, number: int) -> None:
        subject = f"message-{number}"
        with self.lock:
            self.sent.append(subject)
        said = self.call("mail", "send", f"box{choice.randrange(3)}", "-s", subject, "-m", "x" * choice.randrange(1, 3000))
        if said.code == 0:
            with self.lock:
                self.acknowledged.append(subject)
        self.count(f"mail {said.code}")

    def foreground(self, choice: random.Random, options: list[str], name: str) -> None:
        words = ["numbers", "1", str(choice.randrange(1, 50)), "life", str(choice.choice([1, 50, 900])), str(CODE)]
        began = time.monotonic()
        said = self.call("run", *options, "--", self.world.copy, str(self.world.facts), "-", *words)
        self.count(f"{name} {said.code}")
        if said.code == CODE and name == "once":
            numbers = said.out.split()
            # What was lost for want of room is told, with its place.
            if numbers != [f"{index:010}" for index in range(len(numbers))] and "could not be stored" not in said.err:
                with self.lock:
                    self.trouble.append(f"what `ostler run` showed is not whole: {said.out[:200]!r} … {said.out[-200:]!r} {said.err!r}")
        elif said.code != CODE:
            self.tell(f"{name} ended with {said.code} after {time.monotonic() - began:.1f} s: {said.err.strip()[-300:]}")

    def once(self, choice: random.Random, number: int) -> None:
        self.foreground(choice, [], "once")

    def terminal(self, choice: random.Random, number: int) -> None:
        self.foreground(choice, ["--pty"], "terminal")

    def scope(self, choice: random.Random, number: int) -> None:
        """Each replaces the one before, which may not be alive any longer when it begins."""
        said = self.call("run", "-d", "--grace", "300ms", "--scope", "place", "--", self.world.copy, str(self.world.facts), "scope-place", "tree")
        self.count(f"scope {said.code}")
        if said.code != 0:
            self.tell(f"scope ended with {said.code}: {said.err.strip()[-300:]}")
