"""Full disk, no descriptors, slow disk, clock jumps."""

import os
import resource
import socket
import time

from .. import disk
from . import fault


@fault("full-disk", why_not=lambda campaign: campaign.without_disk)
def full(campaign, choice):
    """The home's disk is full for a while: runs go on, losses are reported, new runs are refused."""
    seconds = choice.choice([0.2, 1, 3])
    filler = campaign.home.path / "filler"
    began = time.monotonic_ns()
    campaign.no_room(began)
    campaign.report(f"  no room for {seconds} s")
    disk.fill(filler)
    try:
        time.sleep(seconds)
    finally:
        filler.unlink()
        campaign.no_room(began)


@fault("no-descriptors")
def descriptors(campaign, choice):
    """The supervisor has no or few free descriptors; sometimes callers use up the rest."""
    supervisor = campaign.home.supervisor()
    if not supervisor:
        return
    seconds, room = choice.choice([0.3, 1, 3]), choice.choice([0, 0, 2, 5])
    callers = []
    try:
        last = max(int(number) for number in os.listdir(f"/proc/{supervisor.pid}/fd"))
        before = resource.prlimit(supervisor.pid, resource.RLIMIT_NOFILE)
    except OSError:
        return
    try:
        resource.prlimit(supervisor.pid, resource.RLIMIT_NOFILE, (last + 1 + room, before[1]))
        for _ in range(choice.choice([0, 20, 200])):
            caller = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            callers.append(caller)
            caller.settimeout(0.05)
            caller.connect(str(campaign.home.path / "ostler.sock"))
    except OSError:
        pass
    campaign.report(f"  supervisor {supervisor.pid} may have {last + 1 + room} descriptors for {seconds} s, beside {len(callers)} callers")
    time.sleep(seconds)
    for caller in callers:
        caller.close()
    if supervisor.alive():
        resource.prlimit(supervisor.pid, resource.RLIMIT_NOFILE, before)


@fault("slow-disk", why_not=lambda campaign: campaign.without_layer)
def slow(campaign, choice):
    """Each write to a file and each sync is delayed."""
    late, seconds = choice.choice([0.002, 0.02, 0.2]), choice.choice([1, 3, 6])
    campaign.report(f"  writes take {late * 1000:.0f} ms longer for {seconds} s")
    campaign.control.set_slow(late)
    try:
        time.sleep(seconds)
    finally:
        campaign.control.set_slow(0)


@fault("clock-jump", why_not=lambda campaign: campaign.without_layer or campaign.without_clock)
def clock(campaign, choice):
    """The wall clock jumps, there and sometimes back. Deadlines and leases are not affected."""
    for _ in range(choice.choice([1, 2, 4])):
        jump = choice.choice([0, 1, -1, 31, -31, 3600, -3600, 20 * 86400, -20 * 86400])
        campaign.report(f"  the wall clock is {jump} s off")
        campaign.control.set_clock(jump)
        time.sleep(choice.choice([0.1, 1, 3.5]))
    if choice.random() < 0.7:
        campaign.control.set_clock(0)
