"""Callers that use Ostler during the campaign: they send mail, and start runs in the foreground, on a terminal, and by scope key."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import threading
import time

from .home import CallResult
from .steps_log import StepsLog, Violation
from .world import World

# The program's exit code. A foreground run may also end by a fault.
CODE = 23


class Traffic:
    def __init__(self, world: World, log: StepsLog, seed: int):
        self.world, self.log, self.seed = world, log, seed
        self.lock = threading.Lock()
        self.sent: list[str] = []
        self.acknowledged: list[str] = []
        self.results: dict[str, int] = {}
        self.trouble: list[str] = []
        self.reported: set[tuple[int, str]] = set()
        self.calm = threading.Event()  # set: no caller begins a call
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
        """Waits until every caller has finished its call."""
        self.calm.set()
        end = time.monotonic() + seconds
        while self.busy:
            if time.monotonic() > end:
                raise Violation(f"{self.busy} callers still wait after {seconds:.0f} s")
            time.sleep(0.02)

    def go_on(self) -> None:
        self.calm.clear()

    def call(self, *words: str) -> CallResult:
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
            # The pid cannot be reused: it is our child, and was not waited for yet.
            self.clients[pid].send_signal(signal.SIGKILL)
            return f"pid {pid}"

    def count(self, what: str) -> None:
        with self.lock:
            self.results[what] = self.results.get(what, 0) + 1

    def report(self, text: str) -> None:
        """Reports each text once a step, ignoring times and ids."""
        same = (self.log.step, re.sub(r"[0-9.]+ ?m?s\b|[0-9a-f-]{36}", "", text))
        if same not in self.reported:
            self.reported.add(same)
            self.log.report(f"  {text}")

    def mail(self, choice: random.Random, number: int) -> None:
        subject = f"message-{number}"
        with self.lock:
            self.sent.append(subject)
        result = self.call("mail", "send", f"box{choice.randrange(3)}", "-s", subject, "-m", "x" * choice.randrange(1, 3000))
        if result.code == 0:
            with self.lock:
                self.acknowledged.append(subject)
        self.count(f"mail {result.code}")

    def foreground(self, choice: random.Random, options: list[str], name: str) -> None:
        words = ["numbers", "1", str(choice.randrange(1, 50)), "life", str(choice.choice([1, 50, 900])), str(CODE)]
        began = time.monotonic()
        result = self.call("run", *options, "--", self.world.copy, str(self.world.facts), "-", *words)
        self.count(f"{name} {result.code}")
        if result.code == CODE and name == "once":
            numbers = result.out.split()
            # Losses on a full disk are reported, with their position.
            if numbers != [f"{index:010}" for index in range(len(numbers))] and "could not be stored" not in result.err:
                with self.lock:
                    self.trouble.append(f"what `ostler run` showed is not whole: {result.out[:200]!r} … {result.out[-200:]!r} {result.err!r}")
        elif result.code != CODE:
            self.report(f"{name} ended with {result.code} after {time.monotonic() - began:.1f} s: {result.err.strip()[-300:]}")

    def once(self, choice: random.Random, number: int) -> None:
        self.foreground(choice, [], "once")

    def terminal(self, choice: random.Random, number: int) -> None:
        self.foreground(choice, ["--pty"], "terminal")

    def scope(self, choice: random.Random, number: int) -> None:
        """Each run replaces the one before, which must have ended before the new one begins."""
        result = self.call("run", "-d", "--grace", "300ms", "--scope", "place", "--", self.world.copy, str(self.world.facts), "scope-place", "tree")
        self.count(f"scope {result.code}")
        if result.code != 0:
            self.report(f"scope ended with {result.code}: {result.err.strip()[-300:]}")
