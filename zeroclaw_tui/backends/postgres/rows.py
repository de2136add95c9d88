"""From a record of the driver to a memory, and to the row exactly as it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zeroclaw_tui.backends.postgres.table import Table
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.entry import MemoryEntry


def entry_columns(table: Table, *, excerpt: bool) -> str:
    """The select list of a memory; every value comes as text, number or null, so that no type has to be looked up."""
    raise NotImplementedError


def entry_from(record: Mapping[str, Any], table: Table) -> MemoryEntry:
    """The memory. Its handle is its id; times are RFC 3339 in UTC with six digits of fraction."""
    raise NotImplementedError


def stored_columns(table: Table) -> str:
    """The select list of a whole row: every column as the text that PostgreSQL itself reads back to the same value."""
    raise NotImplementedError


def stored_row(record: Mapping[str, Any], table: Table) -> StoredRow:
    """The row as it is stored.

    Values have ZeroClaw's names: key, content, category, created_at, updated_at, session_id, namespace, importance (a
    number), `embedding` as float32 little-endian bytes; other columns are text. The agent's alias is `agent`.
    """
    raise NotImplementedError


def parameters(row: StoredRow, table: Table) -> dict[str, Any]:
    """Back again: for each column of the table the value to bind, all as text or None; `casts` says how to bind it."""
    raise NotImplementedError


def casts(table: Table) -> dict[str, str]:
    """For each column how a text parameter becomes its value: `CAST(%s AS timestamp with time zone)`, %s the place."""
    raise NotImplementedError
