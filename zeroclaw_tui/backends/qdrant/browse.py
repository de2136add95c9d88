"""Reading a Qdrant collection: listings, facets, whole rows.

Without payload indexes, which ZeroClaw makes none of, Qdrant gives points only in the order of their ids. So every
listing reads all points that its filter leaves, without their contents where those do not matter, and orders them here.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import math
import struct
import threading
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeAlias

from zeroclaw_tui.backends.base import Entries, Memory, Stamps
from zeroclaw_tui.backends.counting import count_entries
from zeroclaw_tui.backends.listing import age_groups, left_of, moment
from zeroclaw_tui.backends.matching import TextSearch
from zeroclaw_tui.backends.qdrant import filters
from zeroclaw_tui.backends.qdrant.collection import Collection
from zeroclaw_tui.backends.qdrant.connection import Connection, Point
from zeroclaw_tui.backends.qdrant.points import (
    ABSENT,
    ALL_BUT_CONTENT,
    OTHERS,
    agent_of,
    entry_of,
    payload_of,
    point_id,
    row_of,
    stamp_of,
)
from zeroclaw_tui.memory.change import See, Stamp, StoredRow
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import NotThere, Unreadable
from zeroclaw_tui.memory.query import Cursor, Facets, MemoryFilter, Page, Sort, SortField, Superseded
from zeroclaw_tui.memory.statistics import Statistics

Part: TypeAlias = list[Point]
_EVERYTHING = MemoryFilter(superseded=Superseded.SHOW)
_OLDEST_FIRST = Sort(descending=False)
_AT_ONCE = 500
_UTC = "+00:00"
_LIGHT = {
    SortField.KEY: ["key"],
    SortField.CATEGORY: ["category"],
    SortField.CONTENT: ["content"],
    SortField.SIZE: ["content"],
}
"""The payload fields an order needs; the others go by the time of storing."""


class BrowsedQdrant(Memory):
    """The reading half. An order by storing, age or update goes by `timestamp`: there is no other time."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._collection: Collection | None = None
        self._paged: tuple[MemoryFilter, Sort, list[str]] | None = None

    @property
    def _shape(self) -> Collection:
        if self._collection is None:
            raise Unreadable("This Qdrant collection is not open.", hint="r opens it again.")
        return self._collection

    @property
    def _has_agents(self) -> bool:
        return self.capabilities.agents

    async def count(self) -> int:
        """How many points there are, counted exactly."""
        return await self._counted(None)

    async def get(self, key: str) -> MemoryEntry | None:
        """The memory of that key, or None; several agents' points: the oldest."""
        return next(iter(await self.with_key(key)), None)

    async def get_batch(self, keys: Sequence[str]) -> Entries:
        """The memories of these keys in that order, out of one request for some hundreds."""
        found: dict[str, MemoryEntry] = {}
        for start in range(0, len(keys), _AT_ONCE):
            for row in sorted(await self._rows_of(filters.of_keys(keys[start : start + _AT_ONCE])), key=oldest_first):
                entry = entry_of(row, self._shape.dimensions)
                found.setdefault(entry.key, entry)
        return [found[key] for key in keys if key in found]

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """All memories with full content, the newest first."""
        wanted = MemoryFilter(
            category=None if category is None else (category,), session=None if session_id is None else (session_id,)
        )
        found = await self.entries(wanted)
        order = {handle: at for at, handle in enumerate(await self.order(wanted, Sort()))}
        return sorted(found, key=lambda entry: order.get(str(entry.handle), -1))

    async def entries(self, filter: MemoryFilter) -> Entries:
        """Every memory a filter leaves, with full content."""
        found: list[MemoryEntry] = []
        async for part in self._parts(filter, True):
            found += await asyncio.to_thread(self._built, part)
        return found

    async def page(self, filter: MemoryFilter, sort: Sort, cursor: Cursor | None, limit: int) -> Page:
        """The rows after `cursor` of the order that the first page found; rows gone meanwhile are left out."""
        paged = self._paged
        if cursor is None or paged is None or paged[:2] != (filter, sort):
            paged = self._paged = (filter, sort, [str(handle) for handle in await self.order(filter, sort)])
        handles = paged[2]
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

    async def order(self, filter: MemoryFilter, sort: Sort) -> Sequence[Handle]:
        """The handles of every row in order."""
        fields = _LIGHT.get(sort.field, ["timestamp"])
        payload: Any = True if filters.is_looked_at_here(filter) else fields
        if filters.is_looked_at_here(filter) and not filters.needs_content(filter) and "content" not in fields:
            payload = ALL_BUT_CONTENT
        parts = [
            sorted(zip(map(_order_by(sort.field), part), (str(point["id"]) for point in part), strict=True))
            async for part in self._parts(filter, payload)
        ]
        handles = await asyncio.to_thread(lambda: [handle for _, handle in heapq.merge(*parts)])
        return handles[::-1] if sort.descending else handles

    async def rows(self, handles: Sequence[Handle]) -> Entries:
        """The rows of these handles, in that order, as excerpts; rows gone meanwhile are left out."""
        found = await self._rows_with(handles)
        return [entry_of(row, self._shape.dimensions).excerpt() for row in found]

    async def whole(self, handle: Handle) -> MemoryEntry:
        """One row with its full content. Raises NotThere when it has gone."""
        for row in await self._rows_with([handle]):
            return entry_of(row, self._shape.dimensions)
        raise NotThere("This memory is no longer there.", hint="r reloads the list.")

    async def with_key(self, key: str, agent: str | None = None) -> Entries:
        """Every row of that key, the oldest first, or one agent's."""
        wanted = agent if self._has_agents else None
        found = sorted(await self._rows_of(filters.of_key(key, wanted)), key=oldest_first)
        return [entry_of(row, self._shape.dimensions) for row in found]

    async def with_id(self, id: str) -> MemoryEntry | None:
        """The memory of that id, or None."""
        found = await self._rows_with([id])
        return entry_of(found[0], self._shape.dimensions) if found else None

    async def keys_starting(self, prefix: str, limit: int) -> Entries:
        """Rows whose key begins so, the newest first."""
        found: list[tuple[str, str]] = []
        async for part in self._parts(_EVERYTHING, ["key", "timestamp"]):
            chosen = [point for point in part if str(payload_of(point).get("key", "")).startswith(prefix)]
            found += [(_time_of(point), str(point["id"])) for point in chosen]
        handles = [handle for _, handle in heapq.nlargest(limit, found)]
        return [entry_of(row, self._shape.dimensions) for row in await self._rows_with(handles)]

    async def facets(self, filter: MemoryFilter, now: str) -> Facets:
        """Counts of what a filter leaves, out of one pass over the payloads."""
        category, session, agent = Counter[str](), Counter[str](), Counter[str]()
        ages = Counter[str]()
        async for part in self._parts(filter, True if filters.needs_content(filter) else ALL_BUT_CONTENT):
            payloads = [payload_of(point) for point in part]
            category.update(_text(payload, "category") for payload in payloads)
            session.update(_text(payload, "session_id") for payload in payloads)
            agent.update(agent_of(payload) for payload in payloads)
            ages.update(age_groups((_text(payload, "timestamp") for payload in payloads), now))
        return Facets(
            total=category.total(),
            category=_most_first(category),
            session=_most_first(session),
            agent=_most_first(agent) if self._has_agents else None,
            age=dict(ages) or age_groups((), now),
        )

    async def statistics(self, filter: MemoryFilter | None = None) -> Statistics:
        """How much there is."""
        found = await self.entries(_EVERYTHING if filter is None else filter)
        return await asyncio.to_thread(lambda: count_entries(found, has_vectors=True))

    async def vector_norm(self, handle: Handle) -> float | None:
        """The length of one row's vector, which is 1 where the distance is Cosine; None without an embedder."""
        if not self.capabilities.vectors:
            return None
        for row in await self._rows_with([handle], vectors=True):
            data = row.values.get("embedding")
            if isinstance(data, bytes):
                return math.sqrt(math.fsum(number * number for (number,) in struct.iter_unpack("<f", data)))
        return None

    async def stamps(self, filter: MemoryFilter) -> Stamps:
        """Every memory a filter leaves, the oldest first, with the state it has now."""
        found: list[tuple[str, str, Stamp]] = []
        async for part in self._parts(filter, True):
            rows = await asyncio.to_thread(self._stamped, part)
            found += rows
        return [stamp for _, _, stamp in sorted(found, key=lambda one: one[:2])]

    async def stamps_of(self, handles: Sequence[Handle]) -> Stamps:
        """The stamps of rows of a listing; rows gone meanwhile are left out."""
        return [stamp_of(row) for row in await self._rows_with(handles)]

    def other_fields(self, row: StoredRow, name: str) -> Sequence[str]:
        """The fields of a payload that are none of a memory's."""
        if name == OTHERS:
            return list(json.loads(str(row.values[OTHERS])))
        return () if name == ABSENT else (name,)

    async def stored(self, id: str) -> StoredRow | None:
        """One point as it is, with its vector."""
        return next(iter(await self._rows_with([id], vectors=True)), None)

    async def stored_by_id(self, ids: Sequence[str]) -> Mapping[str, StoredRow]:
        """The same for many ids, some hundreds by one question."""
        return {row.id: row for row in await self._rows_with(ids, vectors=True)}

    async def stored_of(self, handles: Sequence[Handle]) -> Sequence[StoredRow]:
        """The same for rows of a listing."""
        return await self._rows_with(handles, vectors=True)

    async def each_row(self, see: See, filter: MemoryFilter | None = None) -> None:
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
                rows = await self._rows_with(handles[start : start + _AT_ONCE], vectors=True)
                await asyncio.to_thread(look, rows)
        finally:
            stop.set()

    def stamp_of(self, row: StoredRow) -> Stamp:
        """The stamp of a row that was shown."""
        return stamp_of(row)

    async def _counted(self, filter: Mapping[str, Any] | None) -> int:
        body = {"exact": True} | ({"filter": filter} if filter else {})
        number = self._connection.table(await self._connection.ask("POST", "/points/count", body)).get("count")
        return number if isinstance(number, int) else 0

    async def _parts(self, filter: MemoryFilter, payload: Any) -> AsyncIterator[Part]:
        """The points a filter leaves, a part at a time, with the payload fields that were asked for."""
        conditions = filters.translated(filter, has_agents=self._has_agents)
        is_looked_at = filters.is_looked_at_here(filter)
        # In a thread, since a pattern brings in its library; one for all parts, since they share its time.
        search = await asyncio.to_thread(TextSearch, filter, self.find_seconds)
        async for part in self._connection.scroll(conditions, payload):
            if not is_looked_at:
                yield part
                continue
            yield await asyncio.to_thread(self._left, part, filter, search)

    def _left(self, part: Part, filter: MemoryFilter, search: TextSearch) -> Part:
        entries = self._built(part)
        left = set(map(id, left_of(entries, filter, search=search)))
        return [point for point, entry in zip(part, entries, strict=True) if id(entry) in left]

    def _built(self, part: Sequence[Point]) -> Entries:
        dimensions, has_agents = self._shape.dimensions, self._has_agents
        return [entry_of(row_of(point, has_agents=has_agents), dimensions) for point in part]

    def _stamped(self, part: Sequence[Point]) -> Sequence[tuple[str, str, Stamp]]:
        rows = [row_of(point, has_agents=self._has_agents) for point in part]
        return [(_time_of(point), row.id, stamp_of(row)) for point, row in zip(part, rows, strict=True)]

    async def _rows_of(self, filter: Mapping[str, Any], *, vectors: bool = False) -> Sequence[StoredRow]:
        """The rows one of Qdrant's filters leaves."""
        found: list[StoredRow] = []
        async for part in self._connection.scroll(filter, True, vectors=vectors):
            found += [row_of(point, has_agents=self._has_agents) for point in part]
        return found

    async def _rows_with(self, ids: Sequence[Handle], *, vectors: bool = False) -> Sequence[StoredRow]:
        """The rows of these ids, in that order; those that are not there are left out."""
        wanted = [named for handle in ids if (named := point_id(str(handle))) is not None]
        points = await self._connection.retrieve(wanted, True, vectors=vectors) if wanted else []
        found = {str(point["id"]): row_of(point, has_agents=self._has_agents) for point in points}
        return [found[str(handle)] for handle in ids if str(handle) in found]


def _text(payload: Mapping[str, Any], field: str) -> str:
    text = payload.get(field)
    return text if isinstance(text, str) else ""


def _time_of(point: Point) -> str:
    """When a point was stored, to order by; what is no moment comes first."""
    return _in_order(_text(payload_of(point), "timestamp"))


def _in_order(written: str) -> str:
    """A text that stands among others of its kind where its moment does: UTC without the offset, blanks before none."""
    # What ZeroClaw writes is in UTC already, and reading a hundred thousand moments takes as long as fetching them.
    if written.endswith(_UTC) and written[10:11] == "T":
        return written[: -len(_UTC)]
    when = moment(written)
    return f" {written}" if when is None else when.replace(tzinfo=None).isoformat()


def _order_by(field: SortField) -> Any:
    match field:
        case SortField.KEY | SortField.CATEGORY:
            return lambda point: _text(payload_of(point), field.value)
        case SortField.CONTENT:
            return lambda point: _text(payload_of(point), "content")[:200]
        case SortField.SIZE:
            return lambda point: len(_text(payload_of(point), "content").encode("utf-8", "surrogateescape"))
        case _:
            return _time_of


def oldest_first(row: StoredRow) -> tuple[str, str]:
    """What to order rows by: when they were stored, then their ids."""
    return _in_order(str(row.values["created_at"])), row.id


def _most_first(counter: Counter[str]) -> dict[str, int]:
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
