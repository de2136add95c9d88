"""Compare, journal and write changes of files, and of rows in other databases.

ZeroClaw also writes these files and databases: notes, sessions, snapshots, audit.db, sessions.db. A change is undone by
applying it in reverse. A move is two changes, the new file first.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zeroclaw_tui.files import database as sqlite
from zeroclaw_tui.files.disk import read_bytes, remove_stale_temp_files, replace_bytes, retry_if_changed
from zeroclaw_tui.memory.change import FILE, OTHER_ROW, ApplyResult, Journal, Row, RowChange, RowConflict, Value
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.errors import Refused, Unreadable
from zeroclaw_tui.memory.text import counted

LARGEST_FILE = 200_000_000
"""In bytes. Larger files are not changed, because the journal stores the bytes before and after."""

_MOVED_FROM = "moved_from"
_DATABASE, _TABLE = "audit_file", "of_table"
"""The names of the values with a row's database and table; the other values are columns."""
_BATCH_ROWS = 250


# Rows that represent files


def canonical(path: Path) -> Path:
    """Resolve the links of a file's folder, but not the file itself."""
    return Path(os.path.realpath(path.parent)) / path.name


def link_target(path: Path) -> Path:
    """Resolve all links: return the file that a write to this path changes."""
    return Path(os.path.realpath(path))


def file_row(path: Path, data: bytes, *, mode: int | None = None, mtime_ns: int | None = None) -> Row:
    """Make the row of a file. `mode` and `mtime_ns` are set when the file is written."""
    values: dict[str, Value] = {"path": str(path), "bytes": data, "mode": mode, "mtime_ns": mtime_ns}
    return Row(str(path), {name: value for name, value in values.items() if value is not None}, table=FILE)


def read_file(path: Path) -> Row | None:
    """Read a file with its mode and modification time; None if it does not exist. Blocks.

    Raises Refused for links and other irregular files, files over LARGEST_FILE bytes, and unreadable files.
    """
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}.", hint="Check the permissions.") from error
    if not stat.S_ISREG(found.st_mode):
        kind = "a link" if stat.S_ISLNK(found.st_mode) else "not a regular file"
        raise Refused(f"{path} is {kind} and was left alone.", hint="Move or remove it by hand.")
    if found.st_size > LARGEST_FILE:
        raise Refused(
            f"{path} is {found.st_size / 1e6:,.0f} MB, too large for undo, so it was left alone.",
            hint="Remove it by hand if you do not need it.",
            title="Too large",
        )
    try:
        data = read_bytes(path)
    except Unreadable as error:
        raise Refused(error.message, hint=error.hint, title=error.title) from error
    return None if data is None else file_row(path, data, mode=stat.S_IMODE(found.st_mode), mtime_ns=found.st_mtime_ns)


def move(source: Row, target: Path) -> tuple[RowChange, RowChange]:
    """Make the two changes that move a file. The new row names the old path, so that they count as one change."""
    values = {**source.values, "path": str(target), _MOVED_FROM: source.id}
    return RowChange(None, Row(str(target), values, table=FILE)), RowChange(source, None)


# Rows of other databases


def database_row(database: Path, table: str, number: int, values: dict[str, Value]) -> Row:
    """Make the row for some or all columns of a table row, by its rowid."""
    named = {**values, _DATABASE: str(database), _TABLE: table}
    return Row(f"{database}#{table}#{number}", named, number, table=OTHER_ROW)


def keyword_indexes(connection: sqlite3.Connection) -> list[str]:
    """List the FTS5 tables of a database."""
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%USING fts5%'")
    return [as_text(name) for (name,) in found]


def optimize_keyword_indexes(database: Path) -> None:
    """Remove the deleted words that FTS5 keeps (https://sqlite.org/fts5.html, 6.9), and empty the log. Blocks."""
    with sqlite.translate_sqlite_errors(database), closing(sqlite.connect_to_write(database, zero=True)) as connection:
        for name in keyword_indexes(connection):
            connection.execute(f"INSERT INTO {sqlite.quoted(name)}({sqlite.quoted(name)}) VALUES ('optimize')")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


# Applying changes


async def apply(
    changes: Iterable[RowChange], journal: Journal | None, *, overwrite: bool = False, dry_run: bool = False
) -> ApplyResult:
    """Write changes of external rows, files one by one, rows of a database in transactions.

    Each current row is compared with `before`, recorded in the journal, then replaced by `after`. A row that is not as
    expected is a conflict: it is skipped, or replaced with `overwrite`. A file that cannot be written is skipped with a
    note; if it is the new file of a move, the old file stays. A cancelled task still writes all changes.
    Raises Locked, DiskFull, Unreadable, and the errors of the journal.
    """
    return await asyncio.to_thread(_Run(journal, overwrite, dry_run).apply, changes)


def current_states(rows: Sequence[Row]) -> dict[str, str | None]:
    """Return the current fingerprint of each row by id, None if the row does not exist. Blocks.

    Unfinished files that a killed run left in the same folders are removed.
    """
    for folder in {_path_of(row).parent for row in rows if row.table != OTHER_ROW}:
        with suppress(OSError):
            remove_stale_temp_files(folder)
    states: dict[str, str | None] = {}
    for row in rows:
        if row.table != OTHER_ROW:
            data = read_bytes(_path_of(row))
            states[row.id] = None if data is None else hashlib.sha256(data).hexdigest()
        elif not _path_of(row).exists():
            states[row.id] = None
        else:
            with _reading(_path_of(row)) as connection:
                states[row.id] = _fingerprint(_present(connection, row))
    return states


@dataclass(slots=True)
class _Run:
    """One pass over a set of changes, and its result."""

    journal: Journal | None
    overwrite: bool
    is_dry: bool
    result: ApplyResult = field(default_factory=ApplyResult)
    skipped_files: set[str] = field(default_factory=set)
    """The fingerprints of skipped new files, because a move must then not remove the old file."""

    def apply(self, changes: Iterable[RowChange]) -> ApplyResult:
        for batch in _batches(changes):
            path = _path_of(batch[0].row)
            if batch[0].row.table == FILE:
                self._apply_file(path, batch[0])
            elif not path.exists():
                self.result.already += [change.row.id for change in batch]
                self.result.note(f"{path} no longer exists, so {counted(len(batch), 'row')} of it stay as they are.")
            else:
                self._apply_rows(path, batch)
        return self.result

    def _apply_file(self, path: Path, change: RowChange) -> None:
        def attempt() -> None:
            due = self._change_to_write(change, read_file(path))
            if due is not None and not self.is_dry:
                with self._record([due]):
                    facts: Mapping[str, Any] = {} if due.after is None else due.after.values
                    old, new = _bytes_of(due.before), _bytes_of(due.after)
                    replace_bytes(path, old, new, mode=facts.get("mode"), mtime_ns=facts.get("mtime_ns"))
            self.result.written += due is not None

        if change.after is None and change.row.fingerprint in self.skipped_files:
            self.result.skipped.append(change.row.id)
            return
        try:
            retry_if_changed(attempt, path)
        except Refused as error:
            self._skip(change)
            self.result.note(error.message)

    def _apply_rows(self, database: Path, batch: Sequence[RowChange]) -> None:
        with _reading(database) if self.is_dry else _writing(database) as connection:
            compared = [self._change_to_write(change, _present(connection, change.row)) for change in batch]
            due = [change for change in compared if change is not None]
            self.result.written += len(due)
            if not self.is_dry:
                with self._record(due):
                    for change in due:
                        _write_row(connection, change)
                    connection.execute("COMMIT")

    def _change_to_write(self, change: RowChange, present: Row | None) -> RowChange | None:
        """Compare the current row with the expected one; return the change to write, or note why there is none."""
        name, now = change.row.id, _fingerprint(present)
        if now == _fingerprint(change.after):
            self.result.already.append(name)
            return None
        if now == _fingerprint(change.before):
            return replace(change, before=present)
        named = replace(change.row, values={"key": name})
        self.result.add_conflict(RowConflict(named, present and named, "changed" if present else "deleted"))
        if not self.overwrite:
            self._skip(change)
            return None
        return replace(change, before=present, replaces=present is not None)

    def _skip(self, change: RowChange) -> None:
        self.result.skipped.append(change.row.id)
        if change.after is not None and change.after.table == FILE:
            self.skipped_files.add(change.after.fingerprint)

    @contextmanager
    def _record(self, changes: Sequence[RowChange]) -> Iterator[None]:
        """Record changes that the body writes, and withdraw the record if it fails."""
        journal = self.journal if changes else None
        if journal is not None:
            journal.record(changes)
        try:
            yield
        except BaseException:
            if journal is not None:
                journal.withdraw()
            raise


def _batches(changes: Iterable[RowChange]) -> Iterator[list[RowChange]]:
    """Batch each file alone, and rows of one database together; no row is in a batch twice."""
    batch: dict[str, RowChange] = {}
    for change in changes:
        first = next(iter(batch.values()), change).row
        is_other = change.row.table == FILE or _path_of(change.row) != _path_of(first)
        if batch and (is_other or change.row.id in batch or len(batch) == _BATCH_ROWS):
            yield list(batch.values())
            batch = {}
        batch[change.row.id] = change
    if batch:
        yield list(batch.values())


def _path_of(row: Row) -> Path:
    return Path(str(row.values.get(_DATABASE) or row.values.get("path", row.id)))


def _fingerprint(row: Row | None) -> str | None:
    return None if row is None else row.fingerprint


def _bytes_of(row: Row | None) -> bytes | None:
    if row is None:
        return None
    data = row.values.get("bytes")
    if not isinstance(data, bytes):
        raise Refused(f"{row.id} cannot be written: the trash does not have its content.", hint="It stays as it is.")
    return data


@contextmanager
def _reading(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading, after rolling back an interrupted write."""

    def connect() -> sqlite3.Connection:
        try:
            return sqlite.connect_read_only_blocking(database)
        except sqlite.UnfinishedWrite:
            sqlite.roll_back_hot_journal(database)
            return sqlite.connect_read_only_blocking(database)

    with sqlite.translate_sqlite_errors(database), closing(connect()) as connection:
        yield connection


@contextmanager
def _writing(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a database in a transaction, which is rolled back unless the body commits it."""
    with sqlite.translate_sqlite_errors(database), closing(sqlite.connect_to_write(database, zero=True)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


def _columns_in(row: Row) -> list[str]:
    return [name for name in row.values if name not in (_DATABASE, _TABLE)]


def _present(connection: sqlite3.Connection, row: Row) -> Row | None:
    """Read the current columns of a row; None if the row, or one of the columns, does not exist."""
    table, wanted = str(row.values[_TABLE]), _columns_in(row)
    columns = sqlite.columns_of(connection, table)
    if not columns or not set(wanted) <= set(columns):
        return None
    statement = f"SELECT {', '.join(map(sqlite.quoted, wanted))} FROM {sqlite.quoted(table)} WHERE rowid = ?"
    found = connection.execute(statement, (row.handle,)).fetchone()
    return None if found is None else replace(row, values={**row.values, **dict(zip(wanted, found, strict=True))})


def _write_row(connection: sqlite3.Connection, change: RowChange) -> None:
    table, number, after = sqlite.quoted(str(change.row.values[_TABLE])), change.row.handle, change.after
    if after is None:
        connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (number,))
        return
    values = {name: after.values[name] for name in _columns_in(after)}
    if change.before is None:
        marks, ready = sqlite.bind(values.values())
        connection.execute(f"INSERT INTO {table} ({', '.join(map(sqlite.quoted, values))}) VALUES ({marks})", ready)
    else:
        settings, ready = sqlite.assignments(values)
        connection.execute(f"UPDATE {table} SET {settings} WHERE rowid = ?", [*ready, number])
