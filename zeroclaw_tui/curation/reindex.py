"""Making the vectors that memories lack, at a chosen pace, stoppable and resumable."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from zeroclaw_tui.curation.changes import refuse_read_only
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.embeddings.base import Embedder, RemoteCall, TextRefused, price, tokens_of
from zeroclaw_tui.embeddings.endpoint import FOR_MANY, Pace, PacedRequests, PatientEmbedder, RetryPolicy, StoppedWaiting
from zeroclaw_tui.memory.change import NewVector, Stamp, StoredRow, Vector
from zeroclaw_tui.memory.errors import EmbeddingFailed, Refused
from zeroclaw_tui.memory.text import WHITE_SPACE, counted, one_line

AT_ONCE = 16
"""How many texts go into one request, and at most how many vectors a kill loses."""
_MOST_CHARACTERS = 100_000
_LONGEST_KEY_SHOWN = 60


@dataclass(frozen=True, slots=True)
class ReindexPlan:
    """Which memories lack a vector, or have one that fits no query. `characters` and `tokens` (about a quarter of
    them) are what would be sent; `cost` in US dollars, None where the model's price is not known or nothing is sent.

    `wrong` are vectors of another length, all zeros, or with numbers that are none; of memories named by ids, any.
    """

    missing: tuple[Stamp, ...]
    wrong: tuple[Stamp, ...]
    characters: int
    tokens: int
    cost: float | None
    model: str
    is_remote: bool

    @property
    def count(self) -> int:
        """How many vectors to make."""
        return len(self.missing) + len(self.wrong)


@dataclass(frozen=True, slots=True)
class Reindexed:
    """How it went; `left` changed meanwhile, `failed` are sentences. `stopped` says that it can be gone on with.

    `zeros` got a vector of zeros, as ZeroClaw stores it too, which no query is like.
    """

    filled: int
    left: int
    failed: tuple[str, ...] = ()
    stopped: bool = False
    zeros: int = 0


def zeros_words(count: int) -> str:
    """What to say of memories of which the model makes only zeros."""
    of = f"{counted(count)} {'has' if count == 1 else 'have'}"
    return f"{of} a vector of zeros: the model makes nothing of the text, and no query is like it."


async def plan_reindex(library: Library, *, ids: tuple[str, ...] | None = None) -> ReindexPlan:
    """What is to be done, of all memories or of these. Raises Refused with the reason where there is no embedder or the
    store keeps no vectors."""
    embedder = _embedder(library)
    missing: list[Stamp] = []
    wrong: list[Stamp] = []
    characters = 0

    def look(row: StoredRow) -> None:
        nonlocal characters
        content = row.values.get("content")
        if not isinstance(content, str) or not content.strip(WHITE_SPACE):
            return
        vector = row.values.get("embedding")
        if vector and ids is None and _is_good(vector, embedder.dimensions):
            return
        (wrong if vector else missing).append(library.memory.stamp_of(row))
        characters += len(content)

    if ids is None:
        await library.memory.each_row(look)
    else:
        for row in [await library.memory.stored(named) for named in dict.fromkeys(ids)]:
            if row is not None:
                look(row)
    embedding, tokens = library.config.embedding, tokens_of(characters)
    cost = price(embedding.provider, embedding.model, tokens) if embedder.is_remote and characters else None
    return ReindexPlan(
        tuple(missing), tuple(wrong), characters, tokens, cost, embedding.model, is_remote=embedder.is_remote
    )


def announce(library: Library, plan: ReindexPlan) -> RemoteCall | None:
    """What the plan sends to another machine, None where it sends nothing; told if it is the first of this process."""
    embedder, embedding = library.embedder, library.config.embedding
    if not plan.is_remote or not plan.count or not isinstance(embedder, PatientEmbedder):
        return None
    call = RemoteCall(embedder.place, embedding.provider, embedding.model, plan.count, plan.characters, is_query=False)
    embedder.announce(call)
    return call


async def reindex(
    library: Library,
    plan: ReindexPlan,
    *,
    per_minute: int | None = None,
    advance: Callable[[int], bool] | None = None,
    pace: Pace | None = None,
    patience: RetryPolicy = FOR_MANY,
) -> Reindexed:
    """Make the vectors, at most `per_minute` requests; what is made is written every few rows, so that stopping or a
    kill loses at most those, and doing it again goes on. An endpoint that says no ends it with what it said; a busy one
    (429) is waited for with `patience`. `advance` is told how many are done; False stops. `pace` brings its own clock.

    Raises Refused, before anything is sent, where the store names another model, and what every write raises.
    """
    refuse_read_only(library)
    embedder = _embedder(library)
    embedding = library.config.embedding
    await library.memory.check_model(embedding.provider, embedding.model, embedder.dimensions)
    pace = pace or Pace()
    pace.per_minute = per_minute
    return await _Reindexing(
        library, plan, PacedRequests(embedder, pace, patience), embedder.dimensions, advance, pace
    ).run()


class _Reindexing:
    """One run; `filled`, `left`, `zeros` and `failed` are so far."""

    def __init__(
        self,
        library: Library,
        plan: ReindexPlan,
        requests: PacedRequests,
        dimensions: int,
        advance: Callable[[int], bool] | None,
        pace: Pace,
    ) -> None:
        self._library, self._requests, self._dimensions, self._advance = library, requests, dimensions, advance
        self._wanted = (*plan.missing, *plan.wrong)
        self._missing = frozenset(stamp.id for stamp in plan.missing)
        pace.goes_on = self._goes_on
        self.filled = self.left = self.zeros = 0
        self.failed: list[str] = []

    async def run(self) -> Reindexed:
        """Batch by batch until all are done, someone stops, or the endpoint says no."""
        batch: list[StoredRow] = []
        try:
            for stamp in self._wanted:
                row = await self._still_wanted(stamp)
                if row is None:
                    self.left += 1
                    continue
                if batch and (len(batch) == AT_ONCE or _characters([*batch, row]) > _MOST_CHARACTERS):
                    await self._do(batch)
                    batch = []
                    if not self._goes_on():
                        return self._ended(stopped=True)
                batch.append(row)
            if batch:
                await self._do(batch)
                self._goes_on()
        except StoppedWaiting:
            return self._ended(stopped=True)
        except EmbeddingFailed as failure:
            self.failed.append(failure.message)
        return self._ended(stopped=False)

    async def _do(self, rows: Sequence[StoredRow]) -> None:
        made = await self._requests.vectors([self._library.memory.text_to_embed(row) for row in rows])
        embedding = self._library.config.embedding
        vectors: list[NewVector] = []
        for row, found in zip(rows, made, strict=True):
            name = one_line(row.key)[:_LONGEST_KEY_SHOWN]
            if isinstance(found, TextRefused):
                self.failed.append(f"{name}: {found.message}")
                continue
            self.zeros += not found.any()
            vector = Vector(found.astype("<f4").tobytes(), embedding.provider, embedding.model)
            vectors.append(NewVector(row.id, row.fingerprint, vector))
        filled = await self._library.memory.fill_vectors(vectors)
        self.filled += filled.filled
        self.left += len(filled.left)

    async def _still_wanted(self, stamp: Stamp) -> StoredRow | None:
        """The row as it is now; None where it has gone, or got a vector meanwhile."""
        row = await self._library.memory.stored(stamp.id)
        if row is None or not isinstance(row.values.get("content"), str):
            return None
        vector = row.values.get("embedding")
        has_one = bool(vector) and _is_good(vector, self._dimensions)
        return None if has_one and stamp.id in self._missing else row

    def _goes_on(self) -> bool:
        return self._advance is None or self._advance(self.filled)

    def _ended(self, *, stopped: bool) -> Reindexed:
        return Reindexed(self.filled, self.left, tuple(self.failed), stopped, self.zeros)


def _embedder(library: Library) -> Embedder:
    if not library.memory.capabilities.vectors:
        because = library.memory.capabilities.why_not.get("vectors", f"{library.memory.name} keeps no vectors.")
        raise Refused(because, hint="Nothing was sent.")
    if library.embedder is None:
        because = (library.no_embedder_because or "no embeddings configured").removeprefix("keyword only: ")
        raise Refused(f"No vectors can be made: {because}", hint="`zeroclaw onboard` sets it up.")
    return library.embedder


def _is_good(vector: object, dimensions: int) -> bool:
    """Whether a query of so many numbers can be like it: neither cut nor zero, and every number one."""
    import numpy as np

    if not isinstance(vector, bytes) or len(vector) != 4 * dimensions:
        return False
    numbers = np.frombuffer(vector, dtype="<f4").astype(np.float64)
    with np.errstate(all="ignore"):
        length = float(numbers @ numbers)
    return math.isfinite(length) and length > 0


def _characters(rows: Iterable[StoredRow]) -> int:
    return sum(len(str(row.values["content"])) for row in rows)
