"""Vectors of several texts from an embedder, one request where that works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from zeroclaw_tui.curation.reindexing.pace import Pace, wait_after
from zeroclaw_tui.embeddings.base import Embedder
from zeroclaw_tui.embeddings.openai import Busy, TextRefused

if TYPE_CHECKING:
    import numpy as np

_MOST_REFUSED = 3


@runtime_checkable
class EmbedsMany(Protocol):
    """An embedder that takes several texts at once."""

    async def embed_many(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The vectors of texts, in their order. Raises EmbeddingFailed."""
        ...


class Asking:
    """Asks an embedder at a pace. Texts that are refused together are sent one by one."""

    def __init__(self, embedder: Embedder, pace: Pace) -> None:
        self._embedder = embedder
        self._pace = pace
        self._refused_in_a_row = 0

    async def vectors(self, texts: Sequence[str]) -> list[np.ndarray | TextRefused]:
        """A vector of each text, or why the endpoint does not take it.

        Raises EmbeddingFailed for what concerns all of them, refusing several texts in a row included, and
        StoppedWaiting.
        """
        embedder = self._embedder
        if len(texts) > 1 and isinstance(embedder, EmbedsMany):
            try:
                many = await self._many(embedder, texts)
            except TextRefused:
                return [await self._one(text) for text in texts]
            self._refused_in_a_row = 0
            return [*many]
        return [await self._one(text) for text in texts]

    async def _many(self, embedder: EmbedsMany, texts: Sequence[str]) -> list[np.ndarray]:
        tries = 0
        while True:
            await self._pace.turn()
            try:
                return await embedder.embed_many(texts)
            except Busy as busy:
                tries += 1
                await self._wait(tries, busy)

    async def _one(self, text: str) -> np.ndarray | TextRefused:
        tries = 0
        while True:
            await self._pace.turn()
            try:
                vector = await self._embedder.embed(text)
            except Busy as busy:
                tries += 1
                await self._wait(tries, busy)
            except TextRefused as refused:
                self._refused_in_a_row += 1
                if self._refused_in_a_row >= _MOST_REFUSED:
                    raise
                return refused
            else:
                self._refused_in_a_row = 0
                return vector

    async def _wait(self, tries: int, busy: Busy) -> None:
        seconds = wait_after(tries, busy.after)
        if seconds is None:
            raise busy
        await self._pace.wait(seconds)
