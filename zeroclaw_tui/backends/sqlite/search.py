"""Recall on a SQLite store exactly as the ZeroClaw of a profile does it, faults included; it never writes."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.base import T
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
        mode, is_listing = mode_in(trial.settings, trial.profile), lists_recent(trial.request.query, trial.profile)
        vector = None if mode == "bm25" else query_vector
        scope = scope_of(trial.request, trial.profile, self._schema, vector_live=vector is not None)

        def gather_all(connection: sqlite3.Connection) -> StageEvidence:
            vectors = Hits.from_pairs()
            if vector is not None and len(vector):
                vectors = self._vectors.search_all(vector, version, connection)
            known = self._all_rows if version == self._version_of_rows else None
            evidence = gather(scope, vectors, known, connection)
            self._all_rows = evidence.rows if len(evidence.rows.handles) == evidence.store_rows else None
            self._version_of_rows = version
            return evidence

        def gather_some(connection: sqlite3.Connection) -> StageEvidence:
            narrowed, keyword, vectors = scope.with_agents(connection), Hits.from_pairs(), Hits.from_pairs()
            if words(trial.request.query) and not is_listing:
                if mode != "embedding":
                    keyword = search_keywords(narrowed, connection)
                if vector is not None and len(vector):
                    select, most = narrowed.vector_select(), narrowed.stage_limit
                    vectors = self._vectors.search(vector, most, select, version, connection)
            return gather_cut(narrowed, trial.settings, keyword, vectors, connection)

        evidence = await self._run(gather_all if deep else gather_some)
        return replace(
            evidence,
            dimensions=None if vector is None else len(vector),
            vector_asked=mode != "bm25" and not (deep and is_listing),
        )

    async def near(self, to: Handle | np.ndarray, count: int, version: int) -> Near | None:
        """Find the rows nearest to the vector of the row at a handle, or to a vector; None without a vector."""
        return await self._run(lambda connection: self._vectors.nearest(to, count, version, connection))

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Work on one state of the database, after every earlier search."""

        def run(connection: sqlite3.Connection) -> T:
            with one_state(connection):
                return work(connection)

        async with self._one_at_a_time:
            return await self._reads.run(run)
