"""Vectors of texts from an embedder that may be busy, one request for several where that works."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from zeroclaw_tui.embeddings.backing_off import FOR_MANY, Pace, Patience
from zeroclaw_tui.embeddings.base import Embedder, Persistent
from zeroclaw_tui.embeddings.failures import Busy, TextRefused

if TYPE_CHECKING:
    import numpy as np

AT_ONCE = 64
"""How many texts go into one request."""
MOST_CHARACTERS = 100_000
"""How many characters of several texts go into one request."""
_MOST_REFUSED = 3
Answer = TypeVar("Answer")


@runtime_checkable
class EmbedsMany(Protocol):
    """An embedder that takes several texts at once."""

    async def embed_many(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The vectors of texts, in their order. Raises EmbeddingFailed."""
        ...


def batches(
    texts: Iterable[str], at_once: int = AT_ONCE, most_characters: int = MOST_CHARACTERS
) -> Iterator[list[str]]:
    """Texts in their order as requests that are not too big; a text that is too long goes alone."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (len(batch) == at_once or characters + len(text) > most_characters):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


class Asking:
    """Asks an embedder at a pace and with patience. Texts that are refused together are sent one by one."""

    def __init__(self, embedder: Embedder, pace: Pace, patience: Patience = FOR_MANY) -> None:
        # Tries of tries would be far more than anybody wanted.
        self._embedder = embedder.plain if isinstance(embedder, Persistent) else embedder
        self._pace = pace
        self._patience = patience
        self._refused_in_a_row = 0

    async def vector(self, text: str) -> np.ndarray:
        """The vector of a text. Raises EmbeddingFailed and StoppedWaiting."""
        return await self._answer(lambda: self._embedder.embed(text))

    async def vectors(self, texts: Sequence[str]) -> list[np.ndarray | TextRefused]:
        """A vector of each text, or why the endpoint does not take it.

        Raises EmbeddingFailed for what concerns all of them, refusing several texts in a row included, and
        StoppedWaiting.
        """
        embedder = self._embedder
        if len(texts) > 1 and isinstance(embedder, EmbedsMany):
            try:
                many = await self._answer(lambda: embedder.embed_many(texts))
            except TextRefused:
                return [await self._one(text) for text in texts]
            self._refused_in_a_row = 0
            return [*many]
        return [await self._one(text) for text in texts]

    async def _one(self, text: str) -> np.ndarray | TextRefused:
        try:
            vector = await self.vector(text)
        except TextRefused as refused:
            self._refused_in_a_row += 1
            if self._refused_in_a_row >= _MOST_REFUSED:
                raise
            return refused
        self._refused_in_a_row = 0
        return vector

    async def _answer(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer of the first try that is not sent away. Raises Busy when patience is over."""
        started, tries = self._pace.now(), 0
        last: Busy | None = None
        while True:
            await self._pace.turn()
            try:
                async with asyncio.timeout(None if last is None else self._left(started)):
                    return await ask()
            except Busy as busy:
                last, tries = busy, tries + 1
            except TimeoutError:
                # Only a further try is cut short here: the first has the time limit of its own.
                if last is None:
                    raise
                raise last.given_up(tries + 1) from None
            spent = self._pace.now() - started
            seconds = self._patience.wait_after(tries, last.after, spent, self._pace.chance())
            if seconds is None:
                raise last.given_up(tries) from None
            await self._pace.wait(seconds)

    def _left(self, started: float) -> float | None:
        left = started + self._patience.total - self._pace.now()
        return left if left < float("inf") else None
