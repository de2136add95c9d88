"""How the inspector comes to its store, and what it remembers of a person's choices there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

# Each function imports on use: what reads databases and counts vectors must not delay the first frame.
if TYPE_CHECKING:
    from zeroclaw_tui.config.locations import OpenOptions
    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.store_choice import Candidate, Standing
    from zeroclaw_tui.curation.transfer.reconcile import Target

Finder = Callable[["OpenOptions"], "tuple[MemoryConfig, ...]"]
Opener = Callable[["MemoryConfig", "str | None"], "Awaitable[Library]"]
Lister = Callable[["MemoryConfig", "MemoryConfig | None"], "Sequence[Candidate]"]
Asker = Callable[["Candidate", "str | None"], "Awaitable[Standing]"]


def find_configs(options: OpenOptions) -> tuple[MemoryConfig, ...]:
    """The configs the options may mean, the one that wins first. Raises NoInstall, Unreadable or BrokenConfig."""
    from zeroclaw_tui.curation.store_choice import configs_for

    return configs_for(options)


async def open_config(config: MemoryConfig, profile: str | None) -> Library:
    """The open store of a config. Raises InspectorError kinds."""
    from zeroclaw_tui.curation.library import open_library

    return await open_library(config, profile)


def find_candidates(config: MemoryConfig, started: MemoryConfig | None) -> Sequence[Candidate]:
    """The stores a config knows, the current one first. Blocks for a few file looks. Raises BrokenConfig."""
    from zeroclaw_tui.curation.store_choice import candidates

    return candidates(config, started=started)


async def ask_candidate(candidate: Candidate, profile: str | None) -> Standing:
    """How one of them stands, within seconds."""
    from zeroclaw_tui.curation.store_choice import standing_of

    return await standing_of(candidate, profile)


def candidate_of_file(path: Path) -> Candidate:
    """A file or folder as a store to look at, of the kind its content says.

    Blocks for a few file looks. Raises Unreadable or WrongUse for one that holds no memories.
    """
    from zeroclaw_tui.config.locations import OpenOptions
    from zeroclaw_tui.curation.store_choice import Candidate, configs_for

    return Candidate(configs_for(OpenOptions(path=path))[0], "opened here")


def confirm_candidate(candidate: Candidate) -> Candidate:
    """Keep that a person says this database is ZeroClaw's; gives it as it may be opened from now on.

    Raises BrokenConfig or Unreadable when that cannot be kept.
    """
    from zeroclaw_tui.config import load, settings

    config = candidate.config
    name = load.store_to_confirm(config)
    if name is not None:
        settings.confirm_store(config.install, name)
    warnings = tuple(load.CONFIRMED if told == load.READ_ONLY else told for told in config.warnings)
    config = config._replace(read_only=False, warnings=warnings)
    return candidate._replace(config=config, is_current=False)


async def open_copy_target(config: MemoryConfig, profile: str | None) -> Target:
    """A store to copy to, also one that is not there yet. Raises what opening raises."""
    from zeroclaw_tui.curation.library import open_library
    from zeroclaw_tui.curation.store_choice import location_of
    from zeroclaw_tui.curation.transfer.reconcile import Target
    from zeroclaw_tui.memory.errors import NothingYet

    try:
        library = await open_library(config, profile)
    except NothingYet as nothing:
        return Target(config, None, nothing, profile, location_of(config))
    return Target(config, library, None, profile, library.memory.location)


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
