"""SIGKILL of everybody there is."""

import signal
import time

from . import fault


@fault("kill-supervisor", weight=4)
def supervisor(campaign, choice):
    time.sleep(choice.uniform(0, 0.2))
    struck = campaign.home.supervisor()
    campaign.tell(f"kill supervisor {struck}")
    if struck:
        struck.signal(signal.SIGKILL)
        struck.wait_gone()


@fault("kill-members", weight=4)
def members(campaign, choice):
    """Some of the processes of runs, roots and others, at once or one after the other."""
    found = [member for member in campaign.members() if member.verb is None]
    struck = choice.sample(found, min(len(found), choice.choice([1, 1, 2, 5, 20])))
    pause = choice.choice([0, 0, 0.01, 0.1])
    campaign.tell(f"kill {len(struck)} of {len(found)} members: {[member.look.process.pid for member in struck]}")
    for member in struck:
        member.look.process.signal(signal.SIGKILL)
        time.sleep(pause)
