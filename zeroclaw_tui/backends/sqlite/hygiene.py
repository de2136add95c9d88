"""The rows of a database that ZeroClaw's hygiene would delete."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from zeroclaw_tui.backends.health import Budget, ExpiredRow, Retention
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.select import SqliteSelect
from zeroclaw_tui.memory.entry import as_text

_EXCERPT = 120
_ORDERS = {"value": "m.importance, m.created_at", "oldest": "m.created_at"}


def expired_rows(connection: sqlite3.Connection, schema: Schema, retention: Retention) -> list[ExpiredRow]:
    """List the rows to delete in ZeroClaw's order, from one snapshot. Blocks.

    If the database lacks a column that a rule needs, every row counts as not pinned and not superseded, as after
    ZeroClaw's migration.
    """
    connection.execute("BEGIN")
    found: list[ExpiredRow] = []
    for category in retention.cutoffs:
        found += (row for row, _ in _rows(connection, schema, retention, category, _aged(schema, retention, category)))
    for category, budget in retention.budgets.items():
        found += _over_budget(connection, schema, retention, category, budget)
    connection.execute("COMMIT")
    return found


def _over_budget(
    connection: sqlite3.Connection, schema: Schema, retention: Retention, category: str, budget: Budget
) -> Iterator[ExpiredRow]:
    """List the rows over a budget in the order of deletion, until neither their number nor their size is over it."""
    left = "m.category = :category"
    if "superseded_by" in schema.columns:
        left = f"{left} AND m.superseded_by IS NULL"
    if category in retention.cutoffs:
        left = f"{left} AND NOT coalesce({_aged(schema, retention, category)}, 0)"
    counted = f"SELECT count(*), coalesce(sum(length(m.content)), 0) FROM memories AS m WHERE {left}"
    values = {"category": category, "cutoff": retention.cutoffs.get(category)}
    rows, characters = connection.execute(counted, values).fetchone()
    order = _ORDERS[retention.order] if "importance" in schema.columns else _ORDERS["oldest"]
    over = f"{left} AND {_unpinned(schema)} ORDER BY {order}, m.rowid"
    for row, length in _rows(connection, schema, retention, category, over, is_over_budget=True):
        is_over = (budget.rows and rows > budget.rows) or (budget.characters and characters > budget.characters)
        if not is_over:
            return
        yield row
        rows, characters = rows - 1, characters - length


def _rows(
    connection: sqlite3.Connection,
    schema: Schema,
    retention: Retention,
    category: str,
    chosen: str,
    *,
    is_over_budget: bool = False,
) -> Iterator[tuple[ExpiredRow, int]]:
    """Select rows, each with the number of characters in its content."""
    of_version, version_from = SqliteSelect(schema).reading("version")
    columns = f"{of_version}, substr(m.content, 1, {_EXCERPT}), coalesce(length(m.content), 0)"
    values = {"category": category, "cutoff": retention.cutoffs.get(category)}
    for record in connection.execute(f"SELECT {columns} FROM memories AS m WHERE {chosen}", values):
        version = version_from(record)
        is_by_creation = is_over_budget or _date(category) == "created_at"
        date = version.timestamp if is_by_creation else version.updated_at
        yield ExpiredRow(category, is_over_budget, version, date, as_text(record[-2])), record[-1]


def _aged(schema: Schema, retention: Retention, category: str) -> str:
    """The condition for rows older than the category's cutoff."""
    condition = f"m.category = :category AND m.{_date(category)} < :cutoff"
    return f"{condition} AND {_unpinned(schema)}" if retention.spares_pinned else condition


def _date(category: str) -> str:
    return "created_at" if category == "core" else "updated_at"


def _unpinned(schema: Schema) -> str:
    return "m.pinned = 0" if "pinned" in schema.columns else "1"
