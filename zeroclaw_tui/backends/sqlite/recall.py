"""What a recall looks at in a database: its conditions in SQL, the hits of every stage, cut or uncut, their rows."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.select import agent_join, entry_columns, entry_from
from zeroclaw_tui.files.database import as_text, bound, connect_read_only_blocking, translate_sqlite_errors
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import SearchInterrupted
from zeroclaw_tui.memory.recall import RecallRequest
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
    WordShare,
    served,
)
from zeroclaw_tui.scoring.keywords import (
    LikeSearch,
    like_search,
    lists_recent,
    match_expression,
    word_expressions,
    words,
)
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, ScoringSettings, float32, mode_in, profile_for

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.sqlite.search import AllVectorHits, VectorHits


Answer = TypeVar("Answer")
_NOTHING = "0"
_CHUNK = 100
# bm25 is asked of the index alone and sorted by SQLite, which keeps only the best rows while it scores. FTS5's own
# `ORDER BY rank` sorts every hit before the first comes out, and a join looks every hit up in the table.
_INDEX_ONLY = (
    "SELECT rowid, bm25(memories_fts) AS score FROM memories_fts WHERE memories_fts MATCH ? ORDER BY score LIMIT ?"
)
_JOINED = (
    "SELECT m.rowid, bm25(memories_fts) AS score FROM memories_fts f JOIN memories m ON m.rowid = f.rowid"
    " {where} ORDER BY score LIMIT ?"
)
_ALL = "SELECT rowid, bm25(memories_fts) FROM memories_fts WHERE memories_fts MATCH ?"
_ONE = f"{_ALL} AND rowid = ?"
_COUNT = "SELECT count(*) FROM memories_fts WHERE memories_fts MATCH ?"
_BATCH = 2000
_SWALLOWED = ("SQLITE_ERROR", "SQLITE_CORRUPT_VTAB")


class CancelToken:
    """One search. Once `is_cancelled`, everything done for it raises SearchInterrupted."""

    def __init__(self) -> None:
        self.is_cancelled = False

    def check(self) -> None:
        """Raise SearchInterrupted when the search has been called off."""
        if self.is_cancelled:
            raise SearchInterrupted


class SearchThread:
    """Runs work on its connection, one piece after another; the connection opens with the first piece.

    It keeps its thread and its connection between calls, because a search as you type asks often.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._connection: sqlite3.Connection | None = None
        self._running: CancelToken | None = None
        self._lock = threading.Lock()
        self._closed = False

    async def run(self, token: CancelToken, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """What `work` answers. Cancelling the await calls the ticket off. Raises InspectorError, SearchInterrupted."""
        if self._closed:
            raise SearchInterrupted
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._executor, self._run, token, work)
        except asyncio.CancelledError:
            self.cancel(token)
            raise

    def cancel(self, token: CancelToken) -> None:
        """Stop the work of this ticket, whether it runs or still waits; from any thread."""
        with self._lock:
            token.is_cancelled = True
            if self._running is token and self._connection is not None:
                self._connection.interrupt()

    async def close(self) -> None:
        """Stop what runs, close the connection and end the thread."""
        if self._closed:
            return
        with self._lock:
            self._closed = True
            if self._running is not None:
                self._running.is_cancelled = True
            if self._connection is not None:
                self._connection.interrupt()
        await asyncio.get_running_loop().run_in_executor(self._executor, self._close)
        self._executor.shutdown(wait=False)

    def _run(self, token: CancelToken, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        if self._closed:
            raise SearchInterrupted
        with translate_sqlite_errors(self._path):
            connection = self._open()
            with self._lock:
                token.check()
                self._running = token
            try:
                return work(connection)
            finally:
                with self._lock:
                    self._running = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = connect_read_only_blocking(self._path)
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Conditions:
    """Parts of a WHERE clause that must all hold, with their parameters in order."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.values: list[Any] = []

    def add(self, part: str, *groups: Iterable[Any]) -> None:
        """One more; each `{}` in `part` stands for the placeholders of one group of values."""
        marks: list[str] = []
        for group in groups:
            placeholders, ready = bound(group)
            marks.append(placeholders)
            self.values += ready
        self.parts.append(part.format(*marks))

    @property
    def where(self) -> str:
        """The clause with its keyword; empty without parts."""
        return f"WHERE {' AND '.join(self.parts)}" if self.parts else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlScope(Scope):
    """A request as this database and this profile serve it; `asked` is it as it was asked."""

    schema: Schema
    asked: RecallRequest

    def with_agents(self, connection: sqlite3.Connection) -> SqlScope:
        """The same with the ids of the request's agents and the number of rows, where they are needed."""
        aliases = self.request.agents
        if aliases is None:
            return self
        known: dict[str, str] = {}
        if self.schema.has_agents:
            marks, values = bound(aliases)
            known = dict(connection.execute(f"SELECT alias, id FROM agents WHERE alias IN ({marks})", values))
        # ZeroClaw makes up an id for an alias it does not know; no row has it.
        ids = tuple(known.get(alias, alias) for alias in aliases)
        (rows,) = connection.execute("SELECT count(*) FROM memories").fetchone()
        return replace(self, agent_ids=ids, store_rows=rows)

    def keyword_conditions(self) -> Conditions:
        """What the FTS statement restricts besides the words: nothing before 0.8.4."""
        found = Conditions()
        if self.profile.filters_in_sql:
            if self.vector_live:
                self._add_session(found, durable=True)
            self._add_agents(found)
        return found

    def vector_conditions(self) -> Conditions:
        """Which of the rows with a vector the vector stage scans."""
        found = Conditions()
        self._add_session(found, durable=self.profile.filters_in_sql)
        if self.profile.filters_in_sql:
            self._add_agents(found)
        return found

    def recent_conditions(self) -> Conditions:
        """Which rows the list of the newest takes, whoever's they are."""
        found = Conditions()
        self._add_not_superseded(found)
        self._add_session(found, durable=False)
        self._add_times(found)
        return found

    def like_conditions(self, search: LikeSearch) -> Conditions:
        """Which rows the LIKE fall-back takes; sessions are sorted out afterwards."""
        found = Conditions()
        self._add_not_superseded(found)
        escape = r" ESCAPE '\'" if search.escapes else ""
        word = f"(m.content LIKE {{}}{escape} OR m.key LIKE {{}}{escape})"
        any_word = " OR ".join(word for _ in search.patterns)
        # 0.5.5 and 0.5.6 forgot the brackets, so there a time bound restricts only the last word.
        brackets = self.profile.hides_superseded or not self.profile.has_time_bounds
        patterns = [[pattern] for pattern in search.patterns for _ in ("content", "key")]
        found.add(f"({any_word})" if brackets else any_word, *patterns)
        self._add_times(found)
        if self.profile.filters_in_sql:
            self._add_agents(found)
        return found

    def _add_not_superseded(self, found: Conditions) -> None:
        if self.profile.hides_superseded and self.schema.has("superseded_by"):
            found.add("m.superseded_by IS NULL")

    def _add_session(self, found: Conditions, *, durable: bool) -> None:
        session = self.request.session_id
        if session is None:
            return
        if not self.schema.has("session_id"):
            found.add(_NOTHING)
        elif durable and self.schema.has("category"):
            found.add("(m.session_id = {} OR (m.session_id IS NULL AND m.category IN ({})))", [session], DURABLE)
        else:
            found.add("m.session_id = {}", [session])

    def _add_times(self, found: Conditions) -> None:
        if self.request.since is not None:
            found.add("m.created_at >= {}", [self.request.since])
        if self.request.until is not None:
            found.add("m.created_at <= {}", [self.request.until])

    def _add_agents(self, found: Conditions) -> None:
        if self.agent_ids is not None:
            found.add("m.agent_id IN ({})", self.agent_ids)


def scope_of(
    request: RecallRequest, profile: ScoringProfile, schema: Schema, *, vector_live: bool
) -> tuple[SqlScope, list[str]]:
    """The scope of a request, and sentences on what was asked and cannot be served. An empty `agents` is unscoped."""
    left, said = served(request, profile, has_agents=schema.has("agent_id"), has_times=schema.has("created_at"))
    return SqlScope(left, profile, vector_live, schema=schema, asked=request), said


def ids_of(connection: sqlite3.Connection, rowids: Sequence[int]) -> dict[int, str]:
    """The ids of rows; rows that are not there are left out."""
    found: dict[int, str] = {}
    for chunk in _chunks(rowids):
        statement = f"SELECT rowid, id FROM memories WHERE rowid IN ({_marks(chunk)})"
        found.update((rowid, as_text(memory_id)) for rowid, memory_id in connection.execute(statement, chunk))
    return found


def read_rows(
    schema: Schema, rowids: Sequence[int], token: CancelToken, connection: sqlite3.Connection
) -> list[MemoryEntry]:
    """Rows with their whole content, in that order; rows that are not there are left out."""
    columns = entry_columns(schema, excerpt=None)
    found: list[MemoryEntry] = []
    for chunk in _chunks(rowids):
        token.check()
        statement = f"SELECT {columns} FROM memories m {agent_join(schema)} WHERE m.rowid IN ({_marks(chunk)})"
        entries = {row[0]: entry_from(row, schema) for row in connection.execute(statement, chunk)}
        found += [entries[rowid] for rowid in chunk if rowid in entries]
    return found


def _chunks(values: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


@dataclass(frozen=True, slots=True)
class KeywordHits:
    """Rowids with -bm25, best first, and sentences on what went wrong."""

    hits: Sequence[Hit] = ()
    notes: tuple[str, ...] = ()


def search_keywords(scope: SqlScope, connection: sqlite3.Connection) -> KeywordHits:
    """The best rows by words. What FTS5 refuses gives no hits and a note, as ZeroClaw goes on without."""
    found, notes = _swallowing(scope, lambda: _best(connection, scope), list[tuple[int, float]]())
    return KeywordHits([(rowid, float32(-score)) for rowid, score in found], notes)


def search_all_keywords(
    scope: SqlScope, token: CancelToken, connection: sqlite3.Connection
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Every rowid that FTS5 knows for the words, whoever's row it is, int64, with -bm25, float32, best first; notes.

    Rows that only the index still knows are among them.
    """
    import numpy as np

    expression = match_expression(scope.request.query, scope.profile)
    nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float64)
    (rowids, scores), notes = _swallowing(scope, lambda: _all_hits(connection, expression, token), nothing)
    # FTS5 gives rows by rowid, and ZeroClaw's statement leaves equal scores in that order.
    order = np.argsort(scores, kind="stable")
    return rowids[order], (-scores[order]).astype(np.float32), notes


def _all_hits(connection: sqlite3.Connection, expression: str, token: CancelToken) -> tuple[np.ndarray, np.ndarray]:
    """Every rowid that FTS5 knows, int64, ascending, with bm25, float64. Raises sqlite3.Error for what it refuses."""
    import numpy as np

    # Arrays: a tuple for each of many hits would make the collector of the whole process stop to look at them.
    rowids, scores = array("q"), array("d")
    cursor = connection.execute(_ALL, (expression,))
    while batch := cursor.fetchmany(_BATCH):
        token.check()
        rowids.extend([rowid for rowid, _ in batch])
        scores.extend([score for _, score in batch])
    return np.array(rowids, dtype=np.int64), np.array(scores, dtype=np.float64)


def share_of(connection: sqlite3.Connection, expression: str, rowid: int) -> tuple[float | None, int]:
    """What one word adds to -bm25 of a row, None where it is not there, and in how many rows it is.

    bm25 is a sum over the words of a query, each with a weight of its own. Raises sqlite3.Error for what FTS5 refuses.
    """
    found = connection.execute(_ONE, (expression, rowid)).fetchone()
    (rows,) = connection.execute(_COUNT, (expression,)).fetchone()
    return (None if found is None else -found[1], rows)


def is_refusal(error: sqlite3.DatabaseError) -> bool:
    """Whether ZeroClaw swallows this error and goes on without keyword hits."""
    return getattr(error, "sqlite_errorname", "") in _SWALLOWED


def _swallowing(scope: SqlScope, look: Callable[[], Answer], nothing: Answer) -> tuple[Answer, tuple[str, ...]]:
    if not scope.schema.has_fts:
        return nothing, ("The table memories_fts is missing, so only the LIKE fallback finds words.",)
    try:
        return look(), ()
    except sqlite3.DatabaseError as error:
        if not is_refusal(error):
            raise
        said = one_line(str(error))
        return nothing, (f"FTS5 refuses this query ({said}); ZeroClaw continues without keyword hits.",)


def _best(connection: sqlite3.Connection, scope: SqlScope) -> list[tuple[int, float]]:
    expression, conditions = match_expression(scope.request.query, scope.profile), scope.keyword_conditions()
    if not conditions.parts:
        found = connection.execute(_INDEX_ONLY, (expression, scope.stage_limit)).fetchall()
        # Rows that only the index still knows take no place in ZeroClaw's list, which the join makes sure of.
        if len(ids_of(connection, [rowid for rowid, _ in found])) == len(found):
            return found
    joined = Conditions()
    joined.add("memories_fts MATCH {}", [expression])
    joined.parts += conditions.parts
    joined.values += conditions.values
    return connection.execute(_JOINED.format(where=joined.where), (*joined.values, scope.stage_limit)).fetchall()


_ROWS_AT_ONCE = 500
_WHOLE_FROM = 4
"""Where more than one row in so many is named, all are read in one pass."""
_WHOLE_SOON = 20_000
"""Of a store of up to so many rows those named by earlier queries count too: many are asked, and all is soon read."""
_LISTS_RECENT: tuple[list[str], ...] = ([], ["*"])


@dataclass(slots=True)
class KnownRows:
    """What is kept of the rows at one state of the database: the table of the whole store, None until that was read,
    and how many rows were read one by one before."""

    version: int
    rows: RowTable | None = None
    named: int = 0


@dataclass(frozen=True, slots=True)
class WordHits:
    """What the keyword connection has to say about a query."""

    evidence: StageEvidence
    known: KnownRows


def gather(
    scope: SqlScope,
    token: CancelToken,
    vectors: AllVectorHits,
    known: KnownRows | None,
    connection: sqlite3.Connection,
) -> WordHits:
    """The whole evidence for a query, in one state of the database but for the vectors."""
    import numpy as np

    connection.execute("BEGIN")
    try:
        keyword, keyword_scores, notes = search_all_keywords(scope, token, connection)
        listed = _newest_first(connection, token, scope) if words(scope.request.query) in _LISTS_RECENT else []
        like, like_facts = _like(connection, token, scope)
        (store_rows,) = connection.execute("SELECT count(*) FROM memories").fetchone()
        recent = np.array(listed, dtype=np.int64)
        faulty = vectors.faults.handles if vectors.faults is not None else recent[:0]
        hits = (keyword, vectors.handles, like, recent, faulty)
        rows, known = _rows(connection, token, scope.schema, hits, store_rows, known, _agents(connection, scope.schema))
        orders = _scan_orders(connection, scope)
    finally:
        connection.execute("ROLLBACK")
    keyword_there, vector_there = np.isin(keyword, rows.handles), np.isin(vectors.handles, rows.handles)
    evidence = StageEvidence(
        query=scope.request.query,
        expression=match_expression(scope.request.query, scope.profile),
        keyword_handles=keyword[keyword_there],
        keyword_scores=keyword_scores[keyword_there],
        vector_handles=vectors.handles[vector_there],
        vector_scores=vectors.scores[vector_there],
        like=like,
        recent=recent,
        rows=rows,
        store_rows=store_rows,
        vector_live=scope.vector_live,
        has_sessions=scope.schema.has("session_id"),
        keyword_notes=notes,
        vector_notes=vectors.notes,
        has_agents=scope.schema.has("agent_id"),
        has_times=scope.schema.has("created_at"),
        like_facts=None if like_facts is None else replace(like_facts, order=orders[2]),
        durable_order=orders[0],
        agent_order=orders[1],
        faults=vectors.faults,
    )
    return WordHits(evidence, known)


def gather_cut(
    scope: SqlScope,
    settings: ScoringSettings,
    token: CancelToken,
    keyword: KeywordHits,
    vectors: VectorHits,
    known: KnownRows | None,
    connection: sqlite3.Connection,
) -> WordHits:
    """What one recall looks at: hits that its statements cut to 2 x the limit, the LIKE fall-back only where nothing
    else is left, and the rows it returns with their whole content. In one state of the database but for the hits."""
    import numpy as np

    nothing = np.zeros(0, dtype=np.int64)
    connection.execute("BEGIN")
    try:
        agents = _agents(connection, scope.schema)
        keyword_handles, keyword_scores = _arrays(keyword.hits)
        vector_handles, vector_scores = _arrays(vectors.hits)
        is_list = lists_recent(scope.request.query, scope.profile)
        recent = _found(connection, token, scope, scope.recent_conditions(), scope.recent_limit) if is_list else nothing
        hits = (keyword_handles, vector_handles, recent)
        rows, known = _rows(connection, token, scope.schema, hits, scope.store_rows, known, agents)
        keyword_there, vector_there = np.isin(keyword_handles, rows.handles), np.isin(vector_handles, rows.handles)
        evidence = StageEvidence(
            query=scope.request.query,
            expression=match_expression(scope.request.query, scope.profile),
            keyword_handles=keyword_handles[keyword_there],
            keyword_scores=keyword_scores[keyword_there],
            vector_handles=vector_handles[vector_there],
            vector_scores=vector_scores[vector_there],
            like=nothing,
            recent=recent,
            rows=rows,
            store_rows=scope.store_rows,
            vector_live=scope.vector_live,
            has_sessions=scope.schema.has("session_id"),
            keyword_notes=keyword.notes,
            vector_notes=vectors.notes,
            has_agents=scope.schema.has("agent_id"),
            has_times=scope.schema.has("created_at"),
            cut_for=(scope.asked, scope.profile, mode_in(settings, scope.profile)),
        )
        search = like_search(scope.request.query, scope.profile)
        ranking = rank(evidence, scope.asked, scope.profile, settings)
        if ranking.mode == "like" and search is not None:
            token.check()
            evidence = _with_like(connection, token, scope, search, evidence, agents)
            ranking = rank(evidence, scope.asked, scope.profile, settings)
        contents = read_rows(scope.schema, ranking.handles, token, connection)
    finally:
        connection.execute("ROLLBACK")
    return WordHits(replace(evidence, contents={entry.handle: entry for entry in contents}), known)


def _with_like(
    connection: sqlite3.Connection,
    token: CancelToken,
    scope: SqlScope,
    search: LikeSearch,
    evidence: StageEvidence,
    agents: dict[str, str],
) -> StageEvidence:
    """The same with what the statement of the LIKE fall-back gives, in place of the hits that were all dropped."""
    import numpy as np

    limit = search.sql_limit(scope.store_limit)
    like = _found(connection, token, scope, scope.like_conditions(search), limit)
    rows, _ = _rows(connection, token, scope.schema, (like,), scope.store_rows, None, agents)
    accepted = None
    if search.has_prefix_word:
        texts = {entry.handle: entry for entry in read_rows(scope.schema, like.tolist(), token, connection)}
        accepted = np.array(
            [search.accepts(texts[each].key, texts[each].content) for each in like.tolist()], dtype=bool
        )
    everywhere = np.ones(len(like), dtype=bool)
    # The statement has applied the time bounds already, to whichever words its version does.
    facts = LikeEvidence(
        search.patterns, np.arange(len(like)), accepted, everywhere if len(search.patterns) > 1 else None
    )
    none = like[:0]
    return replace(
        evidence, keyword_handles=none, keyword_scores=none.astype(np.float32), vector_handles=none,
        vector_scores=none.astype(np.float32), like=like, rows=rows, like_facts=facts, derived={},
    )  # fmt: skip


def _found(
    connection: sqlite3.Connection, token: CancelToken, scope: SqlScope, conditions: Conditions, limit: int
) -> np.ndarray:
    """The first rowids by `updated_at`, as text, descending."""
    import numpy as np

    statement = f"SELECT m.rowid FROM memories m {conditions.where} {_newest_order(scope.schema)} LIMIT ?"
    found = _fetched(connection, token, statement, (*conditions.values, limit))
    return np.fromiter((rowid for (rowid,) in found), dtype=np.int64)


def _arrays(hits: Sequence[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    import numpy as np

    handles = np.fromiter((handle for handle, _ in hits), dtype=np.int64, count=len(hits))
    return handles, np.fromiter((score for _, score in hits), dtype=np.float32, count=len(hits))


def _agents(connection: sqlite3.Connection, schema: Schema) -> dict[str, str]:
    """The id of each alias."""
    return dict(connection.execute("SELECT alias, id FROM agents")) if schema.has_agents else {}


def word_shares(
    query: str, profile: ScoringProfile, rowid: int, token: CancelToken, connection: sqlite3.Connection
) -> list[WordShare]:
    """What each word of the query adds to the row's -bm25; one that stands in the query twice adds twice."""
    said = words(query)
    found = []
    for word, expression in word_expressions(query, profile).items():
        token.check()
        try:
            share, rows = share_of(connection, expression, rowid)
        except sqlite3.DatabaseError as error:
            if not is_refusal(error):
                raise
            found.append(WordShare(word, False))
            continue
        found.append(WordShare(word, share is not None, 0.0 if share is None else share * said.count(word), rows))
    return found


def _newest_first(connection: sqlite3.Connection, token: CancelToken, scope: SqlScope) -> list[int]:
    statement = f"SELECT m.rowid FROM memories m {_newest_order(scope.schema)} LIMIT -1"
    return [rowid for (rowid,) in _fetched(connection, token, statement)]


def _newest_order(schema: Schema) -> str:
    return "ORDER BY m.updated_at DESC" if schema.has("updated_at") else ""


def _like(
    connection: sqlite3.Connection, token: CancelToken, scope: SqlScope
) -> tuple[np.ndarray, LikeEvidence | None]:
    """The rows that hold a word, newest first, and what else the fall-back looks at."""
    import numpy as np

    search = like_search(scope.request.query, scope.profile)
    if search is None:
        return np.zeros(0, dtype=np.int64), None
    # Arrays: a tuple for each of many hits would make the collector of the whole process stop to look at them.
    handles, moments, early, accepted = array("q"), array("q"), bytearray(), bytearray()
    last: Any = None
    for rowid, moment, holds_early, is_accepted in _like_rows(connection, token, scope, search):
        moments.append(moments[-1] + (moment != last) if moments else 0)
        last = moment
        handles.append(rowid)
        early.append(bool(holds_early))
        accepted.append(bool(is_accepted))
    facts = LikeEvidence(
        search.patterns,
        np.array(moments, dtype=np.int64),
        np.frombuffer(accepted, dtype=bool) if search.has_prefix_word else None,
        np.frombuffer(early, dtype=bool) if len(search.patterns) > 1 else None,
    )
    return np.array(handles, dtype=np.int64), facts


def _like_rows(
    connection: sqlite3.Connection, token: CancelToken, scope: SqlScope, search: LikeSearch
) -> Iterator[Sequence[Any]]:
    escape = r" ESCAPE '\'" if search.escapes else ""
    any_of, early = Conditions(), Conditions()
    for at, pattern in enumerate(search.patterns):
        word = f"(m.content LIKE {{}}{escape} OR m.key LIKE {{}}{escape})"
        any_of.add(word, [pattern], [pattern])
        if at < len(search.patterns) - 1:
            early.add(word, [pattern], [pattern])
    holds_early = f"({' OR '.join(early.parts)})" if early.parts else "0"
    accepted = "0"
    if search.has_prefix_word:
        accepted = "replay_accepts(m.key, m.content)"
        connection.create_function(
            "replay_accepts", 2, lambda key, content: search.accepts(as_text(key), as_text(content)), deterministic=True
        )
    updated = "m.updated_at" if scope.schema.has("updated_at") else "0"
    statement = (
        f"SELECT m.rowid, {updated}, {holds_early}, {accepted} FROM memories m WHERE {' OR '.join(any_of.parts)}"
        f" {_newest_order(scope.schema)} LIMIT -1"
    )
    if not search.fails:
        yield from _fetched(connection, token, statement, (*early.values, *any_of.values))


def _rows(
    connection: sqlite3.Connection,
    token: CancelToken,
    schema: Schema,
    hits: Sequence[np.ndarray],
    store_rows: int,
    known: KnownRows | None,
    agents: dict[str, str],
) -> tuple[RowTable, KnownRows]:
    """The row table of these hits, or of all rows where that is the quicker way, and what to keep of it."""
    import numpy as np

    (version,) = connection.execute("PRAGMA data_version").fetchone()
    if known is None or known.version != version:
        known = KnownRows(version)
    if known.rows is not None:
        return known.rows, known
    named = np.unique(np.concatenate(hits))
    if not store_rows:
        # At least as many as there are, and known at once; none is counted for a recall that needs no number.
        (store_rows,) = connection.execute("SELECT coalesce(max(rowid), 0) FROM memories").fetchone()
    read = len(named) + (known.named if store_rows <= _WHOLE_SOON else 0)
    columns = ", ".join(
        f"m.{name}" if schema.has(name) else "NULL"
        for name in ("id", "created_at", "session_id", "category", "agent_id", "namespace", "superseded_by")
    )
    statement = f"SELECT m.rowid, {columns} FROM memories m"
    if 0 < store_rows <= read * _WHOLE_FROM:
        rows = _table(_fetched(connection, token, f"{statement} ORDER BY m.rowid"), agents)
        # The index over the ids has them in order already.
        by_id = "SELECT rowid FROM memories ORDER BY id" if schema.has("id") else "SELECT rowid FROM memories"
        ordered = array("q", [rowid for (rowid,) in _fetched(connection, token, by_id)])
        rows = replace(rows, id_ranks=_ranks(rows.handles, np.array(ordered, dtype=np.int64)))
        return rows, KnownRows(version, rows)

    def chosen() -> Iterator[Sequence[Any]]:
        for start in range(0, len(named), _ROWS_AT_ONCE):
            chunk = named[start : start + _ROWS_AT_ONCE].tolist()
            marks = ", ".join("?" * len(chunk))
            yield from _fetched(connection, token, f"{statement} WHERE m.rowid IN ({marks}) ORDER BY m.rowid", chunk)

    return _table(chosen(), agents), KnownRows(version, named=read)


def _table(rows: Iterable[Sequence[Any]], agents: dict[str, str]) -> RowTable:
    import numpy as np

    handles, superseded = array("q"), bytearray()
    ids: list[str] = []
    created: list[str] = []
    names: tuple[dict[Any, int], ...] = ({}, {}, {}, {})
    codes = (array("i"), array("i"), array("i"), array("i"))
    for handle, memory_id, moment, *texts, newer in rows:
        handles.append(handle)
        ids.append(as_text(memory_id))
        created.append(as_text(moment))
        superseded.append(newer is not None)
        for text, known, kept in zip(texts, names, codes, strict=True):
            kept.append(-1 if text is None else known.setdefault(text, len(known)))
    aliases = {agent: alias for alias, agent in agents.items()}
    sessions, categories, owners, namespaces = ([as_text(name) for name in known] for known in names)
    return RowTable(
        np.array(handles, dtype=np.int64),
        ids,
        created,
        np.array(codes[0], dtype=np.int32),
        np.array(codes[1], dtype=np.int32),
        np.array(codes[2], dtype=np.int32),
        np.array(codes[3], dtype=np.int32),
        np.frombuffer(superseded, dtype=bool),
        sessions,
        categories,
        [aliases.get(owner, owner) for owner in owners],
        namespaces,
        owners,
        agents,
    )


def _ranks(handles: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """The place of each of `handles`, ascending, in another order of the same."""
    import numpy as np

    ranks = np.empty(len(handles), dtype=np.int64)
    ranks[np.searchsorted(handles, ordered)] = np.arange(len(ordered))
    return ranks


def _scan_orders(connection: sqlite3.Connection, scope: SqlScope) -> tuple[ScanOrder, ScanOrder, ScanOrder]:
    """How SQLite reads the rows of ZeroClaw's statements from 0.8.4 on: of a session, of agents, and LIKE of agents."""
    schema, newest = scope.schema, profile_for(NEWEST)
    asked = RecallRequest(scope.request.query, session_id="session")
    of_session = replace(scope, request=asked, profile=newest, agent_ids=None)
    of_agents = replace(of_session, agent_ids=("agent",))
    found: list[ScanOrder] = []
    for each in (of_session, of_agents):
        parts = each.vector_conditions()
        embedded = "m.embedding IS NOT NULL" if schema.has("embedding") else "1"
        statement = f"SELECT m.rowid FROM memories m {parts.where} AND {embedded}"
        found.append(_order_of(connection, statement, parts.values) if _can_ask(schema, each) else "stored")
    search = like_search(scope.request.query, scope.profile)
    if search is None or not schema.has("agent_id"):
        return found[0], found[1], "stored"
    parts = replace(of_agents, request=replace(asked, session_id=None)).like_conditions(search)
    return found[0], found[1], _order_of(connection, f"SELECT m.rowid FROM memories m {parts.where}", parts.values)


def _can_ask(schema: Schema, scope: SqlScope) -> bool:
    return schema.has("session_id") and (scope.agent_ids is None or schema.has("agent_id"))


def _order_of(connection: sqlite3.Connection, statement: str, values: Sequence[Any]) -> ScanOrder:
    plan = " ".join(as_text(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values))
    if "agent_id=?" in plan:
        return "agent"
    return "session" if "MULTI-INDEX OR" in plan else "stored"


def _fetched(
    connection: sqlite3.Connection, token: CancelToken, statement: str, values: Sequence[Any] = ()
) -> Iterator[Sequence[Any]]:
    cursor = connection.execute(statement, values)
    while batch := cursor.fetchmany(_BATCH):
        token.check()
        yield from batch
