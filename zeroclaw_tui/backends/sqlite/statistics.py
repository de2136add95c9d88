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
from zeroclaw_tui.backends.sqlite.rows import size_of
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.storage import storage_of
from zeroclaw_tui.files.database import as_text
from zeroclaw_tui.memory.statistics import BIGGEST, SIZE_GROUPS, SIZE_LIMITS, BigMemory, Embedded, Statistics

_QUARTERS_A_DAY = 96
_FIRST_QUARTER = 234_296_400
"""1970-01-01 00:00 UTC as quarter hours of Julian days (2440587.5 days)."""
_HALF_A_MILLISECOND = 5e-7
"""In quarter hours: SQLite's dates are whole milliseconds, but as Julian days they may lie a hair below one."""
_ROWS_AT_ONCE = 2000


def statistics(connection: sqlite3.Connection, schema: Schema, path: Path, found: Where) -> Statistics:
    """The statistics of the rows a condition leaves, and of the file; for a thread of its own."""
    total, content, size = _sizes(connection, found)
    quarters, undated = _quarters(connection, schema, found)
    has_vectors = schema.has("embedding")
    groups = _groups(connection, schema, found) if has_vectors else []
    embedded, dimensions, cut = _vectors(groups) if has_vectors else (None, None, None)
    return Statistics(
        total=total,
        content=content,
        quarters=quarters,
        undated=undated,
        size=size,
        biggest=_biggest(connection, schema, found),
        vectors=sum((length or 0) * count for _, length, count in groups) if has_vectors else None,
        embedded=embedded,
        dimensions=dimensions,
        cut_vectors=cut,
        storage=storage_of(connection, schema, path),
    )


def _sizes(connection: sqlite3.Connection, found: Where) -> tuple[int, int, dict[str, int]]:
    """How many rows, how many bytes, how many of each size."""
    steps = [f"coalesce(sum(size >= {limit}), 0)" for limit in SIZE_LIMITS]
    statement = f"""
        SELECT count(*), coalesce(sum(size), 0), {", ".join(steps)}
        FROM (SELECT coalesce({size_of("m.content")}, 0) AS size FROM memories AS m {found.sql} LIMIT -1 OFFSET 0)"""
    total, content, *cumulative = connection.execute(statement, found.values).fetchone()
    counted = pairwise([total, *cumulative, 0])
    return total, content, {name: more - less for name, (more, less) in zip(SIZE_GROUPS, counted, strict=True)}


def _groups(connection: sqlite3.Connection, schema: Schema, found: Where) -> Sequence[tuple[Any, int | None, int]]:
    """For each category and length of vector how many rows; those without a vector in a pass that an index serves."""
    category = "m.category" if schema.has("category") else "NULL"
    vectors = found.also("m.embedding IS NOT NULL")
    lengths = (
        f"SELECT {category}, length(m.embedding), count(*) FROM memories AS m NOT INDEXED {vectors.sql} GROUP BY 1, 2"
    )
    groups = connection.execute(lengths, vectors.values).fetchall()
    every = f"SELECT {category}, count(*) FROM memories AS m {found.sql} GROUP BY 1"
    left = Counter[Any](dict(connection.execute(every, found.values)))
    for name, _, count in groups:
        left[name] -= count
    return [*groups, *((name, None, count) for name, count in left.items() if count)]


def _vectors(groups: Sequence[tuple[Any, int | None, int]]) -> tuple[dict[str, Embedded], dict[int, int], int]:
    totals, embedded, lengths = Counter[str](), Counter[str](), Counter[int]()
    for category, length, count in groups:
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
        SELECT CASE WHEN written >= 0
            THEN CAST(written * {_QUARTERS_A_DAY} + {_HALF_A_MILLISECOND} AS INTEGER) - {_FIRST_QUARTER} END, count(*)
        FROM (SELECT {written} AS written FROM memories AS m {found.sql} LIMIT -1 OFFSET 0) GROUP BY 1"""
    counts = Counter[int](dict(connection.execute(statement, found.values)))
    undated = 0
    if not counts.pop(None, 0):  # type: ignore[call-overload]
        return dict(counts), undated
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
