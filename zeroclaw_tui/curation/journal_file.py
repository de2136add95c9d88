"""The file trash.db: its tables, how it stores a row, opening it, the lock, and sentences for SQLite's errors."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from zeroclaw_tui.files.database import transaction, wal_file
from zeroclaw_tui.files.disk import FULL, MAKE_ROOM, file_size, is_full, locked_or_closed, make_folder, new_file
from zeroclaw_tui.memory.change import AGENTS, EMBEDDING_CACHE, MEMORIES, Row, Value
from zeroclaw_tui.memory.errors import DiskFull, InspectorError, Locked, Unreadable
from zeroclaw_tui.memory.text import is_unicode

VERSION = 2
"""The schema's version, in the file's user_version."""
BUSY_SECONDS = 5.0

_CHECKPOINT_PAGES = 4000
"""Pages of the write-ahead log before it is written back, four times SQLite's own: fewer syncs in a long purge."""
_VACUUM_BYTES = 16_000_000
"""Up to so many bytes the file is rewritten to make it small."""
_FOR_WANT_OF_ROOM = ("SQLITE_IOERR", "SQLITE_CANTOPEN")
"""What SQLite answers, among other causes, when a file it needs cannot be made or grow."""
_DAMAGED = (
    "Try `sqlite3 trash.db .recover` on a copy to save its contents. Or move the file away: the trash is then "
    "empty, and earlier changes cannot be undone."
)

VECTOR = "embedding"

SCHEMA = (
    # `turned`: the place of the last undo in the order of the actions' numbers.
    """CREATE TABLE actions (
      number INTEGER PRIMARY KEY AUTOINCREMENT, store TEXT NOT NULL, verb TEXT NOT NULL, at TEXT NOT NULL,
      moment REAL NOT NULL, summary TEXT NOT NULL, is_done INTEGER NOT NULL DEFAULT 0, turned INTEGER)""",
    # `turning`: an undo or redo has begun (1), and set the bit of this change (2). `content` is that of the row before.
    # `after_state`: the fingerprint of a new row of which only id and key are stored.
    """CREATE TABLE changes (
      number INTEGER PRIMARY KEY AUTOINCREMENT, action INTEGER NOT NULL REFERENCES actions(number),
      table_name TEXT NOT NULL, id NOT NULL, undone INTEGER NOT NULL DEFAULT 0, turning INTEGER NOT NULL DEFAULT 0,
      size INTEGER NOT NULL, key TEXT, content TEXT, after_state TEXT, before TEXT, after TEXT)""",
    "CREATE INDEX actions_of_store ON actions(store, number)",
    "CREATE INDEX changes_of_action ON changes(action, table_name, undone)",
    "CREATE INDEX changes_of_id ON changes(id)",
    "CREATE INDEX changes_in_trash ON changes(action) WHERE before IS NOT NULL AND after IS NULL AND undone = 0",
)


def for_reading(file: Path) -> sqlite3.Connection | None:
    """A connection that only reads; None when there is no trash yet. Raises Unreadable, Locked."""
    if not file.exists():
        return None
    with explained(file, "read"):
        try:
            return _read_only(file, _reading_mode(file))
        except sqlite3.OperationalError:
            # Without room for SQLite's shared memory the file is read as it lies there, which is all of it without a
            # log.
            if size_on_disk(file) > file.stat().st_size or not is_full(file.parent):
                raise
        return _read_only(file, "mode=ro&immutable=1")


def _read_only(file: Path, mode: str) -> sqlite3.Connection | None:
    connection = _connect(file, mode)
    try:
        connection.execute("PRAGMA query_only = ON")
        if checked_version(connection, file) == 0:
            connection.close()
            return None
    except BaseException:
        connection.close()
        raise
    return connection


def for_writing(file: Path) -> sqlite3.Connection:
    """A connection that writes durably and zeroes what it deletes; makes the file where there is none.

    Any thread may use it, one at a time. Raises Unreadable, Locked.
    """
    with explained(file, "written"):
        _make(file)
        connection = _connect(file, "mode=rw")
        try:
            version = checked_version(connection, file)
            if version == 0:
                # Both only take hold in a file without tables.
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                connection.execute("PRAGMA journal_mode = WAL")
            for pragma in ("synchronous = FULL", "secure_delete = ON"):
                connection.execute(f"PRAGMA {pragma}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            if version == 0:
                _make_tables(connection)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def explained(file: Path, verb: str) -> Iterator[None]:
    """Turn errors of SQLite and of the system into one sentence; `verb` is "read", "written" or "written further".

    It is "written" only where a change has not begun, so that without it nothing is changed.
    """
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise _explained(file, verb, error) from error


def wipe(connection: sqlite3.Connection) -> None:
    """Give freed pages back to the system and empty the write-ahead log, in which old contents would outlive."""
    used, free = bytes_used(connection)
    if free > used and used <= _VACUUM_BYTES:
        # In memory, so that no content goes through a temporary file. Page by page would take a hundred times longer.
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("VACUUM")
    else:
        # `execute` would take one step of it, which is one page.
        connection.executescript("PRAGMA incremental_vacuum")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def bytes_used(connection: sqlite3.Connection) -> tuple[int, int]:
    """The bytes of the pages of the file that are in use, and of those that are free."""
    names = ("page_count", "freelist_count", "page_size")
    pages, free, size = (int(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in names)
    return (pages - free) * size, free * size


def size_on_disk(file: Path) -> int:
    """The bytes of the file and of its write-ahead log."""
    return file_size(file) + file_size(wal_file(file))


def try_lock(file: Path) -> int | None:
    """The lock that an action holds on a config dir, as a file descriptor; None while another one has it.

    The system lets go of it when the process ends, however that happens. Raises Unreadable.
    """
    with explained(file, "written"):
        _make_folder(file.parent)
        with contextlib.suppress(FileExistsError):
            os.close(new_file(file))
        return locked_or_closed(os.open(file, os.O_RDWR | os.O_CLOEXEC))


def let_go(descriptor: int) -> None:
    """Release the lock."""
    os.close(descriptor)


def _make(file: Path) -> None:
    """The file, readable by its owner only from its first moment on; SQLite gives -wal and -shm the same mode."""
    _make_folder(file.parent)
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        # A file that is there is not opened: closing it would drop the locks of this process's connections to it.
        with contextlib.suppress(FileExistsError):
            os.close(new_file(file))
        return
    if mode & 0o077:
        file.chmod(0o600)


def _make_folder(folder: Path) -> None:
    make_folder(folder, synced=False)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)


def _make_tables(connection: sqlite3.Connection) -> None:
    with transaction(connection):
        # Another process may have made them since.
        if not connection.execute("PRAGMA user_version").fetchone()[0]:
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")


def _connect(file: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{file.absolute().as_uri()}?{mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def checked_version(connection: sqlite3.Connection, file: Path) -> int:
    """0 for an empty file. Raises Unreadable for one that is not ours."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        raise Unreadable(
            f"{file} was written by a newer version of this program.",
            hint="Update this program, or move the file away: the trash is then empty.",
        )
    if version == 0:
        with closing(connection.execute("SELECT count(*) FROM sqlite_master")) as found:
            if found.fetchone()[0]:
                raise Unreadable(f"{file} is not this program's trash.", hint="Move the file away.")
    return version


def _reading_mode(file: Path) -> str:
    """How to open the file for reading.

    A writer that was killed may have left an unfinished transaction, which only a connection that could write takes
    back; where neither is possible, nor SQLite's shared memory can be made or found, the file is read as it lies there.
    """
    if os.access(file.parent, os.W_OK) and os.access(file, os.W_OK):
        return "mode=rw"
    has_shared_memory = os.access(file.parent, os.W_OK) or file.with_name(f"{file.name}-shm").exists()
    return "mode=ro" if has_shared_memory else "mode=ro&immutable=1"


def _explained(file: Path, verb: str, error: OSError | sqlite3.Error) -> InspectorError:
    """The sentence for what the system says, or for one of SQLite's result codes (https://sqlite.org/rescode.html)."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Locked(f"The trash is locked by another program: {file}.", hint="Try again when it has finished.")

    def cannot(why: str) -> str:
        nothing = " Without it nothing is changed." if verb == "written" else ""
        return f"The trash {file} cannot be {verb}: {why}.{nothing}"

    wants_room = name == "SQLITE_FULL" or (name.startswith(_FOR_WANT_OF_ROOM) and is_full(file.parent))
    if wants_room or (isinstance(error, OSError) and error.errno in FULL):
        return DiskFull(cannot("the disk is full"), hint=MAKE_ROOM)
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return Unreadable(cannot("it is damaged"), hint=_DAMAGED)
    why = (isinstance(error, OSError) and error.strerror) or str(error)
    return Unreadable(cannot(why), hint="Check the permissions of the directory and the free space.")


def bindable(text: str) -> str | bytes:
    """Text as SQLite takes it: as it is, or as bytes where it is no Unicode."""
    return text if is_unicode(text) else text.encode("utf-8", "surrogatepass")


def text_of(value: str | bytes) -> str:
    """The text that `bindable` made."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def searchable(text: str) -> str:
    """Text with a question mark for what nobody could type."""
    return text.encode("utf-8", "replace").decode("utf-8")


class RowCodec:
    """Rows as JSON. Bytes are base64; paths below the config dir are relative to it, so that it can be moved."""

    def __init__(self, config_dir: Path | None) -> None:
        self._home = None if config_dir is None else f"{os.path.realpath(config_dir)}{os.sep}"

    def name(self, row: Row) -> str:
        """The id of a row as the journal has it."""
        return row.id.removeprefix(self._home) if self._home is not None and _is_external(row) else row.id

    def bound_name(self, row: Row) -> str | bytes:
        """The same as SQLite takes it."""
        return bindable(self.name(row))

    def pack(self, row: Row, *, without_content: bool = False) -> str:
        """A row as JSON."""
        home = self._home if _is_external(row) else None
        values = [
            [_packed(name, None), [_CONTENT, ""] if without_content and name == "content" else _packed(value, home)]
            for name, value in row.values.items()
        ]
        parts = [_packed(part, home) for part in (row.id, row.handle, row.agent, row.table)]
        return _ENCODER.encode([*parts, values])

    def unpack(self, text: str, content: str | None = None) -> Row:
        """The row again, with the content that is stored by itself."""
        *parts, table, values = json.loads(text)
        id_of_row, handle, agent = map(self._value, parts)
        named = {
            self._value(name): content if value == [_CONTENT, ""] else self._value(value) for name, value in values
        }
        return Row(id_of_row, named, handle, agent, table)

    def _value(self, packed: Any) -> Any:
        if not isinstance(packed, list):
            return packed
        kind, text = packed
        if kind == _BELOW:
            return f"{self._home or ''}{text}"
        data = base64.b64decode(text)
        return data if kind == _BYTES else data.decode("utf-8", "surrogatepass")


_BYTES, _TEXT, _BELOW, _CONTENT = "bytes", "text", "below", "content"
"""What the JSON of a value begins with that is stored in another way: always a list, which no value of a row is."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _packed(value: Value, home: str | None) -> Any:
    if isinstance(value, bytes):
        return [_BYTES, base64.b64encode(value).decode("ascii")]
    if not isinstance(value, str):
        return value
    if not is_unicode(value):
        return [_TEXT, base64.b64encode(value.encode("utf-8", "surrogatepass")).decode("ascii")]
    if home is not None and value.startswith(home):
        return [_BELOW, value.removeprefix(home)]
    return value


def _is_external(row: Row) -> bool:
    return row.table not in (MEMORIES, AGENTS, EMBEDDING_CACHE)
