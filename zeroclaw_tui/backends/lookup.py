"""Shortcuts for the most frequent queries and counts, for any store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.about import why_not_field
from zeroclaw_tui.memory.errors import NotFound, Refused
from zeroclaw_tui.memory.query import ENTRIES, EVERYTHING, OLDEST_STORED, ROWS, VERSIONS, MemoryFilter, Query
from zeroclaw_tui.memory.statistics import FACET_FIELDS, Counts

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.backends.upkeep import DatabaseUpkeep
    from zeroclaw_tui.memory.change import ApplyResult, Row, RowVersion, Vector
    from zeroclaw_tui.memory.entry import Handle, MemoryEntry
    from zeroclaw_tui.scoring.profiles import ScoringProfile


async def whole_entry(memory: Memory, handle: Handle) -> MemoryEntry:
    """Get the memory at a handle with its full content. Raises NotFound if it was deleted."""
    for entry in await memory.rows(Query(ENTRIES, handles=[handle])):
        return entry
    raise NotFound("This memory no longer exists.", hint="Press r to reload the list.")


async def entry_with_id(memory: Memory, id: str) -> MemoryEntry | None:
    """Get the memory with this id and its full content, superseded or not; None if there is none."""
    return next(iter(await memory.rows(Query(ENTRIES, ids=[id]))), None)


async def entries_with_key(memory: Memory, key: str, agent: str | None = None) -> Sequence[MemoryEntry]:
    """Get the memories with this key and their full content, one for each agent that has it, oldest first."""
    chosen = EVERYTHING if agent is None else EVERYTHING.replace(agent=(agent,))
    return await memory.rows(Query(ENTRIES, chosen, keys=[key]))


async def row_with_id(memory: Memory, id: str) -> Row | None:
    """Get the row with this id exactly as stored; None if there is none."""
    return next(iter(await memory.rows(Query(ROWS, ids=[id]))), None)


async def rows_by_id(memory: Memory, ids: Sequence[str]) -> dict[str, Row]:
    """Get the rows with these ids, by id; ids without a row are left out."""
    return {row.id: row for row in await memory.rows(Query(ROWS, ids=ids))}


async def versions(memory: Memory, filter: MemoryFilter) -> Sequence[RowVersion]:
    """Get the versions of all rows that match a filter, oldest first."""
    return await memory.rows(Query(VERSIONS, filter, OLDEST_STORED))


async def versions_at(memory: Memory, handles: Sequence[Handle]) -> Sequence[RowVersion]:
    """Get the versions of the rows at these handles, in this order; deleted rows are left out."""
    return await memory.rows(Query(VERSIONS, handles=handles))


async def count_matching(memory: Memory, filter: MemoryFilter) -> int:
    """Count the memories that match a filter."""
    return (await memory.count_up(filter, "")).total


async def count_facets(memory: Memory, filter: MemoryFilter, now: str) -> Counts:
    """Count the memories that match a filter, by category, session, agent, namespace and age; `now` is RFC 3339."""
    return await memory.count_up(filter, now, FACET_FIELDS)


def why_fixed(memory: Memory, field: str) -> str | None:
    """Explain in a sentence why a store cannot change a field of its memories; None if it can."""
    return memory.why_not.get("write") or why_not_field(memory.why_not, field)


def require_database(memory: Memory) -> DatabaseUpkeep:
    """Get the upkeep of a store's database file. Raises Refused for a store without one."""
    if memory.upkeep.database is None:
        raise Refused(f"The {memory.name} backend has no database file here.", hint="Nothing was changed.")
    return memory.upkeep.database


async def make_store(memory: Memory, profile: ScoringProfile, *, dry_run: bool = False) -> None:
    """Create a missing store. Raises Refused if the backend has nothing to create, and the errors of `make`."""
    if memory.upkeep.maker is None:
        raise Refused(f"The backend {memory.name} has nothing to create.")
    await memory.upkeep.maker.make(profile, dry_run=dry_run)


async def fill_vectors(memory: Memory, vectors: Sequence[tuple[Row, Vector]]) -> ApplyResult:
    """Write the vectors of rows whose content is unchanged; all other columns, including the times, stay the same.

    Each vector comes with the row that it was computed from; rows that have changed or are missing are skipped. Raises
    Refused if the store has no vectors, or vectors of another model, and the errors of every write.
    """
    from zeroclaw_tui.memory.change import Change, Edit

    if "vectors" in memory.why_not:
        raise Refused(memory.why_not["vectors"])
    return await memory.apply([Change(row, Edit({}, vector)) for row, vector in vectors], None)
