"""Backends of another package, made for these tests: the verbs of ZeroClaw's trait on one JSON file, and nothing more.

The file is the one that the variable SHOE_BOX names.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import ScoredEntry


class ShoeBox(Memory):
    name = "shoe-box"

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        stored = self._stored()
        first = stored.get(key, {}).get("timestamp", datetime.now(UTC).isoformat())
        stored[key] = {"content": content, "category": category, "session_id": session_id, "timestamp": first}
        self._hold(stored)

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> list[ScoredEntry]:
        found = [entry for entry in await self.list(session_id=session_id) if query.lower() in entry.content.lower()]
        return [ScoredEntry(entry, rank, 1.0) for rank, entry in enumerate(found[:limit], 1)]

    async def get(self, key: str) -> MemoryEntry | None:
        return next((entry for entry in await self.list() if entry.key == key), None)

    async def list(self, category: str | None = None, session_id: str | None = None) -> list[MemoryEntry]:
        every = [MemoryEntry(f"id of {key}", key, **row) for key, row in self._stored().items()]
        found = [entry for entry in every if category in (None, entry.category)]
        return [entry for entry in found if session_id in (None, entry.session_id)][::-1]

    async def forget(self, key: str) -> bool:
        stored = self._stored()
        gone = stored.pop(key, None)
        self._hold(stored)
        return gone is not None

    async def count(self) -> int:
        return len(self._stored())

    async def health_check(self) -> bool:
        return True

    def _stored(self) -> dict[str, dict[str, str | None]]:
        path = Path(os.environ["SHOE_BOX"])
        return json.loads(path.read_text("utf-8")) if path.exists() else {}

    def _hold(self, stored: dict[str, dict[str, str | None]]) -> None:
        Path(os.environ["SHOE_BOX"]).write_text(json.dumps(stored), "utf-8")
