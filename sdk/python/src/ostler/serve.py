"""An app that is made of functions instead of a class."""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, Optional

from .app import App
from .environment import ManifestSource
from .wire import Params

Hook = Callable[[App], Awaitable[None]]
ConfigHook = Callable[[Params, Any], Awaitable[None]]


def serve(
    *,
    setup: Optional[Hook] = None,
    teardown: Optional[Hook] = None,
    on_config: Optional[ConfigHook] = None,
    manifest: Optional[ManifestSource] = None,
) -> None:
    """Runs an asyncio app until a stop request."""
    asyncio.run(_HookedApp(setup, teardown, on_config, manifest).run())


class _HookedApp(App):
    def __init__(
        self,
        setup: Optional[Hook],
        teardown: Optional[Hook],
        on_config: Optional[ConfigHook],
        manifest: Optional[ManifestSource],
    ) -> None:
        super().__init__(manifest)
        self._on_setup = setup
        self._on_teardown = teardown
        self._on_config = on_config

    async def setup(self) -> None:
        if self._on_setup is not None:
            await self._on_setup(self)

    async def teardown(self) -> None:
        if self._on_teardown is not None:
            await self._on_teardown(self)

    async def on_config(self, config: Params, version: Any) -> None:
        if self._on_config is not None:
            await self._on_config(config, version)
