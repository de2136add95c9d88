"""Statistics in plain Python, for backends that have no query language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nlargest

from zeroclaw_tui.backends.answers import Capabilities
from zeroclaw_tui.backends.listing import age_groups, moment
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import Facets
from zeroclaw_tui.memory.statistics import (
    BIGGEST,
    QUARTER_SECONDS,
    SIZE_GROUPS,
    BigMemory,
    Embedded,
    Statistics,
    size_group,
)


def count_entries(entries: Iterable[MemoryEntry], *, has_vectors: bool) -> Statistics:
    """The statistics of these memories; vectors count as four bytes a number."""
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
    when = moment(timestamp)
    return None if when is None else int(when.timestamp() // QUARTER_SECONDS)


def _embedded(entries: Iterable[MemoryEntry]) -> dict[str, Embedded]:
    totals, embedded = Counter[str](), Counter[str]()
    for entry in entries:
        totals[entry.category] += 1
        embedded[entry.category] += entry.embedding_dimensions is not None
    ordered = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    return {category: Embedded(embedded[category], total) for category, total in ordered}


def _counts(values: Iterable[str | None]) -> dict[str, int]:
    counter = Counter(value for value in values if value is not None)
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
