"""Find the memories nearest to another memory or to a text."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from zeroclaw_tui.backends.lookup import whole_entry
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall import text_vector
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import EmbeddingFailed
from zeroclaw_tui.memory.query import ENTRIES, Query
from zeroclaw_tui.scoring.neighbours import compared_text_of, shared_words, words_of

if TYPE_CHECKING:
    import numpy as np

_SPARE = 50
"""The number of extra results to request, because superseded memories and the memory itself are left out."""


class SimilarMemory(NamedTuple):
    """A similar memory. `score` is a cosine, or a word similarity from 0 to 1; `shared` are the words in common."""

    entry: MemoryEntry
    rank: int
    score: float
    shared: tuple[str, ...] = ()


class SimilarResult(NamedTuple):
    """The similar memories, nearest first, of `compared` ones; `reason` says why vectors were not compared, or None."""

    backend: str
    location: str
    entry: MemoryEntry | None
    query: str | None
    method: Literal["vector", "rare words"]
    reason: str | None
    results: tuple[SimilarMemory, ...]
    compared: int

    def sentences(self) -> tuple[str, ...]:
        """Say how many memories were compared, by which method, and why not by vectors."""
        by = "their vectors" if self.method == "vector" else "rare words"
        return (f"{self.compared:,} compared by {by}", *([self.reason] if self.reason is not None else []))

    def as_json(self) -> dict[str, Any]:
        source = {"id": self.entry and self.entry.id, "key": self.entry and self.entry.key, "query": self.query}
        method = {"way": self.method, "because": self.reason, "compared": self.compared}
        results = [
            {"rank": near.rank, "score": near.score, "shared": list(near.shared), **near.entry.as_json()}
            for near in self.results
        ]
        return {"backend": self.backend, "location": self.location, **source, **method, "results": results}


async def similar_memories(
    library: Library, *, entry: MemoryEntry | None = None, text: str = "", limit: int = 20, agents: Sequence[str] = ()
) -> SimilarResult:
    """Find the memories nearest to an entry, by its stored vector (no network), or to a text; else by rare words.

    Superseded memories are left out, and those of agents not in `agents`, if given; no threshold or session applies.
    Raises InspectorError, SearchInterrupted.
    """
    memory, vector, reason = library.memory, None, library.memory.why_not.get("vectors", "This memory has no vector.")
    if entry is None:
        vector, reason = await _vector_of(library, text)
    elif entry.is_excerpt:
        entry = await whole_entry(memory, entry.handle)
    to = vector if entry is None else entry
    found = None if to is None else await _near(library, to, entry, limit, agents)
    query = None if entry is not None else text
    if found is not None:
        return SimilarResult(memory.name, memory.about.location, entry, query, "vector", None, *found)
    compared_text = text if entry is None else compared_text_of(entry.key, entry.content)
    results, compared = await _near(library, compared_text, entry, limit, agents) or ((), 0)
    texts = [compared_text_of(near.entry.key, near.entry.content) for near in results]
    # In a thread, because long texts have thousands of words.
    shared = await asyncio.to_thread(lambda: [shared_words(compared_text, each) for each in texts])
    results = tuple(near._replace(shared=words) for near, words in zip(results, shared, strict=True))
    return SimilarResult(memory.name, memory.about.location, entry, query, "rare words", reason, results, compared)


async def _vector_of(library: Library, text: str) -> tuple[np.ndarray | None, str]:
    """Embed a text; also returns why there is no vector, or why it cannot be compared."""
    if library.why_no_vectors is not None:
        return None, library.why_no_vectors
    if not words_of(text):
        return None, "The text has no word to make a vector from."
    try:
        return await text_vector(library, text), "The store compares no vectors."
    except EmbeddingFailed as failure:
        return None, f"{failure.message} {failure.hint}".strip()


async def _near(
    library: Library, to: MemoryEntry | np.ndarray | str, without: MemoryEntry | None, limit: int, agents: Sequence[str]
) -> tuple[tuple[SimilarMemory, ...], int] | None:
    """Read the nearest current memories, and count those compared; None if the store compares no vectors."""
    requested = limit + _SPARE
    while (near := await library.memory.near(to, requested)) is not None:
        scores = {
            neighbour.handle: neighbour.score
            for neighbour in near.neighbours
            if without is None or neighbour.handle != without.handle
        }
        entries = await library.memory.rows(Query(ENTRIES, handles=list(scores))) if scores else []
        current = [entry for entry in entries if entry.superseded_by is None and (not agents or entry.agent in agents)]
        if len(current) >= limit or len(near.neighbours) < requested:
            ranked = enumerate(current[:limit], 1)
            return tuple(SimilarMemory(entry, rank, scores[entry.handle]) for rank, entry in ranked), near.compared
        # Too many of the nearest memories were left out, so the next ones are needed.
        requested *= 8
    return None
