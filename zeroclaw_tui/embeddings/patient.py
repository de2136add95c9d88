"""An endpoint asked with patience: again when it is busy, once for each query, and not at every key when it is down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.embeddings.addresses import host_of
from zeroclaw_tui.embeddings.asking import Asking, batches
from zeroclaw_tui.embeddings.backing_off import FOR_ONE, Pace, Patience
from zeroclaw_tui.embeddings.base import Embedder
from zeroclaw_tui.embeddings.failures import Busy, TextRefused
from zeroclaw_tui.embeddings.openai import OpenAIEmbedder
from zeroclaw_tui.embeddings.remote_calls import RemoteCall, Tell
from zeroclaw_tui.memory.errors import EmbeddingFailed

if TYPE_CHECKING:
    import numpy as np

REST = 10.0
"""Seconds for which an endpoint that failed is not asked for the vector of another query."""
LONGEST_REST = 60.0
"""The same for one that asks to wait longer."""
MOST_BYTES_KEPT = 32 * 1024 * 1024


class PatientEmbedder:
    """The endpoint a config names. Vectors of queries are kept in memory, the least asked for go first.

    After a failure that does not concern the text alone the endpoint rests: queries fail at once with what it said.
    What is written is asked for all the same. `plain` asks once for each call and tells nobody.
    """

    def __init__(
        self,
        config: EmbeddingConfig,
        *,
        plain: Embedder | None = None,
        pace: Pace | None = None,
        patience: Patience = FOR_ONE,
    ) -> None:
        self.plain: Embedder = plain or OpenAIEmbedder(config)
        self.name = self.plain.name
        self.dimensions = self.plain.dimensions
        self.is_remote = self.plain.is_remote
        self.place = host_of(config.provider)
        self._config = config
        self._pace = pace or Pace()
        self._asking = Asking(self.plain, self._pace, patience)
        self._kept: dict[str, np.ndarray] = {}
        self._failure: EmbeddingFailed | None = None
        self._rests_until = 0.0
        self._tell: Tell | None = None

    async def embed(self, text: str) -> np.ndarray:
        """The vector of what is written, shape (dimensions,), float32. Raises EmbeddingFailed."""
        self.announce(self._call_of([text], is_query=False))
        return self._useful(await self._asking.vector(text))

    async def embed_many(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The vectors of what is written, in their order, by as few requests as do. Raises EmbeddingFailed."""
        self.announce(self._call_of(texts, is_query=False))
        made: list[np.ndarray] = []
        for batch in batches(texts):
            for found in await self._asking.vectors(batch):
                if isinstance(found, TextRefused):
                    raise found
                made.append(self._useful(found))
        return made

    async def query(self, text: str) -> np.ndarray:
        """The vector of what is searched for, shape (dimensions,), float32. Raises EmbeddingFailed."""
        kept = self._recent(text)
        if kept is not None:
            return kept
        self._refuse_while_resting()
        self.announce(self._call_of([text], is_query=True))
        try:
            # Zeros too: ZeroClaw asks whether there is a vector, not what it is.
            vector = await self._asking.vector(text)
        except EmbeddingFailed as failure:
            self._rest_after(failure)
            raise
        self._keep(text, vector)
        return vector

    async def queries(self, texts: Iterable[str]) -> dict[str, np.ndarray | EmbeddingFailed]:
        """The vector of each text that is searched for, or why it has none; by as few requests as do."""
        found: dict[str, np.ndarray | EmbeddingFailed] = {}
        missing: list[str] = []
        for text in dict.fromkeys(texts):
            kept = self._recent(text)
            if kept is None:
                missing.append(text)
            else:
                found[text] = kept
        if missing and not self.resting:
            self.announce(self._call_of(missing, is_query=True))
        for batch in batches(missing):
            found.update(await self._queried(batch))
        return found

    @property
    def resting(self) -> float:
        """For how many seconds it is not asked for queries yet; 0.0 when it is asked."""
        return max(0.0, self._rests_until - self._pace.now())

    def waits_for(self, text: str) -> bool:
        """Whether the endpoint has to be asked for the vector of a query."""
        return text not in self._kept and not self.resting

    def tell_before_first_call(self, tell: Tell) -> None:
        """Tell once, before the first text leaves this machine; nobody is told of an endpoint on this machine."""
        self._tell = tell if self.is_remote else None

    def ask_again_at_once(self) -> None:
        """Ask an endpoint that has just failed again, at the next text."""
        self._rests_until = 0.0

    def announce(self, call: RemoteCall) -> None:
        """Tell of a call that is about to be made, if it is the first."""
        tell, self._tell = self._tell, None
        if tell is not None:
            tell(call)

    async def close(self) -> None:
        """Let go of the connection."""
        await self.plain.close()

    async def _queried(self, batch: list[str]) -> dict[str, np.ndarray | EmbeddingFailed]:
        try:
            self._refuse_while_resting()
            made = await self._asking.vectors(batch)
        except EmbeddingFailed as failure:
            self._rest_after(failure)
            return dict.fromkeys(batch, failure)
        found: dict[str, np.ndarray | EmbeddingFailed] = {}
        for text, vector in zip(batch, made, strict=True):
            found[text] = vector
            if not isinstance(vector, TextRefused):
                self._keep(text, vector)
        return found

    def _useful(self, vector: np.ndarray) -> np.ndarray:
        """The vector, unless nothing can be like it."""
        if not vector.any():
            raise TextRefused(
                f"The embedding endpoint on {self.place} made only zeros of the text, which no memory is like.",
                hint="Try other words, or another model.",
            )
        return vector

    def _call_of(self, texts: Sequence[str], *, is_query: bool) -> RemoteCall:
        characters = sum(map(len, texts))
        return RemoteCall(
            self.place, self._config.provider, self._config.model, len(texts), characters, is_query=is_query
        )

    def _refuse_while_resting(self) -> None:
        if self._failure is not None and self.resting:
            # Raised again and again, the same exception would collect every place it was raised at.
            raise self._failure.with_traceback(None)

    def _rest_after(self, failure: EmbeddingFailed) -> None:
        if isinstance(failure, TextRefused) or failure is self._failure:
            return
        asked = failure.after if isinstance(failure, Busy) and failure.after is not None else 0.0
        self._failure = failure
        self._rests_until = self._pace.now() + min(max(REST, asked), LONGEST_REST)

    def _recent(self, text: str) -> np.ndarray | None:
        kept = self._kept.pop(text, None)
        if kept is not None:
            self._kept[text] = kept
        return kept

    def _keep(self, text: str, vector: np.ndarray) -> None:
        self._failure, self._rests_until = None, 0.0
        self._kept[text] = vector
        while len(self._kept) > max(1, MOST_BYTES_KEPT // vector.nbytes):
            self._kept.pop(next(iter(self._kept)))


async def query_with(embedder: Embedder, text: str) -> np.ndarray:
    """The vector of what is searched for, from an embedder of any kind. Raises EmbeddingFailed."""
    return await (embedder.query(text) if isinstance(embedder, PatientEmbedder) else embedder.embed(text))
