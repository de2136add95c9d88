"""Memory in a Qdrant collection, over its REST interface."""

from __future__ import annotations

import asyncio
import heapq
import json
import math
import struct
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.base import Answer, Entries, Memory, Neighbours, Scored, Stamps, Work
from zeroclaw_tui.backends.health import Health, Readiness, Repair, RepairResult, StoreRecall, StoreRepair
from zeroclaw_tui.backends.matching import Tally
from zeroclaw_tui.backends.qdrant.points import (
    ABSENT,
    DISTANCE,
    OTHERS,
    TOTAL_SECONDS,
    Address,
    Connection,
    KeyRefused,
    capabilities_of,
    configured_address,
    examine,
    hangs,
    not_qdrant,
    payload_of,
    stamp_of,
    vector_size,
)
from zeroclaw_tui.backends.qdrant.search import (
    NAME,
    TIMES_FROM,
    VALUES_FROM,
    Embedding,
    Place,
    Points,
    Search,
    Server,
    any_of,
    is_by_time,
    of_key,
    of_keys,
    oldest_first,
    text_of,
    time_key,
)
from zeroclaw_tui.backends.qdrant.write import QdrantRows, Writer
from zeroclaw_tui.backends.revert import StoreJob
from zeroclaw_tui.config.memory_config import NEWEST_SCHEMA, MemoryConfig, shown
from zeroclaw_tui.embeddings.base import AsksEndpoint, Embedder, create_embedder, why_no_embedder
from zeroclaw_tui.memory.change import (
    Draft,
    See,
    StoredRow,
    Vector,
)
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, NotFound, NothingYet, Refused, Unreadable, UsageError
from zeroclaw_tui.memory.query import Cursor, Facets, MemoryFilter, Page, Sort, Superseded
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.statistics import Statistics
from zeroclaw_tui.memory.text import is_unicode
from zeroclaw_tui.scoring.evidence import Evidence
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, ScoringSettings, profile_for

if TYPE_CHECKING:
    import numpy as np


_EVERYTHING = MemoryFilter(superseded=Superseded.SHOW)
_OLDEST_FIRST = Sort(descending=False)
_AT_ONCE = 500
_ORDERED_AT_MOST = 20_000
"""So many places of an order are asked of the server at the most; for more, reading all ids takes less."""
_HELD_AT_ONCE = 1024 * 1024
"""About so many characters of contents are looked for at once."""
_OPEN_KEY = "The API key is sent unencrypted over plain HTTP."
_SLOW = "Each listing reads all {:,} points, which takes seconds: "
_TOO_OLD = (
    "this Qdrant gives them in the order of their ids alone. From 1.8 on, and with a datetime index, it can do more."
)
_NO_INDEX = (
    "the collection has no datetime index on timestamp. `zeroclaw memory doctor --repair make-payload-indexes` has "
    "Qdrant make one."
)
_SLOW_FROM = 50_000
_MANY = 1_000
"""From so many points on it is worth an index that the server orders or counts them."""
MAKE_INDEXES: Repair = "make payload indexes"
_INDEX_SECONDS = 60.0
_LOOK_AGAIN = 0.2
_PURPOSE = "to store and find memories here"


class QdrantMemory(Memory):
    """One collection. It embeds by itself, key and content together, and refuses to store without an embedder.

    There are no transactions and no time of the last change. A store replaces the memory of that key, with a new id,
    as ZeroClaw does. `names_agents` says that points carry an agent even where none does so far (ZeroClaw >= 0.8.0).
    An order by storing, age or update goes by `timestamp`.
    """

    name = NAME
    keeps_deleted = (
        "Qdrant keeps deleted points in its segments until it optimizes them, and in its log, snapshots and replicas, "
        "which this program cannot read."
    )
    embeds_itself = True
    ids_are_uuids = True
    keeps_updates = False
    orders_in_parts = True

    def __init__(
        self,
        address: Address,
        api_key: str = "",
        *,
        embedder: Embedder | None = None,
        no_embedder_because: str | None = None,
        names_agents: bool = False,
        read_only: bool = False,
        seconds: float = TOTAL_SECONDS,
    ) -> None:
        self._connection = Connection(address, api_key, seconds=seconds)
        self._embedding = Embedding(embedder, no_embedder_because)
        self._opened: tuple[Points, Search, Writer] | None = None
        self._paged: tuple[MemoryFilter, Sort, Sequence[str]] | None = None
        self._listed: tuple[MemoryFilter, Sort, Sequence[str]] | None = None
        self._last_places: tuple[MemoryFilter, Sort, Sequence[Place]] | None = None
        self.location = address.location
        self.read_only_because = ASKED_READ_ONLY if read_only else None
        self._names_agents = names_agents
        self._warnings = (_OPEN_KEY,) if api_key and address.is_open_to_listeners else ()
        self._writing = asyncio.Lock()
        self._describe()

    @classmethod
    def from_config(cls, config: MemoryConfig) -> QdrantMemory:
        """The collection a config names, or one at a URL given by option. Raises UsageError."""
        address, key = configured_address(config.storage, config.location)
        embedder, _ = create_embedder(config.embedding)
        return cls(
            address,
            key,
            embedder=embedder,
            no_embedder_because=why_no_embedder(config.embedding, purpose=_PURPOSE),
            names_agents=config.schema >= NEWEST_SCHEMA,
            read_only=config.read_only,
        )

    async def open(self) -> None:
        """Look at the collection. Raises NothingYet, NotReachable, and Unreadable for another program's."""
        described = await self._connection.describe()
        shape = await examine(self._connection, described, names_agents=self._names_agents)
        self._names_agents = shape.has_agents
        version = await self._connection.version()
        points = Points(self._connection, shape, self._server_of(version, described))
        self._opened = points, Search(points, self._embedding), Writer(points, self._embedding)
        self._describe()
        self.recalls_by = f"{self._search.scale} only"
        notices = [*self._warnings]
        if self._embedding.why_none is not None:
            notices.append(self._embedding.why_none)
        elif (mismatch := self._mismatch()) is not None:
            notices.append(mismatch)
        number = await self.count()
        if number >= _SLOW_FROM and not points.server.orders_times:
            notices.append(_SLOW.format(number) + (_NO_INDEX if version >= TIMES_FROM else _TOO_OLD))
        self.notices = tuple(notices)

    async def close(self) -> None:
        """Close the connections."""
        self._opened = self._paged = self._listed = self._last_places = None
        await self._connection.close()
        if self._embedding.embedder is not None:
            await self._embedding.embedder.close()

    @property
    def asks(self) -> AsksEndpoint | None:
        """The embedder, where it asks an endpoint."""
        embedder = self._embedding.embedder
        return embedder if isinstance(embedder, AsksEndpoint) else None

    async def make(self, profile: ScoringProfile) -> None:
        """Make the collection: as long as the embedder's vectors, cosine, no payload index.

        Raises Refused without an embedder, and where there is a collection already.
        """
        if self.read_only_because is not None:
            raise self.refuse_to_write()
        if self._embedding.dimensions is None:
            raise Refused(self._embedding.why_none or "", hint="`zeroclaw onboard` sets it up.")
        try:
            await self._connection.describe()
        except NothingYet:
            vectors = {"size": self._embedding.dimensions, "distance": DISTANCE}
            await self._connection.ask("PUT", "", {"vectors": vectors})
        else:
            raise Refused(f"There is a collection {self._connection.address.collection} already.")

    async def readiness(self, seconds: float) -> Readiness:
        """What Qdrant says of the collection: one GET, and nothing else."""
        began, name, place = time.perf_counter(), self._connection.address.collection, self._connection.address.place
        wanted = self._embedding.dimensions
        try:
            async with asyncio.timeout(seconds):
                described = await self._connection.describe()
        except TimeoutError:
            raise hangs(place, seconds) from None
        except KeyRefused as error:
            raise Refused(error.message, hint=error.hint) from None
        except NothingYet:
            made = "ZeroClaw makes it" if wanted else "ZeroClaw makes it once an embedding provider is on"
            return Readiness(_answers_in(began), (f"has no collection {shown(name)} yet: {made}",))
        if "config" not in described:
            raise not_qdrant(place)
        summary, size, points = _answers_in(began), vector_size(described), described.get("points_count")
        if size is None:
            sentence = f"The collection {shown(name)} is not ZeroClaw's: it has no single unnamed vector."
            hint = "Set storage.qdrant.collection to another name."
            return Readiness(summary, problem=Refused(sentence, hint=hint))
        if wanted and size != wanted:
            sentence = (
                f"The collection {shown(name)} holds vectors of {size} numbers, but memory.embedding_dimensions is "
                f"{wanted}."
            )
            hint = (
                f"Set memory.embedding_dimensions to {size} if the model makes such vectors, or choose another "
                "collection."
            )
            right = {"memory.embedding_dimensions": size}
            return Readiness(summary, problem=UsageError(sentence, hint=hint), corrections=right)
        held = f"{points:,} {'memory' if points == 1 else 'memories'}" if isinstance(points, int) else "memories"
        facts = (f"the collection {shown(name)} holds {held}", f"its vectors have {size:,} numbers")
        return Readiness(summary, facts)

    async def health_check(self) -> bool:
        """True when the collection answers. Raises NotReachable."""
        await self._connection.describe()
        return True

    async def health(self) -> Health:
        """What Qdrant says of the collection, and whether the embedder fits it."""
        described = await self._connection.describe()
        status = described.get("status")
        mismatch = self._embedding.why_none or self._mismatch()
        findings = [] if mismatch is None else [mismatch]
        if status not in ("green", None):
            findings.append(f"Qdrant calls the collection {status}: it is optimising, or in trouble.")
        number = await self.count()
        repairs: dict[str, StoreRepair] = {}
        if number >= _MANY:
            version = await self._connection.version()
            lacking = self._server_of(version, described).lacking
            if lacking:
                finding, repair = _unindexed(lacking, number)
                findings.append(finding)
                repairs[finding] = repair
            if version < VALUES_FROM:
                findings.append(_too_old(version, number))
        facts = {
            "memories": number,
            "collection": self._connection.address.collection,
            "server": self._connection.address.place,
            "vector length": self._points.shape.dimensions,
            "distance": self._points.shape.distance,
            "status": status,
            "payload indexes": ", ".join(described.get("payload_schema") or {}) or "none",
        }
        return Health(status != "red", "answers", tuple(findings), facts, repairs)

    async def repair(self, what: Repair = MAKE_INDEXES) -> RepairResult:
        """Have Qdrant make the payload indexes by which it orders and counts. Raises Refused before Qdrant 1.8."""
        if what != MAKE_INDEXES:
            raise self._no_file()
        if self.read_only_because is not None:
            raise self.refuse_to_write()
        version = await self._connection.version()
        if version < TIMES_FROM:
            raise Refused(_too_old(version, await self.count()), hint="Nothing was changed.")
        wanted = self._server_of(version, await self._connection.describe()).lacking
        for field, kind in wanted:
            await self._connection.ask("PUT", "/index", {"field_name": field, "field_schema": kind})
        # Qdrant says at once that it will; a big collection takes it longer than a request may.
        until = time.monotonic() + _INDEX_SECONDS
        while (server := self._server_of(version, await self._connection.describe())).lacking:
            if time.monotonic() > until:
                break
            await asyncio.sleep(_LOOK_AGAIN)
        self._points.server = server
        self._paged = self._listed = self._last_places = None
        return RepairResult(indexes=tuple(field for field, _ in wanted), goes_on=bool(server.lacking))

    def _server_of(self, version: tuple[int, int], described: Mapping[str, Any]) -> Server:
        return Server.of(version, described, has_agents=self._names_agents)

    async def count(self) -> int:
        """How many points there are, counted exactly."""
        return await self._connection.count(None)

    async def get(self, key: str) -> MemoryEntry | None:
        """The memory of that key, or None; several agents' points: the oldest."""
        return next(iter(await self.with_key(key)), None)

    async def get_batch(self, keys: Sequence[str]) -> Entries:
        """The memories of these keys in that order, out of one request for some hundreds."""
        found: dict[str, MemoryEntry] = {}
        for start in range(0, len(keys), _AT_ONCE):
            for entry in map(
                self._points.shape.entry, await self._points.rows(of_keys(keys[start : start + _AT_ONCE]))
            ):
                found.setdefault(entry.key, entry)
        return [found[key] for key in keys if key in found]

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """All memories with full content, the newest first."""
        wanted = MemoryFilter(
            category=None if category is None else (category,), session=None if session_id is None else (session_id,)
        )
        found = await self.entries(wanted)
        return sorted(found, key=lambda entry: (time_key(entry.timestamp), entry.id), reverse=True)

    async def entries(self, filter: MemoryFilter) -> Entries:
        """Every memory a filter leaves, with full content."""
        return [self._points.shape.entry(row) for row in await self._rows(filter)]

    async def page(self, filter: MemoryFilter, sort: Sort, cursor: Cursor | None, limit: int) -> Page[MemoryEntry]:
        """The rows after `cursor`: of the server's own order, or of that which the first page found.

        Rows gone meanwhile are left out.
        """
        return await self._asked(lambda: self._page(filter, sort, cursor, limit))

    async def order(self, filter: MemoryFilter, sort: Sort) -> Sequence[Handle]:
        """The handles of every row in order."""
        return await self._asked(lambda: self._points.order(filter, sort, self.find_seconds))

    async def order_part(
        self, filter: MemoryFilter, sort: Sort, offset: int, limit: int
    ) -> tuple[Sequence[Handle], int]:
        """Some handles of an order, and how many rows there are; of an order by time no more is asked for than that.

        Of one that has to be made here the last page's is taken, or the last part's.
        """
        return await self._asked(lambda: self._order_part(filter, sort, offset, limit))

    async def rows(self, handles: Sequence[Handle]) -> Entries:
        """The rows of these handles, in that order, as excerpts; rows gone meanwhile are left out."""
        return [self._points.shape.entry(row).excerpt() for row in await self._points.rows_of(handles)]

    async def whole(self, handle: Handle) -> MemoryEntry:
        """One row with its full content. Raises NotFound when it has gone."""
        found = await self.with_id(str(handle))
        if found is None:
            raise NotFound("This memory no longer exists.", hint="Press r to reload the list.")
        return found

    async def with_key(self, key: str, agent: str | None = None) -> Entries:
        """Every row of that key, the oldest first, or one agent's."""
        wanted = agent if self._points.shape.has_agents else None
        return [self._points.shape.entry(row) for row in await self._points.rows(of_key(key, wanted))]

    async def with_id(self, id: str) -> MemoryEntry | None:
        """The memory of that id, or None."""
        found = await self._points.rows_of([id])
        return self._points.shape.entry(found[0]) if found else None

    async def holding(self, contents: Sequence[str], keys: Sequence[str], seconds: float) -> tuple[Entries, bool]:
        """The memories whose whole content is one of these or whose key is; whether contents took no longer than that.

        Without an index on them Qdrant looks through all contents.
        """
        found = await self._having("key", keys)
        try:
            async with asyncio.timeout(seconds):
                found |= await self._having("content", contents)
        except TimeoutError:
            return [*found.values()], False
        return [*found.values()], True

    async def keys_starting(self, prefix: str, limit: int) -> Entries:
        """Rows whose key begins so, the newest first."""
        return await self._asked(lambda: self._keys_starting(prefix, limit))

    async def facets(self, filter: MemoryFilter, now: str) -> Facets:
        """Counts of what a filter leaves: by the server, or out of one pass over the payloads."""
        return await self._asked(lambda: self._points.facets(filter, now, self.find_seconds))

    async def statistics(self, filter: MemoryFilter | None = None) -> Statistics:
        """How much there is: no Qdrant tells how long texts are, so they are read and counted part by part."""
        points, wanted = self._points, _EVERYTHING if filter is None else filter

        async def count() -> Statistics:
            tally = Tally()
            async for part in points.parts(wanted, ("key", "content", "category", "timestamp"), self.find_seconds):
                await asyncio.to_thread(lambda part: tally.add(map(points.shape.entry, points.shape.rows(part))), part)
            return tally.statistics(has_vectors=True)

        return await self._asked(count)

    async def vector_norm(self, handle: Handle) -> float | None:
        """The length of one row's vector, which is 1 where the distance is Cosine; None without an embedder."""
        if not self.capabilities.vectors:
            return None
        for row in await self._points.rows_of([handle], vectors=True):
            data = row.values.get("embedding")
            if isinstance(data, bytes):
                return math.sqrt(math.fsum(number * number for (number,) in struct.iter_unpack("<f", data)))
        return None

    async def stamps(self, filter: MemoryFilter) -> Stamps:
        """Every memory a filter leaves, the oldest first, with the state it has now."""
        rows = sorted(await self._rows(filter), key=oldest_first)
        return await asyncio.to_thread(lambda: [stamp_of(row) for row in rows])

    async def stamps_of(self, handles: Sequence[Handle]) -> Stamps:
        """The stamps of rows of a listing; rows gone meanwhile are left out."""
        return [stamp_of(row) for row in await self._points.rows_of(handles)]

    def other_fields(self, row: StoredRow, name: str) -> Sequence[str]:
        """Of a payload the fields that are none of a memory's; that a field of those is lacking is nothing to lose."""
        if name == OTHERS:
            return [*json.loads(str(row.values[OTHERS]))]
        return () if name == ABSENT else (name,)

    async def stored(self, id: str) -> StoredRow | None:
        """One point as it is, with its vector."""
        return next(iter(await self._points.rows_of([id], vectors=True)), None)

    async def stored_by_id(self, ids: Sequence[str]) -> Mapping[str, StoredRow]:
        """The same for many ids, some hundreds by one question."""
        return {row.id: row for row in await self._points.rows_of(ids, vectors=True)}

    async def stored_of(self, handles: Sequence[Handle]) -> Sequence[StoredRow]:
        """The same for rows of a listing."""
        return await self._points.rows_of(handles, vectors=True)

    async def scan(self, see: See, filter: MemoryFilter | None = None) -> None:
        """Show every row whole with its vector, the oldest first; they are read some hundreds at a time."""
        handles = await self.order(_EVERYTHING if filter is None else filter, _OLDEST_FIRST)
        stop = threading.Event()

        def look(rows: Sequence[StoredRow]) -> None:
            for row in rows:
                if stop.is_set():
                    return
                see(row)

        try:
            for start in range(0, len(handles), _AT_ONCE):
                rows = await self._points.rows_of(handles[start : start + _AT_ONCE], vectors=True)
                await asyncio.to_thread(look, rows)
        finally:
            stop.set()

    stamp_of = staticmethod(stamp_of)

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """The nearest memories by the newest rules. Raises Refused without an embedder, EmbeddingFailed."""
        self._search.check(query)
        request = RecallRequest(query, limit, session_id, since=since, until=until)
        return [*(await self.search(request, profile_for(NEWEST), ScoringSettings())).entries]

    async def search(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> StoreRecall:
        """The nearest memories by the rules of `profile`; without an embedder none, with a note why.

        Raises EmbeddingFailed where the query's vector cannot be had: ZeroClaw's own recall fails then too.
        """
        return await self._search.run(request, profile, query_vector)

    async def evidence(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> Evidence:
        """The ranking as deep as it goes. Raises EmbeddingFailed."""
        return await self._search.ranking(request, profile, settings, query_vector)

    async def nearest(self, entry: MemoryEntry | None, vector: np.ndarray | None, limit: int) -> Neighbours:
        """The nearest points by the collection's own distance."""
        return await self._search.around(None if entry is None else entry.id, vector, limit)

    def interrupt(self) -> None:
        """Stop the search that runs now; it raises SearchInterrupted."""
        if self._opened is not None:
            self._search.stop()

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Write one memory of the default agent; a memory of that key is replaced by a new point, as ZeroClaw does."""
        await self.store_batch([Draft(key, content, category, session_id)])

    async def store_batch(self, drafts: Sequence[Draft]) -> None:
        """Write many memories, the last of a key and agent counts; embedded and sent some at a time."""
        await self.write_rows(StoreJob(drafts).run)

    async def forget(self, key: str) -> bool:
        """Delete by key, every agent's, as ZeroClaw does; True when there was one, which ZeroClaw always says."""
        self._begin_to_write()
        async with self._writing:
            return await self._writer.delete_key(key)

    async def write_rows(self, work: Work[Answer], vector: Vector | None = None) -> Answer:
        """Key and content are embedded unless `vector` is given; unknown payload fields, ids and times stay.

        Raises Refused without an embedder, and EmbeddingFailed.
        """
        self._begin_to_write()
        async with self._writing:
            return await work(QdrantRows(self._writer, vector))

    def text_to_embed(self, row: StoredRow) -> str:
        """Key and content."""
        return text_of(str(row.values["key"]), str(row.values["content"]))

    @property
    def _points(self) -> Points:
        return self._parts[0]

    @property
    def _search(self) -> Search:
        return self._parts[1]

    @property
    def _writer(self) -> Writer:
        return self._parts[2]

    @property
    def _parts(self) -> tuple[Points, Search, Writer]:
        if self._opened is None:
            raise Unreadable("The Qdrant collection is closed.", hint="Press r to open it again.")
        return self._opened

    async def _asked(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """An answer; where Qdrant refuses, once more with everything done here: an index may be gone, or forbidden."""
        points = self._points
        try:
            return await ask()
        except Refused:
            if points.server == Server():
                raise
        points.server = Server()
        return await ask()

    async def _rows(self, filter: MemoryFilter) -> Sequence[StoredRow]:
        """The rows a filter leaves, whole, in any order."""
        points = self._points

        async def read() -> Sequence[StoredRow]:
            found: list[StoredRow] = []
            async for part in points.parts(filter, None, self.find_seconds):
                found += await asyncio.to_thread(points.shape.rows, part)
            return found

        return await self._asked(read)

    async def _page(self, filter: MemoryFilter, sort: Sort, cursor: Cursor | None, limit: int) -> Page[MemoryEntry]:
        points = self._points
        if points.server.orders_times and is_by_time(sort) and (cursor is None or cursor.value is not None):
            after = None if cursor is None else (str(cursor.value), str(cursor.handle))
            places = await points.by_time(filter, after, limit + 1, self.find_seconds, descending=sort.descending)
            rows = await self.rows([name for _, name in places[:limit]])
            return Page(tuple(rows), Cursor(*places[limit - 1]) if len(places) > limit else None)
        if cursor is None or self._paged is None or self._paged[:2] != (filter, sort):
            self._paged = self._listed = (filter, sort, await points.order(filter, sort, self.find_seconds))
        handles = self._paged[2]
        start = 0
        if cursor is not None:
            try:
                start = handles.index(str(cursor.handle)) + 1
            except ValueError:
                start = len(handles)
        found: list[MemoryEntry] = []
        while len(found) < limit and start < len(handles):
            part = handles[start : start + min(limit - len(found), _AT_ONCE)]
            found += await self.rows(part)
            start += len(part)
        return Page(tuple(found), Cursor(None, handles[start - 1]) if start < len(handles) else None)

    async def _order_part(
        self, filter: MemoryFilter, sort: Sort, offset: int, limit: int
    ) -> tuple[Sequence[Handle], int]:
        points, end = self._points, offset + limit
        asked = points.ask(filter)
        is_ordered = points.server.orders_times and is_by_time(sort) and end <= _ORDERED_AT_MOST
        if asked.rest is None and (is_ordered or limit == 0):
            total = await self._connection.count(asked.conditions)
            places: Sequence[Place] = ()
            if offset and self._last_places is not None and self._last_places[:2] == (filter, sort):
                places = self._last_places[2]
            if limit and len(places) < min(end, total):
                last, more = places[-1] if places else None, end - len(places)
                found = await points.by_time(filter, last, more, self.find_seconds, descending=sort.descending)
                places = [*places, *found]
                self._last_places = (filter, sort, places)
            return [name for _, name in places[offset:end]], total
        if self._listed is None or self._listed[:2] != (filter, sort):
            self._listed = (filter, sort, await points.order(filter, sort, self.find_seconds))
        handles = self._listed[2]
        return handles[offset:end], len(handles)

    async def _having(self, field: str, texts: Sequence[str]) -> dict[str, MemoryEntry]:
        """The memories whose field is one of these texts, by id; some hundreds by one request."""
        found: dict[str, MemoryEntry] = {}
        part: list[str] = []
        for at, text in enumerate(texts, 1):
            part.append(text)
            if at == len(texts) or len(part) == _AT_ONCE or sum(map(len, part)) > _HELD_AT_ONCE:
                rows = await self._points.rows({"must": [any_of(field, part)]})
                found |= {row.id: self._points.shape.entry(row) for row in rows}
                part = []
        return found

    async def _keys_starting(self, prefix: str, limit: int) -> Entries:
        if not is_unicode(prefix):
            return []
        kind = self._points.server.text_match
        conditions = {"must": [{"key": "key", "match": {kind: prefix}}]} if prefix and kind else None
        found: list[Place] = []
        async for part in self._connection.scroll(conditions, ["key", "timestamp"]):
            payloads = [(payload_of(point), str(point["id"])) for point in part]
            found += [
                (time_key(str(payload.get("timestamp") or "")), name)
                for payload, name in payloads
                if str(payload.get("key", "")).startswith(prefix)
            ]
        rows = await self._points.rows_of([name for _, name in heapq.nlargest(limit, found)])
        return [self._points.shape.entry(row) for row in rows]

    def _describe(self) -> None:
        has_agents = self._names_agents
        self.capabilities = capabilities_of(self.read_only_because, self._embedding.why_none, has_agents=has_agents)

    def _mismatch(self) -> str | None:
        made, held = self._embedding.dimensions, self._points.shape.dimensions
        if made == held:
            return None
        return (
            f"The collection holds vectors of {held} numbers, but memory.embedding_dimensions is {made}: "
            "ZeroClaw can neither store nor search here."
        )

    def _begin_to_write(self) -> None:
        """Raises Refused where nothing can be written; no order that was made before is taken after it."""
        self._listed = self._last_places = None
        if self.read_only_because is not None:
            raise self.refuse_to_write()


def _unindexed(lacking: Sequence[tuple[str, str]], number: int) -> tuple[str, StoreRepair]:
    """What it costs that payload indexes are not there, and the repair."""
    fields = ", ".join(field for field, _ in lacking)
    costs = []
    if ("timestamp", "datetime") in lacking:
        costs.append("list them in the order of time")
    if any(kind == "keyword" for _, kind in lacking):
        costs.append("count them by category, session and agent")
    finding = (
        f"The collection has no payload index on {fields}: all {number:,} points are read to {' and to '.join(costs)}."
    )
    steps = (
        *(f"Have Qdrant make an index of the kind {kind} on {field}." for field, kind in lacking),
        "Points stay as they are; an index of another kind on these fields goes, and Qdrant takes some more memory.",
    )
    return finding, StoreRepair(MAKE_INDEXES, "Pages and counts take longer the more memories there are.", steps)


def _too_old(version: tuple[int, int], number: int) -> str:
    """What a version of Qdrant lacks, whatever indexes there are."""
    named = f"This Qdrant is {version[0]}.{version[1]}" if any(version) else "This Qdrant does not say its version"
    if version < TIMES_FROM:
        return f"{named}: all {number:,} points are read to list them in the order of time, which 1.8 does by itself."
    return f"{named}: all {number:,} points are read to count them by category and session, which 1.12 does by itself."


def _answers_in(began: float) -> str:
    return f"answers in {(time.perf_counter() - began) * 1000:.0f} ms"
