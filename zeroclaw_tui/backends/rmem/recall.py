"""R-Mem's own recall with its faults, by the rule of the version that made the file.

As in R-Mem's src/memory.rs, src/store.rs and src/graph.rs: its search picks memories by keywords, ranks the picked
ones by cosine, adds archived texts if all scores are low, and adds relations at a fixed score. 0.1.x has neither
keywords nor an archive. The numbers are R-Mem's defaults; rustmem.toml may set others, but it holds API keys and is not
opened.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.rmem.tables import RELATION, Contents, Row, cosines
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE, cut, one_line
from zeroclaw_tui.scoring.keywords import LONGEST_PATTERN
from zeroclaw_tui.scoring.profiles import float32

if TYPE_CHECKING:
    import numpy as np

STAGE = "rmem"
"""The stage of every result, whichever part of R-Mem's recall it comes from."""
DEFAULT_LIMIT = 10
"""How many memories `rustmem search` returns; its server and its MCP tools return 20."""

_MAX_LIMIT = 1000
_RELATION_SCORE = float32(0.9)
_ARCHIVE_BELOW = 0.4
_MAX_RELATIONS = 20
_MAX_WORDS = 500
_MIN_WORD_BYTES = 3
"""Shorter words are not searched: "the" and each Chinese character are long enough, "hi" is not."""
_PICKED_PER_RESULT = 3
_PUNCTUATION = str.maketrans("", "", "，。？！,.?!")
_SPACES = str.maketrans(dict.fromkeys(WHITE_SPACE, " "))
_NOT_FROM_QUERY = ("SQLITE_INTERRUPT", "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_NOMEM", "SQLITE_IOERR")
"""Errors of SQLite that the query does not cause; R-Mem takes all others for an answer without hits."""


@dataclass(slots=True)
class UserRecall:
    """What R-Mem returns for one user, best first, and how it found that."""

    user: str
    limit: int
    expression: str = ""
    """The query as the keyword index gets it."""
    error: str | None = None
    """SQLite's message if the keyword index does not understand the query."""
    picked: Collection[int] | None = None
    """The rowids that the keyword stage picks; None if it picks none, because then all memories are ranked."""
    results: Sequence[ScoredEntry] = ()


def recall_for_user(
    connection: sqlite3.Connection, contents: Contents, user: str, query: str, vector: np.ndarray | None, limit: int
) -> UserRecall:
    """Answer a query as R-Mem does for one user; `vector` is that of the query, if there is one."""
    query = query.encode("utf-8", "replace").decode()
    found = UserRecall(user, max(0, min(limit, _MAX_LIMIT)))
    memories = contents.of("memories", user)
    if contents.has_archive:
        found.expression = keyword_expression(query)
        _pick_by_keywords(connection, found, memories)
    if found.picked is not None:
        memories = [row for row in memories if row.rowid in found.picked]
    if vector is not None:
        # R-Mem skips rows whose date it cannot read.
        results = _rank(found, [row for row in memories if row.entry.timestamp], vector, "active")
        best = (results[0].score or 0.0) if results else 0.0
        if contents.has_archive and best < float32(_ARCHIVE_BELOW):
            results += _rank(found, contents.of("archive", user), vector, "archive")
    else:
        results = [_result(row.entry, None, "active") for row in memories if found.picked is not None]
    results = best_first(results + _find_relations(connection, contents.of("relations", user), query))
    if contents.has_archive:
        # A text that follows itself is dropped.
        contents_before = [None, *(one.entry.content for one in results)]
        results = [one for one, before in zip(results, contents_before, strict=False) if one.entry.content != before]
    found.results = results[: found.limit]
    return found


def best_first(results: Sequence[ScoredEntry]) -> list[ScoredEntry]:
    """Sort by score; equal scores keep their order, and results without a score come last."""
    ordered = sorted(results, key=lambda result: (result.score is None, -(result.score or 0.0)))
    return [replace(result, rank=rank) for rank, result in enumerate(ordered, 1)]


def keyword_expression(query: str) -> str:
    """What R-Mem asks the keyword index for, with nothing quoted; "" if no word is long enough."""
    return " OR ".join(word for word in query.translate(_SPACES).split(" ") if len(word.encode()) >= _MIN_WORD_BYTES)


def _pick_by_keywords(connection: sqlite3.Connection, found: UserRecall, memories: Sequence[Row]) -> None:
    """Set the rowids that the keyword stage picks: the oldest ones, three for each wanted result."""
    if not found.expression:
        return
    statement = "SELECT rowid FROM memories_fts WHERE memories_fts MATCH ? ORDER BY rowid"
    try:
        hits = {rowid for (rowid,) in connection.execute(statement, (found.expression,))}
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorname", "").startswith(_NOT_FROM_QUERY):
            raise
        found.error = cut(one_line(str(error)), 80)
        return
    rowids = [row.rowid for row in memories if row.rowid in hits]
    found.picked = frozenset(rowids[: found.limit * _PICKED_PER_RESULT]) or None


def _rank(found: UserRecall, rows: Sequence[Row], vector: np.ndarray, source: str) -> list[ScoredEntry]:
    """The best rows by cosine; a vector of another length scores 0, and a row without one is left out."""
    scores = cosines(rows, vector)
    entries = [row.entry for row in rows if row.vector is not None]
    ordered = sorted(entries, key=lambda entry: -scores.get(entry.handle, 0.0))
    return [_result(entry, scores.get(entry.handle, 0.0), source) for entry in ordered[: found.limit]]


def _find_relations(connection: sqlite3.Connection, rows: Sequence[Row], query: str) -> list[ScoredEntry]:
    """The relations whose source or destination contains a word of the query; `%` and `_` are wildcards there."""
    lowered = (word.lower().translate(_PUNCTUATION) for word in query.translate(_SPACES).split(" "))
    # R-Mem itself fails on more words or longer ones, because SQLite accepts no more.
    words = [word for word in lowered if 1 < len(word.encode()) <= LONGEST_PATTERN - len("%%")][:_MAX_WORDS]
    if not words:
        return []
    numbers = range(1, len(words) + 1)
    conditions = " OR ".join(f"(LOWER(source) LIKE ?{n} OR LOWER(destination) LIKE ?{n})" for n in numbers)
    statement = f"SELECT rowid FROM relations WHERE valid = 1 AND ({conditions}) ORDER BY mentions DESC, rowid"
    by_rowid = {row.rowid: row.entry for row in rows}
    rowids = [rowid for (rowid,) in connection.execute(statement, [f"%{word}%" for word in words])]
    entries = [by_rowid[rowid] for rowid in rowids if rowid in by_rowid]
    return [_result(entry, _RELATION_SCORE, "graph") for entry in entries[:_MAX_RELATIONS]]


def _result(entry: MemoryEntry, score: float | None, source: str) -> ScoredEntry:
    cosine = None if entry.kind == RELATION else score
    return ScoredEntry(entry, 0, score, vector_score=cosine, stage=STAGE, source=source)
