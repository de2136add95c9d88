"""Which rows ZeroClaw's hygiene would delete: by age as text, then over a budget."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from zeroclaw_tui.backends.answers import Budget, Outdated, Retention
from zeroclaw_tui.backends.sqlite.browse import ROWS_AT_ONCE, Where
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.stamps import stamps
from zeroclaw_tui.files.database import as_text

_EXCERPT = 120
_ORDERS = {"value": "importance, created_at", "oldest": "created_at"}


def outdated_rows(connection: sqlite3.Connection, schema: Schema, retention: Retention) -> list[Outdated]:
    """The rows that would go, in ZeroClaw's order of doing, in one consistent read; for a thread.

    Where the database lacks a column that a rule needs, every row counts as not pinned and not superseded, as after
    ZeroClaw's migration.
    """
    if not {"id", "category", "created_at", "updated_at"} <= schema.columns:
        return []
    connection.execute("BEGIN")
    found: list[Outdated] = []
    for category in retention.cutoffs:
        found += _described(connection, schema, category, _aged(schema, retention, category), is_over_budget=False)
    for category, budget in retention.budgets.items():
        over = _over(connection, schema, retention, category, budget)
        by_rowid: dict[Any, Outdated] = {}
        for start in range(0, len(over), ROWS_AT_ONCE):
            chosen = Where().also(f"m.rowid IN ({', '.join(map(str, over[start : start + ROWS_AT_ONCE]))})")
            some = _described(connection, schema, category, chosen, is_over_budget=True)
            by_rowid |= {row.stamp.handle: row for row in some}
        found += [by_rowid[rowid] for rowid in over if rowid in by_rowid]
    connection.execute("COMMIT")
    return found


def _aged(schema: Schema, retention: Retention, category: str) -> Where:
    condition = f"m.category = ? AND m.{_date(category)} < ?"
    if retention.spares_pinned:
        condition = f"{condition} AND {_unpinned(schema)}"
    return Where().also(condition, [category, retention.cutoffs[category]])


def _over(
    connection: sqlite3.Connection, schema: Schema, retention: Retention, category: str, budget: Budget
) -> Sequence[int]:
    """The rowids over a budget in the order they go: first those of the count, then one by one for the contents."""
    left = Where().also("m.category = ?", [category])
    if schema.has("superseded_by"):
        left = left.also("m.superseded_by IS NULL")
    if category in retention.cutoffs:
        aged = _aged(schema, retention, category)
        left = left.also(f"NOT coalesce({aged.conditions[0]}, 0)", aged.values)
    counted = f"SELECT count(*), coalesce(sum(length(m.content)), 0) FROM memories AS m {left.sql}"
    rows, characters = connection.execute(counted, left.values).fetchone()
    order = _ORDERS[retention.order] if schema.has("importance") else _ORDERS["oldest"]
    going = left.also(_unpinned(schema))
    over: list[int] = []
    statement = f"SELECT m.rowid, length(m.content) FROM memories AS m {going.sql} ORDER BY {order}, m.rowid"
    for rowid, length in connection.execute(statement, going.values):
        is_over = (budget.rows and rows > budget.rows) or (budget.characters and characters > budget.characters)
        if not is_over:
            break
        over.append(rowid)
        rows, characters = rows - 1, characters - (length or 0)
    return over


def _described(
    connection: sqlite3.Connection, schema: Schema, category: str, found: Where, *, is_over_budget: bool
) -> list[Outdated]:
    excerpts = f"SELECT m.rowid, substr(m.content, 1, {_EXCERPT}) FROM memories AS m {found.sql}"
    starts = dict(connection.execute(excerpts, found.values).fetchall())
    date = "created_at" if is_over_budget else _date(category)
    return [
        Outdated(
            category,
            is_over_budget,
            stamp,
            stamp.timestamp if date == "created_at" else stamp.updated_at,
            as_text(starts.get(stamp.handle)),
        )
        for stamp in stamps(connection, schema, found)
    ]


def _date(category: str) -> str:
    return "created_at" if category == "core" else "updated_at"


def _unpinned(schema: Schema) -> str:
    return "m.pinned = 0" if schema.has("pinned") else "1"
