"""Bringing memories of a snapshot into a store, so that ZeroClaw of its version can read the result."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.changing import Outcome
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Advance
from zeroclaw_tui.memory.entry import MemoryEntry

OnConflict = Literal["skip", "overwrite", "rename"]


@dataclass(frozen=True, slots=True)
class HydratePlan:
    """What would be added, and the keys that the store has with another content."""

    new: tuple[MemoryEntry, ...]
    conflicts: tuple[MemoryEntry, ...]
    same: int
    lost: tuple[tuple[str, tuple[str, ...]], ...] = ()


async def plan_hydrate(library: Library, path: Path, keys: Collection[str] | None = None) -> HydratePlan:
    """What hydrating from this file would do; `keys` picks some of its memories."""
    raise NotImplementedError


async def hydrate(
    library: Library, plan: HydratePlan, on_conflict: OnConflict, advance: Advance | None = None
) -> Outcome:
    """Bring them in, as one action of verb "hydrate"; timestamps are kept where the file has them."""
    raise NotImplementedError


def is_empty_store(config: MemoryConfig) -> bool:
    """Whether there is no database yet, or one so small that ZeroClaw takes it for none (< 4,096 bytes, no log)."""
    raise NotImplementedError


def make_store(config: MemoryConfig, entries: Sequence[MemoryEntry], version: str | None) -> Path:
    """Make the database whole in one step, with these memories, as ZeroClaw of that version makes it (None: 0.1.7's
    schema, which every later one migrates). An empty file in its place is kept beside it. Blocks: run it in a thread.

    Raises Refused when there is a database by now, Unreadable.
    """
    raise NotImplementedError
