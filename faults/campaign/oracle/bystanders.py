"""Look-alikes that somebody else started are never touched."""


def touched(oracle, snapshot):
    return [f"the bystander {process.pid} is gone" for process in snapshot.bystanders if not snapshot.is_alive(process)]
