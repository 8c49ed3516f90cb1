"""The oracle's own test: each check is made to fail once, while nothing else is wrong."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from contextlib import closing, contextmanager, nullcontext

from .oracle import bystanders, containers, copies, daemon, ending, mail, output, ownership, patrol, records, units
from .oracle.snapshot import Snapshot
from .steps_log import Violation

NULL_WHERE_NONE_MAY_BE = """
    CREATE TABLE sabotage (x); INSERT INTO sabotage VALUES (NULL); PRAGMA writable_schema = 1;
    UPDATE sqlite_master SET sql = 'CREATE TABLE sabotage (x NOT NULL)' WHERE name = 'sabotage'"""


def write(campaign, statement: str) -> None:
    with closing(sqlite3.connect(campaign.home.registry, timeout=10)) as connection:
        connection.executescript(statement)


@contextmanager
def unknown_process(campaign, words: list[str], **variables: str):
    """An unknown process, with these arguments and variables."""
    with campaign.reaper.lock:
        child = subprocess.Popen(words, executable="/bin/sleep", env=campaign.home.environment | variables, stdin=subprocess.DEVNULL)
    time.sleep(0.1)
    try:
        yield
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()


@contextmanager
def altered(campaign, do: str, undo: str):
    write(campaign, do)
    try:
        yield
    finally:
        write(campaign, undo)


@contextmanager
def leaf(campaign, run: str):
    folder = campaign.home.groups() / f"run-{run}"
    folder.mkdir()
    try:
        yield
    finally:
        folder.rmdir()


@contextmanager
def stopped(campaign, unit: str):
    campaign.home.call("stop", unit)
    try:
        yield
    finally:
        campaign.home.call("start", unit)
        campaign.containers_struck()


@contextmanager
def another(campaign, engine, **labels: str):
    """A foreign container with these labels."""
    made = engine.make("faults-another", {f"ostler.{name}": value for name, value in labels.items()}, ["/bin/copy", "stay"], [])
    try:
        yield
    finally:
        engine.ask("DELETE", f"/v1.41/containers/{made}?force=1")


@contextmanager
def halted(engine):
    engine.ask("POST", f"/v1.41/containers/{engine.foreign}/pause")
    try:
        yield
    finally:
        engine.ask("POST", f"/v1.41/containers/{engine.foreign}/unpause")


@contextmanager
def made_anew(campaign, unit: str):
    """The state after an unreported kill."""
    campaign.oracle.kept = {one.unit: one for one in Snapshot(campaign.world).containers}
    campaign.home.call("restart", unit)
    yield
    campaign.containers_struck()


def of_containers(campaign) -> list:
    cases = []
    for engine in campaign.engines:
        home, unit = campaign.home.instance(), next(unit.name for unit in campaign.world.contained() if unit.engine == engine.kind)
        cases += [
            (containers.alone, lambda engine=engine, unit=unit: another(campaign, engine, home=home, unit=unit), None),
            (containers.running, lambda engine=engine: another(campaign, engine, home=home, unit="unknown"), None),
            (containers.running, lambda engine=engine, unit=unit: another(campaign, engine, home=home, unit=unit), None),
            (containers.running, lambda unit=unit: stopped(campaign, unit), None),
            (containers.left, nullcontext, None),
            (containers.kept, lambda unit=unit: made_anew(campaign, unit), None),
            (containers.foreign, lambda engine=engine: halted(engine), None),
            (ownership.every_process_has_a_run, lambda engine=engine: another(campaign, engine), None),
        ]
    if campaign.engines:
        made_by = "UPDATE runs SET unit = '%s' WHERE unit = '%s'"
        one = campaign.world.contained()[0].name
        late = f"{one} 1 1 - {time.monotonic_ns() + 10**12}\n".encode()
        cases += [(containers.running, lambda: altered(campaign, made_by % ("x", one), made_by % (one, "x")), None),
                  (copies.overlapping, lambda: cut_again(campaign.world.inside() / "overlaps", late), None),
                  (containers.running, lambda: cut_again(campaign.world.inside() / "lives", late), None)]
    return cases


@contextmanager
def second_session(campaign, agent: str):
    campaign.world.tmux("new-session", "-d", "-s", f"gt-{agent}", "sleep", "100")
    try:
        yield
    finally:
        campaign.world.tmux("kill-session", "-t", f"=gt-{agent}")


def of_the_patrol(campaign) -> list:
    if not campaign.world.agents():
        return []
    return [(patrol.alone, lambda: stopped(campaign, "patrol"), None), (units.running, lambda: stopped(campaign, "digger"), None),
            (patrol.sessions, lambda: second_session(campaign, "deacon"), None)]


@contextmanager
def cut_again(path, text: bytes):
    size = path.stat().st_size
    with appended(path, text):
        yield
    os.truncate(path, size)


@contextmanager
def appended(path, text: bytes):
    with open(path, "ab") as file:
        file.write(text)
    yield


@contextmanager
def replaced(path, text: bytes):
    path.write_bytes(text)
    try:
        yield
    finally:
        path.unlink()


@contextmanager
def lost(campaign, run: str):
    """A loss that is not in the journal."""
    disordered(campaign, run)
    campaign.world.lossy.add(run)
    with replaced(campaign.world.facts / "written" / run, bytes(8)):
        yield
    campaign.world.unreported.add(run)


@contextmanager
def hidden(campaign, run: str):
    """More output is on disk than `logs` prints: simulated by a larger number."""
    reading = campaign.oracle.output.readings[run]
    reading.next += 10**6
    try:
        yield
    finally:
        reading.next -= 10**6


def disordered(campaign, run: str) -> None:
    folder = campaign.home.path / "runs" / run
    folder.mkdir(exist_ok=True)
    (folder / "00000000000000000000.log").write_bytes(b"0000000001\n")


def test(campaign) -> int:
    """Returns how many checks could not be made to fail."""
    campaign.traffic.pause()
    home, oracle, world = campaign.home, campaign.oracle, campaign.world
    ended, lossy = (home.call("run", "--json", "--", "true").json()["runId"] for _ in range(2))
    live = home.call("runs", "--live", "--json").json()
    numbers = next(record["runId"] for record in live if record["unit"] == "numbers")
    home.call("mail", "send", "other", "-s", "unknown", "-m", "x")
    quick = next(life for life in Snapshot(world).lives if life.name == "quick")
    cases = [
        (daemon.alone, nullcontext, None),
        (units.running, lambda: stopped(campaign, "quick"), None),
        (ownership.every_process_has_a_run, lambda: unknown_process(campaign, ["sleep", "100"]), None),
        (ownership.every_process_has_a_run, lambda: unknown_process(campaign, ["sleep", "100"], OSTLER_RUN_ID=ended), None),
        (ownership.no_leaf_of_the_ended, lambda: leaf(campaign, ended), None),
        (records.sound, lambda: altered(campaign, f"UPDATE runs SET ended_at_ms = NULL WHERE run_id = '{ended}'", f"UPDATE runs SET ended_at_ms = 1 WHERE run_id = '{ended}'"), None),
        (records.copies_have_one, lambda: altered(campaign, f"UPDATE runs SET start_time = start_time + 1 WHERE run_id = '{numbers}'", f"UPDATE runs SET start_time = start_time - 1 WHERE run_id = '{numbers}'"), None),
        (records.open_ones_live, lambda: altered(campaign, f"UPDATE runs SET state = 'running' WHERE run_id = '{ended}'", f"UPDATE runs SET state = 'exited' WHERE run_id = '{ended}'"), None),
        (records.lease, lambda: altered(campaign, "INSERT INTO leases VALUES ('x', 'x', 1, 1, 1)", "DELETE FROM leases WHERE instance_id = 'x'"), None),
        (records.counters, nullcontext, lambda: oracle.counted.update({"run_spawn_total{}": 10**9})),
        (mail.once, nullcontext, None),
        *of_containers(campaign),
        *of_the_patrol(campaign),
        (output.whole, lambda: replaced(world.facts / "written" / ended, (3).to_bytes(8, "little")), None),
        (output.whole, lambda: lost(campaign, lossy), None),
        (output.shown, lambda: hidden(campaign, numbers), None),
        # Last of these: a log that is wrong stays wrong.
        (output.whole, lambda: replaced(world.facts / "written" / ended, bytes(8)), lambda: disordered(campaign, ended)),
        (daemon.sound_registry, lambda: altered(campaign, NULL_WHERE_NONE_MAY_BE, "DROP TABLE sabotage"), None),
        (copies.overlapping, lambda: appended(world.facts / "overlaps", f"quick {os.getpid()} 1 x {quick.at_ns + 1}\n".encode()), None),
        (bystanders.touched, nullcontext, lambda: (world.bystanders[0].signal(signal.SIGKILL), time.sleep(0.2))),
    ]
    blind = 0
    for check, sabotage, before in cases:
        clean = at_rest(lambda: oracle.run(check, Snapshot(world))) if check not in (mail.once, containers.left) else []
        if before:
            before()
        with sabotage():
            if check is daemon.alone:
                blind += fails(campaign, check, clean, lambda: two_supervisors(campaign))
            else:
                blind += fails(campaign, check, clean, lambda: oracle.run(check, Snapshot(world)))
    return blind + ends_dirty(campaign)


def ends_dirty(campaign) -> int:
    """Last, because it stops everything: a process is left."""
    campaign.world.bystanders.pop(0)  # which is dead by now
    campaign.oracle.output.wrong.clear()
    for words in (["down"], ["stop"]):
        campaign.home.call(*words, seconds=60)

    def look() -> list[str]:
        try:
            ending.nothing_left(campaign.oracle)
        except Violation as violation:
            return [str(violation)]
        return []

    clean = [problem for problem in look() if "processes are left" in problem]
    with unknown_process(campaign, ["sleep", "100"]):
        return fails(campaign, ending.nothing_left, clean, look)


def at_rest(look) -> list[str]:
    """Output that is written and not yet read is no violation."""
    end = time.monotonic() + 10
    while (found := look()) and time.monotonic() < end:
        time.sleep(0.1)
    return found


def fails(campaign, check, clean: list[str], look) -> int:
    found = look()
    is_good = bool(found) and not clean
    campaign.report(f"{'caught' if is_good else 'NOT CAUGHT'}: {check.__module__.rpartition('.')[2]}.{check.__name__}: {(found or clean or [''])[0][:150]}", always=True)
    return 0 if is_good else 1


def two_supervisors(campaign) -> list[str]:
    """The snapshot contains one copy twice."""
    snapshot = Snapshot(campaign.world)
    one = next(member for member in snapshot.members if member.verb == "supervisor")
    snapshot.members.append(one)
    return campaign.oracle.run(daemon.alone, snapshot)
