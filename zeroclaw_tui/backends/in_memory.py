"""Memories in a dictionary: the smallest backend, and the sample for people who write their own."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

from zeroclaw_tui.backends.about import About
from zeroclaw_tui.backends.base import Answer, Scored, Work
from zeroclaw_tui.backends.fallback import HeldMemory, entry_of
from zeroclaw_tui.backends.loaded import Loaded
from zeroclaw_tui.backends.matching import left_of
from zeroclaw_tui.backends.revert import Rows, StoreJob
from zeroclaw_tui.memory.change import Draft, StoredRow, Value, Vector
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.recall import ScoredEntry


class InMemory(HeldMemory):
    """Nothing outlives the process. A key belongs to one memory; handles count up in the order of storing."""

    name = "in-memory"
    about = About(location="this process", ends_with_program=True, keeps_deleted=None)
    keeps_texts = True
    why_not: Mapping[str, str] = MappingProxyType(
        {
            "vectors": "The in-memory backend keeps no vectors.",
            "keyword": "The in-memory backend has no keyword index: it looks for the whole query.",
            "agents": "All in-memory rows are one agent's.",
            "watch": "No other program can write into this process.",
        }
    )

    def __init__(
        self, entries: Iterable[MemoryEntry] = (), clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._clock = clock
        self._writing = asyncio.Lock()
        self._by_key: dict[str, MemoryEntry] = {}
        self._last_handle = 0
        for entry in map(self.numbered, entries):
            self._by_key[entry.key] = entry.whole(entry.content)

    async def loaded(self) -> Loaded:
        return Loaded(tuple(self._by_key.values()))

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        await self.write_rows(StoreJob([Draft(key, content, category, session_id)]).run)

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """The memories that contain the whole query, newest first, each with score 1; a blank query finds all."""
        wanted = MemoryFilter(contains=query.strip() or None, newer_than=since, older_than=until)
        found = [one for one in left_of(self._by_key.values(), wanted) if session_id in (None, one.session_id)]
        found.sort(key=lambda entry: entry.updated_at or entry.timestamp, reverse=True)
        score = 1.0 if query.strip() else None
        return [ScoredEntry(entry, rank, score, stage=self.name) for rank, entry in enumerate(found[:limit], 1)]

    async def forget(self, key: str) -> bool:
        return self._by_key.pop(key, None) is not None

    async def write_rows(self, work: Work[Answer], vector: Vector | None = None) -> Answer:
        if "write" in self.why_not:
            raise self.refuse_to_write()
        async with self._writing:
            return await work(InMemoryRows(self._by_key, self.numbered, lambda: self._clock().isoformat()))

    def numbered(self, entry: MemoryEntry) -> MemoryEntry:
        """The same memory, with the next handle if it has none."""
        handle = entry.handle if isinstance(entry.handle, int) else self._last_handle + 1
        self._last_handle = max(self._last_handle, handle)
        return replace(entry, handle=handle)


class InMemoryRows(Rows):
    """The rows of one command. A row is the same memory as long as it has the same id."""

    def __init__(
        self, by_key: dict[str, MemoryEntry], numbered: Callable[[MemoryEntry], MemoryEntry], now: Callable[[], str]
    ) -> None:
        super().__init__()
        self._by_key, self._numbered, self._now = by_key, numbered, now

    async def of_ids(self, ids: Iterable[str]) -> dict[str, StoredRow]:
        wanted = frozenset(ids)
        return {entry.id: StoredRow.of(entry) for entry in self._by_key.values() if entry.id in wanted}

    async def of_key(self, key: str, owner: str | None = None) -> StoredRow | None:
        entry = self._by_key.get(key)
        return None if entry is None else StoredRow.of(entry)

    def identity(self, row: StoredRow) -> str:
        return row.id

    async def present(self, row: StoredRow) -> StoredRow | None:
        return (await self.of_ids([row.id])).get(row.id)

    def same(self, one: StoredRow, other: StoredRow) -> bool:
        return one.fingerprint == other.fingerprint

    def drafted(self, draft: Draft, existing: StoredRow | None, owner: str | None) -> StoredRow:
        now = self._now()
        entry = MemoryEntry(
            str(uuid.uuid4()), draft.key, draft.content, draft.category, now, now, draft.session_id, draft.namespace,
            draft.importance, pinned=draft.pinned, agent=draft.agent,
        )  # fmt: skip
        if existing is not None:
            old = existing.entry()
            entry = replace(entry, id=old.id, timestamp=old.timestamp, handle=old.handle)
        return StoredRow.of(self._numbered(entry))

    def edited(self, row: StoredRow, values: Mapping[str, Value]) -> StoredRow:
        return replace(row, values={**row.values, **values, "updated_at": self._now()})

    def returned(self, row: StoredRow, over: StoredRow | None, owner: str | None, *, apart: bool) -> StoredRow:
        """The row as it was; its handle is new if another row has it, and so is its id with `apart`."""
        entry = entry_of(row)
        if apart:
            entry = replace(entry, id=str(uuid.uuid4()), handle="")
        taken = {other.handle for other in self._by_key.values()} - ({over.handle} if over is not None else set())
        return StoredRow.of(self._numbered(replace(entry, handle="") if entry.handle in taken else entry))

    async def put(self, row: StoredRow, over: StoredRow | None) -> StoredRow:
        if over is not None:
            self._by_key.pop(over.key, None)
        self._by_key[row.key] = entry = entry_of(row)
        return StoredRow.of(entry)

    async def drop(self, row: StoredRow) -> bool:
        return self._by_key.pop(row.key, None) is not None
