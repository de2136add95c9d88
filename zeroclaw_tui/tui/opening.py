"""How the inspector comes to its store, and what it remembers of a person's choices there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

# Each function imports on use: what reads databases and counts vectors must not delay the first frame.
if TYPE_CHECKING:
    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.opening import OpenOptions

Finder = Callable[["OpenOptions"], "tuple[MemoryConfig, ...]"]
Opener = Callable[["MemoryConfig", "str | None"], "Awaitable[Library]"]


def find_configs(options: OpenOptions) -> tuple[MemoryConfig, ...]:
    """The configs the options may mean, the one that wins first. Raises NoInstall, Unreadable or BrokenConfig."""
    from zeroclaw_tui.curation.opening import configs_for

    return configs_for(options)


async def open_config(config: MemoryConfig, profile: str | None) -> Library:
    """The open store of a config. Raises InspectorError kinds."""
    from zeroclaw_tui.curation.library import open_library

    return await open_library(config, profile)


def saved_theme(config: MemoryConfig) -> str | None:
    """The theme a person chose for this install, or None."""
    from zeroclaw_tui.config import settings

    return settings.saved_theme(config.install)


def save_theme(config: MemoryConfig, name: str) -> None:
    """Remember a theme. Raises BrokenConfig or Unreadable when that cannot be."""
    from zeroclaw_tui.config import settings

    settings.save_theme(config.install, name)


def save_profile(config: MemoryConfig, version: str) -> None:
    """Remember whose scoring rules a person chose for this store. Raises like `save_theme`."""
    from zeroclaw_tui.config import settings

    settings.save_profile(config.install, version)


def snapshot_to_make_from(config: MemoryConfig) -> Path | None:
    """The snapshot of which the database can be made where there is none yet, as ZeroClaw would; else None.

    Blocks: run it in a thread. Raises Unreadable, and Refused for stores that have no snapshot.
    """
    from zeroclaw_tui.curation.snapshot.hydrate import is_empty_store
    from zeroclaw_tui.curation.snapshot.snapshot import place_of

    file = place_of(config)
    return file if not config.read_only and file.is_file() and is_empty_store(config) else None
