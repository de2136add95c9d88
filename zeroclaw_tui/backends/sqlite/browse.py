"""Listings: filters and orders compiled to SQL, pages by key, the order of all rows. Values are always bound."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.backends.sqlite.finding import conditions as text_conditions
from zeroclaw_tui.backends.sqlite.rows import size_of
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.files.database import bound
from zeroclaw_tui.memory.query import Cursor, MemoryFilter, Sort, SortField, Superseded

ROWS_AT_ONCE = 500
"""The most rows fetched in one statement, so that the event loop never waits for Python objects to be made."""

_HANDLES_AT_ONCE = 2000
_MOST_ROWIDS = 2**63 - 1
_BY_CONTENT = 200
NO_MOMENT = "-1.0"
"""SQL for what `moment_of` makes of a timestamp that is no moment."""


@dataclass(frozen=True, slots=True)
class Where:
    """Conditions that must all hold, over the memories table as `m`, and what to bind."""

    conditions: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()

    def also(self, condition: str, values: Sequence[Any] = ()) -> Where:
        """One more condition."""
        return Where((*self.conditions, condition), (*self.values, *values))

    @property
    def sql(self) -> str:
        """The WHERE clause, empty without conditions."""
        return f"WHERE {' AND '.join(self.conditions)}" if self.conditions else ""


def where(schema: Schema, filter: MemoryFilter) -> Where:
    """A filter in SQL; a part about something the generation lacks leaves no rows.

    One that looks for text may name functions that a connection has within `finding` of the same filter.
    """
    found = Where()
    if filter.superseded is Superseded.HIDE and schema.has("superseded_by"):
        found = found.also("m.superseded_by IS NULL")
    elif filter.superseded is Superseded.ONLY:
        found = found.also("m.superseded_by IS NOT NULL" if schema.has("superseded_by") else "0")
    found = _one_of(found, "m.category" if schema.has("category") else "NULL", filter.category, null_is_blank=True)
    found = _one_of(found, "m.session_id" if schema.has("session_id") else "NULL", filter.session, null_is_blank=True)
    found = _one_of(found, "m.namespace" if schema.has("namespace") else "NULL", filter.namespace)
    found = _of_length(_of_agents(found, schema, filter.agent), filter)
    found = _in_window(found, schema, filter)
    for condition, values in text_conditions(filter):
        found = found.also(condition, values)
    return found


def moment_of(column: str) -> str:
    """SQL for a timestamp as a Julian day in UTC (milliseconds); -1 for what is no moment.

    Only text that begins like a date is read: SQLite would take "now" and plain numbers for moments too.
    """
    return f"CASE WHEN {column} GLOB '[0-9][0-9][0-9][0-9]-*' THEN coalesce(julianday({column}), -1.0) ELSE -1.0 END"


def page_statement(
    schema: Schema, filter: MemoryFilter, sort: Sort, cursor: Cursor | None, limit: int
) -> tuple[str, tuple[Any, ...]]:
    """What selects the rowid and the sort values of the rows after `cursor`, one more than `limit`."""
    keys = _sort_keys(schema, sort)
    found = where(schema, filter)
    if cursor is not None:
        marks, values = bound((*cursor.value, cursor.handle))
        found = found.also(f"({', '.join((*keys, 'm.rowid'))}) {'<' if sort.descending else '>'} ({marks})", values)
    columns = ", ".join(("m.rowid", *keys))
    statement = f"SELECT {columns} FROM memories AS m {found.sql} ORDER BY {_order(keys, sort)} LIMIT ?"
    return statement, (*found.values, limit + 1)


def takes_long(filter: MemoryFilter, sort: Sort) -> bool:
    """Whether a page may have to look at every row: a text or a length is looked for, or no index has the order."""
    looks_inside = filter.looks_for_text or (filter.longer_than, filter.shorter_than) != (None, None)
    return looks_inside or sort.field not in (SortField.STORED, SortField.KEY, SortField.CATEGORY)


def page_of(chosen: Sequence[Sequence[Any]], limit: int) -> tuple[list[int], Cursor | None]:
    """The rowids of one page out of the rows of `page_statement`, and where the next begins."""
    handles = [row[0] for row in chosen[:limit]]
    if len(chosen) <= limit or not handles:
        return handles, None
    return handles, Cursor(tuple(chosen[limit - 1][1:]), handles[-1])


def ordered_handles(
    connection: sqlite3.Connection, schema: Schema, filter: MemoryFilter, sort: Sort, count: int = -1
) -> array[int]:
    """The rowids of all rows in order, eight bytes each, or of the first `count`; for a thread of its own."""
    handles = array("q")
    if not count:
        return handles
    found = where(schema, filter)
    order = _order(_sort_keys(schema, sort), sort)
    # Where it has to sort, SQLite then keeps no more than these.
    few = f" LIMIT {min(count, _MOST_ROWIDS):d}" if count > 0 else ""
    statement = f"SELECT m.rowid FROM memories AS m {found.sql} ORDER BY {order}{few}"
    with closing(connection.execute(statement, found.values)) as rows:
        while batch := rows.fetchmany(_HANDLES_AT_ONCE):
            handles.extend([rowid for (rowid,) in batch])
    return handles


def listing(schema: Schema, category: str | None) -> tuple[Where, str]:
    """ZeroClaw's own list: newest update first as text, superseded rows left out, cut at 1000 before anything else."""
    found = where(schema, MemoryFilter(category=None if category is None else (category,)))
    updated = _updated(schema)
    return found, f"ORDER BY {updated} DESC LIMIT 1000"


def starting_with(schema: Schema, prefix: str) -> tuple[Where, str]:
    """The rows whose key begins so, compared byte for byte, and their order: newest update first as text."""
    low, values = bound([prefix])
    high, more = bound([prefix + chr(0x10FFFF)])
    found = where(schema, MemoryFilter()).also(f"m.key >= {low} AND m.key < {high}", (*values, *more))
    return found, f"ORDER BY {_updated(schema)} DESC"


def created(schema: Schema) -> str:
    """SQL for when a memory was created, as text."""
    return "m.created_at" if schema.has("created_at") else "''"


def _updated(schema: Schema) -> str:
    return "m.updated_at" if schema.has("updated_at") else created(schema)


def _one_of(found: Where, column: str, wanted: tuple[str, ...] | None, *, null_is_blank: bool = False) -> Where:
    if wanted is None:
        return found
    marks, values = bound(wanted)
    condition = f"{column} IN ({marks})"
    if null_is_blank and "" in wanted:
        condition = f"({condition} OR {column} IS NULL)"
    return found.also(condition, values)


def _of_agents(found: Where, schema: Schema, wanted: tuple[str, ...] | None) -> Where:
    if wanted is None:
        return found
    if not schema.has("agent_id"):
        return found.also("0")
    marks, values = bound(wanted)
    if not schema.has_agents:
        return found.also(f"m.agent_id IN ({marks})", values)
    by_alias = f"m.agent_id IN (SELECT id FROM agents WHERE alias IN ({marks}))"
    nameless = f"m.agent_id IN ({marks}) AND m.agent_id NOT IN (SELECT id FROM agents WHERE id IS NOT NULL)"
    return found.also(f"({by_alias} OR {nameless})", (*values, *values))


def _of_length(found: Where, filter: MemoryFilter) -> Where:
    for sign, limit in ((">", filter.longer_than), ("<", filter.shorter_than)):
        if limit is not None:
            found = found.also(f"coalesce({size_of('m.content')}, 0) {sign} ?", [limit])
    return found


def _in_window(found: Where, schema: Schema, filter: MemoryFilter) -> Where:
    if filter.older_than is None and filter.newer_than is None and not filter.undated:
        return found
    written = moment_of(created(schema))
    if filter.undated:
        found = found.also(f"{written} = {NO_MOMENT}")
        if filter.older_than is None and filter.newer_than is None:
            return found
    found = found.also(f"{written} <> {NO_MOMENT}")
    for sign, text in (("<", filter.older_than), (">", filter.newer_than)):
        limit = moment(text)
        if limit is not None:
            found = found.also(f"{written} {sign} julianday(?)", [sqlite_moment(limit)])
    return found


def sqlite_moment(when: datetime) -> str:
    """A moment as SQLite's date functions read it."""
    return when.astimezone(UTC).isoformat(timespec="microseconds")


def _sort_keys(schema: Schema, sort: Sort) -> tuple[str, ...]:
    """What is compared before the rowid."""
    match sort.field:
        case SortField.STORED:
            return ()
        case SortField.KEY:
            return (_never_null(schema, "key"),)
        case SortField.CATEGORY:
            return (_never_null(schema, "category"),)
        case SortField.CONTENT:
            return (f"substr({_never_null(schema, 'content')}, 1, {_BY_CONTENT})",)
        case SortField.SIZE:
            return (f"coalesce({size_of('m.content')}, 0)",)
        case SortField.AGE:
            return _time_keys(created(schema))
        case SortField.UPDATED:
            return _time_keys(f"coalesce({_updated(schema)}, {created(schema)})")


def _time_keys(column: str) -> tuple[str, str]:
    # The text decides within a millisecond: ZeroClaw writes nine digits, SQLite's dates keep three.
    return (moment_of(column), f"coalesce({column}, '')")


def _never_null(schema: Schema, column: str) -> str:
    """The column as it is where it cannot be NULL, so that its index serves the order."""
    if not schema.has(column):
        return "''"
    return f"m.{column}" if column in schema.not_null else f"coalesce(m.{column}, '')"


def _order(keys: Sequence[str], sort: Sort) -> str:
    direction = "DESC" if sort.descending else "ASC"
    return ", ".join(f"{key} {direction}" for key in (*keys, "m.rowid"))
