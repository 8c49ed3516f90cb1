"""Containers, as the engine reports them: one per unit, the same one unless a fault hit it, and no foreign one touched."""

from collections import Counter

from ..engine import Away

LIVE = ("running", "paused", "restarting")


def alone(oracle, snapshot):
    """Never two containers of a unit at the same time."""
    alive = Counter(one.unit for one in snapshot.containers if one.state in LIVE)
    return [f"{count} containers of {unit} are alive: {[one.id[:12] for one in snapshot.containers if one.unit == unit]}"
            for unit, count in alive.items() if count > 1]


def running(oracle, snapshot):
    """Each container belongs to the live run of its unit, and is the one that the newest copy recorded."""
    units = {unit.name: unit for unit in oracle.world.contained()}
    found = [f"a container of {one.unit} is there ({one.id[:12]}, {one.state}), which is no unit" for one in snapshot.containers if one.unit not in units]
    for name, unit in units.items():
        own = [one for one in snapshot.containers if one.unit == name]
        view = snapshot.views.get(name)
        record = snapshot.records.get(view["runId"]) if view and view.get("runId") else None
        if view is None or view["state"] != "ready":
            found.append(f"{name} is {view and view['state']} ({view and view.get('why')})")
        elif record is None or record["state"] == "exited":
            found.append(f"{name} should be run {view['runId']}, which is {record and record['state']}")
        if len(own) != 1 or own[0].engine != unit.engine or own[0].state != "running" or own[0].root is None:
            found.append(f"{name} has the containers {[(one.id[:12], one.state) for one in own]}")
            continue
        newest = max((life for life in snapshot.inside if life.name == name), key=lambda life: life.at_ns, default=None)
        if newest is None or newest.process.start != own[0].root.start:
            found.append(f"the container of {name} began at {own[0].root.start}, and its newest copy is {newest}")
        made_by = snapshot.records.get(own[0].run)
        if newest and newest.at_ns > oracle.world.since_ns and (made_by is None or made_by["unit"] != name):
            found.append(f"the container of {name} was made by run {own[0].run}, of which there is no record")
    return found


def kept(oracle, snapshot):
    """An engine or a supervisor that was away is no reason for another container."""
    now = {one.unit: one for one in snapshot.containers}
    return [f"the container of {unit} was {before.id[:12]} since {before.started}, and no fault hit it; now there is {now.get(unit)}"
            for unit, before in oracle.kept.items()
            if unit not in now or (now[unit].id, now[unit].started, now[unit].root) != (before.id, before.started, before.root)]


def left(oracle, snapshot):
    """After the last stop there is no container."""
    return [f"a container is left after the stop: {one}" for one in snapshot.containers]


def foreign(oracle, snapshot):
    """The foreign container runs; its processes are checked with the other bystanders."""
    found = []
    for engine in oracle.world.engines:
        try:
            state = engine.ask("GET", f"/v1.41/containers/{engine.foreign}/json")["State"]["Status"]
        except Away as error:
            state = str(error)
        if state != "running":
            found.append(f"the foreign container is {state}")
    return found
