"""Recall on a SQLite store exactly as the ZeroClaw of a profile does it, faults included; it never writes.

The keyword stage has a thread and a connection, the vectors have others and stay in memory.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from zeroclaw_tui.backends.sqlite.recall import (
    CancelToken,
    Conditions,
    KeywordHits,
    KnownRows,
    SearchThread,
    SqlScope,
    WordHits,
    gather,
    gather_cut,
    scope_of,
    search_keywords,
)
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.text import counted
from zeroclaw_tui.scoring.evidence import Hit, StageEvidence, VectorFaults
from zeroclaw_tui.scoring.keywords import lists_recent, words
from zeroclaw_tui.scoring.neighbours import Near, Neighbour
from zeroclaw_tui.scoring.profiles import ScoringProfile, ScoringSettings, mode_in
from zeroclaw_tui.scoring.vectors import Nearest, QueryVector, VectorIndex

if TYPE_CHECKING:
    import numpy as np


Answer = TypeVar("Answer")

_MAX_SCANS = 8
_PAGE = 256
_MIN_ROWID = -(2**63)
_MODEL = "SELECT key, value FROM memory_meta WHERE key LIKE 'embedding%' ORDER BY key"
_LENGTHS = "SELECT rowid, typeof(embedding), length(embedding)"
_EMBEDDED = "SELECT m.rowid, m.embedding FROM memories m WHERE m.embedding IS NOT NULL"
_VECTORS = """
    SELECT rowid, embedding FROM memories WHERE typeof(embedding) = 'blob' AND length(embedding) / 4 = ? AND rowid > ?
    ORDER BY rowid"""


@dataclass(frozen=True, slots=True)
class VectorHits:
    """The best rows with their cosines, best first, and sentences on rows that could not take part."""

    hits: Sequence[Hit] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AllVectorHits:
    """Every row with a cosine above 0: handles, int64, and cosines, float32, best first, equal ones by handle."""

    handles: np.ndarray
    scores: np.ndarray
    notes: tuple[str, ...] = ()
    faults: VectorFaults | None = None


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
class _Scan:
    """Positions in the index in scan order, and whether an embedding among these rows is no BLOB."""

    positions: np.ndarray
    has_failed: bool


@dataclass(frozen=True, slots=True)
class _Loaded:
    """All vectors of one length as of one state of the database."""

    index: VectorIndex
    survey: _Survey
    version: int
    model: tuple[tuple[str, str], ...]
    stamps: list[tuple[int, str]]
    """Rowid and `updated_at` of each row in the index."""
    scans: OrderedDict[tuple[object, ...], _Scan] = field(default_factory=OrderedDict)
    """Of the filters that were used last."""


class SqliteVectors:
    """Vector search over a file. The first search reads through the file; from the second on the vectors stay in
    memory, those of one length at a time.

    Loading takes half a second for 100,000 rows; a search that is cancelled leaves it running for the next.
    """

    def __init__(self, path: Path, schema: Schema) -> None:
        self._schema = schema
        self.thread = SearchThread(path, "vectors")
        self._is_first = True
        self._loaded: _Loaded | None = None
        self._loading: tuple[int, asyncio.Task[None]] | None = None
        self._life = CancelToken()

    async def search(self, token: CancelToken, query: np.ndarray, count: int, conditions: Conditions) -> VectorHits:
        """The `count` best rows among those the conditions leave. Raises InspectorError kinds, SearchInterrupted."""
        if self._is_first:
            self._is_first = False
            return await self.thread.run(token, partial(self._search_file, token, query, count, conditions))
        return await self._answered(len(query), token, partial(self._search, query, count, conditions))

    async def search_all(self, token: CancelToken, query: np.ndarray) -> AllVectorHits:
        """Every row with a cosine above 0. Raises InspectorError kinds, SearchInterrupted."""
        self._is_first = False
        return await self._answered(len(query), token, partial(_search_all, token, query))

    async def nearest(self, token: CancelToken, query: np.ndarray, count: int) -> tuple[Sequence[Hit], int]:
        """The `count` nearest rows with a cosine above 0, whoever's they are, and how many have a vector of this
        length; what is no vector keeps nothing from being found. Raises InspectorError kinds, SearchInterrupted."""
        if self._is_first:
            self._is_first = False
            hits, survey = await self.thread.run(token, partial(_read_through, token, query, count, Conditions()))
            return hits, survey.rows.get(len(query), 0)
        return await self._answered(len(query), token, partial(_nearest, query, count))

    async def close(self) -> None:
        """Stop loading and drop the vectors."""
        self.thread.cancel(self._life)
        if self._loading is not None:
            await asyncio.wait([self._loading[1]])
        await self.thread.close()
        self._loaded = None

    async def _answered(
        self, dimensions: int, token: CancelToken, look: Callable[[_Loaded, sqlite3.Connection], Answer]
    ) -> Answer:
        """What `look` finds, once the vectors of this length are loaded."""
        must_be_current = True

        def found(connection: sqlite3.Connection) -> tuple[Answer] | None:
            loaded = self._loaded
            if loaded is None or loaded.index.dimensions != dimensions:
                return None
            if must_be_current and loaded.version != _version(connection):
                return None
            return (look(loaded, connection),)

        while (answer := await self.thread.run(token, found)) is None:
            await self._load(dimensions)
            token.check()
            # A program that writes all the time must not keep a search from ever answering.
            must_be_current = False
        return answer[0]

    async def _load(self, dimensions: int) -> None:
        """Wait for the vectors of this length; waiting may be cancelled, the loading goes on."""
        while self._loading is not None and not self._loading[1].done() and self._loading[0] != dimensions:
            await asyncio.wait([self._loading[1]])
        if self._loading is None or self._loading[1].done():
            work = self.thread.run(self._life, partial(self._bring_up_to_date, dimensions))
            self._loading = (dimensions, asyncio.ensure_future(work))
        await asyncio.shield(self._loading[1])

    def _search_file(
        self, token: CancelToken, query: np.ndarray, count: int, conditions: Conditions, connection: sqlite3.Connection
    ) -> VectorHits:
        """Search without an index."""
        hits, survey = _read_through(token, query, count, conditions, connection)
        has_failed = bool(survey.not_blobs)
        if conditions.parts:
            survey = _survey_of(connection.execute(f"{_LENGTHS} FROM memories"))
        return VectorHits(notes=(survey.failure,)) if has_failed else VectorHits(hits, survey.notes(len(query)))

    def _search(
        self, query: np.ndarray, count: int, conditions: Conditions, loaded: _Loaded, connection: sqlite3.Connection
    ) -> VectorHits:
        survey = loaded.survey
        positions, has_failed = None, bool(survey.not_blobs)
        if conditions.parts:
            scan = _scanned(connection, loaded, conditions)
            positions, has_failed = scan.positions, scan.has_failed
        if has_failed:
            return VectorHits(notes=(survey.failure,))
        return VectorHits(loaded.index.search(query, count, positions), survey.notes(len(query)))

    def _bring_up_to_date(self, dimensions: int, connection: sqlite3.Connection) -> None:
        """Load the vectors of this length, or add what is new."""
        # Read before the rows, so that a write in between is looked for again and never missed.
        version = _version(connection)
        loaded = self._loaded
        if loaded is not None and loaded.version == version and dimensions == loaded.index.dimensions:
            return
        # Whatever goes wrong from here on, half-changed vectors are never searched.
        self._loaded = None
        stamp = "updated_at" if self._schema.has("updated_at") else "NULL"
        connection.execute("BEGIN")
        try:
            rows = connection.execute(f"{_LENGTHS}, {stamp} FROM memories ORDER BY rowid").fetchall()
            survey = _survey_of(row[:3] for row in rows)
            stamps = [(row[0], row[3]) for row in rows if row[1] == "blob" and row[2] // 4 == dimensions]
            # A new model of ZeroClaw >= 0.8.3 may leave every time stamp as it was.
            model = tuple(connection.execute(_MODEL)) if "memory_meta" in self._schema.tables else ()
            if loaded is None or not self._has_only_added(loaded, dimensions, model, stamps):
                loaded = _Loaded(VectorIndex(dimensions, len(stamps)), survey, version, model, [])
            last = loaded.stamps[-1][0] if loaded.stamps else _MIN_ROWID
            for page in _pages(connection.execute(_VECTORS, (dimensions, last))):
                self._life.check()
                loaded.index.append(*_block(page, dimensions))
        finally:
            connection.execute("ROLLBACK")
        self._loaded = _Loaded(loaded.index, survey, version, model, stamps)

    def _has_only_added(
        self, loaded: _Loaded, dimensions: int, model: tuple[tuple[str, str], ...], stamps: list[tuple[int, str]]
    ) -> bool:
        """Whether all rows in memory are unchanged and new ones come after them."""
        return (
            self._schema.has("updated_at")
            and loaded.index.dimensions == dimensions
            and loaded.model == model
            and loaded.stamps == stamps[: len(loaded.stamps)]
        )


def _read_through(
    token: CancelToken, query: np.ndarray, count: int, conditions: Conditions, connection: sqlite3.Connection
) -> tuple[list[Hit], _Survey]:
    """Search the rows that the conditions leave while they are read, in the order of ZeroClaw's statement; with what
    vectors there are among them."""
    statement = " AND ".join([_EMBEDDED, *conditions.parts])
    nearest = Nearest(QueryVector(query), count)
    lengths: Counter[int] = Counter()
    not_blobs: set[int] = set()
    for page in _pages(connection.execute(statement, conditions.values)):
        token.check()
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


def _search_all(token: CancelToken, query: np.ndarray, loaded: _Loaded, _: sqlite3.Connection) -> AllVectorHits:
    import numpy as np

    survey = loaded.survey
    handles, scores = loaded.index.search_all(query, token.check)
    faults = VectorFaults(np.array(sorted(survey.not_blobs), dtype=np.int64), survey.failure)
    return AllVectorHits(handles, scores, survey.notes(len(query)), faults if survey.not_blobs else None)


def _nearest(query: np.ndarray, count: int, loaded: _Loaded, _: sqlite3.Connection) -> tuple[Sequence[Hit], int]:
    return loaded.index.search(query, count), len(loaded.index)


def _scanned(connection: sqlite3.Connection, loaded: _Loaded, conditions: Conditions) -> _Scan:
    """The rows of a filter in the order SQLite reads them in ZeroClaw's statement: it decides between ties."""
    import numpy as np

    scans, key = loaded.scans, (conditions.where, *conditions.values)
    if key not in scans:
        statement = " AND ".join(["m.embedding IS NOT NULL", *conditions.parts])
        rows = connection.execute(f"SELECT m.rowid FROM memories m WHERE {statement}", conditions.values)
        rowids = np.fromiter((rowid for (rowid,) in rows), dtype=np.int64)
        has_failed = not loaded.survey.not_blobs.isdisjoint(rowids.tolist())
        scans[key] = _Scan(loaded.index.positions(rowids), has_failed)
        if len(scans) > _MAX_SCANS:
            scans.popitem(last=False)
    scans.move_to_end(key)
    return scans[key]


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return version


class SqliteSearch:
    """The searches of one open store: their connections, their threads, and what they keep for the next.

    What searches raises InspectorError kinds, and SearchInterrupted when the store is closed meanwhile.
    """

    def __init__(self, path: Path, schema: Schema) -> None:
        self._schema = schema
        self._thread = SearchThread(path, "recall")
        self.vectors = SqliteVectors(path, schema)
        self._known: KnownRows | None = None

    async def open(self) -> None:
        """Open the connection, so that a file that cannot be read is told now."""
        await self._thread.run(CancelToken(), lambda connection: None)

    async def close(self) -> None:
        """Stop every search and let go of connections, threads and vectors."""
        await self.vectors.close()
        await self._thread.close()

    async def look(self, work: Callable[[CancelToken, sqlite3.Connection], Answer]) -> Answer:
        """What some work finds on the thread that searches."""
        token = CancelToken()
        return await self._thread.run(token, partial(work, token))

    async def gathered(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None,
        *,
        deep: bool,
    ) -> StageEvidence:
        """The hits of the stages and what the filters look at: all, or cut as ZeroClaw's statements cut them."""
        mode = mode_in(settings, profile)
        vector = None if mode == "bm25" else query_vector
        scope, _ = scope_of(request, profile, self._schema, vector_live=vector is not None)
        is_listing = lists_recent(request.query, profile)
        token = CancelToken()
        gathering: Callable[[sqlite3.Connection], WordHits]
        if not deep:
            if scope.request.agents is not None:
                scope = await self._thread.run(token, scope.with_agents)
            keyword, vectors = KeywordHits(), VectorHits()
            if words(request.query) and not is_listing:
                keyword, vectors = await self._stages(token, scope, vector, has_keywords=mode != "embedding")
            gathering = partial(gather_cut, scope, settings, token, keyword, vectors, self._known)
        else:
            every = await self._all_vectors(token, vector)
            gathering = partial(gather, scope, token, every, self._known)
        gathered = await self._thread.run(token, gathering)
        self._know(gathered.known)
        return replace(
            gathered.evidence,
            dimensions=None if vector is None else len(vector),
            vector_asked=mode != "bm25" and not (deep and is_listing),
        )

    def _know(self, found: KnownRows) -> None:
        """Keep what is known of the rows; of two searches side by side the one that read all may end first."""
        if self._known is None or self._known.version != found.version or self._known.rows is None:
            self._known = found

    async def near(self, to: Handle | np.ndarray, count: int) -> Near | None:
        """Find the rows nearest to the vector of the row at a handle, or to a vector; None without a vector."""
        if not self._schema.has("embedding"):
            return None
        token = CancelToken()
        vector = await self._thread.run(token, partial(_vector_of, to)) if isinstance(to, Handle) else to
        if vector is None or not len(vector):
            return None
        hits, compared = await self.vectors.nearest(token, vector, count)
        return Near([Neighbour(handle, score) for handle, score in hits], compared)

    async def _all_vectors(self, token: CancelToken, vector: np.ndarray | None) -> AllVectorHits:
        if vector is None or not len(vector) or not self._schema.has("embedding"):
            import numpy as np

            return AllVectorHits(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
        return await self.vectors.search_all(token, vector)

    async def _stages(
        self, token: CancelToken, scope: SqlScope, vector: np.ndarray | None, *, has_keywords: bool
    ) -> tuple[KeywordHits, VectorHits]:
        """Both stages side by side, each on its thread."""
        find = partial(search_keywords, scope) if has_keywords else lambda _: KeywordHits()
        tasks = (
            asyncio.ensure_future(self._thread.run(token, find)),
            asyncio.ensure_future(self._vector_stage(token, scope, vector)),
        )
        try:
            keyword, vectors = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return keyword, vectors

    async def _vector_stage(self, token: CancelToken, scope: SqlScope, vector: np.ndarray | None) -> VectorHits:
        if vector is None or not len(vector) or not self._schema.has("embedding"):
            return VectorHits()
        return await self.vectors.search(token, vector, scope.stage_limit, scope.vector_conditions())


def _vector_of(handle: Handle, connection: sqlite3.Connection) -> np.ndarray | None:
    row = connection.execute("SELECT embedding FROM memories WHERE rowid = ?", (handle,)).fetchone()
    return numbers_of(row[0]) if row is not None and isinstance(row[0], bytes) else None


def numbers_of(blob: bytes) -> np.ndarray:
    """A stored vector; a trailing part of a number is ignored."""
    import numpy as np

    return np.frombuffer(blob, dtype="<f4", count=len(blob) // 4).astype(np.float32)
