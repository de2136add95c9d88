"""Open stores, and libraries as the commands open them, and close them again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from support.libraries import Library, open_library
from support.places import MemoryConfig, OpenOptions
from support.stores import Memory
from zeroclaw_tui.curation.config_choice import configs_for

Store = TypeVar("Store", bound=Memory)


@asynccontextmanager
async def opened_memory(memory: Store) -> AsyncIterator[Store]:
    """Open a store for the duration of the block."""
    await memory.open()
    try:
        yield memory
    finally:
        await memory.close()


@asynccontextmanager
async def opened_at(given: Path | OpenOptions | MemoryConfig, version: str | None = None) -> AsyncIterator[Library]:
    """Open the library of a file, folder, options or config, scored by the rules of a version of ZeroClaw."""
    options = OpenOptions(path=given) if isinstance(given, Path) else given
    config = configs_for(options)[0] if isinstance(options, OpenOptions) else options
    library = await open_library(config, version)
    try:
        yield library
    finally:
        await library.close()


def opened(environment: Mapping[str, str] | None = None, **options: Any) -> AbstractAsyncContextManager[Library]:
    """Open the library of a planted install with these command options."""
    return opened_at(configs_for(OpenOptions(**options), environment)[0])
