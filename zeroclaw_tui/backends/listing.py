"""Filtering, ordering and counting memories in plain Python, for stores without a query language."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.text_search import SECONDS, TextSearch
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import Unreadable
from zeroclaw_tui.memory.query import (
    AGE_GROUPS,
    NO_DATE,
    Cursor,
    Facets,
    MemoryFilter,
    Page,
    Sort,
    SortField,
    Superseded,
)
from zeroclaw_tui.memory.text import one_line

if TYPE_CHECKING:
    from zeroclaw_tui.backends.capabilities import Capabilities
    from zeroclaw_tui.memory.entry import MemoryEntry
    from zeroclaw_tui.memory.statistics import Embedded, Statistics


def told_apart(entries: Sequence[MemoryEntry], backend: str) -> Sequence[MemoryEntry]:
    """The same memories. Raises Unreadable where two of them have one id or one handle, so that neither is named."""
    for name in ("id", "handle"):
        counts = Counter(getattr(entry, name) for entry in entries)
        if len(counts) == len(entries):
            continue
        value, count = counts.most_common(1)[0]
        raise Unreadable(
            f"The backend {backend} gives the {name} {one_line(str(value))[:60]!r} to {count} memories, so it cannot "
            "be told which of them is meant.",
            hint="Whoever wrote that backend has to give each memory one of its own.",
        )
    return entries


def matches(entry: MemoryEntry, filter: MemoryFilter) -> bool:
    """Whether a filter leaves this memory. Raises what `left_of` does."""
    return bool(left_of([entry], filter))


def left_of(
    entries: Iterable[MemoryEntry], filter: MemoryFilter, seconds: float = SECONDS, search: TextSearch | None = None
) -> list[MemoryEntry]:
    """The memories a filter leaves, in their order; for a thread where it looks for text.

    Many calls of one search share one `search`. Raises WrongUse for a pattern that cannot be read or takes longer than
    `seconds`.
    """
    if not filter.looks_for_text:
        return [entry for entry in entries if _passes(entry, filter)]
    looking = search or TextSearch(filter, seconds)
    return [entry for entry in entries if _passes(entry, filter) and looking.finds(entry.key, entry.content)]


async def left_in_thread(entries: Sequence[MemoryEntry], filter: MemoryFilter, seconds: float) -> list[MemoryEntry]:
    """The same off the event loop where text is looked for; cancelling the await stops the search."""
    if not filter.looks_for_text:
        return left_of(entries, filter)
    # A pattern is read in the thread too: that brings in its library.
    search = await asyncio.to_thread(TextSearch, filter, seconds)
    try:
        return await asyncio.to_thread(left_of, entries, filter, search=search)
    finally:
        search.stop()


def _passes(entry: MemoryEntry, filter: MemoryFilter) -> bool:
    """Whether every part of a filter holds but those that look for text."""
    if filter.superseded is Superseded.HIDE and entry.superseded_by is not None:
        return False
    if filter.superseded is Superseded.ONLY and entry.superseded_by is None:
        return False
    wanted = (
        (filter.category, entry.category),
        (filter.session, entry.session_id or ""),
        (filter.agent, entry.agent),
        (filter.namespace, entry.namespace),
    )
    if any(values is not None and value not in values for values, value in wanted):
        return False
    if filter.without_keys is not None and entry.key in filter.without_keys:
        return False
    return _has_length(entry, filter) and _in_window(entry, filter)


def sort_key(entry: MemoryEntry, sort: Sort) -> tuple[Any, ...]:
    """What to order by; equal values fall back on the order of storing."""
    handle = (0, entry.handle, "") if isinstance(entry.handle, int) else (1, 0, entry.handle)
    match sort.field:
        case SortField.STORED:
            return handle
        case SortField.KEY:
            return (entry.key, handle)
        case SortField.CATEGORY:
            return (entry.category, handle)
        case SortField.CONTENT:
            return (entry.content[:200], handle)
        case SortField.SIZE:
            return (entry.size, handle)
        case SortField.AGE:
            return (_order_of(entry.when), handle)
        case SortField.UPDATED:
            return (_order_of(entry.updated_at or entry.when), handle)


def page_after(ordered: Sequence[MemoryEntry], sort: Sort, cursor: Cursor | None, limit: int) -> Page:
    """The rows behind a cursor, out of all rows in that order: also when the row of the cursor itself has gone."""
    start = 0
    if cursor is not None:
        keys = [sort_key(entry, sort) for entry in ordered]
        start = sum(key >= cursor.value if sort.descending else key <= cursor.value for key in keys)
    chosen = ordered[start : start + limit]
    if start + limit >= len(ordered):
        return Page(tuple(chosen), None)
    return Page(tuple(chosen), Cursor(sort_key(chosen[-1], sort), chosen[-1].handle))


def age_groups(timestamps: Iterable[str], now: str) -> dict[str, int]:
    """How many fall in each of AGE_GROUPS; what is no moment is in the last."""
    until = moment(now) or datetime.max.replace(tzinfo=UTC)
    counts = dict.fromkeys(AGE_GROUPS, 0)
    for timestamp in timestamps:
        counts[age_group(moment(timestamp), until)] += 1
    return counts


def age_group(created: datetime | None, now: datetime) -> str:
    """The name in AGE_GROUPS for one moment."""
    if created is None:
        return NO_DATE
    age = now - created
    limits = (timedelta(days=1), timedelta(days=7), timedelta(days=30))
    return next((name for name, most in zip(AGE_GROUPS, limits, strict=False) if age < most), AGE_GROUPS[3])


def _order_of(timestamp: str) -> tuple[int, Any]:
    parsed = moment(timestamp)
    return (0, timestamp) if parsed is None else (1, parsed)


def _has_length(entry: MemoryEntry, filter: MemoryFilter) -> bool:
    if filter.longer_than is not None and entry.size <= filter.longer_than:
        return False
    return filter.shorter_than is None or entry.size < filter.shorter_than


def _in_window(entry: MemoryEntry, filter: MemoryFilter) -> bool:
    if filter.older_than is None and filter.newer_than is None and not filter.undated:
        return True
    created = moment(entry.when)
    if created is None or filter.undated:
        return created is None and filter.older_than is None and filter.newer_than is None
    older, newer = moment(filter.older_than), moment(filter.newer_than)
    return (older is None or created < older) and (newer is None or created > newer)


def count_entries(entries: Iterable[MemoryEntry], *, has_vectors: bool) -> Statistics:
    """The statistics of these memories; vectors count as four bytes a number."""
    from zeroclaw_tui.memory.statistics import BIGGEST, SIZE_GROUPS, BigMemory, Statistics, size_group

    found = list(entries)
    quarters = Counter(map(quarter_of, (entry.when for entry in found)))
    undated = quarters.pop(None, 0)
    sizes = Counter(size_group(entry.size) for entry in found)
    dimensions = Counter(entry.embedding_dimensions for entry in found if entry.embedding_dimensions is not None)
    return Statistics(
        total=len(found),
        content=sum(entry.size for entry in found),
        quarters={quarter: count for quarter, count in quarters.items() if quarter is not None},
        undated=undated,
        size={name: sizes[name] for name in SIZE_GROUPS},
        biggest=tuple(
            BigMemory(entry.id, entry.key, entry.category, entry.size)
            for entry in nlargest(BIGGEST, found, key=lambda entry: entry.size)
        ),
        vectors=sum(4 * length * count for length, count in dimensions.items()) if has_vectors else None,
        embedded=_embedded(found) if has_vectors else None,
        dimensions=dict(dimensions.most_common()) if has_vectors else None,
        cut_vectors=0 if has_vectors else None,
    )


def facets_of(entries: Sequence[MemoryEntry], can: Capabilities, now: str) -> Facets:
    """Counts by value of these memories; ages count to `now`, RFC 3339."""
    return Facets(
        total=len(entries),
        category=_counts(entry.category for entry in entries),
        session=_counts(entry.session_id or "" for entry in entries) if can.sessions else None,
        agent=_counts(entry.agent for entry in entries) if can.agents else None,
        namespace=_counts(entry.namespace for entry in entries) if can.namespaces else None,
        age=age_groups((entry.when for entry in entries), now),
    )


def quarter_of(timestamp: str) -> int | None:
    """The quarter hour since 1970 that a moment lies in, UTC; None for what is no moment."""
    from zeroclaw_tui.memory.statistics import QUARTER_SECONDS

    when = moment(timestamp)
    return None if when is None else int(when.timestamp() // QUARTER_SECONDS)


def _embedded(entries: Iterable[MemoryEntry]) -> dict[str, Embedded]:
    from zeroclaw_tui.memory.statistics import Embedded

    totals, embedded = Counter[str](), Counter[str]()
    for entry in entries:
        totals[entry.category] += 1
        embedded[entry.category] += entry.embedding_dimensions is not None
    ordered = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    return {category: Embedded(embedded[category], total) for category, total in ordered}


def _counts(values: Iterable[str | None]) -> dict[str, int]:
    counter = Counter(value for value in values if value is not None)
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
