"""Which memories a removal means, and in which state each of them was shown."""

from __future__ import annotations

import sqlite3
from typing import Any

from zeroclaw_tui.backends.sqlite.browse import Where
from zeroclaw_tui.backends.sqlite.rows import agent_join, agent_of, size_of
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.files.database import as_text
from zeroclaw_tui.memory.change import Stamp, StoredRow


def stamps(connection: sqlite3.Connection, schema: Schema, found: Where) -> list[Stamp]:
    """The stamps of the rows a condition leaves, in the order of storing; for a thread of its own."""
    columns = ("id", "key", "category", "created_at", "updated_at", "superseded_by")
    named = [f"m.{column}" if schema.has(column) else "NULL" for column in columns]
    selected = ", ".join(["m.rowid", *named, size_of("m.content"), agent_of(schema)])
    statement = f"SELECT {selected} FROM memories AS m {agent_join(schema)} {found.sql} ORDER BY m.rowid"
    return [_stamp(row) for row in connection.execute(statement, found.values)]


def state_of(row: StoredRow) -> str:
    """The state a stamp of this row has."""
    values = row.values
    size = len(as_text(values["content"]).encode("utf-8", "surrogateescape"))
    return _state(values.get("updated_at"), size, values.get("superseded_by"))


def stamp_of(row: StoredRow) -> Stamp:
    """The stamp of a row with every column."""
    values = row.values
    size = len(as_text(values["content"]).encode("utf-8", "surrogateescape"))
    created, updated = values.get("created_at"), values.get("updated_at")
    seen = (row.handle, row.id, values["key"], values.get("category"), created, updated, values.get("superseded_by"))
    return _stamp((*seen, size, row.agent))


def _stamp(row: tuple[Any, ...]) -> Stamp:
    rowid, memory_id, key, category, created, updated, superseded, size, agent = row
    return Stamp(
        id=as_text(memory_id),
        state=_state(updated, size or 0, superseded),
        key=as_text(key),
        category=as_text(category),
        size=size or 0,
        timestamp=as_text(created),
        updated_at=as_text(updated),
        agent=None if agent is None else as_text(agent),
        handle=rowid,
    )


def _state(updated: object, size: int, superseded: object) -> str:
    """Every store of ZeroClaw's gives a new `updated_at`; only replacing a memory by another sets just that."""
    return f"{as_text(updated)} {size}" + ("" if superseded is None else f" {as_text(superseded)}")
