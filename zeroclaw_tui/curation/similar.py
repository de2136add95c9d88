"""Memories near another memory, or near a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from zeroclaw_tui.memory.entry import MemoryEntry

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

Way = Literal["vector", "rare words"]


@dataclass(frozen=True, slots=True)
class SimilarMemory:
    """A near memory. `score` is the cosine of the vectors or of the words, 0..1; `shared` the words in common."""

    entry: MemoryEntry
    rank: int
    score: float
    shared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SimilarResult:
    """What is near, nearest first. `way` says by what; `because` why not by vectors, None where it is by vectors."""

    of: MemoryEntry | None
    query: str | None
    way: Way
    because: str | None
    results: tuple[SimilarMemory, ...]
    looked_at: int
    """How many memories were compared."""

    def as_json(self) -> dict[str, Any]:
        """The document the similar command prints."""
        raise NotImplementedError


async def similar_memories(
    library: Library, *, entry: MemoryEntry | None = None, text: str | None = None, limit: int = 20
) -> SimilarResult:
    """The memories nearest to one of the store by its own vector (no network), or to a text.

    Without a vector of the row, or where the backend keeps none, by shared rare words. A person's eye: no threshold, no
    session, no agent; superseded ones are left out. Raises InspectorError kinds, SearchInterrupted.
    """
    raise NotImplementedError
