"""Redis holds to the contract of every store, against a real server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from support.redis_server import PASSWORD, RedisServer

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.redis.connect import read_url
from zeroclaw_tui.backends.redis.store import RedisMemory
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.testing.contract import MemoryContract
from zeroclaw_tui.testing.samples import sample_entries
from zeroclaw_tui.testing.store_contract import GoneContract, StoreContract


def document(entry: MemoryEntry) -> str:
    usual = entry.category in ("core", "daily", "conversation")
    category = entry.category.capitalize() if usual else {"Custom": entry.category}
    return json.dumps(
        {
            "id": entry.id, "key": entry.key, "content": entry.content, "category": category,
            "timestamp": entry.timestamp, "score": None,
        },
        ensure_ascii=False,
    )  # fmt: skip


async def fill(memory: RedisMemory, count: int | None = None) -> None:
    with memory.connection.asking() as client:
        for entry in sample_entries()[:count]:
            await client.set(f"memory:{entry.key}", document(entry))


class TestRedisReading(MemoryContract):
    @pytest.fixture
    async def memory(self, server: RedisServer) -> AsyncIterator[Memory]:
        memory = RedisMemory(read_url(server.url()), read_only=True)
        await memory.open()
        await fill(memory)
        yield memory
        await memory.close()


class _Store:
    @pytest.fixture
    async def memory(self, memory: RedisMemory) -> RedisMemory:
        await fill(memory, 6)
        return memory


class TestRedisStore(_Store, StoreContract):
    async def another(self, memory: Memory) -> Memory:
        assert isinstance(memory, RedisMemory)
        other = RedisMemory(memory.connection.address)
        await other.open()
        return other


class TestRedisGone(_Store, GoneContract):
    secrets = (PASSWORD,)

    @pytest.fixture(autouse=True)
    def held_server(self, server: RedisServer) -> None:
        self.server = server

    async def break_it(self, memory: Memory) -> None:
        self.server.stop()

    async def mend_it(self, memory: Memory) -> None:
        self.server.start()
