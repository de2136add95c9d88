"""ZeroClaw's audit.db: which entries are old, taking them away, and putting them back with their numbers.

ZeroClaw >= 0.8.4 writes an entry for every memory operation; their keys outlive the memories.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.sqlite import connection as connections
from zeroclaw_tui.backends.sqlite.connection import Reading, UnfinishedWrite, any_text, as_text, check_file, translated
from zeroclaw_tui.backends.sqlite.raw_rows import quoted
from zeroclaw_tui.backends.sqlite.rows import bound
from zeroclaw_tui.backends.sqlite.writing import take_back_unfinished_write
from zeroclaw_tui.memory.change import AUDIT_LOG, Keep, RowChange, StoredRow, Value

AT_ONCE = 500
FILE_NAME = "audit_file"
"""The name under which an entry that is kept says which file it was in."""

_SIZED = ("operation", "key", "namespace", "session_id", "timestamp", "metadata")


@dataclass(frozen=True, slots=True)
class OldEntry:
    """An entry that is older than a cutoff. `timestamp` is as stored, `size` in bytes."""

    number: int
    operation: str
    key: str
    timestamp: Value
    size: int


async def old_entries(file: Path, cutoff: str) -> list[OldEntry]:
    """The entries whose moment is before a cutoff when compared as text; reading only. Raises InspectorError kinds."""

    def read(connection: sqlite3.Connection) -> list[OldEntry]:
        columns = _columns(connection)
        if "timestamp" not in columns:
            return []
        sizes = " + ".join(f"coalesce(length(CAST({name} AS BLOB)), 0)" for name in _SIZED if name in columns)
        named = ", ".join(name if name in columns else "NULL" for name in ("operation", "key"))
        statement = f"SELECT id, {named}, timestamp, {sizes} FROM {AUDIT_LOG} WHERE timestamp < ? ORDER BY id"
        return [
            OldEntry(number, as_text(operation), as_text(key), timestamp, size)
            for number, operation, key, timestamp, size in connection.execute(statement, (cutoff,))
        ]

    return await Reading(file).run(read)


def remove_entries(file: Path, numbers: Sequence[int], cutoff: str, keep: Keep) -> set[int]:
    """Delete those of at most AT_ONCE entries that are still older than a cutoff; gives their numbers. Blocks.

    They are kept within the transaction, before they go. Raises InspectorError kinds, and what `keep` raises.
    """
    with _written(file) as connection:
        marks = ", ".join("?" * len(numbers))
        rows = list(_rows(connection, file, f"id IN ({marks}) AND timestamp < ?", [*numbers, cutoff]))
        if rows:
            keep([RowChange(row, None) for row in rows])
            connection.executemany(f"DELETE FROM {AUDIT_LOG} WHERE id = ?", [(row.handle,) for row in rows])
    return {int(row.handle) for row in rows if row.handle is not None}


def entry_id(file: Path, number: Value) -> str:
    """How an entry is named in the trash."""
    return f"{file}#{number!r}"


def put_entries_back(changes: Sequence[RowChange], keep: Keep) -> list[str]:
    """Put deleted entries back, with their numbers where those are free; gives sentences. Blocks.

    An entry that is there again is left alone. Raises InspectorError kinds, and what `keep` raises.
    """
    notes = []
    for file, some in _by_file(changes).items():
        if not file.exists():
            notes.append(f"{file} is no longer there, so {len(some):,} entries of the audit log could not come back.")
            continue
        with _written(file) as connection:
            known = _columns(connection)
            taken = present(connection, file, [change.row for change in some])
            missing = [change for change in some if change.row.id not in taken]
            keep([RowChange(None, change.before, reverses=change.number) for change in missing])
            for change in missing:
                _insert(connection, known, change.row)
    return notes


def present_now(rows: Sequence[StoredRow]) -> set[str]:
    """The ids of those entries that are in their files as they were kept. Blocks. Raises InspectorError kinds."""
    found: set[str] = set()
    by_file: dict[Path, list[StoredRow]] = {}
    for row in rows:
        by_file.setdefault(_file_of(row), []).append(row)
    for file, some in by_file.items():
        if not file.exists():
            continue
        with translated(file), closing(_read_again(file)) as connection:
            found |= present(connection, file, some)
    return found


def _read_again(file: Path) -> sqlite3.Connection:
    """A connection that reads what is there once a write that was cut off, ours perhaps, is taken back."""
    try:
        return connections.connect_read_only_blocking(file)
    except UnfinishedWrite:
        take_back_unfinished_write(file)
        return connections.connect_read_only_blocking(file)


def present(connection: sqlite3.Connection, file: Path, rows: Sequence[StoredRow]) -> set[str]:
    """The ids of those rows that are there with the same values."""
    found: set[str] = set()
    for start in range(0, len(rows), AT_ONCE):
        wanted = {row.id: row.fingerprint for row in rows[start : start + AT_ONCE]}
        numbers = [row.handle for row in rows[start : start + AT_ONCE]]
        there = _rows(connection, file, f"id IN ({', '.join('?' * len(numbers))})", numbers)
        found |= {row.id for row in there if wanted.get(row.id) == row.fingerprint}
    return found


def _rows(connection: sqlite3.Connection, file: Path, condition: str, values: Sequence[Any]) -> Iterator[StoredRow]:
    columns = _columns(connection)
    if "id" not in columns:
        return
    selected = ", ".join(map(quoted, columns))
    found = connection.execute(f"SELECT {selected} FROM {AUDIT_LOG} WHERE {condition} ORDER BY id", values)
    for row in found:
        named: dict[str, Value] = dict(zip(columns, row, strict=True))
        number = named["id"]
        yield StoredRow(entry_id(file, number), {**named, FILE_NAME: str(file)}, _handle(number), table=AUDIT_LOG)


def _handle(number: Value) -> int:
    """The column is an INTEGER PRIMARY KEY, so it holds nothing else."""
    return number if isinstance(number, int) else 0


def _insert(connection: sqlite3.Connection, known: Sequence[str], row: StoredRow) -> None:
    values = {name: value for name, value in row.values.items() if name in known}
    free = connection.execute(f"SELECT 1 FROM {AUDIT_LOG} WHERE id = ?", (row.handle,)).fetchone() is None
    if not free:
        values.pop("id", None)
    marks, ready = bound(values.values())
    named = ", ".join(map(quoted, values))
    connection.execute(f"INSERT INTO {AUDIT_LOG} ({named}) VALUES ({marks})", ready)


def _by_file(changes: Sequence[RowChange]) -> Mapping[Path, list[RowChange]]:
    found: dict[Path, list[RowChange]] = {}
    for change in changes:
        if change.before is not None:
            found.setdefault(_file_of(change.row), []).append(change)
    return found


def _file_of(row: StoredRow) -> Path:
    return Path(str(row.values[FILE_NAME]))


def _columns(connection: sqlite3.Connection) -> tuple[str, ...]:
    described = connection.execute("SELECT name FROM pragma_table_info(?)", (AUDIT_LOG,))
    return tuple(as_text(name) for (name,) in described)


@contextmanager
def _written(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection inside a transaction that holds the write lock."""
    check_file(file)
    with translated(file):
        connection = sqlite3.connect(
            f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=connections.BUSY_SECONDS, isolation_level=None
        )
        with closing(connection):
            connection.text_factory = any_text
            connection.execute("PRAGMA mmap_size = 0")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            # Closing rolls back whatever this meets.
            yield connection
            connection.execute("COMMIT")
