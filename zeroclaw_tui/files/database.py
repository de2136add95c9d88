"""SQLite databases of any program: opened to be read or written, and what SQLite's errors mean to a person."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from zeroclaw_tui.files.disk import FULL, MAKE_ROOM, file_size, is_full
from zeroclaw_tui.memory.errors import (
    Corrupt,
    DiskFull,
    InspectorError,
    Locked,
    NothingYet,
    Refused,
    SearchInterrupted,
    Unreadable,
)
from zeroclaw_tui.memory.text import is_unicode

Answer = TypeVar("Answer")
FileIdentity = tuple[int, int]
"""Device and inode: two files that follow one another under one name differ in it."""

BUSY_SECONDS = 5.0
"""How long a read or a write waits for another program's lock."""

DATABASE_HEADER = b"SQLite format 3\0"
"""How every database begins that is not empty (SQLite's file format, section 1.3)."""

READ_AT_ONCE = 16_000_000
_WAL_FORMAT = 2
_NO_SHARED_MEMORY = (
    "SQLITE_READONLY_DIRECTORY",
    "SQLITE_READONLY_CANTINIT",
    "SQLITE_READONLY_RECOVERY",
    "SQLITE_CANTOPEN",
)
_NO_ROOM = "The disk is full. You see the database as it was when it was opened; later writes do not appear."
_FOR_WANT_OF_ROOM = ("SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY_CANTINIT")
"""What SQLite answers, among other causes, when a file it needs cannot be made or grow (unixOpenSharedMemory)."""
_ANOTHER_FILE = "Give the path of a brain.db, a workspace or a ZeroClaw config directory."


@dataclass(slots=True)
class _RawDescriptor:
    """A file that is read beside SQLite. Without this sentence a dataclass would import `inspect` for one."""

    descriptor: int
    is_database: bool = False
    users: int = 0


_raw_descriptors: dict[FileIdentity, _RawDescriptor] = {}
_raw_guard = threading.Lock()


class ReadOnlyConnection(aiosqlite.Connection):
    """An aiosqlite connection that says how it was opened."""

    notice: str | None = None
    """A sentence for the person when SQLite could not make its -shm file, and the file is read as it lies there."""
    is_full: bool = False
    """Whether that was for want of room on the disk."""


class UnfinishedWrite(Unreadable):
    """A program died in the middle of a write, and its rollback journal lies beside the database."""


class _Connection(sqlite3.Connection):
    notice: str | None = None
    is_full: bool = False


async def connect_read_only(path: Path) -> ReadOnlyConnection:
    """Open a database for reading only, on a thread of its own. Raises InspectorError kinds.

    The URI says mode=ro, PRAGMA query_only is on, and a lock is waited for as long as BUSY_SECONDS. Text that is no
    UTF-8 comes back with surrogate escapes, so that no text ever raises.
    """
    # A connector that fails would leave aiosqlite's thread answering a loop that may be closed by then.
    opened = await asyncio.to_thread(connect_read_only_blocking, path)
    connection = ReadOnlyConnection(lambda: opened, iter_chunk_size=500)
    await connection
    if isinstance(opened, _Connection):
        connection.notice, connection.is_full = opened.notice, opened.is_full
    return connection


def connect_read_only_blocking(path: Path) -> sqlite3.Connection:
    """The same for use in threads: any thread may use it, one at a time. Raises InspectorError kinds."""
    check_file(path)
    with translated(path):
        try:
            return _opened(path, "mode=ro")
        except sqlite3.OperationalError as error:
            wants_room = _wants_room(path, error)
            if not wants_room and not _needs_fall_back(path, error):
                raise
        connection = _opened(path, "mode=ro&immutable=1")
        connection.notice = _NO_ROOM if wants_room else _fall_back_notice(path)
        connection.is_full = wants_room
        return connection


class Reading:
    """Work on a connection and a thread of its own, which can be stopped.

    `run` raises InspectorError kinds, and SearchInterrupted after `stop`. Cancelling the await stops the work too.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._stopped = False

    async def run(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """What `work` answers."""
        try:
            return await asyncio.to_thread(self._run, work)
        except asyncio.CancelledError:
            self.stop()
            raise

    def stop(self) -> None:
        """End the statement that runs now; from any thread."""
        with self._lock:
            self._stopped = True
            if self._connection is not None:
                self._connection.interrupt()

    def _run(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        with closing(connect_read_only_blocking(self._path)) as connection, translated(self._path):
            with self._lock:
                if self._stopped:
                    raise SearchInterrupted
                self._connection = connection
            try:
                return work(connection)
            finally:
                with self._lock:
                    self._connection = None


class Readings:
    """What is read of one database file now, each on a connection and a thread of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._are_searches: dict[Reading, bool] = {}

    def __bool__(self) -> bool:
        return bool(self._are_searches)

    async def run(self, work: Callable[[sqlite3.Connection], Answer], *, is_search: bool = False) -> Answer:
        """What `work` answers; raises as `Reading` does."""
        reading = Reading(self._path)
        self._are_searches[reading] = is_search
        try:
            return await reading.run(work)
        finally:
            del self._are_searches[reading]

    def stop(self, *, only_searches: bool = False) -> None:
        """End what runs."""
        for reading, is_search in self._are_searches.items():
            if is_search or not only_searches:
                reading.stop()


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn sqlite3's errors into InspectorError kinds, each one sentence and what to do next.

    An interrupted statement becomes SearchInterrupted. Mistakes of the program itself stay what they are.
    """
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", None)
        if name is None:
            raise
        # Where it was compiling or reading the schema, the name is another one.
        if name == "SQLITE_INTERRUPT" or str(error) == "interrupted":
            raise SearchInterrupted from error
        raise explained(path, name, error) from error
    except UnicodeDecodeError as error:
        # Texts in rows may be any bytes; the names of tables and columns, and what SQLite says of them, may not.
        raise explained(path, "SQLITE_CORRUPT", sqlite3.DatabaseError(str(error))) from error


def check_file(path: Path) -> None:
    """Tell apart what SQLite reports in the same words. Raises Unreadable, NothingYet where ZeroClaw would make the
    file; opens nothing.

    A file of 0 bytes is refused here because SQLite deletes the -wal file beside an empty database when it opens it.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        kind = Unreadable if file_size(wal_file(path)) else NothingYet
        raise kind(f"There is no file {path}.", hint=_ANOTHER_FILE, title=Unreadable.title) from None
    except NotADirectoryError:
        raise Unreadable(f"There is no file {path}.", hint=_ANOTHER_FILE) from None
    except PermissionError:
        raise Unreadable(
            f"You have no permission to open the directory of {path}.", hint="Run this as the user that runs ZeroClaw."
        ) from None
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.", hint=_ANOTHER_FILE) from error
    if stat.S_ISDIR(found.st_mode):
        raise Unreadable(f"{path} is a directory, not a database.", hint=_ANOTHER_FILE)
    if not stat.S_ISREG(found.st_mode):
        raise Unreadable(f"{path} is not a regular file.", hint=_ANOTHER_FILE)
    if not os.access(path, os.R_OK):
        raise Unreadable(f"You have no permission to read {path}.", hint="Run this as the user that runs ZeroClaw.")
    if found.st_size == 0:
        raise _empty(path)


def file_identity(path: Path) -> FileIdentity | None:
    """Which file lies at a path now; None where none can be seen."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def wal_file(path: Path) -> Path:
    """The write-ahead log of a database, whether or not it exists."""
    return path.with_name(path.name + "-wal")


def is_wal(path: Path) -> bool:
    """Whether the file's header says write-ahead log (SQLite's file format, byte 18)."""
    header = raw_bytes(path, 20)
    return len(header) == 20 and header[18] == _WAL_FORMAT


@contextmanager
def raw_descriptor(
    name: str | Path, flags: int = os.O_RDONLY | os.O_CLOEXEC, folder: int | None = None
) -> Iterator[int]:
    """A descriptor of a file for reading its bytes as they lie there, at offset 0. Raises OSError.

    That of a database stays open until the database is deleted: when a process closes any descriptor of a file, POSIX
    drops all its locks on that file, those of SQLite's connections included, and another program may then take away
    the write-ahead log under them (https://sqlite.org/howtocorrupt.html, section 2.2). Users of one database take
    turns with the offset; `os.pread` needs none.
    """
    with _raw_guard:
        found = os.stat(name, dir_fd=folder, follow_symlinks=not flags & os.O_NOFOLLOW)
        kept = _raw_descriptors.get((found.st_dev, found.st_ino)) or _newly_opened(name, flags, folder)
        kept.users += 1
    try:
        if kept.is_database:
            os.lseek(kept.descriptor, 0, os.SEEK_SET)
        yield kept.descriptor
    finally:
        with _raw_guard:
            kept.users -= 1
            if not kept.is_database:
                os.close(kept.descriptor)


def raw_bytes(path: Path, size: int, offset: int = 0) -> bytes:
    """Bytes of a file as they lie there. Raises OSError."""
    with raw_descriptor(path) as descriptor:
        return os.pread(descriptor, size, offset)


def is_database(path: Path) -> bool:
    """Whether a file begins as a SQLite database does. Raises OSError."""
    return raw_bytes(path, len(DATABASE_HEADER)) == DATABASE_HEADER


def raw_pieces(path: Path) -> Iterator[bytes]:
    """All bytes of a file as they lie there, some megabytes at a time. Raises OSError."""
    with raw_descriptor(path) as descriptor:
        offset = 0
        while piece := os.pread(descriptor, READ_AT_ONCE, offset):
            offset += len(piece)
            yield piece


@contextmanager
def opened_as_it_lies(path: Path) -> Iterator[tuple[sqlite3.Connection, str]]:
    """A database that is not the store, opened so that no file appears beside it; with a sentence on what is not read.

    Only where its log and the index of it both lie there can the log be read without making one of them. Raises
    InspectorError kinds.
    """
    check_file(path)
    has_log = file_size(wal_file(path)) > 0
    if has_log and path.with_name(f"{path.name}-shm").exists():
        with closing(connect_read_only_blocking(path)) as connection, translated(path):
            yield connection, ""
        return
    notice = f" What is only in {wal_file(path).name} was not read." if has_log else ""
    with translated(path), closing(_opened(path, "mode=ro&immutable=1")) as connection:
        yield connection, notice


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold the write lock; all of it is done when the block ends, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def columns_of(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    """The columns of a table, none where there is no such table."""
    described = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return tuple(as_text(name) for (name,) in described)


def tables_of_rows(connection: sqlite3.Connection) -> list[str]:
    """The tables that hold rows of their own: no views, no keyword indexes and none of SQLite's."""
    found = [
        (as_text(name), as_text(sql).upper().startswith("CREATE VIRTUAL"))
        for name, sql in connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    ]
    of_others = ("sqlite_", *(f"{name}_" for name, is_index in found if is_index))
    return [name for name, is_index in found if not is_index and not name.startswith(of_others)]


def any_text(value: bytes) -> str:
    """Text of a database as str; bytes that are no UTF-8 become lone surrogates and encode back unchanged."""
    return value.decode("utf-8", "surrogateescape")


def as_text(value: Any) -> str:
    """Any value of a column that should hold text, as text; NULL is empty."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return any_text(value) if isinstance(value, bytes) else str(value)


def _newly_opened(name: str | Path, flags: int, folder: int | None) -> _RawDescriptor:
    for identity, kept in list(_raw_descriptors.items()):
        if not kept.users and not os.fstat(kept.descriptor).st_nlink:
            os.close(_raw_descriptors.pop(identity).descriptor)
    opened = _RawDescriptor(os.open(name, flags, dir_fd=folder))
    found = os.fstat(opened.descriptor)
    # SQLite takes an empty file for a database too.
    if stat.S_ISREG(found.st_mode) and os.pread(opened.descriptor, len(DATABASE_HEADER), 0) in (DATABASE_HEADER, b""):
        opened.is_database = True
        _raw_descriptors[found.st_dev, found.st_ino] = opened
    return opened


def _opened(path: Path, mode: str) -> _Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=_Connection,
    )
    try:
        connection.text_factory = any_text
        connection.execute("PRAGMA query_only = ON")
        # Some systems' SQLite maps files into memory; when another program cuts a mapped file short, the system ends
        # this process without a word. Reading the vectors of 100,000 rows takes a fifth longer without.
        connection.execute("PRAGMA mmap_size = 0")
        # A foreign file's views and triggers must not reach functions with side effects.
        connection.execute("PRAGMA trusted_schema = OFF")
        # Opening is lazy: only the first read tells what is wrong with the file.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _needs_fall_back(path: Path, error: sqlite3.OperationalError) -> bool:
    """A WAL database in a folder where its -shm file is missing and cannot be made."""
    named = getattr(error, "sqlite_errorname", "") in _NO_SHARED_MEMORY
    return named and not os.access(path.absolute().parent, os.W_OK) and is_wal(path)


def _wants_room(path: Path, error: sqlite3.OperationalError) -> bool:
    """A WAL database whose -shm file finds no room on the disk, and whose log holds nothing that would not be seen."""
    name = getattr(error, "sqlite_errorname", "")
    if not name.startswith(_FOR_WANT_OF_ROOM) or file_size(wal_file(path)) or not is_wal(path):
        return False
    return is_full(path.absolute().parent)


def _fall_back_notice(path: Path) -> str:
    wal = wal_file(path)
    if file_size(wal):
        return f"The directory is read-only, so {wal.name} cannot be read and the newest writes do not appear."
    return "The directory is read-only. You see the database as it was when it was opened; later writes do not appear."


def _empty(path: Path) -> Unreadable:
    wal = wal_file(path)
    if file_size(wal):
        return Unreadable(
            f"{path} is empty, but {wal.name} next to it holds writes.",
            hint="Keep both files. Restore the database from a backup before any program opens it.",
        )
    return NothingYet(
        f"{path} is empty (0 bytes).",
        hint="Run `zeroclaw memory store KEY TEXT` to create the tables, or start ZeroClaw.",
        title=Unreadable.title,
    )


def explained(path: Path, name: str, error: sqlite3.Error) -> InspectorError:
    """The sentence for one of SQLite's result codes (https://sqlite.org/rescode.html)."""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Locked(f"Database is locked: {path}.", hint="Stop ZeroClaw or try again later.")
    if name == "SQLITE_NOTADB":
        return Unreadable(f"{path} is not a SQLite database.", hint=_ANOTHER_FILE)
    if name.startswith("SQLITE_CORRUPT") or name == "SQLITE_IOERR_SHORT_READ":
        return Corrupt(
            f"Database is corrupt: {path}.",
            hint="`zeroclaw memory doctor` repairs a damaged keyword index. For other damage, stop ZeroClaw, copy the "
            "file, and run `sqlite3 FILE .recover` on the copy, or restore a backup.",
        )
    if name == "SQLITE_READONLY_ROLLBACK":
        return UnfinishedWrite(
            f"A program ended in the middle of a write to {path}.",
            hint="Start ZeroClaw once, or open the file here without --read-only: both roll the write back.",
        )
    if is_for_want_of_room(path, name):
        return DiskFull(f"{path} cannot be read because the disk is full.", hint=MAKE_ROOM)
    if name.startswith("SQLITE_IOERR"):
        return Unreadable(
            f"{path} cannot be read because of a disk error.", hint="Check the disk or the network mount."
        )
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
        return Unreadable(
            f"{path} cannot be opened for reading.",
            hint="Check the permissions of the file, its directory, and the -wal and -shm files next to it.",
        )
    return Unreadable(f"SQLite cannot read {path}: {error}.", hint="Run `zeroclaw memory health` for details.")


def is_for_want_of_room(path: Path, name: str) -> bool:
    """Whether a result code means that the disk of a database is full. Blocks."""
    return name == "SQLITE_FULL" or (name.startswith(_FOR_WANT_OF_ROOM) and is_full(path.absolute().parent))


def connect_to_write(path: Path, *, zero: bool = False) -> sqlite3.Connection:
    """Open a database to write it, for any thread, one at a time. Raises Unreadable, and what sqlite3 raises.

    What is written is on the disk when it is committed. With `zero` what is freed is overwritten.
    """
    check_file(path)
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.text_factory = any_text
        # See the connections that read: a mapped file that is cut short ends the process.
        connection.execute("PRAGMA mmap_size = 0")
        connection.execute("PRAGMA synchronous = FULL")
        if zero:
            connection.execute("PRAGMA secure_delete = ON").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def take_back_unfinished_write(path: Path) -> None:
    """Let SQLite take back what a program that died left in its rollback journal. Raises InspectorError kinds."""
    with translated(path), closing(connect_to_write(path)) as connection:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def why_not_writable(path: Path) -> str | None:
    """A sentence when this user may not write the database, its folder or the files SQLite keeps beside it."""
    file = path.resolve()
    if not os.access(file.parent, os.W_OK):
        return f"You have no permission to write to the directory {file.parent}."
    beside = [wal_file(file), file.with_name(file.name + "-shm")]
    for needed in (file, *(other for other in beside if other.exists())):
        if not os.access(needed, os.W_OK):
            return f"You have no permission to write to {needed}."
    return None


def could_not_be_made(path: Path, error: OSError | sqlite3.Error) -> InspectorError:
    """The sentence for what SQLite or the system answers to the making of a database. Blocks."""
    name = getattr(error, "sqlite_errorname", None) or ""
    folder = next(folder for folder in path.parents if folder.is_dir())
    if isinstance(error, OSError) and error.errno not in FULL:
        hint = f"Check the permissions of {folder}, or run this as the user that runs ZeroClaw."
        return Refused(f"{path} could not be made: {error.strerror or error}.", hint=hint, title="Not written")
    if isinstance(error, OSError) or name == "SQLITE_FULL" or is_full(folder):
        return DiskFull(f"{path} cannot be created because the disk is full.", hint=f"No file was created. {MAKE_ROOM}")
    return Unreadable(f"{path} cannot be created: {error}.", hint="No file was created. Check the disk.")


def quoted(name: str) -> str:
    """An identifier in SQL."""
    return '"' + name.replace('"', '""') + '"'


def bound(values: Iterable[Any]) -> tuple[str, list[Any]]:
    """Placeholders, comma-separated, and what to bind, for values read from the database earlier.

    The sqlite3 module refuses text with surrogate escapes; such text goes in as its bytes and is cast back.
    """
    marks: list[str] = []
    ready: list[Any] = []
    for value in values:
        if isinstance(value, str) and not is_unicode(value):
            marks.append("CAST(? AS TEXT)")
            ready.append(value.encode("utf-8", "surrogatepass" if _has_true_surrogates(value) else "surrogateescape"))
        else:
            marks.append("?")
            ready.append(value)
    return ", ".join(marks), ready


def assignments(values: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """What stands behind SET in an UPDATE, and what to bind, for values as `bound` takes them."""
    marks, ready = zip(*(bound([value]) for value in values.values()), strict=True)
    settings = ", ".join(f"{quoted(name)} = {mark}" for name, mark in zip(values, marks, strict=True))
    return settings, [one for some in ready for one in some]


def _has_true_surrogates(text: str) -> bool:
    return any("\ud800" <= character < "\udc80" or "\udcff" < character <= "\udfff" for character in text)
