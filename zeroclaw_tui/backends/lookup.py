"""Short forms of the queries and counts that are needed most often, for any store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.memory.errors import NotFound, Refused
from zeroclaw_tui.memory.query import ENTRIES, EVERYTHING, OLDEST_STORED, ROWS, VERSIONS, MemoryFilter, Query
from zeroclaw_tui.memory.statistics import FACET_FIELDS, Counts

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.backends.upkeep import DatabaseUpkeep
    from zeroclaw_tui.memory.change import ApplyResult, Row, RowVersion, Vector
    from zeroclaw_tui.memory.entry import Handle, MemoryEntry
    from zeroclaw_tui.scoring.profiles import ScoringProfile


async def whole_entry(memory: Memory, handle: Handle) -> MemoryEntry:
    """The memory at a handle with its whole content. Raises NotFound if it was deleted."""
    for entry in await memory.rows(Query(ENTRIES, handles=[handle])):
        return entry
    raise NotFound("This memory no longer exists.", hint="Press r to reload the list.")


async def entry_with_id(memory: Memory, id: str) -> MemoryEntry | None:
    """The memory of an id with its whole content, superseded or not; None if there is none."""
    return next(iter(await memory.rows(Query(ENTRIES, ids=[id]))), None)


async def entries_with_key(memory: Memory, key: str, agent: str | None = None) -> Sequence[MemoryEntry]:
    """The memories of a key with their whole content, one for each agent that has it, the oldest stored first."""
    chosen = EVERYTHING if agent is None else EVERYTHING.but(agent=(agent,))
    return await memory.rows(Query(ENTRIES, chosen, keys=[key]))


async def row_with_id(memory: Memory, id: str) -> Row | None:
    """The row of an id exactly as the store has it; None if there is none."""
    return next(iter(await memory.rows(Query(ROWS, ids=[id]))), None)


async def rows_by_id(memory: Memory, ids: Sequence[str]) -> dict[str, Row]:
    """The rows of these ids, by id; ids without a row are left out."""
    return {row.id: row for row in await memory.rows(Query(ROWS, ids=ids))}


async def versions(memory: Memory, filter: MemoryFilter) -> Sequence[RowVersion]:
    """The versions of all rows that a filter selects, the oldest stored first."""
    return await memory.rows(Query(VERSIONS, filter, OLDEST_STORED))


async def versions_at(memory: Memory, handles: Sequence[Handle]) -> Sequence[RowVersion]:
    """The versions of the rows at these handles, in this order; deleted rows are left out."""
    return await memory.rows(Query(VERSIONS, handles=handles))


async def count_matching(memory: Memory, filter: MemoryFilter) -> int:
    """How many memories a filter selects."""
    return (await memory.count_up(filter, "")).total


async def count_facets(memory: Memory, filter: MemoryFilter, now: str) -> Counts:
    """How many memories a filter selects, by category, session, agent, namespace and age; `now` is RFC 3339."""
    return await memory.count_up(filter, now, FACET_FIELDS)


def why_fixed(memory: Memory, field: str) -> str | None:
    """Why an edit cannot change a field of the memories of a store, in a sentence; None if it can."""
    return memory.why_not.get("write") or memory.why_not.get(field)


def require_database(memory: Memory) -> DatabaseUpkeep:
    """The upkeep of a store's database file. Raises Refused for a store without one."""
    if memory.upkeep.database is None:
        raise Refused(f"The {memory.name} backend has no database file here.", hint="Nothing was changed.")
    return memory.upkeep.database


async def make_store(memory: Memory, profile: ScoringProfile, *, dry_run: bool = False) -> None:
    """Make a store that is not there yet. Raises Refused where the backend has nothing to make, and as `make` does."""
    if memory.upkeep.maker is None:
        raise Refused(f"There is nothing to make for the backend {memory.name}.")
    await memory.upkeep.maker.make(profile, dry_run=dry_run)


async def cached_vector(memory: Memory, text: str) -> np.ndarray | None:
    """A vector that the store already has of exactly this text; reading only."""
    database = memory.upkeep.database
    return None if database is None else await database.cached_vector(text)


async def fill_vectors(memory: Memory, vectors: Sequence[tuple[Row, Vector]]) -> ApplyResult:
    """Give rows the vectors of the contents they still have; nothing else of a row changes, its times included.

    Each vector comes with the row that it was made of; rows that changed since or are missing are skipped. Raises
    Refused if the store has no vectors, or vectors of another model, and what every write raises.
    """
    from zeroclaw_tui.memory.change import Change, Edit

    if "vectors" in memory.why_not:
        raise Refused(memory.why_not["vectors"])
    return await memory.apply([Change(row, Edit({}, vector)) for row, vector in vectors], None)
