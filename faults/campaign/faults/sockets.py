"""Garbage at the sockets, and callers with conflicting requests at once."""

import os
import socket
import threading
import time

from .. import procfs
from ..steps_log import SLOW, Violation
from . import fault

MOST_MEMORY = 200  # MiB; a debug build with its layer has much more than a release

SOCKETS = [("ostler.sock", socket.SOCK_STREAM), ("kernel.sock", socket.SOCK_STREAM), ("guardian.sock", socket.SOCK_DGRAM)]
HALVES = [b'{"id":1,"type":"ru', b'{"run":{"command":["true"]', b"[" * 100000, b'"' + b"a" * 300000, b"\xff\xfe\x00\n" * 50, b"{}\n" * 1000,
          b"null\n", b'{"view":{"run":"x"}}\n\x00\x00\x00\xff', b"READY=1\n", b"FDSTORE=1\nFDNAME=x", b"STOPPING=1", b"WATCHDOG=trigger"]


@fault("garbage")
def garbage(campaign, choice):
    """Random bytes, halves of requests, much too long lines, at every socket of the home."""
    for _ in range(choice.randint(5, 60)):
        name, kind = choice.choice(SOCKETS)
        text = choice.choice(HALVES) if choice.random() < 0.5 else os.urandom(0) + choice.randbytes(choice.choice([1, 17, 4096, 200000]))
        try:
            with socket.socket(socket.AF_UNIX, kind) as caller:
                caller.settimeout(0.3)
                caller.connect(str(campaign.home.path / name))
                caller.send(text[:60000] if kind == socket.SOCK_DGRAM else text)
                if choice.random() < 0.3:
                    caller.recv(4096)
        except OSError:
            pass
    campaign.report("  garbage was sent")


@fault("crowd", weight=1)
def crowd(campaign, choice):
    """Hundreds of connections that send nothing, or a part of a request, and stay open."""
    callers, name = [], choice.choice(["ostler.sock", "kernel.sock"])
    try:
        for _ in range(choice.choice([50, 500, 2000])):
            caller = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            caller.settimeout(0.05)
            callers.append(caller)
            caller.connect(str(campaign.home.path / name))
            caller.send(b'{"id":')
    except OSError:
        pass
    campaign.report(f"  {len(callers)} are connected to {name}")
    time.sleep(choice.choice([0.1, 1, 3]))
    for caller in callers:
        caller.close()


def unread(path: str, asked: bytes, until: float) -> None:
    """Sends requests as fast as possible, and reads no answer."""
    while time.monotonic() < until:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
                caller.settimeout(0.2)
                caller.connect(path)
                while time.monotonic() < until:
                    try:
                        caller.send(asked * 50)
                    except TimeoutError:
                        time.sleep(0.02)
        except OSError:
            time.sleep(0.02)


@fault("hostile", weight=2)
def hostile(campaign, choice):
    """Eight callers that request endlessly and never read, while others must be answered."""
    methods = ["daemon.ping", "runs.list", "units.start", "journal.entries", "daemon.metrics", "units.list", "nonsense"]
    until = time.monotonic() + choice.choice([1, 3, 6])
    callers = []
    for _ in range(8):
        name, method = choice.choice(["ostler.sock", "kernel.sock"]), choice.choice(methods)
        asked = b'{"id":1,"type":"request","method":"%s","params":{}}\n' % method.encode()
        callers.append(threading.Thread(target=unread, args=(str(campaign.home.path / name), asked, until), daemon=True))
    for caller in callers:
        caller.start()
    began, slowest = time.monotonic(), 0.0
    while time.monotonic() < until:
        at = time.monotonic()
        campaign.home.call("ls", seconds=90)
        slowest = max(slowest, time.monotonic() - at)
    for caller in callers:
        caller.join()
    supervisor = campaign.home.supervisor()
    memory = procfs.memory(supervisor.pid) >> 20 if supervisor else 0
    campaign.report(f"  eight hostile callers for {time.monotonic() - began:.0f} s: others waited {slowest:.2f} s at most, the supervisor has {memory} MiB")
    if memory > MOST_MEMORY:
        raise Violation(f"hostile callers: the supervisor has grown to {memory} MiB, {MOST_MEMORY} are its bound")


@fault("commands", weight=3)
def commands(campaign, choice):
    """Many conflicting commands at once; then every unit is started again."""
    home, units = campaign.home, campaign.world.names()
    campaign.containers_struck()
    calls = []
    for _ in range(choice.choice([4, 8, 16])):
        unit = choice.choice(units)
        words = choice.choice([["up", "--no-wait"], ["down"], ["restart", unit], ["stop", unit], ["start", unit], ["reload"], ["cancel", unit], ["ls"],
                               ["status", unit], ["logs", unit, "-n", "3"], ["runs", "--live"], ["reload", "--self"], ["why", unit], ["start"]])
        calls.append((words, home.spawn(words)))
        time.sleep(choice.choice([0, 0, 0.01, 0.05]))
    campaign.report(f"  {[' '.join(words) for words, _ in calls]}")
    began = time.monotonic()
    for words, child in calls:
        result = home.finish(child, words, 100)
        if (took := time.monotonic() - began) > SLOW:
            campaign.report(f"  {' '.join(words)} took {took:.0f} s: {result.code} {result.out[-200:]!r} {result.err[-300:]!r}")
            began = time.monotonic()
    campaign.wanted()


@fault("restart-daemon", weight=1)
def restart(campaign, choice):
    """Orderly: stop and start, a hand-over, an upgrade to the same program."""
    words = choice.choice([["reload", "--self"], ["upgrade", str(campaign.home.ostler)], ["restart"], ["stop"]])
    campaign.report(f"  ostler {words[0]}")
    if words[0] in ("restart", "stop"):
        campaign.containers_struck()
    campaign.home.call(*words, seconds=90)
    if words == ["stop"]:
        campaign.home.call("start", seconds=90)
