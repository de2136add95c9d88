"""Having a database for oneself: whether another program has it open, and which."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from zeroclaw_tui.backends.sqlite import connection as connections
from zeroclaw_tui.backends.sqlite.connection import any_text, check_file, file_identity, translated, wal_file
from zeroclaw_tui.memory.errors import Locked
from zeroclaw_tui.memory.text import one_line

_PROCESSES = Path("/proc")
_STOP = "Stop it (ZeroClaw as a service: `zeroclaw service stop`), then do it again."


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
    with closing(_connected(path)) as connection:
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


def _open_files(process: int) -> set[connections.FileIdentity]:
    folder = _PROCESSES / str(process) / "fd"
    found: set[connections.FileIdentity] = set()
    # A process may end while it is looked at, and those of other users may not be looked at.
    with suppress(OSError):
        for name in os.listdir(folder):
            with suppress(OSError):
                status = os.stat(folder / name)
                found.add((status.st_dev, status.st_ino))
    return found


def _name(process: int) -> str:
    try:
        return (_PROCESSES / str(process) / "comm").read_text(errors="replace").strip()
    except OSError:
        return "a program"


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=connections.BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.text_factory = any_text
        connection.execute("PRAGMA mmap_size = 0")
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection
