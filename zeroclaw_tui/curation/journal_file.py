"""The file trash.db: opening, conversion from earlier versions, its lock, and messages for SQLite's errors."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from zeroclaw_tui.curation import journal_records as records
from zeroclaw_tui.curation.external import read_file
from zeroclaw_tui.files.database import is_disk_full, transaction, wal_file
from zeroclaw_tui.files.disk import MAKE_ROOM, file_size, lock_or_close, make_folder, new_file
from zeroclaw_tui.memory.change import FILE, OTHER_ROW, Row, RowChange, Value
from zeroclaw_tui.memory.errors import DiskFull, InspectorError, Locked, Refused, Unreadable

if TYPE_CHECKING:
    from zeroclaw_tui.config.locations import Install

NAME = "trash.db"
LOCK_SECONDS = 5.0
"""How long a change waits for another one to finish."""
BACKUP, BACKUP_DAYS = "trash-0.2.db", 30
"""The trash before its conversion, and the days that it stays."""

Result = TypeVar("Result")

_POLL_SECONDS = 0.05
_BUSY_SECONDS = 5.0
_CHECKPOINT_PAGES = 4000
"""Pages of the write-ahead log per checkpoint, four times SQLite's default: fewer syncs in a long purge."""
_DAMAGED = (
    "Try `sqlite3 trash.db .recover` on a copy to save its contents. Or move the file away: the trash is then "
    "empty, and earlier changes cannot be undone."
)


class JournalFile:
    """The trash.db of a config directory, created at the first change. Raises Unreadable, DiskFull, Locked."""

    def __init__(self, install: Install, store: str, clock: Callable[[], datetime]) -> None:
        self.store, self.now = store, clock
        self.path = install.own_dir / NAME
        self.codec = records.RowCodec(install.config_dir)
        self._config_dir = install.config_dir

    def size(self) -> int:
        """Return the size in bytes of the file with its write-ahead log."""
        return file_size(self.path) + file_size(wal_file(self.path))

    def delete_old_backup(self) -> None:
        """Delete the trash of an earlier version after BACKUP_DAYS. Blocks."""
        backup = self.path.with_name(BACKUP)
        with contextlib.suppress(OSError):
            if backup.stat().st_mtime < (self.now() - timedelta(days=BACKUP_DAYS)).timestamp():
                backup.unlink()

    async def lock(self) -> int:
        """Wait for the lock and return its file descriptor; closing it, or the end of the process, releases it."""
        until = time.monotonic() + LOCK_SECONDS
        while (descriptor := await asyncio.to_thread(self.try_lock)) is None:
            if time.monotonic() >= until:
                raise _locked()
            await asyncio.sleep(_POLL_SECONDS)
        return descriptor

    def try_lock(self) -> int | None:
        """Return the file descriptor of the lock; None while another action has it. Blocks."""
        file = self.path.with_name("trash.lock")
        with self.translate_errors("written"):
            _make_private(file)
            return lock_or_close(os.open(file, os.O_RDWR | os.O_CLOEXEC))

    async def read(self, work: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """Return the result of `work`; None if there is no trash."""

        def read() -> Result | None:
            with self.reading() as connection:
                return None if connection is None else work(connection)

        return await asyncio.to_thread(read)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Open the file for reading; None if there is no trash. Blocks."""
        if not self.path.exists():
            yield None
            return
        with self.translate_errors("read"), closing(self._open_to_read()) as connection:
            yield connection if self._version(connection) else None

    async def write(self, work: Callable[[sqlite3.Connection], Result], *, wipes: bool = False) -> Result:
        """Run `work` in one transaction under the caller's lock; `wipes` zeroes freed bytes and deletes the backup."""

        def write() -> Result:
            with closing(self.open_to_write()) as connection:
                with self.translate_errors("written"), transaction(connection):
                    answer = work(connection)
                try:
                    with self.translate_errors("written further"):
                        if wipes:
                            records.wipe(connection)
                            self.path.with_name(BACKUP).unlink(missing_ok=True)
                except InspectorError as error:
                    error.hint = f"The file may still contain what was deleted. Empty the trash again. {error.hint}"
                    raise
            return answer

        return await asyncio.to_thread(write)

    async def erase(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run `work` under the lock, zero the deleted bytes, and return its result."""
        descriptor = await self.lock()
        try:
            return await self.write(work, wipes=True)
        finally:
            os.close(descriptor)

    def open_to_write(self) -> sqlite3.Connection:
        """Open the file for durable writes that zero deleted bytes, under the lock, one thread at a time. Blocks."""
        with self.translate_errors("written"), contextlib.ExitStack() as on_error:
            _make_private(self.path)
            connection = on_error.enter_context(closing(_connect(self.path, "mode=rw")))
            version = self._version(connection)
            if version == 0:
                # Both take effect only in a file without tables.
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                connection.execute("PRAGMA journal_mode = WAL")
            for pragma in ("synchronous = FULL", "secure_delete = ON", f"wal_autocheckpoint = {_CHECKPOINT_PAGES}"):
                connection.execute(f"PRAGMA {pragma}")
            if version == 0:
                with transaction(connection):
                    for statement in (*records.SCHEMA, f"PRAGMA user_version = {records.VERSION}"):
                        connection.execute(statement)
            elif version == _FIRST_VERSION:
                _convert(connection, self.path, self.codec, self._config_dir)
                records.wipe(connection)
            on_error.pop_all()
        return connection

    def _open_to_read(self) -> sqlite3.Connection:
        with contextlib.ExitStack() as on_error:
            # Only a writable connection rolls back an interrupted write; otherwise the file is read as it is.
            can_write = os.access(self.path.parent, os.W_OK) and os.access(self.path, os.W_OK)
            mode = "mode=rw" if can_write else "mode=ro&immutable=1"
            connection = on_error.enter_context(closing(_connect(self.path, mode)))
            connection.execute("PRAGMA query_only = ON")
            if self._version(connection) in (0, records.VERSION):
                on_error.pop_all()
                return connection
        descriptor = self.try_lock()
        if descriptor is None:
            raise _locked()
        try:
            # This converts the file.
            return self.open_to_write()
        finally:
            os.close(descriptor)

    def _version(self, connection: sqlite3.Connection) -> int:
        """Return the version of the tables, 0 for an empty file. Raises Unreadable if the file is not ours."""
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version not in (0, _FIRST_VERSION, records.VERSION):
            raise Unreadable(
                f"{self.path} was written by another version of this program.",
                hint="Update this program, or move the file away: the trash is then empty.",
            )
        if version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise Unreadable(f"{self.path} is not this program's trash.", hint="Move the file away.")
        return version

    @contextmanager
    def translate_errors(self, verb: str) -> Iterator[None]:
        """Translate SQLite and system errors into one sentence; `verb` is "read", "written" or "written further".

        Pass "written" only before a change has begun: the sentence then says that nothing is changed.
        """
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            # One of SQLite's result codes: https://sqlite.org/rescode.html
            name = getattr(error, "sqlite_errorname", None) or ""
            if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                sentence = f"The trash is locked by another program: {self.path}."
                raise Locked(sentence, hint="Try again when it has finished.") from error
            kind: type[InspectorError] = Unreadable
            why = getattr(error, "strerror", None) or str(error)
            hint = "Check the permissions of the directory and the free space."
            if is_disk_full(self.path.parent, error):
                kind, why, hint = DiskFull, "the disk is full", MAKE_ROOM
            elif name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
                why, hint = "it is damaged", _DAMAGED
            nothing = " Without it nothing is changed." if verb == "written" else ""
            raise kind(f"The trash {self.path} cannot be {verb}: {why}.{nothing}", hint=hint) from error


def _locked() -> Locked:
    return Locked("Another inspector is changing this install.", hint="Try again when it has finished.")


def _make_private(file: Path) -> None:
    """Create the file and its folder accessible only to the owner from the start; -wal and -shm get the same mode.

    An existing file is not opened, because closing it would release the locks of this process's connections.
    """
    make_folder(file.parent)
    if not file.exists():
        with contextlib.suppress(FileExistsError):
            os.close(new_file(file))
    for path, mode in ((file.parent, 0o700), (file, 0o600)):
        if path.stat().st_mode & 0o077:
            path.chmod(mode)


def _connect(file: Path, mode: str) -> sqlite3.Connection:
    name = f"{file.absolute().as_uri()}?{mode}"
    return sqlite3.connect(name, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)


# The trash of 0.2.0 and 0.3.0

_FIRST_VERSION = 1
_PATHS = ("path", "moved_to", "moved_from", "made_folder", "audit_file")
_CHANGES = """SELECT k.number, k.action, k.taken_back > 0,
    k.before, k.content, b.before, k.after, k.content_after, b.after
  FROM kept k LEFT JOIN blobs b ON b.number = k.number
  WHERE k.reverses IS NULL AND k.table_name <> '' ORDER BY k.number"""


def _convert(connection: sqlite3.Connection, file: Path, codec: records.RowCodec, config_dir: Path | None) -> None:
    """Convert the tables in one transaction, and save a copy as a backup; a failure changes nothing.

    Undone changes stay undone, the others done. Undos, redos and restores are left out, except the rows they replaced.
    """
    config_dir = None if config_dir is None else Path(os.path.realpath(config_dir))
    backup = file.with_name(BACKUP)
    backup.unlink(missing_ok=True)
    os.close(new_file(backup))
    with closing(sqlite3.connect(backup)) as copy:
        connection.backup(copy)
    with transaction(connection):
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DROP INDEX IF EXISTS actions_of_store")
        connection.execute("ALTER TABLE actions RENAME TO old_actions")
        for statement in records.SCHEMA:
            connection.execute(statement)
        connection.execute(
            "INSERT INTO actions (number, store, verb, at, moment, summary, is_done)"
            " SELECT a.number, s.name, a.verb, a.at, a.moment, a.summary, a.state = 'done' FROM old_actions a"
            " JOIN stores s ON s.number = a.store WHERE EXISTS (SELECT 1 FROM kept WHERE action = a.number"
            " AND reverses IS NULL AND table_name <> '')"
        )
        for row in connection.execute(_CHANGES):
            number, action, is_undone, old, content, blob, new, content_after, blob_after = row
            try:
                before = None if old is None else _completed(_unpack(old, content, blob, None), config_dir)
                after = None if new is None else _completed(_unpack(new, content_after, blob_after, before), config_dir)
            except (ValueError, TypeError) as error:
                raise Unreadable(
                    f"The trash of an earlier version, {file}, cannot be converted: change {number} is damaged.",
                    hint="Nothing was changed. Move the file away: the trash is then empty.",
                ) from error
            columns = records.columns_of_change(codec, action, RowChange(before, after), undone=bool(is_undone))
            records.insert_changes(connection, [(number, *columns)])
        counted = "SELECT action FROM changes WHERE is_counted"
        connection.execute(f"UPDATE changes SET is_counted = 1 WHERE action NOT IN ({counted})")
        for table in ("blobs", "kept", "old_actions", "stores", "clock"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        connection.execute(f"PRAGMA user_version = {records.VERSION}")


def _unpack(text: str, content: str | None, blob: bytes | None, before: Row | None) -> Row:
    """Decode a row of these versions: values that JSON cannot represent are in a blob, or equal those of `before`."""
    data = blob or b""

    def value(packed: Any) -> Any:
        if not isinstance(packed, list):
            return packed
        if packed == ["content"]:
            return content
        if packed == ["same"]:
            return before.values["embedding"] if before is not None else None
        kind, start, length = packed
        part = data[start : start + length]
        return part if kind == "bytes" else part.decode("utf-8", "surrogatepass")

    *parts, values = json.loads(text)
    id_of_row, handle, agent, table = map(value, parts)
    return Row(id_of_row, {value(name): value(packed) for name, packed in values}, handle, agent, table)


def _completed(row: Row, config_dir: Path | None) -> Row:
    """Complete a row of these versions: absolute paths, the bytes of a file, and the table of an entry of audit.db."""
    if row.table == "memory_audit":
        row = replace(row, values={**row.values, "of_table": row.table}, table=OTHER_ROW)
    if config_dir is not None and row.table in records.EXTERNAL:
        values: dict[str, Value] = {
            name: os.path.join(config_dir, value) if name in _PATHS and isinstance(value, str) else value
            for name, value in row.values.items()
        }
        row = replace(row, id=os.path.join(config_dir, row.id), values=values)
    if row.table != FILE or "bytes" in row.values:
        return row
    # Of a moved file only the digest was stored, so the bytes are read from where it is now.
    for name in ("path", "moved_to", "moved_from"):
        with contextlib.suppress(Refused):
            file = read_file(Path(str(row.values[name]))) if name in row.values else None
            if file is not None and file.fingerprint == row.values.get("sha256"):
                return replace(row, values={**row.values, "bytes": file.values["bytes"]})
    return row
