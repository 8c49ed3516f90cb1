"""Somebody at the agent's terminal: types and looks, as with `ostler attach`."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from pathlib import Path

ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_].*?\x1b\\|\x1b[ -/]*[0-~]", re.S)


def bare(text: str) -> str:
    return re.sub(r"\s", "", ESCAPES.sub("", text))


class TmuxPerson:
    """At a pane of tmux."""

    def __init__(self, socket: Path, session: str):
        self.socket, self.session = socket, session

    def tmux(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-S", str(self.socket), *words], capture_output=True, text=True, timeout=20)
        return done.stdout

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-t", f"={self.session}:", "-l", text)

    def press(self, keys: bytes) -> None:
        self.tmux("send-keys", "-t", f"={self.session}:", "-H", *(f"{byte:02x}" for byte in keys))

    def sees(self, what: str) -> bool:
        return bare(what) in bare(self.tmux("capture-pane", "-p", "-t", f"={self.session}:"))

    def forget(self) -> None:
        """A pane shows only what is there now."""

    def leave(self) -> None:
        pass


class PtyPerson:
    """At a terminal of Ostler's own, through `ostler attach`. What it sees is all that was drawn since `forget`."""

    def __init__(self, ostler: str, unit: str, env: dict[str, str], folder: Path):
        self.seen = ""
        self.lock = threading.Lock()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(folder)
                os.execve(ostler, [ostler, "attach", unit], {**env, "TERM": "xterm-256color"})
            finally:
                os._exit(127)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.wait_drawn()

    def read(self) -> None:
        while True:
            try:
                data = os.read(self.terminal, 1 << 16)
            except OSError:
                return
            if not data:
                return
            with self.lock:
                self.seen = (self.seen + data.decode(errors="replace"))[-400_000:]

    def wait_drawn(self) -> None:
        end = time.monotonic() + 10
        while not self.seen and time.monotonic() < end:
            time.sleep(0.05)

    def type(self, text: str) -> None:
        self.press(text.encode())

    def press(self, keys: bytes) -> None:
        while keys:
            select.select([], [self.terminal], [], 10)
            keys = keys[os.write(self.terminal, keys):]

    def sees(self, what: str) -> bool:
        with self.lock:
            return bare(what) in bare(self.seen)

    def forget(self) -> None:
        with self.lock:
            self.seen = ""

    def leave(self) -> None:
        """Ctrl-] detaches."""
        try:
            self.press(b"\x1d")
            end = time.monotonic() + 5
            while time.monotonic() < end:
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    break
                time.sleep(0.02)
            else:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
        except (OSError, ChildProcessError):
            pass
        os.close(self.terminal)


def wait_to_see(person: TmuxPerson | PtyPerson, what: str, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not person.sees(what):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True
