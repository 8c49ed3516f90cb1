"""Lets a Python program be an app that Ostler supervises."""

from .answers import Configuration, Registration
from .app import App
from .client import KernelClient
from .errors import KernelError
from .plain import run_app
from .serve import serve
from .wire import MAX_LINE, PROTOCOL_VERSION

__all__ = [
    "App",
    "Configuration",
    "KernelClient",
    "KernelError",
    "MAX_LINE",
    "PROTOCOL_VERSION",
    "Registration",
    "run_app",
    "serve",
]
