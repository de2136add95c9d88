"""Whose memory it is: agents by alias, from ZeroClaw 0.8.0 on."""

from __future__ import annotations

import uuid
from dataclasses import replace

from zeroclaw_tui.backends.postgres.schema import Table
from zeroclaw_tui.backends.postgres.transaction import Transaction
from zeroclaw_tui.memory.change import AGENTS, RowChange, StoredRow
from zeroclaw_tui.memory.errors import Refused

DEFAULT = "default"
"""The alias ZeroClaw gives the owner of what was there before it knew agents."""

_COLUMNS = "id::text AS id, alias::text AS alias, created_at::text AS created_at"


async def owner_of(transaction: Transaction, alias: str | None) -> tuple[str | None, RowChange | None]:
    """The id of an agent, and what was added where there was none of that alias; None where the table has no agents.

    Without an alias it is the agent `default`, or the only one. Raises Refused where that leaves a choice.
    """
    table = transaction.table
    if table.form != "agents":
        return None, None
    if alias is None:
        found = usual_owner(table)
        if found is not None:
            return found, None
        if table.agents:
            raise Refused(
                f"This store belongs to the agents {', '.join(sorted(table.agents.values()))}.",
                hint="Name the one that shall own the memory.",
            )
    wanted = DEFAULT if alias is None else alias
    known = id_of(table, wanted)
    if known is not None:
        return known, None
    added = await _added(transaction, wanted)
    return added.row.id, added if added.before is None else None


def id_of(table: Table, alias: str) -> str | None:
    """The id of the agent of this alias."""
    return next((agent for agent, known in table.agents.items() if known == alias), None)


def usual_owner(table: Table) -> str | None:
    """The id of the agent `default`, or of the only one."""
    only = next(iter(table.agents)) if len(table.agents) == 1 else None
    return id_of(table, DEFAULT) or only


def earlier_owner(table: Table, row: StoredRow) -> str | None:
    """Who owns a row that comes back: the agent of its id, else of its alias, else the usual one."""
    owner = row.values.get("agent_id")
    if isinstance(owner, str) and owner in table.agents:
        return owner
    by_alias = id_of(table, row.agent) if row.agent is not None else None
    return by_alias or usual_owner(table)


async def added_back(transaction: Transaction, change: RowChange, wanted: StoredRow) -> RowChange:
    """Put an agent back whose addition or removal is taken back, unless its id or alias is there."""
    table = transaction.table
    present = await _with_id(transaction, wanted.id)
    if present is not None or wanted.agent in table.agents.values():
        there = present or wanted
        return RowChange(there, there, reverses=change.number)
    alias = wanted.agent or wanted.id
    values = [wanted.id, alias, wanted.values.get("created_at")]
    record = await transaction.connection.fetchrow(
        f"INSERT INTO {_agents(table)} (id, alias, created_at) "
        f"VALUES ($1::text, $2::text, coalesce(CAST($3::text AS timestamptz), now())) RETURNING {_COLUMNS}",
        *values,
    )
    transaction.table = replace(table, agents={**table.agents, wanted.id: alias})
    return RowChange(None, _row(record), reverses=change.number)


async def taken_away(transaction: Transaction, change: RowChange) -> RowChange:
    """Remove an agent that was added, unless anything refers to it by now."""
    from asyncpg import ForeignKeyViolationError  # type: ignore[import-untyped]

    table = transaction.table
    present = await _with_id(transaction, change.row.id)
    if present is None:
        return RowChange(change.row, None, reverses=change.number)
    owns = await transaction.connection.fetchval(
        f"SELECT EXISTS (SELECT FROM {table.quoted} AS m WHERE m.agent_id::text = $1::text)", present.id
    )
    if owns:
        return RowChange(present, present, reverses=change.number)
    try:
        async with transaction.connection.transaction():
            await transaction.connection.execute(f"DELETE FROM {_agents(table)} WHERE id::text = $1::text", present.id)
    except ForeignKeyViolationError:
        # Another table refers to the agent.
        return RowChange(present, present, reverses=change.number)
    transaction.table = replace(table, agents={key: alias for key, alias in table.agents.items() if key != present.id})
    return RowChange(present, None, reverses=change.number)


async def _added(transaction: Transaction, alias: str) -> RowChange:
    """A new agent of that alias; as it is where another program has added it meanwhile."""
    table = transaction.table
    record = await transaction.connection.fetchrow(
        f"INSERT INTO {_agents(table)} (id, alias, created_at) VALUES ($1::text, $2::text, now()) "
        f"ON CONFLICT DO NOTHING RETURNING {_COLUMNS}",
        str(uuid.uuid4()),
        alias,
    )
    is_new = record is not None
    if record is None:
        record = await transaction.connection.fetchrow(
            f"SELECT {_COLUMNS} FROM {_agents(table)} WHERE alias = $1::text", alias
        )
    row = _row(record)
    transaction.table = replace(table, agents={**table.agents, row.id: alias})
    return RowChange(None if is_new else row, row)


async def _with_id(transaction: Transaction, id: str) -> StoredRow | None:
    record = await transaction.connection.fetchrow(
        f"SELECT {_COLUMNS} FROM {_agents(transaction.table)} WHERE id::text = $1::text FOR UPDATE", id
    )
    return None if record is None else _row(record)


def _row(record: object) -> StoredRow:
    values = dict(record)  # type: ignore[call-overload]
    return StoredRow(values["id"], values, agent=values["alias"], table=AGENTS)


def _agents(table: Table) -> str:
    return f'"{table.schema}"."agents"'
