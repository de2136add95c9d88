"""Recall in Qdrant as ZeroClaw does it: the nearest points by cosine, without a threshold; no words are searched.

The vectors are those of key and content together, as ZeroClaw embeds them there.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from zeroclaw_tui.backends.answers import StoreRecall
from zeroclaw_tui.backends.base import Neighbours
from zeroclaw_tui.backends.generic import DEEPEST
from zeroclaw_tui.backends.listing import matches
from zeroclaw_tui.backends.qdrant.browse import Condition, Points, any_of, of_agents
from zeroclaw_tui.backends.qdrant.connect import Point
from zeroclaw_tui.backends.qdrant.points import DISTANCE, NO_AGENTS, NO_EMBEDDER, Shape, as_stored
from zeroclaw_tui.embeddings.base import AsksEndpoint, Embedder, TextRefused, query_with
from zeroclaw_tui.memory.change import Vector
from zeroclaw_tui.memory.errors import Refused, SearchInterrupted
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.evidence import Evidence, OwnEvidence
from zeroclaw_tui.scoring.neighbours import Neighbour
from zeroclaw_tui.scoring.profiles import ScoringProfile, ScoringSettings, parse_version

if TYPE_CHECKING:
    import numpy as np

NAME = "qdrant"
_AT_ONCE = 16
_LISTED_AT_MOST = 1000
"""How many points ZeroClaw's one page of a blank query holds."""
_IGNORED_LIMIT_BEFORE = (0, 5, 5)
_BLANK = "A blank query lists points in the order of their ids, as ZeroClaw does: nothing is scored."
_TIMES_HERE = "The times were applied here, to what Qdrant found: ZeroClaw hands it none."
_NO_TIMES = "ZeroClaw {} knows no times in a recall; they had no effect."
_NO_NAMESPACES = "ZeroClaw keeps no namespaces in Qdrant; the one asked for had no effect."


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

    def check(self, shape: Shape) -> None:
        """Raises Refused where nothing can be embedded for this collection."""
        if self._embedder is None:
            raise Refused(self.why_none or NO_EMBEDDER, hint="`zeroclaw onboard` sets it up.")
        self._check_length(self._embedder.dimensions, shape)

    async def vectors(self, texts: Sequence[str], shape: Shape) -> list[bytes]:
        """The vectors of texts as Qdrant will hold them. Raises Refused, EmbeddingFailed."""
        self.check(shape)
        made: list[bytes] = []
        for start in range(0, len(texts), _AT_ONCE):
            for numbers in await self._numbers(texts[start : start + _AT_ONCE]):
                self._check_length(len(numbers), shape)
                made.append(as_stored(numbers.astype("<f4").tobytes(), shape.distance))
        return made

    async def query(self, text: str, shape: Shape) -> list[float]:
        """The vector of a query. Raises Refused, EmbeddingFailed."""
        self.check(shape)
        assert self._embedder is not None
        return [float(number) for number in await query_with(self._embedder, text)]

    def given(self, vector: Vector, shape: Shape) -> bytes:
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

    def _check_length(self, dimensions: int, shape: Shape) -> None:
        if dimensions != shape.dimensions:
            raise Refused(
                f"The collection holds vectors of {shape.dimensions} numbers, and this one has {dimensions}.",
                hint=f"Set memory.embedding_dimensions to {shape.dimensions} if the model makes such vectors.",
            )


class Search:
    """Searches of one open collection, one at a time."""

    def __init__(self, points: Points, embedding: Embedding) -> None:
        self._points = points
        self._embedding = embedding
        self._running: asyncio.Future[StoreRecall] | None = None
        self._stopped: asyncio.Future[StoreRecall] | None = None

    async def run(
        self, request: RecallRequest, profile: ScoringProfile, query_vector: np.ndarray | None
    ) -> StoreRecall:
        """The nearest memories; without an embedder none, with a note why. Raises SearchInterrupted after `stop`."""
        running = asyncio.ensure_future(self._found(request, profile, query_vector))
        self._running = running
        try:
            return await running
        except asyncio.CancelledError:
            if self._stopped is running:
                raise SearchInterrupted from None
            raise
        finally:
            running.cancel()

    def stop(self) -> None:
        """End the search that runs now."""
        if self._running is not None and not self._running.done():
            self._stopped = self._running
            self._running.cancel()

    async def ranking(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None,
    ) -> Evidence:
        """The ranking as deep as it goes; times leave rows out after the limit has cut it, so each keeps its place."""
        depth = max(DEEPEST, request.limit)
        found = await self.run(replace(request, limit=depth, since=None, until=None), profile, query_vector)
        within = _times_of(request, profile)
        kept = [scored for scored in found.entries if matches(scored.entry, within)]
        ignores_limit = _is_blank(request.query) and parse_version(profile.version) < _IGNORED_LIMIT_BEFORE
        return OwnEvidence(
            request,
            tuple(replace(scored, rank=rank) for rank, scored in enumerate(kept, 1)),
            found.mode,
            found.scale,
            len(found.entries) < depth,
            (*found.notes, *(note for note in self._notes(request, profile) if note not in found.notes)),
            tuple(0 if ignores_limit else scored.rank for scored in kept),
            profile.version,
            settings,
        )

    def check(self, query: str) -> None:
        """Raises Refused for a query that has to be embedded where nothing can be."""
        if not _is_blank(query):
            self._embedding.check(self._points.shape)

    async def around(self, id: str | None, vector: np.ndarray | None, limit: int) -> Neighbours:
        """The points nearest to one point or to a vector, and how many there are; None without such a vector."""
        shape = self._points.shape
        if shape.distance != DISTANCE:
            return None
        if vector is None:
            rows = await self._points.rows_of([id], vectors=True) if id is not None else []
            data = rows[0].values.get("embedding") if rows else None
            if not isinstance(data, bytes):
                return None
            numbers = [number for (number,) in struct.iter_unpack("<f", data)]
        elif len(vector) == shape.dimensions:
            numbers = [float(number) for number in vector]
        else:
            return None
        body = {"vector": numbers, "limit": limit, "with_payload": False}
        points = self._points.connection.points(await self._points.connection.ask("POST", "/points/search", body))
        scored = [(str(point["id"]), point.get("score")) for point in points]
        found = [
            Neighbour(handle, float(score)) for handle, score in scored if isinstance(score, int | float) and score > 0
        ]
        return found, await self._points.connection.count(None)

    async def _found(
        self, request: RecallRequest, profile: ScoringProfile, query_vector: np.ndarray | None
    ) -> StoreRecall:
        notes = self._notes(request, profile)
        conditions = self._conditions(request)
        if _is_blank(request.query):
            points = await self._listed(conditions, request.limit, profile)
            return StoreRecall(self._ranked(points, request, profile), NAME, self.scale, (*notes, _BLANK))
        why_none = self._embedding.why_none
        if query_vector is None and why_none is not None:
            return StoreRecall((), NAME, self.scale, ("ZeroClaw cannot search here.", why_none, *notes))
        shape = self._points.shape
        if query_vector is None:
            vector = await self._embedding.query(request.query, shape)
        else:
            vector = [float(number) for number in query_vector]
        if request.limit < 1:
            return StoreRecall((), NAME, self.scale, notes)
        body: dict[str, Any] = {"vector": vector, "limit": request.limit, "with_payload": True}
        if conditions is not None:
            body["filter"] = conditions
        points = self._points.connection.points(await self._points.connection.ask("POST", "/points/search", body))
        return StoreRecall(self._ranked(points, request, profile), NAME, self.scale, notes)

    @property
    def scale(self) -> str:
        """What the scores are, in a word or two."""
        distance = self._points.shape.distance
        return "cosine" if distance == DISTANCE else f"qdrant's {distance.lower()} distance"

    def _conditions(self, request: RecallRequest) -> Condition | None:
        must: list[Condition] = []
        if request.session_id is not None:
            must.append(any_of("session_id", [request.session_id]))
        if request.agents is not None and self._points.shape.has_agents:
            must.append(of_agents(request.agents))
        return {"must": must} if must else None

    async def _listed(self, conditions: Condition | None, limit: int, profile: ScoringProfile) -> Sequence[Point]:
        ignores_limit = parse_version(profile.version) < _IGNORED_LIMIT_BEFORE
        body: dict[str, Any] = {"limit": _LISTED_AT_MOST, "with_payload": True, "with_vector": False}
        if not ignores_limit:
            body["limit"] = min(limit, _LISTED_AT_MOST)
        if conditions is not None:
            body["filter"] = conditions
        if body["limit"] < 1:
            return []
        result = self._points.connection.table(await self._points.connection.ask("POST", "/points/scroll", body))
        return self._points.connection.points(result.get("points"))

    def _ranked(
        self, points: Sequence[Point], request: RecallRequest, profile: ScoringProfile
    ) -> tuple[ScoredEntry, ...]:
        within = _times_of(request, profile)
        shape = self._points.shape
        is_cosine = shape.distance == DISTANCE
        found: list[ScoredEntry] = []
        for point in points:
            entry = shape.entry(shape.row(point))
            number = point.get("score")
            score = float(number) if isinstance(number, int | float) else None
            if matches(entry, within):
                found.append(ScoredEntry(entry, len(found) + 1, score, score if is_cosine else None, stage=NAME))
        return tuple(found)

    def _notes(self, request: RecallRequest, profile: ScoringProfile) -> tuple[str, ...]:
        notes: list[str] = []
        if request.since is not None or request.until is not None:
            notes.append(_TIMES_HERE if profile.has_time_bounds else _NO_TIMES.format(profile.version))
        if request.namespace is not None:
            notes.append(_NO_NAMESPACES)
        if request.agents is not None and not self._points.shape.has_agents:
            notes.append(NO_AGENTS)
        return tuple(notes)


def _times_of(request: RecallRequest, profile: ScoringProfile) -> MemoryFilter:
    if not profile.has_time_bounds:
        return MemoryFilter()
    return MemoryFilter(newer_than=request.since, older_than=request.until)


def _is_blank(query: str) -> bool:
    return not query.strip(WHITE_SPACE)
