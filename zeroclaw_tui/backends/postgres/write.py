"""Write the rows of a PostgreSQL table by ZeroClaw's own rules, in short transactions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.postgres.connect import PASS_SECONDS, Connections
from zeroclaw_tui.backends.postgres.schema import read_table
from zeroclaw_tui.backends.postgres.select import PostgresSelect
from zeroclaw_tui.backends.postgres.table import Table, check_text, state_of
from zeroclaw_tui.backends.tables import TableWriter, moment_after, uuid_for
from zeroclaw_tui.backends.writing import OwnedKey, WriteConflict
from zeroclaw_tui.files.database import quoted
from zeroclaw_tui.memory.change import AGENTS, Draft, Edit, Row, RowVersion, Value, Vector
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import one_line, unicode_text

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]

_MICROSECOND = timedelta(microseconds=1)
_AGENT = "id::text AS id, alias::text AS alias, created_at::text AS created_at"
_NOT_COLUMNS = ("created_at", "updated_at")
"""Row values that the tutorial's table has no columns for."""


class PostgresWriter(TableWriter):
    """Writes the rows of a table; a batch is one transaction that locks the rows it reads until its end."""

    batch_rows = 500

    def __init__(self, connections: Connections, table: Table) -> None:
        super().__init__()
        self._use_table(table)
        self._connections = connections
        self._connection: asyncpg.Connection = None
        self._locks_rows = True
        self._time = datetime.now(UTC)

    def _use_table(self, table: Table) -> None:
        """Use the current state of the table in this batch: another program may have migrated it or added agents."""
        self.agents = dict(table.agents)
        self.table = replace(table, agents=self.agents)
        self.has_agents = table.form == "agents"
        self.has_update_times = table.updated != table.created
        self.columns = {*table.columns, *_NOT_COLUMNS}
        self.why_not = table.why_not

    @asynccontextmanager
    async def batch(self, *, dry_run: bool) -> AsyncIterator[None]:
        """Begin a transaction; for a dry run it is read-only and locks nothing."""
        connections = self._connections
        opened = connections.reading(seconds=PASS_SECONDS) if dry_run else connections.writing()
        self._locks_rows = not dry_run
        async with opened as connection:
            self._connection = connection
            self._use_table(await read_table(connection, self.table.schema, self.table.name))
            yield

    def check(self, after: Draft | Edit) -> None:
        """Raise Refused also for text that PostgreSQL cannot store."""
        if isinstance(after, Draft):
            check_text(after.key, after.content, after.category, after.session_id, after.namespace, after.agent)
        else:
            check_text(*(value for value in after.values.values() if isinstance(value, str)))
        super().check(after)

    async def read(self, rows: Sequence[RowVersion | Row], keys: Collection[OwnedKey]) -> Iterable[Row]:
        """Read with one statement in the order of ids, so that concurrent writers wait without a deadlock."""
        select = PostgresSelect(self.table)
        with_key = select.one_of("m.key", [key for _, key in keys])
        owners = {owner for owner, _ in keys if owner is not None}
        if owners:
            with_key += f" AND {select.one_of('m.agent_id', [*owners])}"
        select.also(f"({select.has_name('id', [*{row.id for row in rows}])} OR {with_key})")
        lock = "FOR UPDATE" if self._locks_rows else ""
        return await self._fetch(select.statement(self.table.stored_columns, f"ORDER BY m.id {lock}"), select)

    state_of = staticmethod(state_of)

    def later_than(self, stored: str) -> str:
        """Return a time later than the stored one, and different for each row."""
        self._time = max(self._time + _MICROSECOND, datetime.now(UTC))
        return moment_after(stored, self._time).isoformat(timespec="microseconds")

    def vector_problem(self, vector: Vector) -> Refused | None:
        table = self.table
        if table.dimensions == vector.dimensions:
            return None
        length = f" of {table.dimensions} numbers" if table.keeps_vectors else ""
        return Refused(
            f"The table takes vectors{length} only; the model makes {vector.dimensions}.",
            hint="Configure a model with such vectors, or ask the owner of the table to change the column.",
        )

    def restored_row(self, row: Row, existing: Row | None, owner: str | None, *, new_id: bool) -> Row:
        """Restore a row, with its id as the handle. Values of other stores are converted: NUL, invalid UTF-8, ids that
        are not UUIDs, vectors of another length, and invalid times."""
        restored = super().restored_row(row, existing, owner, new_id=new_id)
        values = {name: self._storable(name, value) for name, value in restored.values.items()}
        row_id = uuid_for(restored.id) if self.table.is_tutorial else restored.id
        created = self._time_or_now(values.get("created_at"))
        # The tutorial's table has one time.
        has_two_times = self.has_update_times and values.get("updated_at")
        updated = self._time_or_now(values["updated_at"]) if has_two_times else created
        values |= {"id": row_id, "created_at": created, "updated_at": updated}
        return Row(row_id, values, row_id, restored.agent)

    async def delete(self, rows: Sequence[Row]) -> None:
        if rows:
            select = PostgresSelect(self.table).named("id", [row.id for row in rows])
            await self._connection.execute(f"DELETE FROM {select.source} {select.where}", *select.values)

    async def change(self, row: Row, values: Mapping[str, Value]) -> Row:
        table = self.table
        select = PostgresSelect(table).named("id", [row.id])
        present, wanted = map(table.parameters, (row, replace(row, values={**row.values, **values})))
        parts = [
            f"{quoted(name)} = {cast % select.place(wanted[name])}"
            for name, cast in table.casts.items()
            if wanted[name] != present[name]
        ]
        if not parts:
            return row
        changed = await self._fetch(
            f"UPDATE {select.source} SET {', '.join(parts)} {select.where} RETURNING {table.stored_columns}", select
        )
        return changed[0]

    async def insert(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Use one statement for all rows with values for the same columns, so that other columns get their defaults."""
        groups: dict[frozenset[str], list[Row]] = {}
        for row in rows:
            groups.setdefault(frozenset(row.values), []).append(row)
        written: dict[str, Row] = {}
        for group in groups.values():
            written |= {row.id: row for row in await self._insert_group(group)}
        for row in rows:
            if row.id not in written:
                raise await self._why_not_inserted(row)
        return [written[row.id] for row in rows]

    async def present_agent(self, row: Row) -> Row | None:
        record = await self._connection.fetchrow(
            f"SELECT {_AGENT} FROM {self._agents_table} WHERE id::text = $1::text FOR UPDATE", row.id
        )
        return None if record is None else _agent_row(record)

    async def insert_agent(self, row: Row) -> Row:
        record = await self._connection.fetchrow(
            f"INSERT INTO {self._agents_table} (id, alias, created_at) "
            f"VALUES ($1::text, $2::text, coalesce(CAST($3::text AS timestamptz), now())) "
            f"ON CONFLICT DO NOTHING RETURNING {_AGENT}",
            row.id,
            row.agent or row.id,
            row.values.get("created_at"),
        )
        if record is None:
            raise WriteConflict
        return _agent_row(record)

    async def delete_agent(self, row: Row) -> bool:
        deleted = await self._connection.fetchval(
            f"DELETE FROM {self._agents_table} AS a WHERE a.id::text = $1::text AND NOT EXISTS "
            f"(SELECT FROM {self.table.quoted} AS m WHERE m.agent_id = a.id) RETURNING a.id::text",
            row.id,
        )
        return deleted is not None

    @property
    def _agents_table(self) -> str:
        return f'"{self.table.schema}"."agents"'

    async def _insert_group(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Insert rows; return those without a conflict in id or key."""
        table = self.table
        select = PostgresSelect(table)
        bound = [*map(table.parameters, rows)]
        times = (table.created, table.updated)
        chosen = {name: cast for name, cast in table.casts.items() if name in rows[0].values or name in times}
        arrays = ", ".join(select.place([row[name] for row in bound]) for name in chosen)
        places = [f"c{number}" for number in range(len(chosen))]
        inserted = ", ".join(cast % f"new.{column}" for cast, column in zip(chosen.values(), places, strict=True))
        return await self._fetch(
            f"INSERT INTO {select.source} ({', '.join(map(quoted, chosen))}) OVERRIDING SYSTEM VALUE "
            f"SELECT {inserted} FROM unnest({arrays}) AS new({', '.join(places)}) "
            f"ON CONFLICT DO NOTHING RETURNING {table.stored_columns}",
            select,
        )

    async def _why_not_inserted(self, row: Row) -> Exception:
        """Make the error for a row that was not inserted."""
        if await self.read([row], [(self.owner(row), row.key)]):
            return WriteConflict()
        return Refused(
            f"The table does not accept another memory with the key {one_line(row.key)!r}, by a rule of its own.",
            hint="A table made before ZeroClaw 0.8.0 may allow each key once for all agents together.",
        )

    def _storable(self, name: str, value: Value) -> Value:
        if name == "embedding":
            return value if not isinstance(value, bytes) or self.table.dimensions == len(value) // 4 else None
        text = as_text(value) if isinstance(value, bytes) else value
        return unicode_text(text).replace("\0", "\ufffd") if isinstance(text, str) else text

    def _time_or_now(self, stored: Value) -> str:
        """Format a time for PostgreSQL, including infinity and years BC; the current time for any other text."""
        text = as_text(stored)
        parsed = moment(text)
        if parsed is not None:
            # Truncate here, because PostgreSQL would round nanoseconds.
            return parsed.isoformat(timespec="microseconds")
        return text if text.endswith(("infinity", " BC")) else self.later_than("")

    async def _fetch(self, statement: str, select: PostgresSelect) -> list[Row]:
        records = await self._connection.fetch(statement, *select.values)
        return [*map(self.table.stored_row, records)]


def _agent_row(record: Mapping[str, Value]) -> Row:
    values = dict(record)
    return Row(str(values["id"]), values, agent=str(values["alias"]), table=AGENTS)
