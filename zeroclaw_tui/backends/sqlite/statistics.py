"""Counting a whole database: sizes, moments, vectors, each in one pass that SQLite makes by itself."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.counting import quarter_of
from zeroclaw_tui.backends.sqlite.browse import Where, created, moment_of
from zeroclaw_tui.backends.sqlite.connection import as_text
from zeroclaw_tui.backends.sqlite.rows import size_of
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.storage import storage_of
from zeroclaw_tui.memory.statistics import BIGGEST, SIZE_GROUPS, SIZE_LIMITS, BigMemory, Embedded, Statistics

_QUARTERS_A_DAY = 96
_FIRST_QUARTER = 234_296_400
"""1970-01-01 00:00 UTC as quarter hours of Julian days (2440587.5 days)."""
_HALF_A_MILLISECOND = 5e-7
"""In quarter hours: SQLite's dates are whole milliseconds, but as Julian days they may lie a hair below one."""
_ROWS_AT_ONCE = 2000


def statistics(connection: sqlite3.Connection, schema: Schema, path: Path, found: Where) -> Statistics:
    """The statistics of the rows a condition leaves, and of the file; for a thread of its own."""
    groups = _groups(connection, schema, found)
    quarters, undated = _quarters(connection, schema, found)
    embedded, dimensions, cut = _vectors(groups) if schema.has("embedding") else (None, None, None)
    return Statistics(
        total=sum(group[2] for group in groups),
        content=sum(group[3] for group in groups),
        quarters=quarters,
        undated=undated,
        size={name: sum(group[4 + at] for group in groups) for at, name in enumerate(SIZE_GROUPS)},
        biggest=_biggest(connection, schema, found),
        vectors=None if embedded is None else sum((group[1] or 0) * group[2] for group in groups),
        embedded=embedded,
        dimensions=dimensions,
        cut_vectors=cut,
        storage=storage_of(connection, schema, path),
    )


def _groups(connection: sqlite3.Connection, schema: Schema, found: Where) -> Sequence[Any]:
    """For each category and length of vector: how many rows, how many bytes, how many of each size."""
    limits = (0, *SIZE_LIMITS, None)
    sizes = [f"sum(size >= {low}{'' if high is None else f' AND size < {high}'})" for low, high in pairwise(limits)]
    category = "m.category" if schema.has("category") else "NULL"
    vector = "length(m.embedding)" if schema.has("embedding") else "NULL"
    statement = f"""
        SELECT category, vector, count(*), sum(size), {", ".join(sizes)}
        FROM (SELECT {category} AS category, {vector} AS vector, coalesce({size_of("m.content")}, 0) AS size
              FROM memories AS m {found.sql} LIMIT -1 OFFSET 0)
        GROUP BY 1, 2"""
    return connection.execute(statement, found.values).fetchall()


def _vectors(groups: Sequence[Any]) -> tuple[dict[str, Embedded], dict[int, int], int]:
    totals, embedded, lengths = Counter[str](), Counter[str](), Counter[int]()
    for category, length, count, *_ in groups:
        totals[as_text(category)] += count
        if length is not None:
            embedded[as_text(category)] += count
            lengths[length] += count
    ordered = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    by_category = {category: Embedded(embedded[category], total) for category, total in ordered}
    dimensions = {length // 4: count for length, count in lengths.most_common() if length % 4 == 0}
    return by_category, dimensions, sum(count for length, count in lengths.items() if length % 4)


def _quarters(connection: sqlite3.Connection, schema: Schema, found: Where) -> tuple[dict[int, int], int]:
    """How many were created in each quarter hour, to the millisecond, and how many at no moment that can be read."""
    written = moment_of(created(schema))
    statement = f"""
        SELECT CAST(written * {_QUARTERS_A_DAY} + {_HALF_A_MILLISECOND} AS INTEGER) - {_FIRST_QUARTER}, count(*)
        FROM (SELECT {written} AS written FROM memories AS m {found.sql} LIMIT -1 OFFSET 0)
        WHERE written >= 0 GROUP BY 1"""
    counts = Counter[int](dict(connection.execute(statement, found.values)))
    undated = 0
    unread = found.also(f"{written} < 0")
    others = f"SELECT {created(schema)}, count(*) FROM memories AS m {unread.sql} GROUP BY 1"
    # What SQLite's dates do not know may still be RFC 3339: a small t, an offset of more than 14 hours.
    with closing(connection.execute(others, unread.values)) as rows:
        while batch := rows.fetchmany(_ROWS_AT_ONCE):
            for text, count in batch:
                quarter = quarter_of(as_text(text))
                if quarter is None:
                    undated += count
                else:
                    counts[quarter] += count
    return dict(counts), undated


def _biggest(connection: sqlite3.Connection, schema: Schema, found: Where) -> tuple[BigMemory, ...]:
    ordered = connection.execute(
        f"SELECT m.rowid, coalesce({size_of('m.content')}, 0) AS size FROM memories AS m {found.sql} "
        f"ORDER BY size DESC, m.rowid LIMIT {BIGGEST}",
        found.values,
    ).fetchall()
    columns = ", ".join(name if schema.has(name) else "NULL" for name in ("id", "key", "category"))
    biggest = []
    for rowid, size in ordered:
        for memory_id, key, category in connection.execute(f"SELECT {columns} FROM memories WHERE rowid = ?", (rowid,)):
            biggest.append(BigMemory(as_text(memory_id), as_text(key), as_text(category), size))
    return tuple(biggest)
