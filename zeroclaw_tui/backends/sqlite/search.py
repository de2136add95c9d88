"""Recall on a SQLite store exactly as the ZeroClaw of a profile does it, faults included; it never writes."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.sqlite.evidence import KnownRows, gather, gather_cut, word_shares
from zeroclaw_tui.backends.sqlite.hits import (
    KeywordHits,
    SearchThread,
    SqlScope,
    Ticket,
    read_rows,
    scope_of,
    search_keywords,
)
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.vectors import AllVectorHits, SqliteVectors, VectorFacts, VectorHits
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.evidence import StageEvidence, WordShare
from zeroclaw_tui.scoring.keywords import lists_recent, words
from zeroclaw_tui.scoring.neighbours import Neighbour
from zeroclaw_tui.scoring.profiles import ScoringProfile, ScoringSettings, mode_in

if TYPE_CHECKING:
    import numpy as np


class SqliteSearch:
    """The search side of one open store, on connections and threads of its own.

    What searches raises InspectorError kinds, and SearchInterrupted when `interrupt` or a cancelled await stopped it.
    """

    def __init__(self, path: Path, schema: Schema) -> None:
        self._schema = schema
        self._thread = SearchThread(path, "recall")
        self._vectors = SqliteVectors(path, schema)
        self._asked: set[Ticket] = set()
        self._known: KnownRows | None = None

    async def open(self) -> None:
        """Open the connection, so that a file that cannot be read is told now."""
        await self._thread.run(Ticket(), lambda connection: None)

    async def close(self) -> None:
        """Stop every search and let go of connections, threads and vectors."""
        self.interrupt()
        await self._vectors.close()
        await self._thread.close()

    def interrupt(self) -> None:
        """Call off every recall that runs or waits; loading vectors goes on."""
        for ticket in tuple(self._asked):
            self._thread.call_off(ticket)
            self._vectors.call_off(ticket)

    def vector_facts(self) -> VectorFacts:
        """How many vectors there are of each length, and which are in memory; empty before they were looked at."""
        return self._vectors.facts

    async def prepare_vectors(self, queries: Sequence[np.ndarray] = ()) -> None:
        """Load vectors ahead of the first search: those that these queries, of one length, are going to be compared
        with at once; without any those of the most frequent length."""
        if not self._schema.has("embedding"):
            return
        if not len(queries):
            await self._vectors.prepare()
            return
        ticket = Ticket()
        self._asked.add(ticket)
        try:
            await self._vectors.expect(ticket, queries)
        finally:
            self._asked.discard(ticket)

    async def cached_vector(self, text: str) -> np.ndarray | None:
        """ZeroClaw's cached vector for exactly this text, shape (dimensions,), float32; None when it has none."""
        if "embedding_cache" not in self._schema.tables:
            return None
        # ZeroClaw's key: the first eight bytes of the SHA-256 of the text, in hexadecimal.
        content_hash = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        blob = await self._thread.run(Ticket(), partial(_cached, content_hash))
        return _numbers(blob) if blob else None

    async def recall_evidence(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None,
    ) -> StageEvidence:
        """The hits that this recall looks at, and the rows it returns."""
        mode = mode_in(settings, profile)
        vector = None if mode == "bm25" else query_vector
        scope, _ = scope_of(request, profile, self._schema, vector_live=vector is not None)
        ticket = Ticket()
        self._asked.add(ticket)
        try:
            if scope.request.agents is not None:
                scope = await self._thread.run(ticket, scope.with_agents)
            searches = bool(words(request.query)) and not lists_recent(request.query, profile)
            keyword, vectors = KeywordHits(), VectorHits()
            if searches:
                keyword, vectors = await self._stages(ticket, scope, mode != "embedding", vector)
            cut = partial(gather_cut, scope, settings, ticket, keyword, vectors, self._known)
            gathered = await self._thread.run(ticket, cut)
        finally:
            self._asked.discard(ticket)
        self._known = gathered.known or self._known
        return replace(
            gathered.evidence, dimensions=None if vector is None else len(vector), vector_asked=mode != "bm25"
        )

    async def evidence(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None,
        *,
        wants_like: bool = True,
    ) -> StageEvidence:
        """Every hit of the stages, uncut, and what the filters look at. Raises as `recall_evidence` does.

        Without `wants_like` the LIKE fall-back is not read: of the stages it alone looks at every content.
        """
        is_asked = mode_in(settings, profile) != "bm25"
        vector = query_vector if is_asked else None
        scope, _ = scope_of(request, profile, self._schema, vector_live=vector is not None)
        ticket = Ticket()
        self._asked.add(ticket)
        try:
            vectors = await self._all_vectors(ticket, vector)
            whole = partial(gather, scope, ticket, vectors, self._known, wants_like=wants_like)
            gathered = await self._thread.run(ticket, whole)
        finally:
            self._asked.discard(ticket)
        self._known = gathered.known or self._known
        dimensions = None if vector is None else len(vector)
        return replace(
            gathered.evidence, dimensions=dimensions, vector_asked=is_asked and not lists_recent(request.query, profile)
        )

    async def word_shares(self, rowid: int, query: str, profile: ScoringProfile) -> list[WordShare] | None:
        """What each word of a query adds to a row's -bm25; None without a keyword index."""
        if not self._schema.has_fts:
            return None
        ticket = Ticket()
        self._asked.add(ticket)
        try:
            return await self._thread.run(ticket, partial(word_shares, query, profile, rowid, ticket))
        finally:
            self._asked.discard(ticket)

    async def nearest(
        self, rowid: int | None, vector: np.ndarray | None, count: int
    ) -> tuple[list[Neighbour], int] | None:
        """The rows nearest to a row's own vector, or to a given one, and how many were compared; None without one."""
        if not self._schema.has("embedding"):
            return None
        ticket = Ticket()
        self._asked.add(ticket)
        try:
            if vector is None:
                vector = None if rowid is None else await self._thread.run(ticket, partial(_vector_of, rowid))
            if vector is None or not len(vector):
                return None
            hits, compared = await self._vectors.nearest(ticket, vector, count)
        finally:
            self._asked.discard(ticket)
        return [Neighbour(handle, score) for handle, score in hits], compared

    async def whole_rows(self, rowids: Sequence[int]) -> list[MemoryEntry]:
        """The rows with their whole content, in that order; rows gone meanwhile are left out."""
        ticket = Ticket()
        self._asked.add(ticket)
        try:
            return await self._thread.run(ticket, partial(read_rows, ticket, self._schema, rowids))
        finally:
            self._asked.discard(ticket)

    async def _all_vectors(self, ticket: Ticket, vector: np.ndarray | None) -> AllVectorHits:
        if vector is None or not len(vector) or not self._schema.has("embedding"):
            import numpy as np

            return AllVectorHits(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
        return await self._vectors.search_all(ticket, vector)

    async def _stages(
        self, ticket: Ticket, scope: SqlScope, wants_keywords: bool, vector: np.ndarray | None
    ) -> tuple[KeywordHits, VectorHits]:
        """Both stages side by side, each on its thread, twice the limit from each."""
        count = scope.stage_limit
        tasks = (
            asyncio.ensure_future(self._keyword_stage(ticket, scope, count if wants_keywords else None)),
            asyncio.ensure_future(self._vector_stage(ticket, scope, count, vector)),
        )
        try:
            keyword, vectors = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return keyword, vectors

    async def _keyword_stage(self, ticket: Ticket, scope: SqlScope, count: int | None) -> KeywordHits:
        if count is None:
            return KeywordHits()
        return await self._thread.run(ticket, partial(search_keywords, scope, count))

    async def _vector_stage(self, ticket: Ticket, scope: SqlScope, count: int, vector: np.ndarray | None) -> VectorHits:
        if vector is None or not len(vector) or not self._schema.has("embedding"):
            return VectorHits()
        return await self._vectors.search(ticket, vector, count, scope.vector_conditions())


def _vector_of(rowid: int, connection: sqlite3.Connection) -> np.ndarray | None:
    row = connection.execute("SELECT embedding FROM memories WHERE rowid = ?", (rowid,)).fetchone()
    return _numbers(row[0]) if row is not None and isinstance(row[0], bytes) else None


def _numbers(blob: bytes) -> np.ndarray:
    """A stored vector; a trailing part of a number is ignored."""
    import numpy as np

    return np.frombuffer(blob, dtype="<f4", count=len(blob) // 4).astype(np.float32)


def _cached(content_hash: str, connection: sqlite3.Connection) -> bytes | None:
    statement = "SELECT embedding FROM embedding_cache WHERE content_hash = ?"
    row = connection.execute(statement, (content_hash,)).fetchone()
    return row[0] if row is not None and isinstance(row[0], bytes) else None
