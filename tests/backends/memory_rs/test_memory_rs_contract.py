"""An export of memory-rs holds to the contract of every store that is read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.memory_rs import MemoryRsExport
from zeroclaw_tui.testing.contract import MemoryContract
from zeroclaw_tui.testing.samples import sample_entries
from zeroclaw_tui.testing.store_contract import CapabilityContract


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    """The samples as `MemoryItem`s of one user."""
    items = [
        {
            "id": entry.id, "user_id": "mila", "agent_id": None, "run_id": entry.session_id, "content": entry.content,
            "memory_type": entry.category, "hash": "", "created_at": entry.timestamp, "updated_at": entry.updated_at,
            "metadata": {},
        }
        for entry in sample_entries()
    ]  # fmt: skip
    file = tmp_path / "export.json"
    file.write_text(json.dumps(items, indent=2))
    memory = MemoryRsExport(file)
    await memory.open()
    yield memory
    await memory.close()


class TestReading(MemoryContract):
    async def test_recall_finds_nothing_for_words_nobody_wrote(self, memory: Memory) -> None:
        """It finds about half of everything instead, whatever the words: that is memory-rs' rule."""
        found = await memory.recall("xylophonequartz", 1000)
        assert 0 < len(found) < await memory.count()
        assert all(0 <= (scored.score or 0) < 1 for scored in found)


class TestCapabilities(CapabilityContract):
    pass
