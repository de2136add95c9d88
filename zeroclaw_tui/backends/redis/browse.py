"""Listings over everything a Redis database holds; all of this takes long for many memories, so it runs on a thread."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from zeroclaw_tui.backends.base import Entries
from zeroclaw_tui.backends.listing import age_groups, left_of
from zeroclaw_tui.backends.matching import SECONDS
from zeroclaw_tui.backends.redis.listing import Everything, order_of_storing
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import Cursor, Facets, MemoryFilter, Page, Sort, SortField, Superseded
from zeroclaw_tui.memory.recall import ScoredEntry

STAGE = "redis"
_AS_STORED = (SortField.STORED, SortField.UPDATED, SortField.AGE)


@dataclass(frozen=True, slots=True)
class Listing:
    """The memories a filter leaves, in the rising order of a field."""

    entries: Sequence[MemoryEntry]
    field: SortField

    def in_order(self, sort: Sort) -> Sequence[MemoryEntry]:
        """Rising or falling."""
        return self.entries[::-1] if sort.descending else self.entries

    def page(self, sort: Sort, cursor: Cursor | None, limit: int) -> Page:
        """The rows behind the place of a cursor, whether its own row is still there or not."""
        if sort.descending:
            end = len(self.entries) if cursor is None else bisect_left(self.entries, cursor.value, key=self._value)
            start = max(0, end - limit)
            chosen, last, more = self.entries[start:end][::-1], start, start > 0
        else:
            start = 0 if cursor is None else bisect_right(self.entries, cursor.value, key=self._value)
            end = min(len(self.entries), start + limit)
            chosen, last, more = self.entries[start:end], end - 1, end < len(self.entries)
        row = self.entries[last] if more and chosen else None
        following = None if row is None else Cursor(self._value(row), row.handle)
        return Page(tuple(entry.excerpt() for entry in chosen), following)

    def _value(self, entry: MemoryEntry) -> tuple[Any, ...]:
        return _value(entry, self.field)


def listing_of(everything: Everything, filter: MemoryFilter, field: SortField, seconds: float = SECONDS) -> Listing:
    """What a filter leaves."""
    entries = left(everything, filter, seconds)
    if field not in _AS_STORED:
        entries.sort(key=lambda entry: _value(entry, field))
    return Listing(entries, field)


def left(everything: Everything, filter: MemoryFilter, seconds: float = SECONDS) -> Entries:
    """The memories a filter leaves, in the order of storing; a pattern is matched for so many seconds at most."""
    if filter.is_empty and filter.superseded is not Superseded.ONLY:
        return [memory.entry for memory in everything.memories]
    return left_of((memory.entry for memory in everything.memories), filter, seconds)


def facets_of(entries: Sequence[MemoryEntry], now: str) -> Facets:
    """Counts of what there is to count."""
    categories = Counter(entry.category for entry in entries)
    return Facets(
        total=len(entries),
        category=dict(sorted(categories.items(), key=lambda item: (-item[1], item[0]))),
        age=age_groups((entry.timestamp for entry in entries), now),
    )


def recalled(entries: Iterable[MemoryEntry], query: str, limit: int) -> list[ScoredEntry]:
    """Those whose content contains the query, whatever the case, in the order given; none has a score."""
    wanted = query.lower()
    found: list[ScoredEntry] = []
    for entry in entries:
        if len(found) >= limit:
            break
        if wanted in entry.content.lower():
            found.append(ScoredEntry(entry, len(found) + 1, None, stage=STAGE))
    return found


def _value(entry: MemoryEntry, field: SortField) -> tuple[Any, ...]:
    match field:
        case SortField.KEY:
            return (entry.key,)
        case SortField.CATEGORY:
            return (entry.category, entry.key)
        case SortField.CONTENT:
            return (entry.content[:200], entry.key)
        case SortField.SIZE:
            return (entry.size, entry.key)
    return order_of_storing(entry)
