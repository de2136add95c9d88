"""The library of a planted install."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.store_choice import configs_for


@asynccontextmanager
async def opened(environment: Mapping[str, str] | None = None, **options: Any) -> AsyncIterator[Library]:
    """Opened as these options of a command say, closed at the end."""
    library = await open_library(configs_for(OpenOptions(**options), environment)[0])
    try:
        yield library
    finally:
        await library.close()
