"""Recall on a SQLite store exactly as the ZeroClaw of a profile does it, faults included; it never writes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.cancellation import ReadWorkerPool
from zeroclaw_tui.backends.sqlite.recall import (
    Hits,
    KnownRows,
    SqlScope,
    gather,
    gather_cut,
    scope_of,
    search_keywords,
)
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.vectors import SqliteVectors
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.scoring.evidence import StageEvidence
from zeroclaw_tui.scoring.keywords import lists_recent, words
from zeroclaw_tui.scoring.neighbours import Near
from zeroclaw_tui.scoring.profiles import SearchMode, Trial, mode_in

if TYPE_CHECKING:
    import numpy as np


class SqliteSearch:
    """The searches of one open store, and what they know for the next search.

    `version` is that of the database now. The searches raise InspectorError kinds, and SearchInterrupted if the store
    is closed in the meantime.
    """

    def __init__(self, reads: ReadWorkerPool, schema: Schema) -> None:
        self._reads = reads
        self._schema = schema
        self._vectors = SqliteVectors(schema)
        self._one_at_a_time = asyncio.Lock()
        self._known: KnownRows | None = None

    async def gathered(
        self, trial: Trial, query_vector: np.ndarray | None, version: int, *, deep: bool
    ) -> StageEvidence:
        """The hits of the stages and what the filters look at: all, or cut as ZeroClaw's statements cut them."""
        request, profile = trial.request, trial.profile
        mode = mode_in(trial.settings, profile)
        vector = None if mode == "bm25" else query_vector
        scope = scope_of(request, profile, self._schema, vector_live=vector is not None)
        is_listing = lists_recent(request.query, profile)
        if deep:
            vectors = await self._vector_stage(scope, vector, version, deep=True)
            evidence, self._known = await self._reads.run(partial(gather, scope, vectors, self._known, version))
        else:
            if scope.request.agents is not None:
                scope = await self._reads.run(scope.with_agents)
            keyword = vectors = Hits.from_pairs()
            if words(request.query) and not is_listing:
                keyword, vectors = await asyncio.gather(
                    self._keyword_stage(scope, mode), self._vector_stage(scope, vector, version)
                )
            evidence = await self._reads.run(partial(gather_cut, scope, trial.settings, keyword, vectors))
        return replace(
            evidence,
            dimensions=None if vector is None else len(vector),
            vector_asked=mode != "bm25" and not (deep and is_listing),
        )

    async def near(self, to: Handle | np.ndarray, count: int, version: int) -> Near | None:
        """Find the rows nearest to the vector of the row at a handle, or to a vector; None without a vector."""
        async with self._one_at_a_time:
            return await self._reads.run(partial(self._vectors.nearest, to, count, version))

    async def _keyword_stage(self, scope: SqlScope, mode: SearchMode) -> Hits:
        if mode == "embedding":
            return Hits.from_pairs()
        return await self._reads.run(partial(search_keywords, scope))

    async def _vector_stage(
        self, scope: SqlScope, vector: np.ndarray | None, version: int, *, deep: bool = False
    ) -> Hits:
        if vector is None or not len(vector):
            return Hits.from_pairs()
        search = partial(self._vectors.search, vector, scope.stage_limit, scope.vector_select(), version)
        async with self._one_at_a_time:
            return await self._reads.run(partial(self._vectors.search_all, vector, version) if deep else search)
