"""An open transaction that changes a table of memories: rows locked, read whole, put back to the letter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.postgres.connect import Connections
from zeroclaw_tui.backends.postgres.rows import casts, parameters, stored_columns, stored_row
from zeroclaw_tui.backends.postgres.schema import Table, read_agents
from zeroclaw_tui.backends.postgres.sql import Parameters, ids_are, keys_are
from zeroclaw_tui.backends.waiting import to_its_end
from zeroclaw_tui.memory.change import Keep, RowChange, StoredRow, Value

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]

MOST_ROWS = 250
"""How many rows are changed in one transaction, so that the agent never waits long for them."""
MOST_BYTES = 4_000_000

LATER = "greatest(clock_timestamp(), m.{0} + interval '1 microsecond')"
"""A time of storing that is later than the last one, even where two clocks differ."""

_COLUMNS = """
SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type, attgenerated::text <> '' AS is_computed
FROM pg_attribute WHERE attrelid = to_regclass($1::text) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""


class TableMoved(Exception):
    """The columns are no longer those that were read on opening: ZeroClaw has migrated the table."""


@dataclass(slots=True)
class Transaction:
    """An open transaction. `table` has the agents as they are in it; `computed` are columns that take no values."""

    connection: asyncpg.Connection
    table: Table
    computed: frozenset[str]
    holds: bool = True
    """Whether what is read stays locked until the end; not where nothing is written."""

    @property
    def columns(self) -> list[str]:
        """The columns that take values."""
        return [name for name in self.table.columns if name not in self.computed]

    async def locked(
        self, ids: Iterable[str] = (), keys: Iterable[str] = (), owners: Iterable[str] | None = None
    ) -> list[StoredRow]:
        """The rows of these ids, and those of these keys, in the order of their ids and held until the end."""
        given = Parameters()
        parts = [
            *([ids_are(self.table, ids, given)] if ids else []),
            *([f"({keys_are(self.table, keys, owners, given)})"] if keys else []),
        ]
        if not parts:
            return []
        return await self._rows(
            f"SELECT {stored_columns(self.table)} FROM {self.table.quoted} AS m "
            f"WHERE {' OR '.join(parts)} ORDER BY m.id {'FOR UPDATE' if self.holds else ''}",
            given,
        )

    async def with_id(self, id: str) -> StoredRow | None:
        """The row of an id, held."""
        return next(iter(await self.locked(ids=[id])), None)

    async def with_key(self, key: str, owner: str | None) -> StoredRow | None:
        """The row of a key, of that agent's where the table has agents, held."""
        return next(iter(await self.locked(keys=[key], owners=None if owner is None else [owner])), None)

    async def insert(self, rows: Sequence[StoredRow], *, unless_taken: bool = False) -> list[StoredRow]:
        """Add rows that name the same columns, as they then are in the table.

        Times that are not named become now. With `unless_taken` a row whose id or key is taken is left out.
        """
        if not rows:
            return []
        names = [name for name in self.columns if any(_has(row, name, self.table) for row in rows)]
        shapes = self._casts()
        given = Parameters()
        bound = [self._bound(row) for row in rows]
        arrays = ", ".join(given.texts([values[name] for values in bound]) for name in names)
        now = [name for name in dict.fromkeys((self.table.created, self.table.updated)) if name not in names]
        targets = ", ".join(quoted(name) for name in (*names, *now))
        chosen = ", ".join([*(shapes[name] % f"g.c{at}" for at, name in enumerate(names)), *["now()"] * len(now)])
        taken = "ON CONFLICT DO NOTHING" if unless_taken else ""
        return await self._rows(
            f"INSERT INTO {self.table.quoted} AS m ({targets}) OVERRIDING SYSTEM VALUE "
            f"SELECT {chosen} FROM unnest({arrays}) AS g({', '.join(f'c{at}' for at in range(len(names)))}) "
            f"{taken} RETURNING {stored_columns(self.table)}",
            given,
        )

    async def change(self, row: StoredRow, values: Mapping[str, Value], *, touch: bool = True) -> StoredRow:
        """Set values of a row, and with `touch` the time of storing; gives the row as it then is."""
        wanted, present = self._bound(replace(row, values={**row.values, **values})), self._bound(row)
        shapes = self._casts()
        given = Parameters()
        changed = [name for name in self.columns if wanted[name] != present[name]]
        parts = [f"{quoted(name)} = {shapes[name] % given.text(wanted[name])}" for name in changed]
        if touch and self.table.updated != self.table.created:
            parts = [part for part in parts if not part.startswith(quoted(self.table.updated))]
            parts.append(f"{quoted(self.table.updated)} = {LATER.format(self.table.updated)}")
        if not parts:
            return row
        found = await self._rows(
            f"UPDATE {self.table.quoted} AS m SET {', '.join(parts)} WHERE {ids_are(self.table, [row.id], given)} "
            f"RETURNING {stored_columns(self.table)}",
            given,
        )
        return found[0]

    async def delete(self, ids: Sequence[str]) -> None:
        """Remove the rows of these ids."""
        if ids:
            given = Parameters()
            condition = ids_are(self.table, ids, given)
            await self.connection.execute(f"DELETE FROM {self.table.quoted} AS m WHERE {condition}", *given.values)

    def _bound(self, row: StoredRow) -> dict[str, Any]:
        """Also the numbers that PostgreSQL counts up itself: a row that comes back has its own."""
        return {**{name: row.values.get(name) for name in self.columns}, **parameters(row, self.table)}

    def _casts(self) -> dict[str, str]:
        known = casts(self.table)
        return {name: known.get(name, f"CAST(%s AS {self.table.columns[name]})") for name in self.columns}

    async def _rows(self, statement: str, given: Parameters) -> list[StoredRow]:
        return [stored_row(record, self.table) for record in await self.connection.fetch(statement, *given.values)]


@asynccontextmanager
async def transaction(connections: Connections, table: Table) -> AsyncIterator[Transaction]:
    """Change the table; committed at the end, or nothing of it happened. Raises TableMoved before anything is done."""
    async with connections.writing() as connection:
        yield await _looked_at(connection, table, holds=True)


@asynccontextmanager
async def looking(connections: Connections, table: Table, seconds: float) -> AsyncIterator[Transaction]:
    """The same for a look ahead that changes nothing and locks nothing. Raises TableMoved."""
    async with connections.reading(seconds=seconds, interruptible=False) as connection:
        yield await _looked_at(connection, table, holds=False)


async def _looked_at(connection: asyncpg.Connection, table: Table, *, holds: bool) -> Transaction:
    found = await connection.fetch(_COLUMNS, table.quoted)
    if {row["name"]: row["type"] for row in found} != dict(table.columns):
        raise TableMoved
    agents = await read_agents(connection, table.schema) if table.form == "agents" else {}
    computed = frozenset(row["name"] for row in found if row["is_computed"])
    return Transaction(connection, replace(table, agents=agents), computed, holds)


async def kept(keep: Keep, changes: Sequence[RowChange]) -> None:
    """Have changes kept, on a thread since that waits for a disk; whoever gives up meanwhile is heard afterwards."""
    if changes:
        await to_its_end(asyncio.ensure_future(asyncio.to_thread(keep, changes)), _nothing)


def _nothing() -> None:
    """What is being kept cannot be asked to stop."""


def quoted(column: str) -> str:
    """A column's name for a statement."""
    doubled = column.replace('"', '""')
    return f'"{doubled}"'


def _has(row: StoredRow, column: str, table: Table) -> bool:
    """Whether a row names the value of a column, which the tutorial's table may call otherwise."""
    if table.form == "uuid" and column == table.created:
        return "created_at" in row.values or "updated_at" in row.values
    return column in row.values
