"""A network with loopback only, for this process and all that it starts."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP_RUNNING = 0x1 | 0x40


def leave_the_network() -> str | None:
    """Why it cannot be done, or nothing. Without it only the agents' settings keep them from calling out."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        return os.strerror(ctypes.get_errno())
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP_RUNNING))
    return None
