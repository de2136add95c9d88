"""Statistics of a store: everything that can be counted, and how it grew."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.lookup import biggest
from zeroclaw_tui.memory.query import Facets, MemoryFilter, Superseded
from zeroclaw_tui.memory.statistics import (
    FACET_FIELDS,
    QUARTER_SECONDS,
    STATISTICS_FIELDS,
    Statistics,
    by_count,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Growth:
    """How many memories were created on each day, the earliest first; days without any are left out.

    `undated` counts the memories without a readable creation time.
    """

    days: tuple[tuple[date, int], ...]
    undated: int

    @property
    def busiest(self) -> tuple[date, int] | None:
        return max(self.days, key=lambda day: day[1], default=None)


@dataclass(frozen=True, slots=True)
class StoreStats:
    """All counts of a store, or of the memories that a filter selects."""

    every: Facets
    rows: Statistics
    growth: Growth


def growth_of(rows: Statistics, zone: tzinfo | None = None) -> Growth:
    """Count by days of a time zone, by default this machine's."""
    days = Counter[date]()
    undated = rows.undated
    for quarter, count in rows.quarters.items():
        try:
            day = (_EPOCH + timedelta(seconds=quarter * QUARTER_SECONDS)).astimezone(zone).date()
        except (OverflowError, ValueError, OSError):
            # Python's dates have no such year.
            undated += count
        else:
            days[day] += count
    return Growth(tuple(sorted(days.items())), undated)


async def store_stats(memory: Memory, now: str, filter: MemoryFilter | None = None) -> StoreStats:
    """Count all memories, superseded ones too, or those that a filter selects."""
    wanted = MemoryFilter(superseded=Superseded.SHOW) if filter is None else filter
    counts = await memory.count_up(wanted, now, tuple(dict.fromkeys((*FACET_FIELDS, *STATISTICS_FIELDS))))
    rows = Statistics.of(counts, await biggest(memory, wanted))
    return StoreStats(Facets.of(counts), rows, growth_of(rows))


async def full_stats(memory: Memory, now: str, filter: MemoryFilter | None = None) -> dict[str, Any]:
    """The document of `memory stats --json`; what the store or its generation lacks is null.

    With a filter the counts are those of the selected memories; health and facts are of the whole store.
    """
    stats, health, is_healthy, total = await asyncio.gather(
        store_stats(memory, now, filter), memory.health(), memory.health_check(), memory.count()
    )
    every, rows = stats.every, stats.rows
    categories = every.category
    if filter is None and every.superseded:
        superseded = rows.superseded or {}
        categories = by_count({name: count - superseded.get(name, 0) for name, count in categories.items()})
    return {
        "backend": memory.name,
        "location": memory.about.location,
        "generation": memory.about.generation,
        "health": "healthy" if is_healthy else "unhealthy",
        "total": total if filter is None else every.total,
        "superseded": every.superseded,
        "by_category": dict(categories),
        "by_session": every.session,
        "by_agent": every.agent,
        "by_namespace": every.namespace,
        "by_age": dict(every.age),
        "embeddings": None if "vectors" in memory.why_not else _embeddings(every),
        "bytes": {
            "content": rows.content,
            "vectors": rows.vectors,
            "file": health.facts.get("bytes"),
            "write_ahead_log": health.facts.get("write-ahead log bytes"),
            "free_pages": health.facts.get("free bytes"),
        },
        "by_size": dict(rows.size),
        "by_day": [[day.isoformat(), count] for day, count in stats.growth.days],
        "undated": stats.growth.undated,
        "biggest": [asdict(big) for big in rows.biggest],
        "embedded_by_category": (
            None if rows.embedded is None else {name: asdict(part) for name, part in rows.embedded.items()}
        ),
        "vectors_by_dimensions": (
            None if rows.dimensions is None else {str(length): count for length, count in rows.dimensions.items()}
        ),
        "cut_vectors": rows.cut_vectors,
        "facts": dict(health.facts),
        "findings": list(health.findings),
    }


def _embeddings(every: Facets) -> dict[str, Any] | None:
    if every.not_embedded is None:
        return None
    embedded = every.total - every.not_embedded
    share = embedded / every.total if every.total else None
    return {"embedded": embedded, "not_embedded": every.not_embedded, "share": share}
