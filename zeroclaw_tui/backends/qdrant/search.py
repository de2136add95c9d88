"""Searching and browsing a collection: orders, counts and filters on the server, and recall as ZeroClaw does it.

Recall gives the nearest points by cosine, without a threshold; no words are searched. The vectors are those of key and
content together, as ZeroClaw embeds them there.
"""

from __future__ import annotations

import asyncio
import heapq
import re
import struct
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from zeroclaw_tui.backends.base import Neighbours
from zeroclaw_tui.backends.fallback import DEEPEST
from zeroclaw_tui.backends.health import StoreRecall
from zeroclaw_tui.backends.matching import Needle, TextSearch, age_groups, left_of, matches
from zeroclaw_tui.backends.qdrant.points import (
    DEFAULT_AGENT,
    DISTANCE,
    NO_AGENTS,
    NO_EMBEDDER,
    Connection,
    Point,
    Shape,
    agent_of,
    as_stored,
    payload_of,
    point_id,
)
from zeroclaw_tui.embeddings.base import Embedder, EmbedsMany, TextRefused, query_with
from zeroclaw_tui.memory.change import StoredRow, Vector
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import Refused, SearchInterrupted
from zeroclaw_tui.memory.query import AGE_GROUPS, NO_SESSION, Facets, MemoryFilter, Sort, SortField, Superseded
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE, is_unicode, one_line
from zeroclaw_tui.scoring.evidence import Evidence, OwnEvidence
from zeroclaw_tui.scoring.neighbours import Neighbour
from zeroclaw_tui.scoring.profiles import ScoringProfile, ScoringSettings, parse_version

if TYPE_CHECKING:
    import numpy as np


Condition = dict[str, Any]
Place: TypeAlias = tuple[str, str]
"""Where a point stands among others by time: what `time_key` gives, and its id."""

NOTHING: Condition = {"has_id": []}
TIMES_FROM, VALUES_FROM = (1, 8), (1, 12)
"""The versions of Qdrant that compare and order moments, and that count values."""
_WORDS_FROM, _SUBSTRING_FROM = (1, 19), (1, 20)
_DATED: Condition = {"key": "timestamp", "range": {"gte": "0001-01-01T00:00:00Z"}}
_COUNTED = ("category", "session_id", "agent_id")
_MOST_VALUES = 20_000
"""Of how many values the server counts each; where there are more, the points are read."""
_MOST_AT_ONCE = 2000
_UTC = "+00:00"
_EPOCH = datetime(1970, 1, 1)
_LETTERS = re.compile("[a-z]+")
_BY_CONTENT = 200


@dataclass(frozen=True, slots=True)
class Server:
    """What can be asked about one collection beside points by id and by whole values: ranges of moments, points in the
    order of `timestamp`, and how many have each category, session and agent. `text_match` is the kind of match that
    compares letters anywhere in key and content, "" where there is none."""

    reads_times: bool = False
    orders_times: bool = False
    counts_values: bool = False
    text_match: str = ""
    lacking: tuple[tuple[str, str], ...] = ()
    """The payload indexes that would be gone by and are not there, each a field and its kind."""

    @classmethod
    def of(cls, version: tuple[int, int], described: Mapping[str, Any], *, has_agents: bool) -> Server:
        """That of a version and what it says of a collection."""
        schema = described.get("payload_schema")
        indexes = {
            field: index.get("data_type")
            for field, index in (schema.items() if isinstance(schema, dict) else ())
            if isinstance(index, dict)
        }
        counted = _COUNTED if has_agents else _COUNTED[:2]
        used = [("timestamp", "datetime")] if version >= TIMES_FROM else []
        used += [(field, "keyword") for field in counted] if version >= VALUES_FROM else []
        return cls(
            reads_times=version >= TIMES_FROM,
            orders_times=version >= TIMES_FROM and indexes.get("timestamp") == "datetime",
            counts_values=version >= VALUES_FROM and all(indexes.get(field) == "keyword" for field in counted),
            text_match=_text_match(version, "text" in (indexes.get("key"), indexes.get("content"))),
            lacking=tuple((field, kind) for field, kind in used if indexes.get(field) != kind),
        )


def _text_match(version: tuple[int, int], has_words: bool) -> str:
    """Up to 1.19.0 "text" compares letters where no index of words is, after that words alone."""
    if version >= _SUBSTRING_FROM:
        return "substring"
    return "text" if (0, 0) < version < _WORDS_FROM and not has_words else ""


@dataclass(frozen=True, slots=True)
class Question:
    """A filter in two parts: the conditions that the server is asked, and what is left to be looked at here."""

    must: tuple[Condition, ...]
    rest: MemoryFilter | None

    @property
    def conditions(self) -> Condition | None:
        """All conditions as one of Qdrant's filters; None where there are none."""
        return {"must": [*self.must]} if self.must else None

    def also(self, *conditions: Condition) -> Condition:
        """All conditions and these."""
        return {"must": [*self.must, *conditions]}

    def fields(self, fields: Sequence[str]) -> list[str]:
        """These fields of a payload, and those that `rest` is about."""
        if self.rest is None:
            return [*fields]
        return [*dict.fromkeys((*fields, "key", "content", "timestamp"))]


def question(filter: MemoryFilter, server: Server, *, has_agents: bool) -> Question:
    """A filter as far as the server takes it."""
    must: list[Condition] = []
    if filter.category is not None:
        must.append(any_of("category", filter.category, or_empty="" in filter.category))
    if filter.session is not None:
        must.append(any_of("session_id", filter.session, or_empty=NO_SESSION in filter.session))
    if filter.agent is not None:
        must.append(of_agents(filter.agent) if has_agents else NOTHING)
    if filter.namespace is not None or filter.superseded is Superseded.ONLY:
        must.append(NOTHING)
    rest = MemoryFilter(regex=filter.regex, without_keys=filter.without_keys)
    if server.reads_times:
        must += _window(filter)
    else:
        rest = rest.but(older_than=filter.older_than, newer_than=filter.newer_than)
    rest = rest.but(contains=None if _is_found(filter.contains or "", server, must) else filter.contains)
    return Question(tuple(must), None if rest == MemoryFilter() else rest)


def _window(filter: MemoryFilter) -> Iterable[Condition]:
    limits = {"lt": filter.older_than, "gt": filter.newer_than}
    given = {sign: moment(text) for sign, text in limits.items() if text is not None}
    if given:
        # A limit that is no moment leaves what is a moment at all, as everywhere.
        known = {sign: when.isoformat() for sign, when in given.items() if when is not None}
        yield {"key": "timestamp", "range": known} if known else _DATED


def _is_found(text: str, server: Server, must: list[Condition]) -> bool:
    """Whether the server finds exactly what holds a text; where it can find a part of that, `must` gets that part.

    It minds the case of letters: asked are the signs between two letters, the longest run with a digit, an ideograph…
    """
    if not text:
        return True
    needle = Needle(text)
    if not (needle.is_plain and server.text_match):
        return False
    runs = [run for run in _LETTERS.split(needle.text) if any(map(str.isalnum, run))]
    part = max(runs, key=len, default="")
    if part:
        must.append({"should": [{"key": field, "match": {server.text_match: part}} for field in ("content", "key")]})
    return part == needle.text


def of_key(key: str, agent: str | None = None) -> Condition:
    """The points of a key, all of them or one agent's."""
    return of_keys([key], agent)


def of_keys(keys: Sequence[str], agent: str | None = None) -> Condition:
    """The points of any of these keys, all of them or one agent's."""
    return {"must": [any_of("key", keys), *([] if agent is None else [of_agents([agent])])]}


def of_agents(agents: Iterable[str]) -> Condition:
    """The points of any of these agents; the default one has those that name none too."""
    wanted = list(agents)
    return any_of("agent_id", wanted, or_empty=DEFAULT_AGENT in wanted)


def any_of(field: str, values: Iterable[str], *, or_empty: bool = False) -> Condition:
    """The points whose field is one of these texts, or is not there where `or_empty`."""
    # What is no Unicode is in no payload, and Qdrant refuses it as JSON.
    texts = [value for value in values if is_unicode(value)]
    condition: Condition = {"key": field, "match": {"any": texts}} if texts else NOTHING
    return {"should": [condition, {"is_empty": {"key": field}}]} if or_empty else condition


def time_key(written: str) -> str:
    """A text that stands among others of its kind where its moment does, to the microsecond, as Qdrant keeps them.

    UTC without an offset; what is no moment has a blank before it and comes first.
    """
    if written.endswith(_UTC) and written[10:11] == "T":
        # What ZeroClaw writes; `moment` takes as long for a hundred thousand of them as they take to arrive.
        try:
            return datetime.fromisoformat(written[: -len(_UTC)][:26]).isoformat()
        except ValueError:
            pass
    when = moment(written)
    return f" {written}" if when is None else when.replace(tzinfo=None).isoformat()


def oldest_first(row: StoredRow) -> Place:
    """What to order rows by: when they were stored, then their ids."""
    return time_key(str(row.values["created_at"])), row.id


def is_by_time(sort: Sort) -> bool:
    """Whether an order goes by `timestamp`: there is no other time, be it of storing or of the last change."""
    return sort.field in (SortField.STORED, SortField.AGE, SortField.UPDATED)


class Points:
    """The points of one open collection. All raise NotReachable, and Refused with Qdrant's reason."""

    def __init__(self, connection: Connection, shape: Shape, server: Server) -> None:
        self.connection = connection
        self.shape = shape
        self.server = server

    def ask(self, filter: MemoryFilter) -> Question:
        """A filter as far as this server takes it."""
        return question(filter, self.server, has_agents=self.shape.has_agents)

    async def rows(self, conditions: Condition, *, vectors: bool = False) -> list[StoredRow]:
        """The rows one of Qdrant's filters leaves, the oldest first."""
        found: list[StoredRow] = []
        async for part in self.connection.scroll(conditions, True, vectors=vectors):
            found += map(self.shape.row, part)
        return sorted(found, key=oldest_first)

    async def rows_of(self, ids: Sequence[Handle], *, vectors: bool = False) -> list[StoredRow]:
        """The rows of these ids, in that order; those that are not there are left out."""
        wanted = [named for handle in ids if (named := point_id(str(handle))) is not None]
        points = await self.connection.retrieve(wanted, True, vectors=vectors) if wanted else []
        found = {str(point["id"]): self.shape.row(point) for point in points}
        return [found[str(handle)] for handle in ids if str(handle) in found]

    async def parts(
        self, filter: MemoryFilter, payload: Sequence[str] | None, seconds: float
    ) -> AsyncIterator[list[Point]]:
        """The points a filter leaves, some at a time in the order of their ids, with these fields or all.

        `seconds` is how long a pattern may take, all points together. Raises UsageError for one that takes longer.
        """
        asked = self.ask(filter)
        look = await self._looking(asked, seconds)
        wanted = True if payload is None else asked.fields(payload)
        async for part in self.connection.scroll(asked.conditions, wanted):
            yield await look(part)

    async def order(self, filter: MemoryFilter, sort: Sort, seconds: float) -> list[str]:
        """The ids of all points a filter leaves, in any order, made here."""
        fields, key = _ORDERS[sort.field]
        parts = [
            sorted((key(payload_of(point)), str(point["id"])) for point in part)
            async for part in self.parts(filter, fields, seconds)
        ]
        # Merged one by one, so that other threads get their turn.
        ids = await asyncio.to_thread(lambda: [name for _, name in heapq.merge(*parts)])
        return ids[::-1] if sort.descending else ids

    async def by_time(
        self, filter: MemoryFilter, after: Place | None, number: int, seconds: float, *, descending: bool
    ) -> list[Place]:
        """The first `number` points a filter leaves that stand behind `after` in the order of time, by the server.

        Points of one moment follow their ids, as in `order`.
        """
        asked = self.ask(filter)
        look = await self._looking(asked, seconds)
        found: list[Place] = []
        async with aclosing(self._by_time(asked, after, number + 1, descending=descending)) as parts:
            async for part in parts:
                left = set(map(id, await look([point for _, point in part])))
                found += [place for place, point in part if id(point) in left]
                if len(found) >= number:
                    break
        return found[:number]

    async def facets(self, filter: MemoryFilter, now: str, seconds: float) -> Facets:
        """Counts of what a filter leaves: of the server, or out of one pass over the payloads."""
        asked = self.ask(filter)
        found = await self._counted(asked, now) if asked.rest is None and self.server.counts_values else None
        if found is not None:
            return found
        has_agents = self.shape.has_agents
        category, session, agent, ages = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
        async for part in self.parts(filter, (*_COUNTED, "timestamp"), seconds):
            payloads = [payload_of(point) for point in part]
            category.update(_text(payload, "category") for payload in payloads)
            session.update(_text(payload, "session_id") for payload in payloads)
            agent.update(agent_of(payload) for payload in payloads)
            ages.update(age_groups((_text(payload, "timestamp") for payload in payloads), now))
        return Facets(
            total=category.total(),
            category=_most_first(category),
            session=_most_first(session),
            agent=_most_first(agent) if has_agents else None,
            age=dict(ages) or age_groups((), now),
        )

    async def _counted(self, asked: Question, now: str) -> Facets | None:
        """The counts by the server alone; None where some field has too many values."""
        total = await self.connection.count(asked.conditions)
        counters: dict[str, Counter[str]] = {}
        for field in _COUNTED if self.shape.has_agents else _COUNTED[:2]:
            values = await self.connection.values(asked.conditions, field, _MOST_VALUES)
            if len(values) >= _MOST_VALUES:
                return None
            counters[field] = Counter(values)
            # What has no text there is counted by no index.
            missing = total - counters[field].total()
            counters[field]["" if field != "agent_id" else DEFAULT_AGENT] += max(missing, 0)
        return Facets(
            total=total,
            category=_most_first(+counters["category"]),
            session=_most_first(+counters["session_id"]),
            agent=_most_first(+counters["agent_id"]) if self.shape.has_agents else None,
            age=await self._ages(asked, total, now),
        )

    async def _ages(self, asked: Question, total: int, now: str) -> dict[str, int]:
        until = moment(now) or datetime.max.replace(tzinfo=UTC)
        younger: list[int] = []
        for days in (1, 7, 30):
            since = {"gt": (until - timedelta(days=days)).isoformat()}
            younger.append(await self.connection.count(asked.also({"key": "timestamp", "range": since})))
        dated = await self.connection.count(asked.also(_DATED))
        steps = [0, *younger, dated, total]
        return {name: max(more - less, 0) for name, less, more in zip(AGE_GROUPS, steps, steps[1:], strict=False)}

    async def _by_time(
        self, asked: Question, after: Place | None, number: int, *, descending: bool
    ) -> AsyncGenerator[list[tuple[Place, Point]], None]:
        """The points in order, some at a time. Those without a moment come last where the newest come first."""
        is_behind_dated = after is not None and after[0].startswith(" ")
        if not descending and (after is None or is_behind_dated):
            yield await self._undated(asked, after, descending=False)
        if not (descending and is_behind_dated):
            async for part in self._dated(asked, None if is_behind_dated else after, number, descending=descending):
                yield part
        if descending:
            yield await self._undated(asked, after if is_behind_dated else None, descending=True)

    async def _undated(self, asked: Question, after: Place | None, *, descending: bool) -> list[tuple[Place, Point]]:
        found: list[tuple[Place, Point]] = []
        async for part in self.connection.scroll(asked.also({"must_not": [_DATED]}), asked.fields(["timestamp"])):
            found += [((_undated_key(point), str(point["id"])), point) for point in part]
        return _behind(found, after, descending=descending)

    async def _dated(
        self, asked: Question, after: Place | None, number: int, *, descending: bool
    ) -> AsyncIterator[list[tuple[Place, Point]]]:
        """Qdrant has no offset in an order: a part begins with the moment that the last one ended with.

        Points of one moment come in any order, so a part is told without its last moment, which may go on.
        """
        order: dict[str, Any] = {"key": "timestamp", "direction": "desc" if descending else "asc"}
        start = after[0] if after is not None else ""
        fields, limit = asked.fields(["timestamp"]), min(number + 1, _MOST_AT_ONCE)
        while True:
            begin = {"start_from": f"{start}Z"} if start else {}
            points, next_limit = await self.connection.in_order(asked.conditions, fields, limit, order | begin)
            is_end = len(points) < limit
            part = [((_dated_key(point), str(point["id"])), point) for point in points]
            if not is_end:
                last = part[-1][0][0]
                if part[0][0][0] != last:
                    part, start = [one for one in part if one[0][0] != last], last
                else:
                    part = await self._of_moment(asked, last, fields)
                    step = timedelta(microseconds=-1 if descending else 1)
                    start = (datetime.fromisoformat(last) + step).isoformat()
            yield _behind(part, after, descending=descending)
            if is_end:
                return
            limit = max(next_limit, 2)

    async def _of_moment(self, asked: Question, key: str, fields: Sequence[str]) -> list[tuple[Place, Point]]:
        when = {"gte": f"{key}Z", "lte": f"{key}Z"}
        found: list[tuple[Place, Point]] = []
        async for part in self.connection.scroll(asked.also({"key": "timestamp", "range": when}), fields):
            found += [((key, str(point["id"])), point) for point in part]
        return found

    async def _looking(self, asked: Question, seconds: float) -> Callable[[list[Point]], Any]:
        """What picks those of some points that `rest` leaves; one for all parts, since they share a pattern's time."""
        rest = asked.rest
        if rest is None:
            return _as_they_are
        # In a thread, since a pattern brings in its library.
        search = await asyncio.to_thread(TextSearch, rest, seconds)

        def left(part: list[Point]) -> list[Point]:
            entries: list[MemoryEntry] = [self.shape.entry(self.shape.row(point)) for point in part]
            chosen = set(map(id, left_of(entries, rest, search=search)))
            return [point for point, entry in zip(part, entries, strict=True) if id(entry) in chosen]

        return lambda part: asyncio.to_thread(left, part)


async def _as_they_are(part: list[Point]) -> list[Point]:
    return part


def _undated_key(point: Point) -> str:
    """What Qdrant takes for no moment has a blank before it, whatever may be read into it here."""
    return f" {_text(payload_of(point), 'timestamp')}"


def _dated_key(point: Point) -> str:
    """The moment by which Qdrant has put a point in order. Raises Refused where it does not say and nobody here can."""
    value = point.get("order_value")
    with suppress(OverflowError):
        if isinstance(value, int):
            return (_EPOCH + timedelta(microseconds=value)).isoformat()
    key = _time_of(payload_of(point))
    if key.startswith(" "):
        raise Refused(
            f"Qdrant takes {one_line(key)[:40]!r} for a moment.", hint="Qdrant does not say which time it means."
        )
    return key


def _behind(part: list[tuple[Place, Point]], after: Place | None, *, descending: bool) -> list[tuple[Place, Point]]:
    """Those that stand behind a place, in order."""
    left = [one for one in part if after is None or (one[0] < after if descending else one[0] > after)]
    return sorted(left, key=lambda one: one[0], reverse=descending)


def _text(payload: Mapping[str, Any], field: str) -> str:
    text = payload.get(field)
    return text if isinstance(text, str) else ""


def _most_first(counter: Counter[str]) -> dict[str, int]:
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))


def _time_of(payload: Mapping[str, Any]) -> str:
    return time_key(_text(payload, "timestamp"))


_ORDERS: Mapping[SortField, tuple[Sequence[str], Callable[[Mapping[str, Any]], Any]]] = {
    SortField.KEY: (["key"], lambda payload: _text(payload, "key")),
    SortField.CATEGORY: (["category"], lambda payload: _text(payload, "category")),
    SortField.CONTENT: (["content"], lambda payload: _text(payload, "content")[:_BY_CONTENT]),
    SortField.SIZE: (["content"], lambda payload: len(_text(payload, "content").encode("utf-8", "surrogateescape"))),
    SortField.STORED: (["timestamp"], _time_of),
    SortField.AGE: (["timestamp"], _time_of),
    SortField.UPDATED: (["timestamp"], _time_of),
}
"""The payload fields an order needs, and what it compares."""


NAME = "qdrant"
_AT_ONCE = 16
_LISTED_AT_MOST = 1000
"""How many points ZeroClaw's one page of a blank query holds."""
_IGNORED_LIMIT_BEFORE = (0, 5, 5)
_BLANK = "A blank query lists points by ID without a score, as ZeroClaw does."
_TIMES_HERE = "The time filter was applied to Qdrant's answer because ZeroClaw sends none."
_NO_TIMES = "ZeroClaw {} has no time filter in recall, so it had no effect."
_NO_NAMESPACES = "ZeroClaw has no namespaces in Qdrant, so the namespace had no effect."


def text_of(key: str, content: str) -> str:
    """What ZeroClaw embeds of a memory in Qdrant."""
    return f"{key}\n{content}"


class Embedding:
    """Makes the vectors of one collection; without an embedder it refuses, saying which setting helps."""

    def __init__(self, embedder: Embedder | None, because: str | None) -> None:
        self.embedder = embedder
        self._because = because

    @property
    def dimensions(self) -> int | None:
        """How many numbers its vectors have; None without an embedder."""
        return None if self.embedder is None else self.embedder.dimensions

    @property
    def why_none(self) -> str | None:
        """Why there is no embedder, in a sentence; None where there is one."""
        if self.embedder is not None:
            return None
        reason = (self._because or "set memory.embedding_provider.").removeprefix("keyword only: ")
        return f"{NO_EMBEDDER}: {reason}"

    def check(self, shape: Shape) -> None:
        """Raises Refused where nothing can be embedded for this collection."""
        if self.embedder is None:
            raise Refused(self.why_none or NO_EMBEDDER, hint="`zeroclaw onboard` sets it up.")
        self._check_length(self.embedder.dimensions, shape)

    async def vectors(self, texts: Sequence[str], shape: Shape) -> list[bytes]:
        """The vectors of texts as Qdrant will hold them. Raises Refused, EmbeddingFailed."""
        self.check(shape)
        made: list[bytes] = []
        for start in range(0, len(texts), _AT_ONCE):
            for numbers in await self._numbers(texts[start : start + _AT_ONCE]):
                self._check_length(len(numbers), shape)
                made.append(as_stored(numbers.astype("<f4").tobytes(), shape.distance))
        return made

    async def query(self, text: str, shape: Shape) -> list[float]:
        """The vector of a query. Raises Refused, EmbeddingFailed."""
        self.check(shape)
        assert self.embedder is not None
        return [float(number) for number in await query_with(self.embedder, text)]

    def given(self, vector: Vector, shape: Shape) -> bytes:
        """A vector that somebody else made, as Qdrant will hold it. Raises Refused where its length does not fit."""
        self._check_length(vector.dimensions, shape)
        return as_stored(vector.data, shape.distance)

    async def _numbers(self, texts: Sequence[str]) -> list[np.ndarray]:
        embedder = self.embedder
        if embedder is None:
            raise Refused(self.why_none or NO_EMBEDDER)
        if len(texts) > 1 and isinstance(embedder, EmbedsMany):
            try:
                return await embedder.embed_many(texts)
            except TextRefused:
                # Too many at once for this endpoint; each alone may do.
                return [await embedder.embed(text) for text in texts]
        return [await embedder.embed(text) for text in texts]

    def _check_length(self, dimensions: int, shape: Shape) -> None:
        if dimensions != shape.dimensions:
            raise Refused(
                f"The collection holds vectors of {shape.dimensions} numbers, and this one has {dimensions}.",
                hint=f"Set memory.embedding_dimensions to {shape.dimensions} if the model makes such vectors.",
            )


class Search:
    """Searches of one open collection, one at a time."""

    def __init__(self, points: Points, embedding: Embedding) -> None:
        self._points = points
        self._embedding = embedding
        self._running: asyncio.Future[StoreRecall] | None = None
        self._stopped: asyncio.Future[StoreRecall] | None = None

    async def run(
        self, request: RecallRequest, profile: ScoringProfile, query_vector: np.ndarray | None
    ) -> StoreRecall:
        """The nearest memories; without an embedder none, with a note why. Raises SearchInterrupted after `stop`."""
        running = asyncio.ensure_future(self._found(request, profile, query_vector))
        self._running = running
        try:
            return await running
        except asyncio.CancelledError:
            if self._stopped is running:
                raise SearchInterrupted from None
            raise
        finally:
            running.cancel()

    def stop(self) -> None:
        """End the search that runs now."""
        if self._running is not None and not self._running.done():
            self._stopped = self._running
            self._running.cancel()

    async def ranking(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None,
    ) -> Evidence:
        """The ranking as deep as it goes; times leave rows out after the limit has cut it, so each keeps its place."""
        depth = max(DEEPEST, request.limit)
        found = await self.run(replace(request, limit=depth, since=None, until=None), profile, query_vector)
        within = _times_of(request, profile)
        kept = [scored for scored in found.entries if matches(scored.entry, within)]
        ignores_limit = _is_blank(request.query) and parse_version(profile.version) < _IGNORED_LIMIT_BEFORE
        return OwnEvidence(
            request,
            tuple(replace(scored, rank=rank) for rank, scored in enumerate(kept, 1)),
            found.mode,
            found.scale,
            len(found.entries) < depth,
            (*found.notes, *(note for note in self._notes(request, profile) if note not in found.notes)),
            tuple(0 if ignores_limit else scored.rank for scored in kept),
            profile.version,
            settings,
        )

    def check(self, query: str) -> None:
        """Raises Refused for a query that has to be embedded where nothing can be."""
        if not _is_blank(query):
            self._embedding.check(self._points.shape)

    async def around(self, id: str | None, vector: np.ndarray | None, limit: int) -> Neighbours:
        """The points nearest to one point or to a vector, and how many there are; None without such a vector."""
        shape = self._points.shape
        if shape.distance != DISTANCE:
            return None
        if vector is None:
            rows = await self._points.rows_of([id], vectors=True) if id is not None else []
            data = rows[0].values.get("embedding") if rows else None
            if not isinstance(data, bytes):
                return None
            numbers = [number for (number,) in struct.iter_unpack("<f", data)]
        elif len(vector) == shape.dimensions:
            numbers = [float(number) for number in vector]
        else:
            return None
        body = {"vector": numbers, "limit": limit, "with_payload": False}
        points = self._points.connection.points(await self._points.connection.ask("POST", "/points/search", body))
        scored = [(str(point["id"]), point.get("score")) for point in points]
        found = [
            Neighbour(handle, float(score)) for handle, score in scored if isinstance(score, int | float) and score > 0
        ]
        return found, await self._points.connection.count(None)

    async def _found(
        self, request: RecallRequest, profile: ScoringProfile, query_vector: np.ndarray | None
    ) -> StoreRecall:
        notes = self._notes(request, profile)
        conditions = self._conditions(request)
        if _is_blank(request.query):
            points = await self._listed(conditions, request.limit, profile)
            return StoreRecall(self._ranked(points, request, profile), NAME, self.scale, (*notes, _BLANK))
        why_none = self._embedding.why_none
        if query_vector is None and why_none is not None:
            return StoreRecall((), NAME, self.scale, ("ZeroClaw cannot search here.", why_none, *notes))
        shape = self._points.shape
        if query_vector is None:
            vector = await self._embedding.query(request.query, shape)
        else:
            vector = [float(number) for number in query_vector]
        if request.limit < 1:
            return StoreRecall((), NAME, self.scale, notes)
        body: dict[str, Any] = {"vector": vector, "limit": request.limit, "with_payload": True}
        if conditions is not None:
            body["filter"] = conditions
        points = self._points.connection.points(await self._points.connection.ask("POST", "/points/search", body))
        return StoreRecall(self._ranked(points, request, profile), NAME, self.scale, notes)

    @property
    def scale(self) -> str:
        """What the scores are, in a word or two."""
        distance = self._points.shape.distance
        return "cosine" if distance == DISTANCE else f"qdrant's {distance.lower()} distance"

    def _conditions(self, request: RecallRequest) -> Condition | None:
        must: list[Condition] = []
        if request.session_id is not None:
            must.append(any_of("session_id", [request.session_id]))
        if request.agents is not None and self._points.shape.has_agents:
            must.append(of_agents(request.agents))
        return {"must": must} if must else None

    async def _listed(self, conditions: Condition | None, limit: int, profile: ScoringProfile) -> Sequence[Point]:
        ignores_limit = parse_version(profile.version) < _IGNORED_LIMIT_BEFORE
        body: dict[str, Any] = {"limit": _LISTED_AT_MOST, "with_payload": True, "with_vector": False}
        if not ignores_limit:
            body["limit"] = min(limit, _LISTED_AT_MOST)
        if conditions is not None:
            body["filter"] = conditions
        if body["limit"] < 1:
            return []
        result = self._points.connection.table(await self._points.connection.ask("POST", "/points/scroll", body))
        return self._points.connection.points(result.get("points"))

    def _ranked(
        self, points: Sequence[Point], request: RecallRequest, profile: ScoringProfile
    ) -> tuple[ScoredEntry, ...]:
        within = _times_of(request, profile)
        shape = self._points.shape
        is_cosine = shape.distance == DISTANCE
        found: list[ScoredEntry] = []
        for point in points:
            entry = shape.entry(shape.row(point))
            number = point.get("score")
            score = float(number) if isinstance(number, int | float) else None
            if matches(entry, within):
                found.append(ScoredEntry(entry, len(found) + 1, score, score if is_cosine else None, stage=NAME))
        return tuple(found)

    def _notes(self, request: RecallRequest, profile: ScoringProfile) -> tuple[str, ...]:
        notes: list[str] = []
        if request.since is not None or request.until is not None:
            notes.append(_TIMES_HERE if profile.has_time_bounds else _NO_TIMES.format(profile.version))
        if request.namespace is not None:
            notes.append(_NO_NAMESPACES)
        if request.agents is not None and not self._points.shape.has_agents:
            notes.append(NO_AGENTS)
        return tuple(notes)


def _times_of(request: RecallRequest, profile: ScoringProfile) -> MemoryFilter:
    if not profile.has_time_bounds:
        return MemoryFilter()
    return MemoryFilter(newer_than=request.since, older_than=request.until)


def _is_blank(query: str) -> bool:
    return not query.strip(WHITE_SPACE)
