"""What a recall looks at in a database: its conditions in SQL, the hits of every stage, cut or uncut, their rows."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.select import entry_columns, entry_from
from zeroclaw_tui.files.database import as_text, bound
from zeroclaw_tui.memory.entry import MemoryEntry
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
    VectorFaults,
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
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, ScoringSettings, mode_in, profile_for

if TYPE_CHECKING:
    import numpy as np


T = TypeVar("T")
_NOTHING = "0"
_AMONG = "rowid IN (SELECT value FROM json_each(?))"
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
_WHOLE_FROM = 4
"""Where more than one row in so many is a hit, all are read in one pass."""
_LISTS_RECENT: tuple[list[str], ...] = ([], ["*"])
_SWALLOWED = ("SQLITE_ERROR", "SQLITE_CORRUPT_VTAB")


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
        any_word = " OR ".join(_word_like(search) for _ in search.patterns)
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


def scope_of(request: RecallRequest, profile: ScoringProfile, schema: Schema, *, vector_live: bool) -> SqlScope:
    """The scope of a request. An empty `agents` is unscoped."""
    supported, _ = served(request, profile, has_agents=schema.has("agent_id"), has_times=schema.has("created_at"))
    return SqlScope(supported, profile, vector_live, schema=schema, asked=request)


def _read_rows(schema: Schema, rowids: Sequence[int], connection: sqlite3.Connection) -> list[MemoryEntry]:
    """Rows with their whole content, in that order; rows that are not there are left out."""
    statement = f"SELECT {entry_columns(schema)} FROM memories AS m WHERE m.{_AMONG}"
    entries = {row[0]: entry_from(row) for row in connection.execute(statement, (json.dumps(rowids),))}
    return [entries[rowid] for rowid in rowids if rowid in entries]


@dataclass(frozen=True, slots=True)
class Hits:
    """What one stage finds, best first: handles, int64, with -bm25 or cosines, float32; and notes for people."""

    handles: np.ndarray
    scores: np.ndarray
    notes: tuple[str, ...] = ()
    faults: VectorFaults | None = None

    @classmethod
    def from_pairs(cls, pairs: Sequence[Hit] = (), notes: tuple[str, ...] = ()) -> Hits:
        """Make arrays of pairs."""
        import numpy as np

        handles = np.array([handle for handle, _ in pairs], dtype=np.int64)
        return cls(handles, np.array([score for _, score in pairs], dtype=np.float64).astype(np.float32), notes)


def search_keywords(scope: SqlScope, connection: sqlite3.Connection) -> Hits:
    """Find the best rows by words. What FTS5 refuses gives no hits and a note, as ZeroClaw goes on without."""
    pairs, notes = _hits_or_note(scope, lambda: _best(connection, scope))
    return Hits.from_pairs([(rowid, -score) for rowid, score in pairs], notes)


def _best(connection: sqlite3.Connection, scope: SqlScope) -> list[Hit]:
    expression, conditions = match_expression(scope.request.query, scope.profile), scope.keyword_conditions()
    if not conditions.parts:
        found = connection.execute(_INDEX_ONLY, (expression, scope.stage_limit)).fetchall()
        # Rows that only the index still knows take no place in ZeroClaw's list, which the join makes sure of.
        rowids = json.dumps([rowid for rowid, _ in found])
        if connection.execute(f"SELECT count(*) FROM memories WHERE {_AMONG}", (rowids,)).fetchone() == (len(found),):
            return found
    joined = Conditions()
    joined.add("memories_fts MATCH {}", [expression])
    joined.parts += conditions.parts
    joined.values += conditions.values
    return connection.execute(_JOINED.format(where=joined.where), (*joined.values, scope.stage_limit)).fetchall()


def search_all_keywords(scope: SqlScope, connection: sqlite3.Connection) -> Hits:
    """Find every row that FTS5 knows for the words, whoever's it is, also rows that only the index still knows."""
    import numpy as np

    expression = match_expression(scope.request.query, scope.profile)
    found, notes = _hits_or_note(scope, lambda: [_all_hits(connection, expression)])
    if not found:
        return Hits.from_pairs(notes=notes)
    ((rowids, ascending),) = found
    # FTS5 gives rows by rowid, and ZeroClaw's statement leaves equal scores in that order.
    order = np.argsort(ascending, kind="stable")
    return Hits(rowids[order], (-ascending[order]).astype(np.float32), notes)


def search_each_word(
    scope: SqlScope, connection: sqlite3.Connection
) -> dict[str, tuple[np.ndarray, np.ndarray] | None] | None:
    """What FTS5 finds for each word alone: bm25 is a sum over the words of a query, each with a weight of its own."""
    if not scope.schema.has_fts:
        return None
    found: dict[str, tuple[np.ndarray, np.ndarray] | None] = {}
    for word, expression in word_expressions(scope.request.query, scope.profile).items():
        try:
            rowids, scores = _all_hits(connection, expression)
            found[word] = rowids, -scores
        except sqlite3.DatabaseError as error:
            if not _is_refusal(error):
                raise
            found[word] = None
    return found


def _all_hits(connection: sqlite3.Connection, expression: str) -> tuple[np.ndarray, np.ndarray]:
    """Every rowid that FTS5 knows, int64, ascending, with bm25, float64. Raises sqlite3.Error for what it refuses."""
    import numpy as np

    # Arrays: a tuple for each of many hits would make the collector of the whole process stop to look at them.
    rowids, scores = array("q"), array("d")
    for rowid, score in connection.execute(_ALL, (expression,)):
        rowids.append(rowid)
        scores.append(score)
    return np.array(rowids, dtype=np.int64), np.array(scores, dtype=np.float64)


def _is_refusal(error: sqlite3.DatabaseError) -> bool:
    """Whether ZeroClaw swallows this error and goes on without keyword hits."""
    return getattr(error, "sqlite_errorname", "") in _SWALLOWED


def _hits_or_note(scope: SqlScope, find: Callable[[], list[T]]) -> tuple[list[T], tuple[str, ...]]:
    """What FTS5 finds, or why it finds nothing."""
    if not scope.schema.has_fts:
        return [], ("The table memories_fts is missing, so only the LIKE fallback finds words.",)
    try:
        return find(), ()
    except sqlite3.DatabaseError as error:
        if not _is_refusal(error):
            raise
        reason = one_line(str(error))
        return [], (f"FTS5 refuses this query ({reason}); ZeroClaw continues without keyword hits.",)


def gather(
    scope: SqlScope, vectors: Hits, known: KnownRows | None, connection: sqlite3.Connection
) -> tuple[StageEvidence, KnownRows | None]:
    """Gather the whole evidence for a query, in one state of the database but for the vectors, and the table of all
    rows where that is known now."""
    import numpy as np

    with _one_state(connection):
        keyword, word_hits = search_all_keywords(scope, connection), search_each_word(scope, connection)
        nothing = np.zeros(0, dtype=np.int64)
        recent = (
            _newest(connection, scope, Conditions(), -1) if words(scope.request.query) in _LISTS_RECENT else nothing
        )
        like, like_facts = _like(connection, scope)
        (store_rows,) = connection.execute("SELECT count(*) FROM memories").fetchone()
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        if known is None or known.version != version:
            faulty = nothing if vectors.faults is None else vectors.faults.handles
            rows = _rows(connection, scope.schema, (keyword.handles, vectors.handles, like, recent, faulty))
            known = KnownRows(version, rows) if len(rows.handles) == store_rows else None
        else:
            rows = known.rows
        orders = _scan_orders(connection, scope)
    evidence = replace(
        _evidence(replace(scope, store_rows=store_rows), keyword, vectors, rows, recent),
        like=like,
        like_facts=None if like_facts is None else replace(like_facts, order=orders[2]),
        durable_order=orders[0],
        agent_order=orders[1],
        faults=vectors.faults,
        word_hits=word_hits,
    )
    return evidence, known


def gather_cut(
    scope: SqlScope, settings: ScoringSettings, keyword: Hits, vectors: Hits, connection: sqlite3.Connection
) -> StageEvidence:
    """Gather what one recall looks at: hits that its statements cut to 2 x the limit, the LIKE fall-back only where
    nothing else is left, and the rows it returns with their whole content. In one state of the database but for the
    hits."""
    import numpy as np

    search = like_search(scope.request.query, scope.profile)
    with _one_state(connection):
        recent = np.zeros(0, dtype=np.int64)
        if lists_recent(scope.request.query, scope.profile):
            recent = _newest(connection, scope, scope.recent_conditions(), scope.recent_limit)
        rows = _rows(connection, scope.schema, (keyword.handles, vectors.handles, recent))
        evidence = _evidence(scope, keyword, vectors, rows, recent)
        evidence = replace(evidence, cut_for=(scope.asked, scope.profile, mode_in(settings, scope.profile)))
        ranking = rank(evidence, scope.asked, scope.profile, settings)
        if ranking.mode == "like" and search is not None:
            evidence = _with_like(connection, scope, search, evidence)
            ranking = rank(evidence, scope.asked, scope.profile, settings)
        contents = _read_rows(scope.schema, ranking.handles, connection)
    return replace(evidence, contents={entry.handle: entry for entry in contents})


def _evidence(scope: SqlScope, keyword: Hits, vectors: Hits, rows: RowTable, recent: np.ndarray) -> StageEvidence:
    """The hits of both stages whose rows are there."""
    import numpy as np

    has_row, vector_has_row = np.isin(keyword.handles, rows.handles), np.isin(vectors.handles, rows.handles)
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
        has_sessions=scope.schema.has("session_id"),
        keyword_notes=keyword.notes,
        vector_notes=vectors.notes,
        has_agents=scope.schema.has("agent_id"),
        has_times=scope.schema.has("created_at"),
    )


def _with_like(
    connection: sqlite3.Connection, scope: SqlScope, search: LikeSearch, evidence: StageEvidence
) -> StageEvidence:
    """The same with what the statement of the LIKE fall-back gives, in place of the hits that were all dropped."""
    import numpy as np

    like = _newest(connection, scope, scope.like_conditions(search), search.sql_limit(scope.store_limit))
    accepted = None
    if search.has_prefix_word:
        entries = _read_rows(scope.schema, like.tolist(), connection)
        accepted = np.array([search.accepts(entry.key, entry.content) for entry in entries], dtype=bool)
    everywhere = np.ones(len(like), dtype=bool)
    # The statement has applied the time bounds already, to whichever words its version does.
    facts = LikeEvidence(
        search.patterns, np.arange(len(like)), accepted, everywhere if len(search.patterns) > 1 else None
    )
    nothing = Hits.from_pairs()
    return replace(
        evidence,
        keyword_handles=nothing.handles,
        keyword_scores=nothing.scores,
        vector_handles=nothing.handles,
        vector_scores=nothing.scores,
        like=like,
        rows=_rows(connection, scope.schema, (like,)),
        like_facts=facts,
        derived={},
    )


@contextmanager
def _one_state(connection: sqlite3.Connection) -> Iterator[None]:
    """Let several statements see one state of the database."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _newest(connection: sqlite3.Connection, scope: SqlScope, conditions: Conditions, limit: int) -> np.ndarray:
    """The first rowids by `updated_at`, as text, descending; a limit of -1 is none."""
    import numpy as np

    statement = f"SELECT m.rowid FROM memories m {conditions.where} {_newest_order(scope.schema)} LIMIT ?"
    found = connection.execute(statement, (*conditions.values, limit))
    return np.fromiter((rowid for (rowid,) in found), dtype=np.int64)


def _newest_order(schema: Schema) -> str:
    return "ORDER BY m.updated_at DESC" if schema.has("updated_at") else ""


def _like(connection: sqlite3.Connection, scope: SqlScope) -> tuple[np.ndarray, LikeEvidence | None]:
    """The rows that hold a word, newest first, and what else the fall-back looks at."""
    import numpy as np

    search = like_search(scope.request.query, scope.profile)
    if search is None:
        return np.zeros(0, dtype=np.int64), None
    any_of, early = Conditions(), Conditions()
    for at, pattern in enumerate(search.patterns):
        any_of.add(_word_like(search), [pattern], [pattern])
        if at < len(search.patterns) - 1:
            early.add(_word_like(search), [pattern], [pattern])
    accepted = "0"
    if search.has_prefix_word:
        accepted = "replay_accepts(m.key, m.content)"
        connection.create_function(
            "replay_accepts", 2, lambda key, content: search.accepts(as_text(key), as_text(content)), deterministic=True
        )
    statement = (
        f"SELECT m.rowid, {'m.updated_at' if scope.schema.has('updated_at') else '0'}, "
        f"{f'({_any(early)})' if early.parts else '0'}, {accepted} "
        f"FROM memories m WHERE {_any(any_of)} {_newest_order(scope.schema)} LIMIT -1"
    )
    # Arrays: a tuple for each of many hits would make the collector of the whole process stop to look at them.
    handles, moments, holds_early, is_accepted = array("q"), array("q"), bytearray(), bytearray()
    last: Any = None
    rows = () if search.fails else connection.execute(statement, (*early.values, *any_of.values))
    for rowid, moment, is_early, is_good in rows:
        moments.append(moments[-1] + (moment != last) if moments else 0)
        last = moment
        handles.append(rowid)
        holds_early.append(bool(is_early))
        is_accepted.append(bool(is_good))
    facts = LikeEvidence(
        search.patterns,
        np.array(moments, dtype=np.int64),
        np.frombuffer(is_accepted, dtype=bool) if search.has_prefix_word else None,
        np.frombuffer(holds_early, dtype=bool) if len(search.patterns) > 1 else None,
    )
    return np.array(handles, dtype=np.int64), facts


def _word_like(search: LikeSearch) -> str:
    """What holds for a row that has one of the words, a part for `Conditions.add`."""
    escape = r" ESCAPE '\'" if search.escapes else ""
    return f"(m.content LIKE {{}}{escape} OR m.key LIKE {{}}{escape})"


def _any(conditions: Conditions) -> str:
    return " OR ".join(conditions.parts)


@dataclass(frozen=True, slots=True)
class KnownRows:
    """All rows at one state of the database."""

    version: int
    rows: RowTable


def _rows(connection: sqlite3.Connection, schema: Schema, hits: Sequence[np.ndarray]) -> RowTable:
    """The row table of these hits, or of all rows where that is the quicker way."""
    import numpy as np

    handles = np.unique(np.concatenate(hits))
    # At least as many rows as there are, and known at once.
    (store_rows,) = connection.execute("SELECT coalesce(max(rowid), 0) FROM memories").fetchone()
    agents = dict(connection.execute("SELECT alias, id FROM agents")) if schema.has_agents else {}
    columns = ", ".join(
        f"m.{name}" if schema.has(name) else "NULL"
        for name in ("id", "created_at", "session_id", "category", "agent_id", "namespace", "superseded_by")
    )
    statement = f"SELECT m.rowid, {columns} FROM memories m"
    if 0 < store_rows <= len(handles) * _WHOLE_FROM:
        rows = _table(connection.execute(f"{statement} ORDER BY m.rowid"), agents)
        # The index over the ids has them in order already.
        by_id = "SELECT rowid FROM memories ORDER BY id" if schema.has("id") else "SELECT rowid FROM memories"
        ordered = np.fromiter((rowid for (rowid,) in connection.execute(by_id)), dtype=np.int64)
        return replace(rows, id_ranks=_ranks(rows.handles, ordered))
    found = connection.execute(f"{statement} WHERE m.{_AMONG} ORDER BY m.rowid", (json.dumps(handles.tolist()),))
    return _table(found, agents)


def _table(rows: Iterable[Sequence[Any]], agents: dict[str, str]) -> RowTable:
    import numpy as np

    handles, superseded = array("q"), bytearray()
    ids: list[str] = []
    created: list[str] = []
    columns: list[tuple[dict[Any, int], array[int]]] = [({}, array("i")) for _ in range(4)]
    """Of sessions, categories, owners and namespaces: a number for each name, and the numbers of the rows."""
    for handle, memory_id, moment, *texts, newer in rows:
        handles.append(handle)
        ids.append(as_text(memory_id))
        created.append(as_text(moment))
        superseded.append(newer is not None)
        for text, (numbers, codes) in zip(texts, columns, strict=True):
            codes.append(-1 if text is None else numbers.setdefault(text, len(numbers)))
    aliases = {agent: alias for alias, agent in agents.items()}
    sessions, categories, owners, namespaces = ([as_text(name) for name in numbers] for numbers, _ in columns)
    session_codes, category_codes, owner_codes, namespace_codes = (
        np.array(codes, dtype=np.int32) for _, codes in columns
    )
    return RowTable(
        np.array(handles, dtype=np.int64),
        ids,
        created,
        session_codes,
        category_codes,
        owner_codes,
        namespace_codes,
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
    schema, search = scope.schema, like_search(scope.request.query, scope.profile)
    asked = RecallRequest(scope.request.query, session_id="session")
    of_session = replace(scope, request=asked, profile=profile_for(NEWEST), agent_ids=None)
    of_agents = replace(of_session, agent_ids=("agent",))
    session: ScanOrder = "stored"
    agents: ScanOrder = "stored"
    like: ScanOrder = "stored"
    embedded = "m.embedding IS NOT NULL" if schema.has("embedding") else "1"
    if schema.has("session_id"):
        session = _order_of(connection, of_session.vector_conditions(), embedded)
        if schema.has("agent_id"):
            agents = _order_of(connection, of_agents.vector_conditions(), embedded)
    if search is not None and schema.has("agent_id"):
        unbound = replace(of_agents, request=replace(asked, session_id=None))
        like = _order_of(connection, unbound.like_conditions(search), "1")
    return session, agents, like


def _order_of(connection: sqlite3.Connection, conditions: Conditions, also: str) -> ScanOrder:
    statement = f"EXPLAIN QUERY PLAN SELECT m.rowid FROM memories m {conditions.where} AND {also}"
    plan = " ".join(as_text(row[3]) for row in connection.execute(statement, conditions.values))
    if "agent_id=?" in plan:
        return "agent"
    return "session" if "MULTI-INDEX OR" in plan else "stored"
