"""Somebody else's process that says it is of a run of ours."""

import signal
import time

from . import fault

KEPT = 4  # so many of them live on, for the faults that follow


@fault("forged-id")
def forged(campaign, choice):
    """It carries the id of a live run, which then ends: it is not touched, neither now nor later."""
    world = campaign.world
    while len(world.forged) >= KEPT:
        world.end_forged()
    views = [view for view in campaign.home.call("ls", "--json").json() if view.get("runId")]
    if not views:
        campaign.tell("  no run to look like")
        return
    view = choice.choice(views)
    campaign.tell(f"  {world.start_forged(view['runId'])} says that it is of {view['name']}'s run")
    struck = campaign.home.supervisor() if choice.random() < 0.5 else None
    if struck:
        campaign.tell(f"  kill supervisor {struck.pid}")
        struck.signal(signal.SIGKILL)
        struck.wait_gone()
    time.sleep(choice.uniform(0, 0.5))
    campaign.containers_struck()
    campaign.home.call("restart", view["name"], seconds=90)
