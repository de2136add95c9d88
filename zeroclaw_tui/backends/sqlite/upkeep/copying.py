"""A whole copy of a database that others may be using, made with SQLite's backup API."""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from zeroclaw_tui.backends.sqlite.connection import (
    connect_read_only_blocking,
    is_for_want_of_room,
    translated,
    wal_file,
)
from zeroclaw_tui.backends.sqlite.ddl import put_on_disk
from zeroclaw_tui.backends.sqlite.upkeep.stoppable import Stoppable
from zeroclaw_tui.config.document.replacing import FULL, MAKE_ROOM, new_file
from zeroclaw_tui.config.layouts import file_size
from zeroclaw_tui.memory.errors import DiskFull, Unreadable

_PAGES_AT_ONCE = 4096
_SPARE_BYTES = 8 * 1024 * 1024
_SIDES = ("-journal", "-wal", "-shm")


def copy_database(path: Path, target: Path, stoppable: Stoppable) -> None:
    """Write the database as it is now, its write-ahead log included, to a new file that only its owner may read.

    The source stays free for readers and writers. Nothing is left of a copy that fails or is stopped. Raises
    FileExistsError, Unreadable where there is no room, and the other InspectorError kinds.
    """
    check_room(target.parent, file_size(path) + file_size(wal_file(path)))
    try:
        os.close(new_file(target))
    except FileExistsError:
        raise
    except OSError as error:
        raise _not_copied(path, target, error) from error
    try:
        _copy(path, target, stoppable)
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


def _copy(path: Path, target: Path, stoppable: Stoppable) -> None:
    with closing(connect_read_only_blocking(path)) as source, closing(_written_to(target)) as copy:
        with translated(path):
            # The copy is of this moment: without an open read every write of another program would begin it anew.
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        source.backup(copy, pages=_PAGES_AT_ONCE, progress=stoppable.check)
        size = math.prod(source.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    put_on_disk(target, size)
    stoppable.check()


def _written_to(target: Path) -> sqlite3.Connection:
    return sqlite3.connect(target, isolation_level=None, check_same_thread=False)


def _not_copied(path: Path, target: Path, error: sqlite3.Error | OSError) -> Unreadable:
    if isinstance(error, OSError):
        is_full, why = error.errno in FULL, error.strerror or str(error)
    else:
        is_full, why = is_for_want_of_room(target, getattr(error, "sqlite_errorname", "")), str(error)
    if is_full:
        return DiskFull(f"{path} could not be copied to {target}: the disk is full.", hint=MAKE_ROOM)
    return Unreadable(f"{path} could not be copied to {target}: {why}.", hint="Check the disk.")
