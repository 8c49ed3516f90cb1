"""Puts peers under PREFIX/<peer>/ with apt, pip, npm and cargo. What cannot be had is named with the reason."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable

from .drivers import ALL


class CannotInstall(Exception):
    pass


class Installer:
    def __init__(self, prefix: Path):
        self.prefix = prefix
        self.updated = False
        prefix.mkdir(parents=True, exist_ok=True)

    def run(self, *argv: str, cwd: Path | None = None, **env: str) -> None:
        if shutil.which(argv[0]) is None:
            raise CannotInstall(f"{argv[0]} is not here")
        with open(self.prefix / "install.log", "ab") as log:
            log.write(f"$ {' '.join(argv)}\n".encode())
            log.flush()
            done = subprocess.run(argv, cwd=cwd or self.prefix, env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log)
        if done.returncode != 0:
            raise CannotInstall(f"{' '.join(argv[:2])} failed with {done.returncode}: {self.prefix / 'install.log'}")

    def update(self) -> None:
        if not self.updated and os.geteuid() == 0:
            self.run("apt-get", "update", "-q")
        self.updated = True

    def unpack(self, peer: str, *packages: str) -> None:
        """Only unpacked, so that no package script starts or enables anything."""
        self.update()
        debs = self.prefix / "debs" / peer
        shutil.rmtree(debs, ignore_errors=True)
        debs.mkdir(parents=True)
        if os.geteuid() == 0:  # apt fetches as a user of its own
            try:
                shutil.chown(debs, "_apt")
            except LookupError:
                pass
        self.run("apt-get", "download", "-q", *packages, cwd=debs)
        for deb in glob.glob(str(debs / "*.deb")):
            self.run("dpkg", "-x", deb, str(self.prefix / peer))

    def s6(self) -> None:
        """Installed, because Debian's s6-svscan has the path of s6-supervise built in; unpacked too, for its size."""
        if os.geteuid() != 0:
            raise CannotInstall("needs root: s6-svscan has the path of s6-supervise built in")
        self.update()
        self.run("apt-get", "install", "-y", "-q", "--no-install-recommends", "s6",
                 DEBIAN_FRONTEND="noninteractive")
        depends = subprocess.run(["apt-cache", "depends", "s6"], capture_output=True, text=True).stdout.split()
        self.unpack("s6", "s6", "execline",
                    *(w for w in depends if w.startswith(("libs6-", "libskarnet", "libexecline"))))

    def pip(self, peer: str, package: str) -> None:
        self.run(sys.executable, "-m", "venv", "--without-pip", str(self.prefix / peer))
        self.run(sys.executable, "-m", "pip", "-q", "--disable-pip-version-check",
                 "--python", str(self.prefix / peer / "bin" / "python"), "install", package)

    def npm(self, peer: str) -> None:
        (self.prefix / peer).mkdir(exist_ok=True)
        self.run("npm", "install", "--no-fund", "--no-audit", "--silent", "--prefix", ".", peer,
                 cwd=self.prefix / peer)

    def cargo(self, peer: str, *crates: str) -> None:
        building = self.prefix / "building"
        try:
            self.run("cargo", "install", "--quiet", "--locked", "--root", str(self.prefix / peer), *crates,
                     CARGO_TARGET_DIR=str(building))
        finally:
            shutil.rmtree(building, ignore_errors=True)

    def ways(self) -> dict[str, Callable[[], None]]:
        return {
            "supervisord": lambda: self.pip("supervisord", "supervisor"),
            "circus": lambda: self.pip("circus", "circus"),
            "pm2": lambda: self.npm("pm2"),
            "runit": lambda: self.unpack("runit", "runit"),
            "monit": lambda: self.unpack("monit", "monit"),
            "s6": self.s6,
            "horust": lambda: self.cargo("horust", "horust", "horustctl"),
            "pueue": lambda: self.cargo("pueue", "pueue"),
            "pitchfork": lambda: self.cargo("pitchfork", "pitchfork-cli@2.33.0"),
        }


def install(prefix: Path, names: list[str], report: Callable[[str], None]) -> dict[str, str]:
    """Why each of those cannot be measured that cannot."""
    installer = Installer(prefix)
    ways = installer.ways()
    skipped = {}
    for name in names:
        peer = ALL[name]
        why = peer.unavailable(prefix)
        if why and peer.folder() in ways:
            report(f"installing {name}")
            try:
                ways[peer.folder()]()
                why = peer.unavailable(prefix)
            except (CannotInstall, OSError) as error:
                why = str(error)
        if why:
            skipped[name] = why
            report(f"skipped: {name}: {why}")
    return skipped
