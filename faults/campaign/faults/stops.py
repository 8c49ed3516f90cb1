"""SIGSTOP, and SIGCONT after a while."""

import signal
import time

from . import fault

# Longer than a watchdog's time, sometimes: then a supervisor that stands still is replaced.
WHILES = [0.05, 0.5, 1, 3, 12]


def hold(campaign, choice, who, processes):
    seconds = choice.choice(WHILES)
    campaign.report(f"  stop {who} {[process.pid for process in processes]} for {seconds} s")
    for process in processes:
        process.signal(signal.SIGSTOP)
    time.sleep(seconds)
    for process in processes:
        process.signal(signal.SIGCONT)


@fault("stop-supervisor", weight=1)
def supervisor(campaign, choice):
    """The supervisor is stopped; if for too long, it is replaced."""
    hold(campaign, choice, "supervisor", campaign.home.own("supervisor"))


@fault("stop-guardian", weight=1)
def guardian(campaign, choice):
    """It stands still."""
    hold(campaign, choice, "guardian", campaign.home.own("guardian"))


@fault("stop-both", weight=1)
def both(campaign, choice):
    """As when a machine sleeps."""
    hold(campaign, choice, "both", campaign.home.own("guardian") + campaign.home.own("supervisor"))


@fault("stop-members", weight=1)
def members(campaign, choice):
    """Some of the processes of runs are stopped."""
    found = [member.look.process for member in campaign.members() if member.verb is None and member.look.state != "T"]
    hold(campaign, choice, "members", choice.sample(found, min(len(found), choice.choice([1, 3, 10]))))
