"""Gather all evidence for a query from a SQLite store, without any limits: to explain, replay or date a recall."""

from __future__ import annotations

import sqlite3
from array import array
from dataclasses import replace
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.sqlite.search import (
    COUNT_ROWS,
    MATCH,
    Hits,
    SqliteSearch,
    SqlScope,
    ignoring_fts_errors,
    list_newest,
    order_of,
    rows_of_hits,
    scope_of,
    search_like,
    stage_evidence,
)
from zeroclaw_tui.backends.sqlite.select import SqliteSelect
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.evidence import ScanOrder, StageEvidence
from zeroclaw_tui.scoring.profiles import NEWEST, Trial, profile_for
from zeroclaw_tui.scoring.stages import lists_recent, match_expression, search_mode, word_expressions, words

if TYPE_CHECKING:
    import numpy as np

ScoredRows = tuple["np.ndarray", "np.ndarray"]
"""Rowids, int64, ascending, with -bm25, float64."""


async def gather_all(
    search: SqliteSearch, trial: Trial, query_vector: np.ndarray | None, version: int
) -> StageEvidence:
    """Gather all hits of every stage, of all agents and sessions, and their rows."""
    scope, query = scope_of(trial, query_vector, search.schema), trial.request.query

    def read(connection: sqlite3.Connection) -> StageEvidence:
        import numpy as np

        keyword, vectors = _search_all_keywords(scope, connection), search.all_vectors(scope.vector, connection)
        recent = np.zeros(0, dtype=np.int64)
        if words(query) in ([], ["*"]):
            recent = list_newest(SqliteSelect(scope.schema), -1, connection)
        like, like_facts = search_like(scope, connection)
        (store_rows,) = connection.execute(COUNT_ROWS).fetchone()
        hits = (keyword.handles, vectors.handles, like, recent)
        rows = search.all_rows or rows_of_hits(hits, scope.schema, connection)
        if len(rows.handles) == store_rows:
            search.all_rows = rows
        durable_order, agent_order = _scan_orders(scope, connection)
        return replace(
            stage_evidence(replace(scope, store_rows=store_rows), (keyword, vectors), rows, recent),
            like=like,
            like_facts=like_facts,
            durable_order=durable_order,
            agent_order=agent_order,
            word_hits=_search_each_word(scope, connection),
            vector_requested=search_mode(trial) != "bm25" and not lists_recent(query, trial.profile),
        )

    return await search.run(read, version)


def _search_all_keywords(scope: SqlScope, connection: sqlite3.Connection) -> Hits:
    """Find all keyword hits of FTS5, of all agents, including rows that exist only in the index."""
    import numpy as np

    with ignoring_fts_errors(scope) as notes:
        expression = match_expression(scope.request.query, scope.profile)
        rowids, scores = _all_hits(expression, connection)
        # FTS5 returns rows by rowid, and equal scores stay in that order in ZeroClaw's statement.
        order = np.argsort(-scores, kind="stable")
        return Hits(rowids[order], scores[order].astype(np.float32))
    return Hits.from_pairs(notes=tuple(notes))


def _search_each_word(scope: SqlScope, connection: sqlite3.Connection) -> dict[str, ScoredRows | None] | None:
    """Find the hits of each word alone: bm25 is a sum over the words of a query, each with its own weight."""
    if not scope.schema.has_fts:
        return None
    found: dict[str, ScoredRows | None] = {}
    for word, expression in word_expressions(scope.request.query, scope.profile).items():
        found[word] = None
        with ignoring_fts_errors(scope):
            found[word] = _all_hits(expression, connection)
    return found


def _all_hits(expression: str, connection: sqlite3.Connection) -> ScoredRows:
    """Find all rows that match an expression. Raises sqlite3.Error if FTS5 rejects the expression."""
    import numpy as np

    # Arrays: a tuple for each of many hits would make the collector of the whole process stop to look at them.
    rowids, scores = array("q"), array("d")
    for rowid, score in connection.execute(MATCH, (expression,)):
        rowids.append(rowid)
        scores.append(score)
    return np.array(rowids, dtype=np.int64), -np.array(scores, dtype=np.float64)


def _scan_orders(scope: SqlScope, connection: sqlite3.Connection) -> tuple[ScanOrder, ScanOrder]:
    """SQLite's orders of the rows in ZeroClaw's vector statement from 0.8.4 on: for a session, and for agents."""
    if "session_id" not in scope.schema.columns:
        return "stored", "stored"
    request = RecallRequest(scope.request.query, session_id="session")
    of_session = replace(scope, request=request, profile=profile_for(NEWEST), agent_ids=None)
    of_agents = replace(of_session, agent_ids=("agent",))
    return (
        order_of(of_session.vector_select(), connection),
        order_of(of_agents.vector_select(), connection) if "agent_id" in scope.schema.columns else "stored",
    )
