"""How much is remembered: the figures `zeroclaw memory stats` prints, and all that can be counted beside them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, Literal

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.health import Health
from zeroclaw_tui.backends.lookup import biggest
from zeroclaw_tui.memory.query import Facets, MemoryFilter, Superseded
from zeroclaw_tui.memory.statistics import (
    FACET_FIELDS,
    QUARTER_SECONDS,
    STATISTICS_FIELDS,
    CacheUse,
    Embedded,
    Statistics,
    Storage,
    by_count,
)

Span = Literal["day", "week", "month", "year"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Growth:
    """`days` are those on which something was created, the earliest first, each with its count.

    `undated` counts what was created at no moment that can be read.
    """

    days: tuple[tuple[date, int], ...]
    undated: int

    @property
    def busiest(self) -> tuple[date, int] | None:
        """The day on which the most was created, the earliest of several."""
        return max(self.days, key=lambda day: day[1], default=None)


@dataclass(frozen=True, slots=True)
class Curve:
    """Counts for every `span` from `first` to `last`, those with nothing too."""

    span: Span
    first: date
    last: date
    counts: tuple[int, ...]


def growth_of(rows: Statistics, zone: tzinfo | None = None) -> Growth:
    """The days of `zone`, or of this machine's clock, on which these rows were created."""
    days = Counter[date]()
    undated = rows.undated
    for quarter, count in rows.quarters.items():
        day = _day_of(quarter, zone)
        if day is None:
            undated += count
        else:
            days[day] += count
    return Growth(tuple(sorted(days.items())), undated)


def curve_of(growth: Growth, most: int) -> Curve | None:
    """The finest curve of at most so many points; longer ones keep years. None without a single day."""
    if not growth.days:
        return None
    spans: Sequence[tuple[Span, Callable[[date], int]]] = (
        ("day", date.toordinal),
        # The ordinal 1 is a Monday.
        ("week", lambda day: (day.toordinal() - 1) // 7),
        ("month", lambda day: day.year * 12 + day.month),
        ("year", lambda day: day.year),
    )
    first, last = growth.days[0][0], growth.days[-1][0]
    span, place = next(
        ((name, place) for name, place in spans if place(last) - place(first) < most),
        spans[-1],
    )
    start = place(first)
    counts = [0] * (place(last) - start + 1)
    for day, count in growth.days:
        counts[place(day) - start] += count
    return Curve(span, first, last, tuple(counts))


def _day_of(quarter: int, zone: tzinfo | None) -> date | None:
    try:
        return (_EPOCH + timedelta(seconds=quarter * QUARTER_SECONDS)).astimezone(zone).date()
    except (OverflowError, ValueError, OSError):
        # A year that no calendar here has.
        return None


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """The four figures of ZeroClaw's own command. `by_category` is ordered by count, then name.

    `total` counts every row, superseded ones included; `by_category` leaves those out. ZeroClaw counts categories over
    its first 1,000 rows only; here all are counted.
    """

    backend: str
    health: str
    total: int
    by_category: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What is counted of a store: `every` and `rows` of all rows or of those a filter leaves, and when they came."""

    every: Facets
    rows: Statistics
    growth: Growth


async def memory_stats(memory: Memory, now: str) -> MemoryStats:
    """ZeroClaw's own figures of an open store; ages need `now`, RFC 3339."""
    health = "healthy" if await memory.health_check() else "unhealthy"
    listed = await memory.count_up(MemoryFilter(), now, ("category",))
    return MemoryStats(memory.name, health, await memory.count(), listed.by["category"])


async def store_stats(
    memory: Memory, now: str, filter: MemoryFilter | None = None, zone: tzinfo | None = None
) -> StoreStats:
    """The counts of all rows, superseded ones too, or of those a filter leaves; days are those of `zone`.

    Without a zone they are this machine's.
    """
    wanted = MemoryFilter(superseded=Superseded.SHOW) if filter is None else filter
    fields = tuple(dict.fromkeys((*FACET_FIELDS, *STATISTICS_FIELDS)))
    counts = await memory.count_up(wanted, now, fields)
    database = memory.upkeep.database
    storage = None if database is None else await database.storage()
    rows = Statistics.of(counts, await biggest(memory, wanted), storage)
    return StoreStats(Facets.of(counts), rows, growth_of(rows, zone))


async def full_stats(memory: Memory, now: str, filter: MemoryFilter | None = None) -> dict[str, Any]:
    """Everything that can be counted, ready for JSON; what the store or its generation lacks is null.

    With a filter the counts are of what it leaves; health, facts and storage are always those of the whole store.
    """
    counted, health, is_healthy, total = await asyncio.gather(
        store_stats(memory, now, filter), memory.health(), memory.health_check(), memory.count()
    )
    categories = counted.every.category
    if filter is None and counted.every.superseded:
        superseded = counted.rows.superseded or {}
        categories = by_count({name: count - superseded.get(name, 0) for name, count in categories.items()})
    stats = MemoryStats(memory.name, "healthy" if is_healthy else "unhealthy", total, categories)
    return as_json(memory, stats, counted, health, is_filtered=filter is not None)


def as_json(
    memory: Memory, stats: MemoryStats, counted: StoreStats, health: Health, *, is_filtered: bool = False
) -> dict[str, Any]:
    """The document of `memory stats --json`."""
    every = counted.every
    return {
        "backend": memory.name,
        "location": memory.about.location,
        "generation": memory.about.generation,
        "health": stats.health,
        "total": every.total if is_filtered else stats.total,
        "superseded": every.superseded,
        "by_category": dict(every.category if is_filtered else stats.by_category),
        "by_session": _mapping(every.session),
        "by_agent": _mapping(every.agent),
        "by_namespace": _mapping(every.namespace),
        "by_age": dict(every.age),
        "embeddings": _embeddings(memory, every),
        **_counted(counted),
        "facts": dict(health.facts),
        "findings": list(health.findings),
    }


def _counted(counted: StoreStats) -> dict[str, Any]:
    """What SQL's own facets do not have: sizes, days, vectors, the file."""
    rows, growth, storage = counted.rows, counted.growth, counted.rows.storage
    return {
        "bytes": {
            "content": rows.content,
            "vectors": rows.vectors,
            "file": storage.file if storage else None,
            "write_ahead_log": storage.write_ahead_log if storage else None,
            "free_pages": storage.free_pages * storage.page_size if storage else None,
        },
        "by_size": dict(rows.size),
        "by_day": [[day.isoformat(), count] for day, count in growth.days],
        "undated": growth.undated,
        "biggest": [{"id": big.id, "key": big.key, "category": big.category, "size": big.size} for big in rows.biggest],
        "embedded_by_category": _embedded(rows.embedded),
        "vectors_by_dimensions": (
            None if rows.dimensions is None else {str(length): count for length, count in rows.dimensions.items()}
        ),
        "cut_vectors": rows.cut_vectors,
        "storage": None if storage is None else _storage(storage),
    }


def _storage(storage: Storage) -> dict[str, Any]:
    return {
        "page_size": storage.page_size,
        "pages": storage.pages,
        "free_pages": storage.free_pages,
        "embedding_cache": _cache(storage.embedding_cache),
        "response_cache": _cache(storage.response_cache),
        "side_files": dict(storage.side_files),
        "problems": list(storage.problems),
    }


def _cache(cache: CacheUse | None) -> dict[str, int | None] | None:
    return None if cache is None else {"rows": cache.rows, "bytes": cache.size, "hits": cache.hits}


def _embedded(embedded: Mapping[str, Embedded] | None) -> dict[str, dict[str, int]] | None:
    if embedded is None:
        return None
    return {name: {"embedded": part.embedded, "total": part.total} for name, part in embedded.items()}


def _embeddings(memory: Memory, every: Facets) -> dict[str, Any] | None:
    if "vectors" in memory.why_not or every.not_embedded is None:
        return None
    embedded = every.total - every.not_embedded
    share = embedded / every.total if every.total else None
    return {"embedded": embedded, "not_embedded": every.not_embedded, "share": share}


def _mapping(counts: Mapping[str, int] | None) -> dict[str, int] | None:
    return None if counts is None else dict(counts)
