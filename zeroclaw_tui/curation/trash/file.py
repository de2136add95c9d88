"""The file trash.db: making it, opening it, its tables, the lock beside it, and how it holds a row."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.files.database import transaction, wal_file
from zeroclaw_tui.files.disk import FULL, MAKE_ROOM, file_size, is_full, locked_or_closed, make_folder, new_file
from zeroclaw_tui.memory.change import AUDIT_LOG, FILE, NOTES_FILE, OTHER_ROW
from zeroclaw_tui.memory.errors import DiskFull, InspectorError, Locked, Unreadable
from zeroclaw_tui.memory.text import is_unicode

if TYPE_CHECKING:
    from zeroclaw_tui.memory.change import Row, RowChange, Value

VERSION = 1
"""The schema's version, in the file's user_version."""
BUSY_SECONDS = 5.0

_CHECKPOINT_PAGES = 4000
"""Pages of the write-ahead log before it is written back, four times SQLite's own: fewer syncs in a long purge."""

_FOR_WANT_OF_ROOM = ("SQLITE_IOERR", "SQLITE_CANTOPEN")
"""What SQLite answers, among other causes, when a file it needs cannot be made or grow."""

_DAMAGED = (
    "Try `sqlite3 trash.db .recover` on a copy to save its contents. Or move the file away: the trash is then "
    "empty, and earlier changes cannot be undone."
)

_VACUUM_BYTES = 16_000_000
"""Up to so much content is written anew to make the file small."""

_SCHEMA = (
    "CREATE TABLE stores (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE actions (
      number INTEGER PRIMARY KEY AUTOINCREMENT, store INTEGER NOT NULL REFERENCES stores(number), verb TEXT NOT NULL,
      at TEXT NOT NULL, moment REAL NOT NULL, summary TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('begun', 'done')), size INTEGER NOT NULL DEFAULT 0)""",
    # `deleted`: a memory was there before and is no more, and no other row stands for it in the trash.
    # `taken_back`: how many rows reverse this one and are not reversed themselves; only triggers write it.
    """CREATE TABLE kept (
      number INTEGER PRIMARY KEY AUTOINCREMENT, action INTEGER NOT NULL REFERENCES actions(number),
      store INTEGER NOT NULL REFERENCES stores(number), table_name TEXT NOT NULL, id NOT NULL,
      deleted INTEGER NOT NULL, taken_back INTEGER NOT NULL DEFAULT 0, reverses INTEGER, size INTEGER NOT NULL,
      key TEXT, content TEXT, before TEXT, after TEXT, content_after TEXT)""",
    # Vectors apart: a search through the contents need not step over them.
    """CREATE TABLE blobs (
      number INTEGER PRIMARY KEY REFERENCES kept(number) ON DELETE CASCADE, before BLOB, after BLOB)""",
    "CREATE INDEX actions_of_store ON actions(store, number)",
    "CREATE INDEX kept_of_action ON kept(action, table_name, taken_back)",
    "CREATE INDEX kept_of_id ON kept(id)",
    "CREATE INDEX kept_reversing ON kept(reverses) WHERE reverses IS NOT NULL",
    "CREATE INDEX kept_in_trash ON kept(store) WHERE deleted = 1 AND taken_back = 0",
    """CREATE TRIGGER kept_reverses AFTER INSERT ON kept WHEN new.reverses IS NOT NULL BEGIN
      UPDATE kept SET taken_back = taken_back + 1 WHERE number = new.reverses; END""",
    """CREATE TRIGGER kept_toggled AFTER UPDATE OF taken_back ON kept
      WHEN new.reverses IS NOT NULL AND (old.taken_back = 0) <> (new.taken_back = 0) BEGIN
      UPDATE kept SET taken_back = taken_back + iif(new.taken_back = 0, 1, -1) WHERE number = new.reverses; END""",
    """CREATE TRIGGER kept_struck AFTER DELETE ON kept WHEN old.reverses IS NOT NULL AND old.taken_back = 0 BEGIN
      UPDATE kept SET taken_back = taken_back - 1 WHERE number = old.reverses; END""",
    # A row deleted, restored and deleted again by undoing that stands in the trash under its first deletion. When that
    # one goes, the last one takes its place.
    """CREATE TRIGGER kept_heir AFTER DELETE ON kept WHEN old.deleted = 1 AND old.taken_back = 0 BEGIN
      UPDATE kept SET deleted = 1 WHERE number = (SELECT max(again.number) FROM kept restored
        JOIN kept again ON again.reverses = restored.number
        WHERE restored.reverses = old.number AND again.before IS NOT NULL AND again.after IS NULL); END""",
)

_BYTES, _TEXT, _CONTENT, _SAME = "bytes", "text", "content", "same"
"""What stands in a row's JSON for a value that lies elsewhere: always a list, which no value of a row is."""

VECTOR = "embedding"

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
"""One for all rows: `json.dumps` makes a new one each time."""

MOVED_TO, MOVED_FROM, STAYS, MADE = "moved_to", "moved_from", "stays_if_changed", "made_folder"
FILE_NAME = "audit_file"
"""Under which names a kept change of a file, or of a row beside the store, tells where things were."""
_OF_FILES, _PATHS = (FILE, NOTES_FILE, AUDIT_LOG, OTHER_ROW), ("path", MOVED_TO, MOVED_FROM, MADE, FILE_NAME)


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
        if _checked_version(connection, file) == 0:
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
            version = _checked_version(connection, file)
            if version == 0:
                # Both only take hold in a file without tables.
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                connection.execute("PRAGMA journal_mode = WAL")
            for pragma in ("synchronous = FULL", "secure_delete = ON", "foreign_keys = ON", "recursive_triggers = ON"):
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
            for statement in _SCHEMA:
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


def _checked_version(connection: sqlite3.Connection, file: Path) -> int:
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


@dataclass(frozen=True, slots=True)
class Packed:
    """One row: its JSON, its content where that is plain text, and the bytes of what JSON cannot hold."""

    row: str
    content: str | None
    blob: bytes | None


def pack(row: Row, before: Row | None = None, *, vector: bool = True) -> Packed:
    """A row; given the row before it, a vector equal to that one's is not held twice. Without `vector` it is left out.

    The content is apart from the JSON so that it can be searched, blobs so that a search need not read them.
    """
    blob = bytearray()
    content: str | None = None
    values: list[list[Any]] = []
    for name, value in row.values.items():
        if name == VECTOR and not vector:
            continue
        packed: Any
        if name == "content" and isinstance(value, str) and is_unicode(value):
            packed, content = [_CONTENT], value
        elif name == VECTOR and isinstance(value, bytes) and before is not None and before.values.get(name) == value:
            packed = [_SAME]
        elif isinstance(value, bytes | str):
            packed = _packed(value, blob)
        else:
            packed = value
        values.append([name if name.isascii() else _packed(name, blob), packed])
    parts = [_packed(part, blob) for part in (row.id, row.handle, row.agent, row.table)]
    return Packed(_ENCODER.encode([*parts, values]), content, bytes(blob) if blob else None)


def unpack(packed: Packed, before: Row | None = None) -> Row:
    """The row again; `before` is the one it was packed with."""
    from zeroclaw_tui.memory.change import Row

    blob = packed.blob or b""
    *parts, values = json.loads(packed.row)
    name_of_row, handle, agent, table = (_unpacked(part, blob) for part in parts)
    named: dict[str, Value] = {}
    for name, value in values:
        plain: Value
        if value == [_CONTENT]:
            plain = packed.content
        elif value == [_SAME]:
            plain = before.values[VECTOR] if before is not None else None
        else:
            plain = _unpacked(value, blob)
        named[_unpacked(name, blob)] = plain
    return Row(name_of_row, named, handle, agent, table)


def file_path(row: Row) -> str:
    """Where a file that is kept as a row lies."""
    path = row.values.get("path")
    return path if isinstance(path, str) else row.id


def file_state(row: Row) -> str | None:
    """The SHA-256 in hex of a file that is kept as a row: named, or of its bytes."""
    named, data = row.values.get("sha256"), row.values.get("bytes")
    if isinstance(named, str):
        return named
    return hashlib.sha256(data).hexdigest() if isinstance(data, bytes) else None


def bindable(text: str) -> str | bytes:
    """Text as SQLite takes it: as it is, or where it is no Unicode as bytes."""
    return text if is_unicode(text) else text.encode("utf-8", "surrogatepass")


def searchable(text: str) -> str:
    """Text of which nothing is missing that could be typed."""
    return text if is_unicode(text) else text.encode("utf-8", "replace").decode("utf-8")


def _packed(value: Value, blob: bytearray) -> Any:
    if isinstance(value, bytes):
        kind, data = _BYTES, value
    elif isinstance(value, str) and not is_unicode(value):
        kind, data = _TEXT, value.encode("utf-8", "surrogatepass")
    else:
        return value
    start = len(blob)
    blob += data
    return [kind, start, len(data)]


def _unpacked(packed: Any, blob: bytes) -> Any:
    if not isinstance(packed, list):
        return packed
    kind, start, length = packed
    data = blob[start : start + length]
    return data if kind == _BYTES else data.decode("utf-8", "surrogatepass")


class Places:
    """Between paths and how the trash of a config dir keeps them; without such a dir they are kept as they are."""

    def __init__(self, config_dir: Path | None) -> None:
        self._home = None if config_dir is None else os.path.realpath(config_dir)

    def kept(self, change: RowChange) -> RowChange:
        """A change as it is kept: paths below the config dir are told from there."""
        if self._home is None or change.row.table not in _OF_FILES:
            return change
        return replace(change, before=self._row(change.before, self.name), after=self._row(change.after, self.name))

    def here(self, row: Row | None) -> Row | None:
        """A kept row with its paths as they are now."""
        return row if self._home is None or row is None or row.table not in _OF_FILES else self._row(row, self.path)

    def name(self, path: str) -> str:
        """How a path is kept."""
        return path.removeprefix(f"{self._home}{os.sep}") if self._home is not None else path

    def path(self, name: str) -> str:
        """The path that is kept under a name; what is absolute stays."""
        return name if self._home is None else os.path.join(self._home, name)

    def _row(self, row: Row | None, told: Callable[[str], str]) -> Row | None:
        if row is None:
            return None
        values: dict[str, Value] = {
            name: told(value) if name in _PATHS and isinstance(value, str) else value
            for name, value in row.values.items()
        }
        return replace(row, id=told(row.id), values=values)
