"""Recall on a PostgreSQL table as the ZeroClaw of a profile does it, and the rows near a vector.

Nothing is written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.postgres.connect import (
    PASS_SECONDS,
    Connections,
    patience,
)
from zeroclaw_tui.backends.postgres.schema import Table, knows_postgres
from zeroclaw_tui.backends.postgres.sql import (
    Parameters,
    can_hold,
    check_text,
    entry_columns,
    entry_from,
    moment_of,
    owned,
)
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.evidence import StoreRecall
from zeroclaw_tui.scoring.neighbours import LOOKED_AT, Near, Neighbour, as_neighbours
from zeroclaw_tui.scoring.profiles import ScoringProfile, parse_version

if TYPE_CHECKING:
    import numpy as np


_MOST = 2**31
"""A limit beyond this is taken as this."""

_DEFAULT_NAMESPACE = "default"
_FIRST_WITH_FULL_TEXT = (0, 5, 7)
_WILDCARDS = "%_\\"
_KEY = "to_tsvector('simple', m.key)"
_CONTENT = "to_tsvector('simple', m.content)"
STAGE = "postgres"
SUBSTRING_SCALE = "2 x key + content matches"
WORDS_SCALE = "ts_rank_cd"
COSINE_SCALE = "cosine"

_NOT_STORABLE = "PostgreSQL stores Unicode text without NUL only, so this query matches nothing."
_MORE_BY_INDEX = "SET LOCAL hnsw.ef_search = {0}; SET LOCAL ivfflat.probes = 10"
"""An index gives no more rows than it was told to look at."""
_MOST_BY_INDEX = 1000
_WITHOUT_PGVECTOR = (
    "Nothing is recalled: the tutorial's recall needs pgvector, and this table was made without it. "
    "Find memories with `zeroclaw memory search TEXT`."
)


@dataclass(frozen=True, slots=True)
class Scope:
    """A request as this table and this profile serve it; `query` has no blanks around it."""

    request: RecallRequest
    profile: ScoringProfile
    table: Table
    query: str
    notes: tuple[str, ...]
    """Sentences on what was asked and cannot be served."""

    @property
    def lists(self) -> bool:
        """Whether the query asks for the newest rows."""
        return not self.query or (self.query == "*" and self.profile.star_lists_recent)

    @property
    def has_full_text(self) -> bool:
        """Whether this version searches words instead of one substring."""
        return parse_version(self.profile.version) >= _FIRST_WITH_FULL_TEXT

    def condition(self, given: Parameters) -> str:
        """Session, agents, namespace and times, as a condition that begins with TRUE."""
        request, table, parts = self.request, self.table, ["TRUE"]
        if request.session_id is not None:
            parts.append(f"m.session_id::text = {given.text(request.session_id)}")
        if request.agents is not None:
            ids = {alias: agent for agent, alias in table.agents.items()}
            # ZeroClaw makes up an id for an alias it does not know; no row has it.
            parts.append(owned(table, given.texts([ids.get(alias, alias) for alias in request.agents])))
        if request.namespace is not None:
            parts.append(f"coalesce(m.namespace, '{_DEFAULT_NAMESPACE}') = {given.text(request.namespace)}")
        for bound, compared in ((request.since, ">="), (request.until, "<=")):
            if bound is not None:
                parts.append(f"m.{table.created} {compared} {moment_of(given.text(_moment(bound)))}")
        return " AND ".join(parts)

    def keyword(self, given: Parameters) -> tuple[str, str]:
        """What holds for rows found by keywords, and the number they have."""
        if not self.has_full_text:
            pattern = given.text(f"%{self.query}%")
            score = f"((m.key ILIKE {pattern})::int * 2 + (m.content ILIKE {pattern})::int)::float8"
            return f"(m.key ILIKE {pattern} OR m.content ILIKE {pattern}) AND {self.condition(given)}", score
        words = f"plainto_tsquery('simple', {given.text(self.query)})"
        matches = f"to_tsvector('simple', m.key || ' ' || m.content) @@ {words} AND {self.condition(given)}"
        return matches, f"(ts_rank_cd({_KEY}, {words})::float8 * 2 + ts_rank_cd({_CONTENT}, {words})::float8)"


def scope_of(request: RecallRequest, profile: ScoringProfile, table: Table) -> Scope:
    """The scope of a request with sentences on what was asked and cannot be served. An empty `agents` is unscoped.

    Raises UsageError for a bound that is no moment, and Refused for a session or an agent that none can have there.
    """
    check_text(request.session_id, request.namespace, *(request.agents or ()))
    notes: list[str] = []
    served = replace(request, limit=min(max(request.limit, 0), _MOST), agents=request.agents or None)
    version = profile.version
    if not knows_postgres(profile):
        notes.append(
            f"ZeroClaw {version} knows no PostgreSQL: with this config it would use Markdown. "
            "This is how the versions before and after it recall."
        )
    if served.agents and (profile.agent_scope == "none" or not table.has("agent_id")):
        knows_none = f"ZeroClaw {version}" if profile.agent_scope == "none" else "This table"
        notes.append(f"{knows_none} knows no agents, so every agent's memories are recalled.")
        served = replace(served, agents=None)
    if served.session_id is not None and not table.has("session_id"):
        notes.append("This table has no sessions, so memories of every session are recalled.")
        served = replace(served, session_id=None)
    if served.namespace is not None and not table.has("namespace"):
        notes.append("This table has no namespaces, so memories of every namespace are recalled.")
        served = replace(served, namespace=None)
    if (served.since or served.until) and not profile.has_time_bounds:
        notes.append(f"ZeroClaw {version} has no time bounds in recall, so none are applied.")
        served = replace(served, since=None, until=None)
    for bound in (served.since, served.until):
        if bound is not None:
            _moment(bound)
    return Scope(served, profile, table, request.query.strip(WHITE_SPACE), tuple(notes))


def wildcard_note(scope: Scope) -> list[str]:
    """A sentence where ZeroClaw's substring search takes a character of the query for something else."""
    met = [character for character in _WILDCARDS if character in scope.query]
    if scope.has_full_text or not met:
        return []
    return [
        f"ZeroClaw {scope.profile.version} does not escape {' '.join(met)} in the query: % stands for any text, _ for "
        "any character, and \\ takes the next one literally."
    ]


def _moment(text: str) -> str:
    when = moment(text)
    if when is None:
        raise UsageError(f"Invalid time {text!r}.", hint="Give one like 2026-11-21T12:00:00Z.")
    return when.isoformat()


def why_not_compared(table: Table, vector: np.ndarray | None) -> str | None:
    """Why a vector cannot be compared with those of this table, in a sentence."""
    if vector is None:
        return "Without an embedding provider the query has no vector, so nothing is recalled."
    if table.dimensions != len(vector):
        return (
            f"The vectors here have {table.dimensions} numbers and the query's has {len(vector)}, so nothing can be "
            "compared: the config names another embedding model than the one they come from."
        )
    return None


def distance_of(table: Table, vector: np.ndarray, given: Parameters) -> str:
    """The SQL of a row's cosine distance to a vector, which an index can serve."""
    where, place = table.schema_of_vector, given.text(vector_text(vector.tolist()))
    return f"m.embedding OPERATOR({where}.<=>) CAST({place} AS {where}.vector)"


async def near_by_vector(connections: Connections, table: Table, vector: np.ndarray, limit: int) -> Near | None:
    """Find the rows nearest to a vector; None if no vectors can be compared with it.

    Where the vectors have an index (HNSW, IVFFlat) the server may go by it, and then may leave out some that are as
    near as the last.
    """
    if why_not_compared(table, vector) is not None:
        return None
    given = Parameters()
    distance = distance_of(table, vector, given)
    # An index has the order of the distance alone.
    nearest = (
        f"SELECT id, distance::float8 FROM (SELECT m.id, {distance} AS distance FROM {table.quoted} AS m "
        f"WHERE m.embedding IS NOT NULL ORDER BY {distance} LIMIT {given.count(min(limit, _MOST))}) AS near "
        "ORDER BY distance, id"
    )
    async with connections.reading() as connection:
        counted = int(await connection.fetchval(f"SELECT count(embedding) FROM {table.quoted}"))
        await connection.execute(_MORE_BY_INDEX.format(max(1, min(limit, _MOST_BY_INDEX))))
        rows = await connection.fetch(nearest, *given.values)
        if len(rows) < min(limit, counted):
            # The index has given up before it found enough.
            await connection.execute("SET LOCAL enable_indexscan = off")
            rows = await connection.fetch(nearest, *given.values)
    # A vector of zeros has no direction, so that its distance is no number.
    nearer = [Neighbour(str(row["id"]), 1 - row["distance"]) for row in rows if row["distance"] is not None]
    return Near([each for each in nearer if each.score > 0], counted)


def vector_text(numbers: list[float]) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map(repr, numbers))}]"


async def recall(
    connections: Connections,
    table: Table,
    request: RecallRequest,
    profile: ScoringProfile,
    query_vector: np.ndarray | None = None,
) -> StoreRecall:
    """The answer of this table to a recall. Raises InspectorError kinds and SearchInterrupted.

    A table of ZeroClaw's recalls by keywords, the tutorial's by the cosine to the query's vector.
    """
    scope = scope_of(request, profile, table)
    if not can_hold(request.query):
        return StoreRecall((), "keyword", WORDS_SCALE, (_NOT_STORABLE, *scope.notes))
    if scope.lists:
        return await _listed(connections, scope)
    if table.form != "uuid":
        return await _by_keywords(connections, scope)
    if not table.keeps_vectors:
        return StoreRecall((), STAGE, "none", (_WITHOUT_PGVECTOR, *scope.notes))
    why_not = why_not_compared(table, query_vector)
    if query_vector is None or why_not is not None:
        return StoreRecall((), "vector", COSINE_SCALE, (why_not or "", *scope.notes))
    return await _by_cosine(connections, scope, query_vector)


async def _listed(connections: Connections, scope: Scope) -> StoreRecall:
    given = Parameters()
    table = scope.table
    statement = f"""
        SELECT {entry_columns(table, excerpt=False)} FROM {table.quoted} AS m WHERE {scope.condition(given)}
        ORDER BY m.{table.updated} DESC, m.id LIMIT {given.count(scope.request.limit)}"""
    records = await _fetched(connections, statement, given)
    entries = tuple(
        ScoredEntry(entry_from(record, table), rank, None, stage=STAGE) for rank, record in enumerate(records, 1)
    )
    return StoreRecall(entries, "recent", "none", scope.notes)


async def _by_keywords(connections: Connections, scope: Scope) -> StoreRecall:
    """The score of ZeroClaw <= 0.5.6 is of a type that it cannot read, so its entries have none; the rank is shown."""
    given = Parameters()
    table = scope.table
    matches, score = scope.keyword(given)
    statement = f"""
        SELECT {entry_columns(table, excerpt=False)}, {score} AS recall_score FROM {table.quoted} AS m WHERE {matches}
        ORDER BY recall_score DESC, m.{table.updated} DESC, m.id LIMIT {given.count(scope.request.limit)}"""
    records = await _fetched(connections, statement, given)
    entries = tuple(
        ScoredEntry(
            entry_from(record, table),
            rank,
            record["recall_score"] if scope.has_full_text else None,
            keyword_raw=record["recall_score"],
            stage=STAGE,
            keyword_rank=rank,
        )
        for rank, record in enumerate(records, 1)
    )
    notes = [*scope.notes, *wildcard_note(scope)]
    if not scope.has_full_text:
        notes.append(f"ZeroClaw {scope.profile.version} cannot read this score, so its memories come without one.")
        return StoreRecall(entries, "keyword", SUBSTRING_SCALE, tuple(notes))
    return StoreRecall(entries, "keyword", WORDS_SCALE, tuple(notes))


async def _by_cosine(connections: Connections, scope: Scope, vector: np.ndarray) -> StoreRecall:
    given = Parameters()
    table = scope.table
    distance = distance_of(table, vector, given)
    statement = f"""
        SELECT {entry_columns(table, excerpt=False)}, (1 - ({distance}))::float8 AS recall_score
        FROM {table.quoted} AS m WHERE m.embedding IS NOT NULL AND {scope.condition(given)}
        ORDER BY {distance} LIMIT {given.count(scope.request.limit)}"""
    records = await _fetched(connections, statement, given)
    entries = []
    for rank, record in enumerate(records, 1):
        score = record["recall_score"]
        score = None if score is None or math.isnan(score) else score
        entry = entry_from(record, table)
        entries.append(ScoredEntry(entry, rank, score, vector_score=score, stage=STAGE, vector_rank=rank))
    return StoreRecall(tuple(entries), "vector", COSINE_SCALE, (*_note_missing_vectors(entries), *scope.notes))


def _note_missing_vectors(entries: Sequence[ScoredEntry]) -> list[str]:
    if any(scored.vector_rank is not None for scored in entries):
        return []
    return ["No memory that this query may recall has a vector."]


async def _fetched(connections: Connections, statement: str, given: Parameters) -> Sequence[Mapping[str, Any]]:
    async with connections.reading(seconds=PASS_SECONDS) as connection:
        records: Sequence[Mapping[str, Any]] = await connection.fetch(
            statement, *given.values, timeout=patience(PASS_SECONDS)
        )
    return records


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
