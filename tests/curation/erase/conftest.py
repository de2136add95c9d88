"""Libraries of planted installs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.store_choice import configs_for

Opened = Callable[[Path], AbstractAsyncContextManager[Library]]


@pytest.fixture
def opened() -> Opened:
    """The library of a config dir, closed at the end."""

    @asynccontextmanager
    async def opened(config_dir: Path) -> AsyncIterator[Library]:
        library = await open_library(configs_for(OpenOptions(config_dir=config_dir))[0])
        try:
            yield library
        finally:
            await library.close()

    return opened
