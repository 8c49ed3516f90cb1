"""Processes with the same command that Ostler did not start are never touched."""


def touched(oracle, snapshot):
    return [f"the bystander {process.pid} is gone" for process in snapshot.bystanders if not snapshot.is_alive(process)]
