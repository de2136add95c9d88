"""The Qdrant backend holds to the contracts of every backend, against the stand-in server."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import pytest
from qdrant_world import KEY, filled, memory_of, point
from support.engine_contract import EngineContract, NeighbourContract
from support.opened import opened_memory

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.memory.change import Draft
from zeroclaw_tui.testing.contract import MemoryContract
from zeroclaw_tui.testing.samples import sample_entries
from zeroclaw_tui.testing.store_contract import CapabilityContract, GoneContract, StoreContract
from zeroclaw_tui.testing.tools import fill


class NearestInsteadOfHits:
    """What is searched by meaning alone has no words to miss."""

    async def test_recall_finds_nothing_for_words_nobody_wrote(self, memory):
        """ZeroClaw has no cut-off in Qdrant: the nearest come back whatever was asked, each with its cosine."""
        for query in ("xylophonequartz", "') OR 1=1 --"):
            found = await memory.recall(query, 5)
            assert len(found) == 5
            assert all(scored.score is not None and -1.001 <= scored.score <= 1.001 for scored in found)


class TestReading(NearestInsteadOfHits, MemoryContract):
    @pytest.fixture(params=["points without an agent", "points of an agent"])
    async def memory(self, server, request):
        filled(server, sample_entries(), **({"agent_id": "default"} if request.param == "points of an agent" else {}))
        async with opened_memory(memory_of(server)) as memory:
            yield memory


class TestReadingOnly(CapabilityContract):
    @pytest.fixture
    async def memory(self, server):
        filled(server, sample_entries())
        async with opened_memory(memory_of(server, read_only=True)) as memory:
            yield memory


class StoredAnew:
    """What ZeroClaw's store in Qdrant does to a key that exists."""

    async def test_a_second_store_of_a_key_keeps_id_and_creation_time(self, memory):
        """ZeroClaw's store in Qdrant deletes and writes a new point, so the time is another; the id stays here."""
        await memory.store("verbs key", "first", "core")
        first, count = await memory.get("verbs key"), await memory.count()
        await memory.store("verbs key", "second", "daily")
        second = await memory.get("verbs key")
        assert (second.content, second.category, await memory.count()) == ("second", "daily", count)
        assert second.id == first.id
        assert second.timestamp > first.timestamp


class TestWriting(StoredAnew, StoreContract, EngineContract, NeighbourContract):
    @pytest.fixture
    async def memory(self, server):
        self.points = filled(server, sample_entries()[:6])
        async with opened_memory(memory_of(server)) as memory:
            yield memory

    async def fill(self, memory: Memory, drafts: Sequence[Draft]) -> None:
        """By the store's own verb, which embeds each; many at once past the object."""
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


class TestGone(GoneContract):
    secrets = (KEY,)

    @pytest.fixture
    async def memory(self, server):
        self.server = server
        filled(server, sample_entries()[:6])
        async with opened_memory(memory_of(server)) as memory:
            yield memory

    async def take_down(self, memory: Memory) -> None:
        self.server.stop()

    async def bring_up(self, memory: Memory) -> None:
        self.server.start()
