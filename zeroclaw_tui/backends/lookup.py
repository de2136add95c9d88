"""Reading single memories of any store: short forms of the queries that are needed most often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.memory.errors import NotFound
from zeroclaw_tui.memory.query import ENTRIES, EVERYTHING, ROWS, VERSIONS, MemoryFilter, Query, Sort

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.memory.change import Stamp, StoredRow
    from zeroclaw_tui.memory.entry import Handle, MemoryEntry

OLDEST_STORED = Sort(descending=False)


async def whole_entry(memory: Memory, handle: Handle) -> MemoryEntry:
    """The memory at a handle with its whole content. Raises NotFound if it was deleted."""
    found = (await memory.select(Query(ENTRIES, handles=[handle]))).first
    if found is None:
        raise NotFound("This memory no longer exists.", hint="Press r to reload the list.")
    return found


async def entry_with_id(memory: Memory, id: str) -> MemoryEntry | None:
    """The memory of an id with its whole content, superseded or not; None if there is none."""
    return (await memory.select(Query(ENTRIES, ids=[id]))).first


async def entries_with_key(memory: Memory, key: str, agent: str | None = None) -> Sequence[MemoryEntry]:
    """The memories of a key with their whole content, one for each agent that has it, the oldest stored first."""
    chosen = EVERYTHING if agent is None else EVERYTHING.but(agent=(agent,))
    return (await memory.select(Query(ENTRIES, chosen, keys=[key]))).items


async def row_with_id(memory: Memory, id: str) -> StoredRow | None:
    """The row of an id exactly as the store has it; None if there is none."""
    return (await memory.select(Query(ROWS, ids=[id]))).first


async def rows_by_id(memory: Memory, ids: Sequence[str]) -> dict[str, StoredRow]:
    """The rows of these ids, by id; ids without a row are left out."""
    return {row.id: row for row in (await memory.select(Query(ROWS, ids=ids))).items}


async def versions(memory: Memory, filter: MemoryFilter) -> Sequence[Stamp]:
    """The versions of all rows that a filter selects, the oldest stored first."""
    return (await memory.select(Query(VERSIONS, filter, OLDEST_STORED))).items


async def versions_at(memory: Memory, handles: Sequence[Handle]) -> Sequence[Stamp]:
    """The versions of the rows at these handles, in this order; deleted rows are left out."""
    return (await memory.select(Query(VERSIONS, handles=handles))).items
