"""Recall on a PostgreSQL table as the ZeroClaw of a profile does it, and our own fusion; nothing is written."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.base import StoreRecall
from zeroclaw_tui.backends.postgres.connect import Connections
from zeroclaw_tui.backends.postgres.rows import entry_columns, entry_from
from zeroclaw_tui.backends.postgres.search_scope import Scope, Words, scope_of, wildcard_note
from zeroclaw_tui.backends.postgres.search_vectors import Nearness, nearness_of
from zeroclaw_tui.backends.postgres.statements import Parameters, can_hold
from zeroclaw_tui.backends.postgres.table import Table
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.scoring.profiles import ScoringProfile
from zeroclaw_tui.scoring.settings import EPSILON, ScoringSettings

if TYPE_CHECKING:
    import numpy as np

STAGE = "postgres"
OWN_STAGE = "hybrid (ours)"
SUBSTRING_SCALE = "2 x key + content matches"
WORDS_SCALE = "ts_rank_cd"
COSINE_SCALE = "cosine"
FUSED_SCALE = "0..1"

_NOT_HELD = "PostgreSQL holds no NUL and nothing that is no Unicode, so nothing there can match such a query."
_BY_INDEX = "SET LOCAL enable_seqscan = off; SET LOCAL work_mem = '64MB'"
"""How many rows have a word the server often does not know, and takes them for far more than there are."""
_WORD = re.compile(r"'(?:[^']|'')*'")
"""A word in a query as the server writes it."""
_MOST_ODD_KEYS = 1000
_CANDIDATES = 4
"""The fusion takes this many times the limit from each side."""


async def search(
    connections: Connections,
    table: Table,
    request: RecallRequest,
    profile: ScoringProfile,
    settings: ScoringSettings,
    query_vector: np.ndarray | None = None,
) -> StoreRecall:
    """The answer of this table to a recall. Raises InspectorError kinds and SearchInterrupted.

    A table of ZeroClaw's recalls by keywords, the tutorial's by the cosine to the query's vector. `own_fusion` fuses
    both where that is possible, and says why where it is not.
    """
    scope = scope_of(request, profile, table)
    if not can_hold(request.query):
        return StoreRecall((), "keyword", WORDS_SCALE, (_NOT_HELD, *scope.said))
    if scope.lists:
        return await _listed(connections, scope)
    scope = replace(scope, words=await _words_of(connections, scope))
    if not request.own_fusion and table.form != "uuid":
        return await _by_keywords(connections, scope)
    nearness = nearness_of(table, query_vector)
    if request.own_fusion and nearness.why_not is None:
        return await _fused(connections, scope, settings, nearness)
    refused = () if nearness.why_not is None else (nearness.why_not,)
    if table.form != "uuid":
        found = await _by_keywords(connections, scope)
        return StoreRecall(found.entries, found.mode, found.scale, (*refused, *found.notes))
    if nearness.why_not is not None:
        return StoreRecall((), "vector", COSINE_SCALE, (*refused, *scope.said))
    return await _by_cosine(connections, scope, nearness)


async def _words_of(connections: Connections, scope: Scope) -> Words | None:
    """What the word indexes are to be asked for; None where every row has to be looked at."""
    if not (scope.has_full_text and scope.table.has_word_indexes):
        return None
    given = Parameters()
    statement = f"""
        SELECT plainto_tsquery('simple', {given.text(scope.query)})::text AS words,
               array(SELECT m.key::text FROM {scope.table.quoted} AS m WHERE strpos(m.key::text, '<') > 0
                     LIMIT {_MOST_ODD_KEYS + 1}) AS odd_keys"""
    async with connections.reading() as connection:
        await connection.execute(_BY_INDEX)
        found = await connection.fetchrow(statement, *given.values)
    between = _WORD.sub("", found["words"]).split()
    if set(between) - {"&"} or len(found["odd_keys"]) > _MOST_ODD_KEYS:
        return None
    return Words(tuple(dict.fromkeys(_WORD.findall(found["words"]))), tuple(found["odd_keys"]))


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
    return StoreRecall(entries, "recent", "none", scope.said)


async def _by_keywords(connections: Connections, scope: Scope) -> StoreRecall:
    """The score of ZeroClaw <= 0.5.6 is of a type that it cannot read, so its entries have none; the rank is shown."""
    given = Parameters()
    table = scope.table
    matches, score = scope.keyword(given)
    statement = f"""
        SELECT {entry_columns(table, excerpt=False)}, {score} AS recall_score FROM {table.quoted} AS m
        WHERE {matches} AND {scope.condition(given)}
        ORDER BY recall_score DESC, m.{table.updated} DESC, m.id LIMIT {given.count(scope.request.limit)}"""
    records = await _fetched(connections, statement, given, by_index=scope.words is not None)
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
    notes = [*scope.said, *wildcard_note(scope)]
    if not scope.has_full_text:
        notes.append(f"ZeroClaw {scope.profile.version} cannot read this score, so its memories come without one.")
        return StoreRecall(entries, "keyword", SUBSTRING_SCALE, tuple(notes))
    return StoreRecall(entries, "keyword", WORDS_SCALE, tuple(notes))


async def _by_cosine(connections: Connections, scope: Scope, nearness: Nearness) -> StoreRecall:
    given = Parameters()
    table = scope.table
    distance = nearness.distance(given)
    statement = f"""
        SELECT {entry_columns(table, excerpt=False)}, (1 - ({distance}))::float8 AS recall_score
        FROM {table.quoted} AS m WHERE {nearness.condition(given)} AND {scope.condition(given)}
        ORDER BY {distance} LIMIT {given.count(scope.request.limit)}"""
    records = await _fetched(connections, statement, given)
    entries = []
    for rank, record in enumerate(records, 1):
        score = record["recall_score"]
        score = None if score is None or math.isnan(score) else score
        entry = entry_from(record, table)
        entries.append(ScoredEntry(entry, rank, score, vector_score=score, stage=STAGE, vector_rank=rank))
    return StoreRecall(tuple(entries), "vector", COSINE_SCALE, (*_told_bare(entries), *scope.said))


async def _fused(connections: Connections, scope: Scope, settings: ScoringSettings, nearness: Nearness) -> StoreRecall:
    """Keyword rank as a share of the best, and the cosine, weighted as the config says over the parts present."""
    given = Parameters()
    table, request = scope.table, scope.request
    matches, raw = scope.keyword(given)
    allowed, distance = scope.condition(given), nearness.distance(given)
    vector, keyword = given.number(settings.vector_weight), given.number(settings.keyword_weight)
    count = given.count(min(max(request.limit, 1) * _CANDIDATES, 2**31))
    statement = f"""
        WITH keyword AS (
            SELECT id, raw, row_number() OVER (ORDER BY raw DESC, id) AS place,
                   CASE WHEN max(raw) OVER () > 0 THEN raw / max(raw) OVER () ELSE 0 END AS part
            FROM (SELECT m.id, {raw} AS raw FROM {table.quoted} AS m WHERE {matches} AND {allowed}
                  ORDER BY raw DESC, m.id LIMIT {count}) AS found
        ), near AS (
            SELECT id, least(part, 1) AS part, row_number() OVER (ORDER BY part DESC, id) AS place
            FROM (SELECT m.id, (1 - ({distance}))::float8 AS part FROM {table.quoted} AS m
                  WHERE {nearness.condition(given)} AND {allowed} ORDER BY {distance} LIMIT {count}) AS found
            WHERE part > 0 AND part <> 'NaN'
        ), fused AS (
            SELECT id AS fused_id, keyword.raw AS keyword_raw, keyword.part AS keyword_part,
                   keyword.place AS keyword_place,
                   near.part AS near_part, near.place AS near_place,
                   coalesce({vector} * near.part, 0) + coalesce({keyword} * keyword.part, 0) AS total,
                   CASE WHEN near.id IS NULL THEN 0 ELSE {vector} END
                       + CASE WHEN keyword.id IS NULL THEN 0 ELSE {keyword} END AS weights
            FROM keyword FULL JOIN near USING (id)
        )
        SELECT {entry_columns(table, excerpt=False)}, keyword_raw, keyword_part, keyword_place, near_part, near_place,
               CASE WHEN weights > {given.number(EPSILON)} THEN total / weights ELSE 0 END AS recall_score
        FROM fused JOIN {table.quoted} AS m ON m.id = fused.fused_id
        ORDER BY recall_score DESC, m.id LIMIT {given.count(request.limit)}"""
    records = await _fetched(connections, statement, given)
    notes = (
        *scope.said,
        *wildcard_note(scope),
        "ZeroClaw itself does not fuse vectors in PostgreSQL: it recalls by keywords alone."
        if table.form != "uuid"
        else "The tutorial's own recall goes by the cosine alone.",
    )
    entries = _fused_entries(records, table)
    return StoreRecall(entries, OWN_STAGE, FUSED_SCALE, (*_told_bare(entries), *notes))


def _fused_entries(records: Sequence[Mapping[str, Any]], table: Table) -> tuple[ScoredEntry, ...]:
    return tuple(
        ScoredEntry(
            entry_from(record, table),
            rank,
            record["recall_score"],
            vector_score=record["near_part"],
            keyword_score=record["keyword_part"],
            keyword_raw=record["keyword_raw"],
            stage=OWN_STAGE,
            keyword_rank=record["keyword_place"],
            vector_rank=record["near_place"],
        )
        for rank, record in enumerate(records, 1)
    )


def _told_bare(entries: Sequence[ScoredEntry]) -> list[str]:
    if any(scored.vector_rank is not None for scored in entries):
        return []
    return ["None of the memories that could be recalled here has a vector to compare the query's with."]


async def _fetched(
    connections: Connections, statement: str, given: Parameters, *, by_index: bool = False
) -> Sequence[Mapping[str, Any]]:
    async with connections.reading() as connection:
        if by_index:
            await connection.execute(_BY_INDEX)
        records: Sequence[Mapping[str, Any]] = await connection.fetch(statement, *given.values)
    return records
