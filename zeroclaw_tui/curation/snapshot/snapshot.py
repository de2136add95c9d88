"""Writing the snapshot of a store, and comparing one with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from zeroclaw_tui.curation.changing import Outcome
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.snapshot.text import Snapshot
from zeroclaw_tui.memory.change import Advance
from zeroclaw_tui.memory.entry import MemoryEntry

Where = Literal["only here", "only there", "changed", "same"]
"""Here is the store, there the snapshot."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One key. `here` is the store's memory (an excerpt is never in it), `there` the file's; None where it has none.

    `lost` says what ZeroClaw's format loses of `there`.
    """

    key: str
    where: Where
    here: MemoryEntry | None
    there: MemoryEntry | None
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SnapshotPlan:
    """What writing would do. `entries` are the core memories in ZeroClaw's order; `lossy` those that lose content.

    `beside` is the lossless file that is written with it. `replaces` tells of the file in its place, None for none.
    """

    file: Path
    beside: Path
    entries: int
    lossy: tuple[tuple[str, tuple[str, ...]], ...]
    replaces: Snapshot | None


def snapshot_file(library: Library) -> Path:
    """Where ZeroClaw looks for it. Raises Refused for a lone store that has no such place."""
    raise NotImplementedError


def load_snapshot(path: Path) -> tuple[Snapshot, tuple[MemoryEntry, ...]]:
    """A MEMORY_SNAPSHOT.md, or one of our JSONL exports, as memories to compare and hydrate from.

    Raises NotThere, Unreadable, Refused for a file of that name that is not ZeroClaw's, each in one sentence.
    """
    raise NotImplementedError


async def plan_snapshot(library: Library) -> SnapshotPlan:
    """What writing the snapshot would write and lose."""
    raise NotImplementedError


async def write_snapshot(library: Library, *, replaces_foreign: bool = False) -> Outcome:
    """Write it as ZeroClaw would, and the lossless copy beside it; verb "snapshot", an undo brings the old ones back.

    Without core memories nothing is written, as in ZeroClaw: Refused. A file of that name that is not ZeroClaw's
    is only replaced with `replaces_foreign`.
    """
    raise NotImplementedError


async def compare(library: Library, path: Path, advance: Advance | None = None) -> tuple[Difference, ...]:
    """Store and snapshot by key, over the store's core memories: changed and one-sided ones first."""
    raise NotImplementedError
