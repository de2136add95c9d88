"""Reading the rows behind hits, in order."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from zeroclaw_tui.backends.sqlite.rows import agent_join, entry_columns, entry_from
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.search_thread import Ticket
from zeroclaw_tui.files.database import as_text
from zeroclaw_tui.memory.entry import MemoryEntry

_CHUNK = 100


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
