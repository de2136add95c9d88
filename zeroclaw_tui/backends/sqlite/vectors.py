"""The vectors of a SQLite store: searched while the file is read, or in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.sqlite.recall import Hits
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.select import SqliteSelect
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.scoring.evidence import Hit
from zeroclaw_tui.scoring.neighbours import Near, Neighbour
from zeroclaw_tui.scoring.vectors import Nearest, QueryVector, VectorIndex

if TYPE_CHECKING:
    import numpy as np

_PAGE = 256
_OF_LENGTH = "FROM memories WHERE typeof(embedding) = 'blob' AND length(embedding) / 4 = ?"


class SqliteVectors:
    """Vector search over a file. The first search reads through the file; from the second on the vectors stay in
    memory, those of one length at a time, until another program writes.

    Loading takes half a second for 100,000 rows. One search at a time; `version` is that of the database.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._is_first = True
        self._index: VectorIndex | None = None
        self._version: int | None = None

    def search(
        self, query: np.ndarray, count: int, select: SqliteSelect, version: int, connection: sqlite3.Connection
    ) -> Hits:
        """The `count` best rows among those that a SELECT leaves."""
        if self._is_first:
            self._is_first = False
            return Hits.from_pairs(_read_through(query, count, select, connection)[0])
        import numpy as np

        index, positions = self._current(len(query), version, connection), None
        # One condition is that there is a vector.
        if len(select.conditions) > 1:
            # The order in which SQLite reads the rows in ZeroClaw's statement decides between ties.
            rowids = connection.execute(select.statement("m.rowid"), select.values)
            positions = index.positions(np.fromiter((rowid for (rowid,) in rowids), dtype=np.int64))
        return Hits.from_pairs(index.search(query, count, positions))

    def search_all(self, query: np.ndarray, version: int, connection: sqlite3.Connection) -> Hits:
        """Every row with a cosine above 0."""
        self._is_first = False
        return Hits(*self._current(len(query), version, connection).search_all(query))

    def nearest(self, to: Handle | np.ndarray, count: int, version: int, connection: sqlite3.Connection) -> Near | None:
        """The rows nearest to the vector of the row at a handle, or to a vector; None without a vector.

        They may be anyone's.
        """
        query = _vector_of(to, connection) if isinstance(to, Handle) else to
        if query is None or not len(query):
            return None
        if self._is_first:
            self._is_first = False
            select = SqliteSelect(self._schema)
            select.also("m.embedding IS NOT NULL")
            hits, compared = _read_through(query, count, select, connection)
        else:
            index = self._current(len(query), version, connection)
            hits, compared = index.search(query, count), len(index)
        return Near([Neighbour(handle, score) for handle, score in hits], compared)

    def _current(self, dimensions: int, version: int, connection: sqlite3.Connection) -> VectorIndex:
        """The vectors of this length as they are now."""
        if self._index is not None and (version, dimensions) == (self._version, self._index.dimensions):
            return self._index
        # The old ones make room first.
        self._index = None
        (count,) = connection.execute(f"SELECT count(*) {_OF_LENGTH}", (dimensions,)).fetchone()
        index = VectorIndex(dimensions, count)
        for page in _pages(connection.execute(f"SELECT rowid, embedding {_OF_LENGTH} ORDER BY rowid", (dimensions,))):
            index.append(*_block(page, dimensions))
        self._index, self._version = index, version
        return index


def _read_through(
    query: np.ndarray, count: int, select: SqliteSelect, connection: sqlite3.Connection
) -> tuple[list[Hit], int]:
    """Search the rows that a SELECT leaves while they are read, in the order of ZeroClaw's statement; with how many of
    them have vectors of that length."""
    nearest, compared = Nearest(QueryVector(query), count), 0
    for page in _pages(connection.execute(select.statement("m.rowid, m.embedding"), select.values)):
        rowids, vectors = _block(page, len(query))
        nearest.add(rowids, vectors)
        compared += len(rowids)
    return nearest.hits(), compared


def _pages(cursor: sqlite3.Cursor) -> Iterator[list[tuple[int, bytes]]]:
    while page := cursor.fetchmany(_PAGE):
        yield page


def _block(rows: Sequence[tuple[int, bytes]], dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """The rowids and vectors of this length; a trailing part of a number is ignored."""
    import numpy as np

    size = dimensions * 4
    of_length = [
        (rowid, blob[:size]) for rowid, blob in rows if isinstance(blob, bytes) and len(blob) // 4 == dimensions
    ]
    numbers = np.frombuffer(b"".join([blob for _, blob in of_length]), dtype="<f4")
    return np.array([rowid for rowid, _ in of_length], dtype=np.int64), numbers.reshape(len(of_length), dimensions)


def _vector_of(handle: Handle, connection: sqlite3.Connection) -> np.ndarray | None:
    row = connection.execute("SELECT embedding FROM memories WHERE rowid = ?", (handle,)).fetchone()
    return numbers_of(row[0]) if row is not None and isinstance(row[0], bytes) else None


def numbers_of(blob: bytes) -> np.ndarray:
    """A stored vector; a trailing part of a number is ignored."""
    import numpy as np

    return np.frombuffer(blob, dtype="<f4", count=len(blob) // 4).astype(np.float32)
