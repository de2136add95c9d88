"""Memories in a dictionary: the smallest backend, and the sample for people who write their own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime

from zeroclaw_tui.backends.base import Capabilities, Entries, Memory, Scored
from zeroclaw_tui.backends.listing import matches
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.recall import ScoredEntry


class InMemory(Memory):
    """Nothing outlives the process. Recall finds rows that contain the whole query and gives each the score 1."""

    name = "in-memory"
    location = "this process"
    capabilities = Capabilities(
        write=True, superseded=True, why_not={"vectors": "The in-memory backend keeps no vectors."}
    )

    def __init__(
        self, entries: Iterable[MemoryEntry] = (), clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._clock = clock
        self._by_key = {
            entry.key: replace(
                entry, handle=entry.handle or entry.id, size=len(entry.content.encode("utf-8", "surrogatepass"))
            )
            for entry in entries
        }

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Write one memory; an existing key keeps its id and its creation time."""
        now = self._clock().isoformat()
        old = self._by_key.get(key)
        entry_id = old.id if old else str(uuid.uuid4())
        self._by_key[key] = MemoryEntry(
            id=entry_id,
            key=key,
            content=content,
            category=category,
            timestamp=old.timestamp if old else now,
            updated_at=now,
            session_id=session_id,
            handle=entry_id,
            size=len(content.encode("utf-8", "surrogatepass")),
        )

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """Rows that contain the query, newest first; a blank query gives the newest of all."""
        wanted = MemoryFilter(contains=query.strip() or None, newer_than=since, older_than=until)
        found = [entry for entry in self._newest_first() if matches(entry, wanted)]
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
        return [entry for entry in self._by_key.values() if matches(entry, filter)]

    async def forget(self, key: str) -> bool:
        """Delete by key; True when there was one."""
        return self._by_key.pop(key, None) is not None

    async def count(self) -> int:
        """How many memories there are."""
        return len(self._by_key)

    async def health_check(self) -> bool:
        """Always True."""
        return True

    def _newest_first(self) -> Entries:
        return sorted(self._by_key.values(), key=lambda entry: entry.updated_at or entry.timestamp, reverse=True)
