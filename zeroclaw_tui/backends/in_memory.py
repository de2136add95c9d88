"""Memories in a dictionary: the smallest backend, and the sample for people who write their own."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace as with_parts
from datetime import UTC, datetime

from zeroclaw_tui.backends.base import Answer, Capabilities, Entries, Memory, Scored, Stamps, Work
from zeroclaw_tui.backends.fallback import entry_of, stamp_of
from zeroclaw_tui.backends.matching import left_in_thread, left_of
from zeroclaw_tui.backends.revert import Rows
from zeroclaw_tui.memory.change import (
    Draft,
    StoredRow,
    Value,
    Vector,
)
from zeroclaw_tui.memory.entry import EDITABLE, Handle, MemoryEntry
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.recall import ScoredEntry


class InMemory(Memory):
    """Nothing outlives the process. Recall finds rows that contain the whole query and gives each the score 1.

    A key belongs to one memory. Handles count up in the order of storing, like SQLite's rowids.
    """

    name = "in-memory"
    keeps_deleted = None
    location = "this process"
    ends_with_program = True
    keeps_texts = True
    capabilities = Capabilities(
        write=True,
        superseded=True,
        pinned=True,
        importance=True,
        namespaces=True,
        kind=True,
        editable=EDITABLE,
        why_not={
            "vectors": "The in-memory backend keeps no vectors.",
            "keyword": "The in-memory backend has no keyword index: it looks for the whole query.",
            "agents": "All in-memory rows are one agent's.",
            "watch": "No other program can write into this process.",
        },
    )

    def __init__(
        self, entries: Iterable[MemoryEntry] = (), clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._clock = clock
        self._writing = asyncio.Lock()
        self._by_key: dict[str, MemoryEntry] = {}
        self._keys: dict[str, str] = {}
        self._handles: set[Handle] = set()
        self._last_handle = 0
        for entry in entries:
            self._hold(with_parts(entry, handle=entry.handle if isinstance(entry.handle, int) else self._next_handle()))

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Write one memory; an existing key keeps its id and its creation time."""
        self._hold(entry_of(self._drafted(Draft(key, content, category, session_id))))

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """Rows that contain the query, newest first; a blank query gives the newest of all."""
        wanted = MemoryFilter(contains=query.strip() or None, newer_than=since, older_than=until)
        found = left_of(self._newest_first(), wanted)
        if session_id is not None:
            found = [entry for entry in found if entry.session_id == session_id]
        score = 1.0 if query.strip() else None
        return [ScoredEntry(entry, rank, score, stage=self.name) for rank, entry in enumerate(found[:limit], 1)]

    async def get(self, key: str) -> MemoryEntry | None:
        """The memory of that key, or None."""
        return self._by_key.get(key)

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """All memories, newest first."""
        return [
            entry
            for entry in self._newest_first()
            if (category is None or entry.category == category)
            and (session_id is None or entry.session_id == session_id)
            and entry.superseded_by is None
        ]

    async def entries(self, filter: MemoryFilter) -> Entries:
        """Every memory a filter leaves."""
        return await left_in_thread([*self._by_key.values()], filter, self.find_seconds)

    async def forget(self, key: str) -> bool:
        """Delete by key; True when there was one."""
        entry = self._by_key.get(key)
        if entry is not None:
            self._let_go(entry)
        return entry is not None

    async def count(self) -> int:
        """How many memories there are."""
        return len(self._by_key)

    async def health_check(self) -> bool:
        """Always True."""
        return True

    async def with_id(self, id: str) -> MemoryEntry | None:
        """The memory of that id, superseded or not."""
        return self._of_id(id)

    async def stamps_of(self, handles: Sequence[Handle]) -> Stamps:
        """The stamps of rows of a listing; rows gone meanwhile are left out."""
        return [stamp_of(entry) for entry in await self.rows(handles)]

    async def write_rows(self, work: Work[Answer], vector: Vector | None = None) -> Answer:
        """One change at a time: the trash is written between looking at a row and changing it."""
        if self.read_only_because is not None or not self.capabilities.write:
            raise self.refuse_to_write()
        async with self._writing:
            return await work(HeldRows(self))

    def _drafted(self, draft: Draft) -> StoredRow:
        now = self._clock().isoformat()
        old = self._by_key.get(draft.key)
        entry = MemoryEntry(
            id=old.id if old else str(uuid.uuid4()),
            key=draft.key,
            content=draft.content,
            category=draft.category,
            timestamp=old.timestamp if old else now,
            updated_at=now,
            session_id=draft.session_id,
            namespace=draft.namespace,
            importance=draft.importance,
            pinned=draft.pinned,
            agent=draft.agent,
            handle=old.handle if old else self._next_handle(),
        )
        return StoredRow.of(entry)

    def _hold(self, entry: MemoryEntry) -> MemoryEntry:
        held = entry.whole(entry.content)
        self._by_key[held.key] = held
        self._keys[held.id] = held.key
        self._handles.add(held.handle)
        if isinstance(held.handle, int):
            self._last_handle = max(self._last_handle, held.handle)
        return held

    def _let_go(self, entry: MemoryEntry) -> None:
        self._by_key.pop(entry.key, None)
        self._keys.pop(entry.id, None)
        self._handles.discard(entry.handle)

    def _of_id(self, id: str) -> MemoryEntry | None:
        entry = self._by_key.get(self._keys.get(id, ""))
        if entry is not None and entry.id == id:
            return entry
        return next((entry for entry in self._by_key.values() if entry.id == id), None)

    def _next_handle(self) -> int:
        self._last_handle += 1
        return self._last_handle

    def _newest_first(self) -> Entries:
        return sorted(self._by_key.values(), key=lambda entry: entry.updated_at or entry.timestamp, reverse=True)


class HeldRows(Rows):
    """The rows of an InMemory, told apart by their ids; every field comes back as it was."""

    def __init__(self, memory: InMemory) -> None:
        super().__init__()
        self._memory = memory

    async def of_ids(self, ids: Iterable[str]) -> dict[str, StoredRow]:
        """Rows by id."""
        found = map(self._memory._of_id, ids)
        return {entry.id: StoredRow.of(entry) for entry in found if entry is not None}

    async def of_key(self, key: str, owner: str | None = None) -> StoredRow | None:
        """The row of that key."""
        entry = self._memory._by_key.get(key)
        return None if entry is None else StoredRow.of(entry)

    def identity(self, row: StoredRow) -> str:
        """Its id."""
        return row.id

    async def present(self, row: StoredRow) -> StoredRow | None:
        """The row of its id."""
        return (await self.of_ids([row.id])).get(row.id)

    def same(self, one: StoredRow, other: StoredRow) -> bool:
        """Whether every value is the same."""
        return one.fingerprint == other.fingerprint

    def drafted(self, draft: Draft, existing: StoredRow | None, owner: str | None) -> StoredRow:
        """With a new id, or that of the row it replaces, and the time it is now."""
        return self._memory._drafted(draft)

    def edited(self, row: StoredRow, values: Mapping[str, Value]) -> StoredRow:
        """With the time it is now as that of the last store."""
        return with_parts(row, values={**row.values, **values, "updated_at": self._memory._clock().isoformat()})

    def returned(self, row: StoredRow, over: StoredRow | None, owner: str | None, *, apart: bool) -> StoredRow:
        """With its own id and handle where they are still free, and every field: some may only be named in `over`."""
        memory = self._memory
        named = over.values if over is not None and over.id == row.id and not apart else {}
        row = with_parts(row, values=StoredRow.of(entry_of(with_parts(row, values={**named, **row.values}))).values)
        if row.handle is None:
            row = with_parts(row, handle=memory._next_handle() if over is None or apart else over.handle)
        if apart:
            new_id = str(uuid.uuid4())
            row = with_parts(row, id=new_id, values={**row.values, "id": new_id})
        is_free = row.handle not in memory._handles or (over is not None and over.handle == row.handle)
        return row if is_free and not apart else with_parts(row, handle=memory._next_handle())

    async def put(self, row: StoredRow, over: StoredRow | None) -> StoredRow:
        """Put it in place of `over`."""
        if over is not None:
            self._memory._let_go(over.entry())
        return StoredRow.of(self._memory._hold(entry_of(row)))

    async def drop(self, row: StoredRow) -> bool:
        """Remove it."""
        entry = self._memory._of_id(row.id)
        if entry is not None:
            self._memory._let_go(entry)
        return entry is not None
