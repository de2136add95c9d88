"""Stores that are read whole and held: what browsing, counting and looking up need of the memories read last."""

from __future__ import annotations

import asyncio
import shlex
from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends import generic
from zeroclaw_tui.backends.base import Entries, Memory, Stamps
from zeroclaw_tui.backends.listing import count_entries, facets_of, left_in_thread, left_of, sort_key, told_apart
from zeroclaw_tui.memory.change import See, StoredRow
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, NotThere
from zeroclaw_tui.memory.query import (
    NEWEST_UPDATED,
    Cursor,
    Facets,
    MemoryFilter,
    Page,
    Sort,
    SortField,
    Superseded,
)
from zeroclaw_tui.memory.statistics import Statistics
from zeroclaw_tui.memory.text import one_line

_EVERY = MemoryFilter(superseded=Superseded.SHOW)
_Ranked = Sequence[tuple[tuple[Any, ...], MemoryEntry]]
"""Memories in rising order, each behind the value that it is ordered by."""


@dataclass(frozen=True)
class Held:
    """The memories of one reading, whole, no two with one id or one handle."""

    entries: tuple[MemoryEntry, ...] = ()

    @cached_property
    def by_handle(self) -> dict[Handle, MemoryEntry]:
        """By handle."""
        return {entry.handle: entry for entry in self.entries}

    @cached_property
    def by_id(self) -> dict[str, MemoryEntry]:
        """By id."""
        return {entry.id: entry for entry in self.entries}

    @cached_property
    def by_key(self) -> dict[str, list[MemoryEntry]]:
        """By key, those of one key in the order read."""
        found: dict[str, list[MemoryEntry]] = {}
        for entry in self.entries:
            found.setdefault(entry.key, []).append(entry)
        return found

    @cached_property
    def namespaces(self) -> tuple[str, ...]:
        """Every namespace that a memory is in, in the order read."""
        return tuple(dict.fromkeys(entry.namespace for entry in self.entries if entry.namespace is not None))


def brought_in_by(path: Path) -> str:
    """The command that brings the memories of another tool's store to an agent of ZeroClaw's, as a sentence."""
    return f"`zeroclaw memory import {shlex.quote(one_line(str(path)))}` brings them into your agent's memory."


@dataclass(frozen=True, slots=True)
class _Listing:
    held: Held
    filter: MemoryFilter
    field: SortField
    ranked: _Ranked


class HeldMemory(Memory):
    """A store whose memories are all read at once, and anew when they have changed; it supplies `held`."""

    _listing: _Listing | None = None

    @abstractmethod
    async def held(self) -> Held:
        """The memories as they are now: the same object for as long as nothing has changed."""

    async def health_check(self) -> bool:
        """True when it can be read."""
        try:
            await self.held()
        except InspectorError:
            return False
        return True

    def order_value(self, entry: MemoryEntry, field: SortField) -> tuple[Any, ...]:
        """What rows are ordered by, no two alike; it stays the same for as long as the row does."""
        return sort_key(entry, Sort(field))

    async def get(self, key: str) -> MemoryEntry | None:
        """The memory of that key, or None."""
        return next(iter(await self.with_key(key)), None)

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """All memories that none has replaced, the last stored first."""
        wanted = MemoryFilter(
            category=None if category is None else (category,),
            session=(session_id,) if session_id is not None and self.capabilities.sessions else None,
        )
        return await self._ordered(wanted, NEWEST_UPDATED)

    async def count(self) -> int:
        """How many memories there are, replaced ones too."""
        return len((await self.held()).entries)

    async def entries(self, filter: MemoryFilter) -> Entries:
        """Every memory a filter leaves."""
        held = await self.held()
        if filter == _EVERY:
            return [*held.entries]
        if filter.looks_for_text:
            return await left_in_thread(held.entries, filter, self.find_seconds)
        return await asyncio.to_thread(left_of, held.entries, filter)

    async def page(self, filter: MemoryFilter, sort: Sort, cursor: Cursor | None, limit: int) -> Page:
        """The rows behind the place of a cursor, whether its own row is still there or not, as excerpts."""
        ranked = await self._ranked(filter, sort.field)
        first, last = 0, len(ranked)
        if cursor is not None and sort.descending:
            last = bisect_left(ranked, cursor.value, key=itemgetter(0))
        elif cursor is not None:
            first = bisect_right(ranked, cursor.value, key=itemgetter(0))
        if sort.descending:
            chosen, has_more = ranked[max(first, last - limit) : last][::-1], last - limit > first
        else:
            chosen, has_more = ranked[first : first + limit], first + limit < last
        following = Cursor(chosen[-1][0], chosen[-1][1].handle) if has_more and chosen else None
        return Page(tuple(entry.excerpt() for _, entry in chosen), following)

    async def rows(self, handles: Sequence[Handle]) -> Entries:
        """The rows of these handles, in that order, as excerpts."""
        return [entry.excerpt() for entry in await self.whole_rows(handles)]

    async def whole_rows(self, handles: Sequence[Handle]) -> Entries:
        """The same, whole."""
        held = (await self.held()).by_handle
        return [held[handle] for handle in handles if handle in held]

    async def whole(self, handle: Handle) -> MemoryEntry:
        """One row with its full content. Raises NotThere."""
        for entry in await self.whole_rows([handle]):
            return entry
        raise NotThere("This memory is no longer there.", hint="r reloads the list.")

    async def with_key(self, key: str, agent: str | None = None) -> Entries:
        """Every row of that key."""
        found = (await self.held()).by_key.get(key, ())
        return [entry for entry in found if agent is None or entry.agent == agent]

    async def with_id(self, id: str) -> MemoryEntry | None:
        """The memory of that id, or None."""
        return (await self.held()).by_id.get(id)

    async def facets(self, filter: MemoryFilter, now: str) -> Facets:
        """Counts of what a filter leaves; what newer ones replaced is counted whether or not it is left."""
        counted = await asyncio.to_thread(facets_of, await self.entries(filter), self.capabilities, now)
        if not self.capabilities.superseded:
            return counted
        return counted._replace(superseded=len(await self.entries(filter.but(superseded=Superseded.ONLY))))

    async def statistics(self, filter: MemoryFilter | None = None) -> Statistics:
        """How much there is, replaced memories too unless a filter says else."""
        found, has_vectors = await self.entries(_EVERY if filter is None else filter), self.capabilities.vectors
        return await asyncio.to_thread(lambda: count_entries(found, has_vectors=has_vectors))

    async def stamps(self, filter: MemoryFilter) -> Stamps:
        """Every memory a filter leaves, in the order of storing."""
        found = await self._ordered(filter, Sort(descending=False))
        return await asyncio.to_thread(lambda: [self.stamp_of(StoredRow.of(entry)) for entry in found])

    async def stamps_of(self, handles: Sequence[Handle]) -> Stamps:
        """The same for rows of a listing; rows gone meanwhile are left out."""
        found = await self.whole_rows(handles)
        return await asyncio.to_thread(lambda: [self.stamp_of(StoredRow.of(entry)) for entry in found])

    async def each_row(self, see: See, filter: MemoryFilter | None = None) -> None:
        """Show every row, in the order of storing."""
        await generic.show(await self._ordered(_EVERY if filter is None else filter, Sort(descending=False)), see)

    async def _ordered(self, filter: MemoryFilter, sort: Sort) -> Entries:
        ranked = await self._ranked(filter, sort.field)
        return [entry for _, entry in (reversed(ranked) if sort.descending else ranked)]

    async def _ranked(self, filter: MemoryFilter, field: SortField) -> _Ranked:
        held, known = await self.held(), self._listing
        if known is not None and known.held is held and (known.filter, known.field) == (filter, field):
            return known.ranked
        found = await self.entries(filter)

        def order() -> _Ranked:
            apart = told_apart(found, self.name)
            return sorted(((self.order_value(entry, field), entry) for entry in apart), key=itemgetter(0))

        ranked = await asyncio.to_thread(order)
        self._listing = _Listing(held, filter, field, ranked)
        return ranked
