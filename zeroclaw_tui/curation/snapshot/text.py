"""MEMORY_SNAPSHOT.md as ZeroClaw writes and reads it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from zeroclaw_tui.memory.entry import MemoryEntry

NAME = "MEMORY_SNAPSHOT.md"
SIDE_CAR = "MEMORY_SNAPSHOT.jsonl"
"""Our lossless copy beside it."""


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """One memory as ZeroClaw's hydration reads it; the timestamps are those of the file, None where it has none."""

    key: str
    content: str
    created_at: str | None = None
    updated_at: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a file of that name holds. `is_zeroclaws` is False for another program's file of the same name; then
    `because` says in a sentence what tells so. `total` is the number in its head, `exported` its date, if there."""

    entries: tuple[SnapshotEntry, ...]
    is_zeroclaws: bool
    because: str = ""
    total: int | None = None
    exported: str | None = None


def read_snapshot(text: str) -> Snapshot:
    """Read a snapshot exactly as ZeroClaw's hydration does, first of a key wins."""
    raise NotImplementedError


def snapshot_text(entries: Iterable[MemoryEntry], now: datetime) -> str:
    """The file ZeroClaw writes of these core memories, in this order; `now` in local time."""
    raise NotImplementedError


def what_is_lost(entry: MemoryEntry) -> tuple[str, ...]:
    """What of one memory ZeroClaw's format cannot bring back, each in a few words; empty where nothing is lost but what
    every memory loses (id, times, session, namespace, importance, vector)."""
    raise NotImplementedError
