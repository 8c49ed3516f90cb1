"""Damage to the home's files."""

import errno
import os
import shutil
import socket
import time

from .. import disk, registry
from ..steps_log import Violation
from . import fault

SUFFIXES = ("", "-wal", "-shm")


def damage(path, choice) -> str:
    """Bytes changed, zeroed, cut off; returns what was done."""
    size = path.stat().st_size
    way = choice.choice(["flip", "flip", "zero", "cut", "empty"])
    with open(path, "r+b") as file:
        if way == "flip":
            for _ in range(choice.choice([1, 20, 400])):
                at = choice.randrange(size)
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ (1 << choice.randrange(8))]))
        elif way == "zero":
            at = choice.randrange(size)
            file.seek(at)
            file.write(bytes(min(size - at, choice.choice([16, 4096, 65536]))))
        elif way == "cut":
            file.truncate(choice.randrange(size))
        else:
            file.truncate(0)
    return f"{way} {path.name} of {size} bytes"


@fault("damaged-registry", weight=1, alone=True)
def damaged_registry(campaign, choice):
    """With the daemon stopped or killed, the registry or its WAL is damaged. The daemon starts, or refuses and names the file; then the file is moved away."""
    home = campaign.home
    campaign.traffic.pause()
    if choice.random() < 0.5:
        campaign.report("  stop")
        home.call("stop", seconds=90)
    else:
        with campaign.unheard():
            campaign.report("  kill both")
            home.kill_daemon()
    files = [home.registry] + [path for suffix in ("-wal",) if (path := home.registry.with_name(home.registry.name + suffix)).exists() and path.stat().st_size]
    campaign.report(f"  {damage(choice.choice(files), choice)}")
    campaign.forget_records()
    result = home.call("start", seconds=90)
    if result.code == 0:
        seen = sound(home)
        campaign.report(f"  it started; integrity: {seen[:100]}")
        if seen == "ok":
            campaign.wanted()
            return
        # Nothing is promised for a damaged page that is read later; the user moves the file away.
        home.kill_daemon()
    else:
        campaign.report(f"  refused: {result.err.strip()[:300]}")
        if str(home.registry) not in result.err:
            raise Violation(f"a registry that cannot be used is not named: {result.err[:500]!r}")
        end = time.monotonic() + 20
        while left := home.own("supervisor") + home.own("guardian"):
            if time.monotonic() > end:
                raise Violation(f"it refused to start, and {left} is left")
            time.sleep(0.02)
    for suffix in SUFFIXES:
        path = home.registry.with_name(home.registry.name + suffix)
        if path.exists():
            os.rename(path, campaign.folder / f"damaged-{campaign.log.step}{suffix or '.db'}") if same_disk(path, campaign.folder) else path.unlink()
    campaign.forget_records()
    result = home.call("start", seconds=90)
    if result.code != 0:
        raise Violation(f"with the registry moved away it does not start: {result.err[:500]!r}")
    # Until then a tmux server of the killed daemon may still have begun a copy that only the lost registry knew.
    campaign.world.since_ns = time.monotonic_ns()
    campaign.wanted()


def sound(home) -> str:
    try:
        return registry.integrity(home.registry)
    except registry.Unreadable as error:
        return str(error)


def same_disk(one, other) -> bool:
    return one.stat().st_dev == other.stat().st_dev


@fault("damaged-files")
def damaged_files(campaign, choice):
    """Files for people, or files that can be generated again: overwritten with garbage, or removed."""
    home = campaign.home.path
    names = choice.sample(["supervisor.json", "ostler.pid", "crash.log", "ostler.log"], choice.randint(1, 4))
    for name in names:
        path = home / name
        try:
            if choice.random() < 0.5:
                path.unlink()
            else:
                path.write_bytes(choice.randbytes(choice.choice([0, 10, 5000])))
        except OSError:
            pass
    campaign.report(f"  damaged: {names}")


@fault("damaged-logs", weight=1)
def damaged_logs(campaign, choice):
    """Logs of runs that have ended: cut, overwritten, without their index. Reading them must end."""
    ended = [row["run_id"] for row in registry.rows(campaign.home.registry, "SELECT run_id FROM runs WHERE state = 'exited' AND output_bytes > 0 ORDER BY ended_at_ms DESC LIMIT 50")]
    for run in choice.sample(ended, min(len(ended), 3)):
        reading = campaign.oracle.output.readings.get(run)
        if reading is None or not reading.is_over:
            continue  # not judged yet
        for path in sorted((campaign.home.path / "runs" / run).iterdir()):
            if path.stat().st_size:
                campaign.report(f"  {run}: {damage(path, choice)}")
        for words in (["logs", run], ["logs", "--json", "-n", "5", run], ["why", run]):
            result = campaign.home.call(*words, seconds=60)
            if "panick" in result.err:
                raise Violation(f"`ostler {' '.join(words)}` panicked: {result.err[:500]}")


@fault("sockets-removed")
def sockets_removed(campaign, choice):
    """Sockets whose files are removed, renamed or replaced by foreign ones: the daemon listens on each again."""
    home = campaign.home.path
    sockets = [home / name for name in ("ostler.sock", "kernel.sock", "guardian.sock")] + sorted((home / "notify").glob("*.sock"))
    struck = choice.sample(sockets, choice.randint(1, len(sockets)))
    for path in struck:
        way = choice.choice(["remove", "remove", "rename", "replace"])
        campaign.report(f"  {way} {path.relative_to(home)}")
        try:
            if way == "rename":
                path.rename(path.with_suffix(".away"))
                path.with_suffix(".away").unlink()
            else:
                path.unlink()
            if way == "replace":
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
                    other.bind(str(path))
        except OSError:
            pass  # gone already, or back already
    result = campaign.home.call("ls", seconds=90)
    campaign.report(f"  ls ended with {result.code}: {result.err.strip()[-200:]}")


@fault("home-removed", weight=1, alone=True)
def home_removed(campaign, choice):
    """The home of the running daemon is removed, sometimes only its content. The daemon ends with all runs; a new one may start before it has ended."""
    home = campaign.home
    old = home.own("supervisor") + home.own("guardian")
    campaign.traffic.pause()
    with campaign.unheard():
        empty(home.path)
        if choice.random() < 0.5:
            campaign.report("  the folder too")
            renew_folder(campaign)
        campaign.forget_records()
        if choice.random() < 0.5:
            campaign.report("  a new one is started at once")
            start(home)
        end = time.monotonic() + 60
        while left := [process for process in old if process.alive()]:
            if time.monotonic() > end:
                raise Violation(f"its home was removed a minute ago, and {left} is left")
            time.sleep(0.05)
    campaign.forget_records()
    start(home)
    campaign.wanted()


def start(home) -> None:
    result = home.call("start", seconds=90)
    if result.code != 0:
        raise Violation(f"in a home that was removed and made again no daemon starts: {result.err[:500]!r}")


def renew_folder(campaign) -> None:
    """Another folder of the same name, on another disk where the campaign mounts one."""
    path = campaign.home.path
    if not campaign.without_disk:
        disk.unmount(path)
    for _ in range(100):
        empty(path)
        try:
            path.rmdir()
            break
        except OSError as error:
            # The daemon has made a file in it meanwhile.
            if error.errno != errno.ENOTEMPTY:
                raise
    path.mkdir(mode=0o700)
    if not campaign.without_disk and (why := disk.mount(path)):
        raise Violation(why)


def empty(folder) -> None:
    """The folder is kept. The daemon may create a file in it meanwhile."""
    for _ in range(100):
        entries = list(folder.iterdir())
        for entry in entries:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
        if not entries:
            return
