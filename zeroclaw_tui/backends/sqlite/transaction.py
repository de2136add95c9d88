"""Short transactions on a connection of their own, and what SQLite's errors mean when something was to be written."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from zeroclaw_tui.backends.cancellation import to_its_end
from zeroclaw_tui.backends.sqlite.schema import TRIGGERS, Schema
from zeroclaw_tui.backends.sqlite.table import RawTable, aliases_of
from zeroclaw_tui.config.locations import file_size
from zeroclaw_tui.config.whole_file import MAKE_ROOM
from zeroclaw_tui.files import database as connections
from zeroclaw_tui.files.database import (
    connect_to_write,
    explained,
    is_for_want_of_room,
    wal_file,
)
from zeroclaw_tui.files.whole_database import holders
from zeroclaw_tui.memory.change import MEMORIES, Keep, RowChange, TriggersMissing
from zeroclaw_tui.memory.errors import DiskFull, InspectorError, Locked, Refused, SearchInterrupted, Unreadable

Answer = TypeVar("Answer")
_Row = tuple[str, str]
"""A table and an id."""

HELD_SECONDS = 0.04
"""How long a batch may hold the write lock."""
PAUSE_SECONDS = 0.015
"""How long the lock is free between two batches: a program that waits for it asks at least ten times a second."""
_FIRST_ROWS = 60
_MOST_ROWS = 1000
_LOOK_SECONDS = 1.0
"""How old the knowledge of who else has the database open may be."""
_INDEX = "memories_fts"
_UNCONFIRMED = "Whether the last of it was done could not be confirmed: look with `zeroclaw memory list`."


class SchemaMoved(Exception):
    """The columns are no longer those that were read on opening: ZeroClaw has migrated the file."""


class IndexOutOfStep(TriggersMissing):
    """The keyword index contradicts the memories, so that SQLite takes no change of them; `repair` builds it anew."""

    def __init__(self) -> None:
        super().__init__(())
        self.message = "The keyword index does not match the memories, so SQLite changes none of them."
        self.hint = "Building the index anew repairs that."


class Pace:
    """How many rows a batch takes, so that it holds the lock for about HELD_SECONDS."""

    def __init__(self) -> None:
        self.rows = _FIRST_ROWS

    def took(self, rows: int, seconds: float) -> None:
        """Learn from a batch."""
        fitting = rows * HELD_SECONDS / max(seconds, 1e-4)
        self.rows = max(1, min(_MOST_ROWS, self.rows * 2, int(fitting)))


@dataclass(slots=True)
class Transaction:
    """An open transaction that holds the write lock. `aliases` are those of the agents by id, as they are in it."""

    connection: sqlite3.Connection
    schema: Schema
    memories: RawTable
    aliases: dict[str, str]
    began: float

    def table(self, name: str) -> RawTable:
        """Any of the tables that keep rows."""
        return self.memories if name == MEMORIES else RawTable(self.connection, name, self.aliases)

    @property
    def seconds(self) -> float:
        """How long it has held the lock."""
        return time.perf_counter() - self.began


class Writing:
    """One change, on a connection and a thread of its own."""

    def __init__(self, path: Path, schema: Schema, *, zero: bool = False) -> None:
        self.path = path
        self.schema = schema
        self.done = 0
        """How many rows are changed for good."""
        self.zero = zero
        self._connection: sqlite3.Connection | None = None
        self._stop = threading.Event()
        self._given_up = False
        self._released = 0.0
        self._look_again = 0.0
        self._alone = False
        self._not_ours: BaseException | None = None
        self._batch: Sequence[RowChange] = ()
        self._is_unsure = False

    @property
    def connection(self) -> sqlite3.Connection:
        """Open while the work runs."""
        if self._connection is None:
            raise RuntimeError("only the work uses the connection")
        return self._connection

    @property
    def is_stopped(self) -> bool:
        """Whether no further batch should begin."""
        return self._stop.is_set()

    async def run(self, work: Callable[[Writing], Answer]) -> Answer:
        """What `work` answers. Raises InspectorError kinds, and SchemaMoved.

        Cancelling the await stops the work before its next batch, or before it keeps anything, and waits until what
        is under way is committed or rolled back.
        """
        return await to_its_end(asyncio.get_running_loop().run_in_executor(None, self._run, work), self._give_up)

    def _give_up(self) -> None:
        self._given_up = True
        self.stop()

    def stop(self) -> None:
        """Begin no further batch; from any thread."""
        self._stop.set()

    def rest(self, held: float) -> None:
        """Let others write, for as long as is fair after the lock was held so many seconds, if there are any.

        What went by since it was let go counts.
        """
        if self._is_alone():
            return
        fair = PAUSE_SECONDS * min(1.0, held / HELD_SECONDS)
        self._stop.wait(max(0.0, self._released + fair - time.perf_counter()))

    def _is_alone(self) -> bool:
        """Whether no other program can be waiting, as it was less than a second ago.

        Programs of another user show only to root: such a one may write where the permissions of the file let it.
        """
        if time.monotonic() >= self._look_again:
            self._look_again = time.monotonic() + _LOOK_SECONDS
            self._alone = holders(self.path) == () and _is_own(self.path)
        return self._alone

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Hold the write lock; commit at the end, or roll everything back.

        Raises SchemaMoved before anything can be written. A commit that fails is looked after: where its changes are
        there all the same, and durable, it counts as done.
        """
        connection = self.connection
        self._batch = ()
        connection.execute("BEGIN IMMEDIATE")
        try:
            transaction = self.look()
            yield transaction
            try:
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                if connection.in_transaction or self._became(error) != "done":
                    raise
            self._released = time.perf_counter()
        except BaseException:
            # Closing the connection rolls back as well, whatever this meets.
            with suppress(sqlite3.Error):
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            raise

    def look(self) -> Transaction:
        """The tables as they are now; outside of `transaction` only to be read. Raises SchemaMoved."""
        began = time.perf_counter()
        aliases = aliases_of(self.connection)
        memories = RawTable(self.connection, MEMORIES, aliases)
        if memories.lower_columns != self.schema.columns:
            raise SchemaMoved
        return Transaction(self.connection, self.schema, memories, aliases, began)

    def zeroed(self) -> bool:
        """Have what was overwritten leave the write-ahead log too; False where another program still reads from it, or
        the disk does not take it."""
        return _folded(self.connection)

    def _became(self, error: sqlite3.Error) -> Literal["done", "not done", "unknown"]:
        """What is there after a commit that failed.

        SQLite rolls back what it knows of, but a frame that commits may be in the log already (an fsync failed, or the
        shared memory could not grow), and whoever opens the database next would take it for done. Folding in the log
        ends that: what this connection does not know of is cut off with it.
        """
        self._is_unsure = True
        # It says so of a write that is not whole, and the frame that commits is the last one.
        is_certain = getattr(error, "sqlite_errorname", "") == "SQLITE_FULL"
        is_certain = _folded(self.connection) or is_certain
        before, after = _ends(self._batch)
        try:
            now = self._states_of(before)
        except (sqlite3.Error, SchemaMoved):
            return "unknown"
        if not is_certain or before == after or now not in (before, after):
            return "unknown"
        self._is_unsure = False
        return "done" if now == after else "not done"

    def _states_of(self, rows: Iterable[_Row]) -> dict[_Row, str | None]:
        transaction = self.look()
        found = {row: transaction.table(row[0]).with_id(row[1]) for row in rows}
        return {row: None if held is None else held.fingerprint for row, held in found.items()}

    def keep(self, keep: Keep, changes: Sequence[RowChange]) -> None:
        """Have changes kept. What that raises is no error of this database's."""
        if self._given_up:
            raise SearchInterrupted
        if not changes:
            return
        self._batch = changes
        try:
            keep(changes)
        except BaseException as error:
            self._not_ours = error
            raise

    def _run(self, work: Callable[[Writing], Answer]) -> Answer:
        try:
            with closing(_connected(self.path, zero=self.zero)) as self._connection:
                return work(self)
        except (sqlite3.Error, OverflowError) as error:
            if error is self._not_ours:
                raise
            raise self._explained(error) from error
        finally:
            self._connection = None

    def _explained(self, error: sqlite3.Error | OverflowError) -> InspectorError:
        """The sentence for an error, and what the store shows of what was done."""
        told = not_written(self.path, error)
        before = f"{self.done:,} rows were done before." if self.done else ""
        told.is_unsure = self._is_unsure
        told.so_far = f"{before} {_UNCONFIRMED}".strip() if self._is_unsure else before or "Nothing was changed."
        told.hint = f"{told.so_far} {told.hint}"
        return told


def _ends(changes: Sequence[RowChange]) -> tuple[dict[_Row, str | None], dict[_Row, str | None]]:
    """The fingerprints of all rows of a batch before and after it, None where there is no row."""
    before: dict[_Row, str | None] = {}
    after: dict[_Row, str | None] = {}
    for change in changes:
        if change.before is not None:
            row = change.before.table, change.before.id
            before.setdefault(row, change.before.fingerprint)
            after[row] = None
        if change.after is not None:
            row = change.after.table, change.after.id
            before.setdefault(row, None)
            after[row] = change.after.fingerprint
    return before, after


def _is_own(path: Path) -> bool:
    """Whether nobody but this user, and root, may write a file."""
    facts = path.stat()
    return facts.st_uid == os.getuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def fold_in(path: Path) -> None:
    """Fold the write-ahead log into its database where nobody is in the way; what fails is left as it is.

    Nothing is waited for. Blocks.
    """
    with suppress(sqlite3.Error, InspectorError):
        if file_size(wal_file(path)):
            with closing(_connected(path, zero=False)) as connection:
                _folded(connection)


def _folded(connection: sqlite3.Connection) -> bool:
    """Write the log back, and cut it to nothing; False where somebody is in the way or the disk does not take it.

    True for a database that has no such log.
    """
    try:
        connection.execute("PRAGMA busy_timeout = 0").fetchall()
        ((is_busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.Error:
        return False
    finally:
        connection.execute(f"PRAGMA busy_timeout = {connections.BUSY_SECONDS * 1000:.0f}").fetchall()
    return not is_busy


def check_index(connection: sqlite3.Connection) -> None:
    """Raises TriggersMissing when the keyword index or one of its triggers is not there."""
    missing = missing_of_index(connection)
    if missing:
        raise TriggersMissing(missing)


def missing_of_index(connection: sqlite3.Connection) -> list[str]:
    """The names of what the keyword index lacks: its table, its triggers."""
    wanted = (_INDEX, *TRIGGERS)
    marks = ", ".join("?" * len(wanted))
    statement = f"SELECT lower(name) FROM sqlite_master WHERE type IN ('table', 'trigger') AND lower(name) IN ({marks})"
    found = {name for (name,) in connection.execute(statement, wanted)}
    return [name for name in wanted if name not in found]


def _connected(path: Path, *, zero: bool) -> sqlite3.Connection:
    connection = connect_to_write(path, zero=zero)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def not_written(path: Path, error: Exception) -> InspectorError:
    """The sentence for one of SQLite's result codes (https://sqlite.org/rescode.html)."""
    name = getattr(error, "sqlite_errorname", None)
    if (isinstance(error, (OverflowError, sqlite3.DataError)) and name is None) or name == "SQLITE_TOOBIG":
        return Refused("A memory is longer than SQLite takes.", hint="Store it in parts.")
    if name is None or not isinstance(error, sqlite3.Error):
        raise error
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Locked(
            f"{path} is locked by another program, so it could not be written.",
            hint="Try again when that program has finished, or stop ZeroClaw.",
        )
    if is_for_want_of_room(path, name):
        return DiskFull(f"{path} could not be written: the disk is full.", hint=MAKE_ROOM)
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return Refused(
            f"{path} may not be written by this user.",
            hint="Check the permissions of the file, of its folder and of the -wal and -shm files beside it.",
            title="Read-only",
        )
    if name == "SQLITE_CORRUPT_VTAB":
        return IndexOutOfStep()
    if name.startswith("SQLITE_CONSTRAINT"):
        return Refused(f"The database does not take this: {error}.", hint="A rule of its tables forbids it.")
    if name.startswith("SQLITE_IOERR") and name != "SQLITE_IOERR_SHORT_READ":
        return Unreadable(f"{path} could not be written to its disk.", hint="Check the disk or the network mount.")
    return explained(path, name, error)
