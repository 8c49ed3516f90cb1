"""One supervisor and one guardian per home, and an intact registry."""

from .. import registry


def alone(oracle, snapshot):
    found = []
    for verb in ("supervisor", "guardian"):
        pids = [member.look.process.pid for member in snapshot.members if member.verb == verb and not member.run]
        if len(pids) != 1:
            found.append(f"{len(pids)} processes are the {verb}: {pids}")
    if not found:
        status = oracle.world.home.call("status", "--json").json()
        seen = (status.get("supervisorPid"), status.get("pid"))
        pids = tuple(process and process.pid for process in (oracle.world.home.supervisor(), oracle.world.home.guardian()))
        if seen != pids:  # a guardian that the supervisor knows has been handed everything
            found.append(f"status says {seen}, the kernel {pids}")
        if not status.get("answering"):
            found.append("the supervisor does not answer")
        home = oracle.world.home.path
        found += [f"{name} is not there" for name in ("ostler.sock", "kernel.sock", "guardian.sock") if not (home / name).is_socket()]
    return found


def sound_registry(oracle, snapshot):
    seen = registry.integrity(oracle.world.home.registry)
    return [] if seen == "ok" else [f"integrity_check: {seen}"]
