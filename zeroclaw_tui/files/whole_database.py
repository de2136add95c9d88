"""Whole databases: which programs have one open, exclusive access, and copies."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from zeroclaw_tui.files.database import (
    check_file,
    connect_read_only_blocking,
    connect_to_write,
    file_identity,
    translate_sqlite_errors,
    wal_file,
)
from zeroclaw_tui.files.disk import MAKE_ROOM, file_size, new_file
from zeroclaw_tui.memory.errors import DiskFull, Locked, Unreadable
from zeroclaw_tui.memory.text import one_line

PROCESSES = Path("/proc")
"""Where Linux lists processes and their open files; other systems have no such folder."""
_STOP = "Stop it (ZeroClaw as a service: `zeroclaw service stop`), then do it again."
_PAGES_AT_ONCE = 4096
_SPARE_BYTES = 8 * 1024 * 1024


def processes_using(path: Path) -> tuple[str, ...] | None:
    """List the other processes that have a database or its log open, each as "zeroclaw (process 812)".

    None if the system does not say. Linux lists open files in /proc, those of other users' processes only for root.
    """
    if not (PROCESSES / "self" / "fd").is_dir():
        return None
    wanted = {identity for file in (path, wal_file(path)) if (identity := file_identity(file)) is not None}
    found: list[str] = []
    for process in sorted(int(name) for name in os.listdir(PROCESSES) if name.isdecimal()):
        # A process may end in the meantime, and other users' processes are closed to us.
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
            # In this mode the first access takes the lock for good; with a write-ahead log, SQLite only gives it if
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

    `check` is called now and then, and ends the copy by raising; the caller then removes what was written. Raises
    InspectorError kinds, OSError, sqlite3.Error.
    """
    os.close(new_file(target))
    with (
        closing(connect_read_only_blocking(path)) as source,
        closing(sqlite3.connect(target, isolation_level=None, check_same_thread=False)) as copy,
    ):
        back_up(path, source, copy, check)
    check()


def back_up(path: Path, source: sqlite3.Connection, copy: sqlite3.Connection, check: Callable[..., object]) -> None:
    """Copy the open database of a path while other programs use it; `check` is called now and then."""
    with translate_sqlite_errors(path):
        # Without an open read, every write of another program would restart the copy.
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
    source.backup(copy, pages=_PAGES_AT_ONCE, progress=check)
    source.execute("ROLLBACK")


def check_room(path: Path, *, copies: int, folder: Path) -> None:
    """Raise DiskFull if a folder's disk has no room for so many copies of a database and its log, and a reserve."""
    needed = copies * (file_size(path) + file_size(wal_file(path)))
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise Unreadable(f"{folder} cannot be looked at: {error.strerror}.", hint="Check its permissions.") from error
    if free < needed + _SPARE_BYTES:
        message = f"There is no room in {folder}: {needed:,} bytes are needed and {free:,} are free."
        raise DiskFull(message, hint=MAKE_ROOM)


def remove_database(path: Path) -> None:
    """Delete a database that nobody uses, with SQLite's files next to it."""
    for suffix in ("", "-journal", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def free_bytes(connection: sqlite3.Connection) -> int:
    """Count the bytes of a database's unused pages."""
    ((pages,),) = connection.execute("PRAGMA freelist_count")
    ((size,),) = connection.execute("PRAGMA page_size")
    return int(pages) * int(size)
