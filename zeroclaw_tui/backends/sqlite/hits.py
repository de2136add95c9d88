"""Searching on a thread of its own: the conditions of a recall in SQL, the hits of the keyword index, their rows."""

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
from zeroclaw_tui.backends.sqlite.sql import agent_join, entry_columns, entry_from
from zeroclaw_tui.files.database import as_text, bound, connect_read_only_blocking, translated
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import SearchInterrupted
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.evidence import DURABLE, Hit, Scope, served
from zeroclaw_tui.scoring.keywords import LikeSearch, match_expression
from zeroclaw_tui.scoring.profiles import ScoringProfile, float32

if TYPE_CHECKING:
    import numpy as np

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


class Ticket:
    """One search. Once `is_called_off`, everything done for it raises SearchInterrupted."""

    def __init__(self) -> None:
        self.is_called_off = False

    def check(self) -> None:
        """Raise SearchInterrupted when the search has been called off."""
        if self.is_called_off:
            raise SearchInterrupted


class SearchThread:
    """Runs work on its connection, one piece after another; the connection opens with the first piece.

    It keeps its thread and its connection between calls, because a search as you type asks often.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._connection: sqlite3.Connection | None = None
        self._running: Ticket | None = None
        self._lock = threading.Lock()
        self._closed = False

    async def run(self, ticket: Ticket, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """What `work` answers. Cancelling the await calls the ticket off. Raises InspectorError, SearchInterrupted."""
        if self._closed:
            raise SearchInterrupted
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._executor, self._run, ticket, work)
        except asyncio.CancelledError:
            self.call_off(ticket)
            raise

    def call_off(self, ticket: Ticket) -> None:
        """Stop the work of this ticket, whether it runs or still waits; from any thread."""
        with self._lock:
            ticket.is_called_off = True
            if self._running is ticket and self._connection is not None:
                self._connection.interrupt()

    async def close(self) -> None:
        """Stop what runs, close the connection and end the thread."""
        if self._closed:
            return
        with self._lock:
            self._closed = True
            if self._running is not None:
                self._running.is_called_off = True
            if self._connection is not None:
                self._connection.interrupt()
        await asyncio.get_running_loop().run_in_executor(self._executor, self._close)
        self._executor.shutdown(wait=False)

    def _run(self, ticket: Ticket, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        if self._closed:
            raise SearchInterrupted
        with translated(self._path):
            connection = self._open()
            with self._lock:
                ticket.check()
                self._running = ticket
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
    ticket: Ticket, schema: Schema, rowids: Sequence[int], connection: sqlite3.Connection
) -> list[MemoryEntry]:
    """Rows with their whole content, in that order; rows that are not there are left out."""
    columns = entry_columns(schema, excerpt=None)
    found: list[MemoryEntry] = []
    for chunk in _chunks(rowids):
        ticket.check()
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


def search_keywords(scope: SqlScope, count: int, connection: sqlite3.Connection) -> KeywordHits:
    """The `count` best rows by words. What FTS5 refuses gives no hits and a note, as ZeroClaw goes on without."""
    expression, conditions = match_expression(scope.request.query, scope.profile), scope.keyword_conditions()
    found, notes = _swallowing(scope, lambda: _best(connection, expression, conditions, count))
    return KeywordHits([(rowid, float32(-score)) for rowid, score in found], notes)


def search_all_keywords(
    scope: SqlScope, ticket: Ticket, connection: sqlite3.Connection
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Every rowid that FTS5 knows for the words, whoever's row it is, int64, with -bm25, float32, best first; notes.

    Rows that only the index still knows are among them.
    """
    import numpy as np

    expression = match_expression(scope.request.query, scope.profile)
    # Arrays: a tuple for each of many hits would make the collector of the whole process stop to look at them.
    rowids, scores = array("q"), array("d")

    def everything() -> list[tuple[int, float]]:
        cursor = connection.execute(_ALL, (expression,))
        while batch := cursor.fetchmany(_BATCH):
            ticket.check()
            rowids.extend([rowid for rowid, _ in batch])
            scores.extend([score for _, score in batch])
        return []

    _, notes = _swallowing(scope, everything)
    if notes:
        del rowids[:], scores[:]
    found = np.array(scores, dtype=np.float64)
    # FTS5 gives rows by rowid, and ZeroClaw's statement leaves equal scores in that order.
    order = np.argsort(found, kind="stable")
    return np.array(rowids, dtype=np.int64)[order], (-found[order]).astype(np.float32), notes


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


def _swallowing(
    scope: SqlScope, look: Callable[[], list[tuple[int, float]]]
) -> tuple[list[tuple[int, float]], tuple[str, ...]]:
    if not scope.schema.has_fts:
        return [], ("There is no table memories_fts, so only the LIKE fall-back finds words.",)
    try:
        return look(), ()
    except sqlite3.DatabaseError as error:
        if not is_refusal(error):
            raise
        said = one_line(str(error))
        return [], (f"FTS5 refuses this query ({said}); ZeroClaw goes on without keyword hits.",)


def _best(
    connection: sqlite3.Connection, expression: str, conditions: Conditions, count: int
) -> list[tuple[int, float]]:
    if not conditions.parts:
        found = connection.execute(_INDEX_ONLY, (expression, count)).fetchall()
        # Rows that only the index still knows take no place in ZeroClaw's list, which the join makes sure of.
        if len(ids_of(connection, [rowid for rowid, _ in found])) == len(found):
            return found
    joined = Conditions()
    joined.add("memories_fts MATCH {}", [expression])
    joined.parts += conditions.parts
    joined.values += conditions.values
    return connection.execute(_JOINED.format(where=joined.where), (*joined.values, count)).fetchall()
