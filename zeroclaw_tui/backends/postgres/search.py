"""Recall on a PostgreSQL table as the ZeroClaw of a profile does it, and the rows near a vector.

Nothing is written.
"""

from __future__ import annotations

import asyncio
import math
import re
import struct
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from zeroclaw_tui.backends.health import StoreRecall
from zeroclaw_tui.backends.postgres.connect import NOT_SUPPORTED, PASS_SECONDS, Connections, expected, in_batches
from zeroclaw_tui.backends.postgres.schema import Table, knows_postgres
from zeroclaw_tui.backends.postgres.sql import (
    Parameters,
    can_hold,
    check_text,
    entry_columns,
    entry_from,
    has_vectors,
    ids_are,
    moment_of,
    owned,
)
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.neighbours import Neighbour
from zeroclaw_tui.scoring.profiles import ScoringProfile, parse_version

if TYPE_CHECKING:
    import numpy as np

Found = TypeVar("Found", StoreRecall, StoreRecall | None)

_MOST = 2**31
"""A limit beyond this is taken as this."""

_DEFAULT_NAMESPACE = "default"
_FIRST_WITH_FULL_TEXT = (0, 5, 7)
_WILDCARDS = "%_\\"
_PATHS = "'.':* | '~':*"
_KEY = "to_tsvector('simple', m.key)"
_CONTENT = "to_tsvector('simple', m.content)"
_KEY_WORDS, _CONTENT_WORDS = '"words of the key"', '"words of the content"'
STAGE = "postgres"
SUBSTRING_SCALE = "2 x key + content matches"
WORDS_SCALE = "ts_rank_cd"
COSINE_SCALE = "cosine"

_NOT_HELD = "PostgreSQL holds no NUL and nothing that is no Unicode, so nothing there can match such a query."
_BY_INDEX = "SET LOCAL enable_seqscan = off; SET LOCAL work_mem = '64MB'; SET LOCAL jit = off"
"""How many rows have a word the server often does not know, and takes them for far more than there are."""
_WORD = re.compile(r"'(?:[^']|'')*'")
"""A word in a query as the server writes it."""
_PLACED = re.compile(r"('(?:[^']|'')*'):([\d,]+)")
"""A word with its places in a text taken apart, as the server writes it where no word has a weight of its own."""
_RANK = "ts_rank_cd"
_LEAST_WEIGHT = struct.unpack("f", struct.pack("f", 0.1))[0]
"""What PostgreSQL counts a word of no weight for, a float4."""
_TEXTS_AT_ONCE = 500
_MOST_ODD_KEYS = 1000
_MOST_KEYS = 0.5
_MORE_BY_INDEX = "SET LOCAL hnsw.ef_search = {0}; SET LOCAL ivfflat.probes = 10"
"""An index gives no more rows than it was told to look at."""
_MOST_BY_INDEX = 1000
_SPARE = 50
"""So many rows more are read to see which are as near as the last."""


@dataclass(frozen=True, slots=True)
class Words:
    """What the indexes on the words of key and content are asked for, so that few rows are looked at.

    The server takes key and content apart together, which gives no other words than each of them alone, but for two
    things (tried on 2.4 million pairs of odd texts): a tag that is open at the end of a key goes on in the content, and
    a content that begins with ~ or . begins with a path of another name. The rows of both are looked at too.
    """

    each: tuple[str, ...]
    """The words of the query, each as a query of its own."""
    odd_keys: tuple[str, ...]
    """The keys with a <."""

    in_keys: Mapping[str, float] | None
    """Those of them that many keys have, with the share of keys that have each; None where the server cannot tell."""

    def condition(self, given: Parameters) -> str:
        """Holds for every row that has all words, for those that are odd, and for some others.

        Each part is told by an index alone, so that the server takes no text apart before it knows that it has to. A
        word that few keys have stands in the content nearly always, and the index takes several at once, however
        frequent one of them is; one that most keys have tells little.
        """
        if not self.each:
            return "FALSE"
        rare = [word for word in self.each if word not in (self.in_keys or {})]
        if self.in_keys is not None and rare and all(share > _MOST_KEYS for share in self.in_keys.values()):
            content, key = given.text(" & ".join(rare)), given.text(" | ".join(rare))
            found = f"{_CONTENT} @@ {content}::tsquery OR {_KEY} @@ {key}::tsquery"
        else:
            found = self.are_in(_KEY, _CONTENT, given)
        return f"({found} OR {self.is_odd(_CONTENT, given)})"

    def are_in(self, key: str, content: str, given: Parameters) -> str:
        """Holds for the rows that have all words in what was taken apart of key and content."""
        return (
            " AND ".join(
                f"({key} @@ {place}::tsquery OR {content} @@ {place}::tsquery)"
                for place in [given.text(word) for word in self.each]
            )
            or "FALSE"
        )

    def is_odd(self, content: str, given: Parameters) -> str:
        """Holds for rows of which key and content taken apart together may give other words than `content` and key."""
        paths = f"{content} @@ {given.text(_PATHS)}::tsquery"
        return f"({paths} OR m.key = ANY({given.texts(self.odd_keys)}))" if self.odd_keys else f"({paths})"


@dataclass(frozen=True, slots=True)
class Scope:
    """A request as this table and this profile serve it; `query` has no blanks around it.

    With `words` the table's indexes are asked first.
    """

    request: RecallRequest
    profile: ScoringProfile
    table: Table
    query: str
    said: tuple[str, ...]
    words: Words | None = None

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

    def keyword(self, given: Parameters) -> tuple[str, str, str]:
        """Where rows found by keywords are read, what holds for them there, and the number they then have."""
        name = self.table.quoted
        if not self.has_full_text:
            pattern = given.text(f"%{self.query}%")
            score = f"((m.key ILIKE {pattern})::int * 2 + (m.content ILIKE {pattern})::int)::float8"
            return name, f"(m.key ILIKE {pattern} OR m.content ILIKE {pattern}) AND {self.condition(given)}", score
        words = f"plainto_tsquery('simple', {given.text(self.query)})"
        matches = f"to_tsvector('simple', m.key || ' ' || m.content) @@ {words}"
        if self.words is None:
            return name, f"{matches} AND {self.condition(given)}", _score(_KEY, _CONTENT, words)
        # To take a text apart takes the server longer than all else: once for each row, and on several processors.
        parsed = (
            f"(SELECT m.*, {_KEY} AS {_KEY_WORDS}, {_CONTENT} AS {_CONTENT_WORDS} FROM {name} AS m "
            f"WHERE {self.words.condition(given)} AND {self.condition(given)} OFFSET 0)"
        )
        key, content = f"m.{_KEY_WORDS}", f"m.{_CONTENT_WORDS}"
        are_in, is_odd = self.words.are_in(key, content, given), self.words.is_odd(content, given)
        return parsed, f"CASE WHEN {is_odd} THEN {matches} ELSE {are_in} END", _score(key, content, words)


def _score(key: str, content: str, words: str) -> str:
    """ZeroClaw's score of the words of a row."""
    return f"(ts_rank_cd({key}, {words})::float8 * 2 + ts_rank_cd({content}, {words})::float8)"


def cover_density(vector: str, words: Collection[str]) -> float:
    """PostgreSQL's ts_rank_cd of a text for a query that asks for all of these words.

    `vector` is the text taken apart and the words are quoted, both as the server writes them. A cover is a shortest
    stretch that has all words, and counts the more the fewer others are in it. Source: calc_rank_cd and Cover in
    PostgreSQL's tsrank.c, after Clarke, Cormack and Tudhope, Relevance Ranking for One to Three Term Queries.
    """
    placed = sorted(
        (int(place), at, word)
        for at, (word, places) in enumerate(_PLACED.findall(vector))
        if word in words
        for place in places.split(",")
    )
    density, start = 0.0, 0
    while (end := _first_with_all(placed, range(start, len(placed)), words)) is not None:
        begin = _first_with_all(placed, range(end, start - 1, -1), words)
        assert begin is not None
        inverse = 0.0
        for _ in range(begin, end + 1):
            # Added up one by one, as the server does it: a product is another number.
            inverse += 1.0 / _LEAST_WEIGHT
        others = placed[end][0] - placed[begin][0] - (end - begin)
        if others < 0:
            # Beyond the 16,383rd word all have one place.
            others = (end - begin) // 2
        density += (end - begin + 1) / inverse / (1 + others)
        start = begin + 1
    return float(struct.unpack("f", struct.pack("f", density))[0])


def _first_with_all(placed: Sequence[tuple[int, int, str]], places: range, words: Collection[str]) -> int | None:
    """The first of these places by which every word was met; None where one is not."""
    met: set[str] = set()
    for at in places:
        met.add(placed[at][2])
        if len(met) == len(words):
            return at
    return None


def scope_of(request: RecallRequest, profile: ScoringProfile, table: Table) -> Scope:
    """The scope of a request with sentences on what was asked and cannot be served. An empty `agents` is unscoped.

    Raises UsageError for a bound that is no moment, and Refused for a session or an agent that none can have there.
    """
    check_text(request.session_id, request.namespace, *(request.agents or ()))
    said: list[str] = []
    served = replace(request, limit=min(max(request.limit, 0), _MOST), agents=request.agents or None)
    version = profile.version
    if not knows_postgres(profile):
        said.append(
            f"ZeroClaw {version} knows no PostgreSQL: with this config it would use Markdown. "
            "This is how the versions before and after it recall."
        )
    if served.agents and (profile.agent_scope == "none" or not table.has("agent_id")):
        knows_none = f"ZeroClaw {version}" if profile.agent_scope == "none" else "This table"
        said.append(f"{knows_none} knows no agents, so every agent's memories are recalled.")
        served = replace(served, agents=None)
    if served.session_id is not None and not table.has("session_id"):
        said.append("This table keeps no sessions, so those of every session are recalled.")
        served = replace(served, session_id=None)
    if served.namespace is not None and not table.has("namespace"):
        said.append("This table keeps no namespaces, so those of every namespace are recalled.")
        served = replace(served, namespace=None)
    if (served.since or served.until) and not profile.has_time_bounds:
        said.append(f"ZeroClaw {version} has no time bounds in recall, so none are applied.")
        served = replace(served, since=None, until=None)
    for bound in (served.since, served.until):
        if bound is not None:
            _moment(bound)
    return Scope(served, profile, table, request.query.strip(WHITE_SPACE), tuple(said))


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
        raise UsageError(f"{text!r} is no moment.", hint="Give one like 2026-11-21T12:00:00Z.")
    return when.isoformat()


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
    """The rows nearest to a vector and how many have one to compare; None where nothing can be compared.

    Of rows as near as each other those of the lower ids. Where the vectors have an index (HNSW, IVFFlat) the server
    may go by it, and then may leave out some that are as near.
    """
    nearness = nearness_of(table, vector)
    if nearness.why_not is not None:
        return None
    given, counting = Parameters(), Parameters()
    distance = nearness.distance(given)
    looked = min(limit + _SPARE, _MOST)
    found = f"SELECT m.id, {distance} AS distance FROM {table.quoted} AS m WHERE {nearness.condition(given)}"
    # An index has the order of the distance alone.
    by_distance = (
        f"SELECT id, distance::float8 FROM ({found} ORDER BY {distance} LIMIT {given.count(looked)}) AS near "
        "ORDER BY distance, id"
    )
    count = f"SELECT count(*) FROM {table.quoted} AS m WHERE {nearness.condition(counting)}"
    async with connections.reading() as connection:
        counted = int(await connection.fetchval(count, *counting.values))
        await connection.execute(_MORE_BY_INDEX.format(min(looked, _MOST_BY_INDEX)))
        rows = await connection.fetch(by_distance, *given.values)
        if len(rows) < min(looked, counted) or _ends_in_ties(rows, limit):
            await connection.execute("SET LOCAL enable_indexscan = off")
            exact = f"{found} ORDER BY distance, m.id LIMIT ${len(given.values)}::bigint"
            rows = await connection.fetch(exact, *given.values)
    # A vector of zeros has no direction, so that its distance is no number.
    nearer = [Neighbour(str(row["id"]), 1 - row["distance"]) for row in rows[:limit] if row["distance"] is not None]
    return [near for near in nearer if near.score > 0], counted


def _ends_in_ties(rows: Sequence[Mapping[str, Any]], limit: int) -> bool:
    """Whether rows behind the last may be as near as the last one wanted, with lower ids."""
    return len(rows) > limit > 0 and rows[-1]["distance"] == rows[limit - 1]["distance"]


def vector_text(numbers: list[float]) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map(repr, numbers))}]"


@dataclass(frozen=True, slots=True)
class _Known:
    """What was learned of the keys while the table was in one state; `odd_keys` is None where they are too many."""

    state: tuple[Any, ...]
    odd_keys: tuple[str, ...] | None
    shares: Mapping[str, float] | None
    """For each word that many keys have, as a query has it, the share of keys; None where the server cannot tell."""


class KeyWords:
    """What recall by the word indexes has to know of all keys, learned anew when somebody has written to the table.

    The keys with a < are found by going through all of them, which takes as long as a recall itself: meanwhile another
    connection recalls as if there were none, which is right for nearly every table.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._known: _Known | None = None

    def forget(self) -> None:
        """After a write of our own, which the server's counters tell of a second later."""
        self._known = None

    async def recalled(self, scope: Scope, recall: Callable[[Scope], Awaitable[Found]]) -> Found:
        """What `recall` gives for a scope that has the words which the indexes are to be asked for."""
        state, words = await self._asked(scope)
        if words is None:
            return await recall(scope)
        if self._known is not None and self._known.state == state:
            return await recall(self._with_words(scope, words, self._known))
        none = _Known(state, (), await self._shares(scope.table))
        found, odd_keys = await asyncio.gather(
            recall(self._with_words(scope, words, none)), self._odd_keys(scope.table)
        )
        known = replace(none, odd_keys=odd_keys)
        # Where the server does not count what is written, or rows lie on others, nothing is known of the next time.
        self._known = known if state[-1] and scope.table.kind == "r" else None
        return found if odd_keys == () else await recall(self._with_words(scope, words, known))

    @staticmethod
    def _with_words(scope: Scope, words: tuple[str, ...], known: _Known) -> Scope:
        if known.odd_keys is None:
            return scope
        frequent = (
            None if known.shares is None else {word: known.shares[word] for word in words if word in known.shares}
        )
        return replace(scope, words=Words(words, known.odd_keys, frequent))

    async def _asked(self, scope: Scope) -> tuple[tuple[Any, ...], tuple[str, ...] | None]:
        """The state of the table, and the words of the query; None where every row has to be looked at."""
        table = scope.table
        if not (scope.has_full_text and table.has_word_indexes):
            return (), None
        statement = f"""
            SELECT plainto_tsquery('simple', $1::text)::text AS words,
                   (SELECT max(m.{table.updated})::text FROM {table.quoted} AS m) AS newest,
                   (SELECT (n_tup_ins + n_tup_upd)::text FROM pg_stat_all_tables
                    WHERE relid = to_regclass($2::text)) AS written,
                   current_setting('track_counts')::bool AS counts"""
        async with self._connections.reading() as connection:
            found = await connection.fetchrow(statement, scope.query, table.quoted)
        state = (table.quoted, found["newest"], found["written"], found["counts"])
        if set(_WORD.sub("", found["words"]).split()) - {"&"}:
            return state, None
        return state, tuple(dict.fromkeys(_WORD.findall(found["words"])))

    async def _shares(self, table: Table) -> Mapping[str, float] | None:
        statement = """
            SELECT CASE WHEN word IS NOT NULL THEN array_to_tsvector(ARRAY[word])::text END, share FROM (
                SELECT s.most_common_elems::text::text[] AS words, s.most_common_elem_freqs AS shares
                FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
                JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname
                WHERE i.indrelid = to_regclass($1::text) AND i.indpred IS NULL
                  AND pg_get_indexdef(i.indexrelid) ~ '\\(to_tsvector\\(''simple''::regconfig, \\(?key\\M' LIMIT 1
            ) AS index LEFT JOIN LATERAL unnest(index.words, index.shares) AS one(word, share) ON TRUE"""
        async with self._connections.reading() as connection:
            rows = await connection.fetch(statement, table.quoted)
        return {word: share for word, share in rows if word is not None} if rows else None

    async def _odd_keys(self, table: Table) -> tuple[str, ...] | None:
        # By itself it is done by several processors.
        statement = (
            f"SELECT m.key::text FROM {table.quoted} AS m WHERE m.key::text LIKE '%<%' LIMIT {_MOST_ODD_KEYS + 1}"
        )
        async with self._connections.reading() as connection:
            await connection.execute(_BY_INDEX)
            found = tuple(record[0] for record in await connection.fetch(statement))
        return found if len(found) <= _MOST_ODD_KEYS else None


async def recall(
    connections: Connections,
    table: Table,
    keys: KeyWords,
    request: RecallRequest,
    profile: ScoringProfile,
    query_vector: np.ndarray | None = None,
) -> StoreRecall:
    """The answer of this table to a recall. Raises InspectorError kinds and SearchInterrupted.

    A table of ZeroClaw's recalls by keywords, the tutorial's by the cosine to the query's vector.
    """
    scope = scope_of(request, profile, table)
    if not can_hold(request.query):
        return StoreRecall((), "keyword", WORDS_SCALE, (_NOT_HELD, *scope.said))
    if scope.lists:
        return await _listed(connections, scope)
    if table.form != "uuid":
        return await keys.recalled(scope, partial(_by_keywords, connections))
    nearness = nearness_of(table, query_vector)
    if nearness.why_not is not None:
        return StoreRecall((), "vector", COSINE_SCALE, (nearness.why_not, *scope.said))
    return await _by_cosine(connections, scope, nearness)


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
    source, matches, score = scope.keyword(given)
    statement = f"""
        SELECT {entry_columns(table, excerpt=False)}, {score} AS recall_score FROM {source} AS m WHERE {matches}
        ORDER BY recall_score DESC, m.{table.updated} DESC, m.id LIMIT {given.count(scope.request.limit)}"""
    records = await _ranked(connections, statement, given, by_index=scope.words is not None)
    if records is None:
        records = await _ranked_here(connections, replace(scope, words=None))
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


def _told_bare(entries: Sequence[ScoredEntry]) -> list[str]:
    if any(scored.vector_rank is not None for scored in entries):
        return []
    return ["None of the memories that could be recalled here has a vector to compare the query's with."]


async def _fetched(connections: Connections, statement: str, given: Parameters) -> Sequence[Mapping[str, Any]]:
    async with connections.reading() as connection:
        records: Sequence[Mapping[str, Any]] = await connection.fetch(statement, *given.values)
    return records


async def _ranked(
    connections: Connections, statement: str, given: Parameters, *, by_index: bool = False
) -> Sequence[Mapping[str, Any]] | None:
    """What a statement gives that may rank by ts_rank_cd; None on a server without, which is asked once."""
    if _RANK in statement and _RANK in connections.refused:
        return None
    async with connections.reading() as connection:
        if by_index:
            await connection.execute(_BY_INDEX)
        with expected(*(NOT_SUPPORTED if _RANK in statement else ())) as refused:
            records: Sequence[Mapping[str, Any]] = await connection.fetch(statement, *given.values)
    if refused:
        connections.refused.add(_RANK)
        return None
    return records


async def _ranked_here(connections: Connections, scope: Scope) -> Sequence[Mapping[str, Any]]:
    """The same rows and scores as by ts_rank_cd, for a server that takes texts apart and does not rank them.

    Of every row that matches the words come over with their places, those stored last first.
    """
    given, asked, table = Parameters(), Parameters(), scope.table
    source, matches, _ = scope.keyword(given)
    statement = f"""
        SELECT m.id::text AS id, {_KEY}::text AS key, {_CONTENT}::text AS content FROM {source} AS m WHERE {matches}
        ORDER BY m.{table.updated} DESC, m.id"""
    best: list[tuple[float, str]] = []
    async with connections.reading(seconds=PASS_SECONDS) as connection:
        written = await connection.fetchval(
            f"SELECT plainto_tsquery('simple', {asked.text(scope.query)})::text", *asked.values
        )
        words = frozenset(_WORD.findall(written))

        def rank(records: Sequence[Mapping[str, Any]]) -> list[tuple[float, str]]:
            scored = [
                (cover_density(one["key"], words) * 2 + cover_density(one["content"], words), one["id"])
                for one in records
            ]
            # A sort leaves equal ones in their order.
            return sorted([*best, *scored], key=lambda one: -one[0])[: scope.request.limit]

        async for records in in_batches(connection, statement, given.values, _TEXTS_AT_ONCE, PASS_SECONDS):
            best = await asyncio.to_thread(rank, records)
        chosen = Parameters()
        entries = f"""
            SELECT {entry_columns(table, excerpt=False)} FROM {table.quoted} AS m
            WHERE {ids_are(table, [name for _, name in best], chosen)}"""
        found = {str(record["id"]): record for record in await connection.fetch(entries, *chosen.values)}
    return [{**found[name], "recall_score": score} for score, name in best]
