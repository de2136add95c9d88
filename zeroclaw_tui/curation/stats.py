"""How much is remembered: the figures `zeroclaw memory stats` prints, and all that can be counted beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.memory.query import Facets, MemoryFilter, Superseded


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


async def memory_stats(memory: Memory, now: str) -> MemoryStats:
    """ZeroClaw's own figures of an open store; ages need `now`, RFC 3339."""
    health = "healthy" if await memory.health_check() else "unhealthy"
    listed = await memory.facets(MemoryFilter(), now)
    return MemoryStats(memory.name, health, await memory.count(), listed.category)


async def full_stats(memory: Memory, now: str) -> dict[str, Any]:
    """Everything that can be counted, ready for JSON; what the store or its generation lacks is null."""
    stats = await memory_stats(memory, now)
    every = await memory.facets(MemoryFilter(superseded=Superseded.SHOW), now)
    health = await memory.health()
    return {
        "backend": memory.name,
        "location": memory.location,
        "generation": memory.generation,
        "health": stats.health,
        "total": stats.total,
        "superseded": every.superseded,
        "by_category": dict(stats.by_category),
        "by_session": _mapping(every.session),
        "by_agent": _mapping(every.agent),
        "by_namespace": _mapping(every.namespace),
        "by_age": dict(every.age),
        "embeddings": _embeddings(memory, every),
        "facts": dict(health.facts),
        "findings": list(health.findings),
    }


def _embeddings(memory: Memory, every: Facets) -> dict[str, Any] | None:
    if not memory.capabilities.vectors or every.not_embedded is None:
        return None
    embedded = every.total - every.not_embedded
    share = embedded / every.total if every.total else None
    return {"embedded": embedded, "not_embedded": every.not_embedded, "share": share}


def _mapping(counts: Mapping[str, int] | None) -> dict[str, int] | None:
    return None if counts is None else dict(counts)
