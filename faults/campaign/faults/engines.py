"""Container engines that stop, and containers that are killed by their engine's commands."""

import signal
import time

from ..engine import Away
from . import fault, kills


def none(campaign) -> str | None:
    return None if campaign.engines else "there is no engine of containers"


def one_of_ours(campaign, choice, engine):
    """Runs while the engine answers."""
    try:
        found = [one for one in engine.containers(campaign.home.instance()) if one.root]
    except Away as error:
        campaign.report(f"  {error}")
        return None
    return choice.choice(found) if found else None


@fault("restart-engine", why_not=none)
def restarted(campaign, choice):
    """Stops and starts the engine. Its containers go on."""
    away(campaign, choice, signal.SIGTERM)


@fault("kill-engine", why_not=none)
def killed(campaign, choice):
    """SIGKILL of the engine."""
    away(campaign, choice, signal.SIGKILL)


def away(campaign, choice, by: signal.Signals) -> None:
    engine, seconds = choice.choice(campaign.engines), choice.choice([0, 0, 0.5, 2])
    with engine.struck:
        campaign.report(f"  {by.name} for {engine.kind} {engine.child.pid}, away for {seconds} s")
        engine.strike(by)
        time.sleep(seconds)
        engine.start()


# Alone, and docker is started again behind it: of a container that ends meanwhile it may never hear.
@fault("kill-containerd", weight=1, alone=True, why_not=lambda campaign: campaign.without_engine.get("docker"))
def beside_killed(campaign, choice):
    """SIGKILL of docker's containerd, which docker restarts."""
    engine = next(engine for engine in campaign.engines if engine.kind == "docker")
    seconds = choice.choice([0.1, 1, 3])
    with engine.struck:
        beside = engine.containerd()
        campaign.report(f"  kill containerd {beside and beside.pid}, and restart docker after {seconds} s")
        if beside:
            beside.signal(signal.SIGKILL)
        time.sleep(seconds)
        engine.strike(signal.SIGTERM)
        engine.start()


@fault("stop-engine", weight=1, why_not=none)
def stopped(campaign, choice):
    """The engine accepts connections, and does not answer."""
    engine, seconds = choice.choice(campaign.engines), choice.choice([0.1, 0.5, 1, 3, 3, 11])
    with engine.struck:
        campaign.report(f"  stop {engine.kind} {engine.child.pid} for {seconds} s")
        engine.strike(signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            engine.strike(signal.SIGCONT)


@fault("kill-container", why_not=none)
def container_killed(campaign, choice):
    """As by `docker kill`."""
    engine = choice.choice(campaign.engines)
    with engine.struck:
        ours(campaign, choice, engine, "kill", "POST", "/kill?signal=KILL")


@fault("remove-container", why_not=none)
def container_removed(campaign, choice):
    """As by `docker rm -f`."""
    engine = choice.choice(campaign.engines)
    with engine.struck:
        ours(campaign, choice, engine, "remove", "DELETE", "?force=1")


def ours(campaign, choice, engine, what, method, rest) -> None:
    struck = one_of_ours(campaign, choice, engine)
    campaign.report(f"  {what} {engine.kind}'s container {struck and (struck.unit, struck.id[:12])}")
    if struck is None:
        return
    campaign.containers_struck()
    try:
        engine.ask(method, f"/v1.41/containers/{struck.id}{rest}")
    except Away as error:
        campaign.report(f"  {error}")


@fault("kill-container-shim", why_not=none)
def shim(campaign, choice):
    """SIGKILL of a container's shim. The next shim continues with the same container."""
    names = {unit.name for unit in campaign.world.contained()}
    shims = [member for member in campaign.members() if member.verb == "shim" and kills.procfs.arguments(member.look.process.pid)[2:3] and
             kills.procfs.arguments(member.look.process.pid)[2] in names]
    for member in choice.sample(shims, choice.randint(1, len(shims))) if shims else []:
        campaign.report(f"  kill shim {member.look.process.pid}")
        member.look.process.signal(signal.SIGKILL)


@fault("engine-and-daemon", why_not=none)
def with_daemon(campaign, choice):
    """The engine is away while supervisor, guardian, shims or all are killed, and is started some time later."""
    engine, how = choice.choice(campaign.engines), choice.choice([signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP])
    strike = choice.choice([kills.supervisor, kills.guardian, kills.both, shim])
    with engine.struck:
        campaign.report(f"  {engine.kind} gets {how.name}")
        engine.strike(how)
        try:
            strike(campaign, choice)
            time.sleep(choice.choice([0, 0.5, 1.5]))
        finally:
            engine.strike(signal.SIGCONT) if how == signal.SIGSTOP else engine.start()
