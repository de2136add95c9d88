"""Counting a database in a few passes that SQLite makes by itself: facets, statistics, what it stores, and words.

The keyword index is a count of words, which tells what is near a text without reading every memory.
"""

from __future__ import annotations

import re
import sqlite3
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise, repeat
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
from zeroclaw_tui.scoring.neighbours import LEAST, LOOKED_AT, WordNeighbours, compared_text_of, cosine, weight, words_of

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.sqlite.sql import Schema

    Numbers = np.ndarray


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
        problems.append(f"The folder of {path.name} could not be listed: {error.strerror}.")
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


_AT_ONCE = 400
_READ_AT_FIRST = 100
_DEAR = 12
"""Reading a memory and weighing its words takes as long as fetching so many rowids from the index."""
_MOST_READ, _MOST_READ_SHARE = 20_000, 8
_MOST_COUNTED = 10_000
"""Words, which takes half a second; others are taken for as rare as can be until the best texts are known."""
_MOST_GUESSED = 10_000
"""Texts read where that is so."""
_COUNTED = 20
"""Of so many texts more than are asked for all words are counted after all."""
FEW = 50_000
"""So many texts are sooner read all."""
_MOST_UNLIKE, _MOST_UNLIKE_SHARE = 20_000, 4
_ROUNDING = 1e-9
# Signs that are no part of a word, neither to FTS5's unicode61 nor here: dashes, quotation marks, arrows, emoji.
_LIKE_ASCII = re.compile(r"[\0-\x7f\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2500-\u257f\U0001f300-\U0001faff]*\Z")
_UNLIKE = f"""
    SELECT rowid, key, content, {{superseded}} IS NULL FROM memories
    WHERE {{superseded}} IS NOT NULL OR typeof(content) <> 'text'
        OR min(length(content), {LOOKED_AT}) <> length(CAST(content AS BLOB)) OR content NOT GLOB '*[0-9A-Za-z]*'"""
_PRESENT = "SELECT rowid, key, content FROM memories WHERE rowid IN ({})"


def nearest_by_index(
    connection: sqlite3.Connection,
    schema: Schema,
    asked: str,
    limit: int,
    without: Handle | None,
    going: Callable[[], None],
) -> WordNeighbours | None:
    """What `RareWords` over all current memories would answer; None where the index cannot tell it, or not sooner.

    Approximate where of more than FEW texts too many or too many words would have to be looked at. In one consistent
    read. `going` is called in between, and may raise.
    """
    if not (schema.has_fts and schema.has_triggers):
        return None
    connection.execute("BEGIN")
    try:
        index = _WordIndex(connection, schema, going)
        return index.nearest(asked, limit, without) if index.can_tell(asked) else None
    except sqlite3.DatabaseError as error:
        # A damaged index is no reason not to answer.
        if getattr(error, "sqlite_errorname", "") != "SQLITE_CORRUPT_VTAB":
            raise
        return None
    finally:
        connection.execute("ROLLBACK")


class _WordIndex:
    """What FTS5 counted, put right for the memories whose words it takes apart otherwise, or that are not compared."""

    def __init__(self, connection: sqlite3.Connection, schema: Schema, going: Callable[[], None]) -> None:
        self._connection, self._schema, self._going = connection, schema, going
        self._counts: dict[str, int] = {}
        self._more = Counter[str]()
        self.squares: dict[str, float] = {}
        """What each word that was counted weighs, squared."""
        self.unlike: dict[int, tuple[str, ...]] = {}
        """The texts that the index does not tell about, with the words of the text asked about that they have."""
        self.texts = 0

    def can_tell(self, asked: str) -> bool:
        """Count what is unlike what the index holds of it; False where that is too much, or the index is not usual."""
        connection = self._connection
        (made,) = connection.execute("SELECT lower(sql) FROM sqlite_master WHERE name = 'memories_fts'").fetchone()
        if "tokenize" in made or "detail" in made:
            return False
        (rows,) = connection.execute("SELECT count(*) FROM memories").fetchone()
        if connection.execute("SELECT count(*) FROM memories_fts_docsize").fetchone() != (rows,):
            return False
        connection.execute("PRAGMA query_only = OFF")
        connection.execute("CREATE VIRTUAL TABLE temp.counted USING fts5vocab(main, memories_fts, col)")
        connection.execute("PRAGMA query_only = ON")
        most = max(_MOST_UNLIKE, rows // _MOST_UNLIKE_SHARE)
        wanted = frozenset(words_of(asked))
        self.texts = rows
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as beside:
            beside.execute("CREATE VIRTUAL TABLE unlike USING fts5(content, content='', detail=none)")
            beside.execute("CREATE VIRTUAL TABLE counted USING fts5vocab(unlike, row)")
            for done, (rowid, key, content, is_current) in enumerate(self._rows_unlike()):
                if done == most:
                    return False
                beside.execute("INSERT INTO unlike (rowid, content) VALUES (?, ?)", (rowid, content))
                self.texts -= not is_current
                words = words_of(compared_text_of(as_text(key), as_text(content))) if is_current else ()
                self._more.update(words)
                self.unlike[rowid] = tuple(word for word in words if word in wanted)
            # Of other words the index is not asked how many there are.
            counted = beside.execute("SELECT term, doc FROM counted")
            self._more.subtract({term: texts for term, texts in counted if term.isascii()})
        return True

    def _rows_unlike(self) -> Iterator[tuple[int, object, object, bool]]:
        superseded = "superseded_by" if self._schema.has("superseded_by") else "NULL"
        with closing(self._connection.execute(_UNLIKE.format(superseded=superseded))) as found:
            while batch := found.fetchmany(_AT_ONCE):
                self._going()
                for rowid, key, content, is_current in batch:
                    is_plain = is_current and isinstance(content, str) and len(content) <= LOOKED_AT
                    if not (is_plain and _LIKE_ASCII.match(content) and words_of(content)):
                        yield rowid, key, content, is_current
                batch.clear()

    def nearest(self, asked: str, limit: int, without: Handle | None) -> WordNeighbours | None:
        """The texts nearest to one; None where all texts are read as soon."""
        counted = self.count(words_of(asked))
        counts = {word: counted[word] for word in words_of(asked)}
        search = _Search(self, counts, limit, without)
        return WordNeighbours(search.best, self.texts, counts, search.is_approximate) if search.is_done() else None

    def having(self, word: str) -> Numbers:
        """The rowids of the texts that the index knows a word in, ascending."""
        import numpy as np

        if not word.isascii():
            return np.array([], dtype=np.int64)
        self._going()
        # Put together by SQLite, and taken apart by numpy, rowids are there three times as soon as row by row.
        statement = "SELECT group_concat(rowid) FROM memories_fts WHERE memories_fts MATCH ?"
        (rowids,) = self._connection.execute(statement, (f'content : "{word}"',)).fetchone()
        return np.fromstring(rowids, dtype=np.int64, sep=",") if rowids else np.array([], dtype=np.int64)

    def read(self, rowids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """The words of these texts."""
        found: dict[int, tuple[str, ...]] = {}
        for start in range(0, len(rowids), _AT_ONCE):
            self._going()
            some = rowids[start : start + _AT_ONCE]
            for rowid, key, content in self._connection.execute(_PRESENT.format(", ".join("?" * len(some))), some):
                found[rowid] = words_of(compared_text_of(as_text(key), as_text(content)))
        return found

    @property
    def has_counted_many(self) -> bool:
        """Whether words shall no longer be counted that need not be."""
        return len(self._counts) > _MOST_COUNTED

    def count(self, words: Iterable[str]) -> Mapping[str, int]:
        """How many texts have each of these words, and of those counted before."""
        new = set(words) - self._counts.keys()
        if not new:
            return self._counts
        plain = [word for word in new if word.isascii()]
        self._counts |= {word: self._more[word] for word in new}
        for start in range(0, len(plain), _AT_ONCE):
            self._going()
            some = plain[start : start + _AT_ONCE]
            statement = (
                f"SELECT term, doc FROM temp.counted WHERE col = 'content' AND term IN ({', '.join('?' * len(some))})"
            )
            for word, texts in self._connection.execute(statement, some):
                self._counts[word] += texts
        self.squares |= {word: weight(self.texts, self._counts[word]) ** 2 for word in new}
        return self._counts


class _Search:
    """Looks for the best scores, reading only texts that may have one.

    A text's words weigh at least what it shares, so its score is at most the root of that over the length of the text
    asked about. Words are looked up from the rarest on, until what is left of them makes no text good enough.
    Where that is too much, it is approximate: those that share most are read, with words not counted taken for as rare
    as can be, and all words are counted of the best.
    """

    def __init__(self, index: _WordIndex, counts: Mapping[str, int], limit: int, without: Handle | None) -> None:
        import numpy as np

        self._np, self._index, self._limit = np, index, limit
        self._counts = {word: counts[word] for word in sorted(counts, key=counts.__getitem__) if counts[word] > 0}
        self._squares = {word: index.squares[word] for word in counts}
        self._own = sum(self._squares.values())
        self._rarest = weight(index.texts, 1) ** 2
        self._scored: list[tuple[float, int]] = []
        """Scores and rowids, the best last."""
        self._passed = [*index.unlike, *([without] if isinstance(without, int) else [])]
        """Rowids that the index is not asked about any more."""
        unlike = {
            rowid: sum(self._squares[word] for word in words)
            for rowid, words in index.unlike.items()
            if words and rowid != without
        }
        self._rowids: Numbers = np.array(sorted(unlike), dtype=np.int64)
        """The texts not read that may be good enough, ascending."""
        self._shared: Numbers = np.array([unlike[rowid] for rowid in sorted(unlike)])
        """The squared weights, summed up, of the words looked up so far that each of those shares."""
        self._read = 0
        self.is_approximate = False

    @property
    def best(self) -> Sequence[tuple[Handle, float]]:
        """The best scores found, best first, those stored later first among equals."""
        return [(rowid, score) for score, rowid in reversed(self._scored[-self._limit :]) if score >= LEAST]

    def is_done(self) -> bool:
        """Find them; False where all texts are read as soon."""
        texts, left = self._index.texts, sum(self._squares[word] for word in self._counts)
        for word, having in self._counts.items():
            are_all_known = left < self._good_enough()
            if are_all_known and len(self._rowids) <= having // _DEAR:
                break
            self._add(word, are_all_known=are_all_known)
            left -= self._squares[word]
            self._look(_READ_AT_FIRST, left)
        most = max(_MOST_READ, texts // _MOST_READ_SHARE)
        while len(self._rowids):
            self.is_approximate = self.is_approximate or len(self._rowids) + self._read > most
            if self.is_approximate and (texts <= FEW or self._read >= _MOST_GUESSED):
                break
            self._look(_AT_ONCE, left)
        if self.is_approximate and texts > FEW:
            self._count_best()
        return not self.is_approximate or texts > FEW

    def _least(self) -> float:
        """The score that a text must have to be among the best."""
        return max(LEAST, self._scored[-self._limit][0]) if len(self._scored) >= self._limit else LEAST

    def _good_enough(self) -> float:
        """What it must share for that, squared weights added up; a hair less, for rounding."""
        return self._least() ** 2 * self._own * (1 - _ROUNDING)

    def _add(self, word: str, *, are_all_known: bool) -> None:
        """Look up one more word; with `are_all_known` only of the texts that were found by those before."""
        np = self._np
        having = self._index.having(word)
        if not are_all_known:
            having = having[~np.isin(having, self._passed)]
            # Both are ascending, which a stable sort merges in one go.
            rowids = np.concatenate((self._rowids, having))
            rowids.sort(kind="stable")
            rowids = rowids[np.flatnonzero(np.append(True, rowids[1:] != rowids[:-1])[: len(rowids)])]
            shared = np.zeros(len(rowids))
            shared[np.searchsorted(rowids, self._rowids)] = self._shared
            self._rowids, self._shared = rowids, shared
        self._shared[np.isin(self._rowids, having, assume_unique=True)] += self._squares[word]

    def _look(self, most: int, left: float) -> None:
        """Read those texts that share the most and score them, and leave those that may still be good enough.

        The words not yet looked up weigh `left` together.
        """
        np = self._np
        chosen = np.argpartition(self._shared, -most)[-most:] if len(self._shared) > most else slice(None)
        rowids = self._rowids[chosen].tolist()
        texts = self._index.read(rowids)
        # Words not counted weigh nothing at first, which tells the most that each text can score.
        at_most = sorted(((self._score(words, 0.0), rowid) for rowid, words in texts.items()), reverse=True)
        for score, rowid in at_most:
            if score < self._least():
                break
            if self._index.has_counted_many:
                self.is_approximate = True
            else:
                self._index.count(texts[rowid])
            insort(self._scored, (self._score(texts[rowid], self._rarest), rowid))
        self._passed += rowids
        self._read += len(rowids)
        self._shared[chosen] = -self._own
        may_be_good = self._shared + left >= self._good_enough()
        self._rowids, self._shared = self._rowids[may_be_good], self._shared[may_be_good]

    def _score(self, words: Sequence[str], uncounted: float) -> float:
        """The score of a text of these words, where those that were not counted weigh so much, squared."""
        shared = sum([self._squares[word] for word in words if word in self._squares])
        return cosine(shared, sum(map(self._index.squares.get, words, repeat(uncounted))), self._own)

    def _count_best(self) -> None:
        """Leave only the best scores, with all words of their texts counted."""
        texts = self._index.read([rowid for _, rowid in self._scored[-self._limit - _COUNTED :]])
        for words in texts.values():
            self._index.count(words)
        self._scored = sorted((self._score(words, self._rarest), rowid) for rowid, words in texts.items())
