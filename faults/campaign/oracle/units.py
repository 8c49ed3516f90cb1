"""Every wanted unit runs, and Ostler reports it correctly."""


def running(oracle, snapshot):
    found = []
    for unit in oracle.world.units:
        if not unit.must_run or unit.engine:
            continue
        view = snapshot.views.get(unit.name)
        if view is None or view["state"] != "ready":
            found.append(f"{unit.name} is {view and view['state']}")
            continue
        newest = max((life for life in snapshot.lives if life.name == unit.name), key=lambda life: life.at_ns, default=None)
        if newest is None or not snapshot.is_alive(newest.process):
            found.append(f"{unit.name} should be ready, and its newest copy is dead")
        elif view["pid"] != newest.process.pid or view["runId"] != newest.run:
            found.append(f"{unit.name} should be pid {view['pid']}, run {view['runId']}; it is pid {newest.process.pid}, run {newest.run}")
    return found
