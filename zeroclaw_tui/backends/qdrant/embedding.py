"""The vectors a Qdrant collection needs: of key and content together, as ZeroClaw embeds them there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from zeroclaw_tui.backends.qdrant.capabilities import NO_EMBEDDER
from zeroclaw_tui.backends.qdrant.points import as_stored
from zeroclaw_tui.embeddings.base import AsksEndpoint, Embedder
from zeroclaw_tui.embeddings.failures import TextRefused
from zeroclaw_tui.embeddings.patient import query_with
from zeroclaw_tui.memory.change import Vector
from zeroclaw_tui.memory.errors import Refused

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.qdrant.collection import Collection

_AT_ONCE = 16


@runtime_checkable
class _EmbedsMany(Protocol):
    async def embed_many(self, texts: Sequence[str]) -> list[np.ndarray]: ...


def text_of(key: str, content: str) -> str:
    """What ZeroClaw embeds of a memory in Qdrant."""
    return f"{key}\n{content}"


class Embedding:
    """Makes the vectors of one collection; without an embedder it refuses, saying which setting helps."""

    def __init__(self, embedder: Embedder | None, because: str | None) -> None:
        self._embedder = embedder
        self._because = because

    @property
    def dimensions(self) -> int | None:
        """How many numbers its vectors have; None without an embedder."""
        return None if self._embedder is None else self._embedder.dimensions

    @property
    def why_none(self) -> str | None:
        """Why there is no embedder, in a sentence; None where there is one."""
        if self._embedder is not None:
            return None
        reason = (self._because or "set memory.embedding_provider.").removeprefix("keyword only: ")
        return f"{NO_EMBEDDER}: {reason}"

    def check(self, shape: Collection) -> None:
        """Raises Refused where nothing can be embedded for this collection."""
        if self._embedder is None:
            raise Refused(self.why_none or NO_EMBEDDER, hint="`zeroclaw onboard` sets it up.")
        self._check_length(self._embedder.dimensions, shape)

    async def vectors(self, texts: Sequence[str], shape: Collection) -> list[bytes]:
        """The vectors of texts as Qdrant will hold them. Raises Refused, EmbeddingFailed."""
        self.check(shape)
        made: list[bytes] = []
        for start in range(0, len(texts), _AT_ONCE):
            for numbers in await self._numbers(texts[start : start + _AT_ONCE]):
                self._check_length(len(numbers), shape)
                made.append(as_stored(numbers.astype("<f4").tobytes(), shape.distance))
        return made

    async def query(self, text: str, shape: Collection) -> list[float]:
        """The vector of a query. Raises Refused, EmbeddingFailed."""
        self.check(shape)
        assert self._embedder is not None
        return [float(number) for number in await query_with(self._embedder, text)]

    def given(self, vector: Vector, shape: Collection) -> bytes:
        """A vector that somebody else made, as Qdrant will hold it. Raises Refused where its length does not fit."""
        self._check_length(vector.dimensions, shape)
        return as_stored(vector.data, shape.distance)

    @property
    def asks(self) -> AsksEndpoint | None:
        """The embedder, where it asks an endpoint."""
        return self._embedder if isinstance(self._embedder, AsksEndpoint) else None

    async def close(self) -> None:
        """Let go of connections."""
        if self._embedder is not None:
            await self._embedder.close()

    async def _numbers(self, texts: Sequence[str]) -> list[np.ndarray]:
        embedder = self._embedder
        if embedder is None:
            raise Refused(self.why_none or NO_EMBEDDER)
        if len(texts) > 1 and isinstance(embedder, _EmbedsMany):
            try:
                return await embedder.embed_many(texts)
            except TextRefused:
                # Too many at once for this endpoint; each alone may do.
                return [await embedder.embed(text) for text in texts]
        return [await embedder.embed(text) for text in texts]

    def _check_length(self, dimensions: int, shape: Collection) -> None:
        if dimensions != shape.dimensions:
            raise Refused(
                f"The collection holds vectors of {shape.dimensions} numbers, and this one has {dimensions}.",
                hint=f"Set memory.embedding_dimensions to {shape.dimensions} if the model makes such vectors.",
            )
