"""Recall on a SQLite store exactly as the ZeroClaw of a profile does it, faults included; it never writes.

The keyword stage has a thread and a connection, the vectors have others and stay in memory.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from zeroclaw_tui.backends.sqlite.recall import (
    CancelToken,
    Conditions,
    ExpectedWords,
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
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.text import counted
from zeroclaw_tui.scoring.evidence import Hit, StageEvidence, VectorFaults
from zeroclaw_tui.scoring.keywords import lists_recent, words
from zeroclaw_tui.scoring.neighbours import Neighbour
from zeroclaw_tui.scoring.profiles import ScoringProfile, ScoringSettings, mode_in
from zeroclaw_tui.scoring.vectors import VectorIndex

if TYPE_CHECKING:
    import numpy as np


Answer = TypeVar("Answer")

_SCANS_KEPT = 8
_CHUNK = 400
_IDENTITY = "SELECT key, value FROM memory_meta WHERE key LIKE 'embedding%' ORDER BY key"
_OF_LENGTH = "typeof(embedding) = 'blob' AND length(embedding) / 4 = ?"


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


@dataclass(slots=True)
class _Loaded:
    """One length's vectors as of one state of the database."""

    index: VectorIndex
    stamps: dict[int, str | None]
    version: int
    identity: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Scan:
    """Positions in the index in scan order (None: all), and the rows among them whose embedding is no BLOB."""

    positions: np.ndarray | None
    not_blobs: frozenset[int]


class SqliteVectors:
    """Vector search over a file. One length at a time is held: that of the query asked last.

    Loading takes seconds for 100,000 rows; a search that is called off meanwhile leaves it running for the next.
    """

    def __init__(self, path: Path, schema: Schema) -> None:
        self._schema = schema
        self.thread = SearchThread(path, "vectors")
        self._rows: Mapping[int, int] = {}
        self._not_blobs: frozenset[int] = frozenset()
        self._loaded: _Loaded | None = None
        self._scans: OrderedDict[tuple[object, ...], _Scan] = OrderedDict()
        self._loading: tuple[int, asyncio.Task[None]] | None = None
        self._life = CancelToken()

    async def prepare(self) -> None:
        """Load the vectors of the most frequent length."""
        await self.thread.run(CancelToken(), self._survey)
        if self._rows:
            await self._load(max(self._rows, key=lambda length: self._rows[length]))

    async def expect(self, token: CancelToken, queries: Sequence[np.ndarray]) -> None:
        """Have the next searches for these queries, of one length, compared at once. Raises as they do."""
        await self._answered(len(queries[0]), token, partial(self._expect, queries))

    async def search(self, token: CancelToken, query: np.ndarray, count: int, conditions: Conditions) -> VectorHits:
        """The `count` best rows among those the conditions leave. Raises InspectorError kinds, SearchInterrupted."""
        return await self._answered(len(query), token, partial(self._search, query, count, conditions))

    async def _answered(self, dimensions: int, token: CancelToken, look: Callable[..., Answer | None]) -> Answer:
        """What `look` finds, once the vectors of this length are loaded."""
        must_be_current = True
        while True:
            hits = await self.thread.run(token, partial(look, must_be_current=must_be_current))
            if hits is not None:
                return hits
            await self._load(dimensions)
            token.check()
            # A program that writes all the time must not keep a search from ever answering.
            must_be_current = False

    async def search_all(self, token: CancelToken, query: np.ndarray) -> AllVectorHits:
        """Every row with a cosine above 0. Raises InspectorError kinds, SearchInterrupted."""
        return await self._answered(len(query), token, partial(self._search_all, token, query))

    async def nearest(self, token: CancelToken, query: np.ndarray, count: int) -> tuple[Sequence[Hit], int]:
        """The `count` nearest rows with a cosine above 0, whoever's they are, and how many have a vector of this
        length; what is no vector keeps nothing from being found. Raises InspectorError kinds, SearchInterrupted."""
        return await self._answered(len(query), token, partial(self._nearest, query, count))

    async def close(self) -> None:
        """Stop loading and drop the vectors."""
        self.thread.cancel(self._life)
        if self._loading is not None:
            await asyncio.wait([self._loading[1]])
        await self.thread.close()
        self._loaded = None

    async def _load(self, dimensions: int) -> None:
        """Wait for the vectors of this length; waiting may be cancelled, the loading goes on."""
        while self._loading is not None and not self._loading[1].done() and self._loading[0] != dimensions:
            await asyncio.wait([self._loading[1]])
        if self._loading is None or self._loading[1].done():
            work = self.thread.run(self._life, partial(self._bring_up_to_date, dimensions))
            self._loading = (dimensions, asyncio.ensure_future(work))
        await asyncio.shield(self._loading[1])

    def _expect(
        self,
        queries: Sequence[np.ndarray],
        connection: sqlite3.Connection,
        *,
        must_be_current: bool,
    ) -> bool | None:
        held = self._held(len(queries[0]), connection, must_be_current)
        if held is None:
            return None
        held.index.expect(queries)
        return True

    def _search(
        self,
        query: np.ndarray,
        count: int,
        conditions: Conditions,
        connection: sqlite3.Connection,
        *,
        must_be_current: bool,
    ) -> VectorHits | None:
        """None when the vectors of this length have to be loaded or brought up to date first."""
        held = self._held(len(query), connection, must_be_current)
        if held is None:
            return None
        among = self._scan(connection, held.index, conditions) if conditions.parts else _Scan(None, self._not_blobs)
        if among.not_blobs:
            return VectorHits(notes=(self._failure(),))
        return VectorHits(held.index.search(query, count, among.positions), self._notes(len(query)))

    def _search_all(
        self, token: CancelToken, query: np.ndarray, connection: sqlite3.Connection, *, must_be_current: bool
    ) -> AllVectorHits | None:
        import numpy as np

        held = self._held(len(query), connection, must_be_current)
        if held is None:
            return None
        handles, scores = held.index.search_all(query, token.check)
        faults = VectorFaults(np.array(sorted(self._not_blobs), dtype=np.int64), self._failure())
        return AllVectorHits(handles, scores, self._notes(len(query)), faults if self._not_blobs else None)

    def _nearest(
        self, query: np.ndarray, count: int, connection: sqlite3.Connection, *, must_be_current: bool
    ) -> tuple[Sequence[Hit], int] | None:
        held = self._held(len(query), connection, must_be_current)
        return None if held is None else (held.index.search(query, count), len(held.index))

    def _held(self, dimensions: int, connection: sqlite3.Connection, must_be_current: bool) -> _Loaded | None:
        """The vectors of this length, if they are in memory."""
        held = self._loaded
        if held is None or held.index.dimensions != dimensions:
            return None
        return None if must_be_current and held.version != _version(connection) else held

    def _scan(self, connection: sqlite3.Connection, index: VectorIndex, conditions: Conditions) -> _Scan:
        """The rows of a filter in the order SQLite reads them in ZeroClaw's statement: it decides between ties."""
        import numpy as np

        key = (conditions.where, *conditions.values)
        if key not in self._scans:
            statement = " AND ".join(["m.embedding IS NOT NULL", *conditions.parts])
            rows = connection.execute(f"SELECT m.rowid FROM memories m WHERE {statement}", conditions.values)
            rowids = np.fromiter((rowid for (rowid,) in rows), dtype=np.int64)
            not_blobs = self._not_blobs.intersection(rowids.tolist()) if self._not_blobs else self._not_blobs
            self._scans[key] = _Scan(index.positions(rowids), not_blobs)
            if len(self._scans) > _SCANS_KEPT:
                self._scans.popitem(last=False)
        self._scans.move_to_end(key)
        return self._scans[key]

    def _failure(self) -> str:
        rows = counted(len(self._not_blobs), "row")
        return f"{rows} with an embedding that is no BLOB: ZeroClaw's vector search fails on it and finds nothing."

    def _notes(self, dimensions: int) -> tuple[str, ...]:
        others = {length: rows for length, rows in self._rows.items() if length != dimensions}
        if not others:
            return ()
        listed = ", ".join(f"{counted(rows, 'row')} of {length}" for length, rows in sorted(others.items()))
        return (f"Vectors of another length than the query's {dimensions} have no vector score: {listed} dimensions.",)

    def _survey(self, connection: sqlite3.Connection) -> None:
        """How many vectors there are of each length; reads no vector."""
        # Counted here, because GROUP BY would carry every vector through its sorter.
        stored = Counter(connection.execute("SELECT typeof(embedding), length(embedding) FROM memories"))
        rows: Counter[int] = Counter()
        others = 0
        for (sort, length), count in stored.items():
            if sort == "blob":
                rows[length // 4] += count
            elif sort != "null":
                others += count
        self._not_blobs = frozenset()
        if others:
            found = connection.execute("SELECT rowid FROM memories WHERE typeof(embedding) NOT IN ('blob', 'null')")
            self._not_blobs = frozenset(rowid for (rowid,) in found)
        self._rows = rows

    def _bring_up_to_date(self, dimensions: int, connection: sqlite3.Connection) -> None:
        """Load the vectors of this length, or what changed of them since."""
        # Read before the rows, so that a write in between is looked for again and never missed.
        version = _version(connection)
        held = self._loaded
        if held is not None and (held.index.dimensions != dimensions or held.version == version):
            if held.version == version and held.index.dimensions == dimensions:
                return
            held = None
        # Whatever goes wrong from here on, half-changed vectors are never searched.
        self._loaded = None
        self._scans.clear()
        connection.execute("BEGIN")
        try:
            self._survey(connection)
            identity = self._identity(connection)
            if held is None or held.identity != identity or not self._patch(connection, held):
                held = self._read_all(connection, dimensions, identity)
        finally:
            connection.execute("ROLLBACK")
        held.index.measure()
        held.version = version
        self._loaded = held

    def _read_all(
        self, connection: sqlite3.Connection, dimensions: int, identity: tuple[tuple[str, str], ...]
    ) -> _Loaded:
        index = VectorIndex(dimensions, self._rows.get(dimensions, 0))
        stamps: dict[int, str | None] = {}
        statement = f"SELECT rowid, embedding, {self._stamp} FROM memories WHERE {_OF_LENGTH} ORDER BY rowid"
        for rowid, blob, stamp in connection.execute(statement, (dimensions,)):
            index.append(rowid, blob)
            stamps[rowid] = stamp
        return _Loaded(index, stamps, 0, identity)

    def _patch(self, connection: sqlite3.Connection, held: _Loaded) -> bool:
        """Apply what other programs wrote: rows gone, changed and added. False when loading anew is the simpler way."""
        statement = f"SELECT rowid, {self._stamp} FROM memories WHERE {_OF_LENGTH} ORDER BY rowid"
        stamps: dict[int, str | None] = dict(connection.execute(statement, (held.index.dimensions,)))
        gone = held.stamps.keys() - stamps.keys()
        added = [rowid for rowid in stamps if rowid not in held.stamps]
        changed = [rowid for rowid, stamp in stamps.items() if held.stamps.get(rowid, stamp) != stamp]
        last = max(held.stamps, default=-1)
        if (added and added[0] < last) or len(gone) + len(added) + len(changed) > max(_CHUNK, len(stamps) // 4):
            return False
        if not self._schema.has("updated_at"):
            return False
        if gone:
            held.index.remove(list(gone))
        for rowid, blob in _vectors(connection, changed):
            held.index.replace(rowid, blob)
        for rowid, blob in _vectors(connection, added):
            held.index.append(rowid, blob)
        held.stamps = stamps
        return True

    @property
    def _stamp(self) -> str:
        return "updated_at" if self._schema.has("updated_at") else "NULL"

    def _identity(self, connection: sqlite3.Connection) -> tuple[tuple[str, str], ...]:
        """Which model ZeroClaw >= 0.8.3 says the vectors are from: a new model may leave every time stamp alone."""
        return tuple(connection.execute(_IDENTITY)) if "memory_meta" in self._schema.tables else ()


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return version


def _vectors(connection: sqlite3.Connection, rowids: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    for start in range(0, len(rowids), _CHUNK):
        chunk = rowids[start : start + _CHUNK]
        marks = ", ".join("?" * len(chunk))
        yield from connection.execute(
            f"SELECT rowid, embedding FROM memories WHERE rowid IN ({marks}) ORDER BY rowid", chunk
        )


class SqliteSearch:
    """The searches of one open store: their connections, their threads, and what they keep for the next.

    What searches raises InspectorError kinds, and SearchInterrupted when `interrupt` or a cancelled await stopped it.
    """

    def __init__(self, path: Path, schema: Schema) -> None:
        self._schema = schema
        self._thread = SearchThread(path, "recall")
        self.vectors = SqliteVectors(path, schema)
        self._asked: set[CancelToken] = set()
        self._known: KnownRows | None = None
        self._words = ExpectedWords()

    async def open(self) -> None:
        """Open the connection, so that a file that cannot be read is told now."""
        await self._thread.run(CancelToken(), lambda connection: None)

    async def close(self) -> None:
        """Stop every search and let go of connections, threads and vectors."""
        self.interrupt()
        await self.vectors.close()
        await self._thread.close()

    def interrupt(self) -> None:
        """Call off every search that runs or waits; loading vectors goes on."""
        for token in tuple(self._asked):
            for thread in (self._thread, self.vectors.thread):
                thread.cancel(token)

    def expect(self, queries: Sequence[str]) -> None:
        """Look up each word of these queries once; without any, let go of what was."""
        if not queries:
            self._words = ExpectedWords()
        self._words.add(queries)

    @contextmanager
    def asking(self) -> Iterator[CancelToken]:
        """The ticket of a search, which `interrupt` calls off."""
        token = CancelToken()
        self._asked.add(token)
        try:
            yield token
        finally:
            self._asked.discard(token)

    async def look(self, work: Callable[[CancelToken, sqlite3.Connection], Answer]) -> Answer:
        """What some work finds on the thread that searches."""
        with self.asking() as token:
            return await self._thread.run(token, partial(work, token))

    async def gathered(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None,
        *,
        is_cut: bool,
    ) -> StageEvidence:
        """The hits of the stages and what the filters look at: all, or cut as ZeroClaw's statements cut them."""
        mode = mode_in(settings, profile)
        vector = None if mode == "bm25" else query_vector
        scope, _ = scope_of(request, profile, self._schema, vector_live=vector is not None)
        is_listing = lists_recent(request.query, profile)
        with self.asking() as token:
            gathering: Callable[[sqlite3.Connection], WordHits]
            if is_cut:
                if scope.request.agents is not None:
                    scope = await self._thread.run(token, scope.with_agents)
                keyword, vectors = KeywordHits(), VectorHits()
                find = None
                if words(request.query) and not is_listing:
                    count = scope.stage_limit
                    if mode != "embedding":
                        find = partial(search_keywords, scope, count, expected=self._words)
                    if request.query in self._words:
                        # Prepared stages are quick: going to and fro between threads would take longer than they do.
                        vectors = await self._vector_stage(token, scope, count, vector)
                    else:
                        keyword, vectors = await self._stages(token, scope, count, find, vector)
                        find = None
                gathering = partial(gather_cut, scope, settings, token, find or keyword, vectors, self._known)
            else:
                every = await self._all_vectors(token, vector)
                gathering = partial(gather, scope, token, every, self._known, self._words)
            gathered = await self._thread.run(token, gathering)
        self._know(gathered.known)
        return replace(
            gathered.evidence,
            dimensions=None if vector is None else len(vector),
            vector_asked=mode != "bm25" and (is_cut or not is_listing),
        )

    def _know(self, found: KnownRows) -> None:
        """Keep what is known of the rows; of two searches side by side the one that read all may end first."""
        if self._known is None or self._known.version != found.version or self._known.rows is None:
            self._known = found

    async def nearest(
        self, rowid: int | None, vector: np.ndarray | None, count: int
    ) -> tuple[list[Neighbour], int] | None:
        """The rows nearest to a row's own vector, or to a given one, and how many were compared; None without one."""
        if not self._schema.has("embedding"):
            return None
        with self.asking() as token:
            if vector is None:
                vector = None if rowid is None else await self._thread.run(token, partial(_vector_of, rowid))
            if vector is None or not len(vector):
                return None
            hits, compared = await self.vectors.nearest(token, vector, count)
        return [Neighbour(handle, score) for handle, score in hits], compared

    async def _all_vectors(self, token: CancelToken, vector: np.ndarray | None) -> AllVectorHits:
        if vector is None or not len(vector) or not self._schema.has("embedding"):
            import numpy as np

            return AllVectorHits(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
        return await self.vectors.search_all(token, vector)

    async def _stages(
        self,
        token: CancelToken,
        scope: SqlScope,
        count: int,
        find: Callable[[sqlite3.Connection], KeywordHits] | None,
        vector: np.ndarray | None,
    ) -> tuple[KeywordHits, VectorHits]:
        """Both stages side by side, each on its thread."""
        tasks = (
            asyncio.ensure_future(self._thread.run(token, find or (lambda _: KeywordHits()))),
            asyncio.ensure_future(self._vector_stage(token, scope, count, vector)),
        )
        try:
            keyword, vectors = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return keyword, vectors

    async def _vector_stage(
        self, token: CancelToken, scope: SqlScope, count: int, vector: np.ndarray | None
    ) -> VectorHits:
        if vector is None or not len(vector) or not self._schema.has("embedding"):
            return VectorHits()
        return await self.vectors.search(token, vector, count, scope.vector_conditions())


def _vector_of(rowid: int, connection: sqlite3.Connection) -> np.ndarray | None:
    row = connection.execute("SELECT embedding FROM memories WHERE rowid = ?", (rowid,)).fetchone()
    return numbers_of(row[0]) if row is not None and isinstance(row[0], bytes) else None


def numbers_of(blob: bytes) -> np.ndarray:
    """A stored vector; a trailing part of a number is ignored."""
    import numpy as np

    return np.frombuffer(blob, dtype="<f4", count=len(blob) // 4).astype(np.float32)
