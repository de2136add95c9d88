"""The vectors of a SQLite store: searched while the file is read, or in memory."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from zeroclaw_tui.backends.sqlite.recall import Hits
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.select import SqliteSelect
from zeroclaw_tui.files.database import connect_read_only_blocking, translate_sqlite_errors
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.errors import SearchInterrupted
from zeroclaw_tui.memory.text import counted
from zeroclaw_tui.scoring.evidence import Hit, VectorFaults
from zeroclaw_tui.scoring.neighbours import Near, Neighbour
from zeroclaw_tui.scoring.vectors import Nearest, QueryVector, VectorIndex

if TYPE_CHECKING:
    import numpy as np

Answer = TypeVar("Answer")

_STEPS = 1000
_PAGE = 256
_MIN_ROWID = -(2**63)
_MODEL = "SELECT key, value FROM memory_meta WHERE key LIKE 'embedding%' ORDER BY key"
_LENGTHS = "SELECT rowid, typeof(embedding), length(embedding)"
_VECTORS = """
    SELECT rowid, embedding FROM memories WHERE typeof(embedding) = 'blob' AND length(embedding) / 4 = ? AND rowid > ?
    ORDER BY rowid"""


class SearchThread:
    """Runs work on a connection of its own, one piece after another. Thread and connection stay for the next search."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._connection: sqlite3.Connection | None = None
        self._is_closed = False
        self._pending: set[threading.Event] = set()

    async def run(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Give the result of `work`. Cancelling the await cancels it."""
        if self._is_closed:
            raise SearchInterrupted
        is_cancelled = threading.Event()
        self._pending.add(is_cancelled)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, self._run, work, is_cancelled)
        except asyncio.CancelledError:
            is_cancelled.set()
            raise
        finally:
            self._pending.discard(is_cancelled)

    async def close(self) -> None:
        """Cancel everything, close the connection and end the thread."""
        if self._is_closed:
            return
        self._is_closed = True
        for is_cancelled in self._pending:
            is_cancelled.set()
        await asyncio.get_running_loop().run_in_executor(self._executor, self._close)
        self._executor.shutdown(wait=False)

    def _run(self, work: Callable[[sqlite3.Connection], Answer], is_cancelled: threading.Event) -> Answer:
        if is_cancelled.is_set():
            raise SearchInterrupted
        with translate_sqlite_errors(self._path):
            if self._connection is None:
                self._connection = connect_read_only_blocking(self._path)
            # SQLite asks every so many steps of a statement, and ends the statement once this is true.
            self._connection.set_progress_handler(is_cancelled.is_set, _STEPS)
            return work(self._connection)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@dataclass(frozen=True, slots=True)
class _Survey:
    """How many vectors a store has of each length, and the rows whose embedding is no BLOB."""

    rows: Mapping[int, int]
    not_blobs: frozenset[int]

    @property
    def failure(self) -> str:
        """Why the vector stage finds nothing where it meets one of `not_blobs`."""
        rows = counted(len(self.not_blobs), "row")
        return f"{rows} with an embedding that is no BLOB: ZeroClaw's vector search fails on it and finds nothing."

    def notes(self, dimensions: int) -> tuple[str, ...]:
        """Name the vectors of another length."""
        others = {length: rows for length, rows in self.rows.items() if length != dimensions}
        if not others:
            return ()
        listed = ", ".join(f"{counted(rows, 'row')} of {length}" for length, rows in sorted(others.items()))
        return (f"Vectors of another length than the query's {dimensions} have no vector score: {listed} dimensions.",)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """All vectors of one length as of one state of the database."""

    index: VectorIndex
    survey: _Survey
    version: int
    model: tuple[tuple[str, str], ...]
    stamps: list[tuple[int, str]]
    """Rowid and `updated_at` of each row in the index."""
    scans: dict[tuple[object, ...], np.ndarray] = field(default_factory=dict)
    """For each filter that was used the rowids it leaves, in the order of ZeroClaw's statement."""


class SqliteVectors:
    """Vector search over a file. The first search reads through the file; from the second on the vectors stay in
    memory, those of one length at a time.

    Loading takes half a second for 100,000 rows. Every search runs on one thread, which the connection belongs to.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._is_first = True
        self._loaded: _Loaded | None = None

    def search(self, query: np.ndarray, count: int, select: SqliteSelect, connection: sqlite3.Connection) -> Hits:
        """The `count` best rows among those that a SELECT leaves."""
        # One condition is that there is a vector.
        positions, is_filtered = None, len(select.conditions) > 1
        hits: Sequence[Hit] = ()
        if self._is_first:
            self._is_first = False
            hits, survey = _read_through(query, count, select, connection)
            has_failed = bool(survey.not_blobs)
            if is_filtered:
                survey = _survey_of(connection.execute(f"{_LENGTHS} FROM memories"))
        else:
            loaded = self._current(len(query), connection)
            survey = loaded.survey
            has_failed = bool(survey.not_blobs)
            if is_filtered:
                rowids = _scanned(connection, loaded, select)
                positions = loaded.index.positions(rowids)
                has_failed = not survey.not_blobs.isdisjoint(rowids.tolist())
            if not has_failed:
                hits = loaded.index.search(query, count, positions)
        if has_failed:
            return Hits.from_pairs(notes=(survey.failure,))
        return Hits.from_pairs(hits, survey.notes(len(query)))

    def search_all(self, query: np.ndarray, connection: sqlite3.Connection) -> Hits:
        """Every row with a cosine above 0."""
        import numpy as np

        self._is_first = False
        loaded = self._current(len(query), connection)
        survey = loaded.survey
        handles, scores = loaded.index.search_all(query)
        faults = VectorFaults(np.array(sorted(survey.not_blobs), dtype=np.int64), survey.failure)
        return Hits(handles, scores, survey.notes(len(query)), faults if survey.not_blobs else None)

    def nearest(self, to: Handle | np.ndarray, count: int, connection: sqlite3.Connection) -> Near | None:
        """The rows nearest to the vector of the row at a handle, or to a vector; None without a vector.

        They may be anyone's, and what is no vector keeps nothing from being found.
        """
        query = _vector_of(to, connection) if isinstance(to, Handle) else to
        if query is None or not len(query):
            return None
        if self._is_first:
            self._is_first = False
            select = SqliteSelect(self._schema)
            select.also("m.embedding IS NOT NULL")
            hits, survey = _read_through(query, count, select, connection)
            compared = survey.rows.get(len(query), 0)
        else:
            loaded = self._current(len(query), connection)
            hits, compared = loaded.index.search(query, count), len(loaded.index)
        return Near([Neighbour(handle, score) for handle, score in hits], compared)

    def _current(self, dimensions: int, connection: sqlite3.Connection) -> _Loaded:
        """The vectors of this length as they are now; loads them, or adds what is new."""
        # Read before the rows, so that a write in between is looked for again and never missed.
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        loaded = self._loaded
        if loaded is not None and loaded.version == version and dimensions == loaded.index.dimensions:
            return loaded
        # Whatever goes wrong from here on, half-changed vectors are never searched.
        self._loaded = None
        has_times = self._schema.has("updated_at")
        connection.execute("BEGIN")
        try:
            stamp = "updated_at" if has_times else "NULL"
            rows = connection.execute(f"{_LENGTHS}, {stamp} FROM memories ORDER BY rowid").fetchall()
            survey = _survey_of(row[:3] for row in rows)
            stamps = [(row[0], row[3]) for row in rows if row[1] == "blob" and row[2] // 4 == dimensions]
            # A new model of ZeroClaw >= 0.8.3 may leave every time stamp as it was.
            model = tuple(connection.execute(_MODEL)) if "memory_meta" in self._schema.tables else ()
            is_appended = (
                loaded is not None
                and has_times
                and (loaded.index.dimensions, loaded.model) == (dimensions, model)
                and loaded.stamps == stamps[: len(loaded.stamps)]
            )
            index, last = VectorIndex(dimensions, len(stamps)), _MIN_ROWID
            if loaded is not None and is_appended:
                index, last = loaded.index, loaded.stamps[-1][0] if loaded.stamps else _MIN_ROWID
            for page in _pages(connection.execute(_VECTORS, (dimensions, last))):
                index.append(*_block(page, dimensions))
        finally:
            connection.execute("ROLLBACK")
        self._loaded = _Loaded(index, survey, version, model, stamps)
        return self._loaded


def _read_through(
    query: np.ndarray, count: int, select: SqliteSelect, connection: sqlite3.Connection
) -> tuple[list[Hit], _Survey]:
    """Search the rows that a SELECT leaves while they are read, in the order of ZeroClaw's statement; with what vectors
    there are among them."""
    nearest = Nearest(QueryVector(query), count)
    lengths: Counter[int] = Counter()
    not_blobs: set[int] = set()
    for page in _pages(connection.execute(select.statement("m.rowid, m.embedding"), select.values)):
        vectors = [(rowid, blob) for rowid, blob in page if isinstance(blob, bytes)]
        if len(vectors) < len(page):
            not_blobs.update(rowid for rowid, blob in page if not isinstance(blob, bytes))
        lengths.update(len(blob) // 4 for _, blob in vectors)
        nearest.add(*_block(vectors, len(query)))
    return nearest.hits(), _Survey(lengths, frozenset(not_blobs))


def _pages(cursor: sqlite3.Cursor) -> Iterator[list[tuple[int, bytes]]]:
    while page := cursor.fetchmany(_PAGE):
        yield page


def _block(rows: Sequence[tuple[int, bytes]], dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """The rowids and vectors of this length; a trailing part of a number is ignored."""
    import numpy as np

    size = dimensions * 4
    of_length = [(rowid, blob[:size]) for rowid, blob in rows if len(blob) // 4 == dimensions]
    numbers = np.frombuffer(b"".join([blob for _, blob in of_length]), dtype="<f4")
    return np.array([rowid for rowid, _ in of_length], dtype=np.int64), numbers.reshape(len(of_length), dimensions)


def _survey_of(rows: Iterable[tuple[int, str, int]]) -> _Survey:
    """Count by rowid, type and length of the embedding."""
    lengths: Counter[int] = Counter()
    not_blobs: set[int] = set()
    for rowid, kind, length in rows:
        if kind == "blob":
            lengths[length // 4] += 1
        elif kind != "null":
            not_blobs.add(rowid)
    return _Survey(lengths, frozenset(not_blobs))


def _scanned(connection: sqlite3.Connection, loaded: _Loaded, select: SqliteSelect) -> np.ndarray:
    """The rowids of a filter in the order SQLite reads them in ZeroClaw's statement: it decides between ties."""
    import numpy as np

    key = (select.where, *select.values)
    if key not in loaded.scans:
        rows = connection.execute(select.statement("m.rowid"), select.values)
        loaded.scans[key] = np.fromiter((rowid for (rowid,) in rows), dtype=np.int64)
    return loaded.scans[key]


def _vector_of(handle: Handle, connection: sqlite3.Connection) -> np.ndarray | None:
    row = connection.execute("SELECT embedding FROM memories WHERE rowid = ?", (handle,)).fetchone()
    return numbers_of(row[0]) if row is not None and isinstance(row[0], bytes) else None


def numbers_of(blob: bytes) -> np.ndarray:
    """A stored vector; a trailing part of a number is ignored."""
    import numpy as np

    return np.frombuffer(blob, dtype="<f4", count=len(blob) // 4).astype(np.float32)
