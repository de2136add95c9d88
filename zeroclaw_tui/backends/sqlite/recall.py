"""Read what a recall needs from a database: the hits of every stage and their rows."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.sqlite.schema import Schema, aliases_of
from zeroclaw_tui.backends.sqlite.select import SqliteSelect
from zeroclaw_tui.memory.entry import Handle, MemoryEntry, as_text
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring import keywords
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
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, Trial, profile_for

if TYPE_CHECKING:
    import numpy as np

Score = tuple["np.ndarray", "np.ndarray"]
_AMONG = "m.rowid IN (SELECT value FROM json_each(?))"
_COUNT = "SELECT count(*) FROM memories AS m"
_MATCH = "SELECT rowid, bm25(memories_fts) AS score FROM memories_fts WHERE memories_fts MATCH ?"
_NEWEST_FIRST = "ORDER BY m.updated_at DESC"
# Select bm25 from the index alone and let SQLite sort, which keeps only the best rows while it scores. FTS5's own
# `ORDER BY rank` sorts all hits before it returns the first, and a join looks up every hit in the table.
_JOINED = "memories_fts AS f JOIN memories AS m ON m.rowid = f.rowid"
HIGHEST_ROWID = "SELECT coalesce(max(rowid), 0) FROM memories"
"""At least the number of rows; SQLite finds it without a scan."""
_WHOLE_FROM = 4
"""If more than one row in this many is a hit, all rows are read in one pass."""
_SWALLOWED = ("SQLITE_ERROR", "SQLITE_CORRUPT_VTAB")
"""Errors that ZeroClaw ignores, continuing without keyword hits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlScope(Scope):
    """The part of a request that this database and this profile support."""

    schema: Schema
    dimensions: int | None = None
    """The length of the query's vector."""

    def with_agents(self, connection: sqlite3.Connection) -> SqlScope:
        """Add the ids of the request's agents and the number of rows, if the request names agents."""
        if self.request.agents is None:
            return self
        known = {alias: agent for agent, alias in aliases_of(connection).items()}
        # For an unknown alias ZeroClaw generates an id, which no row has.
        ids = tuple(known.get(alias, alias) for alias in self.request.agents)
        return replace(self, agent_ids=ids, store_rows=connection.execute(_COUNT).fetchone()[0])

    def keyword_select(self) -> SqliteSelect:
        """Select the rows that the FTS statement may match: all rows before 0.8.4."""
        select = SqliteSelect(self.schema)
        if self.profile.filters_in_sql:
            if self.vector_live:
                self._add_session(select, durable=True)
            self._add_agents(select)
        return select

    def vector_select(self) -> SqliteSelect:
        """Select the rows with a vector that the vector stage scans."""
        select = SqliteSelect(self.schema)
        select.also("m.embedding IS NOT NULL")
        self._add_session(select, durable=self.profile.filters_in_sql)
        if self.profile.filters_in_sql:
            self._add_agents(select)
        return select

    def recent_select(self) -> SqliteSelect:
        """Select the rows that the list of the newest may return, of all agents."""
        select = SqliteSelect(self.schema)
        self._add_not_superseded(select)
        self._add_session(select, durable=False)
        self._add_times(select)
        return select

    def like_select(self, search: keywords.LikeSearch) -> SqliteSelect:
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
        if self.profile.hides_superseded and self.schema.has("superseded_by"):
            select.also("m.superseded_by IS NULL")

    def _add_session(self, select: SqliteSelect, *, durable: bool) -> None:
        session = self.request.session_id
        if session is None:
            return
        if not self.schema.has("session_id"):
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


def scope_of(request: RecallRequest, profile: ScoringProfile, schema: Schema, dimensions: int | None) -> SqlScope:
    """Make the scope of a request and the length of its vector. Empty `agents` means all agents."""
    supported, _ = supported_request(request, profile, has_agents=schema.has("agent_id"))
    return SqlScope(supported, profile, dimensions is not None, schema=schema, dimensions=dimensions)


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


def search_keywords(scope: SqlScope, connection: sqlite3.Connection) -> Hits:
    """Find the best rows by keywords. If FTS5 rejects the query, return no hits and a note, as ZeroClaw ignores it."""
    expression, select = keywords.match_expression(scope.request.query, scope.profile), scope.keyword_select()
    found: list[Hit] = []
    is_whole = False
    with _ignoring_fts_errors(scope) as notes:
        if not select.conditions:
            found = connection.execute(f"{_MATCH} ORDER BY score LIMIT ?", (expression, scope.stage_limit)).fetchall()
            # Rows that exist only in the index must not take places in the list, which the join below ensures.
            rowids = json.dumps([rowid for rowid, _ in found])
            is_whole = connection.execute(f"{_COUNT} WHERE {_AMONG}", (rowids,)).fetchone() == (len(found),)
        if not is_whole:
            select.source = _JOINED
            select.also(f"memories_fts MATCH {select.place(expression)}")
            limit = select.place(scope.stage_limit)
            statement = select.statement("m.rowid, bm25(memories_fts) AS score", f"ORDER BY score LIMIT {limit}")
            found = connection.execute(statement, select.values).fetchall()
    return Hits.from_pairs([(rowid, -score) for rowid, score in found], tuple(notes))


def _search_all_keywords(scope: SqlScope, connection: sqlite3.Connection) -> Hits:
    """Find all keyword hits of FTS5, of all agents, including rows that exist only in the index."""
    import numpy as np

    with _ignoring_fts_errors(scope) as notes:
        expression = keywords.match_expression(scope.request.query, scope.profile)
        rowids, scores = _all_hits(connection, expression)
        # FTS5 returns rows by rowid, and equal scores stay in that order in ZeroClaw's statement.
        order = np.argsort(-scores, kind="stable")
        return Hits(rowids[order], scores[order].astype(np.float32))
    return Hits.from_pairs(notes=tuple(notes))


def _search_each_word(scope: SqlScope, connection: sqlite3.Connection) -> dict[str, Score | None] | None:
    """Find the hits of each word alone: bm25 is a sum over the words of a query, each with its own weight."""
    if not scope.schema.has_fts:
        return None
    found: dict[str, Score | None] = {}
    for word, expression in keywords.word_expressions(scope.request.query, scope.profile).items():
        found[word] = None
        with _ignoring_fts_errors(scope):
            found[word] = _all_hits(connection, expression)
    return found


def _all_hits(connection: sqlite3.Connection, expression: str) -> Score:
    """Find all rowids, int64, ascending, with -bm25, float64. Raises sqlite3.Error if FTS5 rejects the expression."""
    import numpy as np

    # Arrays: a tuple for each of many hits would make the collector of the whole process stop to look at them.
    rowids, scores = array("q"), array("d")
    for rowid, score in connection.execute(_MATCH, (expression,)):
        rowids.append(rowid)
        scores.append(score)
    return np.array(rowids, dtype=np.int64), -np.array(scores, dtype=np.float64)


@contextmanager
def _ignoring_fts_errors(scope: SqlScope) -> Iterator[list[str]]:
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


def gather_all(scope: SqlScope, vectors: Hits, rows: RowTable | None, connection: sqlite3.Connection) -> StageEvidence:
    """Gather the evidence for a query without any limits; `rows` is the table of all rows if it was read before."""
    import numpy as np

    nothing = np.zeros(0, dtype=np.int64)
    keyword, word_hits = _search_all_keywords(scope, connection), _search_each_word(scope, connection)
    is_listing = keywords.words(scope.request.query) in ([], ["*"])
    recent = _newest(connection, SqliteSelect(scope.schema), -1) if is_listing else nothing
    like, like_facts = _like(connection, scope)
    (store_rows,) = connection.execute(_COUNT).fetchone()
    rows = rows or _rows(connection, scope.schema, (keyword.handles, vectors.handles, like, recent))
    durable_order, agent_order = _scan_orders(connection, scope)
    return replace(
        _evidence(replace(scope, store_rows=store_rows), keyword, vectors, rows, recent),
        like=like,
        like_facts=like_facts,
        durable_order=durable_order,
        agent_order=agent_order,
        word_hits=word_hits,
    )


def gather_limited(
    scope: SqlScope, trial: Trial, keyword: Hits, vectors: Hits, rows: RowTable | None, connection: sqlite3.Connection
) -> StageEvidence:
    """Gather the evidence for one recall: at most 2 x the limit hits a stage, and the returned rows with their content.

    The LIKE fall-back is searched only if no other hit is left. `rows` is the table of all rows if it was read before.
    """
    import numpy as np

    recent = np.zeros(0, dtype=np.int64)
    if keywords.lists_recent(scope.request.query, scope.profile):
        recent = _newest(connection, scope.recent_select(), scope.recent_limit)
    rows = rows or _rows(connection, scope.schema, (keyword.handles, vectors.handles, recent))
    evidence = _evidence(scope, keyword, vectors, rows, recent)
    contents: dict[Handle, MemoryEntry] = {}
    # Filled after the ranking: a copy of the evidence would compute its masks again.
    evidence = replace(evidence, limited_to=(trial.request, trial.profile, trial.search_mode), contents=contents)
    ranking = rank(evidence, trial)
    if ranking.mode == "like":
        evidence = _with_like(connection, scope, evidence)
        ranking = rank(evidence, trial)
    contents.update((entry.handle, entry) for entry in _read_rows(scope.schema, ranking.handles, connection))
    return evidence


def _evidence(scope: SqlScope, keyword: Hits, vectors: Hits, rows: RowTable, recent: np.ndarray) -> StageEvidence:
    """Make evidence of the hits of both stages whose rows exist."""
    has_row, vector_has_row = (_are_among(hits.handles, rows.handles) for hits in (keyword, vectors))
    return StageEvidence(
        query=scope.request.query,
        expression=keywords.match_expression(scope.request.query, scope.profile),
        keyword_handles=keyword.handles[has_row],
        keyword_scores=keyword.scores[has_row],
        vector_handles=vectors.handles[vector_has_row],
        vector_scores=vectors.scores[vector_has_row],
        like=recent[:0],
        recent=recent,
        rows=rows,
        store_rows=scope.store_rows,
        vector_live=scope.vector_live,
        has_sessions=scope.schema.has("session_id"),
        dimensions=scope.dimensions,
        keyword_notes=keyword.notes,
        has_agents=scope.schema.has("agent_id"),
    )


def _with_like(connection: sqlite3.Connection, scope: SqlScope, evidence: StageEvidence) -> StageEvidence:
    """Replace the hits, all of which were filtered out, by the rows that the LIKE fall-back finds."""
    nothing = Hits.from_pairs()
    like, facts = _like(connection, scope)
    return replace(
        evidence,
        keyword_handles=nothing.handles,
        keyword_scores=nothing.scores,
        vector_handles=nothing.handles,
        vector_scores=nothing.scores,
        like=like,
        rows=_rows(connection, scope.schema, (like,)),
        like_facts=facts,
    )


def _newest(connection: sqlite3.Connection, select: SqliteSelect, limit: int) -> np.ndarray:
    """Find the first rowids by `updated_at`, as text, descending; a limit of -1 means no limit."""
    import numpy as np

    statement = select.statement("m.rowid", f"{_NEWEST_FIRST} LIMIT {select.place(limit)}")
    return np.fromiter((rowid for (rowid,) in connection.execute(statement, select.values)), dtype=np.int64)


def _like(connection: sqlite3.Connection, scope: SqlScope) -> tuple[np.ndarray, LikeEvidence | None]:
    """Find the rows that contain a word, newest first, and the facts that the fall-back decides by."""
    import numpy as np

    search, schema = keywords.like_search(scope.request.query, scope.profile), scope.schema
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
        _like_order(connection, scope, search),
    )
    return np.array(handles, dtype=np.int64), facts


def _like_order(connection: sqlite3.Connection, scope: SqlScope, search: keywords.LikeSearch) -> ScanOrder:
    """The order in which SQLite reads the rows of the fall-back's statement for some agents."""
    if not scope.schema.has("agent_id"):
        return "stored"
    request = replace(scope.request, session_id=None, since=None, until=None)
    of_agents = replace(scope, request=request, profile=profile_for(NEWEST), agent_ids=("agent",))
    return _order_of(connection, of_agents.like_select(search))


def _any_word(select: SqliteSelect, search: keywords.LikeSearch, patterns: Sequence[str]) -> str:
    """Write the condition that a row contains one of the words."""
    escape = r" ESCAPE '\'" if search.escapes else ""
    places = map(select.place, patterns)
    return " OR ".join(f"(m.content LIKE {place}{escape} OR m.key LIKE {place}{escape})" for place in places)


def _read_rows(schema: Schema, rowids: Sequence[int], connection: sqlite3.Connection) -> list[MemoryEntry]:
    """Read rows with their whole content, in this order; rows that no longer exist are skipped."""
    columns, entry_from = SqliteSelect(schema).reading("entry")
    statement = f"SELECT {columns} FROM memories AS m WHERE {_AMONG}"
    entries = {row[0]: entry_from(row) for row in connection.execute(statement, (json.dumps(rowids),))}
    return [entries[rowid] for rowid in rowids if rowid in entries]


def _are_among(handles: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Whether each handle is among the others. np.unique would import numpy.ma, half the cost of NumPy itself."""
    import numpy as np

    places = np.searchsorted(ascending, handles)
    are_there: np.ndarray = places < len(ascending)
    are_there[are_there] = ascending[places[are_there]] == handles[are_there]
    return are_there


def _rows(connection: sqlite3.Connection, schema: Schema, hits: Sequence[np.ndarray]) -> RowTable:
    """Read the row table of these hits, or of all rows if that is faster."""
    import numpy as np

    found = np.sort(np.concatenate(hits))
    handles = found[np.diff(found, prepend=found[:1] - 1) != 0]
    (highest,) = connection.execute(HIGHEST_ROWID).fetchone()
    return read_row_table(connection, schema, None if 0 < highest <= len(handles) * _WHOLE_FROM else handles)


def read_row_table(connection: sqlite3.Connection, schema: Schema, handles: np.ndarray | None = None) -> RowTable:
    """Read the row table of these rows, or of all."""
    import numpy as np

    select = SqliteSelect(schema)
    names = ("id", "created_at", "session_id", "category", "agent_id", "namespace", "superseded_by")
    columns = ", ".join(["m.rowid", *(select.column(name) or "NULL" for name in names)])
    statement, aliases = f"SELECT {columns} FROM memories AS m", aliases_of(connection)
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


def _scan_orders(connection: sqlite3.Connection, scope: SqlScope) -> tuple[ScanOrder, ScanOrder]:
    """SQLite's orders of the rows in ZeroClaw's vector statement from 0.8.4 on: for a session, and for agents."""
    if not scope.schema.has("session_id"):
        return "stored", "stored"
    request = RecallRequest(scope.request.query, session_id="session")
    of_session = replace(scope, request=request, profile=profile_for(NEWEST), agent_ids=None)
    of_agents = replace(of_session, agent_ids=("agent",))
    return (
        _order_of(connection, of_session.vector_select()),
        _order_of(connection, of_agents.vector_select()) if scope.schema.has("agent_id") else "stored",
    )


def _order_of(connection: sqlite3.Connection, select: SqliteSelect) -> ScanOrder:
    statement = f"EXPLAIN QUERY PLAN {select.statement('m.rowid')}"
    plan = " ".join(as_text(row[3]) for row in connection.execute(statement, select.values))
    if "agent_id=?" in plan:
        return "agent"
    return "session" if "MULTI-INDEX OR" in plan else "stored"
