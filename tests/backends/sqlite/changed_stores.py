"""Open databases for changes and read their whole content for comparisons."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path
from typing import Any

from support.opened import opened_memory
from support.stores import SqliteMemory

GENERATIONS = ("G1", "G2", "G3", "G4")


def opened(path: Path, **options: Any) -> AbstractAsyncContextManager[SqliteMemory]:
    """Open the store of a database."""
    return opened_memory(SqliteMemory(path, **options))


def shape(path: Path) -> list[tuple[Any, ...]]:
    """Return the whole schema and the journal mode."""
    with closing(sqlite3.connect(path)) as connection:
        made = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2").fetchall()
        return [*made, *connection.execute("PRAGMA journal_mode").fetchall()]


def select(path: Path, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement, values).fetchall()
