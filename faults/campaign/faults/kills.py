"""SIGKILL of each kind of process."""

import signal
import time

from .. import procfs
from . import fault


@fault("kill-supervisor", weight=4)
def supervisor(campaign, choice):
    """The next one adopts every run, and no byte is lost."""
    time.sleep(choice.uniform(0, 0.2))
    struck = campaign.home.supervisor()
    campaign.report(f"  kill supervisor {struck and struck.pid}")
    if struck:
        struck.signal(signal.SIGKILL)
        struck.wait_gone()


@fault("kill-supervisor-twice")
def supervisor_twice(campaign, choice):
    """Also kills the next one as soon as it exists, before it is ready."""
    first = campaign.home.supervisor()
    supervisor(campaign, choice)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        second = campaign.home.supervisor()
        if second and second != first:
            time.sleep(choice.choice([0, 0, 0.005, 0.02]))
            campaign.report(f"  kill supervisor {second.pid}")
            second.signal(signal.SIGKILL)
            return
        time.sleep(0.001)


@fault("kill-guardian")
def guardian(campaign, choice):
    """The supervisor starts another beside itself."""
    struck = campaign.home.guardian()
    campaign.report(f"  kill guardian {struck and struck.pid}")
    if struck:
        struck.signal(signal.SIGKILL)
        struck.wait_gone()


@fault("kill-both")
def both(campaign, choice):
    """Both at the same time. Pipes and terminals close, and the next start finds the live runs."""
    with campaign.unheard():
        campaign.report("  kill guardian and supervisor")
        campaign.home.kill_daemon()


@fault("kill-both-apart")
def apart(campaign, choice):
    """One shortly after the other: the hand-over between them is interrupted at some point."""
    one, other = campaign.home.supervisor(), campaign.home.guardian()
    if choice.random() < 0.5:
        one, other = other, one
    distance = choice.uniform(0, 0.03)
    campaign.report(f"  kill {one and one.pid}, and {other and other.pid} after {distance * 1000:.1f} ms")
    with campaign.unheard():
        for process in (one, other):
            if process:
                process.signal(signal.SIGKILL)
            time.sleep(distance)


@fault("kill-members", weight=4)
def members(campaign, choice):
    """Some of the processes of runs, roots and others, at once or one after the other."""
    found = [member for member in campaign.members() if member.verb is None]
    struck = choice.sample(found, min(len(found), choice.choice([1, 1, 2, 5, 20])))
    pause = choice.choice([0, 0, 0.01, 0.1])
    campaign.report(f"  kill {len(struck)} of {len(found)} members: {[member.look.process.pid for member in struck]}")
    if any(member.container for member in struck):
        campaign.containers_struck()
    for member in struck:
        member.look.process.signal(signal.SIGKILL)
        time.sleep(pause)


@fault("kill-shims")
def shims(campaign, choice):
    """The shim of a tmux session, and its pane process; the latter only with cgroups."""
    members = campaign.members()
    # Without cgroups the pane process is the subreaper of its program. After its end the orphans cannot be found.
    verbs = ("shim", "pane-exec") if any(member.leaf for member in members) else ("shim",)
    found = [member for member in members if member.verb in verbs]
    struck = choice.sample(found, choice.randint(1, len(found))) if found else []
    campaign.report(f"  kill {[(member.verb, member.look.process.pid) for member in struck]}")
    for member in struck:
        member.look.process.signal(signal.SIGKILL)


@fault("kill-tmux", weight=1, why_not=lambda campaign: campaign.without_tmux)
def tmux(campaign, choice):
    """The tmux server, with all its sessions."""
    for member in campaign.members():
        if procfs.arguments(member.look.process.pid)[0:1] and "tmux" in member.look.name:
            campaign.report(f"  kill tmux {member.look.process.pid}")
            member.look.process.signal(signal.SIGKILL)


@fault("kill-clients")
def clients(campaign, choice):
    """Callers in the middle of a call."""
    for _ in range(choice.randint(1, 6)):
        struck = campaign.traffic.kill_one(choice)
        campaign.report(f"  kill a client: {struck}")
        time.sleep(choice.uniform(0, 0.15))
