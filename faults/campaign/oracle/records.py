"""The records agree with the copies' own records, with the kernel, and with Ostler's output."""

import time
from collections import Counter

from ..procfs import Process

REASONS = {"exit", "signal", "manual-cancel", "overall-timeout", "no-output-timeout", "spawn-error", "ownership-escape",
           "reconciled-stale", "lease-lost"}


def sound(oracle, snapshot):
    """Each ended record has an end and a reason; each scope key has one live run."""
    found = []
    for run, record in snapshot.records.items():
        ended = record["state"] == "exited"
        if ended and (record["ended_at_ms"] is None or record["termination"] not in REASONS):
            found.append(f"{run} has ended at {record['ended_at_ms']} for {record['termination']}")
        if not ended and record["termination"] and record["state"] != "exiting":
            found.append(f"{run} is {record['state']} and has the reason {record['termination']}")
    keys = Counter(record["scope_key"] for record in snapshot.records.values() if record["state"] != "exited" and record["scope_key"])
    return found + [f"{count} live runs hold the scope key {key!r}" for key, count in keys.items() if count > 1]


def copies_have_one(oracle, snapshot):
    """Each copy that recorded itself has exactly one record, its own."""
    found = []
    by_process = {}
    for run, record in snapshot.records.items():
        if record["pid"] is not None and record["backend_id"] in ("pipe", "pty"):
            by_process.setdefault((record["pid"], record["start_time"]), []).append(run)
    found += [f"process {pid} (start {start}) has {len(runs)} records: {runs}" for (pid, start), runs in by_process.items() if len(runs) > 1]
    for life in snapshot.lives:
        if life.at_ns < oracle.world.since_ns:
            continue
        record = snapshot.records.get(life.run)
        if record is None:
            found.append(f"the copy {life.name} {life.process.pid} of run {life.run} has no record")
        elif record["pid"] is None and record["state"] == "exited":
            pass  # struck between its start and its record, and ended before the next supervisor
        elif record["backend_id"] in ("pipe", "pty") and (record["pid"], record["start_time"]) != (life.process.pid, life.process.start):
            found.append(f"run {life.run} is recorded as {record['pid']} {record['start_time']} and was {life.process}")
    runs = Counter(life.run for life in snapshot.lives)
    return found + [f"run {run} was executed {count} times" for run, count in runs.items() if count > 1]


def open_ones_live(oracle, snapshot):
    found = []
    for run, record in snapshot.records.items():
        if record["state"] == "exited":
            continue
        if record["pid"] is None:
            found.append(f"{run} is {record['state']} without a process")
        elif not snapshot.is_alive(Process(record["pid"], record["start_time"])):
            found.append(f"{run} ({record['unit']}) is {record['state']}, and its process {record['pid']} is dead")
    return found


def lease(oracle, snapshot):
    """The daemon holds the lease while there are live runs, and there is no other lease."""
    own = oracle.world.home.instance()
    found = [f"the instance {row['instance_id']} has a lease" for row in snapshot.leases if row["instance_id"] != own]
    mine = next((row for row in snapshot.leases if row["instance_id"] == own), None)
    if mine is None or mine["expires_mono_ms"] < time.monotonic() * 1000:
        found.append(f"our lease is {mine}")
    owners = {record["owner_instance_id"] for record in snapshot.records.values() if record["state"] != "exited"}
    return found + [f"live runs are owned by {owner}" for owner in owners - {own}]


def counters(oracle, snapshot):
    """Counters never decrease, and count at least the recorded ends: checks have no record."""
    found = []
    samples = oracle.world.home.call("metrics", "--json").json()
    ended = 0
    for sample in samples:
        key = f"{sample['name']}{sample['labels']}"
        if sample["name"].endswith("_total"):
            if sample["value"] < oracle.counted.get(key, 0):
                found.append(f"{key} went back from {oracle.counted[key]} to {sample['value']}")
            oracle.counted[key] = sample["value"]
        if sample["name"] == "run_exit_total":
            ended += sample["value"]
    recorded = sum(record["state"] == "exited" for record in snapshot.records.values())
    if ended < recorded:
        found.append(f"{recorded} records have ended, and {ended} ends were counted")
    for unit in oracle.world.units:
        runs = sum(record["unit"] == unit.name for record in snapshot.records.values())
        restarts = snapshot.views.get(unit.name, {}).get("restarts", 0)
        if restarts > runs:
            found.append(f"{unit.name} was restarted {restarts} times, and has {runs} records")
    return found
