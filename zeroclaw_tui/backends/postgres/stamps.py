"""Which memories a removal means, and in which state each of them was shown; rows one after the other."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any

from zeroclaw_tui.backends.postgres.browse import conditions
from zeroclaw_tui.backends.postgres.categories import category_of, category_text
from zeroclaw_tui.backends.postgres.connect import Connections, in_batches
from zeroclaw_tui.backends.postgres.facets import SECONDS
from zeroclaw_tui.backends.postgres.rows import agent_named, rfc3339, stored_columns, stored_row
from zeroclaw_tui.backends.postgres.statements import Parameters, ids_are
from zeroclaw_tui.backends.postgres.table import Table
from zeroclaw_tui.memory.change import See, Stamp, StoredRow, Value
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.query import MemoryFilter

_STAMPS_AT_ONCE = 2000
_ROWS_AT_ONCE = 100
_DIGEST = "substring(encode(sha256(convert_to(m.content, 'UTF8')), 'hex') FROM 1 FOR 16)"


async def stamps(connections: Connections, table: Table, filter: MemoryFilter) -> list[Stamp]:
    """The stamps of the rows a filter leaves, in the order of storing."""
    condition, values = conditions(filter, table)
    found: list[Stamp] = []
    async with connections.reading(seconds=SECONDS) as connection:
        statement = f"{_select(table)} WHERE {condition} ORDER BY m.{table.updated}, m.id"
        async for records in in_batches(connection, statement, values, _STAMPS_AT_ONCE):
            found += [_stamp(record, table) for record in records]
    return found


async def stamps_of(connections: Connections, table: Table, handles: Sequence[Handle]) -> list[Stamp]:
    """The stamps of these ids, in that order; rows gone meanwhile are left out."""
    by_id: dict[Handle, Stamp] = {}
    async with connections.reading() as connection:
        for start in range(0, len(handles), _STAMPS_AT_ONCE):
            given = Parameters()
            condition = ids_are(table, map(str, handles[start : start + _STAMPS_AT_ONCE]), given)
            records = await connection.fetch(f"{_select(table)} WHERE {condition}", *given.values)
            by_id |= {record["id"]: _stamp(record, table) for record in records}
    return [by_id[handle] for handle in handles if handle in by_id]


async def each_row(connections: Connections, table: Table, see: See, filter: MemoryFilter) -> None:
    """Show every row whole, on a thread, in one consistent read."""
    condition, values = conditions(filter, table)

    def show(records: Sequence[Any]) -> None:
        for record in records:
            see(stored_row(record, table))

    async with connections.reading(seconds=SECONDS) as connection:
        columns, order = stored_columns(table), f"m.{table.updated}, m.id"
        statement = f"SELECT {columns} FROM {table.quoted} AS m WHERE {condition} ORDER BY {order}"
        async for records in in_batches(connection, statement, values, _ROWS_AT_ONCE):
            await asyncio.to_thread(show, records)


async def stored_of(connections: Connections, table: Table, ids: Sequence[Handle]) -> list[StoredRow]:
    """The rows of these ids with every column, in that order; rows gone meanwhile are left out."""
    found: dict[Handle, StoredRow] = {}
    async with connections.reading() as connection:
        for start in range(0, len(ids), _ROWS_AT_ONCE):
            given = Parameters()
            condition = ids_are(table, map(str, ids[start : start + _ROWS_AT_ONCE]), given)
            statement = f"SELECT {stored_columns(table)} FROM {table.quoted} AS m WHERE {condition}"
            for record in await connection.fetch(statement, *given.values):
                row = stored_row(record, table)
                found[row.id] = row
    return [found[row_id] for row_id in ids if row_id in found]


def stamp_of(row: StoredRow) -> Stamp:
    """The stamp of a row with every column."""
    values = row.values
    content = str(values["content"] or "").encode()
    return Stamp(
        id=row.id,
        state=state_of(row),
        key=str(values["key"] or ""),
        category=str(values.get("category") or ""),
        size=len(content),
        timestamp=str(values.get("created_at") or ""),
        updated_at=str(values.get("updated_at") or ""),
        agent=row.agent,
        handle=row.id,
    )


def state_of(row: StoredRow) -> str:
    """The state a stamp of this row has."""
    values = row.values
    content = values["content"]
    digest = None if content is None else hashlib.sha256(str(content).encode()).hexdigest()[:16]
    return _state(values.get("updated_at"), values["key"], values["category"] or "", values.get("session_id"), digest)


def _select(table: Table) -> str:
    columns = ", ".join(
        [
            "m.id::text AS id",
            "m.key::text AS key",
            f"{category_text(table)} AS category",
            f"m.{table.created}::text AS created_at",
            f"m.{table.updated}::text AS updated_at",
            "m.session_id::text AS session_id" if table.has("session_id") else "NULL::text AS session_id",
            "m.agent_id::text AS agent_id" if table.has("agent_id") else "NULL::text AS agent_id",
            "octet_length(m.content) AS size",
            f"{_DIGEST} AS digest",
        ]
    )
    return f"SELECT {columns} FROM {table.quoted} AS m"


def _stamp(record: Any, table: Table) -> Stamp:
    category, updated = category_of(record["category"], table), rfc3339(record["updated_at"])
    return Stamp(
        id=record["id"],
        state=_state(updated, record["key"], category, record["session_id"], record["digest"]),
        key=record["key"] or "",
        category=category,
        size=record["size"] or 0,
        timestamp=rfc3339(record["created_at"]) or "",
        updated_at=updated or "",
        agent=agent_named(record["agent_id"], table),
        handle=record["id"],
    )


def _state(*parts: Value) -> str:
    """A short text that differs where one of the parts does; programs beside ZeroClaw may leave the times alone."""
    told = "\x00".join("\x01" if part is None else str(part) for part in parts)
    return hashlib.blake2b(told.encode(), digest_size=12).hexdigest()
