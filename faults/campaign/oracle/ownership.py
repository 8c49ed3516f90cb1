"""Every process belongs to one live run, and no process of an ended run is left."""

from ..procfs import arguments


def every_process_has_a_run(oracle, snapshot):
    found = []
    for member in snapshot.members:
        pid = member.look.process.pid
        if member.container:
            if not any(one.id == member.container for one in snapshot.containers):
                found.append(f"process {pid} is in the container {member.container[:12]}, which is none of ours")
            continue
        if member.verb in ("supervisor", "guardian") and not member.run:
            continue
        run = member.leaf or member.run
        who = f"process {pid} (start {member.look.process.start}, {' '.join(arguments(pid))[-80:]!r})"
        record = snapshot.records.get(run)
        if run is None:
            found.append(f"{who} belongs to no run")
        elif member.leaf and member.run and member.leaf != member.run and member.verb != "pane-exec":  # it has its environment from tmux
            found.append(f"{who} is in the group of {member.leaf} and says it is of {member.run}")
        elif record is None:
            found.append(f"{who} is of run {run}, of which there is no record")
        elif record["state"] == "exited":
            found.append(f"{who} is of run {run}, which has ended ({record['unit']}, {record['termination']}, extinct {record['extinct']})")
    return found


def no_leaf_of_the_ended(oracle, snapshot):
    folder = oracle.world.home.groups()
    if folder is None or not folder.is_dir():
        return []
    leaves = [entry.name[len("run-"):] for entry in folder.iterdir() if entry.name.startswith("run-")]
    return [f"the leaf of {run}, which has ended, is still there" for run in leaves
            if run in snapshot.records and snapshot.records[run]["state"] == "exited"]
