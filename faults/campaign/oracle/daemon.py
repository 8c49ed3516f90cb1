"""One supervisor and one guardian a home, and a registry that is whole."""

from .. import registry


def alone(oracle, snapshot):
    found = []
    for verb in ("supervisor", "guardian"):
        pids = [member.look.process.pid for member in snapshot.members if member.verb == verb and not member.run]
        if len(pids) != 1:
            found.append(f"{len(pids)} processes are the {verb}: {pids}")
    return found


def sound_registry(oracle, snapshot):
    told = registry.integrity(oracle.world.home.registry)
    return [] if told == "ok" else [f"integrity_check: {told}"]
