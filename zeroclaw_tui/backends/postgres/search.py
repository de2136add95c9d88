"""Recall from a PostgreSQL table as the ZeroClaw version of a profile does, and the nearest rows; read-only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.postgres.connect import PASS_SECONDS, Connections
from zeroclaw_tui.backends.postgres.select import PostgresSelect
from zeroclaw_tui.backends.postgres.table import Table, can_hold, check_text
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.evidence import StoreRecall, supported_request
from zeroclaw_tui.scoring.neighbours import Near, Neighbour
from zeroclaw_tui.scoring.profiles import ScoringProfile

if TYPE_CHECKING:
    import numpy as np


_STAGE = "postgres"
_WORDS_SCALE = "ts_rank_cd"
_NOT_STORABLE = "PostgreSQL stores Unicode text without NUL only, so this query matches nothing."
_WITHOUT_PGVECTOR = (
    "Nothing is recalled: the tutorial's recall needs pgvector, and this table was made without it. "
    "Find memories with `zeroclaw memory search TEXT`."
)

_WORD_IN_CONTENT = 0.1
"""The ts_rank_cd score of a word that occurs once in a content; in a key it counts twice."""


def needed_text(profile: ScoringProfile) -> str:
    """What a memory must contain to be a keyword hit."""
    return "every word of the message" if profile.postgres_ranks else "the exact message"


def threshold_meaning(profile: ScoringProfile, threshold: float) -> str:
    """Explain the threshold in terms of keyword scores."""
    if not profile.postgres_ranks:
        return "PostgreSQL's hits have no score in this version, so the threshold excludes nothing."
    ranks = f"PostgreSQL ranks a word in the content at {_WORD_IN_CONTENT:.2f} and in the key at twice that"
    return f"{ranks}; a hit has to reach {threshold:.2f} to be injected."


async def recall(
    connections: Connections,
    table: Table,
    request: RecallRequest,
    profile: ScoringProfile,
    query_vector: np.ndarray | None = None,
) -> StoreRecall:
    """Run a recall on this table. Raises subclasses of InspectorError, and SearchInterrupted.

    ZeroClaw's own table is searched by keywords, the tutorial's by the cosine to the query's vector.
    """
    supported, notes = _supported_by(table, request, profile)
    query = request.query.strip(WHITE_SPACE)
    if not can_hold(query):
        return StoreRecall((), "keyword", _WORDS_SCALE, (_NOT_STORABLE, *notes))
    select, limit = _select(table, supported), supported.limit
    if not query or (query == "*" and profile.star_lists_recent):
        newest = await _ranked(connections, select, "NULL::float8", f"m.{table.updated} DESC, m.id", limit)
        return StoreRecall(tuple(newest), "recent", "none", tuple(notes))
    if not table.is_tutorial:
        return await _by_keywords(connections, select, query, limit, profile, notes)
    if not table.keeps_vectors:
        return StoreRecall((), _STAGE, "none", (_WITHOUT_PGVECTOR, *notes))
    if query_vector is None:
        note = "Without an embedding provider the query has no vector, so nothing is recalled."
    elif table.dimensions != len(query_vector):
        note = (
            f"The vectors here have {table.dimensions} numbers and the query's has {len(query_vector)}, so nothing can "
            "be compared: the config names another embedding model than the one they come from."
        )
    else:
        return await _by_cosine(connections, select, query_vector, limit, notes)
    return StoreRecall((), "vector", "cosine", (note, *notes))


def _supported_by(table: Table, request: RecallRequest, profile: ScoringProfile) -> tuple[RecallRequest, list[str]]:
    """Reduce a request to what this table and profile support, with sentences about the dropped parts.

    Raises Refused for a session or an agent with a name that PostgreSQL cannot store.
    """
    check_text(request.session_id, request.namespace, *(request.agents or ()))
    supported, notes = supported_request(request, profile, has_agents=table.has("agent_id"))
    if supported.session_id is not None and not table.has("session_id"):
        notes.append("This table has no sessions, so memories of every session are recalled.")
        supported = replace(supported, session_id=None)
    if supported.namespace is not None and not table.has("namespace"):
        notes.append("This table has no namespaces, so memories of every namespace are recalled.")
        supported = replace(supported, namespace=None)
    return supported, notes


def _select(table: Table, request: RecallRequest) -> PostgresSelect:
    """Select the rows of the requested session, agents, namespace and times."""
    select = PostgresSelect(table)
    if request.session_id is not None:
        select.also(f"m.session_id::text = {select.place(request.session_id)}")
    if request.agents is not None:
        select.also(select.of_agents(request.agents))
    if request.namespace is not None:
        select.also(f"coalesce(m.namespace, 'default') = {select.place(request.namespace)}")
    for bound, compared in ((request.since, ">="), (request.until, "<=")):
        if bound is not None:
            when = moment(bound)
            if when is None:
                raise UsageError(f"Invalid time {bound!r}.", hint="Give one like 2026-11-21T12:00:00Z.")
            select.also(f"m.{table.created} {compared} {select.place(when)}")
    return select


async def _by_keywords(
    connections: Connections, select: PostgresSelect, query: str, limit: int, profile: ScoringProfile, notes: list[str]
) -> StoreRecall:
    """Search for words in ZeroClaw >= 0.5.7, for one substring in older versions.
    The older versions cannot read the type of that score, so their hits have only a rank."""
    has_full_text = profile.postgres_ranks
    if has_full_text:
        words = f"plainto_tsquery('simple', {select.place(query)})"
        select.also(f"to_tsvector('simple', m.key || ' ' || m.content) @@ {words}")
        score = (
            f"(ts_rank_cd(to_tsvector('simple', m.key), {words})::float8 * 2"
            f" + ts_rank_cd(to_tsvector('simple', m.content), {words})::float8)"
        )
    else:
        pattern = select.place(f"%{query}%")
        select.also(f"(m.key ILIKE {pattern} OR m.content ILIKE {pattern})")
        score = f"((m.key ILIKE {pattern})::int * 2 + (m.content ILIKE {pattern})::int)::float8"
    order = f"recall_score DESC, m.{select.table.updated} DESC, m.id"
    found = [
        one._replace(keyword_raw=one.score, keyword_rank=one.rank, score=one.score if has_full_text else None)
        for one in await _ranked(connections, select, score, order, limit)
    ]
    if has_full_text:
        return StoreRecall(tuple(found), "keyword", _WORDS_SCALE, tuple(notes))
    note = f"ZeroClaw {profile.version} cannot read this score, so its memories come without one."
    return StoreRecall(tuple(found), "keyword", "2 x key + content matches", (*notes, note))


async def _by_cosine(
    connections: Connections, select: PostgresSelect, vector: np.ndarray, limit: int, notes: list[str]
) -> StoreRecall:
    select.also("m.embedding IS NOT NULL")
    distance = _distance(select, vector)
    # The distance to a vector of zeros is NaN.
    cosine = f"nullif(1 - ({distance}), 'NaN')::float8"
    found = await _ranked(connections, select, cosine, distance, limit)
    entries = tuple(one._replace(vector_score=one.score, vector_rank=one.rank) for one in found)
    notes = notes if entries else ["No memory that this query may recall has a vector.", *notes]
    return StoreRecall(entries, "vector", "cosine", tuple(notes))


async def _ranked(
    connections: Connections, select: PostgresSelect, score: str, order: str, limit: int
) -> list[ScoredEntry]:
    """Fetch the selected memories with their score, in the given order."""
    table = select.table
    columns = f"{table.entry_columns()}, {score} AS recall_score"
    statement = select.statement(columns, f"ORDER BY {order} LIMIT {select.place(limit)}")
    records = await connections.fetch(statement, select.values, seconds=PASS_SECONDS)
    return [
        ScoredEntry(table.entry_from(record), rank, record["recall_score"], stage=_STAGE)
        for rank, record in enumerate(records, 1)
    ]


def _distance(select: PostgresSelect, vector: np.ndarray) -> str:
    """The SQL of a row's cosine distance to a vector, in a form that can use an index."""
    where, written = select.table.schema_of_vector, f"[{','.join(map(repr, vector.tolist()))}]"
    return f"m.embedding OPERATOR({where}.<=>) CAST({select.place(written)} AS {where}.vector)"


async def near_by_vector(connections: Connections, table: Table, vector: np.ndarray, limit: int) -> Near | None:
    """Find the rows nearest to a vector; None if no vectors can be compared with it."""
    if table.dimensions != len(vector):
        return None
    select = PostgresSelect(table)
    select.also("m.embedding IS NOT NULL")
    nearest = select.statement(
        f"m.id::text AS id, ({_distance(select, vector)})::float8 AS distance, count(*) OVER () AS compared",
        f"ORDER BY distance, m.id LIMIT {select.place(max(limit, 1))}",
    )
    rows = await connections.fetch(nearest, select.values, seconds=PASS_SECONDS)
    near = [Neighbour(row["id"], 1 - row["distance"]) for row in rows if row["distance"] < 1]
    return Near(near[:limit], rows[0]["compared"] if rows else 0)
