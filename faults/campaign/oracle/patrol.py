"""One patrol, and one session for each of its agents. That an agent is back, and never two of it, is looked at with the other units."""

from collections import Counter


def alone(oracle, snapshot):
    if not oracle.world.agents():
        return []
    pids = [member.look.process.pid for member in snapshot.members if member.verb == "patrol"]
    told = snapshot.views.get("patrol", {}).get("pid")
    return [] if pids == [told] else [f"the patrol is said to be {told}, the kernel says {pids}"]


def sessions(oracle, snapshot):
    """By tmux's own word."""
    if not oracle.world.agents():
        return []
    names = Counter(name.rpartition("-")[2] for name in oracle.world.sessions())
    return [f"{unit.name} has {names[unit.name]} sessions" for unit in oracle.world.agents() if names[unit.name] != 1]
