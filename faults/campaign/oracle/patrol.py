"""One patrol, and one session for each of its agents. Agents are otherwise checked with the other units."""

from collections import Counter


def alone(oracle, snapshot):
    if not oracle.world.agents():
        return []
    pids = [member.look.process.pid for member in snapshot.members if member.verb == "patrol"]
    seen = snapshot.views.get("patrol", {}).get("pid")
    return [] if pids == [seen] else [f"the patrol should be {seen}, the kernel says {pids}"]


def sessions(oracle, snapshot):
    """The sessions, as tmux lists them."""
    if not oracle.world.agents():
        return []
    names = Counter(name.rpartition("-")[2] for name in oracle.world.sessions())
    return [f"{unit.name} has {names[unit.name]} sessions" for unit in oracle.world.agents() if names[unit.name] != 1]
