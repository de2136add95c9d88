"""Rows of databases that lie beside a store: kept in the trash before they go or change, and put back.

They are old entries of audit.db, which come back with their numbers, and values that had a text. ZeroClaw >= 0.8.4
writes an entry into audit.db for every memory operation; their keys outlive the memories.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.cancellation import read_in_thread
from zeroclaw_tui.curation.journal_file import FILE_NAME
from zeroclaw_tui.files.database import (
    UnfinishedWrite,
    as_text,
    assignments,
    bound,
    columns_of,
    connect_read_only_blocking,
    connect_to_write,
    quoted,
    roll_back_hot_journal,
    transaction,
    translate_sqlite_errors,
)
from zeroclaw_tui.memory.change import AUDIT_LOG, OTHER_ROW, Journal, Row, RowChange, Value

AT_ONCE = 500
_TABLE = "of_table"
"""The name under which a row of any other table says which that is."""

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
        columns = columns_of(connection, AUDIT_LOG)
        if "timestamp" not in columns:
            return []
        sizes = " + ".join(f"coalesce(length(CAST({name} AS BLOB)), 0)" for name in _SIZED if name in columns)
        named = ", ".join(name if name in columns else "NULL" for name in ("operation", "key"))
        statement = f"SELECT id, {named}, timestamp, {sizes} FROM {AUDIT_LOG} WHERE timestamp < ? ORDER BY id"
        return [
            OldEntry(number, as_text(operation), as_text(key), timestamp, size)
            for number, operation, key, timestamp, size in connection.execute(statement, (cutoff,))
        ]

    return await read_in_thread(file, read)


def remove_entries(file: Path, numbers: Sequence[int], cutoff: str, journal: Journal) -> set[int]:
    """Delete those of at most AT_ONCE entries that are still older than a cutoff; gives their numbers. Blocks.

    They are kept within the transaction, before they go. Raises InspectorError kinds, and what `keep` raises.
    """
    with _written(file) as connection:
        marks = ", ".join("?" * len(numbers))
        rows = list(_rows(connection, file, f"id IN ({marks}) AND timestamp < ?", [*numbers, cutoff]))
        if rows:
            journal.record([RowChange(row, None) for row in rows])
            connection.executemany(f"DELETE FROM {AUDIT_LOG} WHERE id = ?", [(row.handle,) for row in rows])
    return {int(row.handle) for row in rows if row.handle is not None}


def entry_id(file: Path, number: Value) -> str:
    """How an entry is named in the trash."""
    return f"{file}#{number!r}"


def restore_rows(changes: Sequence[RowChange], journal: Journal) -> list[str]:
    """Put deleted entries back, with their numbers where those are free, and values that were changed. Blocks.

    Entries that were not there before go again. Gives sentences. An entry that is there again, or another by now, and a
    value that is another by now, are left alone. Raises InspectorError kinds, and what `keep` raises.
    """
    notes = []
    for file, some in _by_file(changes).items():
        if not file.exists():
            notes.append(_no_longer_there(file, some))
            continue
        with _written(file) as connection:
            back = _found(connection, file, some)
            done = [*back.entries, *back.values, *back.going]
            journal.record([RowChange(change.after, change.before, reverses=change.number) for change in done])
            known = columns_of(connection, AUDIT_LOG)
            for change in back.entries:
                _insert(connection, known, change.row)
            for change in back.values:
                _update(connection, change.row)
            for change in back.going:
                connection.execute(f"DELETE FROM {AUDIT_LOG} WHERE id = ?", (change.row.handle,))
        notes += back.notes
    return notes


def unrestorable_rows(changes: Sequence[RowChange]) -> list[str]:
    """The sentences that `restore_rows` would give now. Blocks. Raises InspectorError kinds."""
    notes = []
    for file, some in _by_file(changes).items():
        if not file.exists():
            notes.append(_no_longer_there(file, some))
            continue
        with translate_sqlite_errors(file), closing(_read_again(file)) as connection:
            notes += _found(connection, file, some).notes
    return notes


@dataclass(frozen=True, slots=True)
class _Found:
    """What is done with kept rows of one file as they are now: entries to add, values to change, entries to remove."""

    entries: Sequence[RowChange]
    values: Sequence[RowChange]
    going: Sequence[RowChange]
    notes: Sequence[str]


def _found(connection: sqlite3.Connection, file: Path, changes: Sequence[RowChange]) -> _Found:
    taken = present(connection, file, [change.row for change in changes])
    entries = [change for change in changes if change.after is None and change.row.id not in taken]
    going = [change for change in changes if change.before is None and change.row.id in taken]
    values = []
    others = 0
    for change in changes:
        if change.before is not None and change.after is not None:
            now = _now(connection, file, change.after)
            values += [change] if now == change.after.fingerprint else []
            others += now not in (change.after.fingerprint, change.before.fingerprint)
    notes = [f"{file}: {others:,} rows changed or went since and were left as they are."] if others else []
    return _Found(entries, values, going, notes)


def _by_file(changes: Sequence[RowChange]) -> dict[Path, list[RowChange]]:
    found: dict[Path, list[RowChange]] = {}
    for change in changes:
        found.setdefault(_file_of(change.row), []).append(change)
    return found


def _no_longer_there(file: Path, changes: Sequence[RowChange]) -> str:
    what = "entries of the audit log" if changes[0].row.table == AUDIT_LOG else "texts"
    return f"{file} no longer exists, so {len(changes):,} {what} could not be restored."


def _read_again(file: Path) -> sqlite3.Connection:
    """A connection that reads what is there once a write that was cut off, ours perhaps, is taken back."""
    try:
        return connect_read_only_blocking(file)
    except UnfinishedWrite:
        roll_back_hot_journal(file)
        return connect_read_only_blocking(file)


def present(connection: sqlite3.Connection, file: Path, rows: Sequence[Row]) -> set[str]:
    """The ids of those rows that are there with the same values."""
    found = {row.id for row in rows if row.table == OTHER_ROW and _now(connection, file, row) == row.fingerprint}
    entries = {row.id: row for row in rows if row.table == AUDIT_LOG}
    numbers = json.dumps([row.handle for row in entries.values()])
    there = _rows(connection, file, "id IN (SELECT value FROM json_each(?))", [numbers])
    return found | {row.id for row in there if row.id in entries and entries[row.id].fingerprint == row.fingerprint}


def _rows(connection: sqlite3.Connection, file: Path, condition: str, values: Sequence[Any]) -> Iterator[Row]:
    columns = columns_of(connection, AUDIT_LOG)
    if "id" not in columns:
        return
    selected = ", ".join(map(quoted, columns))
    found = connection.execute(f"SELECT {selected} FROM {AUDIT_LOG} WHERE {condition} ORDER BY id", values)
    for row in found:
        named: dict[str, Value] = dict(zip(columns, row, strict=True))
        number = named["id"]
        yield Row(entry_id(file, number), {**named, FILE_NAME: str(file)}, _handle(number), table=AUDIT_LOG)


def _handle(number: Value) -> int:
    """The column is an INTEGER PRIMARY KEY, so it holds nothing else."""
    return number if isinstance(number, int) else 0


def _insert(connection: sqlite3.Connection, known: Sequence[str], row: Row) -> None:
    values = {name: value for name, value in row.values.items() if name in known}
    free = connection.execute(f"SELECT 1 FROM {AUDIT_LOG} WHERE id = ?", (row.handle,)).fetchone() is None
    if not free:
        values.pop("id", None)
    marks, ready = bound(values.values())
    named = ", ".join(map(quoted, values))
    connection.execute(f"INSERT INTO {AUDIT_LOG} ({named}) VALUES ({marks})", ready)


def _file_of(row: Row) -> Path:
    return Path(str(row.values[FILE_NAME]))


def _value_row(file: Path, table: str, number: int, values: Mapping[str, Value]) -> Row:
    named = {**values, FILE_NAME: str(file), _TABLE: table}
    return Row(f"{file}#{table}#{number}", named, number, table=OTHER_ROW)


def _values(
    connection: sqlite3.Connection, table: str, columns: Sequence[str], condition: str, values: Sequence[Any]
) -> Iterator[tuple[int, dict[str, Value]]]:
    selected = ", ".join(map(quoted, columns))
    for number, *row in connection.execute(
        f"SELECT rowid, {selected} FROM {quoted(table)} WHERE {condition}", values
    ).fetchall():
        yield number, dict(zip(columns, row, strict=True))


def _now(connection: sqlite3.Connection, file: Path, row: Row) -> str | None:
    """The state of the row that a value is kept of, None where it is gone."""
    table, columns = str(row.values.get(_TABLE)), _own_columns(row)
    if not set(columns) <= set(columns_of(connection, table)):
        return None
    for number, values in _values(connection, table, columns, "rowid = ?", [row.handle]):
        return _value_row(file, table, number, values).fingerprint
    return None


def _own_columns(row: Row) -> list[str]:
    return [name for name in row.values if name not in (FILE_NAME, _TABLE)]


def _update(connection: sqlite3.Connection, row: Row) -> None:
    settings, ready = assignments({name: row.values[name] for name in _own_columns(row)})
    table = quoted(str(row.values[_TABLE]))
    connection.execute(f"UPDATE {table} SET {settings} WHERE rowid = ?", [*ready, row.handle])


@contextmanager
def _written(file: Path, *, zero: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection inside a transaction that holds the write lock."""
    with (
        translate_sqlite_errors(file),
        closing(connect_to_write(file, zero=zero)) as connection,
        transaction(connection),
    ):
        yield connection
