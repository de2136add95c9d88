"""Recall on a SQLite store exactly as the ZeroClaw version of a profile, including its bugs, without writing."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.base import T
from zeroclaw_tui.backends.cancellation import ReadWorkerPool
from zeroclaw_tui.backends.sqlite import recall
from zeroclaw_tui.backends.sqlite.recall import Hits
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.select import SqliteSelect
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.scoring.evidence import RowTable, StageEvidence
from zeroclaw_tui.scoring.keywords import lists_recent, words
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.scoring.vectors import Nearest, QueryVector, VectorIndex

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.scoring.neighbours import Near

_PAGE = 256
_MAX_CACHED_ROWS = 20_000
"""In a larger store, a recall reads only the rows of its hits."""
_OF_LENGTH = "FROM memories WHERE typeof(embedding) = 'blob' AND length(embedding) / 4 = ?"


class SqliteSearch:
    """Searches one open store, and caches its vectors and rows until another program writes.

    The first search by vector reads through the file. The second loads all vectors of the query's length into memory,
    which takes half a second for 100,000 rows.

    `version` is the current version of the database. The searches raise InspectorError kinds, and SearchInterrupted if
    the store is closed while they run.
    """

    def __init__(self, reads: ReadWorkerPool, schema: Schema) -> None:
        self._reads = reads
        self._schema = schema
        self._search_lock = asyncio.Lock()
        self._vector_thread = ThreadPoolExecutor(1)
        """Compares vectors while the thread of the search reads."""
        self._is_first = True
        self._version: int | None = None
        """The version of the database that the following attributes were read from."""
        self._all_rows: RowTable | None = None
        self._index: VectorIndex | None = None

    async def gather(self, trial: Trial, query_vector: np.ndarray | None, version: int, *, deep: bool) -> StageEvidence:
        """Gather the hits of every stage and their rows: all with `deep`, else what ZeroClaw's statements return."""
        mode, is_listing = trial.search_mode, lists_recent(trial.request.query, trial.profile)
        vector = None if mode == "bm25" else query_vector
        scope = recall.scope_of(trial.request, trial.profile, self._schema, None if vector is None else len(vector))

        def read_all(connection: sqlite3.Connection) -> StageEvidence:
            vectors = Hits.from_pairs()
            if vector is not None and len(vector):
                self._is_first = False
                index = self._current_index(len(vector), connection)
                vectors = Hits(*index.search(vector, len(index)))
            evidence = recall.gather_all(scope, vectors, self._all_rows, connection)
            if len(evidence.rows.handles) == evidence.store_rows:
                self._all_rows = evidence.rows
            return replace(evidence, vector_requested=mode != "bm25" and not is_listing)

        def read_limited(connection: sqlite3.Connection) -> StageEvidence:
            narrowed, keyword, nearest = scope.with_agents(connection), Hits.from_pairs(), None
            rows = self._rows_if_few(connection)
            if words(trial.request.query) and not is_listing:
                if vector is not None and len(vector):
                    compare = self._comparison(vector, narrowed.stage_limit, narrowed.vector_select(), connection)
                    nearest = self._vector_thread.submit(compare)
                if mode != "embedding":
                    keyword = recall.search_keywords(narrowed, connection)
            vectors = Hits.from_pairs() if nearest is None else nearest.result()[0]
            return recall.gather_limited(narrowed, trial, keyword, vectors, rows, connection)

        return await self._run(read_all if deep else read_limited, version)

    async def near(self, to: Handle | np.ndarray, count: int, version: int) -> Near | None:
        """Find the rows of all agents nearest to a vector, or to the vector of the row with this handle.

        None if that row has no vector.
        """
        from zeroclaw_tui.scoring.neighbours import Near, Neighbour

        def find(connection: sqlite3.Connection) -> Near | None:
            query = _vector_of(to, connection) if isinstance(to, Handle) else to
            if query is None or not len(query):
                return None
            select = SqliteSelect(self._schema)
            select.also("m.embedding IS NOT NULL")
            hits, compared = self._comparison(query, count, select, connection)()
            pairs = zip(hits.handles.tolist(), hits.scores.tolist(), strict=True)
            return Near([Neighbour(handle, score) for handle, score in pairs], compared)

        return await self._run(find, version)

    async def _run(self, work: Callable[[sqlite3.Connection], T], version: int) -> T:
        """Run the work in one read transaction, after all earlier searches."""

        def run(connection: sqlite3.Connection) -> T:
            if version != self._version:
                self._version, self._all_rows, self._index = version, None, None
            # All statements of the work see the same state of the database.
            connection.execute("BEGIN")
            return work(connection)

        async with self._search_lock:
            return await self._reads.run(run)

    def _rows_if_few(self, connection: sqlite3.Connection) -> RowTable | None:
        """All rows of a small store, cached from the second search by vector on; otherwise None."""
        if self._is_first or connection.execute(recall.HIGHEST_ROWID).fetchone() > (_MAX_CACHED_ROWS,):
            return None
        self._all_rows = self._all_rows or recall.read_row_table(connection, self._schema)
        return self._all_rows

    def _comparison(
        self, query: np.ndarray, count: int, select: SqliteSelect, connection: sqlite3.Connection
    ) -> Callable[[], tuple[Hits, int]]:
        """Read what is needed to find the best rows of a SELECT that have a vector.

        The returned function, which needs no connection, finds them and counts the compared vectors. Rows with equal
        scores keep the order in which SQLite reads them in ZeroClaw's statement.
        """
        if self._is_first:
            self._is_first = False
            nearest, compared = Nearest(QueryVector(query), count), 0
            cursor = connection.execute(select.statement("m.rowid, m.embedding"), select.values)
            while page := cursor.fetchmany(_PAGE):
                rowids, vectors = _vectors_of_length(page, len(query))
                nearest.add(rowids, vectors)
                compared += len(rowids)
            return lambda: (Hits(*nearest.hits()), compared)
        import numpy as np

        index, positions = self._current_index(len(query), connection), None
        # The first condition is that the row has a vector.
        if len(select.conditions) > 1:
            found = connection.execute(select.statement("m.rowid"), select.values)
            positions = index.positions(np.fromiter((rowid for (rowid,) in found), dtype=np.int64))
        return lambda: (Hits(*index.search(query, count, positions)), len(index))

    def _current_index(self, dimensions: int, connection: sqlite3.Connection) -> VectorIndex:
        """Give all vectors of this length, loaded from the database where they are not in memory."""
        if self._index is not None and dimensions == self._index.dimensions:
            return self._index
        # Frees the memory of the old index before the new one is loaded.
        self._index = None
        (count,) = connection.execute(f"SELECT count(*) {_OF_LENGTH}", (dimensions,)).fetchone()
        index = VectorIndex(dimensions, count)
        cursor = connection.execute(f"SELECT rowid, embedding {_OF_LENGTH} ORDER BY rowid", (dimensions,))
        while page := cursor.fetchmany(_PAGE):
            index.append(*_vectors_of_length(page, dimensions))
        self._index = index
        return index


def _vectors_of_length(rows: Sequence[tuple[int, bytes]], dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Pick the rows whose vectors have this length; bytes after the last whole number are ignored."""
    import numpy as np

    size = dimensions * 4
    rowids, blobs = zip(*rows, strict=True)
    # The check of a whole page is much faster than one of each row.
    if {*map(type, blobs)} != {bytes} or {*map(len, blobs)} != {size}:
        of_length = [(rowid, blob) for rowid, blob in rows if isinstance(blob, bytes) and len(blob) // 4 == dimensions]
        rowids, blobs = tuple(rowid for rowid, _ in of_length), tuple(blob[:size] for _, blob in of_length)
    numbers = np.frombuffer(b"".join(blobs), dtype="<f4")
    return np.array(rowids, dtype=np.int64), numbers.reshape(len(rowids), dimensions)


def _vector_of(handle: Handle, connection: sqlite3.Connection) -> np.ndarray | None:
    row = connection.execute("SELECT embedding FROM memories WHERE rowid = ?", (handle,)).fetchone()
    return vector_from_blob(row[0]) if row is not None and isinstance(row[0], bytes) else None


def vector_from_blob(blob: bytes) -> np.ndarray:
    """Convert a stored vector; bytes after the last whole number are ignored."""
    import numpy as np

    return np.frombuffer(blob, dtype="<f4", count=len(blob) // 4).astype(np.float32)
