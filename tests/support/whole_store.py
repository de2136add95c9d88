"""The whole content of a database, for comparisons."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any


def everything(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of every table except the keyword index's, with the rowid and each value's type and bytes."""
    with closing(sqlite3.connect(path)) as connection:
        named = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {name: _rows(connection, name) for (name,) in named if not name.startswith("memories_fts")}


def _rows(connection: sqlite3.Connection, table: str) -> list[tuple[Any, ...]]:
    named = connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    columns = ['"' + name.replace('"', '""') + '"' for (name,) in named]
    parts = ", ".join(f"typeof({name}), CAST({name} AS BLOB)" for name in columns)
    return connection.execute(f"SELECT rowid, {parts} FROM {table} ORDER BY rowid").fetchall()


def hits(path: Path, words: Sequence[str]) -> dict[str, list[tuple[int, float]]]:
    """Return the hits of the keyword index with their scores, after checking the index against the memories."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO memories_fts(memories_fts, rank) VALUES ('integrity-check', 1)")
        connection.execute("ROLLBACK")
        find = "SELECT rowid, bm25(memories_fts) FROM memories_fts WHERE memories_fts MATCH ? ORDER BY 2, 1"
        return {word: connection.execute(find, (f'"{word}"',)).fetchall() for word in words}
