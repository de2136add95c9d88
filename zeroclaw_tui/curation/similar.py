"""Memories near another memory, or near a text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from zeroclaw_tui.backends.lookup import cached_vector, whole_entry
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import EmbeddingFailed
from zeroclaw_tui.memory.query import ENTRIES, Query
from zeroclaw_tui.scoring.neighbours import Neighbour, compared_text_of, shared_words, words_of

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.curation.library import Library

Way = Literal["vector", "rare words"]
_NO_VECTOR = "This memory has no vector"
_SPARE = 50
"""How many more are asked for, because superseded memories and the memory itself are left out."""


@dataclass(frozen=True, slots=True)
class SimilarMemory:
    """A similar memory. `score` is the cosine of the vectors, or a rank by words from 0 to 1; `shared` are words that
    both have."""

    entry: MemoryEntry
    rank: int
    score: float
    shared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SimilarResult:
    """What is near, nearest first. `way` says by what; `because` why not by vectors, None where it is by vectors."""

    backend: str
    location: str
    of: MemoryEntry | None
    query: str | None
    way: Way
    because: str | None
    results: tuple[SimilarMemory, ...]
    looked_at: int
    """How many memories were compared."""
    awaits_vector: bool = False
    """The text's vector is still being fetched: what is near by words stands meanwhile."""

    def as_json(self) -> dict[str, Any]:
        """The document the similar command prints."""
        return {
            "backend": self.backend,
            "location": self.location,
            "id": self.of.id if self.of is not None else None,
            "key": self.of.key if self.of is not None else None,
            "query": self.query,
            "way": self.way,
            "because": self.because,
            "compared": self.looked_at,
            "results": [
                {"rank": near.rank, "score": near.score, "shared": list(near.shared), **near.entry.as_json()}
                for near in self.results
            ],
        }


async def similar_memories(
    library: Library,
    *,
    entry: MemoryEntry | None = None,
    text: str | None = None,
    limit: int = 20,
    agents: Sequence[str] = (),
) -> SimilarResult:
    """The memories nearest to one of the store by its own vector (no network), or to a text.

    Without a vector of the row, or where the backend keeps none, by shared rare words. A person's eye: no threshold, no
    session; superseded ones are left out, and those of other agents where some are named. Raises InspectorError kinds,
    SearchInterrupted.
    """
    memory = library.memory
    if entry is not None and entry.is_excerpt:
        entry = await whole_entry(memory, entry.handle)
    because = memory.why_not.get("vectors") or library.why_no_vectors if text is not None else None
    vector: np.ndarray | None = None
    if text is not None and because is None:
        vector, because = await _vector_of(library, text)
    near = entry if entry is not None else vector
    if because is None and near is not None:
        found = await _read_near(library, near, entry, limit, agents)
        if found is not None:
            return SimilarResult(memory.name, memory.about.location, entry, text, "vector", None, *found)
    if because is None:
        because = memory.why_not.get("vectors") or f"{_NO_VECTOR}."
    return await _by_words(library, entry, text, because, limit, agents)


async def _read_near(
    library: Library,
    to: MemoryEntry | np.ndarray | str,
    without: MemoryEntry | None,
    limit: int,
    agents: Sequence[str],
) -> tuple[tuple[SimilarMemory, ...], int] | None:
    """Read the nearest current memories, and say how many were compared; None if the store compares no vectors."""
    asked = limit + _SPARE
    while (near := await library.memory.near(to, asked)) is not None:
        results = await _read(library, near.neighbours, limit, without, agents)
        if len(results) == limit or len(near.neighbours) < asked:
            return results, near.compared
        # Many memories that are left out are as near: the ones behind them count.
        asked *= 8
    return None


async def similar_steps(library: Library, text: str, limit: int) -> AsyncGenerator[SimilarResult, None]:
    """The same of a text in steps: while an endpoint is slow to send its vector, first what is near by words, marked
    `awaits_vector`; the last step is the answer of `similar_memories`. Leaving it between two steps ends the asking."""
    if not await _waits(library, text):
        yield await similar_memories(library, text=text, limit=limit)
        return
    asking = asyncio.ensure_future(_vector_of(library, text))
    by_words = asyncio.ensure_future(_by_words(library, None, text, None, limit))
    try:
        await asyncio.wait((asking, by_words), return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            yield replace(await by_words, awaits_vector=True)
        vector, because = await asking
        if vector is not None:
            by_words.cancel()
            await asyncio.gather(by_words, return_exceptions=True)
            # At hand now, the vector is not fetched again.
            yield await similar_memories(library, text=text, limit=limit)
        else:
            found = await by_words
            yield replace(found, because=because)
    finally:
        asking.cancel()
        by_words.cancel()
        await asyncio.gather(asking, by_words, return_exceptions=True)


async def _waits(library: Library, text: str) -> bool:
    """Whether the vector of a text has to be fetched from an endpoint."""
    embedder, memory = library.embedder, library.memory
    if embedder is None or embedder.is_cached(text) or not words_of(text):
        return False
    if memory.why_not.get("vectors") or library.why_no_vectors:
        return False
    cached = await cached_vector(memory, text)
    return cached is None or len(cached) != embedder.dimensions


async def _vector_of(library: Library, text: str) -> tuple[np.ndarray | None, str | None]:
    """The vector of a text, or why there is none."""
    embedder = library.embedder
    if embedder is None or not words_of(text):
        return None, library.no_embedder_because or "The text has no word to make a vector from."
    cached = await cached_vector(library.memory, text)
    if cached is not None and len(cached) == embedder.dimensions:
        return cached, None
    try:
        return await embedder.query(text), None
    except EmbeddingFailed as failure:
        return None, f"{failure.message} {failure.hint}".strip()


async def _by_words(
    library: Library,
    entry: MemoryEntry | None,
    text: str | None,
    because: str | None,
    limit: int,
    agents: Sequence[str] = (),
) -> SimilarResult:
    memory = library.memory
    words = text or "" if entry is None else compared_text_of(entry.key, entry.content)
    found = await _read_near(library, words, entry, limit, agents)
    results, compared = found if found is not None else ((), 0)
    # Long texts have thousands of words, and taking them apart keeps a frame waiting.
    shared = await asyncio.to_thread(_with_shared, words, results)
    return SimilarResult(memory.name, memory.about.location, entry, text, "rare words", because, shared, compared)


async def _read(
    library: Library,
    neighbours: Sequence[Neighbour],
    limit: int,
    without: MemoryEntry | None,
    agents: Sequence[str],
) -> tuple[SimilarMemory, ...]:
    """The rows behind the scores, whole; superseded ones, other agents' and the memory itself are left out."""
    found: list[SimilarMemory] = []
    for start in range(0, len(neighbours), limit):
        part = {near.handle: near.score for near in neighbours[start : start + limit]}
        if without is not None:
            part.pop(without.handle, None)
        for row in await library.memory.rows(Query(ENTRIES, handles=list(part))):
            is_meant = row.superseded_by is None and (not agents or row.agent in agents)
            if is_meant and len(found) < limit:
                found.append(SimilarMemory(row, len(found) + 1, part[row.handle]))
        if len(found) == limit:
            break
    return tuple(found)


def _with_shared(text: str, results: Sequence[SimilarMemory]) -> tuple[SimilarMemory, ...]:
    return tuple(
        replace(near, shared=shared_words(text, compared_text_of(near.entry.key, near.entry.content)))
        for near in results
    )
