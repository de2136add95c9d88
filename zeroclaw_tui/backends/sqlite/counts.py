"""Counting a database in a few passes that SQLite makes by itself: facets, statistics, storage, similar texts."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.health import Budget, Outdated, Retention
from zeroclaw_tui.backends.matching import quarter_of
from zeroclaw_tui.backends.sqlite.sql import (
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
from zeroclaw_tui.files.database import as_text, connect_read_only_blocking, translated, wal_file
from zeroclaw_tui.files.disk import file_size
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.query import AGE_GROUPS, Facets, MemoryFilter, Superseded
from zeroclaw_tui.memory.statistics import (
    BIGGEST,
    SIZE_GROUPS,
    SIZE_LIMITS,
    BigMemory,
    CacheUse,
    Embedded,
    Statistics,
    Storage,
)
from zeroclaw_tui.scoring.neighbours import Neighbour, as_neighbours, words_of

if TYPE_CHECKING:
    from zeroclaw_tui.backends.sqlite.sql import Schema


_COLUMNS = ("category", "session_id", "agent_id", "namespace")
_DAYS = (1, 7, 30)
Counts = dict[str, Counter[str | None]]
_QUARTERS_A_DAY = 96
_FIRST_QUARTER = 234_296_400
"""1970-01-01 00:00 UTC as quarter hours of Julian days (2440587.5 days)."""
_HALF_A_MILLISECOND = 5e-7
"""In quarter hours: SQLite's dates are whole milliseconds, but as Julian days they may lie a hair below one."""
_ROWS_AT_ONCE = 2000
_FIRST_PART, _MOST_IN_PART = 1000, 50_000
_RESPONSE_CACHE = "response_cache.db"
_BESIDE = ("audit.db", _RESPONSE_CACHE, "discord.db")
"""ZeroClaw's own other databases in the same folder (audit.db and discord.db from 0.5.7 on)."""
_EXCERPT = 120
_ORDERS = {"value": "importance, created_at", "oldest": "created_at"}


def facets(connection: sqlite3.Connection, schema: Schema, filter: MemoryFilter, now: str) -> Facets:
    """The counts; for a thread of its own.

    `superseded` counts what the rest of the filter finds, `not_embedded` only what the whole filter leaves.
    """
    if filter.is_empty and filter.superseded is not Superseded.ONLY:
        return _of_all(connection, schema, filter, now, _totals(connection, schema, now))
    return _of_some(connection, schema, filter, now)


def counted(
    connection: sqlite3.Connection, schema: Schema, path: Path, filter: MemoryFilter, now: str
) -> tuple[Statistics, Facets]:
    """The statistics and the facets, in one consistent read; for a thread of its own."""
    found = where(schema, filter)
    connection.execute("BEGIN")
    try:
        told = _told(connection, schema, found, now)
        rows = _statistics(connection, schema, path, found, told)
        if filter.is_empty and filter.superseded is Superseded.SHOW:
            # That pass has told all that another one over the table would tell the facets.
            return rows, _of_all(connection, schema, filter, now, (told.total, told.replaced, told.bare, told.age))
        return rows, facets(connection, schema, filter, now)
    finally:
        connection.execute("ROLLBACK")


def _totals(connection: sqlite3.Connection, schema: Schema, now: str) -> tuple[int, int, int, dict[str, int]]:
    """How many rows there are, how many of them replaced and without a vector, and how many of each age."""
    steps = ["written > julianday(?)"] * len(_DAYS) + [f"written <> {NO_MOMENT}"]
    ages = ", ".join(f"coalesce(sum({step}), 0)" for step in steps)
    statement = f"""
        SELECT count(*), coalesce(sum(replaced), 0), coalesce(sum(bare), 0), {ages}
        FROM (SELECT replaced, bare, written FROM {_flags(schema)})"""
    total, replaced, bare, *cumulative = connection.execute(statement, _limits(now)).fetchone()
    counted = [0, *cumulative, total]
    return total, replaced, bare, {name: counted[at + 1] - counted[at] for at, name in enumerate(AGE_GROUPS)}


def _of_all(
    connection: sqlite3.Connection,
    schema: Schema,
    filter: MemoryFilter,
    now: str,
    totals: tuple[int, int, int, dict[str, int]],
) -> Facets:
    """One pass over each index: those know nothing of superseded rows, which are taken off."""
    total, replaced, bare, age = totals
    counts: Counts = {}
    for column in _COLUMNS:
        if schema.has(column):
            grouped = connection.execute(f"SELECT {column}, count(*) FROM memories GROUP BY {column}")
            counts[column] = _summed(grouped)
    if filter.superseded is Superseded.HIDE and replaced:
        # They are few as a rule, and a condition in the pass above would cost every row.
        rows = _facet_groups(connection, schema, filter.but(superseded=Superseded.ONLY), now)
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
    rows = _facet_groups(connection, schema, filter if is_only else filter.but(superseded=Superseded.SHOW), now)
    shown = {Superseded.HIDE: (0,), Superseded.SHOW: (0, 1), Superseded.ONLY: (1,)}[filter.superseded]
    visible = [row for row in rows if row[4] in shown]
    age = _ages_of(visible)
    replaced = sum(row[-1] for row in rows if row[4])
    bare = sum(row[-1] for row in visible if row[5])
    return _facets(connection, schema, sum(age.values()), _counts_of(schema, visible), age, replaced, bare)


def _facet_groups(
    connection: sqlite3.Connection, schema: Schema, filter: MemoryFilter, now: str
) -> list[tuple[Any, ...]]:
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


def statistics(connection: sqlite3.Connection, schema: Schema, path: Path, found: Where) -> Statistics:
    """The statistics of the rows a condition leaves, and of the file; for a thread of its own."""
    return _statistics(connection, schema, path, found, _told(connection, schema, found, ""))


@dataclass(frozen=True, slots=True)
class _Told:
    """How many rows, how many bytes, how many of each size; how many are replaced and without a vector.

    `quarters` counts those created in each quarter hour, `undated` those at no moment that can be read, `age` those of
    each age: by that, undated ones are those that SQLite cannot read. `biggest` are sizes and rowids.
    """

    total: int
    content: int
    size: Mapping[str, int]
    replaced: int
    bare: int
    quarters: Mapping[int, int]
    undated: int
    age: dict[str, int]
    biggest: Sequence[tuple[int, int]]
    replaced_by_category: Counter[str | None]


def _statistics(connection: sqlite3.Connection, schema: Schema, path: Path, found: Where, told: _Told) -> Statistics:
    has_vectors = schema.has("embedding")
    groups = _groups(connection, schema, found, is_bare=told.bare == told.total) if has_vectors else []
    embedded, dimensions, cut = _vectors(groups) if has_vectors else (None, None, None)
    return Statistics(
        total=told.total,
        content=told.content,
        quarters=told.quarters,
        undated=told.undated,
        size=told.size,
        biggest=_named_biggest(connection, schema, told.biggest),
        vectors=sum((length or 0) * count for _, length, count in groups) if has_vectors else None,
        embedded=embedded,
        dimensions=dimensions,
        cut_vectors=cut,
        superseded=_ordered(told.replaced_by_category, blank=True) if schema.has("superseded_by") else None,
        storage=storage_of(connection, schema, path),
    )


def _told(connection: sqlite3.Connection, schema: Schema, found: Where, now: str) -> _Told:
    """One pass over the rows, a part at a time; moments to the millisecond. Without `now` all ages are the oldest's."""
    replaced = "m.superseded_by" if schema.has("superseded_by") else "NULL"
    # A vector's length is known without reading it.
    length = "length(m.embedding)" if schema.has("embedding") else "0"
    steps = ", ".join(f"count(*) FILTER (WHERE size >= {limit})" for limit in SIZE_LIMITS)
    younger = " + ".join(["(written > julianday(?))"] * len(_DAYS))
    sums = [0] * (4 + len(SIZE_LIMITS))
    groups, gone, biggest = Counter[str](), Counter[str | None](), list[tuple[int, int]]()
    part, limit = found, _FIRST_PART
    while True:
        # To group a million rows SQLite would sort them, which takes longer than all the rest: the moment of each is
        # told by a number, and those are counted here.
        statement = f"""
            SELECT max(place), group_concat(CASE WHEN size > ? THEN size || ' ' || place END),
              group_concat(CASE WHEN replaced IS NOT NULL THEN place END),
              group_concat(CASE WHEN written >= 0 THEN
                (CAST(written * {_QUARTERS_A_DAY} + {_HALF_A_MILLISECOND} AS INTEGER) - {_FIRST_QUARTER})
                * {len(_DAYS) + 1} + {younger} END),
              count(*), coalesce(sum(size), 0), count(replaced), count(length), {steps}
            FROM (SELECT m.rowid AS place, coalesce({size_of("m.content")}, 0) AS size, {replaced} AS replaced,
              {length} AS length, {moment_of(created(schema))} AS written
              FROM memories AS m NOT INDEXED {part.sql} ORDER BY m.rowid LIMIT {limit})"""
        # Of those as big the ones stored first are named.
        threshold = biggest[-1][0] if len(biggest) == BIGGEST else -1
        row = connection.execute(statement, (threshold, *_limits(now), *part.values)).fetchone()
        last, big, superseded, moments, *counted = row
        sums = [one + other for one, other in zip(sums, counted, strict=True)]
        groups.update(_parts(moments))
        sized = [(int(size), int(place)) for size, place in map(str.split, _parts(big))]
        biggest = sorted([*biggest, *sized], key=lambda one: (-one[0], one[1]))[:BIGGEST]
        gone += _categories(connection, schema, _parts(superseded))
        if counted[0] < limit:
            break
        part, limit = found.also("m.rowid > ?", [last]), min(limit * 10, _MOST_IN_PART)
    total, content, replaced_count, embedded, *cumulative = sums
    quarters, age = Counter[int](), [0] * len(AGE_GROUPS)
    for group, count in groups.items():
        quarter, younger_than = divmod(int(group), len(_DAYS) + 1)
        quarters[quarter] += count
        age[len(_DAYS) - younger_than] += count
    age[-1] = total - groups.total()
    undated = _read_here(connection, schema, found, quarters) if age[-1] else 0
    sizes = pairwise([total, *cumulative, 0])
    return _Told(
        total=total,
        content=content,
        size={name: more - less for name, (more, less) in zip(SIZE_GROUPS, sizes, strict=True)},
        biggest=biggest,
        replaced=replaced_count,
        replaced_by_category=gone,
        bare=total - embedded,
        quarters=dict(quarters),
        undated=undated,
        age=dict(zip(AGE_GROUPS, age, strict=True)),
    )


def _parts(text: str | None) -> Sequence[str]:
    """What `group_concat` put together."""
    return text.split(",") if text else ()


def _categories(connection: sqlite3.Connection, schema: Schema, rowids: Sequence[str]) -> Counter[str | None]:
    """How many of these rows each category has."""
    if not rowids:
        return Counter()
    category = "category" if schema.has("category") else "NULL"
    # By the places they lie at, whose order the others lie in too.
    statement = f"SELECT {category}, count(*) FROM memories NOT INDEXED WHERE rowid IN ({', '.join(rowids)}) GROUP BY 1"
    return _summed(connection.execute(statement))


def _read_here(connection: sqlite3.Connection, schema: Schema, found: Where, quarters: Counter[int]) -> int:
    """Add the quarter hours of what SQLite's dates do not know and may still be RFC 3339: a small t, an offset of more
    than 14 hours. Gives how many are no moment."""
    left = found.also(f"{moment_of(created(schema))} < 0")
    others = f"SELECT {created(schema)}, count(*) FROM memories AS m {left.sql} GROUP BY 1"
    undated = 0
    with closing(connection.execute(others, left.values)) as rows:
        while batch := rows.fetchmany(_ROWS_AT_ONCE):
            for text, count in batch:
                quarter = quarter_of(as_text(text))
                if quarter is None:
                    undated += count
                else:
                    quarters[quarter] += count
    return undated


def _groups(
    connection: sqlite3.Connection, schema: Schema, found: Where, *, is_bare: bool
) -> Sequence[tuple[Any, int | None, int]]:
    """For each category and length of vector how many rows; those without a vector in a pass that an index serves.

    With `is_bare` none has a vector.
    """
    category = "m.category" if schema.has("category") else "NULL"
    vectors = found.also("m.embedding IS NOT NULL")
    lengths = (
        f"SELECT {category}, length(m.embedding), count(*) FROM memories AS m NOT INDEXED {vectors.sql} GROUP BY 1, 2"
    )
    groups = [] if is_bare else connection.execute(lengths, vectors.values).fetchall()
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


def _named_biggest(
    connection: sqlite3.Connection, schema: Schema, biggest: Sequence[tuple[int, int]]
) -> tuple[BigMemory, ...]:
    columns = ", ".join(name if schema.has(name) else "NULL" for name in ("id", "key", "category"))
    statement = f"SELECT {columns} FROM memories WHERE rowid = ?"
    return tuple(
        BigMemory(as_text(memory_id), as_text(key), as_text(category), size)
        for size, rowid in biggest
        for memory_id, key, category in connection.execute(statement, (rowid,))
    )


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
        with closing(connect_read_only_blocking(path)) as connection, translated(path):
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


def nearest_by_index(
    connection: sqlite3.Connection, schema: Schema, text: str, limit: int, without: Handle | None
) -> tuple[list[Neighbour], int]:
    """The current rows nearest to a text by FTS5's bm25 of the words they share, best first, and how many there are."""
    current = "m.superseded_by IS NULL" if schema.has("superseded_by") else "1"
    (compared,) = connection.execute(f"SELECT count(*) FROM memories AS m WHERE {current}").fetchone()
    statement = f"""
        SELECT m.rowid, -bm25(memories_fts) AS score
        FROM memories_fts JOIN memories AS m ON m.rowid = memories_fts.rowid
        WHERE memories_fts MATCH ? AND {current} ORDER BY score DESC, m.rowid DESC LIMIT ?"""
    query = " OR ".join(f'"{word}"' for word in words_of(text))
    return as_neighbours(connection.execute(statement, (query, limit + 1)).fetchall(), limit, without), compared
