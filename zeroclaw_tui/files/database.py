"""SQLite databases of any program: opening, copying, explaining errors, and finding processes that use them."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from zeroclaw_tui.files.disk import FULL, MAKE_ROOM, file_size, new_file, status_of
from zeroclaw_tui.memory.entry import as_text
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
from zeroclaw_tui.memory.text import is_unicode, one_line

FileIdentity = tuple[int, int]
"""Device and inode: a file that replaces another one at the same path has a different identity."""

BUSY_SECONDS = 5.0
"""The timeout of a read or write that waits for another program's lock."""

DATABASE_HEADER = b"SQLite format 3\0"
"""The start of every database that is not empty (SQLite's file format, section 1.3)."""

CHUNK_SIZE = 16_000_000
_ANOTHER_FILE = "Give the path of a brain.db, a workspace or a ZeroClaw config directory."
PROCESSES = Path("/proc")
"""Where Linux lists processes and their open files; other systems have no such folder."""
_STOP = "Stop it (ZeroClaw as a service: `zeroclaw service stop`), then try again."
_PAGES_PER_STEP = 4096
_PROBE_BYTES = 64 * 1024  # More than the smallest file that SQLite needs next to a database, which has 32 KiB.
_SPARE_BYTES = 8 * 1024 * 1024

_raw_databases: dict[FileIdentity, int] = {}
"""The open file descriptors of databases."""
_raw_readers = Counter[int]()
"""The number of readers of each descriptor."""
_raw_guard = threading.Lock()


class UnfinishedWrite(Unreadable):
    """A program ended in the middle of a write and left its rollback journal."""


class ReadOnlyConnection(sqlite3.Connection):
    """A connection with a notice about how it was opened."""

    notice: str | None = None
    """Why the database is read as it was when it was opened; None if it is read as usual."""


def connect_read_only_blocking(path: Path) -> ReadOnlyConnection:
    """Open a database read-only, for use by one thread at a time. Raises subclasses of InspectorError.

    Text that is not valid UTF-8 is returned with surrogate escapes, so reading text never fails. In a read-only
    directory SQLite cannot create its -shm file; then the current state of the file is read, and the connection's
    `notice` says so.
    """
    check_file(path)
    with translate_sqlite_errors(path):
        try:
            return _opened(path, "mode=ro")
        except sqlite3.OperationalError as error:
            is_refused = getattr(error, "sqlite_errorname", "").startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN"))
            is_unfinished = os.path.exists(f"{path}-journal")
            if not is_refused or is_unfinished or os.access(path.absolute().parent, os.W_OK):
                raise
        connection, log = _opened(path, "mode=ro&immutable=1"), wal_file(path)
        connection.notice = (
            f"The directory is read-only, so {log.name} cannot be read and the newest writes do not appear."
            if file_size(log)
            else "The directory is read-only. You see the database as it was when it was opened; later writes do not "
            "appear."
        )
        return connection


@contextmanager
def translate_sqlite_errors(path: Path) -> Iterator[None]:
    """Translate sqlite3's errors to subclasses of InspectorError with hints.

    An interrupted statement raises SearchInterrupted. Programming errors remain sqlite3 errors.
    """
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", None)
        if name is None:
            raise
        # An interrupt while SQLite compiles or reads the schema has another name.
        if name == "SQLITE_INTERRUPT" or str(error) == "interrupted":
            raise SearchInterrupted from error
        raise explain_sqlite_error(path, name, error) from error
    except UnicodeDecodeError as error:
        # Only names of tables and columns, and SQLite's messages about them, have to be UTF-8.
        raise explain_sqlite_error(path, "SQLITE_CORRUPT", sqlite3.DatabaseError(str(error))) from error


def check_file(path: Path) -> None:
    """Raise Unreadable if a file is not a database, NothingYet if ZeroClaw would create it, without opening it.

    An empty file is refused because SQLite would delete its -wal file.
    """
    found = status_of(path)
    if found is None:
        kind = Unreadable if file_size(wal_file(path)) else NothingYet
        raise kind(f"There is no file {path}.", hint=_ANOTHER_FILE, title=Unreadable.title)
    if not stat.S_ISREG(found.st_mode):
        problem = "is a directory, not a database" if stat.S_ISDIR(found.st_mode) else "is not a regular file"
        raise Unreadable(f"{path} {problem}.", hint=_ANOTHER_FILE)
    if not os.access(path, os.R_OK):
        raise Unreadable(f"You have no permission to read {path}.", hint="Run this as the user that runs ZeroClaw.")
    if found.st_size == 0 and file_size(wal_file(path)):
        raise Unreadable(
            f"{path} is empty, but {wal_file(path).name} next to it holds writes.",
            hint="Keep both files. Restore the database from a backup before any program opens it.",
        )
    if found.st_size == 0:
        hint = "Run `zeroclaw memory store KEY TEXT` to create the tables, or start ZeroClaw."
        raise NothingYet(f"{path} is empty (0 bytes).", hint=hint, title=Unreadable.title)


def file_identity(path: Path) -> FileIdentity | None:
    """Identify the file at a path; None if it is missing or inaccessible."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def wal_file(path: Path) -> Path:
    """Return the path of a database's write-ahead log."""
    return path.with_name(path.name + "-wal")


@contextmanager
def raw_descriptor(name: str | Path, flags: int = os.O_RDONLY | os.O_CLOEXEC) -> Iterator[int]:
    """Open a file to read its bytes, and yield the descriptor at offset 0. Raises OSError.

    The descriptor of a database stays open until the database is deleted: when a process closes any descriptor of a
    file, POSIX drops all its locks on that file, including those of SQLite's connections, and another program may then
    delete the write-ahead log they use (https://sqlite.org/howtocorrupt.html, section 2.2). Readers of one database
    share the offset, which `os.pread` does not use.
    """
    with _raw_guard:
        for identity, known in list(_raw_databases.items()):
            if not _raw_readers[known] and not os.fstat(known).st_nlink:
                os.close(_raw_databases.pop(identity))
        found = os.stat(name, follow_symlinks=not flags & os.O_NOFOLLOW)
        shared = _raw_databases.get((found.st_dev, found.st_ino))
        descriptor = os.open(name, flags) if shared is None else shared
        found = os.fstat(descriptor)
        # SQLite accepts an empty file as a database too.
        is_database = shared is not None or (
            stat.S_ISREG(found.st_mode) and os.pread(descriptor, len(DATABASE_HEADER), 0) in (DATABASE_HEADER, b"")
        )
        if is_database:
            _raw_databases[found.st_dev, found.st_ino] = descriptor
        _raw_readers[descriptor] += 1
    try:
        if is_database:
            os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        with _raw_guard:
            _raw_readers[descriptor] -= 1
            if not is_database:
                os.close(descriptor)


def raw_bytes(path: Path, size: int) -> bytes:
    """Read the first bytes of a file. Raises OSError."""
    with raw_descriptor(path) as descriptor:
        return os.pread(descriptor, size, 0)


def is_database(path: Path) -> bool:
    """Whether a file starts like a SQLite database. Raises OSError."""
    return raw_bytes(path, len(DATABASE_HEADER)) == DATABASE_HEADER


def iter_raw_chunks(path: Path) -> Iterator[bytes]:
    """Read a file in chunks of some megabytes. Raises OSError."""
    with raw_descriptor(path) as descriptor:
        offset = 0
        while piece := os.pread(descriptor, CHUNK_SIZE, offset):
            offset += len(piece)
            yield piece


@contextmanager
def open_immutable(path: Path) -> Iterator[tuple[sqlite3.Connection, str]]:
    """Open a database without creating files next to it; also yield a sentence on what was not read.

    Without creating files, a log can only be read if its -shm file exists. Raises subclasses of InspectorError.
    """
    check_file(path)
    has_log = file_size(wal_file(path)) > 0
    reads_log = has_log and path.with_name(f"{path.name}-shm").exists()
    with (
        translate_sqlite_errors(path),
        closing(connect_read_only_blocking(path) if reads_log else _opened(path, "mode=ro&immutable=1")) as connection,
    ):
        is_partial = has_log and not reads_log
        yield connection, f" What is only in {wal_file(path).name} was not read." if is_partial else ""


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit the block, or roll it back on an exception."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def columns_of(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    """List the columns of a table; none for a missing table."""
    described = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return tuple(as_text(name) for (name,) in described)


def tables_of_rows(connection: sqlite3.Connection) -> list[str]:
    """List the tables with their own rows: no views, no keyword indexes, no internal tables of SQLite."""
    found = [
        (as_text(name), as_text(sql).upper().startswith("CREATE VIRTUAL"))
        for name, sql in connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    ]
    not_own = ("sqlite_", *(f"{name}_" for name, is_index in found if is_index))
    return [name for name, is_index in found if not is_index and not name.startswith(not_own)]


def has_tables(path: Path, *names: str) -> bool:
    """Whether a file is a database with tables of these names; False if it cannot be read. Blocks."""
    try:
        with closing(connect_read_only_blocking(path)) as connection, translate_sqlite_errors(path):
            return set(names) <= set(tables_of_rows(connection))
    except InspectorError:
        return False


def _opened(path: Path, mode: str) -> ReadOnlyConnection:
    # Views and triggers of an untrusted database must not call functions with side effects. SQLite opens lazily:
    # only the first read detects a broken file.
    first_read = "SELECT count(*) FROM sqlite_master"
    return _connect(path, mode, "PRAGMA query_only = ON", "PRAGMA trusted_schema = OFF", first_read)


def _connect(path: Path, mode: str, *statements: str) -> ReadOnlyConnection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=ReadOnlyConnection,
    )
    # Invalid UTF-8 becomes lone surrogates, which encode back unchanged.
    connection.text_factory = as_text
    try:
        # If another program truncated a file that SQLite has mapped into memory, the system would kill this process.
        for statement in ("PRAGMA mmap_size = 0", *statements):
            connection.execute(statement).fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def explain_sqlite_error(path: Path, name: str, error: sqlite3.Error) -> InspectorError:
    """Explain one of SQLite's result codes (https://sqlite.org/rescode.html)."""
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
    if is_disk_full(path.absolute().parent, error):
        return DiskFull(f"{path} cannot be read because the disk is full.", hint=MAKE_ROOM)
    return Unreadable(
        f"SQLite cannot read {path}: {error}.",
        hint="Check the disk, and the permissions of the file, its directory, and the -wal and -shm files next to it.",
    )


def is_disk_full(folder: Path, error: OSError | sqlite3.Error) -> bool:
    """Whether an error means that the disk of a folder is full, for which SQLite has many error codes. Blocks."""
    import tempfile

    if getattr(error, "sqlite_errorname", None) == "SQLITE_FULL":
        return True
    if isinstance(error, sqlite3.Error):
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(bytes(_PROBE_BYTES))
                file.flush()
        except OSError as failure:
            error = failure
    return isinstance(error, OSError) and error.errno in FULL


def connect_to_write(path: Path, *, zero: bool = False) -> sqlite3.Connection:
    """Open a database for writing, for use by one thread at a time. Raises Unreadable, sqlite3.Error.

    Commits are durable. With `zero`, freed space is overwritten with zeros.
    """
    check_file(path)
    zeroes = ["PRAGMA secure_delete = ON"] if zero else []
    return _connect(path, "mode=rw", "PRAGMA synchronous = FULL", *zeroes)


def roll_back_hot_journal(path: Path) -> None:
    """Let SQLite roll back an unfinished write of a killed program. Raises subclasses of InspectorError."""
    with translate_sqlite_errors(path), closing(connect_to_write(path)) as connection:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def why_not_writable(path: Path) -> str | None:
    """Explain why this user cannot write a database, its folder, or its -wal and -shm files; None if it is allowed."""
    file = path.resolve()
    if not os.access(file.parent, os.W_OK):
        return f"You have no permission to write to the directory {file.parent}."
    for needed in (file, wal_file(file), file.with_name(f"{file.name}-shm")):
        if needed.exists() and not os.access(needed, os.W_OK):
            return f"You have no permission to write to {needed}."
    return None


def creation_error(path: Path, error: OSError | sqlite3.Error) -> InspectorError:
    """Explain why a database could not be created. Blocks."""
    folder = next(folder for folder in path.parents if folder.is_dir())
    if is_disk_full(folder, error):
        return DiskFull(f"{path} cannot be created because the disk is full.", hint=f"No file was created. {MAKE_ROOM}")
    why = error.strerror if isinstance(error, OSError) else None
    hint = f"No file was created. Check the disk, the permissions of {folder}, and which user runs ZeroClaw."
    return Refused(f"{path} cannot be created: {why or error}.", hint=hint, title="Not written")


def quoted(name: str) -> str:
    """Quote an identifier for SQL."""
    return '"' + name.replace('"', '""') + '"'


def bind(values: Iterable[Any]) -> tuple[str, list[Any]]:
    """Return comma-separated placeholders, and the parameters, for values that were read from a database.

    The sqlite3 module rejects text with surrogate escapes; such text is bound as bytes and cast back.
    """
    ready = list(values)
    marks = ["?"] * len(ready)
    for at, value in enumerate(ready):
        if isinstance(value, str) and not value.isascii() and not is_unicode(value):
            marks[at] = "CAST(? AS TEXT)"
            try:
                ready[at] = value.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:
                # A lone surrogate from a command line or from JSON does not stand for a byte.
                ready[at] = value.encode("utf-8", "surrogatepass")
    return ", ".join(marks), ready


def assignments(values: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return the assignments of an UPDATE, and the parameters, for values as in `bind`."""
    marks, ready = zip(*(bind([value]) for value in values.values()), strict=True)
    settings = ", ".join(f"{quoted(name)} = {mark}" for name, mark in zip(values, marks, strict=True))
    return settings, [one for some in ready for one in some]


def processes_using(path: Path) -> tuple[str, ...] | None:
    """List the other processes that have a database or its log open, each as "zeroclaw (process 812)".

    None if the system cannot tell. Linux lists open files in /proc, those of other users' processes only for root.
    """
    if not (PROCESSES / "self" / "fd").is_dir():
        return None
    wanted = {identity for file in (path, wal_file(path)) if (identity := file_identity(file)) is not None}
    found: list[str] = []
    for process in sorted(int(name) for name in os.listdir(PROCESSES) if name.isdecimal()):
        # A process may end at the same time, and other users' processes are not accessible.
        with suppress(OSError):
            opened = (PROCESSES / str(process) / "fd").iterdir()
            if process != os.getpid() and any(file_identity(file) in wanted for file in opened):
                name = (PROCESSES / str(process) / "comm").read_text(errors="replace").strip()
                found.append(f"{one_line(name)} (process {process})")
    return tuple(found)


def require_unused(path: Path) -> None:
    """Raise Locked if another process is known to have a database open."""
    if found := processes_using(path):
        raise Locked(f"{path} is open in {', '.join(found)}.", hint=_STOP)


@contextmanager
def exclusive_connection(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database so that nobody else can open it until the end; this process must not have it open.

    Raises Locked if another program has it open.
    """
    check_file(path)
    require_unused(path)
    with closing(connect_to_write(path)) as connection:
        try:
            # In this mode the first access takes the lock permanently; with a write-ahead log, SQLite only grants it if
            # there is no other connection, not even an idle one.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if not getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise
            require_unused(path)
            raise Locked(f"Another program has {path} open.", hint=_STOP) from error
        yield connection


def require_exclusive(path: Path) -> None:
    """Raise Locked if another program has a database open, and the errors of opening it."""
    with translate_sqlite_errors(path), exclusive_connection(path):
        pass


def copy_database(path: Path, target: Path, check: Callable[..., object]) -> None:
    """Copy a database with its write-ahead log to a new file, 0600, while other programs use it.

    `check` is called regularly, and cancels the copy by raising; the caller then deletes the incomplete file. Raises
    subclasses of InspectorError, OSError, sqlite3.Error.
    """
    os.close(new_file(target))
    with (
        closing(connect_read_only_blocking(path)) as source,
        closing(sqlite3.connect(target, isolation_level=None, check_same_thread=False)) as copy,
    ):
        back_up(path, source, copy, check)
    check()


def back_up(path: Path, source: sqlite3.Connection, copy: sqlite3.Connection, check: Callable[..., object]) -> None:
    """Copy an open database while other programs use it; `check` is called regularly."""
    with translate_sqlite_errors(path):
        # Without a read transaction, every write of another program would restart the copy.
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
    source.backup(copy, pages=_PAGES_PER_STEP, progress=check)
    source.execute("ROLLBACK")


def check_room(path: Path, *, copies: int, folder: Path) -> None:
    """Raise DiskFull if a folder's disk has no room for `copies` of a database with its log, and a reserve."""
    needed = copies * (file_size(path) + file_size(wal_file(path)))
    import shutil  # Deferred: it imports every compression module.

    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE_BYTES:
        message = f"Not enough space in {folder}: {needed:,} bytes are needed and {free:,} are free."
        raise DiskFull(message, hint=MAKE_ROOM)


def free_bytes(connection: sqlite3.Connection) -> int:
    """Count the bytes of a database's unused pages."""
    (found,) = connection.execute("SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size")
    return int(found[0])
