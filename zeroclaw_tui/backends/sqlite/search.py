"""Search a SQLite store as the recall of a ZeroClaw version does, including its bugs, without writing."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.base import T
from zeroclaw_tui.backends.cancellation import ReadWorkerPool
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.select import SqliteSelect
from zeroclaw_tui.memory.entry import Handle, MemoryEntry, as_text
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.decide import rank
from zeroclaw_tui.scoring.evidence import (
    DURABLE,
    Hit,
    LikeEvidence,
    RowTable,
    ScanOrder,
    Scope,
    StageEvidence,
    supported_request,
)
from zeroclaw_tui.scoring.profiles import NEWEST, Trial, profile_for
from zeroclaw_tui.scoring.stages import (
    LikeSearch,
    Nearest,
    QueryVector,
    VectorIndex,
    like_search,
    lists_recent,
    match_expression,
    search_mode,
    words,
)

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.scoring.neighbours import Near

COUNT_ROWS = "SELECT count(*) FROM memories AS m"
MATCH = "SELECT rowid, bm25(memories_fts) AS score FROM memories_fts WHERE memories_fts MATCH ?"
_AMONG = "m.rowid IN (SELECT value FROM json_each(?))"
_NEWEST_FIRST = "ORDER BY m.updated_at DESC"
# Select bm25 from the index alone and let SQLite sort, which keeps only the best rows while it scores. FTS5's own
# `ORDER BY rank` sorts all hits before it returns the first, and a join looks up every hit in the table.
_JOINED = "memories_fts AS f JOIN memories AS m ON m.rowid = f.rowid"
_ALL_VECTORS = "SELECT m.rowid, m.embedding FROM memories AS m WHERE m.embedding IS NOT NULL"
_OF_LENGTH = "FROM memories WHERE typeof(embedding) = 'blob' AND length(embedding) / 4 = ?"
_HIGHEST_ROWID = "SELECT coalesce(max(rowid), 0) FROM memories"
"""At least the number of rows; SQLite finds it without a scan."""
_WHOLE_FROM = 4
"""If more than one row in this many is a hit, all rows are read in one pass."""
_PAGE = 256
_MAX_CACHED_ROWS = 20_000
"""In a larger store, a recall reads only the rows of its hits."""
_SWALLOWED = ("SQLITE_ERROR", "SQLITE_CORRUPT_VTAB")
"""Errors that ZeroClaw ignores, continuing without keyword hits."""


class SqliteSearch:
    """Searches one open store, and caches its vectors and rows until another program writes.

    The first search by vector reads through the file. The second loads all vectors of the query's length into memory,
    which takes half a second for 100,000 rows.

    `version` is the current version of the database. The searches raise InspectorError kinds, and SearchInterrupted if
    the store is closed while they run.
    """

    def __init__(self, reads: ReadWorkerPool, schema: Schema) -> None:
        self.schema = schema
        self.all_rows: RowTable | None = None
        """The table of all rows, once it was read; valid within `run`."""
        self._reads = reads
        self._entry_columns, self._entry_from = SqliteSelect(schema).reading("entry")
        self._search_lock = asyncio.Lock()
        self._vector_thread = ThreadPoolExecutor(1)
        """Compares vectors while the thread of the search reads."""
        self._is_first = True
        self._version: int | None = None
        """The version of the database that `all_rows` and the vectors were read from."""
        self._index: VectorIndex | None = None

    async def gather(self, trial: Trial, query_vector: np.ndarray | None, version: int) -> StageEvidence:
        """Gather the hits that ZeroClaw's statements return: at most 2 x the limit for each stage, and their rows.

        The rows that the recall returns have their content.
        """
        requested = scope_of(trial, query_vector, self.schema)

        def read(connection: sqlite3.Connection) -> StageEvidence:
            scope, keyword, nearest = requested.with_agents(connection), Hits.from_pairs(), None
            rows = self._rows_if_few(connection)
            if words(trial.request.query) and not lists_recent(trial.request.query, trial.profile):
                if scope.vector is not None and len(scope.vector):
                    compare = self._comparison(scope.vector, scope.stage_limit, scope.vector_select(), connection)
                    nearest = self._vector_thread.submit(compare)
                if search_mode(trial) != "embedding":
                    keyword = search_keywords(scope, connection)
            vectors = Hits.from_pairs() if nearest is None else nearest.result()[0]
            return self._limited_evidence(scope, trial, (keyword, vectors), rows, connection)

        return await self.run(read, version)

    async def near(self, to: Handle | np.ndarray, count: int, version: int) -> Near | None:
        """Find the rows of all agents nearest to a vector, or to the vector of the row with this handle.

        None if that row has no vector.
        """
        from zeroclaw_tui.scoring.neighbours import Near, Neighbour

        def find(connection: sqlite3.Connection) -> Near | None:
            query = _vector_of(to, connection) if isinstance(to, Handle) else to
            if query is None or not len(query):
                return None
            hits, compared = self._comparison(query, count, None, connection)()
            pairs = zip(hits.handles.tolist(), hits.scores.tolist(), strict=True)
            return Near([Neighbour(handle, score) for handle, score in pairs], compared)

        return await self.run(find, version)

    async def run(self, work: Callable[[sqlite3.Connection], T], version: int) -> T:
        """Run the work in one read transaction, after all earlier searches."""

        def read(connection: sqlite3.Connection) -> T:
            if version != self._version:
                self._version, self.all_rows, self._index = version, None, None
            # All statements of the work see the same state of the database.
            connection.execute("BEGIN")
            return work(connection)

        async with self._search_lock:
            return await self._reads.run(read)

    def all_vectors(self, query: np.ndarray | None, connection: sqlite3.Connection) -> Hits:
        """Find all rows with a cosine above 0."""
        if query is None or not len(query):
            return Hits.from_pairs()
        self._is_first = False
        index = self._current_index(len(query), connection)
        return Hits(*index.search(query, len(index)))

    def _limited_evidence(
        self, scope: SqlScope, trial: Trial, hits: Stages, rows: RowTable | None, connection: sqlite3.Connection
    ) -> StageEvidence:
        """Make the evidence for one recall. The LIKE fall-back is searched only if no other hit is left."""
        import numpy as np

        recent = np.zeros(0, dtype=np.int64)
        if lists_recent(scope.request.query, scope.profile):
            recent = list_newest(scope.recent_select(), scope.recent_limit, connection)
        rows = rows or rows_of_hits((*(stage.handles for stage in hits), recent), scope.schema, connection)
        contents: dict[Handle, MemoryEntry] = {}
        # Filled after the ranking: a copy of the evidence would compute its masks again.
        limited: Any = {"limited_to": (trial.request, trial.profile, search_mode(trial)), "contents": contents}
        evidence = replace(stage_evidence(scope, hits, rows, recent), **limited)
        ranking = rank(evidence, trial)
        if ranking.mode == "like":
            # All hits were filtered out.
            like, facts = search_like(scope, connection)
            nothing = (Hits.from_pairs(notes=evidence.keyword_notes), Hits.from_pairs())
            evidence = stage_evidence(scope, nothing, rows_of_hits((like,), scope.schema, connection), recent)
            evidence = replace(evidence, like=like, like_facts=facts, **limited)
            ranking = rank(evidence, trial)
        contents.update((entry.handle, entry) for entry in self._read_rows(ranking.handles, connection))
        return evidence

    def _read_rows(self, rowids: Sequence[int], connection: sqlite3.Connection) -> list[MemoryEntry]:
        """Read rows with their whole content, in this order; rows that no longer exist are skipped."""
        statement, entry_from = f"SELECT {self._entry_columns} FROM memories AS m WHERE {_AMONG}", self._entry_from
        entries = {row[0]: entry_from(row) for row in connection.execute(statement, (json.dumps(rowids),))}
        return [entries[rowid] for rowid in rowids if rowid in entries]

    def _rows_if_few(self, connection: sqlite3.Connection) -> RowTable | None:
        """All rows of a small store, cached from the second search by vector on; otherwise None."""
        if self._is_first or connection.execute(_HIGHEST_ROWID).fetchone() > (_MAX_CACHED_ROWS,):
            return None
        self.all_rows = self.all_rows or _read_row_table(None, self.schema, connection)
        return self.all_rows

    def _comparison(
        self, query: np.ndarray, count: int, select: SqliteSelect | None, connection: sqlite3.Connection
    ) -> Callable[[], tuple[Hits, int]]:
        """Read what is needed to find the best rows of a SELECT of rows with a vector; None selects all of them.

        The returned function, which needs no connection, finds them and counts the compared vectors. Rows with equal
        scores keep the order in which SQLite reads them in ZeroClaw's statement.
        """
        if self._is_first:
            self._is_first = False
            nearest, compared = Nearest(QueryVector(query), count), 0
            statement = _ALL_VECTORS if select is None else select.statement("m.rowid, m.embedding")
            cursor = connection.execute(statement, () if select is None else select.values)
            while page := cursor.fetchmany(_PAGE):
                rowids, vectors = _vectors_of_length(page, len(query))
                nearest.add(rowids, vectors)
                compared += len(rowids)
            return lambda: (Hits(*nearest.hits()), compared)
        import numpy as np

        index, positions = self._current_index(len(query), connection), None
        if select is not None:
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SqlScope(Scope):
    """The part of a request that this database and this profile support."""

    schema: Schema
    vector: np.ndarray | None
    """The query's vector; None if the recall uses none."""

    def with_agents(self, connection: sqlite3.Connection) -> SqlScope:
        """Add the ids of the request's agents and the number of rows, if the request names agents."""
        if self.request.agents is None:
            return self
        known = {alias: agent for agent, alias in _aliases(self.schema, connection).items()}
        # For an unknown alias ZeroClaw generates an id, which no row has.
        ids = tuple(known.get(alias, alias) for alias in self.request.agents)
        return replace(self, agent_ids=ids, store_rows=connection.execute(COUNT_ROWS).fetchone()[0])

    def keyword_select(self) -> SqliteSelect | None:
        """Select the rows that the FTS statement may match; None for all rows, as before 0.8.4."""
        session = self.request.session_id if self.vector_live else None
        if not self.profile.filters_in_sql or (session is None and self.agent_ids is None):
            return None
        select = SqliteSelect(self.schema)
        self._add_session(select, session, durable=True)
        self._add_agents(select)
        return select

    def vector_select(self) -> SqliteSelect | None:
        """Select the rows that the vector stage scans; None for all rows that have a vector."""
        is_in_sql, session = self.profile.filters_in_sql, self.request.session_id
        if session is None and not (is_in_sql and self.agent_ids is not None):
            return None
        select = SqliteSelect(self.schema)
        select.also("m.embedding IS NOT NULL")
        self._add_session(select, session, durable=is_in_sql)
        if is_in_sql:
            self._add_agents(select)
        return select

    def recent_select(self) -> SqliteSelect:
        """Select the rows that the list of the newest may return, of all agents."""
        select = SqliteSelect(self.schema)
        self._add_not_superseded(select)
        self._add_session(select, self.request.session_id, durable=False)
        self._add_times(select)
        return select

    def like_select(self, search: LikeSearch) -> SqliteSelect:
        """Select the rows that the LIKE fall-back may return; the filter by session comes afterwards."""
        select = SqliteSelect(self.schema)
        self._add_not_superseded(select)
        # 0.5.5 and 0.5.6 lack parentheses, so that a time bound restricts only the last word.
        has_brackets = self.profile.hides_superseded or not self.profile.has_time_bounds
        any_word = _any_word(select, search, search.patterns)
        select.also(f"({any_word})" if has_brackets else any_word)
        self._add_times(select)
        if self.profile.filters_in_sql:
            self._add_agents(select)
        return select

    def _add_not_superseded(self, select: SqliteSelect) -> None:
        if self.profile.hides_superseded and "superseded_by" in self.schema.columns:
            select.also("m.superseded_by IS NULL")

    def _add_session(self, select: SqliteSelect, session: str | None, *, durable: bool) -> None:
        if session is None:
            return
        if "session_id" not in self.schema.columns:
            select.also("FALSE")
            return
        of_session = f"m.session_id = {select.place(session)}"
        if durable:
            of_session = f"({of_session} OR (m.session_id IS NULL AND {select.one_of('m.category', DURABLE)}))"
        select.also(of_session)

    def _add_times(self, select: SqliteSelect) -> None:
        for compared, bound in ((">=", self.request.since), ("<=", self.request.until)):
            if bound is not None:
                select.also(f"m.created_at {compared} {select.place(bound)}")

    def _add_agents(self, select: SqliteSelect) -> None:
        if self.agent_ids is not None:
            select.also(select.one_of("m.agent_id", self.agent_ids))


def scope_of(trial: Trial, query_vector: np.ndarray | None, schema: Schema) -> SqlScope:
    """Make the scope of a trial. Empty `agents` means all agents."""
    vector = None if search_mode(trial) == "bm25" else query_vector
    supported, _ = supported_request(trial.request, trial.profile, has_agents="agent_id" in schema.columns)
    return SqlScope(supported, trial.profile, vector is not None, schema=schema, vector=vector)


@dataclass(frozen=True, slots=True)
class Hits:
    """The hits of one stage, best first: handles, int64, with -bm25 or cosines, float32; and notes for users."""

    handles: np.ndarray
    scores: np.ndarray
    notes: tuple[str, ...] = ()

    @classmethod
    def from_pairs(cls, pairs: Sequence[Hit] = (), notes: tuple[str, ...] = ()) -> Hits:
        """Convert pairs to arrays."""
        import numpy as np

        handles = np.array([handle for handle, _ in pairs], dtype=np.int64)
        return cls(handles, np.array([score for _, score in pairs], dtype=np.float64).astype(np.float32), notes)


Stages = tuple[Hits, Hits]
"""The hits of the keyword stage and of the vector stage."""


def search_keywords(scope: SqlScope, connection: sqlite3.Connection) -> Hits:
    """Find the best rows by keywords. If FTS5 rejects the query, return no hits and a note, as ZeroClaw ignores it."""
    expression, found = match_expression(scope.request.query, scope.profile), None
    with ignoring_fts_errors(scope) as notes:
        select = scope.keyword_select()
        if select is None:
            found = _best_of_index(expression, scope.stage_limit, connection)
        if found is None:
            select = select or SqliteSelect(scope.schema)
            select.source = _JOINED
            select.also(f"memories_fts MATCH {select.place(expression)}")
            limit = select.place(scope.stage_limit)
            statement = select.statement("m.rowid, bm25(memories_fts) AS score", f"ORDER BY score LIMIT {limit}")
            found = connection.execute(statement, select.values).fetchall()
    return Hits.from_pairs([(rowid, -score) for rowid, score in found or ()], tuple(notes))


def _best_of_index(expression: str, limit: int, connection: sqlite3.Connection) -> Sequence[Hit] | None:
    """Find the best rows with the index alone; None if the table lacks one of them, which must not take a place."""
    found = connection.execute(f"{MATCH} ORDER BY score LIMIT ?", (expression, limit)).fetchall()
    rowids = json.dumps([rowid for rowid, _ in found])
    (count,) = connection.execute(f"{COUNT_ROWS} WHERE {_AMONG}", (rowids,)).fetchone()
    return found if count == len(found) else None


@contextmanager
def ignoring_fts_errors(scope: SqlScope) -> Iterator[list[str]]:
    """Ignore an error of FTS5, as ZeroClaw does, and add a note to the yielded list."""
    notes: list[str] = []
    try:
        yield notes
    except sqlite3.DatabaseError as error:
        if not scope.schema.has_fts:
            notes.append("The table memories_fts is missing, so only the LIKE fallback finds words.")
        elif error.sqlite_errorname in _SWALLOWED:
            reason = one_line(str(error))
            notes.append(f"FTS5 refuses this query ({reason}); ZeroClaw continues without keyword hits.")
        else:
            raise


def stage_evidence(scope: SqlScope, hits: Stages, rows: RowTable, recent: np.ndarray) -> StageEvidence:
    """Make evidence of the hits whose rows exist."""
    keyword, vectors = hits
    has_row, vector_has_row = (_are_among(stage.handles, rows.handles) for stage in hits)
    return StageEvidence(
        query=scope.request.query,
        expression=match_expression(scope.request.query, scope.profile),
        keyword_handles=keyword.handles[has_row],
        keyword_scores=keyword.scores[has_row],
        vector_handles=vectors.handles[vector_has_row],
        vector_scores=vectors.scores[vector_has_row],
        like=recent[:0],
        recent=recent,
        rows=rows,
        store_rows=scope.store_rows,
        vector_live=scope.vector_live,
        has_sessions="session_id" in scope.schema.columns,
        dimensions=None if scope.vector is None else len(scope.vector),
        keyword_notes=keyword.notes,
        has_agents="agent_id" in scope.schema.columns,
    )


def list_newest(select: SqliteSelect, limit: int, connection: sqlite3.Connection) -> np.ndarray:
    """Find the first rowids by `updated_at`, as text, descending; a limit of -1 means no limit."""
    import numpy as np

    statement = select.statement("m.rowid", f"{_NEWEST_FIRST} LIMIT {select.place(limit)}")
    return np.fromiter((rowid for (rowid,) in connection.execute(statement, select.values)), dtype=np.int64)


def search_like(scope: SqlScope, connection: sqlite3.Connection) -> tuple[np.ndarray, LikeEvidence | None]:
    """Find the rows that contain a word, newest first, and the facts that the fall-back decides by."""
    import numpy as np

    search, schema = like_search(scope.request.query, scope.profile), scope.schema
    if search is None:
        return np.zeros(0, dtype=np.int64), None
    has_many = len(search.patterns) > 1
    select = SqliteSelect(schema)
    select.also(f"({_any_word(select, search, search.patterns)})")
    early = f"({_any_word(select, search, search.patterns[:-1])})" if has_many else "0"
    accepted = "0"
    if search.has_prefix_word:
        accepted = "replay_accepts(m.key, m.content)"
        connection.create_function(
            "replay_accepts", 2, lambda key, content: search.accepts(as_text(key), as_text(content)), deterministic=True
        )
    statement = select.statement(f"m.rowid, m.updated_at, {early}, {accepted}", _NEWEST_FIRST)
    # Arrays: a tuple for each of many hits would make the collector of the whole process stop to look at them.
    handles, moments, are_early, are_accepted = array("q"), array("q"), bytearray(), bytearray()
    last: Any = None
    for rowid, updated, is_early, is_accepted in () if search.fails else connection.execute(statement, select.values):
        moments.append(moments[-1] + (updated != last) if moments else 0)
        last = updated
        handles.append(rowid)
        are_early.append(bool(is_early))
        are_accepted.append(bool(is_accepted))
    facts = LikeEvidence(
        search.patterns,
        np.array(moments, dtype=np.int64),
        np.frombuffer(are_accepted, dtype=bool) if search.has_prefix_word else None,
        np.frombuffer(are_early, dtype=bool) if has_many else None,
        _like_order(scope, search, connection),
    )
    return np.array(handles, dtype=np.int64), facts


def _like_order(scope: SqlScope, search: LikeSearch, connection: sqlite3.Connection) -> ScanOrder:
    """The order in which SQLite reads the rows of the fall-back's statement for some agents."""
    if "agent_id" not in scope.schema.columns:
        return "stored"
    request = replace(scope.request, session_id=None, since=None, until=None)
    of_agents = replace(scope, request=request, profile=profile_for(NEWEST), agent_ids=("agent",))
    return order_of(of_agents.like_select(search), connection)


def _any_word(select: SqliteSelect, search: LikeSearch, patterns: Sequence[str]) -> str:
    """Write the condition that a row contains one of the words."""
    escape = r" ESCAPE '\'" if search.escapes else ""
    places = map(select.place, patterns)
    return " OR ".join(f"(m.content LIKE {place}{escape} OR m.key LIKE {place}{escape})" for place in places)


def _are_among(handles: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Whether each handle is among the others. np.unique would import numpy.ma, half the cost of NumPy itself."""
    import numpy as np

    places = np.searchsorted(ascending, handles)
    are_there: np.ndarray = places < len(ascending)
    are_there[are_there] = ascending[places[are_there]] == handles[are_there]
    return are_there


def rows_of_hits(hits: Sequence[np.ndarray], schema: Schema, connection: sqlite3.Connection) -> RowTable:
    """Read the row table of these hits, or of all rows if that is faster."""
    import numpy as np

    found = np.sort(np.concatenate(hits))
    handles = found[np.diff(found, prepend=found[:1] - 1) != 0]
    (highest,) = connection.execute(_HIGHEST_ROWID).fetchone()
    return _read_row_table(None if 0 < highest <= len(handles) * _WHOLE_FROM else handles, schema, connection)


def _read_row_table(handles: np.ndarray | None, schema: Schema, connection: sqlite3.Connection) -> RowTable:
    """Read the row table of these rows, or of all."""
    import numpy as np

    names = ("id", "created_at", "session_id", "category", "agent_id", "namespace", "superseded_by")
    columns = ", ".join(["m.rowid", *(f"m.{name}" if name in schema.columns else "NULL" for name in names)])
    statement, aliases = f"SELECT {columns} FROM memories AS m", _aliases(schema, connection)
    if handles is not None:
        rowids = json.dumps(handles.tolist())
        return _table(connection.execute(f"{statement} WHERE {_AMONG} ORDER BY m.rowid", (rowids,)), aliases)
    rows = _table(connection.execute(f"{statement} ORDER BY m.rowid"), aliases)
    # The index on the ids is already in this order.
    by_id = connection.execute("SELECT rowid FROM memories ORDER BY id")
    ordered = np.fromiter((rowid for (rowid,) in by_id), dtype=np.int64)
    ranks = np.empty(len(ordered), dtype=np.int64)
    ranks[np.searchsorted(rows.handles, ordered)] = np.arange(len(ordered))
    return rows._replace(id_ranks=ranks)


def _table(rows: Iterable[Sequence[Any]], aliases: dict[str, str]) -> RowTable:
    import numpy as np

    handles, superseded = array("q"), bytearray()
    ids: list[str] = []
    created: list[str] = []
    columns: list[tuple[dict[Any, int], array[int]]] = [({}, array("i")) for _ in range(4)]
    """For sessions, categories, owners and namespaces: a code for each name, and the codes of the rows."""
    for handle, memory_id, moment, *texts, newer in rows:
        handles.append(handle)
        ids.append(as_text(memory_id))
        created.append(as_text(moment))
        superseded.append(newer is not None)
        for text, (numbers, codes) in zip(texts, columns, strict=True):
            codes.append(-1 if text is None else numbers.setdefault(text, len(numbers)))
    sessions, categories, owners, namespaces = ([as_text(name) for name in numbers] for numbers, _ in columns)
    codes_of = [np.array(codes, dtype=np.int32) for _, codes in columns]
    return RowTable(
        np.array(handles, dtype=np.int64),
        ids,
        created,
        codes_of[0],
        codes_of[1],
        codes_of[2],
        codes_of[3],
        np.frombuffer(superseded, dtype=bool),
        sessions=sessions,
        categories=categories,
        agents=[aliases.get(owner, owner) for owner in owners],
        namespaces=namespaces,
        agent_ids=owners,
        agents_by_alias={alias: agent for agent, alias in aliases.items()},
    )


def _aliases(schema: Schema, connection: sqlite3.Connection) -> dict[str, str]:
    """Read the agents' aliases by id."""
    if not schema.has_agents:
        return {}
    return {as_text(agent): as_text(alias) for agent, alias in connection.execute("SELECT id, alias FROM agents")}


def order_of(select: SqliteSelect | None, connection: sqlite3.Connection) -> ScanOrder:
    """The order in which SQLite reads the rows of a SELECT; None selects all rows."""
    if select is None:
        return "stored"
    statement = f"EXPLAIN QUERY PLAN {select.statement('m.rowid')}"
    plan = " ".join(as_text(row[3]) for row in connection.execute(statement, select.values))
    if "agent_id=?" in plan:
        return "agent"
    return "session" if "MULTI-INDEX OR" in plan else "stored"


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
