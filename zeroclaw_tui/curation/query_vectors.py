"""The vectors of the test queries, asked for together, once for every run that compares them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from zeroclaw_tui.embeddings.patient import PatientEmbedder
from zeroclaw_tui.memory.errors import EmbeddingFailed
from zeroclaw_tui.scoring.keywords import words

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.curation.library import Library


class QueriesTogether:
    """An embedder that, at the first query it is asked for, has the vectors of all of them fetched, and keeps them.

    Vectors the store has cached are not asked for. What failed stays failed: in runs that are compared a query must not
    have a vector in one and none in the other because the endpoint came back between them.
    """

    def __init__(self, embedder: PatientEmbedder, memory: Memory, texts: Iterable[str]) -> None:
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.is_remote = embedder.is_remote
        self._embedder = embedder
        self._memory = memory
        self._texts = dict.fromkeys(text for text in texts if words(text))
        self._known: dict[str, np.ndarray | EmbeddingFailed] | None = None

    async def embed(self, text: str) -> np.ndarray:
        """The vector of a query, shape (dimensions,), float32. Raises EmbeddingFailed."""
        if self._known is None:
            missing = [each for each in self._texts if not await self._is_cached(each)]
            self._known = await self._embedder.queries(missing)
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = await self._embedder.query(text)
        if isinstance(found, EmbeddingFailed):
            # Raised again and again, the same exception would collect every place it was raised at.
            raise found.with_traceback(None)
        return found

    async def close(self) -> None:
        """Nothing to let go of: the embedder belongs to whoever made it."""

    async def _is_cached(self, text: str) -> bool:
        vector = await self._memory.cached_vector(text)
        return vector is not None and len(vector) == self.dimensions


def with_queries_together(library: Library, texts: Iterable[str]) -> Library:
    """The same open library, whose recalls of these texts ask an embedding endpoint for all of them at once."""
    if not isinstance(library.embedder, PatientEmbedder):
        return library
    return replace(library, embedder=QueriesTogether(library.embedder, library.memory, texts))
