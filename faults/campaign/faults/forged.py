"""A foreign process with the id of a run in its environment."""

import signal
import time

from . import fault

KEPT = 4  # so many of them live on, for the faults that follow


@fault("forged-id")
def forged(campaign, choice):
    """The process has the id of a live run, which then ends: it must never be touched."""
    world = campaign.world
    while len(world.forged) >= KEPT:
        world.end_forged()
    views = [view for view in campaign.home.call("ls", "--json").json() if view.get("runId")]
    if not views:
        campaign.report("  no run to imitate")
        return
    view = choice.choice(views)
    campaign.report(f"  {world.start_forged(view['runId'])} claims to belong to {view['unit']}'s run")
    struck = campaign.home.supervisor() if choice.random() < 0.5 else None
    if struck:
        campaign.report(f"  kill supervisor {struck.pid}")
        struck.signal(signal.SIGKILL)
        struck.wait_gone()
    time.sleep(choice.uniform(0, 0.5))
    campaign.containers_struck()
    campaign.home.call("restart", view["unit"], seconds=90)
