"""A small disk for the home, so that it can be filled without harm to others."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

SIZE = "512m"
MNT_DETACH = 2


def mount(path: Path) -> str | None:
    """Why there can be no disk, or nothing."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"faults", str(path).encode(), b"tmpfs", 0, f"size={SIZE},mode=700".encode()) != 0:
        return f"no disk can be mounted for the home: {os.strerror(ctypes.get_errno())}"
    return None


def unmount(path: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.umount2(str(path).encode(), MNT_DETACH) != 0 and ctypes.get_errno() not in (errno.EINVAL, errno.ENOENT):
        raise OSError(ctypes.get_errno(), f"umount {path}")


def fill(filler: Path) -> None:
    """Fills the disk to the last byte."""
    with open(filler, "wb", buffering=0) as file:
        room = os.statvfs(filler.parent)
        try:
            os.posix_fallocate(file.fileno(), 0, max(1, room.f_bavail * room.f_frsize))
        except OSError:
            pass
        file.seek(0, os.SEEK_END)
        for size in (1 << 16, 4096, 256, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass
