"""Writing through the trait's own verbs, for backends that have nothing better.

Ids and times are the backend's own business then: what comes back is stored anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.memory.change import (
    Advance,
    Batches,
    Clash,
    Draft,
    Edit,
    Keep,
    Removal,
    Reversal,
    Stamp,
    StoredRow,
    Value,
    Written,
)
from zeroclaw_tui.memory.entry import MemoryEntry

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory


def row_of(entry: MemoryEntry) -> StoredRow:
    """The row a memory is, by the names of ZeroClaw's columns."""
    values: dict[str, Value] = {
        "id": entry.id,
        "key": entry.key,
        "content": entry.content,
        "category": entry.category,
        "created_at": entry.timestamp,
        "updated_at": entry.updated_at,
        "session_id": entry.session_id,
        "namespace": entry.namespace,
        "importance": entry.importance,
        "superseded_by": entry.superseded_by,
        "pinned": entry.pinned,
    }
    return StoredRow(entry.id, values, entry.handle, entry.agent)


def stamp_of(entry: MemoryEntry) -> Stamp:
    """The stamp of a memory with its full content; its state is the row's fingerprint."""
    return Stamp(
        id=entry.id,
        state=row_of(entry).fingerprint,
        key=entry.key,
        category=entry.category,
        size=entry.size,
        timestamp=entry.timestamp,
        updated_at=entry.updated_at or "",
        agent=entry.agent,
        handle=entry.handle,
    )


async def create(memory: Memory, draft: Draft, keep: Keep, replace: bool) -> Written:
    """Store a draft."""
    raise NotImplementedError


async def update(memory: Memory, id: str, edit: Edit, expected: str, keep: Keep) -> Written:
    """Store the edited memory; under another key the old one is forgotten afterwards."""
    raise NotImplementedError


async def remove(memory: Memory, stamps: Sequence[Stamp], keep: Keep, advance: Advance | None) -> Removal:
    """Forget by key, one after the other."""
    raise NotImplementedError


async def revert(memory: Memory, changes: Batches, keep: Keep, clash: Clash, advance: Advance | None) -> Reversal:
    """Store what was, forget what was not."""
    raise NotImplementedError
