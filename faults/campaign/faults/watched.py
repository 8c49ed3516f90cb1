"""The patrol and its agents."""

import signal

from . import fault


def patrol_of(campaign):
    return [member.look.process for member in campaign.members() if member.verb == "patrol"]


@fault("kill-patrol", why_not=lambda campaign: campaign.without_tmux)
def patrol(campaign, choice):
    """Kills the patrol; sometimes an agent at the same time."""
    for process in patrol_of(campaign):
        campaign.report(f"  kill patrol {process.pid}")
        process.signal(signal.SIGKILL)
    if choice.random() < 0.5:
        agent(campaign, choice)


@fault("kill-agent", why_not=lambda campaign: campaign.without_tmux)
def agent(campaign, choice):
    """Its session, as by `tmux kill-session`, or its program. Ends an agent, which the patrol starts again."""
    name, session = choice.choice(campaign.world.agents()).name, choice.random() < 0.5
    campaign.report(f"  end {'the session' if session else 'the program'} of {name}")
    if session:
        found = [known for known in campaign.world.sessions() if known.endswith(f"-{name}")]
        for known in found:
            campaign.world.tmux("kill-session", "-t", f"={known}")
    else:
        for life in campaign.lives_of(name)[-1:]:
            life.process.signal(signal.SIGKILL)
