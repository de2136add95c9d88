"""The keyword stage: FTS5 in the order of ZeroClaw's own statement, ties included, at less cost."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from zeroclaw_tui.backends.sqlite.search_rows import ids_of
from zeroclaw_tui.backends.sqlite.search_scope import Conditions, Scope
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.fusion import Hit, float32
from zeroclaw_tui.scoring.keywords import match_expression

# bm25 is asked of the index alone and sorted by SQLite, which keeps only the best rows while it scores. FTS5's own
# `ORDER BY rank` sorts every hit before the first comes out, and a join looks every hit up in the table.
_INDEX_ONLY = (
    "SELECT rowid, bm25(memories_fts) AS score FROM memories_fts WHERE memories_fts MATCH ? ORDER BY score LIMIT ?"
)
_JOINED = (
    "SELECT m.rowid, bm25(memories_fts) AS score FROM memories_fts f JOIN memories m ON m.rowid = f.rowid"
    " {where} ORDER BY score LIMIT ?"
)
_SWALLOWED = ("SQLITE_ERROR", "SQLITE_CORRUPT_VTAB")


@dataclass(frozen=True, slots=True)
class KeywordHits:
    """Rowids with -bm25, best first, and sentences on what went wrong."""

    hits: Sequence[Hit] = ()
    notes: tuple[str, ...] = ()


def search_keywords(scope: Scope, count: int, connection: sqlite3.Connection) -> KeywordHits:
    """The `count` best rows by words. What FTS5 refuses gives no hits and a note, as ZeroClaw goes on without."""
    if not scope.schema.has_fts:
        return KeywordHits(notes=("There is no table memories_fts, so only the LIKE fall-back finds words.",))
    expression = match_expression(scope.request.query, scope.profile)
    conditions = scope.keyword_conditions()
    try:
        found = _best(connection, expression, conditions, count)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorname", "") not in _SWALLOWED:
            raise
        said = one_line(str(error))
        return KeywordHits(notes=(f"FTS5 refuses this query ({said}); ZeroClaw goes on without keyword hits.",))
    return KeywordHits([(rowid, float32(-score)) for rowid, score in found])


def _best(
    connection: sqlite3.Connection, expression: str, conditions: Conditions, count: int
) -> list[tuple[int, float]]:
    if not conditions.parts:
        found = connection.execute(_INDEX_ONLY, (expression, count)).fetchall()
        # Rows that only the index still knows take no place in ZeroClaw's list, which the join makes sure of.
        if len(ids_of(connection, [rowid for rowid, _ in found])) == len(found):
            return found
    joined = Conditions()
    joined.add("memories_fts MATCH {}", [expression])
    joined.parts += conditions.parts
    joined.values += conditions.values
    return connection.execute(_JOINED.format(where=joined.where), (*joined.values, count)).fetchall()
