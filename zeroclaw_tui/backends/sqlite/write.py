"""Storing, changing and removing memories of a database by ZeroClaw's own rules, in short transactions."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.base import T
from zeroclaw_tui.backends.sqlite.select import state_of
from zeroclaw_tui.backends.sqlite.transaction import Writing, check_index, fold_in
from zeroclaw_tui.backends.tables import TableWriter, local_now, utc_now
from zeroclaw_tui.backends.writing import Operation, OwnedKey
from zeroclaw_tui.files.database import as_text
from zeroclaw_tui.memory.change import AGENTS, Draft, Edit, NewVector, Row, RowVersion, Value, Vector
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.scoring.profiles import USUAL, lacks

if TYPE_CHECKING:
    from zeroclaw_tui.backends.sqlite.schema import Schema

RESET = ("kind", "tenant_id")
"""What ZeroClaw >= 0.8.0 empties in a memory that it overwrites."""
_STILL_IN_LOG = "Deleted text may stay in {}-wal until every program has closed the database."
_NAMES = ("embedding_provider", "embedding_model", "embedding_dimensions")


class SqliteWriter(Writing, TableWriter):  # type: ignore[override]
    """Writes the rows of a database on a thread; a batch holds the write lock for about 40 ms."""

    noun = "database"

    def __init__(self, path: Path, schema: Schema, *, zero: bool = False) -> None:
        TableWriter.__init__(self)
        Writing.__init__(self, path, schema, zero=zero)

    @property
    def has_agents(self) -> bool:
        return self.schema.has_agents

    @property
    def agents(self) -> dict[str, str]:
        return self.aliases

    async def blocking(self, work: Callable[[], T]) -> T:
        return work()

    @asynccontextmanager
    async def batch(self, *, dry_run: bool) -> AsyncIterator[None]:
        """A transaction, after a pause for other writers."""
        if dry_run:
            self.look()
        with nullcontext() if dry_run else self.transaction():
            yield

    def check(self, after: Draft | Edit) -> None:
        for name in after.named if isinstance(after, Draft) else after.values:
            if not self.schema.has(name):
                raise Refused(lacks(name), hint="Leave it out.")
        if isinstance(after, Draft) and after.agent is not None and not self.has_agents:
            raise Refused(lacks("agents"), hint="Leave the agent out: all memories here have one owner.")

    async def read(self, rows: Sequence[RowVersion | Row], keys: Collection[OwnedKey]) -> Iterable[Row]:
        memories = self.memories
        self.rows_read += len(rows)
        found = memories.with_ids(list({row.id for row in rows}))
        # An id that is no text is found by the rowid.
        missing = {row.handle: row.id for row in rows if row.id not in found and isinstance(row.handle, int)}
        others = memories.with_rowids(list(missing), "typeof(id) <> 'text'")
        by_key = memories.having("key", list({key for _, key in keys}))
        return [*found.values(), *(row for at, row in others.items() if row.id == missing[at]), *by_key]

    state_of = staticmethod(state_of)

    @property
    def usual(self) -> Mapping[str, Value]:
        return self._with_columns(USUAL)

    @property
    def reset(self) -> Mapping[str, Value]:
        """What ZeroClaw's own store sets back in a memory it overwrites: nothing of it before 0.8.0."""
        return self._with_columns({**USUAL, **dict.fromkeys(RESET)}) if self.has_agents else {}

    def later_than(self, stored: str) -> str:
        return local_now(after=stored)

    def usable_vector(self, vector: Vector | None) -> bytes | None:
        """None also where the store says that its vectors come from another model (ZeroClaw >= 0.8.3)."""
        if vector is None:
            return None
        theirs = self._other_model(vector)
        if theirs is None:
            return vector.data
        self.notes[f"Stored without its vector, since the vectors here come from another model ({theirs})."] = None
        return None

    async def write(self, operations: Sequence[Operation]) -> Mapping[str, Row]:
        """The keyword index follows its triggers. Raises TriggersMissing if one is missing."""
        check_index(self.connection)
        return await super().write(operations)

    async def delete(self, rows: Sequence[Row]) -> None:
        self.memories.delete([row.handle for row in rows])

    async def change(self, row: Row, values: Mapping[str, Value], *, touch: bool) -> Row:
        return self.memories.change(row, values)

    async def insert(self, rows: Sequence[Row]) -> Sequence[Row]:
        return self.memories.insert(rows)

    async def present_other(self, row: Row) -> Row | None:
        return self.table(row.table).with_ids([row.id]).get(row.id)

    async def insert_other(self, row: Row) -> Row:
        """With the values the table has columns for."""
        table = self.table(row.table)
        values = {name: value for name, value in row.values.items() if name in table.columns}
        return table.insert([replace(row, values=values)])[0]

    async def delete_other(self, row: Row) -> bool:
        """Not an agent that owns memories, or that another program's table refers to."""
        if row.table == AGENTS and any(self.memories.where("agent_id = ?", [row.id])):
            return False
        try:
            self.table(row.table).delete([row.handle])
        except sqlite3.IntegrityError:
            return False
        return True

    async def add_agent(self, alias: str) -> Row:
        values = {"id": str(uuid.uuid4()), "alias": alias, "created_at": utc_now()}
        return self.table(AGENTS).insert([Row("", values)])[0]

    def has_table(self, name: str) -> bool:
        return bool(self.table(name).columns)

    async def fill(self, rows: Sequence[tuple[Row, NewVector]]) -> None:
        """Raises Refused for vectors of another model than the store names, before any of them is written."""
        for wanted in {(new.vector.provider, new.vector.model, new.vector.dimensions): new for _, new in rows}.values():
            theirs = self._other_model(wanted.vector)
            if theirs is not None:
                raise another_model(theirs)
        check_index(self.connection)
        self.connection.executemany(
            "UPDATE memories SET embedding = ? WHERE rowid = ?",
            ((wanted.vector.data, row.handle) for row, wanted in rows),
        )

    def summary(self) -> tuple[str, ...]:
        """Whether the log still has what was deleted permanently."""
        # What was overwritten has to leave the write-ahead log too.
        if self.zero and self.done and not fold_in(self.path):
            return (_STILL_IN_LOG.format(self.path.name),)
        return ()

    def _with_columns(self, values: Mapping[str, Value]) -> Mapping[str, Value]:
        return {name: value for name, value in values.items() if self.schema.has(name)}

    def _other_model(self, vector: Vector) -> str | None:
        connection = self.connection
        return other_model(connection, self.schema, vector.provider, vector.model, vector.dimensions)


def another_model(theirs: str) -> Refused:
    """The error for vectors of one model in a store of another's."""
    return Refused(
        f"The vectors here come from another model ({theirs}), and two models' vectors cannot be compared.",
        hint="Start ZeroClaw once with the present settings: it empties the old vectors. Then do it again.",
    )


def other_model(
    connection: sqlite3.Connection, schema: Schema, provider: str, model: str, dimensions: int
) -> str | None:
    """The model the store names where it is not this one, in words; None where they agree or the store names none."""
    if "memory_meta" not in schema.tables:
        return None
    pairs = connection.execute("SELECT key, value FROM memory_meta")
    stamped = {as_text(key): as_text(value) for key, value in pairs}
    ours = dict(zip(_NAMES, (provider, model, str(dimensions)), strict=True))
    if all(stamped.get(name, value) == value for name, value in ours.items()):
        return None
    return ", ".join(stamped[name] for name in _NAMES if name in stamped)
