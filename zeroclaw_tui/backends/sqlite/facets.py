"""How many memories a filter leaves, by category, session, agent, namespace and age."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.backends.sqlite.browse import NO_MOMENT, created, moment_of, sqlite_moment, where
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.files.database import as_text
from zeroclaw_tui.memory.query import AGE_GROUPS, Facets, MemoryFilter, Superseded

_COLUMNS = ("category", "session_id", "agent_id", "namespace")
_DAYS = (1, 7, 30)

Counts = dict[str, Counter[str | None]]


def facets(connection: sqlite3.Connection, schema: Schema, filter: MemoryFilter, now: str) -> Facets:
    """The counts; for a thread of its own.

    `superseded` counts what the rest of the filter finds, `not_embedded` only what the whole filter leaves.
    """
    if filter.is_empty and filter.superseded is not Superseded.ONLY:
        return _of_all(connection, schema, filter, now)
    return _of_some(connection, schema, filter, now)


def _of_all(connection: sqlite3.Connection, schema: Schema, filter: MemoryFilter, now: str) -> Facets:
    """One pass over the table, and one over each index: those know nothing of superseded rows, which are taken off."""
    steps = ["written > julianday(?)"] * len(_DAYS) + [f"written <> {NO_MOMENT}"]
    ages = ", ".join(f"coalesce(sum({step}), 0)" for step in steps)
    statement = f"""
        SELECT count(*), coalesce(sum(replaced), 0), coalesce(sum(bare), 0), {ages}
        FROM (SELECT replaced, bare, written FROM {_flags(schema)})"""
    total, replaced, bare, *cumulative = connection.execute(statement, _limits(now)).fetchone()
    counted = [0, *cumulative, total]
    age = {name: counted[at + 1] - counted[at] for at, name in enumerate(AGE_GROUPS)}
    counts: Counts = {}
    for column in _COLUMNS:
        if schema.has(column):
            grouped = connection.execute(f"SELECT {column}, count(*) FROM memories GROUP BY {column}")
            counts[column] = _summed(grouped)
    if filter.superseded is Superseded.HIDE and replaced:
        # They are few as a rule, and a condition in the pass above would cost every row.
        rows = _groups(connection, schema, filter.but(superseded=Superseded.ONLY), now)
        total -= replaced
        bare -= sum(row[-1] for row in rows if row[5])
        for column, taken_off in _counts_of(schema, rows).items():
            counts[column] -= taken_off
        for name, count in _ages_of(rows).items():
            age[name] -= count
    return _facets(connection, schema, total, counts, age, replaced, bare)


def _of_some(connection: sqlite3.Connection, schema: Schema, filter: MemoryFilter, now: str) -> Facets:
    """One pass with a group for each combination that occurs, summed up here."""
    is_only = filter.superseded is Superseded.ONLY
    rows = _groups(connection, schema, filter if is_only else filter.but(superseded=Superseded.SHOW), now)
    shown = {Superseded.HIDE: (0,), Superseded.SHOW: (0, 1), Superseded.ONLY: (1,)}[filter.superseded]
    visible = [row for row in rows if row[4] in shown]
    age = _ages_of(visible)
    replaced = sum(row[-1] for row in rows if row[4])
    bare = sum(row[-1] for row in visible if row[5])
    return _facets(connection, schema, sum(age.values()), _counts_of(schema, visible), age, replaced, bare)


def _groups(connection: sqlite3.Connection, schema: Schema, filter: MemoryFilter, now: str) -> list[tuple[Any, ...]]:
    """For each combination of values that occurs, whether replaced, whether without a vector, and age: how many."""
    found = where(schema, filter)
    groups = ", ".join(column if schema.has(column) else "NULL" for column in _COLUMNS)
    statement = f"""
        SELECT {groups}, replaced, bare, (written <= julianday(?)) + (written <= julianday(?))
            + (written <= julianday(?)) + (written = {NO_MOMENT}) AS age, count(*)
        FROM {_flags(schema, found.sql)} GROUP BY 1, 2, 3, 4, replaced, bare, age"""
    return connection.execute(statement, (*_limits(now), *found.values)).fetchall()


def _counts_of(schema: Schema, rows: Sequence[tuple[Any, ...]]) -> Counts:
    present = [(at, column) for at, column in enumerate(_COLUMNS) if schema.has(column)]
    return {column: _summed((row[at], row[-1]) for row in rows) for at, column in present}


def _ages_of(rows: Sequence[tuple[Any, ...]]) -> dict[str, int]:
    ages = Counter[int]()
    for row in rows:
        ages[row[6]] += row[-1]
    return {name: ages[at] for at, name in enumerate(AGE_GROUPS)}


def _flags(schema: Schema, condition: str = "") -> str:
    """A subquery with, for each memory, the grouped columns, when it was written, and two yes-or-no columns."""
    columns = ", ".join(f"m.{column}" for column in _COLUMNS if schema.has(column))
    replaced = "m.superseded_by IS NOT NULL" if schema.has("superseded_by") else "0"
    bare = "m.embedding IS NULL" if schema.has("embedding") else "0"
    # The limit keeps SQLite from merging the subquery, which would read each date once for every use of it.
    return f"""(SELECT {columns}{"," if columns else ""} {replaced} AS replaced, {bare} AS bare,
        {moment_of(created(schema))} AS written FROM memories AS m {condition} LIMIT -1 OFFSET 0)"""


def _limits(now: str) -> list[str]:
    """The moments one day, one week and thirty days ago; without a moment nothing is younger than any of them."""
    to = moment(now) or datetime.max.replace(tzinfo=UTC)
    return [sqlite_moment(to - timedelta(days=days)) for days in _DAYS]


def _facets(
    connection: sqlite3.Connection,
    schema: Schema,
    total: int,
    counts: Counts,
    age: Mapping[str, int],
    replaced: int,
    bare: int,
) -> Facets:
    return Facets(
        total=total,
        category=_ordered(counts.get("category", Counter({None: total})), blank=True),
        session=_ordered(counts["session_id"], blank=True) if schema.has("session_id") else None,
        agent=_ordered(_named(connection, counts["agent_id"], schema)) if schema.has("agent_id") else None,
        namespace=_ordered(counts["namespace"]) if schema.has("namespace") else None,
        age=age,
        superseded=replaced if schema.has("superseded_by") else None,
        not_embedded=bare if schema.has("embedding") else None,
    )


def _named(connection: sqlite3.Connection, counts: Counter[str | None], schema: Schema) -> Counter[str | None]:
    if not schema.has_agents:
        return counts
    aliases = {as_text(owner): as_text(alias) for owner, alias in connection.execute("SELECT id, alias FROM agents")}
    return _summed((owner if owner is None else aliases.get(owner, owner), count) for owner, count in counts.items())


def _summed(pairs: Iterable[tuple[object, int]]) -> Counter[str | None]:
    counter: Counter[str | None] = Counter()
    for value, count in pairs:
        counter[None if value is None else as_text(value)] += count
    return counter


def _ordered(counts: Counter[str | None], *, blank: bool = False) -> dict[str, int]:
    """By count descending, then by name; NULL counts as blank or not at all."""
    named = Counter[str]()
    for name, count in counts.items():
        if count > 0 and (name is not None or blank):
            named[name or ""] += count
    return dict(sorted(named.items(), key=lambda item: (-item[1], item[0])))
