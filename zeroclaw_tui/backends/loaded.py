"""The memories of a store that is loaded whole, with queries and counts in Python."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any

from zeroclaw_tui.backends.matching import count_entries, filter_entries_async, require_unique_ids, sort_key
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.query import MemoryFilter, Query, SortField, Superseded
from zeroclaw_tui.memory.statistics import CountField, Counts

_Ordered = Sequence[tuple[tuple[Any, ...], MemoryEntry]]
"""Memories in ascending order, each with its sort key."""


def sort_key_by_time(entry: MemoryEntry, field: SortField) -> tuple[Any, ...]:
    """The sort key for stores without an order of storing, which use times instead."""
    return sort_key(entry, SortField.AGE if field is SortField.STORED else field)


@dataclass(frozen=True)
class Loaded:
    """All memories of a store at one time.

    `backend` is the name of the store in messages. `sort_key` may be another function with unique sort keys.
    """

    entries: Sequence[MemoryEntry] = ()
    backend: str = field(default="", kw_only=True)
    sort_key: Callable[[MemoryEntry, SortField], tuple[Any, ...]] = field(default=sort_key, kw_only=True)
    _ordered: dict[tuple[MemoryFilter, SortField], _Ordered] = field(
        default_factory=dict, compare=False, repr=False, kw_only=True
    )

    @cached_property
    def by_handle(self) -> dict[Handle, MemoryEntry]:
        """The memories by handle."""
        return {entry.handle: entry for entry in self.entries}

    @cached_property
    def by_id(self) -> dict[str, MemoryEntry]:
        """The memories by id."""
        return {entry.id: entry for entry in self.entries}

    @cached_property
    def by_key(self) -> dict[str, list[MemoryEntry]]:
        """The memories by key, those with the same key in the order of reading."""
        found: dict[str, list[MemoryEntry]] = {}
        for entry in self.entries:
            found.setdefault(entry.key, []).append(entry)
        return found

    @cached_property
    def namespaces(self) -> tuple[str, ...]:
        """The distinct namespaces, in the order of reading."""
        return tuple(dict.fromkeys(entry.namespace for entry in self.entries if entry.namespace is not None))

    async def find(self, query: Query[Any]) -> Sequence[MemoryEntry]:
        """Find the memories of a query with their full contents, in its order.

        Raises UsageError for a pattern that is too slow, and Unreadable if two memories have the same id or handle.
        """
        if (named := self._named(query)) is not None:
            return await filter_entries_async(named, query.filter)
        if query.prefix is not None:
            found = [entry for entry in self.entries if entry.key.startswith(query.prefix)]
            left = await filter_entries_async(found, query.filter)
            newest = sorted(left, key=lambda entry: sort_key(entry, SortField.UPDATED), reverse=True)
            return newest[: query.limit]
        ordered = await self._in_order(query.filter, query.sort.field)
        first, count = query.offset, len(ordered) if query.limit is None else query.limit
        if not query.sort.descending:
            return [entry for _, entry in ordered[first : first + count]]
        last = max(len(ordered) - first, 0)
        return [entry for _, entry in reversed(ordered[max(last - count, 0) : last])]

    async def count_up(
        self, filter: MemoryFilter, now: str, by: Sequence[CountField], missing: Container[str]
    ) -> Counts:
        """Count the memories that match a filter; `missing` are the capabilities that the store lacks."""
        found = await filter_entries_async(self.entries, filter)
        superseded: Sequence[MemoryEntry] = ()
        if "superseded" in by and "superseded" not in missing:
            superseded = await filter_entries_async(self.entries, filter.replace(superseded=Superseded.ONLY))
        return await asyncio.to_thread(count_entries, found, superseded, missing, now, by)

    def _named(self, query: Query[Any]) -> Sequence[MemoryEntry] | None:
        """The memories that a query selects by handles, ids or keys; None for other queries."""
        if query.handles is not None:
            return [self.by_handle[handle] for handle in dict.fromkeys(query.handles) if handle in self.by_handle]
        if query.ids is not None:
            return [self.by_id[id] for id in dict.fromkeys(query.ids) if id in self.by_id]  # noqa: A001
        if query.keys is not None:
            return [entry for key in dict.fromkeys(query.keys) for entry in self.by_key.get(key, ())]
        return None

    async def _in_order(self, filter: MemoryFilter, field: SortField) -> _Ordered:
        known = self._ordered.get((filter, field))
        if known is not None:
            return known
        found = await filter_entries_async(self.entries, filter)

        def order() -> _Ordered:
            unique = require_unique_ids(found, self.backend)
            return sorted(((self.sort_key(entry, field), entry) for entry in unique), key=itemgetter(0))

        ordered = await asyncio.to_thread(order)
        # Keep only the last order, because the pages of one list are requested one after another.
        self._ordered.clear()
        self._ordered[filter, field] = ordered
        return ordered
