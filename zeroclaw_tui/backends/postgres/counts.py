"""Looking at a whole table: facets, statistics, stamps, whether somebody else has written, what is near by rare words.

ZeroClaw's index on the content holds PostgreSQL's words (configuration "simple"), which are those compared here but for
numbers with signs, addresses, paths, marks in angle brackets and scripts without blanks. What it tells is approximate.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import math
import threading
import time
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, overload

from zeroclaw_tui.backends.postgres.connect import (
    NOT_SUPPORTED,
    OUT_OF_TIME,
    PASS_SECONDS,
    STATEMENT_SECONDS,
    Connections,
    expected,
    in_batches,
    patience,
)
from zeroclaw_tui.backends.postgres.schema import Table
from zeroclaw_tui.backends.postgres.sql import (
    IDS_AT_ONCE,
    ROWS_AT_ONCE,
    Parameters,
    agent_named,
    can_hold,
    category_of,
    category_text,
    conditions,
    has_vectors,
    ids_are,
    is_dated,
    moment_of,
    rfc3339,
)
from zeroclaw_tui.memory.change import Stamp, StoredRow, Value
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.errors import SearchInterrupted
from zeroclaw_tui.memory.query import AGE_GROUPS, Facets, MemoryFilter
from zeroclaw_tui.memory.statistics import (
    BIGGEST,
    QUARTER_SECONDS,
    SIZE_GROUPS,
    SIZE_LIMITS,
    BigMemory,
    Embedded,
    Statistics,
)
from zeroclaw_tui.scoring.neighbours import (
    LEAST,
    LOOKED_AT,
    WordNeighbours,
    compared_text_of,
    cosine,
    is_cut_in_twos,
    weight,
    words_of,
)

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]


Groups = Sequence[Mapping[str, Any]]

_DAYS = (1, 7, 30)
_GROUPED = ("category", "agent_id", "namespace")
_GROUPS_AT_ONCE = 2000
_DIGEST = "substring(encode(sha256(convert_to(m.content, 'UTF8')), 'hex') FROM 1 FOR 16)"
_SMALL = 8 * 1024 * 1024
"""Up to this size, in bytes without what lies beside the rows, a table is looked through whole."""
FEW_ELSEWHERE = 20_000
"""The same in rows that lie on other servers."""
_COUNT_SECONDS = 10.0
"""How long those may be counted."""
_SHARE_OF_COUNTING = 0.05
"""How much of the time they are counted: rows that take 0.1 s every two seconds."""
_FOREIGN_PARTS = """
WITH RECURSIVE parts AS (
    SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2
    UNION SELECT i.inhrelid FROM pg_inherits i JOIN parts ON i.inhparent = parts.oid
)
SELECT array(SELECT format('%I.%I', n.nspname, c.relname) FROM parts JOIN pg_class c ON c.oid = parts.oid
             JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'f' ORDER BY 1)
"""
_TOLD_APART = ("id", "key", "content", "category", "session_id", "agent_id", "namespace")


def facet_statements(table: Table, filter: MemoryFilter, now: str) -> tuple[str, tuple[str, str], Sequence[Any]]:
    """What counts by category, session, agent, namespace and age: in one pass, in two, and the values of either.

    Two passes are for servers without GROUPING SETS, as databases spread over machines are. There may be as many
    sessions as memories: they are counted apart from what else occurs together, and put in order by the server.
    """
    condition, values = conditions(filter, table)
    given = Parameters(values)
    to = moment(now) or datetime.max.replace(tzinfo=UTC)
    limits = [moment_of(given.text((to - timedelta(days=days)).isoformat())) for days in _DAYS]
    ages = " ".join(f"WHEN m.{table.created} > {limit} THEN {at}" for at, limit in enumerate(limits))
    columns = ", ".join(
        [
            *(f"m.{name}::text AS {name}" if table.has(name) else f"NULL AS {name}" for name in _GROUPED),
            "coalesce(m.session_id::text, '') AS session" if table.has("session_id") else "NULL AS session",
            f"CASE WHEN NOT {is_dated(table)} THEN {len(_DAYS) + 1} {ages} ELSE {len(_DAYS)} END AS age",
            ("m.embedding IS NULL" if table.has("embedding") else "false") + " AS bare",
        ]
    )
    others = ", ".join((*_GROUPED, "age", "bare"))
    each = f"(SELECT {columns} FROM {table.quoted} AS m WHERE {condition}) AS each"
    by_session = 'ORDER BY rows DESC, session COLLATE "C"'
    at_once = f"""
        SELECT {others}, session, grouping(session) = 0 AS is_session, sum(rows)::bigint AS rows
        FROM (SELECT {others}, session, count(*) AS rows FROM {each} GROUP BY {others}, session) AS groups
        GROUP BY GROUPING SETS (({others}), (session)) {by_session}
    """
    one_by_one = (
        f"SELECT {others}, false AS is_session, count(*) AS rows FROM {each} GROUP BY {others} ORDER BY rows DESC",
        f"SELECT session, true AS is_session, count(*) AS rows FROM {each} GROUP BY session {by_session}",
    )
    return at_once, one_by_one, given.values


async def facets_of(groups: Groups, table: Table) -> Facets:
    """The groups of `facet_statements` added up."""
    counts = _Counts(table)
    for start in range(0, len(groups), _GROUPS_AT_ONCE):
        counts.add(groups[start : start + _GROUPS_AT_ONCE])
        await asyncio.sleep(0)
    return counts.facets()


class _Counts:
    """Groups added up."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._sessions: dict[str, int] = {}
        self._by: dict[str, Counter[str | None]] = {name: Counter() for name in _GROUPED}
        self._ages = Counter[int]()
        self._bare = 0

    def add(self, groups: Sequence[Mapping[str, Any]]) -> None:
        """Some more of the groups."""
        for group in groups:
            rows = group["rows"]
            if group["is_session"]:
                self._sessions[group["session"]] = rows
                continue
            for name, counter in self._by.items():
                counter[group[name]] += rows
            self._ages[group["age"]] += rows
            self._bare += rows if group["bare"] else 0

    def facets(self) -> Facets:
        """What they come to. A row without a namespace is in none."""
        table = self._table
        namespaces = {name: rows for name, rows in self._by["namespace"].items() if name is not None}
        return Facets(
            total=self._ages.total(),
            category=_ordered(self._by["category"], lambda stored: category_of(stored, table)),
            session=self._sessions if table.has("session_id") else None,
            agent=_ordered(self._by["agent_id"], lambda owner: table.agents.get(owner, owner))
            if table.has("agent_id")
            else None,
            namespace=_ordered(namespaces, str) if table.has("namespace") else None,
            age={name: self._ages[at] for at, name in enumerate(AGE_GROUPS)},
            not_embedded=self._bare if table.has("embedding") else None,
        )


def _ordered(counted: Mapping[Any, int], named: Callable[[str], str]) -> dict[str, int]:
    """By count descending, then by name; NULL counts as blank, and several spellings of one name as that name."""
    counter = Counter[str]()
    for stored, rows in counted.items():
        counter[named(stored or "")] += rows
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))


def statistics_statements(
    table: Table, filter: MemoryFilter
) -> tuple[tuple[str, Sequence[Any]], tuple[str, Sequence[Any]]]:
    """What counts the groups of `statistics_of`, and what finds the biggest memories, each with its values."""
    condition, values = conditions(filter, table)
    given = Parameters(values)
    return (_counting(table, condition), values), (_biggest(table, condition, given.count(BIGGEST)), given.values)


def statistics_of(groups: Groups, biggest: Groups, table: Table) -> Statistics:
    """The statistics of these. A vector counts as four bytes a number."""
    embedded, dimensions = _vectors(groups, table)
    quarters = Counter[int]()
    for group in groups:
        if group["quarter"] is not None:
            quarters[group["quarter"]] += group["rows"]
    return Statistics(
        total=sum(group["rows"] for group in groups),
        content=sum(group["bytes"] for group in groups),
        quarters=dict(quarters),
        undated=sum(group["rows"] for group in groups if group["quarter"] is None),
        size={name: sum(group[f"size_{at}"] for group in groups) for at, name in enumerate(SIZE_GROUPS)},
        biggest=tuple(
            BigMemory(row["id"], row["key"], category_of(row["category"] or "", table), row["size"]) for row in biggest
        ),
        vectors=None if dimensions is None else sum(4 * length * count for length, count in dimensions.items()),
        embedded=embedded,
        dimensions=dimensions,
        cut_vectors=None if dimensions is None else 0,
    )


def _counting(table: Table, condition: str) -> str:
    """For each category, length of vector and quarter hour: how many rows, how many bytes, how many of each size."""
    limits = (0, *SIZE_LIMITS, None)
    sizes = [
        f"count(*) FILTER (WHERE size >= {low}{'' if high is None else f' AND size < {high}'}) AS size_{at}"
        for at, (low, high) in enumerate(pairwise(limits))
    ]
    created = f"m.{table.created}"
    return f"""
        SELECT category, length, quarter, count(*) AS rows, coalesce(sum(size), 0)::bigint AS bytes, {", ".join(sizes)}
        FROM (SELECT m.category::text AS category, {_length(table)} AS length, octet_length(m.content) AS size,
                     CASE WHEN isfinite({created})
                          THEN floor(extract(epoch FROM {created}) / {QUARTER_SECONDS})::bigint END AS quarter
              FROM {table.quoted} AS m WHERE {condition}) AS each
        GROUP BY category, length, quarter"""


def _length(table: Table) -> str:
    """How many numbers a vector has; where the column's type says so no vector is read for it."""
    if not table.has("embedding"):
        return "NULL::int"
    if table.dimensions is not None:
        return f"CASE WHEN m.embedding IS NOT NULL THEN {table.dimensions} END"
    if has_vectors(table):
        return f"{table.schema_of_vector}.vector_dims(m.embedding)"
    return "CASE WHEN m.embedding IS NOT NULL THEN 0 END"


def _vectors(groups: Groups, table: Table) -> tuple[dict[str, Embedded] | None, dict[int, int] | None]:
    if not table.has("embedding"):
        return None, None
    totals, embedded, lengths = Counter[str](), Counter[str](), Counter[int]()
    for group in groups:
        category = category_of(group["category"] or "", table)
        totals[category] += group["rows"]
        if group["length"] is not None:
            embedded[category] += group["rows"]
            lengths[group["length"]] += group["rows"]
    ordered = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    return {category: Embedded(embedded[category], total) for category, total in ordered}, dict(lengths.most_common())


def _biggest(table: Table, condition: str, count: str) -> str:
    return f"""
        SELECT m.id::text AS id, m.key::text AS key, m.category::text AS category, octet_length(m.content) AS size
        FROM {table.quoted} AS m WHERE {condition} ORDER BY octet_length(m.content) DESC, m.id LIMIT {count}"""


def stamp_of(row: StoredRow) -> Stamp:
    """The stamp of a row with every column."""
    values = row.values
    content = str(values["content"] or "").encode()
    return Stamp(
        id=row.id,
        state=state_of(row),
        key=str(values["key"] or ""),
        category=str(values.get("category") or ""),
        size=len(content),
        timestamp=str(values.get("created_at") or ""),
        updated_at=str(values.get("updated_at") or ""),
        agent=row.agent,
        handle=row.id,
    )


def state_of(row: StoredRow) -> str:
    """The state a stamp of this row has."""
    values = row.values
    content = values["content"]
    digest = None if content is None else hashlib.sha256(str(content).encode()).hexdigest()[:16]
    return _state(values.get("updated_at"), values["key"], values["category"] or "", values.get("session_id"), digest)


def stamp_select(table: Table) -> str:
    """The beginning of a statement whose records are for `stamp_from`."""
    columns = ", ".join(
        [
            "m.id::text AS id",
            "m.key::text AS key",
            f"{category_text(table)} AS category",
            f"m.{table.created}::text AS created_at",
            f"m.{table.updated}::text AS updated_at",
            "m.session_id::text AS session_id" if table.has("session_id") else "NULL::text AS session_id",
            "m.agent_id::text AS agent_id" if table.has("agent_id") else "NULL::text AS agent_id",
            "octet_length(m.content) AS size",
            f"{_DIGEST} AS digest",
        ]
    )
    return f"SELECT {columns} FROM {table.quoted} AS m"


def stamp_from(record: Any, table: Table) -> Stamp:
    """The stamp of a row, in the state in which it is."""
    category, updated = category_of(record["category"], table), rfc3339(record["updated_at"])
    return Stamp(
        id=record["id"],
        state=_state(updated, record["key"], category, record["session_id"], record["digest"]),
        key=record["key"] or "",
        category=category,
        size=record["size"] or 0,
        timestamp=rfc3339(record["created_at"]) or "",
        updated_at=updated or "",
        agent=agent_named(record["agent_id"], table),
        handle=record["id"],
    )


def _state(*parts: Value) -> str:
    """A short text that differs where one of the parts does; programs beside ZeroClaw may leave the times alone."""
    told = "\x00".join("\x01" if part is None else str(part) for part in parts)
    return hashlib.blake2b(told.encode(), digest_size=12).hexdigest()


async def version_of(connection: asyncpg.Connection, table: Table, *, by_writers: bool = True) -> tuple[Any, ...]:
    """Values of which at least one changes with every committed write, a new column or agent included.

    In a small table the transactions that wrote its rows are added up, which is exact and seen at once. In a bigger
    one PostgreSQL's own counters are read, which it brings up to date a second, at most ten, after a commit, and the
    newest `updated_at`, which tells of a store at once. Without `by_writers`, for engines whose rows have no xmin, the
    rows of a small table are counted, and its newest `updated_at` is read.
    """
    look = await connection.fetchrow(
        "SELECT c.oid::text AS oid, pg_table_size(c.oid) AS size, "
        "(SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute "
        "WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns "
        "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2",
        table.schema,
        table.name,
    )
    if look is None:
        return ()
    shape = (look["oid"], look["columns"])
    if table.kind == "r" and look["size"] <= _SMALL:
        written = "coalesce(sum(xmin::text::bigint), 0)" if by_writers else f"max({table.updated})"
        rows = await connection.fetchrow(f"SELECT count(*) AS rows, {written}::text AS writers FROM {table.quoted}")
        return (*shape, rows["rows"], rows["writers"])
    counted = await connection.fetchrow(
        f"SELECT (SELECT max({table.updated})::text FROM {table.quoted}) AS newest, "
        "(SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::text FROM pg_stat_all_tables WHERE relid IN "
        "(SELECT $1::text::oid UNION SELECT inhrelid FROM pg_inherits WHERE inhparent = $1::text::oid)) AS written",
        look["oid"],
    )
    return (*shape, counted["newest"], counted["written"])


class ElsewhereVersion:
    """Values of which one changes with every write to the parts of a table that are foreign tables.

    Few rows are asked for a sum over all of them, of which only the sum comes over (postgres_fdw). Of many the newest
    `updated_at` has an index and tells of stores and edits at once; what deletions tell of, their number, is asked so
    seldom that it takes a small share of the servers' time, and not at all where it takes too long.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._are_few = True
        self._counts: tuple[int, ...] = ()
        self._next_count = 0.0

    async def now(self, table: Table) -> tuple[Any, ...]:
        """The groups as they are now."""
        if self._are_few:
            texts = [name for name in _TOLD_APART if table.has(name)]
            told = " || ' ' || ".join(f"coalesce({name}::text, '')" for name in texts)
            found = await self._each(
                table, f"count(*) AS rows, sum(hashtextextended({told}, 0)), max({table.updated})", STATEMENT_SECONDS
            )
            self._are_few = sum(part["rows"] for part in found) <= FEW_ELSEWHERE
            return tuple(map(tuple, found))
        newest = await self._each(table, f"max({table.updated})", STATEMENT_SECONDS)
        began = time.monotonic()
        if began >= self._next_count:
            counts = await self._each(table, "count(*)", _COUNT_SECONDS)
            took = time.monotonic() - began
            self._next_count = began + took / _SHARE_OF_COUNTING if counts else math.inf
            self._counts = tuple(rows for (rows,) in counts)
        return (*map(tuple, newest), self._counts)

    async def _each(self, table: Table, chosen: str, seconds: float) -> Sequence[Any]:
        """What is chosen of each part; nothing where that takes too long."""
        async with self._connections.reading(seconds=seconds, interruptible=False) as connection:
            parts = await connection.fetchval(_FOREIGN_PARTS, table.schema, table.name)
            with expected(OUT_OF_TIME):
                return [
                    await connection.fetchrow(f"SELECT {chosen} FROM {part}", timeout=patience(seconds))
                    for part in parts
                ]
        return []


class ManyIds(Sequence[str]):
    """Ids in order, as long texts cut where one ends: a text object for each would take twice the room.

    A million of ZeroClaw's ids take 40 MB.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._ends: list[array[int]] = []
        self._starts: list[int] = []
        self._count = 0

    def add(self, ids: Sequence[str]) -> None:
        """More of them, some thousand at a time."""
        if not ids:
            return
        self._starts.append(self._count)
        self._texts.append("".join(ids))
        self._ends.append(array("I", accumulate(map(len, ids))))
        self._count += len(ids)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(self._count))]
        number = at + self._count if at < 0 else at
        if not 0 <= number < self._count:
            raise IndexError(at)
        part = bisect_right(self._starts, number) - 1
        ends, within = self._ends[part], number - self._starts[part]
        return self._texts[part][ends[within - 1] if within else 0 : ends[within]]


FEW = 20_000
"""A table of so many rows is read whole."""
_BY_INDEX = "SET LOCAL enable_seqscan = off; SET LOCAL work_mem = '64MB'; SET LOCAL jit = off"
_TSVECTOR = "to_tsvector('simple', m.content)"
_SAMPLE = "TABLESAMPLE"
_SAMPLED = 20_000
_OFTEN = 20
"""A word met so often in the sample is not counted, but taken for as frequent as it is there."""
_EVERYWHERE = 20
"""The same for a word of the text asked about that is in every so manieth text."""
_MOST_WORDS = 400
"""A text asked about that has more words is compared by reading."""
_MOST_HAVING = 20_000
_MOST_READ = 5_000
_READ_AT_FIRST = 100
_WORDS_AT_ONCE = 500
_DEEPEST = 3
_LONGEST_QUERY = 20_000
_KEPT = 2_000
"""Of so many texts, the best by the weights of the sample, all words are counted in a pass."""
_COUNTED = 20
"""Of so many texts more than are asked for all words are counted by the index."""
_DEVIATIONS = 3
_ROUNDING = 1e-9

Read = Mapping[str, tuple[float, tuple[str, ...]]]
"""For ids the moment of the last store, and the words of the text."""


async def nearest_by_words(
    connections: Connections, table: Table, asked: str, limit: int, without: Handle | None
) -> WordNeighbours | None:
    """The texts nearest to one; None where the rows are so few that reading them all is sooner.

    `is_approximate` where the index has told them. Without one, or for a long text or one of a script without
    blanks, all rows are read twice. Raises SearchInterrupted.
    """
    samples = _SAMPLE not in connections.refused
    async with connections.reading(seconds=PASS_SECONDS) as connection:
        with expected(*(NOT_SUPPORTED if samples else ())):
            table_words = _TableWords(connection, table, limit, without)
            if not await table_words.look(samples=samples):
                return None
            words = words_of(asked)
            if table.has_word_indexes and len(words) <= _MOST_WORDS and not any(map(is_cut_in_twos, words)):
                await connection.execute(_BY_INDEX)
                return await _Index(table_words, words, asked).nearest()
            return await _Passes(table_words, words).nearest()
    connections.refused.add(_SAMPLE)
    return await nearest_by_words(connections, table, asked, limit, without)


class _TableWords:
    """The rows, a sample of their words, and the scores of those that were read."""

    def __init__(self, connection: asyncpg.Connection, table: Table, limit: int, without: Handle | None) -> None:
        self.connection, self.table, self.limit, self._without = connection, table, limit, without
        self.texts = self.sampled = 0
        self.seen = Counter[str]()
        """In how many texts of the sample each word is."""
        self.condition, self.values = conditions(MemoryFilter(), table)
        self.columns = f"m.id::text, m.key::text, left(m.content, {LOOKED_AT})"

    async def look(self, *, samples: bool) -> bool:
        """Count the rows, and the words of a few; False where they are few altogether.

        Without `samples`, for servers that cannot choose rows by lot, and of views the first ones are taken.
        """
        counting = f"SELECT count(*) FROM {self.table.quoted} AS m WHERE {self.condition}"
        self.texts = int(await self.fetchval(counting, *self.values))
        if self.texts <= FEW:
            return False
        sample = f"{_SAMPLE} SYSTEM ({100 * _SAMPLED / self.texts}) REPEATABLE (1)"
        if not samples or self.table.kind not in ("r", "p"):
            sample = ""
        statement = f"SELECT {self.columns} FROM {self.table.quoted} AS m {sample} WHERE {self.condition} LIMIT {FEW}"

        def count(records: Sequence[Any]) -> None:
            for _, key, content in records:
                self.seen.update(words_of(compared_text_of(key or "", content or "")))
                self.sampled += 1

        await self.each(statement, count)
        return True

    async def each(self, statement: str, see: Callable[[Sequence[Any]], None]) -> None:
        """Show what a statement without values but the condition's selects, on a thread."""
        stop = threading.Event()

        def show(records: Sequence[Any]) -> None:
            if stop.is_set():
                raise SearchInterrupted
            see(records)

        try:
            async for records in in_batches(self.connection, statement, self.values, IDS_AT_ONCE, PASS_SECONDS):
                await asyncio.to_thread(show, records)
            await self.connection.execute("CLOSE each_row")
        finally:
            stop.set()

    async def fetch(self, statement: str, *values: Any) -> Sequence[Any]:
        rows: Sequence[Any] = await self.connection.fetch(statement, *values, timeout=patience(PASS_SECONDS))
        return rows

    async def fetchval(self, statement: str, *values: Any) -> Any:
        return await self.connection.fetchval(statement, *values, timeout=patience(PASS_SECONDS))

    async def read(self, ids: Sequence[str]) -> Read:
        """The words of these texts, that of the memory asked about left out."""
        table, found = self.table, dict[str, tuple[float, tuple[str, ...]]]()
        moment = f"coalesce(extract(epoch FROM m.{table.updated}), 'Infinity')::float8"

        def take_apart(records: Sequence[Any]) -> None:
            for id_, key, content, stored in records:
                found[id_] = (stored, words_of(compared_text_of(key or "", content or "")))

        for start in range(0, len(ids), ROWS_AT_ONCE):
            given = Parameters()
            condition = ids_are(table, ids[start : start + ROWS_AT_ONCE], given)
            statement = f"SELECT {self.columns}, {moment} FROM {table.quoted} AS m WHERE {condition}"
            await asyncio.to_thread(take_apart, await self.fetch(statement, *given.values))
        if self._without is not None:
            found.pop(str(self._without), None)
        return found

    def guessed(self, word: str, deviations: float = 0.0) -> float:
        """The squared weight of a word by the sample, with a count so many standard deviations off."""
        seen = self.seen[word]
        likely = seen + deviations * math.sqrt(seen) + max(deviations, 0.0) ** 2
        return weight(self.texts, max(1, math.ceil(likely * self.texts / max(self.sampled, 1)))) ** 2

    def score(self, words: Iterable[str], squares: Mapping[str, float], other: Callable[[str], float]) -> float:
        """The score of a text by the squared weights of the words asked about, and by what another word has."""
        shared = square = 0.0
        for word in words:
            if word in squares:
                shared += squares[word]
                square += squares[word]
            else:
                square += other(word)
        return cosine(shared, square, sum(squares.values()))

    def best(self, read: Read, squares: Mapping[str, float], counts: Mapping[str, int]) -> list[tuple[Handle, float]]:
        """The best of these texts by how many have each of their words, those stored later first among equals."""
        scores = [
            (self.score(words, squares, lambda word: weight(self.texts, counts[word]) ** 2), stored, id_)
            for id_, (stored, words) in read.items()
        ]
        return [(id_, score) for score, _, id_ in heapq.nlargest(self.limit, scores) if score >= LEAST]


class _Index:
    """Looks the words up from the rarest on, until what is left of them makes no text good enough.

    A text's words weigh at least what it shares, so its score is at most the root of that over the length of the text
    asked about. Where too many texts have what is left, those that have most of it are read.
    """

    def __init__(self, table_words: _TableWords, words: Sequence[str], asked: str) -> None:
        self._all, self._words, self._asked = table_words, words, asked
        self._counts: dict[str, int] = {}
        self._squares: dict[str, float] = {}
        self._lexemes: dict[str, set[str]] = {}
        self._shared: dict[str, float] = {}
        self._scores: dict[str, float] = {}
        """Of the texts that were read, by the sample."""
        self._read: dict[str, tuple[float, tuple[str, ...]]] = {}

    async def nearest(self) -> WordNeighbours:
        """The nearest texts."""
        all_ = self._all
        await self._learn_lexemes()
        await self._count(self._words, all_.sampled // _EVERYWHERE)
        counts = {word: self._counts[word] for word in self._words}
        squares = self._squares = {word: weight(all_.texts, having) ** 2 for word, having in counts.items()}
        left = sorted((word for word in counts if counts[word]), key=counts.__getitem__)
        rest, fetched = sum(squares[word] for word in left), 0
        while left and rest >= self._good_enough():
            fetched += counts[left[0]]
            if fetched > _MOST_HAVING:
                await self._add_having_enough(left, rest)
                break
            word = left.pop(0)
            await self._add(word)
            rest = max(rest - squares[word], 0.0)
            await self._look(self._unread(0.0)[:_READ_AT_FIRST])
        while (unread := self._unread(self._good_enough() - rest)) and len(self._scores) < _MOST_READ:
            await self._look(unread[:ROWS_AT_ONCE])
        likely = heapq.nlargest(all_.limit + _COUNTED, self._read, key=self._scores.__getitem__)
        read = {id_: self._read[id_] for id_ in likely}
        await self._count((word for _, words in read.values() for word in words), _OFTEN)
        return WordNeighbours(all_.best(read, squares, self._counts), all_.texts, counts, is_approximate=True)

    def _good_enough(self) -> float:
        """What a text has to share, squared weights added up, to be among the best; a hair less, for rounding."""
        least, limit = LEAST, self._all.limit
        if len(self._scores) >= limit:
            least = max(least, heapq.nlargest(limit, self._scores.values())[-1])
        return least**2 * sum(self._squares.values()) * (1 - _ROUNDING)

    def _unread(self, least: float) -> list[str]:
        """The ids not yet read that are known to share so much, those that share most first."""
        unread = [id_ for id_, shared in self._shared.items() if id_ not in self._scores and shared >= least]
        return sorted(unread, key=self._shared.__getitem__, reverse=True)

    async def _learn_lexemes(self) -> None:
        """For each word the server's words of the text asked about that hold it: addresses are one word there."""
        statement = "SELECT unnest(tsvector_to_array(to_tsvector('simple', $1::text)))"
        text = self._asked[:LOOKED_AT]
        for (lexeme,) in await self._all.fetch(statement, text) if can_hold(text) else ():
            for word in words_of(lexeme):
                self._lexemes.setdefault(word, set()).add(lexeme)

    def _query(self, word: str) -> str:
        lexemes = {word, *self._lexemes.get(word, ())}
        if word.isdigit():
            lexemes.add(f"-{word}")
        quoted = ("'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'" for lexeme in sorted(lexemes))
        return f"({' | '.join(quoted)})"

    async def _count(self, words: Iterable[str], most_seen: int) -> None:
        """How many texts have each of these words: as the sample has it where it has met it more often than that."""
        new = [word for word in dict.fromkeys(words) if word not in self._counts]
        seen, share = self._all.seen, self._all.texts / max(self._all.sampled, 1)
        self._counts |= {word: round(seen[word] * share) for word in new}
        rare = [word for word in new if seen[word] <= most_seen]
        statement = f"""
            SELECT word.place, (SELECT count(*) FROM {self._all.table.quoted} AS m
                                WHERE {_TSVECTOR} @@ word.query::tsquery) AS having
            FROM unnest($1::text[]) WITH ORDINALITY AS word(query, place)"""
        for start in range(0, len(rare), _WORDS_AT_ONCE):
            some = rare[start : start + _WORDS_AT_ONCE]
            for place, having in await self._all.fetch(statement, list(map(self._query, some))):
                word = some[place - 1]
                # What the server takes apart otherwise it knows too few of.
                if seen[word] < _OFTEN // 2 or having * 2 > self._counts[word]:
                    self._counts[word] = max(having, min(seen[word], 1))

    async def _add(self, word: str) -> None:
        """Record which texts have this word."""
        statement = f"SELECT m.id::text FROM {self._all.table.quoted} AS m WHERE {_TSVECTOR} @@ $1::text::tsquery"
        for (id_,) in await self._all.fetch(statement, self._query(word)):
            self._shared[id_] = self._shared.get(id_, 0.0) + self._squares[word]

    async def _add_having_enough(self, words: Sequence[str], rest: float) -> None:
        """Learn which texts share enough by these words alone; where those are too many, which share more."""
        pairs = [(word, self._squares[word]) for word in words]
        statement = f"""
            SELECT m.id::text FROM {self._all.table.quoted} AS m WHERE {_TSVECTOR} @@ $1::text::tsquery
            LIMIT {_MOST_READ}"""
        good = self._good_enough()
        for need in (good, max(good, rest / 2), max(good, rest * (1 - _ROUNDING))):
            query = self._enough(pairs, need, len(pairs) if need > rest / 2 else _DEEPEST)
            if not query or len(query) > _LONGEST_QUERY:
                continue
            found = await self._all.fetch(statement, query)
            for (id_,) in found:
                self._shared[id_] = max(self._shared.get(id_, 0.0), need)
            if len(found) < _MOST_READ:
                return

    def _enough(self, words: Sequence[tuple[str, float]], need: float, deep: int) -> str:
        """A query that holds for all texts whose words among these weigh so much, and for some others.

        The rarest word such a text has is one of the first, since those after them weigh too little together.
        """
        rest = sum(square for _, square in words)
        parts = []
        for at, (word, square) in enumerate(words):
            if rest < need:
                break
            rest -= square
            if square >= need or deep == 1:
                parts.append(self._query(word))
            elif more := self._enough(words[at + 1 :], need - square, deep - 1):
                parts.append(f"{self._query(word)} & ({more})")
        return " | ".join(parts)

    async def _look(self, ids: Sequence[str]) -> None:
        """Read these texts, and score them by the sample."""
        read = await self._all.read(ids)
        self._scores |= dict.fromkeys(ids, 0.0)
        self._scores |= {
            id_: self._all.score(words, self._squares, self._all.guessed) for id_, (_, words) in read.items()
        }
        self._read |= read


class _Passes:
    """Goes through the rows twice: for the texts that may be best, then for how many have the words of those."""

    def __init__(self, table_words: _TableWords, words: Sequence[str]) -> None:
        self._all, self._words = table_words, words
        self._most = {word: table_words.guessed(word, -_DEVIATIONS) for word in words}
        self._least: dict[str, float] = {}

    async def nearest(self) -> WordNeighbours:
        """The nearest texts; approximate where one of those not kept might have been nearer."""
        all_ = self._all
        statement = f"SELECT {all_.columns} FROM {all_.table.quoted} AS m WHERE {all_.condition}"
        likely, left_out, counted = await self._likely(statement)
        counts = {word: counted[word] for word in self._words}
        squares = {word: weight(all_.texts, having) ** 2 for word, having in counts.items()}
        read = await all_.read(likely)
        wanted = frozenset(word for _, words in read.values() for word in words)
        having = Counter[str]()

        def count(records: Sequence[Any]) -> None:
            for _, key, content in records:
                having.update(wanted.intersection(words_of(compared_text_of(key or "", content or ""))))

        if read:
            await all_.each(statement, count)
        best = await asyncio.to_thread(all_.best, read, squares, having)
        least = best[-1][1] if len(best) == all_.limit else LEAST
        return WordNeighbours(best, all_.texts, counts, is_approximate=left_out >= least)

    async def _likely(self, statement: str) -> tuple[Sequence[str], float, Counter[str]]:
        """The ids of the texts that may score best by the sample, what the others may score at most, and how many
        texts have each word."""
        kept: list[tuple[float, str]] = []
        left_out = 0.0
        counts = Counter[str]()
        asked = frozenset(self._words)
        own = sum(self._all.guessed(word, _DEVIATIONS) for word in self._words)

        def look(records: Sequence[Any]) -> None:
            nonlocal left_out
            for id_, key, content in records:
                words = words_of(compared_text_of(key or "", content or ""))
                common = asked.intersection(words)
                if not common:
                    continue
                counts.update(common)
                shared = sum(map(self._most.__getitem__, common))
                # What is shared alone cannot be enough for most.
                if len(kept) == _KEPT and shared / own <= left_out**2:
                    continue
                pair = (shared / math.sqrt(own * self._length(words)), id_)
                if len(kept) < _KEPT:
                    heapq.heappush(kept, pair)
                else:
                    left_out = max(left_out, heapq.heappushpop(kept, pair)[0])

        await self._all.each(statement, look)
        return [id_ for _, id_ in kept], left_out, counts

    def _length(self, words: Iterable[str]) -> float:
        """What the words of a text weigh together, squared, at least."""
        seen, least, total = self._all.seen, self._least, 0.0
        for word in words:
            # So many words are met once only that they are not remembered.
            name = word if word in seen else ""
            if name not in least:
                least[name] = self._all.guessed(name, _DEVIATIONS)
            total += least[name]
        return total
