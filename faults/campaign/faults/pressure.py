"""Too many processes, too much memory."""

import json
import time

from ..steps_log import Violation
from . import fault


def run(campaign, options, words):
    world = campaign.world
    return ["run", *options, "--", world.copy, str(world.facts), "-", *words]


@fault("fork-storm", weight=1)
def storm(campaign, choice):
    """Hundreds of daemons from one run, which is then ended, or ends and leaves them behind."""
    count = choice.choice([50, 200, 500])
    ends = choice.random() < 0.5
    words = run(campaign, ["-d", "--json", "--grace", "500ms"], ["storm", str(count), *(["life", "100", "0"] if ends else [])])
    result = campaign.home.call(*words, seconds=90)
    campaign.report(f"  {count} daemons of one run: {result.code}")
    if result.code == 0:
        name = result.json()["runId"]
        time.sleep(choice.uniform(0, 1))
        words = ["wait", "--json", name] if ends else ["cancel", "--json", name]
        campaign.home.call(*words, seconds=90)


@fault("memory-limit", weight=1)
def limited(campaign, choice):
    """A run that exceeds its memory limit."""
    words = run(campaign, ["--json", "--memory", "48M"], ["eat", "400", "life", "60000", "0"])
    result = campaign.home.call(*words, seconds=90)
    campaign.report(f"  it exceeded its memory limit: {result.code}")
    if result.code == 0:
        raise Violation(f"a run with 48 MiB ate 400 and ended well: {json.dumps(result.out)[:300]}")


@fault("balloon", weight=1)
def balloon(campaign, choice):
    """Another process allocates a gigabyte of the machine's memory for a moment."""
    part = bytearray(1 << 30)
    part[::4096] = b"x" * (len(part) // 4096)
    time.sleep(choice.choice([0.2, 1]))
    del part
    campaign.report("  memory pressure")
