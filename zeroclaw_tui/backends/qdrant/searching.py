"""Recall in Qdrant as ZeroClaw does it: the nearest points by cosine, without a threshold; no words are searched."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.base import Neighbours, Scored, StoreRecall
from zeroclaw_tui.backends.generic_recall import DEEPEST
from zeroclaw_tui.backends.listing import matches
from zeroclaw_tui.backends.qdrant import filters
from zeroclaw_tui.backends.qdrant.browse import BrowsedQdrant
from zeroclaw_tui.backends.qdrant.collection import DISTANCE
from zeroclaw_tui.backends.qdrant.connection import Connection, Point
from zeroclaw_tui.backends.qdrant.embedding import Embedding
from zeroclaw_tui.backends.qdrant.points import entry_of, row_of
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import SearchInterrupted
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.evidence import Evidence, Neighbour, OwnEvidence
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, parse_version, profile_for
from zeroclaw_tui.scoring.settings import ScoringSettings

if TYPE_CHECKING:
    import numpy as np

NAME = "qdrant"
_LISTED_AT_MOST = 1000
"""How many points ZeroClaw's one page of a blank query holds."""
_IGNORES_LIMIT_BEFORE = (0, 5, 5)
_BLANK = "A blank query lists points in the order of their ids, as ZeroClaw does: nothing is scored."
_TIMES_HERE = "The times were applied here, to what Qdrant found: ZeroClaw hands it none."
_NO_TIMES = "ZeroClaw {} knows no times in a recall; they had no effect."
_NO_NAMESPACES = "ZeroClaw keeps no namespaces in Qdrant; the one asked for had no effect."


class SearchedQdrant(BrowsedQdrant):
    """The searching half."""

    embeds_itself = True
    ids_are_uuids = True
    keeps_updates = False

    def __init__(self, connection: Connection, embedding: Embedding) -> None:
        super().__init__(connection)
        self._embedding = embedding
        self._searching: asyncio.Future[Any] | None = None
        self._interrupted: asyncio.Future[Any] | None = None

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """The nearest memories by the newest rules. Raises Refused without an embedder, EmbeddingFailed."""
        request = RecallRequest(query, limit, session_id, since=since, until=until)
        if not _is_blank(query):
            self._embedding.check(self._shape)
        return [*(await self.search(request, profile_for(NEWEST), ScoringSettings())).entries]

    async def search(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> StoreRecall:
        """The nearest memories by the rules of `profile`; without an embedder none, with a note why.

        Raises EmbeddingFailed where the query's vector cannot be had: ZeroClaw's own recall fails then too.
        """
        running = asyncio.ensure_future(self._found(request, profile, query_vector))
        self._searching = running
        try:
            return await running
        except asyncio.CancelledError:
            if self._interrupted is running:
                raise SearchInterrupted from None
            raise
        finally:
            running.cancel()

    async def evidence(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> Evidence:
        """The ranking as deep as it goes; times leave rows out after the limit has cut it, so each keeps its place."""
        depth = max(DEEPEST, request.limit)
        found = await self.search(
            replace(request, limit=depth, since=None, until=None), profile, settings, query_vector
        )
        within = _within(request, profile)
        kept = [scored for scored in found.entries if matches(scored.entry, within)]
        ignores_limit = _is_blank(request.query) and parse_version(profile.version) < _IGNORES_LIMIT_BEFORE
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

    async def nearest(self, entry: MemoryEntry | None, vector: np.ndarray | None, limit: int) -> Neighbours:
        """The nearest points by the collection's own distance."""
        shape = self._shape
        if shape.distance != DISTANCE:
            return None
        if vector is None:
            row = await self.stored(entry.id) if entry is not None else None
            data = row.values.get("embedding") if row is not None else None
            if not isinstance(data, bytes):
                return None
            numbers = [number for (number,) in struct.iter_unpack("<f", data)]
        elif len(vector) == shape.dimensions:
            numbers = [float(number) for number in vector]
        else:
            return None
        body = {"vector": numbers, "limit": limit, "with_payload": False}
        points = self._connection.points(await self._connection.ask("POST", "/points/search", body))
        scored = [(str(point["id"]), point.get("score")) for point in points]
        found = [
            Neighbour(handle, float(score)) for handle, score in scored if isinstance(score, int | float) and score > 0
        ]
        return found, await self.count()

    def interrupt(self) -> None:
        """Stop the search that runs now; it raises SearchInterrupted."""
        if self._searching is not None and not self._searching.done():
            self._interrupted = self._searching
            self._searching.cancel()

    async def _found(
        self, request: RecallRequest, profile: ScoringProfile, query_vector: np.ndarray | None
    ) -> StoreRecall:
        notes = self._notes(request, profile)
        conditions = self._conditions(request)
        if _is_blank(request.query):
            points = await self._listed(conditions, request.limit, profile)
            return StoreRecall(self._ranked(points, request, profile), NAME, self._scale, (*notes, _BLANK))
        why_none = self._embedding.why_none
        if query_vector is None and why_none is not None:
            return StoreRecall((), NAME, self._scale, ("ZeroClaw cannot search here.", why_none, *notes))
        shape = self._shape
        if query_vector is None:
            vector = await self._embedding.query(request.query, shape)
        else:
            vector = [float(number) for number in query_vector]
        if request.limit < 1:
            return StoreRecall((), NAME, self._scale, notes)
        body: dict[str, Any] = {"vector": vector, "limit": request.limit, "with_payload": True}
        if conditions is not None:
            body["filter"] = conditions
        points = self._connection.points(await self._connection.ask("POST", "/points/search", body))
        return StoreRecall(self._ranked(points, request, profile), NAME, self._scale, notes)

    @property
    def _scale(self) -> str:
        distance = self._shape.distance
        return "cosine" if distance == DISTANCE else f"qdrant's {distance.lower()} distance"

    def _conditions(self, request: RecallRequest) -> filters.Condition | None:
        must: list[filters.Condition] = []
        if request.session_id is not None:
            must.append(filters.any_of("session_id", [request.session_id]))
        if request.agents is not None and self._has_agents:
            must.append(filters.of_agents(request.agents))
        return {"must": must} if must else None

    async def _listed(
        self, conditions: filters.Condition | None, limit: int, profile: ScoringProfile
    ) -> Sequence[Point]:
        ignores_limit = parse_version(profile.version) < _IGNORES_LIMIT_BEFORE
        body: dict[str, Any] = {"limit": _LISTED_AT_MOST, "with_payload": True, "with_vector": False}
        if not ignores_limit:
            body["limit"] = min(limit, _LISTED_AT_MOST)
        if conditions is not None:
            body["filter"] = conditions
        if body["limit"] < 1:
            return []
        result = self._connection.table(await self._connection.ask("POST", "/points/scroll", body))
        return self._connection.points(result.get("points"))

    def _ranked(
        self, points: Sequence[Point], request: RecallRequest, profile: ScoringProfile
    ) -> tuple[ScoredEntry, ...]:
        within = _within(request, profile)
        is_cosine = self._shape.distance == DISTANCE
        found: list[ScoredEntry] = []
        for point in points:
            entry = entry_of(row_of(point, has_agents=self._has_agents), self._shape.dimensions)
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
        if request.agents is not None and not self._has_agents:
            notes.append(self.capabilities.why_not["agents"])
        return tuple(notes)


def _within(request: RecallRequest, profile: ScoringProfile) -> MemoryFilter:
    if not profile.has_time_bounds:
        return MemoryFilter()
    return MemoryFilter(newer_than=request.since, older_than=request.until)


def _is_blank(query: str) -> bool:
    return not query.strip(WHITE_SPACE)
