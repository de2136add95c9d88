"""Counting a whole table: sizes, moments and vectors in one pass, the biggest memories in another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from zeroclaw_tui.backends.postgres.browse import conditions
from zeroclaw_tui.backends.postgres.categories import category_of
from zeroclaw_tui.backends.postgres.connect import Connections
from zeroclaw_tui.backends.postgres.facets import SECONDS
from zeroclaw_tui.backends.postgres.statements import Parameters, has_vectors
from zeroclaw_tui.backends.postgres.table import Table
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.statistics import (
    BIGGEST,
    QUARTER_SECONDS,
    SIZE_GROUPS,
    SIZE_LIMITS,
    BigMemory,
    Embedded,
    Statistics,
)

Groups = Sequence[Mapping[str, Any]]


async def statistics(connections: Connections, table: Table, filter: MemoryFilter | None) -> Statistics:
    """The statistics of what a filter leaves. A vector counts as four bytes a number."""
    condition, values = conditions(filter or MemoryFilter(), table)
    async with connections.reading(seconds=SECONDS) as connection:
        groups: Groups = await connection.fetch(_counting(table, condition), *values)
        given = Parameters(values)
        biggest = await connection.fetch(_biggest(table, condition, given.count(BIGGEST)), *given.values)
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
    if not table.has("embedding"):
        return "NULL::int"
    if table.dimensions is not None:
        return f"CASE WHEN m.embedding IS NOT NULL THEN {table.dimensions} END"
    if has_vectors(table):
        return f"{table.schema_of_vector}.vector_dims(m.embedding)"
    return "CASE WHEN m.embedding IS NOT NULL THEN 0 END"


def _vectors(groups: Groups, table: Table) -> tuple[dict[str, Embedded] | None, dict[int, int] | None]:
    if not table.has("embedding"):
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
