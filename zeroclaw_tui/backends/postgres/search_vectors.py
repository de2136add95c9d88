"""How near a row's vector is to the query's, by pgvector's own operator wherever the extension lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.postgres.connect import Connections
from zeroclaw_tui.backends.postgres.statements import Parameters, has_vectors
from zeroclaw_tui.backends.postgres.table import Table
from zeroclaw_tui.scoring.evidence import Neighbour

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Nearness:
    """The query's vector as pgvector reads it, or a sentence on why nothing can be compared."""

    table: Table
    literal: str = ""
    length: int = 0
    why_not: str | None = None

    def distance(self, given: Parameters) -> str:
        """The cosine distance; a plain `<=>` where the column's type fixes the length, so that an index serves it."""
        where = self.table.schema_of_vector
        plain = f"m.embedding OPERATOR({where}.<=>) CAST({given.text(self.literal)} AS {where}.vector)"
        if self.table.dimensions is not None:
            return plain
        return f"CASE WHEN {self._has_length(given)} THEN {plain} END"

    def condition(self, given: Parameters) -> str:
        """Holds for the rows that have a vector of the query's length."""
        if self.table.dimensions is not None:
            return "m.embedding IS NOT NULL"
        return f"m.embedding IS NOT NULL AND {self._has_length(given)}"

    def _has_length(self, given: Parameters) -> str:
        return f"{self.table.schema_of_vector}.vector_dims(m.embedding) = {given.count(self.length)}"


def nearness_of(table: Table, query_vector: np.ndarray | None) -> Nearness:
    """What the query's vector is compared by in this table."""
    if not has_vectors(table):
        return Nearness(
            table, why_not="There is no column of pgvector's vectors here, so only keywords can be compared."
        )
    if query_vector is None:
        return Nearness(
            table,
            why_not="Without an embedding provider the query has no vector to compare the memories' vectors with.",
        )
    length = len(query_vector)
    if table.dimensions not in (None, length):
        return Nearness(
            table,
            why_not=f"The vectors here have {table.dimensions} numbers and the query's has {length}, so nothing can be "
            "compared: the config names another embedding model than the one they come from.",
        )
    return Nearness(table, vector_text(query_vector.tolist()), length)


async def nearest(
    connections: Connections, table: Table, vector: np.ndarray, limit: int
) -> tuple[list[Neighbour], int] | None:
    """The rows nearest to a vector and how many have one to compare; None where nothing can be compared."""
    nearness = nearness_of(table, vector)
    if nearness.why_not is not None:
        return None
    given = Parameters()
    distance = nearness.distance(given)
    statement = f"""
        SELECT m.id, (1 - ({distance}))::float8 AS score FROM {table.quoted} AS m WHERE {nearness.condition(given)}
        ORDER BY {distance}, m.id LIMIT {given.count(limit)}"""
    counting = Parameters()
    count = f"SELECT count(*) FROM {table.quoted} AS m WHERE {nearness.condition(counting)}"
    async with connections.reading() as connection:
        rows = await connection.fetch(statement, *given.values)
        counted = await connection.fetchval(count, *counting.values)
    # A vector of zeros has no direction, so that its distance is no number.
    found = [Neighbour(str(row["id"]), row["score"]) for row in rows if row["score"] is not None and row["score"] > 0]
    return found, int(counted)


def vector_text(numbers: list[float]) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map(repr, numbers))}]"
