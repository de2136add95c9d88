"""The Qdrant backend passes the store contracts on the stand-in server."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import pytest
from qdrant_world import KEY, filled, memory_of, point
from support.engine_contract import ConcurrencyContract, EngineContract
from support.memories import Draft, sample_entries
from support.stores import Memory

from zeroclaw_tui.testing.contract import GoneContract, MemoryContract, ReadOnlyContract, StoreContract
from zeroclaw_tui.testing.tools import fill


class TestReading(MemoryContract):
    @pytest.fixture(params=["points without an agent", "points of an agent"])
    async def memory(self, server, request, opening):
        filled(server, sample_entries(), **({"agent_id": "default"} if request.param == "points of an agent" else {}))
        return await opening(memory_of(server))

    async def test_recall_finds_nothing_for_words_nobody_wrote(self, memory):
        """ZeroClaw has no threshold in Qdrant: any query returns the nearest points with their cosines."""
        for query in ("xylophonequartz", "') OR 1=1 --"):
            found = await memory.recall(query, 5)
            assert len(found) == 5
            assert all(scored.score is not None and -1.001 <= scored.score <= 1.001 for scored in found)


class TestReadingOnly(ReadOnlyContract):
    @pytest.fixture
    async def memory(self, server, opening):
        filled(server, sample_entries())
        return await opening(memory_of(server, read_only=True))


class TestWriting(StoreContract, EngineContract, ConcurrencyContract):
    @pytest.fixture
    async def memory(self, server, opening):
        self.points = filled(server, sample_entries()[:6])
        return await opening(memory_of(server))

    async def fill(self, memory: Memory, drafts: Sequence[Draft]) -> None:
        """Store a few with the store's own method, which embeds each; write many directly to the server."""
        if len(drafts) < 1000:
            await fill(memory, drafts)
            return
        first = point(sample_entries()[0])
        points = [
            first
            | {
                "id": str(uuid.uuid4()),
                "payload": first["payload"] | {"key": draft.key, "content": draft.content, "category": draft.category},
            }
            for draft in drafts
        ]
        self.points.upsert(points)

    async def test_a_second_store_of_a_key_keeps_id_and_creation_time(self, memory):
        """ZeroClaw's store in Qdrant writes a new point, so the creation time changes; this program keeps the id."""
        await memory.store("verbs key", "first", "core")
        first, count = await memory.get("verbs key"), await memory.count()
        await memory.store("verbs key", "second", "daily")
        second = await memory.get("verbs key")
        assert (second.content, second.category, await memory.count()) == ("second", "daily", count)
        assert second.id == first.id
        assert second.timestamp > first.timestamp


class TestGone(GoneContract):
    secrets = (KEY,)

    @pytest.fixture
    async def memory(self, server, opening):
        self.server = server
        filled(server, sample_entries()[:6])
        return await opening(memory_of(server))

    async def take_down(self, memory: Memory) -> None:
        self.server.stop()

    async def bring_up(self, memory: Memory) -> None:
        self.server.start()
