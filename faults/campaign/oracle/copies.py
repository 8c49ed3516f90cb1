"""There are never two copies of a unit: the copies themselves detect it, by a lock that their trees inherit."""


def overlapping(oracle, snapshot):
    found = []
    for life in snapshot.overlaps:
        others = [other for other in snapshot.lives + snapshot.inside if other.name == life.name and other.process != life.process]
        before = max((other for other in others if other.at_ns < life.at_ns), key=lambda other: other.at_ns, default=None)
        found.append(f"a copy of {life.name} (pid {life.process.pid}, run {life.run}) began while another, or what it left, was alive: {before}")
    return found
