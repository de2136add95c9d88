"""The keyword stage: FTS5 in the order of ZeroClaw's own statement, ties included, at less cost."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.sqlite.search_rows import ids_of
from zeroclaw_tui.backends.sqlite.search_scope import Conditions, SqlScope
from zeroclaw_tui.backends.sqlite.search_thread import Ticket
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.evidence import Hit
from zeroclaw_tui.scoring.keywords import match_expression
from zeroclaw_tui.scoring.settings import float32

if TYPE_CHECKING:
    import numpy as np

# bm25 is asked of the index alone and sorted by SQLite, which keeps only the best rows while it scores. FTS5's own
# `ORDER BY rank` sorts every hit before the first comes out, and a join looks every hit up in the table.
_INDEX_ONLY = (
    "SELECT rowid, bm25(memories_fts) AS score FROM memories_fts WHERE memories_fts MATCH ? ORDER BY score LIMIT ?"
)
_JOINED = (
    "SELECT m.rowid, bm25(memories_fts) AS score FROM memories_fts f JOIN memories m ON m.rowid = f.rowid"
    " {where} ORDER BY score LIMIT ?"
)
_ALL = "SELECT rowid, bm25(memories_fts) FROM memories_fts WHERE memories_fts MATCH ?"
_ONE = f"{_ALL} AND rowid = ?"
_COUNT = "SELECT count(*) FROM memories_fts WHERE memories_fts MATCH ?"
_BATCH = 2000
_SWALLOWED = ("SQLITE_ERROR", "SQLITE_CORRUPT_VTAB")


@dataclass(frozen=True, slots=True)
class KeywordHits:
    """Rowids with -bm25, best first, and sentences on what went wrong."""

    hits: Sequence[Hit] = ()
    notes: tuple[str, ...] = ()


def search_keywords(scope: SqlScope, count: int, connection: sqlite3.Connection) -> KeywordHits:
    """The `count` best rows by words. What FTS5 refuses gives no hits and a note, as ZeroClaw goes on without."""
    expression, conditions = match_expression(scope.request.query, scope.profile), scope.keyword_conditions()
    found, notes = _swallowing(scope, lambda: _best(connection, expression, conditions, count))
    return KeywordHits([(rowid, float32(-score)) for rowid, score in found], notes)


def search_all_keywords(
    scope: SqlScope, ticket: Ticket, connection: sqlite3.Connection
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Every rowid that FTS5 knows for the words, whoever's row it is, int64, with -bm25, float32, best first; notes.

    Rows that only the index still knows are among them.
    """
    import numpy as np

    expression = match_expression(scope.request.query, scope.profile)
    # Arrays: a tuple for each of many hits would make the collector of the whole process stop to look at them.
    rowids, scores = array("q"), array("d")

    def everything() -> list[tuple[int, float]]:
        cursor = connection.execute(_ALL, (expression,))
        while batch := cursor.fetchmany(_BATCH):
            ticket.check()
            rowids.extend([rowid for rowid, _ in batch])
            scores.extend([score for _, score in batch])
        return []

    _, notes = _swallowing(scope, everything)
    if notes:
        del rowids[:], scores[:]
    found = np.array(scores, dtype=np.float64)
    # FTS5 gives rows by rowid, and ZeroClaw's statement leaves equal scores in that order.
    order = np.argsort(found, kind="stable")
    return np.array(rowids, dtype=np.int64)[order], (-found[order]).astype(np.float32), notes


def share_of(connection: sqlite3.Connection, expression: str, rowid: int) -> tuple[float | None, int]:
    """What one word adds to -bm25 of a row, None where it is not there, and in how many rows it is.

    bm25 is a sum over the words of a query, each with a weight of its own. Raises sqlite3.Error for what FTS5 refuses.
    """
    found = connection.execute(_ONE, (expression, rowid)).fetchone()
    (rows,) = connection.execute(_COUNT, (expression,)).fetchone()
    return (None if found is None else -found[1], rows)


def is_refusal(error: sqlite3.DatabaseError) -> bool:
    """Whether ZeroClaw swallows this error and goes on without keyword hits."""
    return getattr(error, "sqlite_errorname", "") in _SWALLOWED


def _swallowing(
    scope: SqlScope, look: Callable[[], list[tuple[int, float]]]
) -> tuple[list[tuple[int, float]], tuple[str, ...]]:
    if not scope.schema.has_fts:
        return [], ("There is no table memories_fts, so only the LIKE fall-back finds words.",)
    try:
        return look(), ()
    except sqlite3.DatabaseError as error:
        if not is_refusal(error):
            raise
        said = one_line(str(error))
        return [], (f"FTS5 refuses this query ({said}); ZeroClaw goes on without keyword hits.",)


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
