"""A database as a whole: which other programs have it open, having it for oneself, and a copy of all of it."""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from zeroclaw_tui.files.database import (
    FileIdentity,
    check_file,
    connect_read_only_blocking,
    connect_to_write,
    file_identity,
    is_for_want_of_room,
    translated,
    wal_file,
)
from zeroclaw_tui.files.disk import FULL, MAKE_ROOM, file_size, is_unfinished, new_file
from zeroclaw_tui.memory.errors import DiskFull, Locked, Unreadable
from zeroclaw_tui.memory.text import one_line

Check = Callable[..., object]

_PROCESSES = Path("/proc")
_STOP = "Stop it (ZeroClaw as a service: `zeroclaw service stop`), then do it again."
_PAGES_AT_ONCE = 4096
_SPARE_BYTES = 8 * 1024 * 1024
_SIDES = ("-journal", "-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has a database open; `name` is the program's own."""

    process: int
    name: str


def holders(path: Path) -> tuple[Holder, ...] | None:
    """The other processes that have the database or its log open; None where the system does not tell.

    Linux tells it in /proc, and of other users' processes only to root.
    """
    if not (_PROCESSES / "self" / "fd").is_dir():
        return None
    wanted = {identity for file in (path, wal_file(path)) if (identity := file_identity(file)) is not None}
    own = os.getpid()
    found = [int(name) for name in os.listdir(_PROCESSES) if name.isdecimal() and int(name) != own]
    return tuple(Holder(process, _name(process)) for process in sorted(found) if wanted & _open_files(process))


@contextmanager
def alone(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that nobody else can get beside, whatever system it is, until it is closed.

    This process must have no other connection. Raises Locked when another one is there, naming it where that can be
    told.
    """
    check_file(path)
    refuse_holders(path, holders(path) or ())
    with closing(connect_to_write(path)) as connection:
        try:
            # In this mode the lock is taken with the first access and kept; in a write-ahead log it needs that no
            # other connection exists, even an idle one.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if not getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise
            refuse_holders(path, holders(path) or ())
            raise Locked(f"Another program has {path} open.", hint=_STOP) from error
        yield connection


def check_alone(path: Path) -> None:
    """Raise Locked when another program has the database open; what `alone` raises for the file."""
    with translated(path), alone(path):
        pass


def refuse_holders(path: Path, found: tuple[Holder, ...]) -> None:
    """Raise Locked where there are any."""
    if found:
        raise Locked(f"{path} is open in {named(found)}.", hint=_STOP)


def named(found: tuple[Holder, ...]) -> str:
    """ "zeroclaw (process 812)", and so on."""
    return ", ".join(f"{one_line(holder.name)} (process {holder.process})" for holder in found)


def _open_files(process: int) -> set[FileIdentity]:
    folder = f"{_PROCESSES}/{process}/fd/"
    found: set[FileIdentity] = set()
    # A process may end while it is looked at, and those of other users may not be looked at.
    with suppress(OSError):
        for name in os.listdir(folder):
            try:
                status = os.stat(folder + name)
            except OSError:
                continue
            found.add((status.st_dev, status.st_ino))
    return found


def _name(process: int) -> str:
    try:
        return (_PROCESSES / str(process) / "comm").read_text(errors="replace").strip()
    except OSError:
        return "a program"


def copy_database(path: Path, target: Path, check: Check) -> None:
    """Write the database as it is now, its write-ahead log included, to a new file that only its owner may read.

    The source stays free for readers and writers. `check` is called now and then, and ends the copy by raising; nothing
    is left of one that fails or is ended. Raises FileExistsError, Unreadable where there is no room, and the other
    InspectorError kinds.
    """
    check_room(_place(target), file_size(path) + file_size(wal_file(path)))
    try:
        os.close(new_file(target))
    except FileExistsError:
        raise
    except OSError as error:
        raise _not_copied(path, target, error) from error
    try:
        _copy(path, target, check)
    except (OSError, sqlite3.Error) as error:
        remove_database(target)
        raise _not_copied(path, target, error) from error
    except BaseException:
        remove_database(target)
        raise


def check_room(folder: Path, needed: int) -> None:
    """Raise Unreadable when a folder's disk has not so many bytes free, and some to spare."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise Unreadable(f"{folder} cannot be looked at: {error.strerror}.", hint="Check its permissions.") from error
    if free < needed + _SPARE_BYTES:
        raise DiskFull(
            f"There is no room in {folder}: {needed:,} bytes are needed and {free:,} are free.", hint=MAKE_ROOM
        )


def remove_database(path: Path) -> None:
    """Remove a database nobody uses, with what SQLite keeps beside it."""
    for name in (path.name, *(path.name + side for side in _SIDES)):
        with suppress(FileNotFoundError):
            path.with_name(name).unlink()


def _copy(path: Path, target: Path, check: Check) -> None:
    with closing(connect_read_only_blocking(path)) as source, closing(_written_to(target)) as copy:
        with translated(path):
            # The copy is of this moment: without an open read every write of another program would begin it anew.
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        source.backup(copy, pages=_PAGES_AT_ONCE, progress=check)
        size = math.prod(source.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    put_on_disk(target, size)
    check()


def _written_to(target: Path) -> sqlite3.Connection:
    return sqlite3.connect(target, isolation_level=None, check_same_thread=False)


def _place(target: Path) -> Path:
    """The folder that a person knows: what is not whole yet lies in one of ours beside where it goes."""
    return target.parent.parent if is_unfinished(target.parent.name) else target.parent


def _not_copied(path: Path, target: Path, error: sqlite3.Error | OSError) -> Unreadable:
    if isinstance(error, OSError):
        is_full, why = error.errno in FULL, error.strerror or str(error)
    else:
        is_full, why = is_for_want_of_room(target, getattr(error, "sqlite_errorname", "")), str(error)
    if is_full:
        return DiskFull(f"{path} could not be copied to {_place(target)}: the disk is full.", hint=MAKE_ROOM)
    return Unreadable(f"{path} could not be copied to {_place(target)}: {why}.", hint="Check the disk.")


def put_on_disk(path: Path, size: int) -> None:
    """Check that a database nobody has open has so many bytes, and wait for the disk. Raises sqlite3.Error, OSError.

    What was written may not have arrived, and SQLite reads it back from the system's memory.
    """
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size != size:
            raise sqlite3.DatabaseError("the file is not as long as it should be")
        os.fsync(file.fileno())


def free_bytes(connection: sqlite3.Connection) -> int:
    """The bytes of a database's pages that hold nothing."""
    return math.prod(
        int(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("freelist_count", "page_size")
    )
