"""Rows with every column they have, read and written back exactly, in short transactions on a connection of their own.

Here is also what SQLite's errors mean when something was to be written.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Self, TypeVar

from zeroclaw_tui.backends.cancellation import wait_until_done
from zeroclaw_tui.backends.sqlite.schema import TRIGGERS, Schema
from zeroclaw_tui.files.database import (
    as_text,
    assignments,
    bound,
    connect_to_write,
    explain_sqlite_error,
    is_for_want_of_room,
    quoted,
)
from zeroclaw_tui.files.disk import MAKE_ROOM
from zeroclaw_tui.files.whole_database import processes_using
from zeroclaw_tui.memory.change import AGENTS, EMBEDDING_CACHE, MEMORIES, Row, TriggersMissing, Value
from zeroclaw_tui.memory.errors import (
    UNCONFIRMED,
    Corrupt,
    DiskFull,
    InspectorError,
    Refused,
    SearchInterrupted,
    Unreadable,
)
from zeroclaw_tui.scoring.profiles import ALL_COLUMNS

Answer = TypeVar("Answer")
T = TypeVar("T")

_ID_COLUMN = {MEMORIES: "id", AGENTS: "id", EMBEDDING_CACHE: "content_hash"}
_AMONG = "rowid IN (SELECT value FROM json_each(?))"
_AT_ONCE = 400
_FAR, _FARTHEST = 2**32, 2**62
"""How far above the highest rowid of a table a row may be put, and where at most. Once the last rowid (2**63 - 1) is in
use, SQLite gives new rows random ones (https://sqlite.org/autoinc.html), and the order of storing is lost."""
_MOST_BOUND = 30_000
_LOCK_SECONDS = 0.04
"""How long a batch may hold the write lock."""
_PAUSE_SECONDS = 0.015
"""How long the lock is free between two batches: a program that waits for it asks at least ten times a second."""
_FIRST_ROWS = 60
_MOST_ROWS = 1000
_ROWS_ALONE = 500
"""How many rows a batch takes while no other program can be waiting: each batch costs two syncs of the disk."""
_LOOK_SECONDS = 1.0
"""How old the knowledge of who else has the database open may be."""
_INDEX = "memories_fts"


class RawTable:
    """One of ZeroClaw's tables on an open connection; `connection` must give text through `any_text`.

    `columns` are their names in order, ZeroClaw's own in lower case, without those that SQLite generates.
    It is empty where there is no such table. `aliases` are those of the agents by id.
    """

    def __init__(
        self, connection: sqlite3.Connection, name: str = MEMORIES, aliases: Mapping[str, str] | None = None
    ) -> None:
        self._connection = connection
        self._name = name
        self._aliases = aliases_of(connection) if aliases is None else aliases
        described = connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
        names = [as_text(column) for (column,) in described]
        self.columns = tuple(column.lower() if column.lower() in ALL_COLUMNS else column for column in names)
        self._selected = ", ".join(map(quoted, self.columns))

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

    def having(self, column: str, texts: Sequence[str]) -> Iterator[Row]:
        """The rows with one of these texts in a column."""
        for some in _parts(texts, _AT_ONCE):
            marks, ready = bound(some)
            yield from self.where(f"{quoted(column)} IN ({marks})", ready)

    def with_ids(self, ids: Sequence[str]) -> dict[str, Row]:
        """The rows of these ids that are there, by id."""
        return {row.id: row for row in self.having(_ID_COLUMN[self._name], ids)}

    def with_rowids(self, rowids: Sequence[Any], condition: str = "true") -> dict[Any, Row]:
        """The rows at these rowids that are there and fulfil a condition, by rowid."""
        return {row.handle: row for row in self.where(f"{_AMONG} AND {condition}", [json.dumps(rowids)])}

    def insert(self, rows: Sequence[Row]) -> list[Row]:
        """Add rows, each at its own rowid where that is free, and return them as the table then has them."""
        (highest,) = self._connection.execute(f"SELECT coalesce(max(rowid), 0) FROM {quoted(self._name)}").fetchone()
        last = min(highest + _FAR, _FARTHEST)
        wanted = [row.handle for row in rows if isinstance(row.handle, int) and row.handle <= highest]
        statement = f"SELECT rowid FROM {quoted(self._name)} WHERE {_AMONG}"
        taken = {rowid for (rowid,) in self._connection.execute(statement, [json.dumps(wanted)])}
        placed: dict[int, int] = {}
        for at, row in enumerate(rows):
            if isinstance(row.handle, int) and row.handle <= last and row.handle not in taken:
                placed.setdefault(row.handle, at)
        rowids = {at: rowid for rowid, at in placed.items()}
        # FTS5 writes out what it has gathered whenever a rowid is lower than the one before, and at the end of each
        # statement.
        records = (
            (rowid, tuple(rows[at].values), *bound(rows[at].values.values())) for rowid, at in sorted(placed.items())
        )
        for (names, marks), alike in groupby(records, itemgetter(1, 2)):
            for some in _parts([(rowid, *values) for rowid, _, _, values in alike], _MOST_BOUND // (len(names) + 1)):
                self._insert(("rowid", *names), ", ".join([f"(?, {marks})"] * len(some)), list(chain(*some)))
        for at, row in enumerate(rows):
            if at not in rowids:
                marks, values = bound(row.values.values())
                rowids[at] = self._insert(tuple(row.values), f"({marks})", values)
        inserted = self.with_rowids(list(rowids.values()))
        return [inserted[rowids[at]] for at in range(len(rows))]

    def change(self, row: Row, values: Mapping[str, Value]) -> Row:
        """Give a row these values, where they differ, and return it as the table then has it."""
        changed = {name: value for name, value in values.items() if not _is_same(row.values[name], value)}
        if not changed:
            return row
        sets, ready = assignments(changed)
        self._connection.execute(f"UPDATE {quoted(self._name)} SET {sets} WHERE rowid = ?", [*ready, row.handle])
        return self.with_rowids([row.handle])[row.handle]

    def delete(self, rowids: Sequence[object]) -> None:
        """Remove the rows of these rowids."""
        # One statement for many rows: the keyword index does the work of a whole statement for each.
        self._connection.execute(f"DELETE FROM {quoted(self._name)} WHERE {_AMONG}", [json.dumps(rowids)])

    def _insert(self, names: Sequence[str], places: str, values: Sequence[Any]) -> int:
        columns = ", ".join(map(quoted, names))
        statement = f"INSERT INTO {quoted(self._name)} ({columns}) VALUES {places}"
        return self._connection.execute(statement, values).lastrowid or 0

    def _row(self, rowid: int, values: dict[str, Value]) -> Row:
        owner = values.get("agent_id")
        agent = as_text(owner) if owner is not None else None
        if self._name == AGENTS:
            agent = as_text(values.get("alias"))
        elif agent is not None:
            agent = self._aliases.get(agent, agent)
        return Row(as_text(values.get(_ID_COLUMN[self._name])), values, rowid, agent, self._name)


def aliases_of(connection: sqlite3.Connection) -> dict[str, str]:
    """The agents' aliases by id; empty where there is no such table."""
    described = connection.execute("SELECT lower(name) FROM pragma_table_info('agents')")
    if not {"id", "alias"} <= {name for (name,) in described}:
        return {}
    return {as_text(agent): as_text(alias) for agent, alias in connection.execute("SELECT id, alias FROM agents")}


def _parts(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def _is_same(one: Value, other: Value) -> bool:
    return type(one) is type(other) and one == other


class SchemaMoved(Exception):
    """The columns are no longer those that were read on opening: ZeroClaw has migrated the file."""


class Writing:
    """One change, on a connection and a thread of its own."""

    memories: RawTable
    """The table of memories, as `look` found it."""
    aliases: dict[str, str]
    """The aliases of the agents by id, as `look` found them."""
    columns: Iterable[str] = ()
    """Of the memories; in their own spelling once `look` has found them."""

    def __init__(self, path: Path, schema: Schema, *, zero: bool = False) -> None:
        self.path = path
        self.schema = schema
        self.zero = zero
        self.columns = schema.columns
        self.done = 0
        """How many rows are changed for good."""
        self.rows_read = 0
        """How many rows a transaction works on, set by whoever reads them: what the size of the next one follows."""
        self._connection: sqlite3.Connection | None = None
        self._stop = threading.Event()
        self._rows = _FIRST_ROWS
        self._locked = self._released = 0.0
        self._look_again = 0.0
        self._alone = False
        self._is_unsure = False

    @property
    def connection(self) -> sqlite3.Connection:
        """Open while the work runs."""
        assert self._connection is not None, "only the work uses the connection"
        return self._connection

    @property
    def is_stopped(self) -> bool:
        """Whether no further batch should begin."""
        return self._stop.is_set()

    async def run(self, work: Callable[[Self], Answer]) -> Answer:
        """What `work` answers. Raises InspectorError kinds, and SchemaMoved.

        Cancelling the await stops the work before its next batch, and waits until the present one is committed or
        rolled back.
        """
        return await wait_until_done(asyncio.get_running_loop().run_in_executor(None, self._run, work), self.stop)

    def stop(self) -> None:
        """Begin no further batch; from any thread."""
        self._stop.set()

    @property
    def batch_rows(self) -> int:
        """As many rows as hold the lock for about 40 ms, or more while no other program can be waiting for it."""
        return _ROWS_ALONE if self._is_alone() else self._rows

    def _is_alone(self) -> bool:
        """Whether no other program can be waiting, as it was less than a second ago."""
        if time.monotonic() >= self._look_again:
            self._look_again = time.monotonic() + _LOOK_SECONDS
            self._alone = processes_using(self.path) == ()
        return self._alone

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the write lock after a pause for other writers; commit at the end, or roll everything back.

        Raises SchemaMoved and SearchInterrupted before anything can be written.
        """
        if self._locked and not self._is_alone():
            # The time since the end of the last transaction counts.
            fair = _PAUSE_SECONDS * min(1.0, self._locked / _LOCK_SECONDS)
            self._stop.wait(max(0.0, self._released + fair - time.perf_counter()))
        connection = self.connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            if self.is_stopped:
                raise SearchInterrupted
            began = time.perf_counter()
            self.look()
            yield
            try:
                connection.execute("COMMIT")
            except sqlite3.Error:
                # SQLite keeps the transaction open where nothing was written; else the log may have the whole batch,
                # which the next program that opens the database would take as committed.
                self._is_unsure = not connection.in_transaction
                raise
            self._released = time.perf_counter()
            self._locked = self._released - began
            fitting = self.rows_read * _LOCK_SECONDS / max(self._locked, 1e-4)
            self._rows = max(1, min(_MOST_ROWS, self._rows * 2, int(fitting)))
        except BaseException:
            # Closing the connection rolls back as well, whatever this meets.
            with suppress(sqlite3.Error):
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            raise

    def look(self) -> None:
        """Look at the tables as they are now; outside of `transaction` only to be read. Raises SchemaMoved."""
        self.aliases = aliases_of(self.connection)
        self.memories = RawTable(self.connection, MEMORIES, self.aliases)
        self.columns = self.memories.columns
        self.rows_read = 0
        if {name.lower() for name in self.columns} != self.schema.columns:
            raise SchemaMoved

    def table(self, name: str) -> RawTable:
        """Any of the tables that keep rows."""
        return self.memories if name == MEMORIES else RawTable(self.connection, name, self.aliases)

    def _run(self, work: Callable[[Self], Answer]) -> Answer:
        try:
            with closing(_connected(self.path, zero=self.zero)) as self._connection:
                return work(self)
        except (sqlite3.Error, OverflowError) as error:
            failure = _not_written(self.path, error)
            before = f"{self.done:,} rows were done before." if self.done else ""
            failure.is_unsure = self._is_unsure
            failure.so_far = f"{before} {UNCONFIRMED}".strip() if self._is_unsure else before or "Nothing was changed."
            failure.hint = f"{failure.so_far} {failure.hint}"
            raise failure from error
        finally:
            self._connection = None


def fold_in(path: Path) -> bool:
    """Write the write-ahead log back and cut it to nothing; False where somebody is in the way or the disk does not
    take it.

    True for a database that has no such log. Nothing is waited for. Blocks.
    """
    try:
        with closing(_connected(path, zero=False)) as connection:
            connection.execute("PRAGMA busy_timeout = 0").fetchall()
            ((is_busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except (sqlite3.Error, InspectorError):
        return False
    return not is_busy


def check_index(connection: sqlite3.Connection) -> None:
    """Raises TriggersMissing when the keyword index or one of its triggers is not there."""
    missing = missing_of_index(connection)
    if missing:
        raise TriggersMissing(missing)


def missing_of_index(connection: sqlite3.Connection) -> list[str]:
    """The names of what the keyword index lacks: its table, its triggers."""
    made = connection.execute("SELECT lower(name) FROM sqlite_master WHERE type IN ('table', 'trigger')")
    found = {name for (name,) in made}
    return [name for name in (_INDEX, *TRIGGERS) if name not in found]


def _connected(path: Path, *, zero: bool) -> sqlite3.Connection:
    connection = connect_to_write(path, zero=zero)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _not_written(path: Path, error: sqlite3.Error | OverflowError) -> InspectorError:
    """The sentence for one of SQLite's result codes (https://sqlite.org/rescode.html)."""
    name = getattr(error, "sqlite_errorname", None)
    if (isinstance(error, (OverflowError, sqlite3.DataError)) and name is None) or name == "SQLITE_TOOBIG":
        return Refused("A memory is too long for SQLite.", hint="Store it in parts.")
    if name is None or isinstance(error, OverflowError):
        raise error
    if name == "SQLITE_CORRUPT_VTAB":
        return Corrupt(
            "The keyword index does not match the memories, so SQLite changes none of them.",
            hint="Run `zeroclaw memory doctor --repair all` to rebuild the index.",
        )
    if name.startswith("SQLITE_CONSTRAINT"):
        return Refused(f"The database refuses this change: {error}.", hint="A rule of its tables forbids it.")
    if is_for_want_of_room(path, name):
        return DiskFull(f"{path} cannot be written because the disk is full.", hint=MAKE_ROOM)
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return Refused(
            f"You have no permission to write to {path}.",
            hint="Check the permissions of the file, its directory, and the -wal and -shm files next to it.",
            title="Read-only",
        )
    if name.startswith("SQLITE_IOERR") and name != "SQLITE_IOERR_SHORT_READ":
        return Unreadable(
            f"{path} cannot be written because of a disk error.", hint="Check the disk or the network mount."
        )
    return explain_sqlite_error(path, name, error)
