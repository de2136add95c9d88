"""From rows of the memories table to memories."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.files.database import as_text
from zeroclaw_tui.memory.entry import MemoryEntry, kind_from

if TYPE_CHECKING:
    from zeroclaw_tui.backends.sqlite.schema import Schema

OWNER = "owner"
"""What `agent_join` calls the agents table."""

_FIELDS = 17
# octet_length() knows the size without reading the value, but SQLite has it only from 3.43 on.
_SIZE = "octet_length({})" if sqlite3.sqlite_version_info >= (3, 43) else "length(CAST({} AS BLOB))"


def entry_columns(schema: Schema, *, excerpt: int | None, table: str = "m") -> str:
    """The SELECT list for `entry_from`; needs `agent_join`. What the generation lacks is NULL.

    `excerpt` is how many characters of the content to read, None for all. The vector itself is never read.
    """

    def column(name: str) -> str:
        return f"{table}.{name}" if schema.has(name) else "NULL"

    content = f"{table}.content"
    columns = [
        f"{table}.rowid",
        column("id"),
        f"{table}.key",
        content if excerpt is None else f"substr({content}, 1, {excerpt:d})",
        size_of(content),
        column("category"),
        column("created_at"),
        column("updated_at"),
        column("session_id"),
        column("namespace"),
        column("importance"),
        column("superseded_by"),
        column("kind"),
        column("pinned"),
        agent_of(schema, table),
        f"length({column('embedding')}) / 4",
        column("tenant_id"),
    ]
    return ", ".join(columns)


def agent_join(schema: Schema, table: str = "m") -> str:
    """The join that `entry_columns` needs to name agents; empty where there are none."""
    return f"LEFT JOIN agents AS {OWNER} ON {OWNER}.id = {table}.agent_id" if schema.has_agents else ""


def agent_of(schema: Schema, table: str = "m") -> str:
    """The agent's alias, its id where no agent has that id, NULL in generations without agents."""
    if schema.has_agents:
        return f"coalesce({OWNER}.alias, {table}.agent_id)"
    return f"{table}.agent_id" if schema.has("agent_id") else "NULL"


def size_of(expression: str) -> str:
    """The SQL for a text's length in bytes."""
    return _SIZE.format(expression)


def entry_from(row: Sequence[Any], schema: Schema) -> MemoryEntry:
    """A memory out of a row of `entry_columns`; further columns are ignored. The handle is the rowid."""
    (rowid, memory_id, key, content, size, category, created, updated, session, namespace, importance, superseded, kind,
     pinned, agent, dimensions, tenant) = row[:_FIELDS]  # fmt: skip
    text = as_text(content)
    size = size or 0
    return MemoryEntry(
        id=as_text(memory_id),
        key=as_text(key),
        content=text,
        category=as_text(category),
        timestamp=as_text(created),
        updated_at=_text_or_none(updated),
        session_id=_text_or_none(session),
        namespace=_text_or_none(namespace),
        importance=float(importance) if isinstance(importance, int | float) else None,
        superseded_by=_text_or_none(superseded),
        kind=kind_from(kind),
        pinned=None if pinned is None or not schema.has("pinned") else bool(pinned),
        agent=_text_or_none(agent),
        embedding_dimensions=dimensions,
        tenant_id=_text_or_none(tenant),
        handle=rowid,
        size=size,
        is_excerpt=len(text.encode("utf-8", "surrogateescape")) < size,
    )


def _text_or_none(value: Any) -> str | None:
    return None if value is None else as_text(value)
