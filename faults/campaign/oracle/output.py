"""Each number that a copy has written is in its log, once and in order."""

from __future__ import annotations

import mmap
from dataclasses import dataclass

from .. import registry


@dataclass
class Reading:
    offset: int = 0
    part: bytes = b""
    next: int = 0
    is_over: bool = False


class Logs:
    """How far each log has been read; logs only grow, so each byte is read once."""

    def __init__(self, world):
        self.world = world
        self.readings: dict[str, Reading] = {}
        self.wrong: list[str] = []  # no later look makes it right
        self.gaps: set[str] = set()  # of runs that were excused, but then the journal must say so

    def read(self, run: str) -> None:
        reading = self.readings.setdefault(run, Reading())
        for file in sorted((self.world.home.path / "runs" / run).glob("*.log")):
            begin = int(file.stem)
            try:
                size = file.stat().st_size
                if begin + size <= reading.offset:
                    continue
                with open(file, "rb") as log:
                    if begin > reading.offset and run not in self.world.lossy:
                        self.wrong.append(f"the log of {run} has nothing from {reading.offset} to {begin}")
                    log.seek(max(0, reading.offset - begin))
                    text = log.read()
            except OSError:
                continue
            reading.offset = max(begin, reading.offset) + len(text)
            self.lines(run, reading, text)

    def lines(self, run: str, reading: Reading, text: bytes) -> None:
        *lines, reading.part = (reading.part + text).split(b"\n")
        for line in lines:
            line = line.rstrip(b"\r")
            is_number = len(line) == 10 and line.isdigit()
            if is_number and int(line) == reading.next:
                reading.next += 1
            elif run in self.world.lossy and (not is_number or int(line) > reading.next):
                reading.next = int(line) + 1 if is_number else reading.next
                self.gaps.add(run)
            else:
                self.wrong.append(f"the log of {run} has {line[:40]!r} where {reading.next:010} belongs")
                return


def written(world, run: str) -> int:
    with open(world.facts / "written" / run, "rb") as file, mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ) as count:
        return int.from_bytes(count[:8], "little")


def whole(oracle, snapshot):
    found = []
    logs = oracle.output
    for file in (oracle.world.facts / "written").iterdir():
        run = file.name
        reading = logs.readings.get(run)
        if reading and reading.is_over or file.stat().st_size < 8:
            continue
        record = snapshot.records.get(run)
        count = written(oracle.world, run)  # before the log is read: later lines do not count as missing
        logs.read(run)
        reading = logs.readings[run]
        is_excused = run in oracle.world.deaf or run in oracle.world.lossy or record is None
        if not is_excused and reading.next < count:
            found.append(f"{run} has written {count} lines, and {reading.next} are in its log ({record['unit']}, {record['state']})")
        if record and record["state"] == "exited" and not found:
            reading.is_over = True
            if reading.next < count and run not in oracle.world.deaf:
                logs.gaps.add(run)
    seen = {row["run_id"] for row in registry.rows(oracle.world.home.registry, "SELECT run_id FROM entries WHERE what = 'output-lost'")}
    found += [f"{run} has lost output, and the journal does not say so" for run in logs.gaps - seen - oracle.world.unreported if run in snapshot.records]
    return found + logs.wrong


SHOWN = 3  # lines


def shown(oracle, snapshot):
    """`ostler logs` prints at least the output that was on disk before the call."""
    found = []
    for run, record in snapshot.records.items():
        reading = oracle.output.readings.get(run)
        if record["state"] == "exited" or reading is None or reading.next == 0:
            continue
        kept = reading.next
        result = oracle.world.home.call("logs", run, "-n", str(SHOWN))
        numbers = [int(line) for line in result.out.split() if len(line) == 10 and line.isdigit()]
        if not numbers or max(numbers) + 1 < kept:
            found.append(f"the log of {run} ({record['unit']}) has {kept} lines on disk, and `logs` ends at {numbers[-1:]}: {result.code} {result.err[-200:]!r}")
    return found
