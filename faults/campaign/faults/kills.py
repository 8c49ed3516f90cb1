"""SIGKILL of everybody there is."""

import signal
import time

from .. import procfs
from . import fault


@fault("kill-supervisor", weight=4)
def supervisor(campaign, choice):
    """The next one adopts every run, and no byte is lost."""
    time.sleep(choice.uniform(0, 0.2))
    struck = campaign.home.supervisor()
    campaign.tell(f"  kill supervisor {struck and struck.pid}")
    if struck:
        struck.signal(signal.SIGKILL)
        struck.wait_gone()


@fault("kill-supervisor-twice")
def supervisor_twice(campaign, choice):
    """And the next one as soon as it is there, before it is ready."""
    first = campaign.home.supervisor()
    supervisor(campaign, choice)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        second = campaign.home.supervisor()
        if second and second != first:
            time.sleep(choice.choice([0, 0, 0.005, 0.02]))
            campaign.tell(f"  kill supervisor {second.pid}")
            second.signal(signal.SIGKILL)
            return
        time.sleep(0.001)


@fault("kill-guardian")
def guardian(campaign, choice):
    """The supervisor starts another beside itself."""
    struck = campaign.home.guardian()
    campaign.tell(f"  kill guardian {struck and struck.pid}")
    if struck:
        struck.signal(signal.SIGKILL)
        struck.wait_gone()


@fault("kill-both")
def both(campaign, choice):
    """As if at once. Pipes and terminals close, and the next start finds what lives on."""
    with campaign.unheard():
        campaign.tell("  kill guardian and supervisor")
        campaign.home.kill_daemon()


@fault("kill-both-apart")
def apart(campaign, choice):
    """One a moment after the other: the hand-over between them is cut at some place."""
    one, other = campaign.home.supervisor(), campaign.home.guardian()
    if choice.random() < 0.5:
        one, other = other, one
    distance = choice.uniform(0, 0.03)
    campaign.tell(f"  kill {one and one.pid}, and {other and other.pid} after {distance * 1000:.1f} ms")
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
    campaign.tell(f"  kill {len(struck)} of {len(found)} members: {[member.look.process.pid for member in struck]}")
    if any(member.container for member in struck):
        campaign.containers_struck()
    for member in struck:
        member.look.process.signal(signal.SIGKILL)
        time.sleep(pause)


@fault("kill-shims")
def shims(campaign, choice):
    """Who stands for a session of tmux, and who sits in its pane; the latter only where there are cgroups."""
    members = campaign.members()
    # Without cgroups whoever sits in the pane takes in the orphans of its program. Once it is killed, nobody knows them.
    verbs = ("shim", "pane-exec") if any(member.leaf for member in members) else ("shim",)
    found = [member for member in members if member.verb in verbs]
    struck = choice.sample(found, choice.randint(1, len(found))) if found else []
    campaign.tell(f"  kill {[(member.verb, member.look.process.pid) for member in struck]}")
    for member in struck:
        member.look.process.signal(signal.SIGKILL)


@fault("kill-tmux", weight=1, why_not=lambda campaign: campaign.without_tmux)
def tmux(campaign, choice):
    """The server of tmux, with all its sessions."""
    for member in campaign.members():
        if procfs.arguments(member.look.process.pid)[0:1] and "tmux" in member.look.name:
            campaign.tell(f"  kill tmux {member.look.process.pid}")
            member.look.process.signal(signal.SIGKILL)


@fault("kill-clients")
def clients(campaign, choice):
    """Callers in the middle of a call."""
    for _ in range(choice.randint(1, 6)):
        struck = campaign.traffic.kill_one(choice)
        campaign.tell(f"  kill a client: {struck}")
        time.sleep(choice.uniform(0, 0.15))
