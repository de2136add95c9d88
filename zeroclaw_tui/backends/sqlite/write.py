"""Write the memories of a database by ZeroClaw's own rules, in short transactions."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, nullcontext, suppress
from itertools import chain, count, groupby
from operator import itemgetter
from pathlib import Path

from zeroclaw_tui.backends.base import T
from zeroclaw_tui.backends.cancellation import wait_until_done
from zeroclaw_tui.backends.sqlite.schema import Schema, aliases_of, missing_capabilities
from zeroclaw_tui.backends.sqlite.select import state_of
from zeroclaw_tui.backends.sqlite.table import AMONG, RawTable, check_index, explain_failed_write, fold_in, in_parts
from zeroclaw_tui.backends.tables import TableWriter, local_now
from zeroclaw_tui.backends.writing import UNCONFIRMED, OwnedKey
from zeroclaw_tui.files.database import assignments, bind, connect_to_write, processes_using, quoted
from zeroclaw_tui.memory.change import AGENTS, Row, RowChange, RowVersion, Value, Vector
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.errors import Refused, SearchInterrupted
from zeroclaw_tui.scoring.profiles import USUAL

RESET = ("kind", "tenant_id")
"""The columns that ZeroClaw >= 0.8.0 resets in a memory that it overwrites."""
_MAX_GAP, _MAX_ROWID = 2**32, 2**62
"""The maximum distance of a new rowid from the highest one, and the maximum rowid. Once the last rowid (2**63 - 1) is
in use, SQLite chooses random ones (https://sqlite.org/autoinc.html), and the storage order is lost."""
_MAX_VARIABLES = 30_000
_LOCK_SECONDS = 0.04
"""The target time for which a batch holds the write lock."""
_PAUSE_SECONDS = 0.015
"""The pause between two batches: a program that waits for the lock tries at least ten times a second."""
_FIRST_BATCH_ROWS = 60
_MAX_BATCH_ROWS = 1000
_BATCH_ROWS_ALONE = 500
"""The number of rows in a batch while no other program can be waiting: each batch costs two syncs of the disk."""
_CHECK_SECONDS = 5.0
"""How long a check for other processes is valid. A program that starts after it waits at least that long for a lock."""
_process_checks: dict[Path, tuple[float, bool]] = {}
"""The time of the last check of a database, and whether there was no other process."""
_STILL_IN_LOG = "Deleted text may stay in {}-wal until every program has closed the database."
_MODEL_KEYS = ("embedding_provider", "embedding_model", "embedding_dimensions")


class SchemaChanged(Exception):
    """The columns have changed since opening: ZeroClaw has migrated the file."""


class SqliteWriter(TableWriter):
    """Writes the rows of a database, on its own connection and thread.

    A batch holds the write lock for about 40 ms. With `zero` deleted text is overwritten with zeros.
    """

    memories: RawTable
    """The table of memories, as found by `read_current_schema`."""

    def __init__(self, path: Path, schema: Schema, *, zero: bool = False) -> None:
        super().__init__()
        self.path = path
        self.schema = schema
        self.zero = zero
        self.why_not = missing_capabilities(schema)
        self.has_agents = schema.has_agents
        self.usual = {name: value for name, value in USUAL.items() if name in schema.columns}
        # ZeroClaw resets nothing before 0.8.0.
        self.reset = self.usual | {name: None for name in RESET if name in schema.columns} if schema.has_agents else {}
        self._rows_read = 0
        """The number of rows in the transaction, from which the size of the next batch is computed."""
        self._connection: sqlite3.Connection | None = None
        self._stop = threading.Event()
        self._fitting_rows = _FIRST_BATCH_ROWS
        self._locked_seconds = self._released_at = 0.0
        self._is_unsure = False

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection, open while `run` runs the work."""
        assert self._connection is not None, "only the work uses the connection"
        return self._connection

    @property
    def is_stopped(self) -> bool:  # type: ignore[override]
        """Whether no further batch should begin."""
        return self._stop.is_set()

    async def run(self, work: Callable[[SqliteWriter], T]) -> T:
        """Run `work` and return its result. Raises subclasses of InspectorError, and SchemaChanged.

        Cancelling the await stops the work before its next batch, and waits until the current one is committed or
        rolled back.
        """
        return await wait_until_done(asyncio.get_running_loop().run_in_executor(None, self._run, work), self.stop)

    def stop(self) -> None:
        """Begin no further batch; callable from any thread."""
        self._stop.set()

    @property
    def batch_rows(self) -> int:  # type: ignore[override]
        """The number of rows that hold the lock for about 40 ms, or more while no other program can wait for it."""
        return _BATCH_ROWS_ALONE if self._is_alone() else self._fitting_rows

    def _is_alone(self) -> bool:
        """Whether no other program can be waiting, cached because the check takes as long as a batch."""
        if self.path not in _process_checks or time.monotonic() >= _process_checks[self.path][0] + _CHECK_SECONDS:
            _process_checks[self.path] = time.monotonic(), processes_using(self.path) == ()
        return _process_checks[self.path][1]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Pause for other writers, then hold the write lock; commit at the end, or roll everything back.

        Raises SchemaChanged and SearchInterrupted before anything is written.
        """
        if self._locked_seconds and not self._is_alone():
            # The time since the end of the last transaction counts as a part of the pause.
            pause = _PAUSE_SECONDS * min(1.0, self._locked_seconds / _LOCK_SECONDS)
            self._stop.wait(max(0.0, self._released_at + pause - time.perf_counter()))
        connection = self.connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            if self.is_stopped:
                raise SearchInterrupted
            began = time.perf_counter()
            self.read_current_schema()
            yield
            try:
                connection.execute("COMMIT")
            except sqlite3.Error:
                # If nothing was written, SQLite keeps the transaction open. Else the log may have the whole batch, and
                # the next program that opens the database would then treat it as committed.
                self._is_unsure = not connection.in_transaction
                raise
            self._released_at = time.perf_counter()
            self._locked_seconds = self._released_at - began
            fitting = self._rows_read * _LOCK_SECONDS / max(self._locked_seconds, 1e-4)
            self._fitting_rows = max(1, min(_MAX_BATCH_ROWS, self._fitting_rows * 2, int(fitting)))
        except BaseException:
            # If this fails, closing the connection rolls back as well.
            with suppress(sqlite3.Error):
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            raise

    def read_current_schema(self) -> None:
        """Read the current schema and agents; outside of `transaction` only for reading. Raises SchemaChanged."""
        self.agents = aliases_of(self.connection) | self.planned_agents
        self.memories = RawTable(self.connection, self.agents)
        self.columns = {*self.memories.columns}
        self._rows_read = 0
        if {name.lower() for name in self.columns} != self.schema.columns:
            raise SchemaChanged

    def _run(self, work: Callable[[SqliteWriter], T]) -> T:
        try:
            with closing(connect_to_write(self.path, zero=self.zero)) as self._connection:
                self._connection.execute("PRAGMA foreign_keys = ON")
                self.columns = {*RawTable(self._connection, {}).columns}
                return work(self)
        except (sqlite3.Error, OverflowError) as error:
            # Check again, because another program may have locked it.
            _process_checks.pop(self.path, None)
            failure = explain_failed_write(self.path, error)
            before = f"{self.done:,} rows were done before." if self.done else ""
            failure.is_unsure = self._is_unsure
            failure.so_far = f"{before} {UNCONFIRMED}".strip() if self._is_unsure else before or "Nothing was changed."
            failure.hint = f"{failure.so_far} {failure.hint}"
            raise failure from error
        finally:
            self._connection = None

    async def blocking(self, work: Callable[[], T]) -> T:
        return work()

    @asynccontextmanager
    async def batch(self, *, dry_run: bool) -> AsyncIterator[None]:
        if dry_run:
            self.read_current_schema()
        with nullcontext() if dry_run else self.transaction():
            yield

    async def read(self, rows: Sequence[RowVersion | Row], keys: Collection[OwnedKey]) -> Iterable[Row]:
        memories = self.memories
        self._rows_read += len(rows)
        by_id = memories.having("id", list({row.id for row in rows}))
        return [*by_id, *memories.having("key", list({key for _, key in keys}))]

    state_of = staticmethod(state_of)

    def later_than(self, stored: str) -> str:
        return local_now(after=stored)

    def vector_problem(self, vector: Vector) -> Refused | None:
        return other_model(self.connection, self.schema, vector.provider, vector.model, vector.dimensions)

    async def write(self, changes: Sequence[RowChange]) -> Mapping[str, Row]:
        """Write the rows; triggers update the keyword index. Raises Refused if one is missing."""
        check_index(self.connection)
        return await super().write(changes)

    async def insert(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Insert each row at its own rowid if that is free."""
        find_highest = "SELECT coalesce(max(rowid), 0) FROM memories WHERE rowid <= ?"
        (highest,) = self.connection.execute(find_highest, [_MAX_ROWID]).fetchone()
        last = min(highest + _MAX_GAP, _MAX_ROWID)
        find_used = f"SELECT rowid FROM memories WHERE {AMONG}"
        handles = [row.handle for row in rows if isinstance(row.handle, int) and row.handle <= last]
        used = {rowid for (rowid,) in self.connection.execute(find_used, [json.dumps(handles)])}
        rowids: list[int] = []
        at_the_end = count(max([highest, *handles]) + 1)
        for handle in (row.handle for row in rows):
            if isinstance(handle, int) and handle <= last and handle not in used:
                rowids.append(handle)
            else:
                rowids.append(next(at_the_end))
            used.add(rowids[-1])
        # Sort by rowid, because FTS5 flushes whenever a rowid is lower than the one before, and at the end of each
        # statement.
        pairs = sorted(zip(rowids, rows, strict=True), key=itemgetter(0))
        for names, with_same_names in groupby(pairs, lambda pair: tuple(pair[1].values)):
            for part in in_parts([*with_same_names], _MAX_VARIABLES // (len(names) + 1)):
                self._insert(("rowid", *names), [(rowid, *row.values.values()) for rowid, row in part])
        inserted = self.memories.with_new_rowids(rowids)
        return [inserted[rowid] for rowid in rowids]

    def _insert(self, names: Sequence[str], records: Sequence[Sequence[Value]]) -> None:
        """Insert records that have values for the same columns."""
        statement = f"INSERT INTO memories ({', '.join(map(quoted, names))}) VALUES "
        marks = ", ".join("?" * len(names))
        try:
            self.connection.execute(statement + ", ".join([f"({marks})"] * len(records)), [*chain(*records)])
        except UnicodeEncodeError:
            # Nothing was inserted: some text has surrogate escapes.
            ready = [bind(record) for record in records]
            added = ", ".join([f"({marks})" for marks, _ in ready])
            self.connection.execute(statement + added, [*chain(*(values for _, values in ready))])

    async def change(self, row: Row, values: Mapping[str, Value]) -> Row:
        pairs = ((name, value, row.values[name]) for name, value in values.items())
        changed = {name: new for name, new, old in pairs if type(new) is not type(old) or new != old}
        if not changed:
            return row
        sets, ready = assignments(changed)
        self.connection.execute(f"UPDATE memories SET {sets} WHERE rowid = ?", [*ready, row.handle])
        return self.memories.with_rowids([row.handle])[row.handle]

    async def delete(self, rows: Sequence[Row]) -> None:
        # One statement for many rows, because the keyword index has a high cost per statement.
        self.connection.execute(f"DELETE FROM memories WHERE {AMONG}", [json.dumps([row.handle for row in rows])])

    async def present_agent(self, row: Row) -> Row | None:
        marks, ready = bind([row.id])
        found = self.connection.execute(f"SELECT rowid, id, alias, created_at FROM agents WHERE id = {marks}", ready)
        for rowid, agent_id, alias, created in found.fetchall():
            values = {"id": as_text(agent_id), "alias": as_text(alias), "created_at": as_text(created)}
            return Row(as_text(agent_id), values, rowid, as_text(alias), AGENTS)
        return None

    async def insert_agent(self, row: Row) -> Row:
        marks, ready = bind([row.id, row.agent, row.values.get("created_at")])
        self.connection.execute(f"INSERT INTO agents (id, alias, created_at) VALUES ({marks})", ready)
        return await self.present_agent(row) or row

    async def delete_agent(self, row: Row) -> bool:
        if any(self.memories.where("agent_id = ?", [row.id])):
            return False
        try:
            self.connection.execute("DELETE FROM agents WHERE rowid = ?", [row.handle])
        except sqlite3.IntegrityError:
            return False
        return True

    def summary(self) -> tuple[str, ...]:
        """A sentence if the write-ahead log still has text that was deleted permanently."""
        if self.zero and self.done and not fold_in(self.path):
            return (_STILL_IN_LOG.format(self.path.name),)
        return ()


def other_model(
    connection: sqlite3.Connection, schema: Schema, provider: str, model: str, dimensions: int
) -> Refused | None:
    """The error if the store's vectors come from another model (memory_meta, ZeroClaw >= 0.8.3)."""
    if "memory_meta" not in schema.tables:
        return None
    pairs = connection.execute("SELECT key, value FROM memory_meta")
    stored = {as_text(key): as_text(value) for key, value in pairs}
    ours = dict(zip(_MODEL_KEYS, (provider, model, str(dimensions)), strict=True))
    if all(stored.get(name, value) == value for name, value in ours.items()):
        return None
    theirs = ", ".join(stored[name] for name in _MODEL_KEYS if name in stored)
    return Refused(
        f"The vectors here come from another model ({theirs}), and two models' vectors cannot be compared.",
        hint="Start ZeroClaw once with the current settings, so that it deletes the old vectors. Then try again.",
    )
