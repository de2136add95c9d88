"""Looking at a whole table: facets, statistics, stamps, whether somebody else has written, similar texts."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.postgres.connect import (
    PASS_SECONDS,
    Connections,
    patience,
)
from zeroclaw_tui.backends.postgres.schema import Table
from zeroclaw_tui.backends.postgres.sql import (
    Parameters,
    agent_named,
    category_of,
    category_text,
    conditions,
    is_dated,
    moment_of,
    rfc3339,
)
from zeroclaw_tui.memory.change import Stamp, StoredRow, Value
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.query import AGE_GROUPS, Facets, MemoryFilter
from zeroclaw_tui.memory.statistics import (
    BIGGEST,
    QUARTER_SECONDS,
    SIZE_GROUPS,
    SIZE_LIMITS,
    BigMemory,
    Embedded,
    Statistics,
)
from zeroclaw_tui.scoring.neighbours import LOOKED_AT, Neighbour, as_neighbours

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]


Groups = Sequence[Mapping[str, Any]]

_DAYS = (1, 7, 30)
_GROUPED = ("category", "agent_id", "namespace")
_GROUPS_AT_ONCE = 2000
_DIGEST = "substring(encode(sha256(convert_to(m.content, 'UTF8')), 'hex') FROM 1 FOR 16)"
_SMALL = 8 * 1024 * 1024
"""Up to this size, in bytes without what lies beside the rows, a table is looked through whole."""


def facet_statement(table: Table, filter: MemoryFilter, now: str) -> tuple[str, Sequence[Any]]:
    """What counts by category, session, agent, namespace and age in one pass, and its values.

    There may be as many sessions as memories: they are counted separately from what else occurs together, and put in
    order by the server.
    """
    condition, values = conditions(filter, table)
    given = Parameters(values)
    to = moment(now) or datetime.max.replace(tzinfo=UTC)
    limits = [moment_of(given.text((to - timedelta(days=days)).isoformat())) for days in _DAYS]
    ages = " ".join(f"WHEN m.{table.created} > {limit} THEN {at}" for at, limit in enumerate(limits))
    columns = ", ".join(
        [
            *(f"m.{name}::text AS {name}" if table.has(name) else f"NULL AS {name}" for name in _GROUPED),
            "coalesce(m.session_id::text, '') AS session" if table.has("session_id") else "NULL AS session",
            f"CASE WHEN NOT {is_dated(table)} THEN {len(_DAYS) + 1} {ages} ELSE {len(_DAYS)} END AS age",
            ("m.embedding IS NULL" if table.keeps_vectors else "false") + " AS bare",
        ]
    )
    others = ", ".join((*_GROUPED, "age", "bare"))
    each = f"(SELECT {columns} FROM {table.quoted} AS m WHERE {condition}) AS each"
    statement = f"""
        SELECT {others}, session, grouping(session) = 0 AS is_session, sum(rows)::bigint AS rows
        FROM (SELECT {others}, session, count(*) AS rows FROM {each} GROUP BY {others}, session) AS groups
        GROUP BY GROUPING SETS (({others}), (session)) ORDER BY rows DESC, session COLLATE "C"
    """
    return statement, given.values


async def facets_of(groups: Groups, table: Table) -> Facets:
    """The groups of `facet_statement` added up."""
    counts = _Counts(table)
    for start in range(0, len(groups), _GROUPS_AT_ONCE):
        counts.add(groups[start : start + _GROUPS_AT_ONCE])
        await asyncio.sleep(0)
    return counts.facets()


class _Counts:
    """Groups added up."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._sessions: dict[str, int] = {}
        self._by: dict[str, Counter[str | None]] = {name: Counter() for name in _GROUPED}
        self._ages = Counter[int]()
        self._bare = 0

    def add(self, groups: Sequence[Mapping[str, Any]]) -> None:
        """Some more of the groups."""
        for group in groups:
            rows = group["rows"]
            if group["is_session"]:
                self._sessions[group["session"]] = rows
                continue
            for name, counter in self._by.items():
                counter[group[name]] += rows
            self._ages[group["age"]] += rows
            self._bare += rows if group["bare"] else 0

    def facets(self) -> Facets:
        """What they come to. A row without a namespace is in none."""
        table = self._table
        namespaces = {name: rows for name, rows in self._by["namespace"].items() if name is not None}
        return Facets(
            total=self._ages.total(),
            category=_ordered(self._by["category"], lambda stored: category_of(stored, table)),
            session=self._sessions if table.has("session_id") else None,
            agent=_ordered(self._by["agent_id"], lambda owner: table.agents.get(owner, owner))
            if table.has("agent_id")
            else None,
            namespace=_ordered(namespaces, str) if table.has("namespace") else None,
            age={name: self._ages[at] for at, name in enumerate(AGE_GROUPS)},
            not_embedded=self._bare if table.keeps_vectors else None,
        )


def _ordered(counted: Mapping[Any, int], named: Callable[[str], str]) -> dict[str, int]:
    """By count descending, then by name; NULL counts as blank, and several spellings of one name as that name."""
    counter = Counter[str]()
    for stored, rows in counted.items():
        counter[named(stored or "")] += rows
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))


def statistics_statements(
    table: Table, filter: MemoryFilter
) -> tuple[tuple[str, Sequence[Any]], tuple[str, Sequence[Any]]]:
    """What counts the groups of `statistics_of`, and what finds the biggest memories, each with its values."""
    condition, values = conditions(filter, table)
    given = Parameters(values)
    return (_counting(table, condition), values), (_biggest(table, condition, given.count(BIGGEST)), given.values)


def statistics_of(groups: Groups, biggest: Groups, table: Table) -> Statistics:
    """The statistics of these. A vector counts as four bytes a number."""
    embedded, dimensions = _vectors(groups, table)
    quarters = Counter[int]()
    for group in groups:
        if group["quarter"] is not None:
            quarters[group["quarter"]] += group["rows"]
    return Statistics(
        total=sum(group["rows"] for group in groups),
        content=sum(group["bytes"] for group in groups),
        quarters=dict(quarters),
        undated=sum(group["rows"] for group in groups if group["quarter"] is None),
        size={name: sum(group[f"size_{at}"] for group in groups) for at, name in enumerate(SIZE_GROUPS)},
        biggest=tuple(
            BigMemory(row["id"], row["key"], category_of(row["category"] or "", table), row["size"]) for row in biggest
        ),
        vectors=None if dimensions is None else sum(4 * length * count for length, count in dimensions.items()),
        embedded=embedded,
        dimensions=dimensions,
        cut_vectors=None if dimensions is None else 0,
    )


def _counting(table: Table, condition: str) -> str:
    """For each category, length of vector and quarter hour: how many rows, how many bytes, how many of each size."""
    limits = (0, *SIZE_LIMITS, None)
    sizes = [
        f"count(*) FILTER (WHERE size >= {low}{'' if high is None else f' AND size < {high}'}) AS size_{at}"
        for at, (low, high) in enumerate(pairwise(limits))
    ]
    created = f"m.{table.created}"
    return f"""
        SELECT category, length, quarter, count(*) AS rows, coalesce(sum(size), 0)::bigint AS bytes, {", ".join(sizes)}
        FROM (SELECT m.category::text AS category, {_length(table)} AS length, octet_length(m.content) AS size,
                     CASE WHEN isfinite({created})
                          THEN floor(extract(epoch FROM {created}) / {QUARTER_SECONDS})::bigint END AS quarter
              FROM {table.quoted} AS m WHERE {condition}) AS each
        GROUP BY category, length, quarter"""


def _length(table: Table) -> str:
    """How many numbers a vector has; where the column's type says so no vector is read for it."""
    if not table.keeps_vectors:
        return "NULL::int"
    if table.dimensions is not None:
        return f"CASE WHEN m.embedding IS NOT NULL THEN {table.dimensions} END"
    return f"{table.schema_of_vector}.vector_dims(m.embedding)"


def _vectors(groups: Groups, table: Table) -> tuple[dict[str, Embedded] | None, dict[int, int] | None]:
    if not table.keeps_vectors:
        return None, None
    totals, embedded, lengths = Counter[str](), Counter[str](), Counter[int]()
    for group in groups:
        category = category_of(group["category"] or "", table)
        totals[category] += group["rows"]
        if group["length"] is not None:
            embedded[category] += group["rows"]
            lengths[group["length"]] += group["rows"]
    ordered = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    return {category: Embedded(embedded[category], total) for category, total in ordered}, dict(lengths.most_common())


def _biggest(table: Table, condition: str, count: str) -> str:
    return f"""
        SELECT m.id::text AS id, m.key::text AS key, m.category::text AS category, octet_length(m.content) AS size
        FROM {table.quoted} AS m WHERE {condition} ORDER BY octet_length(m.content) DESC, m.id LIMIT {count}"""


def stamp_of(row: StoredRow) -> Stamp:
    """The stamp of a row with every column."""
    values = row.values
    content = str(values["content"] or "").encode()
    return Stamp(
        id=row.id,
        state=state_of(row),
        key=str(values["key"] or ""),
        category=str(values.get("category") or ""),
        size=len(content),
        timestamp=str(values.get("created_at") or ""),
        updated_at=str(values.get("updated_at") or ""),
        agent=row.agent,
        handle=row.id,
    )


def state_of(row: StoredRow) -> str:
    """The state a stamp of this row has."""
    values = row.values
    content = values["content"]
    digest = None if content is None else hashlib.sha256(str(content).encode()).hexdigest()[:16]
    return _state(values.get("updated_at"), values["key"], values["category"] or "", values.get("session_id"), digest)


def stamp_select(table: Table) -> str:
    """The beginning of a statement whose records are for `stamp_from`."""
    columns = ", ".join(
        [
            "m.id::text AS id",
            "m.key::text AS key",
            f"{category_text(table)} AS category",
            f"m.{table.created}::text AS created_at",
            f"m.{table.updated}::text AS updated_at",
            "m.session_id::text AS session_id" if table.has("session_id") else "NULL::text AS session_id",
            "m.agent_id::text AS agent_id" if table.has("agent_id") else "NULL::text AS agent_id",
            "octet_length(m.content) AS size",
            f"{_DIGEST} AS digest",
        ]
    )
    return f"SELECT {columns} FROM {table.quoted} AS m"


def stamp_from(record: Any, table: Table) -> Stamp:
    """The stamp of a row, in the state in which it is."""
    category, updated = category_of(record["category"], table), rfc3339(record["updated_at"])
    return Stamp(
        id=record["id"],
        state=_state(updated, record["key"], category, record["session_id"], record["digest"]),
        key=record["key"] or "",
        category=category,
        size=record["size"] or 0,
        timestamp=rfc3339(record["created_at"]) or "",
        updated_at=updated or "",
        agent=agent_named(record["agent_id"], table),
        handle=record["id"],
    )


def _state(*parts: Value) -> str:
    """A short text that differs where one of the parts does; programs beside ZeroClaw may leave the times alone."""
    told = "\x00".join("\x01" if part is None else str(part) for part in parts)
    return hashlib.blake2b(told.encode(), digest_size=12).hexdigest()


async def version_of(connection: asyncpg.Connection, table: Table) -> tuple[Any, ...]:
    """Values of which at least one changes with every committed write, a new column or agent included.

    In a small table the transactions that wrote its rows are added up, which is exact and seen at once. In a bigger
    one PostgreSQL's own counters are read, which it brings up to date a second, at most ten, after a commit, and the
    newest `updated_at`, which tells of a store at once.
    """
    look = await connection.fetchrow(
        "SELECT c.oid::text AS oid, pg_table_size(c.oid) AS size, "
        "(SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute "
        "WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns "
        "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2",
        table.schema,
        table.name,
    )
    if look is None:
        return ()
    shape = (look["oid"], look["columns"])
    if table.kind == "r" and look["size"] <= _SMALL:
        rows = await connection.fetchrow(
            f"SELECT count(*) AS rows, coalesce(sum(xmin::text::bigint), 0)::text AS writers FROM {table.quoted}"
        )
        return (*shape, rows["rows"], rows["writers"])
    counted = await connection.fetchrow(
        f"SELECT (SELECT max({table.updated})::text FROM {table.quoted}) AS newest, "
        "(SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::text FROM pg_stat_all_tables WHERE relid IN "
        "(SELECT $1::text::oid UNION SELECT inhrelid FROM pg_inherits WHERE inhparent = $1::text::oid)) AS written",
        look["oid"],
    )
    return (*shape, counted["newest"], counted["written"])


async def nearest_by_words(
    connections: Connections, table: Table, text: str, limit: int, without: Handle | None
) -> tuple[list[Neighbour], int]:
    """The rows nearest to a text by ts_rank of the words they share, best first, and how many rows there are.

    Raises SearchInterrupted.
    """
    given = Parameters()
    words = f"unnest(tsvector_to_array(to_tsvector('simple', {given.text(text[:LOOKED_AT])}))) AS word"
    key, content = "to_tsvector('simple', m.key)", "to_tsvector('simple', m.content)"
    statement = f"""
        SELECT m.id::text AS id, ts_rank({key} || {content}, asked.query, 1)::float8 AS score
        FROM (SELECT string_agg(array_to_tsvector(ARRAY[word])::text, ' | ')::tsquery AS query FROM {words}) AS asked,
             {table.quoted} AS m
        WHERE {content} @@ asked.query OR {key} @@ asked.query
        ORDER BY score DESC, m.{table.updated} DESC, m.id LIMIT {given.count(limit + 1)}"""
    async with connections.reading(seconds=PASS_SECONDS) as connection:
        compared = await connection.fetchval(f"SELECT count(*) FROM {table.quoted}", timeout=patience(PASS_SECONDS))
        rows = await connection.fetch(statement, *given.values, timeout=patience(PASS_SECONDS))
    return as_neighbours([(row["id"], row["score"]) for row in rows], limit, without), compared
