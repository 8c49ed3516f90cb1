"""What reached the model, by the model's log. Nothing else counts as evidence."""

from __future__ import annotations

import json
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path


def same(text: str) -> str:
    """A text as it may be compared: agents trim both ends and compose letters; Ostler takes control characters out."""
    text = text.replace("\t", " ")
    kept = "".join(c for c in text if c == "\n" or unicodedata.category(c) != "Cc")
    return unicodedata.normalize("NFC", kept).strip()


class Oracle:
    """Reads the log as it grows."""

    def __init__(self, path: Path):
        self.path = path
        self.offset = 0
        self.requests: dict[int, dict] = {}
        self.ends: dict[int, str] = {}
        self.newest = time.time()

    def read(self) -> None:
        if not self.path.exists():
            return
        with open(self.path, encoding="utf-8") as file:
            file.seek(self.offset)
            for line in iter(file.readline, ""):
                if not line.endswith("\n"):
                    break
                self.offset += len(line.encode())
                entry = json.loads(line)
                if "users" in entry:
                    self.requests[entry["n"]] = entry
                if "end" in entry:
                    self.ends[entry["n"]] = entry["end"]
                self.newest = time.time()

    def conversation(self) -> list[dict]:
        self.read()
        return [entry for _, entry in sorted(self.requests.items()) if not entry["side"]]

    def messages(self) -> list[str]:
        """The user's messages of the conversation, as the newest request that has them all tells it."""
        requests = self.conversation()
        return [same(text) for text in requests[-1]["users"]] if requests else []

    def ever(self) -> Counter[str]:
        """The most copies of each message that any one request had: also of those that the agent took back later."""
        most: Counter[str] = Counter()
        for entry in self.conversation():
            most |= Counter(same(text) for text in entry["users"])
        return most

    def forgive(self, text: str) -> None:
        """A message that the agent took back when a person interrupted it is not expected in later requests."""
        for entry in self.conversation():
            entry["users"] = [user for user in entry["users"] if same(user) != same(text)]

    def is_busy(self) -> bool:
        """The model is in the middle of an answer."""
        return any(entry["n"] not in self.ends for entry in self.conversation())

    def open_directive(self, word: str) -> bool:
        return any(entry["directive"] == word and entry["n"] not in self.ends for entry in self.conversation())

    def has(self, text: str) -> bool:
        return any(same(text) == same(user) for entry in self.conversation()[-3:] for user in entry["users"])

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not until():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def wait_for(self, text: str, seconds: float = 30) -> bool:
        return self.wait(lambda: self.has(text), seconds)

    def wait_quiet(self, still: float = 1.5, seconds: float = 60) -> bool:
        """Nothing is being answered, and nothing has come for a while."""
        return self.wait(lambda: not self.is_busy() and time.time() - self.newest > still, seconds)


def differences(wanted: Iterable[str], found: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
    """What is missing, and what is too much."""
    wanted, found = Counter(map(same, wanted)), Counter(found)
    return wanted - found, found - wanted
