"""What an app is started with."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, Optional, Union

from .errors import KernelError
from .wire import as_object

Manifest = Mapping[str, Any]
ManifestSource = Union[Manifest, str, "os.PathLike[str]"]

MANIFEST_FILE = "openclawos.manifest.json"

_SOCKET_NAMES = ("OPENCLAWOS_SOCKET", "OPENCLAWOS_KERNEL_SOCKET", "OPENCLAW_KERNEL_SOCKET")
_DEFAULT_HEARTBEAT = 30.0


def socket_path() -> str:
    for name in _SOCKET_NAMES:
        path = os.environ.get(name)
        if path:
            return path
    raise KernelError(
        "NO_SOCKET",
        "OPENCLAWOS_SOCKET is not set: this program is an app and is started by Ostler. Put "
        f'[units.NAME] manifest = "{MANIFEST_FILE}" into ostler.toml and run `ostler up`',
    )


def launch_secret() -> Optional[str]:
    return os.environ.get("OPENCLAWOS_LAUNCH_SECRET") or None


def heartbeat_fallback() -> float:
    """The interval in seconds for when the answer to ``app.register`` names none."""
    try:
        seconds = float(os.environ.get("OSTLER_HEARTBEAT_MS", "")) / 1000
    except ValueError:
        return _DEFAULT_HEARTBEAT
    return seconds if seconds > 0 else _DEFAULT_HEARTBEAT


def load_manifest(source: Optional[ManifestSource] = None) -> Manifest:
    if isinstance(source, Mapping):
        return _checked(source, "the manifest")
    path = MANIFEST_FILE if source is None else os.fspath(source)
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError) as error:
        raise KernelError("BAD_MANIFEST", f"could not read the manifest {path}: {error}") from error
    return _checked(as_object(value), path)


def _checked(manifest: Manifest, where: str) -> Manifest:
    version = as_object(manifest.get("protocol")).get("version")
    if not all(isinstance(x, str) for x in (manifest.get("id"), manifest.get("type"), version)):
        raise KernelError(
            "BAD_MANIFEST", f"{where} must have id, type and protocol.version, each a text"
        )
    return manifest
