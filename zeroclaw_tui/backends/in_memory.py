"""Memories in a dictionary: the smallest backend, and a sample for authors of backends."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

from zeroclaw_tui.backends.about import About
from zeroclaw_tui.backends.base import RowMemory, Scored
from zeroclaw_tui.backends.loaded import Loaded
from zeroclaw_tui.backends.matching import filter_entries
from zeroclaw_tui.backends.writing import OwnedKey, RowWriter
from zeroclaw_tui.memory.change import Draft, Edit, Row, RowChange, RowVersion
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.scoring.profiles import OwnRule


class InMemory(RowMemory):
    """Memories of this process only. Keys are unique; handles number the ids in the order of storing."""

    name = "in-memory"
    about = About(location="this process", rule=OwnRule(crosses_sessions=False), is_volatile=True, keeps_deleted=None)
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
        self.clock = clock
        self.entries: dict[str, MemoryEntry] = {}
        """The memories by id."""
        self._numbers: dict[str, int] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: MemoryEntry) -> None:
        """Add a memory unchanged, replacing one with the same id."""
        self.entries[entry.id] = replace(entry, handle=self.number_of(entry.id), size=0)

    def number_of(self, id: str) -> int:
        """The permanent handle of an id."""
        return self._numbers.setdefault(id, len(self._numbers) + 1)

    async def _loaded(self) -> Loaded:
        return Loaded(tuple(self.entries.values()))

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """Find the memories that contain the whole query, newest first, with score 1; a blank query finds all."""
        wanted = MemoryFilter(contains=query.strip() or None, newer_than=since, older_than=until)
        found = [one for one in filter_entries(self.entries.values(), wanted) if session_id in (None, one.session_id)]
        found.sort(key=lambda entry: entry.updated_at or entry.timestamp, reverse=True)
        score = 1.0 if query.strip() else None
        return [ScoredEntry(entry, rank, score, stage=self.name) for rank, entry in enumerate(found[:limit], 1)]

    def _writer(self) -> RowWriter:
        return InMemoryWriter(self)


class InMemoryWriter(RowWriter):
    """Writes to the dictionary; rows are identified by their id."""

    def __init__(self, memory: InMemory) -> None:
        super().__init__()
        self._memory = memory

    async def read(self, rows: Sequence[RowVersion | Row], keys: Collection[OwnedKey]) -> Iterable[Row]:
        ids, wanted = {row.id for row in rows}, {key for _, key in keys}
        return [Row.from_entry(one) for one in self._memory.entries.values() if one.id in ids or one.key in wanted]

    def new_row(self, draft: Draft, existing: Row | None, owner: str | None) -> Row:
        now = self._memory.clock().isoformat()
        entry = replace(draft.entry(str(uuid.uuid4())), timestamp=now, updated_at=now)
        if existing is not None:
            old = existing.entry()
            entry = replace(entry, id=old.id, timestamp=old.timestamp)
        return Row.from_entry(entry)

    def edited_row(self, row: Row, edit: Edit) -> Row:
        values = {**row.values, **edit.values, "updated_at": self._memory.clock().isoformat()}
        return Row.from_entry(replace(row, values=values).entry())

    def restored_row(self, row: Row, existing: Row | None, owner: str | None, *, new_id: bool) -> Row:
        return Row.from_entry(replace(row.entry(), id=str(uuid.uuid4())) if new_id else row.entry())

    async def prepare(self, rows: Sequence[Row]) -> Mapping[str, Row]:
        return {row.id: replace(row, handle=self._memory.number_of(row.id)) for row in rows}

    async def write(self, changes: Sequence[RowChange]) -> Mapping[str, Row]:
        for change in changes:
            if change.before is not None:
                del self._memory.entries[change.before.id]
        for change in changes:
            if change.after is not None:
                self._memory.add(change.after.entry())
        return {}
