"""What the doctor asks of the rows beyond what health tells."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

from zeroclaw_tui.backends.sqlite.connection import as_text
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.memory.text import WHITE_SPACE

_COVERAGE = (
    "SELECT category, sum(length(embedding) > 0), sum(coalesce(length(embedding), 0) = 0 AND trim(content, ?) <> '') "
    "FROM memories GROUP BY category ORDER BY count(*) DESC, category"
)
_SUPERSEDED_BY_NONE = (
    "SELECT count(*) FROM memories AS m WHERE m.superseded_by IS NOT NULL AND NOT EXISTS "
    "(SELECT 1 FROM memories AS w WHERE w.key = m.superseded_by OR w.id = m.superseded_by)"
)


@dataclass(frozen=True, slots=True)
class RowFacts:
    """`embedded` maps each category to how many memories have a vector and how many with text have none.

    `superseded_by_none` are replaced by a memory that is not there. `highest` is the largest rowid. `free_bytes` are
    pages of the file that hold nothing.
    """

    embedded: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    superseded_by_none: int = 0
    highest: int = 0
    free_bytes: int = 0

    @property
    def without_vector(self) -> int:
        """Memories with text and without a vector."""
        return sum(lacking for _, lacking in self.embedded.values())


def row_facts(connection: sqlite3.Connection, schema: Schema) -> RowFacts:
    """Look at every row once or twice; for a thread of its own."""
    return RowFacts(
        embedded=_coverage(connection) if schema.has("embedding") else {},
        superseded_by_none=_count(connection, _SUPERSEDED_BY_NONE) if schema.has("superseded_by") else 0,
        highest=_count(connection, "SELECT coalesce(max(rowid), 0) FROM memories"),
        free_bytes=free_bytes(connection),
    )


def free_bytes(connection: sqlite3.Connection) -> int:
    """The bytes of pages that hold nothing."""
    return _count(connection, "PRAGMA freelist_count") * _count(connection, "PRAGMA page_size")


def _coverage(connection: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    rows = connection.execute(_COVERAGE, (WHITE_SPACE,))
    return {as_text(category): (embedded or 0, lacking or 0) for category, embedded, lacking in rows}


def _count(connection: sqlite3.Connection, statement: str) -> int:
    return int(connection.execute(statement).fetchone()[0])
