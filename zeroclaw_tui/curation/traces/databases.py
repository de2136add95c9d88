"""Searching a file for texts; in a SQLite database also erasing rows, and wiping what stays behind in the file."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.cancellation import CancellableTask
from zeroclaw_tui.curation.external import keyword_indexes
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.traces.files import PlacedFile, PlacedFiles, TextPlace, not_read
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
)
from zeroclaw_tui.files.disk import file_size
from zeroclaw_tui.files.whole_database import check_room, exclusive_connection
from zeroclaw_tui.memory.errors import InspectorError

PACKED = "It is packed, so its content was not searched: unpack it, or delete it."
_DAMAGED = "It should be a SQLite database, but it is none: delete it while ZeroClaw is stopped, or restore a backup."
_LINES = "Every line that contains it is deleted."
_DELETED_WITH = {
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


Check = Callable[[], object]
"""Ends a search by raising."""


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row of a table with its number and the values that have a text."""

    table: str
    number: int
    values: dict[str, Any]


@dataclass(slots=True)
class Scan:
    """What a search of the known places of an install found or could not read, and which places say nothing."""

    places: list[TextPlace] = field(default_factory=list)
    skipped: list[TextPlace] = field(default_factory=list)
    files: int = 0

    @property
    def hits(self) -> int:
        return sum(place.count or 0 for place in self.places)

    def as_json(self) -> dict[str, Any]:
        skipped = [place.as_json() for place in self.skipped]
        return {"not_looked_at": skipped, "scanned": {"files": self.files, "hits": self.hits}}


async def scan_files(library: Library, matcher: TextMatcher, *, everything: bool) -> Scan:
    """Search the rows of databases and the bytes of files, in a thread that ends soon when this is cancelled.

    `everything` includes the store itself, what only `erase` looks at, and the free pages of databases.
    """
    task, scan = CancellableTask(), Scan()

    def look() -> None:
        found = PlacedFiles(library.config, library.memory.name, everything=everything)
        scan.files = len(found.files)
        for file in found.files:
            task.check()
            place, name = file.place, str(file.path)
            try:
                count, why = look_into(file, matcher, task.check, free_pages=everything)
            except (OSError, InspectorError) as error:
                count, why = 0, not_read(error)
            if why == PACKED:
                scan.skipped.append(TextPlace(place.kind, name, None, why=why))
            elif why:
                scan.places.append(TextPlace(place.kind, name, None, why=f"{why} It may contain the text."))
            elif count and everything:
                stays = place.stays or (place.kind == "store" and library.read_only_because) or ""
                why = stays or (_LINES if file.form == "notes" else "")
                scan.places.append(TextPlace(place.kind, name, count, not stays, why))
            elif count:
                remark = f"{place.remark} {matcher.remark}".rstrip()
                scan.places.append(TextPlace(place.kind, name, count, place.can_clean, remark, file, matcher))
        scan.places += [TextPlace("folder", str(folder), None, why=why) for folder, why in found.unread.items()]

    await task.run(look)
    return scan


def look_into(file: PlacedFile, matcher: TextMatcher, check: Check, *, free_pages: bool) -> tuple[int, str]:
    """How many rows of a database have a text, or how often a file has one in its bytes; or why that is unknown.

    With `free_pages` the bytes of a database and its log count too, if no row has one. `check` may end it by raising.
    Blocks. Raises OSError and InspectorError kinds.
    """
    if file.is_packed():
        return 0, PACKED
    count, why, is_database = 0, "", file.is_database()
    if is_database:
        rows, notice = rows_with_texts(file.path, matcher, check)
        count, why = len(rows), "" if free_pages else notice.strip()
    elif file.form == "rows" and file_size(file.path):
        why = _DAMAGED
    if not count and (free_pages or not is_database):
        count = sum(matcher.count_in(iter_raw_chunks(part)) for part in file.parts())
    return count, "" if count else why


def rows_with_texts(path: Path, matcher: TextMatcher, check: Check) -> tuple[list[FoundRow], str]:
    """The rows of all tables that have a text, and a sentence on what was not read.

    Creates no files; blocks. Raises InspectorError kinds.
    """
    with open_immutable(path) as (connection, notice):
        tables = tables_of_rows(connection)
        return [row for table in tables for row in _rows_of_table(connection, table, matcher, check)], notice


def _rows_of_table(
    connection: sqlite3.Connection, table: str, matcher: TextMatcher, check: Check
) -> Iterator[FoundRow]:
    rows = connection.execute(f"SELECT rowid, * FROM {quoted(table)}")
    names = [name for name, *_ in rows.description[1:]]
    # These columns have only what a person or the agent wrote.
    own = _DELETED_WITH.get(table, ())
    for number, *values in rows:
        check()
        # Most rows have no text, which one look at all their values tells.
        if not matcher.found_in("\0".join(as_text(value) for value in values if isinstance(value, str | bytes))):
            continue
        found = {
            name: value
            for name, value in zip(names, values, strict=True)
            if name != "embedding"
            and (
                matcher.found_in_field(name, value)
                or (name in own and isinstance(value, str) and matcher.found_in(value))
            )
        }
        if found:
            yield FoundRow(table, number, found)


def erase_rows(path: Path, matcher: TextMatcher, check: Check, *, prunes: bool = False) -> str:
    """Delete or cut the rows that have a text, table by table; gives why some stay, or "". Blocks.

    Freed bytes are overwritten with zeros. The vectors of no memory leave the embedding cache if anything was erased,
    or with `prunes`. Raises InspectorError kinds.
    """
    staying: dict[str, None] = {}
    with translate_sqlite_errors(path), closing(connect_to_write(path, zero=True)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        for table in tables_of_rows(connection):
            if list(_rows_of_table(connection, table, matcher, check)):
                with transaction(connection):
                    # As the rows are within the transaction.
                    for row in list(_rows_of_table(connection, table, matcher, check)):
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
        if row.values.keys().isdisjoint(_DELETED_WITH.get(row.table, ())):
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
    found = connection.execute("SELECT content FROM memories")
    contents = (as_text(content).encode("utf-8", "surrogateescape") for (content,) in found)
    # The name is 8 bytes of a content's SHA-256 in hexadecimal.
    staying = {hashlib.sha256(content).hexdigest()[:16] for content in contents}
    names = connection.execute("SELECT content_hash FROM embedding_cache").fetchall()
    unused = [(name,) for (name,) in names if as_text(name) not in staying]
    if unused:
        with transaction(connection):
            connection.executemany("DELETE FROM embedding_cache WHERE content_hash = ?", unused)


def has_keyword_index(path: Path) -> bool:
    """Whether a database has a keyword index, which keeps deleted words until it is rebuilt. Blocks."""
    with open_immutable(path) as (connection, _):
        return bool(keyword_indexes(connection))


def wipe(path: Path) -> None:
    """Leave nothing in a database file but its rows: VACUUM, keyword indexes rebuilt, the log folded in. Blocks.

    An FTS5 index keeps deleted words until it is rebuilt or optimized (https://sqlite.org/fts5.html, 6.9), and VACUUM
    may renumber the rows it points at. Raises Locked where another program has it open; Unreadable without room.
    """
    check_room(path, copies=3, folder=path.parent)
    with translate_sqlite_errors(path), exclusive_connection(path) as connection:
        connection.execute("PRAGMA secure_delete = ON").fetchall()
        connection.execute("VACUUM")
        for name in keyword_indexes(connection):
            connection.execute(f"INSERT INTO {quoted(name)}({quoted(name)}) VALUES ('rebuild')")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
