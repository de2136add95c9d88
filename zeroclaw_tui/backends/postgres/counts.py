"""Looking at a whole table: facets, statistics, stamps, whether somebody else has written, similar texts."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
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
from zeroclaw_tui.memory.query import AGE_GROUPS, MemoryFilter
from zeroclaw_tui.memory.statistics import (
    QUARTER_SECONDS,
    SIZE_GROUPS,
    SIZE_LIMITS,
    CountField,
    Counts,
    by_count,
)
from zeroclaw_tui.scoring.neighbours import LOOKED_AT, Near, as_neighbours

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]


Groups = Sequence[Mapping[str, Any]]

_DAYS = (1, 7, 30)
_DIGEST = "substring(encode(sha256(convert_to(m.content, 'UTF8')), 'hex') FROM 1 FOR 16)"
_SMALL = 8 * 1024 * 1024
"""Up to this size, in bytes without what lies beside the rows, a table is looked through whole."""


def count_statement(
    table: Table, filter: MemoryFilter, now: str, by: Sequence[CountField]
) -> tuple[str, Sequence[Any]]:
    """What counts a filter's rows in groups that agree in some fields, with the bytes of their contents."""
    condition, values = conditions(filter, table)
    given = Parameters(values)
    columns = {field: _column(table, field, now, given) for field in _grouped(table, by)}
    size = "octet_length(m.content)" if "size" in by else "0"
    selected = "".join(f"{sql} AS {field}, " for field, sql in columns.items())
    grouped = f" GROUP BY {', '.join(columns)}" if columns else ""
    named = "".join(f"{field}, " for field in columns)
    statement = f"""
        SELECT {named}count(*) AS rows, coalesce(sum(bytes), 0)::bigint AS bytes
        FROM (SELECT {selected}{size} AS bytes FROM {table.quoted} AS m WHERE {condition}) AS each{grouped}"""
    return statement, given.values


def counts_of(groups: Groups, table: Table, by: Sequence[CountField]) -> Counts:
    """The groups of `count_statement` added up. A row without a namespace is in none."""
    fields = [field for field in by if (field == "embedded" and table.keeps_vectors) or field in _grouped(table, by)]
    counters = {field: Counter[Any]() for field in fields}
    for group in groups:
        for field, counter in counters.items():
            value = _value(group, field, table)
            if value is not None or field == "quarter":
                counter[value] += group["rows"]
    counts: dict[CountField, Mapping[Any, int]] = {}
    for field, counter in counters.items():
        if field in ("age", "size"):
            names = AGE_GROUPS if field == "age" else SIZE_GROUPS
            counts[field] = {name: counter[at] for at, name in enumerate(names)}
        elif field in ("quarter", "dimensions"):
            counts[field] = dict(counter.most_common())
        else:
            counts[field] = by_count(counter)
    return Counts(sum(group["rows"] for group in groups), counts, sum(group["bytes"] for group in groups))


def _grouped(table: Table, by: Sequence[CountField]) -> Sequence[CountField]:
    """The fields to group by, as far as the table has them."""
    fields = [field for field in by if _has(table, field)]
    return ["category", *(field for field in fields if field != "category")] if "embedded" in fields else fields


def _has(table: Table, field: CountField) -> bool:
    match field:
        case "superseded":
            return False
        case "embedded" | "dimensions":
            return table.keeps_vectors
        case "session" | "agent":
            return table.has(f"{field}_id")
        case "namespace":
            return table.has(field)
        case _:
            return True


def _column(table: Table, field: CountField, now: str, given: Parameters) -> str:
    """SQL for a field of a row."""
    created = f"m.{table.created}"
    match field:
        case "category":
            return "m.category::text"
        case "session":
            return "coalesce(m.session_id::text, '')"
        case "agent":
            return "m.agent_id::text"
        case "age":
            to = moment(now) or datetime.max.replace(tzinfo=UTC)
            limits = [moment_of(given.text((to - timedelta(days=days)).isoformat())) for days in _DAYS]
            ages = " ".join(f"WHEN {created} > {limit} THEN {at}" for at, limit in enumerate(limits))
            return f"CASE WHEN NOT {is_dated(table)} THEN {len(_DAYS) + 1} {ages} ELSE {len(_DAYS)} END"
        case "embedded":
            return "m.embedding IS NOT NULL"
        case "size":
            return " + ".join(f"(octet_length(coalesce(m.content, '')) >= {limit})::int" for limit in SIZE_LIMITS)
        case "quarter":
            quarter = f"floor(extract(epoch FROM {created}) / {QUARTER_SECONDS})::bigint"
            return f"CASE WHEN isfinite({created}) THEN {quarter} END"
        case "dimensions":
            return _length(table)
        case _:
            return f"m.{field}::text"


def _value(group: Mapping[str, Any], field: CountField, table: Table) -> Any:
    """The value of a field in a group; several spellings of one category are that category."""
    if field == "category":
        return category_of(group["category"] or "", table)
    if field == "agent":
        return table.agents.get(group["agent"] or "", group["agent"] or "")
    if field == "embedded":
        return category_of(group["category"] or "", table) if group["embedded"] else None
    return group[field]


def _length(table: Table) -> str:
    """How many numbers a vector has; where the column's type says so no vector is read for it."""
    if table.dimensions is not None:
        return f"CASE WHEN m.embedding IS NOT NULL THEN {table.dimensions} END"
    return f"{table.schema_of_vector}.vector_dims(m.embedding)"


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


async def near_by_words(connections: Connections, table: Table, text: str, limit: int) -> Near:
    """Find the rows nearest to a text by ts_rank of the words both have."""
    given = Parameters()
    words = f"unnest(tsvector_to_array(to_tsvector('simple', {given.text(text[:LOOKED_AT])}))) AS word"
    key, content = "to_tsvector('simple', m.key)", "to_tsvector('simple', m.content)"
    statement = f"""
        SELECT m.id::text AS id, ts_rank({key} || {content}, asked.query, 1)::float8 AS score
        FROM (SELECT string_agg(array_to_tsvector(ARRAY[word])::text, ' | ')::tsquery AS query FROM {words}) AS asked,
             {table.quoted} AS m
        WHERE {content} @@ asked.query OR {key} @@ asked.query
        ORDER BY score DESC, m.{table.updated} DESC, m.id LIMIT {given.count(limit)}"""
    async with connections.reading(seconds=PASS_SECONDS) as connection:
        compared = await connection.fetchval(f"SELECT count(*) FROM {table.quoted}", timeout=patience(PASS_SECONDS))
        rows = await connection.fetch(statement, *given.values, timeout=patience(PASS_SECONDS))
    return Near(as_neighbours([(row["id"], row["score"]) for row in rows]), compared)
