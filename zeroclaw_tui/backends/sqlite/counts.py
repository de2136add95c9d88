"""Counting a database in a few passes that SQLite makes by itself: facets, statistics, storage, similar texts."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.health import Budget, Outdated, Retention
from zeroclaw_tui.backends.matching import quarter_of
from zeroclaw_tui.backends.sqlite.select import (
    NO_MOMENT,
    ROWS_AT_ONCE,
    Where,
    created,
    moment_of,
    size_of,
    sqlite_moment,
    stamps,
    where,
)
from zeroclaw_tui.files.database import as_text, connect_read_only_blocking, translate_sqlite_errors, wal_file
from zeroclaw_tui.files.disk import file_size
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.query import AGE_GROUPS, MemoryFilter, Superseded
from zeroclaw_tui.memory.statistics import (
    CUT_VECTOR,
    SIZE_GROUPS,
    SIZE_LIMITS,
    CacheUse,
    CountField,
    Counts,
    Storage,
    by_count,
)
from zeroclaw_tui.scoring.neighbours import Near, as_neighbours, words_of

if TYPE_CHECKING:
    from zeroclaw_tui.backends.sqlite.schema import Schema


_DAYS = (1, 7, 30)
_QUARTERS_A_DAY = 96
_FIRST_QUARTER = 234_296_400
"""1970-01-01 00:00 UTC as quarter hours of Julian days (2440587.5 days)."""
_HALF_A_MILLISECOND = 5e-7
"""In quarter hours: SQLite's dates are whole milliseconds, but as Julian days they may lie a hair below one."""
_RESPONSE_CACHE = "response_cache.db"
_BESIDE = ("audit.db", _RESPONSE_CACHE, "discord.db")
"""ZeroClaw's own other databases in the same folder (audit.db and discord.db from 0.5.7 on)."""
_EXCERPT = 120
_ORDERS = {"value": "importance, created_at", "oldest": "created_at"}


def count_up(
    connection: sqlite3.Connection, schema: Schema, filter: MemoryFilter, now: str, by: Sequence[CountField]
) -> Counts:
    """Count what a filter selects by one GROUP BY of all fields; for a thread of its own.

    Superseded memories are counted whatever the filter says of them, so the groups hold them too.
    """
    if not by:
        found = where(schema, filter)
        return Counts(connection.execute(f"SELECT count(*) FROM memories AS m {found.sql}", found.values).fetchone()[0])
    groups = _Groups(connection, schema, filter, now, by)
    counters = {field: Counter[Any]() for field in by if groups.has(field)}
    total = content = 0
    for group in groups:
        if group.is_superseded and "superseded" in counters:
            counters["superseded"][group.category] += group.count
        if group.is_superseded and filter.superseded is Superseded.HIDE:
            continue
        total += group.count
        content += group.content
        for field, counter in counters.items():
            if field != "superseded" and (value := group.value(field)) is not None:
                counter[value] += group.count
    if "quarter" in counters:
        counters["quarter"] += _unread_quarters(connection, schema, filter)
    aliases = _aliases(connection, schema) if "agent" in counters else {}
    found_by: dict[CountField, Mapping[Any, int]] = {}
    for field, counter in counters.items():
        if field == "age":
            found_by[field] = {name: counter[at] for at, name in enumerate(AGE_GROUPS)}
        elif field == "agent":
            found_by[field] = by_count(_summed((aliases.get(owner, owner), count) for owner, count in counter.items()))
        elif field == "size":
            found_by[field] = {name: counter[at] for at, name in enumerate(SIZE_GROUPS)}
        elif field in ("quarter", "dimensions"):
            found_by[field] = dict(counter.most_common())
        else:
            found_by[field] = by_count(counter)
    return Counts(total, found_by, content)


_NO_QUARTER = -(2**40)


@dataclass(frozen=True, slots=True)
class _Group:
    """The rows that agree in every field counted by, how many they are, and the bytes of their contents."""

    names: tuple[CountField, ...]
    row: tuple[Any, ...]

    @property
    def count(self) -> int:
        return int(self.row[-2])

    @property
    def content(self) -> int:
        return int(self.row[-1])

    @property
    def category(self) -> str:
        return as_text(self.row[0])

    @property
    def is_superseded(self) -> bool:
        return bool(self.row[1])

    def value(self, field: CountField) -> Any:
        """The value of a field, None where its rows have none."""
        if field == "category":
            return self.category
        found = self.row[2 + self.names.index(field)]
        if field == "embedded":
            return self.category if found else None
        if field == "quarter":
            # What SQLite cannot read is read in Python afterwards.
            return None if found == _NO_QUARTER else found
        if field in ("session", "agent", "namespace"):
            return None if found is None else as_text(found)
        return found


class _Groups:
    """The groups of a GROUP BY over some fields, superseded memories included."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        schema: Schema,
        filter: MemoryFilter,
        now: str,
        by: Sequence[CountField],
    ) -> None:
        self._connection, self._schema = connection, schema
        with_hidden = filter.superseded is Superseded.HIDE and "superseded" in by
        self._filter = filter.but(superseded=Superseded.SHOW) if with_hidden else filter
        self._limits = _limits(now) if "age" in by else []
        self._names = tuple(field for field in by if field not in ("category", "superseded") and self.has(field))

    def has(self, field: CountField) -> bool:
        """Whether this generation has what a field counts."""
        column = _COLUMN_OF.get(field)
        return column is None or self._schema.has(column)

    def __iter__(self) -> Iterator[_Group]:
        schema, found = self._schema, where(self._schema, self._filter)
        raw = {
            "category": "m.category" if schema.has("category") else "NULL",
            "superseded": "m.superseded_by IS NOT NULL" if schema.has("superseded_by") else "0",
            "size": f"coalesce({size_of('m.content')}, 0)",
            "written": moment_of(created(schema)) if {"age", "quarter"} & {*self._names} else "0",
            "vector": "length(m.embedding)" if {"embedded", "dimensions"} & {*self._names} else "NULL",
        }
        raw |= {field: f"m.{_COLUMN_OF[field]}" for field in ("session", "agent", "namespace") if field in self._names}
        fields = ", ".join(f"{_expression(field)} AS {field}_" for field in self._names)
        places = ", ".join(str(at) for at in range(1, len(self._names) + 3))
        # The limit keeps SQLite from merging the subquery, which would read each date once for every use of it.
        statement = f"""
            SELECT coalesce(category, ''), superseded{"," if fields else ""} {fields}, count(*), sum(size)
            FROM (SELECT {", ".join(f"{sql} AS {name}" for name, sql in raw.items())}
                  FROM memories AS m {found.sql} LIMIT -1 OFFSET 0)
            GROUP BY {places}"""
        with closing(self._connection.execute(statement, (*self._limits, *found.values))) as rows:
            for row in rows:
                yield _Group(self._names, row)


_COLUMN_OF: Mapping[str, str] = {
    "session": "session_id",
    "agent": "agent_id",
    "namespace": "namespace",
    "superseded": "superseded_by",
    "embedded": "embedding",
    "dimensions": "embedding",
}
"""The column that a field needs."""


def _expression(field: CountField) -> str:
    """SQL for a field over the columns of the subquery."""
    match field:
        case "session":
            return "coalesce(session, '')"
        case "age":
            return f"{' + '.join(['(written <= julianday(?))'] * len(_DAYS))} + (written = {NO_MOMENT})"
        case "embedded":
            return "vector IS NOT NULL"
        case "size":
            return " + ".join(f"(size >= {limit})" for limit in SIZE_LIMITS)
        case "quarter":
            quarter = f"CAST(written * {_QUARTERS_A_DAY} + {_HALF_A_MILLISECOND} AS INTEGER) - {_FIRST_QUARTER}"
            return f"CASE WHEN written < 0 THEN {_NO_QUARTER} ELSE {quarter} END"
        case "dimensions":
            return f"CASE WHEN vector % 4 THEN {CUT_VECTOR} ELSE vector / 4 END"
        case _:
            return field


def _limits(now: str) -> list[str]:
    """The moments one day, one week and thirty days ago; without a moment nothing is younger than any of them."""
    to = moment(now) or datetime.max.replace(tzinfo=UTC)
    return [sqlite_moment(to - timedelta(days=days)) for days in _DAYS]


def _aliases(connection: sqlite3.Connection, schema: Schema) -> dict[str, str]:
    if not schema.has_agents:
        return {}
    return {as_text(owner): as_text(alias) for owner, alias in connection.execute("SELECT id, alias FROM agents")}


def _summed(pairs: Iterable[tuple[str, int]]) -> Counter[str]:
    counter = Counter[str]()
    for value, count in pairs:
        counter[value] += count
    return counter


def _unread_quarters(connection: sqlite3.Connection, schema: Schema, filter: MemoryFilter) -> Counter[int | None]:
    """The quarter hours of times that SQLite's dates do not know and may still be RFC 3339: a small t, an offset of
    more than 14 hours."""
    left = where(schema, filter).also(f"{moment_of(created(schema))} < 0")
    others = f"SELECT {created(schema)}, count(*) FROM memories AS m {left.sql} GROUP BY 1"
    quarters = Counter[int | None]()
    with closing(connection.execute(others, left.values)) as rows:
        for text, count in rows:
            quarters[quarter_of(as_text(text))] += count
    return quarters


def storage_of(connection: sqlite3.Connection, schema: Schema, path: Path) -> Storage:
    """What the file takes, and what lies beside it; for a thread of its own."""
    page_size, pages, free = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
    )
    problems: list[str] = []
    return Storage(
        file=file_size(path),
        write_ahead_log=file_size(wal_file(path)),
        page_size=page_size,
        pages=pages,
        free_pages=free,
        embedding_cache=_embedding_cache(connection, schema),
        response_cache=_response_cache(path.with_name(_RESPONSE_CACHE), problems),
        side_files=_side_files(path, problems),
        problems=tuple(problems),
    )


def _embedding_cache(connection: sqlite3.Connection, schema: Schema) -> CacheUse | None:
    if "embedding_cache" not in schema.tables:
        return None
    rows, size = connection.execute(
        "SELECT count(*), coalesce(sum(length(embedding)), 0) FROM embedding_cache"
    ).fetchone()
    return CacheUse(rows, size)


def _response_cache(path: Path, problems: list[str]) -> CacheUse | None:
    """The answers ZeroClaw keeps (>= 0.1.2, off unless the config says so)."""
    if file_size(path) == 0:
        return None
    statement = (
        "SELECT count(*), coalesce(sum(length(CAST(response AS BLOB))), 0), coalesce(sum(hit_count), 0) "
        "FROM response_cache"
    )
    try:
        with closing(connect_read_only_blocking(path)) as connection, translate_sqlite_errors(path):
            rows, size, hits = connection.execute(statement).fetchone()
    except InspectorError as error:
        problems.append(str(error))
        return None
    return CacheUse(rows, size, hits)


def _side_files(path: Path, problems: list[str]) -> tuple[tuple[str, int], ...]:
    """Names and sizes, the biggest first; the database itself and its log are told elsewhere."""
    # The -shm file is only the index of the log, made and removed as programs come and go.
    own = (path.name, f"{path.name}-wal", f"{path.name}-shm")
    found: list[tuple[str, int]] = []
    try:
        for file in path.absolute().parent.iterdir():
            of_database = file.name.startswith((f"{path.name}-", f"{path.name}.")) or file.name.startswith(_BESIDE)
            if of_database and file.name not in own and file.is_file():
                found.append((file.name, file_size(file)))
    except OSError as error:
        problems.append(f"The directory of {path.name} cannot be listed: {error.strerror}.")
    return tuple(sorted(found, key=lambda item: (-item[1], item[0])))


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


def near_by_index(connection: sqlite3.Connection, schema: Schema, text: str, limit: int) -> Near:
    """Find the current rows nearest to a text by FTS5's bm25 of the words both have."""
    current = "m.superseded_by IS NULL" if schema.has("superseded_by") else "1"
    (compared,) = connection.execute(f"SELECT count(*) FROM memories AS m WHERE {current}").fetchone()
    statement = f"""
        SELECT m.rowid, -bm25(memories_fts) AS score
        FROM memories_fts JOIN memories AS m ON m.rowid = memories_fts.rowid
        WHERE memories_fts MATCH ? AND {current} ORDER BY score DESC, m.rowid DESC LIMIT ?"""
    query = " OR ".join(f'"{word}"' for word in words_of(text))
    return Near(as_neighbours(connection.execute(statement, (query, limit)).fetchall()), compared)
