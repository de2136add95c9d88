"""Searching a file for texts; in a SQLite database also erasing rows, and wiping what stays behind in the file."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeroclaw_tui.curation.external import keyword_indexes
from zeroclaw_tui.curation.traces.files import PlacedFile, PlacedFiles, not_read
from zeroclaw_tui.curation.traces.matcher import TextMatcher
from zeroclaw_tui.files.database import (
    as_text,
    assignments,
    columns_of,
    connect_to_write,
    iter_raw_chunks,
    open_immutable,
    quoted,
    tables_of_rows,
    transaction,
    translate_sqlite_errors,
    wal_file,
)
from zeroclaw_tui.files.disk import file_size
from zeroclaw_tui.files.whole_database import check_room, exclusive_connection
from zeroclaw_tui.memory.errors import InspectorError

PACKED = "It is packed, so its content was not searched: unpack it, or delete it."
_DAMAGED = "It should be a SQLite database, but it is none: delete it while ZeroClaw is stopped, or restore a backup."
_AT_ONCE = 200
"""How many rows one write has, so that a running ZeroClaw never waits long for its turn."""
_GONE_WITH = {
    "memories": ("id", "key", "content"),
    "nodes": ("title", "content", "tags"),
    "response_cache": ("response",),
    "memory_audit": ("key", "metadata"),
}
"""The tables whose rows go as a whole if one of these columns has a text. Other rows lose only the text."""
_STAYING = {
    "agents": "The name of an agent contains it, and memories belong to that agent: rename it in ZeroClaw.",
    "cron_jobs": "A scheduled job contains it: `zeroclaw cron` changes and removes jobs.",
}
_REFUSED = "A row cannot be changed, because others belong to it."


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row of a table with its number and the values that have a text."""

    table: str
    number: int
    values: dict[str, Any]


def search(
    found: PlacedFiles, matcher: TextMatcher, check: Callable[[], object], *, free_pages: bool = False
) -> Iterator[tuple[PlacedFile, int | None, str]]:
    """Search every file: those that have a text, with how often, and those that could not be searched, with the reason.

    It blocks; `check` may end it by raising.
    """
    for file in found.files:
        check()
        try:
            if file.is_packed():
                yield file, None, PACKED
            elif count := count_hits(file, matcher, check, free_pages=free_pages):
                yield file, count, ""
            elif file.form == "rows" and file_size(file.path) and not file.is_database():
                yield file, None, _DAMAGED
            elif not free_pages and file.is_database():
                with open_immutable(file.path) as (_, notice):
                    pass
                if notice:
                    yield file, None, notice.strip()
        except (OSError, InspectorError) as error:
            yield file, None, not_read(error)


def count_hits(file: PlacedFile, matcher: TextMatcher, check: Callable[[], object], *, free_pages: bool = False) -> int:
    """How many rows of a database have a text, or how often the texts occur in the bytes of a file.

    With `free_pages` also in those of a database, if no row has one. `check` may end it by raising. It blocks. Raises
    OSError and InspectorError kinds.
    """
    if not file.is_database():
        return count_in_bytes(file, matcher)
    return len(rows_with_texts(file.path, matcher, check)) or (count_in_bytes(file, matcher) if free_pages else 0)


def count_in_bytes(file: PlacedFile, matcher: TextMatcher) -> int:
    """How often the texts occur in the bytes of a file and of its log. Blocks. Raises OSError."""
    return sum(matcher.count_in(iter_raw_chunks(part)) for part in file.parts())


def rows_with_texts(path: Path, matcher: TextMatcher, check: Callable[[], object]) -> list[FoundRow]:
    """The rows of all tables that have a text. Creates no files; blocks. Raises InspectorError kinds."""
    with open_immutable(path) as (connection, _):
        tables = tables_of_rows(connection)
        return [row for table in tables for row in _found_rows(connection, table, matcher, check)]


def _found_rows(
    connection: sqlite3.Connection,
    table: str,
    matcher: TextMatcher,
    check: Callable[[], object],
    number: int | None = None,
) -> Iterator[FoundRow]:
    """The rows of a table that have a text, or only the row of this number."""
    query = f"SELECT rowid, * FROM {quoted(table)}"
    rows = connection.execute(query if number is None else f"{query} WHERE rowid = {number:d}")
    names = [name for name, *_ in rows.description[1:]]
    for rowid, *values in rows:
        check()
        if found := _values_with_texts(table, dict(zip(names, values, strict=True)), matcher):
            yield FoundRow(table, rowid, found)


def _values_with_texts(table: str, values: dict[str, Any], matcher: TextMatcher) -> dict[str, Any]:
    # Most rows have no text, which one look at all their values tells.
    if not matcher.found_in("\0".join(as_text(value) for value in values.values() if isinstance(value, str | bytes))):
        return {}
    # These columns have only what a person or the agent wrote.
    own = _GONE_WITH.get(table, ())
    return {
        name: value
        for name, value in values.items()
        if name != "embedding"
        and (
            matcher.found_in_field(name, value) or (name in own and isinstance(value, str) and matcher.found_in(value))
        )
    }


def erase_rows(path: Path, matcher: TextMatcher, *, prunes: bool = False) -> str:
    """Delete or cut the rows that have a text, in short transactions; gives why some stay, or "". Blocks.

    Freed bytes are overwritten with zeros. The vectors of no memory leave the embedding cache if anything was erased,
    or with `prunes`. Raises InspectorError kinds.
    """
    staying: dict[str, None] = {}
    with translate_sqlite_errors(path), closing(connect_to_write(path, zero=True)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        for table in tables_of_rows(connection):
            numbers = [row.number for row in _found_rows(connection, table, matcher, lambda: None)]
            for start in range(0, len(numbers), _AT_ONCE):
                with transaction(connection):
                    for number in numbers[start : start + _AT_ONCE]:
                        # As the row is within the transaction.
                        for row in list(_found_rows(connection, table, matcher, lambda: None, number)):
                            staying[_erase_row(connection, row, matcher)] = None
        if prunes or connection.total_changes:
            _prune_cache(connection)
    return " ".join(filter(None, staying))


def _erase_row(connection: sqlite3.Connection, row: FoundRow, matcher: TextMatcher) -> str:
    """Erase one row; gives why it stays, or ""."""
    if row.table in _STAYING:
        return _STAYING[row.table]
    table = quoted(row.table)
    try:
        if row.values.keys().isdisjoint(_GONE_WITH.get(row.table, ())):
            values = {
                name: matcher.out_of_bytes(value) if isinstance(value, bytes) else matcher.out_of(value)
                for name, value in row.values.items()
            }
            settings, bound = assignments(values)
            connection.execute(f"UPDATE {table} SET {settings} WHERE rowid = ?", [*bound, row.number])
        else:
            connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (row.number,))
    except sqlite3.IntegrityError:
        return _REFUSED
    return ""


def _prune_cache(connection: sqlite3.Connection) -> None:
    """Leave in ZeroClaw's embedding cache only the vectors of memories that are there.

    The cache names them by a hash: whether another one is that of an earlier version of a text, nobody can tell.
    """
    if "content_hash" not in columns_of(connection, "embedding_cache"):
        return
    staying = {_cache_hash(as_text(content)) for (content,) in connection.execute("SELECT content FROM memories")}
    names = connection.execute("SELECT content_hash FROM embedding_cache").fetchall()
    unused = [(name,) for (name,) in names if as_text(name) not in staying]
    if unused:
        with transaction(connection):
            connection.executemany("DELETE FROM embedding_cache WHERE content_hash = ?", unused)


def _cache_hash(content: str) -> str:
    """The name of a content in ZeroClaw's embedding cache: 8 bytes of its SHA-256 in hexadecimal."""
    return hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def has_keyword_index(path: Path) -> bool:
    """Whether a database has a keyword index, which keeps deleted words until it is rebuilt. Blocks."""
    with open_immutable(path) as (connection, _):
        return bool(keyword_indexes(connection))


def wipe(path: Path) -> None:
    """Leave nothing in a database file but its rows: VACUUM, keyword indexes rebuilt, the log folded in. Blocks.

    An FTS5 index keeps deleted words until it is rebuilt or optimized (https://sqlite.org/fts5.html, 6.9), and VACUUM
    may renumber the rows it points at. Raises Locked where another program has it open; Unreadable without room.
    """
    check_room(path.parent, 3 * (file_size(path) + file_size(wal_file(path))))
    with translate_sqlite_errors(path), exclusive_connection(path) as connection:
        connection.execute("PRAGMA secure_delete = ON").fetchall()
        connection.execute("VACUUM")
        for name in keyword_indexes(connection):
            connection.execute(f"INSERT INTO {quoted(name)}({quoted(name)}) VALUES ('rebuild')")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
