"""A backend of another package, for tests: the methods of ZeroClaw's trait and nothing more.

Its memories are in the JSON file named by the variable SHOE_BOX, or only in this process.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import ScoredEntry


class ShoeBox(Memory):
    name = "shoe-box"

    def __init__(self) -> None:
        self._file = Path(os.environ["SHOE_BOX"]) if "SHOE_BOX" in os.environ else None
        exists = self._file is not None and self._file.exists()
        self.stored: dict[str, dict[str, Any]] = json.loads(self._file.read_text("utf-8")) if exists else {}

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        first = self.stored.get(key, {}).get("timestamp", datetime.now(UTC).isoformat())
        self.stored[key] = {"content": content, "category": category, "session_id": session_id, "timestamp": first}
        self._write()

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> list[ScoredEntry]:
        found = [entry for entry in await self.list(session_id=session_id) if query.lower() in entry.content.lower()]
        return [ScoredEntry(entry, rank, 1.0) for rank, entry in enumerate(found[:limit], 1)]

    async def get(self, key: str) -> MemoryEntry | None:
        return self._entry(key) if key in self.stored else None

    async def list(self, category: str | None = None, session_id: str | None = None) -> list[MemoryEntry]:
        found = [entry for entry in map(self._entry, self.stored) if category in (None, entry.category)]
        return [entry for entry in found if session_id in (None, entry.session_id)][::-1]

    async def forget(self, key: str) -> bool:
        removed = self.stored.pop(key, None)
        self._write()
        return removed is not None

    async def count(self) -> int:
        return len(self.stored)

    async def health_check(self) -> bool:
        return True

    def _entry(self, key: str) -> MemoryEntry:
        return MemoryEntry(**{"id": f"id of {key}", "key": key, **self.stored[key]})

    def _write(self) -> None:
        if self._file is not None:
            self._file.write_text(json.dumps(self.stored), "utf-8")
