"""Rows with every column they have, read and written back exactly, in short transactions on a connection of their own.

Here is also what SQLite's errors mean when something was to be written.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from zeroclaw_tui.backends.cancellation import wait_until_done
from zeroclaw_tui.backends.sqlite.schema import TRIGGERS, Schema
from zeroclaw_tui.files import database as connections
from zeroclaw_tui.files.database import (
    as_text,
    bound,
    connect_to_write,
    explain_sqlite_error,
    is_for_want_of_room,
    quoted,
    wal_file,
)
from zeroclaw_tui.files.disk import MAKE_ROOM, file_size
from zeroclaw_tui.files.whole_database import processes_using
from zeroclaw_tui.memory.change import (
    AGENTS,
    EMBEDDING_CACHE,
    MEMORIES,
    Row,
    TriggersMissing,
    Value,
)
from zeroclaw_tui.memory.errors import (
    UNCONFIRMED,
    DiskFull,
    InspectorError,
    Locked,
    Refused,
    SearchInterrupted,
    Unreadable,
)
from zeroclaw_tui.scoring.profiles import ALL_COLUMNS

_ID_COLUMN = {MEMORIES: "id", AGENTS: "id", EMBEDDING_CACHE: "content_hash"}
_AT_ONCE = 400
FAR, FARTHEST = 2**32, 2**62
"""How far above the highest rowid of a table a row may be put, and where at most: SQLite's last is 2**63 - 1."""
_MOST_BOUND = 30_000


class RawTable:
    """One of ZeroClaw's tables on an open connection; `connection` must give text through `any_text`.

    `columns` are their names in order, ZeroClaw's own in lower case, generated ones left out: SQLite makes those anew.
    It is empty where there is no such table. `aliases` are those of the agents by id.
    """

    def __init__(
        self, connection: sqlite3.Connection, name: str = MEMORIES, aliases: Mapping[str, str] | None = None
    ) -> None:
        self._connection = connection
        self._name = name
        self._aliases = aliases_of(connection) if aliases is None else aliases
        described = connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
        self.columns = tuple(_known(as_text(column)) for (column,) in described)
        self._selected = ", ".join(map(quoted, self.columns))

    @property
    def lower_columns(self) -> frozenset[str]:
        """The names of the columns in lower case."""
        return frozenset(name.lower() for name in self.columns)

    def where(self, condition: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """The rows a condition leaves; text among `values` must be bindable."""
        statement = f"SELECT rowid, {self._selected} FROM {quoted(self._name)} WHERE {condition}"
        with closing(self._connection.execute(statement, values)) as found:
            columns, stored_row = self.columns, self._row
            for row in found:
                stored = stored_row(row[0], dict(zip(columns, row[1:], strict=True)))
                # A row can be many megabytes: it is let go before the next one is read.
                del row
                yield stored
                del stored

    def with_id(self, id: str, handle: object = None) -> Row | None:
        """The row of an id. One whose id is no text is found by its rowid."""
        mark, value = bound([id])
        for row in self.where(f"{quoted(_ID_COLUMN[self._name])} = {mark}", value):
            return row
        if isinstance(handle, int):
            for row in self.where("rowid = ? AND typeof(id) <> 'text'", [handle]):
                return row if row.id == id else None
        return None

    def with_ids(self, ids: Sequence[str]) -> dict[str, Row]:
        """The rows of these ids that are there, by id."""
        found: dict[str, Row] = {}
        for start in range(0, len(ids), _AT_ONCE):
            marks, values = bound(ids[start : start + _AT_ONCE])
            for row in self.where(f"{quoted(_ID_COLUMN[self._name])} IN ({marks})", values):
                found[row.id] = row
        return found

    def with_key(self, key: Value, owner: Value) -> Row | None:
        """The memory of a key; of one agent's id where memories have owners."""
        mark, value = bound([key])
        condition = f"key = {mark}"
        if "agent_id" in self.columns:
            owner_mark, owner_value = bound([owner])
            condition, value = f"agent_id = {owner_mark} AND {condition}", [*owner_value, *value]
        return next(self.where(condition, value), None)

    def with_keys(self, keys: Sequence[Value]) -> dict[tuple[Value, Value], Row]:
        """The memories of these keys, by agent's id and key."""
        found: dict[tuple[Value, Value], Row] = {}
        for start in range(0, len(keys), _AT_ONCE):
            marks, values = bound(keys[start : start + _AT_ONCE])
            for row in self.where(f"key IN ({marks})", values):
                found[row.values.get("agent_id"), row.values["key"]] = row
        return found

    def takes(self, rowid: object) -> bool:
        """Whether a row may be put there: the place is free, and not far above all others.

        Once the last rowid there can be is in use, SQLite gives new rows random ones (https://sqlite.org/autoinc.html):
        then nothing tells any more which of them came last.
        """
        if not isinstance(rowid, int):
            return False
        table = quoted(self._name)
        (highest, is_taken), *_ = self._connection.execute(
            f"SELECT (SELECT max(rowid) FROM {table}), EXISTS (SELECT 1 FROM {table} WHERE rowid = ?)", (rowid,)
        )
        return not is_taken and not is_far(rowid, highest or 0)

    def insert(self, values: Mapping[str, Value], rowid: object = None) -> Row:
        """Add a row, at `rowid` where the table `takes` it, and give it as the table now holds it."""
        names = [quoted(name) for name in values]
        marks, ready = bound(values.values())
        if self.takes(rowid):
            names, marks, ready = ["rowid", *names], f"?, {marks}", [rowid, *ready]
        statement = f"INSERT INTO {quoted(self._name)} ({', '.join(names)}) VALUES ({marks})"
        return self._at(self._connection.execute(statement, ready).lastrowid)

    def insert_all(self, rows: Sequence[tuple[int, Mapping[str, Value]]]) -> list[Row] | None:
        """Add rows at free rowids, and give them as the table now holds them.

        None, and nothing done, where they are not alike: other columns, a place taken or far above all others, text
        that is no UTF-8.
        """
        places = [rowid for rowid, _ in rows]
        names = tuple(rows[0][1])
        plain, _ = bound([""] * len(names))
        ready: list[Any] = []
        # FTS5 writes out what it has gathered whenever a rowid is lower than the one before.
        for rowid, values in sorted(rows, key=lambda row: row[0]):
            marks, some = bound(values.values())
            if marks != plain or tuple(values) != names:
                return None
            ready += [rowid, *some]
        at = f"rowid IN ({', '.join(map(str, places))})"
        statement = f"SELECT 1 FROM {quoted(self._name)} WHERE {at}"
        if len(ready) > _MOST_BOUND or len(set(places)) < len(places):
            return None
        if self._connection.execute(statement).fetchone() is not None:
            return None
        (highest,) = self._connection.execute(f"SELECT max(rowid) FROM {quoted(self._name)}").fetchone()
        if is_far(max(places), highest or 0):
            return None
        named = ", ".join(map(quoted, names))
        every = ", ".join([f"(?, {plain})"] * len(rows))
        self._connection.execute(f"INSERT INTO {quoted(self._name)} (rowid, {named}) VALUES {every}", ready)
        by_place = {row.handle: row for row in self.where(at)}
        return [by_place[place] for place in places]

    def change(self, row: Row, values: Mapping[str, Value]) -> Row:
        """Give a row these values, where they differ, and return it as the table now holds it."""
        changed = {name: value for name, value in values.items() if not _same(row.values[name], value)}
        if not changed:
            return row
        sets: list[str] = []
        ready: list[Any] = []
        for name, value in changed.items():
            mark, some = bound([value])
            sets.append(f"{quoted(name)} = {mark}")
            ready += some
        statement = f"UPDATE {quoted(self._name)} SET {', '.join(sets)} WHERE rowid = ?"
        self._connection.execute(statement, [*ready, row.handle])
        return self._at(row.handle)

    def delete(self, rowids: Sequence[object]) -> None:
        """Remove the rows of these rowids."""
        for start in range(0, len(rowids), _AT_ONCE):
            some = rowids[start : start + _AT_ONCE]
            # One statement for many rows: the keyword index does the work of a whole statement for each.
            marks = ", ".join("?" * len(some))
            self._connection.execute(f"DELETE FROM {quoted(self._name)} WHERE rowid IN ({marks})", some)

    def _at(self, rowid: object) -> Row:
        return next(self.where("rowid = ?", [rowid]))

    def _row(self, rowid: int, values: dict[str, Value]) -> Row:
        owner = values.get("agent_id")
        agent = as_text(owner) if owner is not None else None
        if self._name == AGENTS:
            agent = as_text(values.get("alias"))
        elif agent is not None:
            agent = self._aliases.get(agent, agent)
        return Row(as_text(values.get(_ID_COLUMN[self._name])), values, rowid, agent, self._name)


def is_far(rowid: int, highest: int) -> bool:
    """Whether a place lies so far above the highest rowid of a table that rows put there would use up the others."""
    return rowid > min(highest + FAR, FARTHEST)


def aliases_of(connection: sqlite3.Connection) -> dict[str, str]:
    """The agents' aliases by id; empty where there is no such table."""
    described = connection.execute("SELECT lower(name) FROM pragma_table_info('agents')")
    if not {"id", "alias"} <= {name for (name,) in described}:
        return {}
    return {as_text(agent): as_text(alias) for agent, alias in connection.execute("SELECT id, alias FROM agents")}


def _known(name: str) -> str:
    return name.lower() if name.lower() in ALL_COLUMNS else name


def _same(one: Value, other: Value) -> bool:
    return type(one) is type(other) and one == other


Answer = TypeVar("Answer")
HELD_SECONDS = 0.04
"""How long a batch may hold the write lock."""
PAUSE_SECONDS = 0.015
"""How long the lock is free between two batches: a program that waits for it asks at least ten times a second."""
_FIRST_ROWS = 60
_MOST_ROWS = 1000
ROWS_ALONE = 500
"""How many rows a batch takes while no other program can be waiting: each batch costs two syncs of the disk."""
_LOOK_SECONDS = 1.0
"""How old the knowledge of who else has the database open may be."""
_INDEX = "memories_fts"


class SchemaMoved(Exception):
    """The columns are no longer those that were read on opening: ZeroClaw has migrated the file."""


class IndexOutOfStep(TriggersMissing):
    """The keyword index contradicts the memories, so that SQLite takes no change of them; `repair` builds it anew."""

    def __init__(self) -> None:
        super().__init__(())
        self.message = "The keyword index does not match the memories, so SQLite changes none of them."
        self.hint = "Run `zeroclaw memory doctor --repair all` to rebuild the index."


class Pace:
    """How many rows a batch takes, so that it holds the lock for about HELD_SECONDS."""

    def __init__(self) -> None:
        self.rows = _FIRST_ROWS

    def took(self, rows: int, seconds: float) -> None:
        """Adapt the size of batches to how long one took."""
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
        self._released = 0.0
        self._look_again = 0.0
        self._alone = False
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

        Cancelling the await stops the work before its next batch, and waits until the present one is committed or
        rolled back.
        """
        return await wait_until_done(asyncio.get_running_loop().run_in_executor(None, self._run, work), self.stop)

    def stop(self) -> None:
        """Begin no further batch; from any thread."""
        self._stop.set()

    def rest(self, held: float) -> None:
        """Let others write, for as long as is fair after the lock was held so many seconds, if there are any.

        What went by since it was let go counts.
        """
        if self.is_alone():
            return
        fair = PAUSE_SECONDS * min(1.0, held / HELD_SECONDS)
        self._stop.wait(max(0.0, self._released + fair - time.perf_counter()))

    def is_alone(self) -> bool:
        """Whether no other program can be waiting, as it was less than a second ago.

        Programs of another user show only to root: such a one may write where the permissions of the file let it.
        """
        if time.monotonic() >= self._look_again:
            self._look_again = time.monotonic() + _LOOK_SECONDS
            self._alone = processes_using(self.path) == () and _is_own(self.path)
        return self._alone

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Hold the write lock; commit at the end, or roll everything back.

        Raises SchemaMoved and SearchInterrupted before anything can be written.
        """
        connection = self.connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            if self.is_stopped:
                raise SearchInterrupted
            transaction = self.look()
            yield transaction
            try:
                connection.execute("COMMIT")
            except sqlite3.Error:
                # SQLite keeps the transaction open where nothing was written; else the log may have the whole batch,
                # which the next program that opens the database would take as committed.
                self._is_unsure = not connection.in_transaction
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

    def _run(self, work: Callable[[Writing], Answer]) -> Answer:
        try:
            with closing(_connected(self.path, zero=self.zero)) as self._connection:
                return work(self)
        except (sqlite3.Error, OverflowError) as error:
            raise self._explained(error) from error
        finally:
            self._connection = None

    def _explained(self, error: sqlite3.Error | OverflowError) -> InspectorError:
        """The sentence for an error, and what the store shows of what was done."""
        told = not_written(self.path, error)
        before = f"{self.done:,} rows were done before." if self.done else ""
        told.is_unsure = self._is_unsure
        told.so_far = f"{before} {UNCONFIRMED}".strip() if self._is_unsure else before or "Nothing was changed."
        told.hint = f"{told.so_far} {told.hint}"
        return told


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
        return Refused("A memory is too long for SQLite.", hint="Store it in parts.")
    if name is None or not isinstance(error, sqlite3.Error):
        raise error
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Locked(
            f"Database is locked: {path}.",
            hint="Stop ZeroClaw or try again later.",
        )
    if is_for_want_of_room(path, name):
        return DiskFull(f"{path} cannot be written because the disk is full.", hint=MAKE_ROOM)
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return Refused(
            f"You have no permission to write to {path}.",
            hint="Check the permissions of the file, its directory, and the -wal and -shm files next to it.",
            title="Read-only",
        )
    if name == "SQLITE_CORRUPT_VTAB":
        return IndexOutOfStep()
    if name.startswith("SQLITE_CONSTRAINT"):
        return Refused(f"The database refuses this change: {error}.", hint="A rule of its tables forbids it.")
    if name.startswith("SQLITE_IOERR") and name != "SQLITE_IOERR_SHORT_READ":
        return Unreadable(
            f"{path} cannot be written because of a disk error.", hint="Check the disk or the network mount."
        )
    return explain_sqlite_error(path, name, error)
