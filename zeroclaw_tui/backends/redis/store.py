"""Memory in Redis, as the tutorial for custom backends lays it out; ZeroClaw itself has no such backend."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.base import Answer, Capabilities, Entries, Memory, Scored, Stamps, Work
from zeroclaw_tui.backends.fallback import show
from zeroclaw_tui.backends.health import Health, StoreRecall
from zeroclaw_tui.backends.matching import SECONDS, age_groups, count_entries, left_of
from zeroclaw_tui.backends.redis.connect import SHAPE, Connection, RedisAddress, read_url
from zeroclaw_tui.backends.redis.documents import (
    PATTERN,
    WHY_NOT,
    Everything,
    RedisRows,
    State,
    key_of,
    look,
    name_of,
    order_of_storing,
    other_fields,
    read_everything,
    state_of,
)
from zeroclaw_tui.backends.revert import StoreJob
from zeroclaw_tui.backends.tables import local_now
from zeroclaw_tui.memory.change import (
    Draft,
    Edit,
    Keep,
    See,
    Stamp,
    StoredRow,
    Vector,
    Written,
)
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, InspectorError, NotFound, UsageError
from zeroclaw_tui.memory.query import NEWEST_STORED, Cursor, Facets, MemoryFilter, Page, Sort, SortField, Superseded
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.statistics import Statistics
from zeroclaw_tui.scoring.profiles import ScoringProfile, ScoringSettings

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.config.memory_config import MemoryConfig

EDITABLE_HERE = ("content", "key", "category")
NO_WATCH = "This server does not report writes."


def capabilities_of(read_only_because: str | None, *, tells_of_writes: bool) -> Capabilities:
    """What can be done with a server that may be written, or not, and that tells of writes, or not."""
    reasons = dict(WHY_NOT)
    if read_only_because is not None:
        reasons |= dict.fromkeys(("write", *EDITABLE_HERE), read_only_because)
    if not tells_of_writes:
        reasons["watch"] = NO_WATCH
    return Capabilities(
        keyword=True,
        sessions=False,
        watch=tells_of_writes,
        write=read_only_because is None,
        editable=EDITABLE_HERE if read_only_because is None else (),
        why_not=reasons,
    )


STAGE = "redis"
_AS_STORED = (SortField.STORED, SortField.UPDATED, SortField.AGE)

MOST_HELD = 64_000_000
"""Up to so many characters are held between two questions; more is read anew for each."""
MOST_COMPARED = 1000
"""In a database of so many keys at most, the contents are compared after a deletion."""
MOST_PLACES = 10_000
"""Of so many memories that were asked for one by one it is known where they lie."""
_COPY = "This Redis is a copy of another server and takes no writes."
_NAMES_TOLD = 5
_SHORTEST_TIMEOUT, _LONGEST_TIMEOUT = 1.0, 300.0
_USUAL_TIMEOUT = 5.0


@dataclass(frozen=True, slots=True)
class Listing:
    """The memories a filter leaves, in the rising order of a field."""

    entries: Sequence[MemoryEntry]
    field: SortField

    def in_order(self, sort: Sort) -> Sequence[MemoryEntry]:
        """Rising or falling."""
        return self.entries[::-1] if sort.descending else self.entries

    def page(self, sort: Sort, cursor: Cursor | None, limit: int) -> Page[MemoryEntry]:
        """The rows behind the place of a cursor, whether its own row is still there or not."""
        if sort.descending:
            end = len(self.entries) if cursor is None else bisect_left(self.entries, cursor.value, key=self._value)
            start = max(0, end - limit)
            chosen, last, more = self.entries[start:end][::-1], start, start > 0
        else:
            start = 0 if cursor is None else bisect_right(self.entries, cursor.value, key=self._value)
            end = min(len(self.entries), start + limit)
            chosen, last, more = self.entries[start:end], end - 1, end < len(self.entries)
        row = self.entries[last] if more and chosen else None
        following = None if row is None else Cursor(self._value(row), row.handle)
        return Page(tuple(entry.excerpt() for entry in chosen), following)

    def _value(self, entry: MemoryEntry) -> tuple[Any, ...]:
        return _value(entry, self.field)


def listing_of(everything: Everything, filter: MemoryFilter, field: SortField, seconds: float = SECONDS) -> Listing:
    """What a filter leaves."""
    entries = left(everything, filter, seconds)
    if field not in _AS_STORED:
        entries.sort(key=lambda entry: _value(entry, field))
    return Listing(entries, field)


def left(everything: Everything, filter: MemoryFilter, seconds: float = SECONDS) -> Entries:
    """The memories a filter leaves, in the order of storing; a pattern is matched for so many seconds at most."""
    if filter.is_empty and filter.superseded is not Superseded.ONLY:
        return [memory.entry for memory in everything.memories]
    return left_of((memory.entry for memory in everything.memories), filter, seconds)


def facets_of(entries: Sequence[MemoryEntry], now: str) -> Facets:
    """Counts of what there is to count."""
    categories = Counter(entry.category for entry in entries)
    return Facets(
        total=len(entries),
        category=dict(sorted(categories.items(), key=lambda item: (-item[1], item[0]))),
        age=age_groups((entry.timestamp for entry in entries), now),
    )


def recalled(entries: Iterable[MemoryEntry], query: str, limit: int) -> list[ScoredEntry]:
    """Those whose content contains the query, whatever the case, in the order given; none has a score."""
    wanted = query.lower()
    found: list[ScoredEntry] = []
    for entry in entries:
        if len(found) >= limit:
            break
        if wanted in entry.content.lower():
            found.append(ScoredEntry(entry, len(found) + 1, None, stage=STAGE))
    return found


def _value(entry: MemoryEntry, field: SortField) -> tuple[Any, ...]:
    match field:
        case SortField.KEY:
            return (entry.key,)
        case SortField.CATEGORY:
            return (entry.category, entry.key)
        case SortField.CONTENT:
            return (entry.content[:200], entry.key)
        case SortField.SIZE:
            return (entry.size, entry.key)
    return order_of_storing(entry)


class RedisMemory(Memory):
    """Each memory is a JSON document under `memory:<key>`. A change is written in one step or not at all."""

    name = "redis"
    keeps_deleted = (
        "Redis keeps deleted keys in its append-only file until BGREWRITEAOF, in its dump until BGSAVE, and in "
        "replicas and backups, which this program cannot read."
    )
    keeps_updates = False
    recalls_by = "substring"

    def __init__(
        self,
        address: RedisAddress,
        *,
        connect_seconds: float = _USUAL_TIMEOUT,
        read_only: bool = False,
        clock: Callable[[], str] = local_now,
    ) -> None:
        self.location = address.location
        self.connection = Connection(address, connect_seconds)
        self._asked_read_only = read_only
        self.read_only_because = ASKED_READ_ONLY if read_only else None
        self.capabilities = capabilities_of(self.read_only_because, tells_of_writes=True)
        self._held: Everything | None = None
        self._places: dict[str, str] = {}
        self._listing: tuple[Everything, MemoryFilter, Any, Listing] | None = None
        self._state: State | None = None
        self._version = 0
        self._lock = asyncio.Lock()
        self._clock = clock

    @classmethod
    def from_config(cls, config: MemoryConfig) -> RedisMemory:
        """The server that the location names, or the config's settings. Raises UsageError."""
        url = config.location or config.storage.get("url") or config.storage.get("db_url")
        if not url or not isinstance(url, str):
            raise UsageError(
                "No Redis server given.",
                hint=f"--location takes its URL, or [storage.redis.default] url in config.toml: {SHAPE}.",
            )
        seconds = config.storage.get("connect_timeout_secs")
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float)):
            raise UsageError("connect_timeout_secs of Redis is no number.", hint="Write it without quotes, such as 5.")
        limit = min(max(float(seconds), _SHORTEST_TIMEOUT), _LONGEST_TIMEOUT) if seconds else _USUAL_TIMEOUT
        return cls(read_url(url), connect_seconds=limit, read_only=config.read_only)

    async def open(self) -> None:
        """Connect. Raises NotReachable, Refused. The memories are read when something asks for all of them."""
        await self.connection.open()
        self._held = self._listing = None
        self._places.clear()
        told = self.connection.told or {}
        is_copy = told.get("role") in ("slave", "replica")
        self.read_only_because = ASKED_READ_ONLY if self._asked_read_only else _COPY if is_copy else None
        self.capabilities = capabilities_of(
            self.read_only_because, tells_of_writes="rdb_changes_since_last_save" in told
        )
        self.notices = self.facts = ()

    async def close(self) -> None:
        """Let go of the connections and of what was read."""
        self._held = self._listing = None
        await self.connection.close()

    async def everything(self) -> Everything:
        """All memories: what was read last while nobody wrote since."""
        async with self._lock:
            state = await state_of(self.connection)
            held = self._held
            if held is not None and state is not None and held.state == state:
                return held
            everything = await read_everything(self.connection, state)
            self._held = everything if everything.size <= MOST_HELD else None
            self.notices = self.facts = findings_of(everything)
            return everything

    def key_of(self, id: str) -> str | None:
        """The key under which the memory of an id lay when it was read last, or that key itself. Raises Refused where
        several memories have the id."""
        place = self._places.get(id) or (id if id in self._places.values() else None)
        return place or (None if self._held is None else _key_in(self._held, id))

    def learn(self, places: Iterable[tuple[str, str]]) -> None:
        """Keep ids with their keys, so that nobody has to look through everything for them; not those of two keys."""
        if len(self._places) > MOST_PLACES:
            self._places.clear()
        for id, key in places:  # noqa: A001
            if self._places.setdefault(id, key) != key:
                self._places[id] = ""

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """What contains the query, whatever the case, the newest first; the session makes no difference."""
        listing = await self._listed(MemoryFilter(newer_than=since, older_than=until), NEWEST_STORED)
        return await asyncio.to_thread(recalled, reversed(listing.entries), query, limit)

    async def search(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> StoreRecall:
        """The same recall for every profile: no ZeroClaw has a rule for Redis."""
        notes = ["No ZeroClaw version reads Redis: this is the recall of the tutorial for custom backends."]
        if request.session_id is not None:
            notes.append(f"{WHY_NOT['sessions']} The session of this recall leaves nothing out.")
        if request.namespace not in (None, "default"):
            return StoreRecall((), STAGE, "found or not", (*notes, f"{WHY_NOT['namespaces']} All count as 'default'."))
        found = await self.recall(request.query, request.limit, None, request.since, request.until)
        return StoreRecall(tuple(found), STAGE, "found or not", tuple(notes))

    async def get(self, key: str) -> MemoryEntry | None:
        """The memory of that key."""
        found = await self.get_batch([key])
        return found[0] if found else None

    async def get_batch(self, keys: Sequence[str]) -> Entries:
        """The memories of these keys in that order; those that are not there are left out."""
        names = [name_of(key) for key in keys]
        found = await look(self.connection, names)
        memories = [found[name].memory for name in names if name in found]
        entries = [memory.entry for memory in memories if memory is not None]
        self.learn((entry.id, entry.key) for entry in entries)
        return entries

    async def with_key(self, key: str, agent: str | None = None) -> Entries:
        """The memory of that key; none of an agent's."""
        return [] if agent is not None else await self.get_batch([key])

    async def holding(self, contents: Sequence[str], keys: Sequence[str], seconds: float) -> tuple[Entries, bool]:
        """The memories of these contents or keys, and whether those of the contents are all.

        Redis knows keys alone: contents are looked for in what was read already, or where that is quickly read.
        """
        with self.connection.asking() as client:
            is_small = not contents or await client.dbsize() <= MOST_COMPARED
            is_known = is_small or (self._held is not None and self._held.state == await state_of(self.connection))
        if not is_known:
            return await self.get_batch(list(dict.fromkeys(keys))), False
        if not contents:
            return await self.get_batch(list(dict.fromkeys(keys))), True
        known, named = frozenset(contents), frozenset(keys)
        everything = (memory.entry for memory in (await self.everything()).memories)
        return [entry for entry in everything if entry.content in known or entry.key in named], True

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """All memories, the newest first. The session makes no difference."""
        listing = await self._listed(MemoryFilter(category=None if category is None else (category,)), NEWEST_STORED)
        return list(listing.in_order(NEWEST_STORED))

    async def count(self) -> int:
        """How many memories there are."""
        return len((await self.everything()).memories)

    async def health_check(self) -> bool:
        """True when the server answers."""
        try:
            with self.connection.asking() as client:
                return bool(await client.ping())
        except InspectorError:
            return False

    async def health(self) -> Health:
        """Which server it is, and what lies among the memories that is none."""
        names = await self.connection.names(PATTERN)
        server = await self.connection.facts("server")
        everything = await self.everything()
        findings = findings_of(everything)
        address = self.connection.address
        facts = {
            "server": address.place,
            "database": address.database,
            "Redis": str(server.get("redis_version", "does not tell")),
            "memories": len(everything.memories),
            "keys under memory:*": len(names),
            "values that are no memory": len(everything.foreign),
        }
        return Health(not everything.foreign, "answers" if not findings else "answers, with findings", findings, facts)

    async def entries(self, filter: MemoryFilter) -> Entries:
        """Every memory a filter leaves."""
        return await asyncio.to_thread(left, await self.everything(), filter, self.find_seconds)

    async def page(self, filter: MemoryFilter, sort: Sort, cursor: Cursor | None, limit: int) -> Page[MemoryEntry]:
        """The rows after `cursor`, as excerpts; by their value, so that nobody's writing moves them."""
        return (await self._listed(filter, sort)).page(sort, cursor, limit)

    async def order(self, filter: MemoryFilter, sort: Sort) -> Sequence[Handle]:
        """The keys of every row in order."""
        return [entry.handle for entry in (await self._listed(filter, sort)).in_order(sort)]

    async def rows(self, handles: Sequence[Handle]) -> Entries:
        """The rows of these keys, in that order, as excerpts."""
        return [entry.excerpt() for entry in await self.get_batch([str(handle) for handle in handles])]

    async def whole(self, handle: Handle) -> MemoryEntry:
        """One row with its full content. Raises NotFound."""
        entry = await self.get(str(handle))
        if entry is None:
            raise NotFound("This memory no longer exists.", hint="Press r to reload the list.")
        return entry

    async def with_id(self, id: str) -> MemoryEntry | None:
        """The memory of that id, or under that key. Raises Refused where several have the id."""
        row = await self.stored(id)
        return None if row is None else row.entry()

    async def facets(self, filter: MemoryFilter, now: str) -> Facets:
        """Counts by category and age."""
        return await asyncio.to_thread(facets_of, await self.entries(filter), now)

    async def statistics(self, filter: MemoryFilter | None = None) -> Statistics:
        """How much there is."""
        found = await self.entries(filter or MemoryFilter())
        return await asyncio.to_thread(lambda: count_entries(found, has_vectors=False))

    async def version(self) -> int | None:
        """Changes when anybody has written; None where the server does not tell."""
        state = await state_of(self.connection)
        if state is not None and state != self._state:
            self._state = state
            self._version += 1
        return None if state is None else self._version

    async def stamps(self, filter: MemoryFilter) -> Stamps:
        """Every memory a filter leaves, in the order of storing."""
        rows = await self._rows(filter)
        return await asyncio.to_thread(lambda: [self.stamp_of(row) for row in rows])

    async def stamps_of(self, handles: Sequence[Handle]) -> Stamps:
        """The stamps of rows of a listing; rows gone meanwhile are left out."""
        return [self.stamp_of(row) for row in await self.stored_of(handles)]

    def stamp_of(self, row: StoredRow) -> Stamp:
        """The stamp of a row; its state is a hash of the document."""
        entry = row.entry()
        return Stamp(
            id=row.id, state=row.fingerprint, key=entry.key, category=entry.category, size=entry.size,
            timestamp=entry.timestamp, handle=entry.handle,
        )  # fmt: skip

    def other_fields(self, row: StoredRow, name: str) -> Sequence[str]:
        """Of a document what no other value of the row says."""
        return other_fields(row) if name == "document" else (name,)

    async def stored(self, id: str) -> StoredRow | None:
        """One memory with its document to the letter, by its id or its handle, which is its key."""
        return await self._stored_at(self.key_of(id), id) or await self._stored_at(
            _key_in(await self.everything(), id), id
        )

    async def stored_by_id(self, ids: Sequence[str]) -> Mapping[str, StoredRow]:
        """The same for many ids, read at once."""
        everything = await self.everything()
        keys = {id: key for id in ids if (key := _key_in(everything, id)) is not None}  # noqa: A001
        rows = {row.handle: row for row in await self.stored_of(list(keys.values()))}
        return {id: rows[key] for id, key in keys.items() if key in rows and id in (rows[key].id, key)}  # noqa: A001

    async def _stored_at(self, key: str | None, id: str) -> StoredRow | None:
        found = [] if key is None else await self.stored_of([key])
        return found[0] if found and id in (found[0].id, key) else None

    async def stored_of(self, handles: Sequence[Handle]) -> Sequence[StoredRow]:
        """The rows of these keys, in that order."""
        names = [name_of(str(handle)) for handle in handles]
        found = await look(self.connection, names)
        rows = [row for name in names if name in found and (row := found[name].row()) is not None]
        self.learn((row.id, str(row.values["key"])) for row in rows)
        return rows

    async def scan(self, see: See, filter: MemoryFilter | None = None) -> None:
        """Show every row, in the order of storing."""
        await show(await self._rows(filter or MemoryFilter()), see)

    async def _rows(self, filter: MemoryFilter) -> Sequence[StoredRow]:
        everything = await self.everything()
        chosen = await asyncio.to_thread(left, everything, filter, self.find_seconds)
        return [everything.by_key[entry.key].row() for entry in chosen]

    async def _listed(self, filter: MemoryFilter, sort: Sort) -> Listing:
        everything = await self.everything()
        known = self._listing
        if known is not None and known[0] is everything and known[1:3] == (filter, sort.field):
            return known[3]
        listing = await asyncio.to_thread(listing_of, everything, filter, sort.field, self.find_seconds)
        self._listing = (everything, filter, sort.field, listing) if everything is self._held else None
        return listing

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Write one memory; an existing key keeps its id, its time and what else its document has."""
        await self.store_batch([Draft(key, content, category, session_id)])

    async def store_batch(self, drafts: Sequence[Draft]) -> None:
        """Write many memories, some hundreds in one step."""
        await self.write_rows(StoreJob(drafts).run)

    async def forget(self, key: str) -> bool:
        """Delete by key; True when there was one. Raises Refused for a value that is no memory."""

        async def drop(rows: RedisRows) -> bool:
            row = await rows.of_key(key)
            return row is not None and await rows.drop(row)

        return await self.write_rows(drop)

    async def update(self, id: str, edit: Edit, expected: str, keep: Keep, *, vector: Vector | None = None) -> Written:
        """Change fields of one memory, by its id or its key; what else its document has stays."""
        row = await self.stored(id)
        return await super().update(id if row is None else row.id, edit, expected, keep, vector=vector)

    async def write_rows(self, work: Work[Answer], vector: Vector | None = None) -> Answer:
        """In transactions that only go through while each row is what was read."""
        if self.read_only_because is not None:
            raise self.refuse_to_write()
        with self.connection.asking():
            return await work(RedisRows(self.connection, self.key_of, self.everything, self._clock))


def _key_in(everything: Everything, id: str) -> str | None:
    """The key of an id, or of a handle, which is a key."""
    return everything.key_of(id) or (id if id in everything.by_key else None)


def findings_of(everything: Everything) -> tuple[str, ...]:
    """Sentences about what is not as the agent writes it."""
    found: list[str] = []
    if everything.foreign:
        names = ", ".join(key_of(name)[:40] for name in everything.foreign[:_NAMES_TOLD])
        more = len(everything.foreign) - _NAMES_TOLD
        count = "one value is" if len(everything.foreign) == 1 else f"{len(everything.foreign)} values are"
        rest = f" and {more} more." if more > 0 else "."
        found.append(f"Under memory:* {count} no memory, so left alone: {names}{rest}")
    copies = sum(len(keys) - 1 for keys in everything.keys_of_ids.values())
    if copies:
        found.append(f"Memories with the id of another one: {copies}. A copied value keeps the id of the first.")
    others = sum(memory.says_another_key for memory in everything.memories)
    if others:
        found.append(f"Memories under another key than the one their document names: {others}.")
    return tuple(found)
