"""Statistics of a store: all counts, and its growth by day."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, NamedTuple

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.matching import by_count
from zeroclaw_tui.memory.query import EVERYTHING, EXCERPTS, MemoryFilter, Query, Sort, SortField
from zeroclaw_tui.memory.statistics import COUNT_FIELDS, QUARTER_SECONDS, SIZE_GROUPS, Counts

_BIGGEST = 10
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class StoreStats(NamedTuple):
    """All counts of a store, or of the memories that a filter selects.

    `days` has the number created on each day, the earliest first; `undated` have no readable creation time.
    """

    counts: Counts
    days: tuple[tuple[date, int], ...]
    undated: int

    @property
    def busiest(self) -> tuple[date, int] | None:
        """The day with the most new memories, and their number."""
        return max(self.days, key=lambda day: day[1], default=None)


def stats_of(counts: Counts, zone: tzinfo | None = None) -> StoreStats:
    """Sum the counts by days of a time zone, by default that of this machine."""
    days = Counter[date]()
    undated = 0
    for quarter, count in counts.by["quarter"].items():
        try:
            seconds = math.inf if quarter is None else quarter * QUARTER_SECONDS
            day = (_EPOCH + timedelta(seconds=seconds)).astimezone(zone).date()
        except (OverflowError, ValueError, OSError):
            # The year is outside the range of Python's dates.
            undated += count
        else:
            days[day] += count
    return StoreStats(counts, tuple(sorted(days.items())), undated)


async def store_stats(memory: Memory, now: str, filter: MemoryFilter = EVERYTHING) -> StoreStats:
    """Count the memories that a filter selects, by default all, including superseded ones."""
    return stats_of(await memory.count_up(filter, now, COUNT_FIELDS))


async def full_stats(memory: Memory, now: str, filter: MemoryFilter | None = None) -> dict[str, Any]:
    """Make the document of `memory stats --json`: counts of the selected memories, facts of the whole store."""
    filters = filter or EVERYTHING
    stats, health, is_healthy, total, biggest = await asyncio.gather(
        store_stats(memory, now, filters),
        memory.health(),
        memory.health_check(),
        memory.count(),
        memory.rows(Query(EXCERPTS, filters, Sort(SortField.SIZE), limit=_BIGGEST)),
    )
    counts, by = stats.counts, stats.counts.by
    categories, superseded = by["category"], by.get("superseded")
    shown = categories
    if filter is None and superseded:
        shown = by_count({name: count - superseded.get(name, 0) for name, count in categories.items()})
    embedded, embeddings = by.get("embedded"), None
    if embedded is not None and "vectors" not in memory.why_not:
        with_vector = sum(embedded.values())
        share = with_vector / counts.total if counts.total else None
        embeddings = {"embedded": with_vector, "not_embedded": counts.total - with_vector, "share": share}
    return {
        "backend": memory.name,
        "location": memory.about.location,
        "generation": memory.about.generation,
        "health": "healthy" if is_healthy else "unhealthy",
        "total": total if filter is None else counts.total,
        "superseded": None if superseded is None else sum(superseded.values()),
        "by_category": dict(shown),
        "by_session": by.get("session"),
        "by_agent": by.get("agent"),
        "by_namespace": by.get("namespace"),
        "by_age": dict(by["age"]),
        "embeddings": embeddings,
        "bytes": {
            "content": counts.content,
            "file": health.facts.get("bytes"),
            "write_ahead_log": health.facts.get("write-ahead log bytes"),
            "free_pages": health.facts.get("free bytes"),
        },
        "by_size": {name: by["size"].get(name, 0) for name in SIZE_GROUPS},
        "by_day": [[day.isoformat(), count] for day, count in stats.days],
        "undated": stats.undated,
        "biggest": [
            {"id": entry.id, "key": entry.key, "category": entry.category, "size": entry.size} for entry in biggest
        ],
        "embedded_by_category": None
        if embedded is None
        else {name: {"embedded": embedded.get(name, 0), "total": n} for name, n in categories.items()},
        "facts": dict(health.facts),
        "findings": list(health.findings),
    }
