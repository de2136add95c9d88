"""Recall on a SQLite store exactly as the ZeroClaw of a profile does it, faults included; it never writes."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.cancellation import ReadWorkerPool
from zeroclaw_tui.backends.sqlite.recall import Hits, gather, gather_cut, one_state, scope_of, search_keywords
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.vectors import SqliteVectors
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.scoring.evidence import RowTable, StageEvidence
from zeroclaw_tui.scoring.keywords import lists_recent, words
from zeroclaw_tui.scoring.neighbours import Near
from zeroclaw_tui.scoring.profiles import Trial, mode_in

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
        self._all_rows: RowTable | None = None
        self._version_of_rows: int | None = None

    async def gathered(
        self, trial: Trial, query_vector: np.ndarray | None, version: int, *, deep: bool
    ) -> StageEvidence:
        """The hits of the stages and what the filters look at: all, or cut as ZeroClaw's statements cut them."""
        mode = mode_in(trial.settings, trial.profile)
        vector = None if mode == "bm25" else query_vector
        work = partial(self._gather if deep else self._gather_cut, trial, vector, version)
        async with self._one_at_a_time:
            evidence = await self._reads.run(work)
        return replace(
            evidence,
            dimensions=None if vector is None else len(vector),
            vector_asked=mode != "bm25" and not (deep and lists_recent(trial.request.query, trial.profile)),
        )

    async def near(self, to: Handle | np.ndarray, count: int, version: int) -> Near | None:
        """Find the rows nearest to the vector of the row at a handle, or to a vector; None without a vector."""

        def nearest(connection: sqlite3.Connection) -> Near | None:
            with one_state(connection):
                return self._vectors.nearest(to, count, version, connection)

        async with self._one_at_a_time:
            return await self._reads.run(nearest)

    def _gather(
        self, trial: Trial, vector: np.ndarray | None, version: int, connection: sqlite3.Connection
    ) -> StageEvidence:
        scope = scope_of(trial.request, trial.profile, self._schema, vector_live=vector is not None)
        with one_state(connection):
            vectors = Hits.from_pairs()
            if vector is not None and len(vector):
                vectors = self._vectors.search_all(vector, version, connection)
            known = self._all_rows if version == self._version_of_rows else None
            evidence = gather(scope, vectors, known, connection)
        self._all_rows = evidence.rows if len(evidence.rows.handles) == evidence.store_rows else None
        self._version_of_rows = version
        return evidence

    def _gather_cut(
        self, trial: Trial, vector: np.ndarray | None, version: int, connection: sqlite3.Connection
    ) -> StageEvidence:
        scope = scope_of(trial.request, trial.profile, self._schema, vector_live=vector is not None)
        keyword = vectors = Hits.from_pairs()
        with one_state(connection):
            scope = scope.with_agents(connection)
            if words(trial.request.query) and not lists_recent(trial.request.query, trial.profile):
                if mode_in(trial.settings, trial.profile) != "embedding":
                    keyword = search_keywords(scope, connection)
                if vector is not None and len(vector):
                    select = scope.vector_select()
                    vectors = self._vectors.search(vector, scope.stage_limit, select, version, connection)
            return gather_cut(scope, trial.settings, keyword, vectors, connection)
