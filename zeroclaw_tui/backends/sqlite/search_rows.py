"""Reading the rows behind hits, in order, and letting through those the recall may return."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from zeroclaw_tui.backends.sqlite.connection import as_text
from zeroclaw_tui.backends.sqlite.rows import agent_join, entry_columns, entry_from
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.search_scope import Conditions, SqlScope
from zeroclaw_tui.backends.sqlite.search_thread import Ticket
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.scoring.fusion import Candidate
from zeroclaw_tui.scoring.keywords import LikeSearch

Value = TypeVar("Value")
Row = tuple[Candidate, MemoryEntry]

_CHUNK = 100
_LIKE_SCORE = 1.0


def ids_of(connection: sqlite3.Connection, rowids: Sequence[int]) -> dict[int, str]:
    """The ids of rows; rows that are not there are left out."""
    found: dict[int, str] = {}
    for chunk in _chunks(rowids):
        statement = f"SELECT rowid, id FROM memories WHERE rowid IN ({_marks(chunk)})"
        found.update((rowid, as_text(memory_id)) for rowid, memory_id in connection.execute(statement, chunk))
    return found


def let_through(
    connection: sqlite3.Connection,
    ticket: Ticket,
    scope: SqlScope,
    candidates: Sequence[Candidate],
    keeps: Callable[[MemoryEntry], bool],
    store_limit: int,
) -> tuple[list[Row], bool]:
    """The rows that pass, in order, and whether the store's own recall kept any before agents and namespace.

    Three limits follow one another, as ZeroClaw's wrappers do: the store's, the agents', the request's.
    """
    rows: list[Row] = []
    kept = of_agents = 0
    for candidate, entry in _read(connection, ticket, scope.schema, candidates):
        if kept == store_limit or of_agents == scope.agent_limit or len(rows) == scope.request.limit:
            break
        if not keeps(entry):
            continue
        kept += 1
        if not scope.keeps_agent(entry):
            continue
        of_agents += 1
        if scope.keeps_namespace(entry):
            rows.append((candidate, entry))
    return rows, kept > 0


def read_rows(
    ticket: Ticket, schema: Schema, rowids: Sequence[int], connection: sqlite3.Connection
) -> list[MemoryEntry]:
    """Rows with their whole content, in that order; rows that are not there are left out."""
    candidates = [Candidate(rowid) for rowid in rowids]
    return [entry for _, entry in _read(connection, ticket, schema, candidates)]


def find_recent(scope: SqlScope, ticket: Ticket, connection: sqlite3.Connection) -> list[Row]:
    """The newest rows by `updated_at`, as text, descending."""
    scope = scope.with_agents(connection)
    candidates = _newest(connection, scope, scope.recent_conditions(), scope.recent_limit, score=None)
    rows, _ = let_through(connection, ticket, scope, candidates, lambda entry: True, scope.recent_limit)
    return rows


def find_like(scope: SqlScope, ticket: Ticket, search: LikeSearch, connection: sqlite3.Connection) -> list[Row]:
    """The newest rows that hold one of the words, each with the score 1."""
    limit = scope.store_limit
    candidates = _newest(connection, scope, scope.like_conditions(search), search.sql_limit(limit), score=_LIKE_SCORE)

    def keeps(entry: MemoryEntry) -> bool:
        return scope.keeps_session(entry) and search.accepts(entry.key, entry.content)

    rows, _ = let_through(connection, ticket, scope, candidates, keeps, limit)
    return rows


def _newest(
    connection: sqlite3.Connection, scope: SqlScope, conditions: Conditions, limit: int, *, score: float | None
) -> list[Candidate]:
    order = "ORDER BY m.updated_at DESC" if scope.schema.has("updated_at") else ""
    statement = f"SELECT m.rowid FROM memories m {conditions.where} {order} LIMIT ?"
    found = connection.execute(statement, (*conditions.values, limit))
    return [Candidate(rowid, score) for (rowid,) in found]


def _read(
    connection: sqlite3.Connection, ticket: Ticket, schema: Schema, candidates: Sequence[Candidate]
) -> Iterator[Row]:
    """Candidates with their rows, read a chunk at a time; rows gone meanwhile are left out."""
    columns = entry_columns(schema, excerpt=None)
    for chunk in _chunks(candidates):
        ticket.check()
        rowids = [candidate.handle for candidate in chunk]
        statement = f"SELECT {columns} FROM memories m {agent_join(schema)} WHERE m.rowid IN ({_marks(rowids)})"
        entries = {row[0]: entry_from(row, schema) for row in connection.execute(statement, rowids)}
        for candidate in chunk:
            if candidate.handle in entries:
                yield candidate, entries[candidate.handle]


def _chunks(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
