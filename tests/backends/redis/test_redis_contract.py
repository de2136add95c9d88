"""Redis passes the store contract on a real server."""

from __future__ import annotations

import json

import pytest
from support.engine_contract import ConcurrencyContract, EngineContract
from support.memories import MemoryEntry, sample_entries
from support.redis_server import PASSWORD, RedisServer
from support.stores import Memory

from zeroclaw_tui.backends.redis import RedisMemory
from zeroclaw_tui.testing.contract import GoneContract, MemoryContract, ReadOnlyContract, StoreContract


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


def fill(server: RedisServer, count: int | None = None) -> None:
    for entry in sample_entries()[:count]:
        server.put(f"memory:{entry.key}", document(entry))


class TestRedisReading(MemoryContract, ReadOnlyContract):
    @pytest.fixture
    async def memory(self, server, opening):
        fill(server)
        return await opening(RedisMemory(server.url(), read_only=True))


class _Store:
    @pytest.fixture(autouse=True)
    def filled(self, server, memory):
        self.server = server
        fill(server, 6)


class TestRedisStore(_Store, StoreContract, EngineContract, ConcurrencyContract):
    async def another(self, memory: Memory) -> Memory:
        other = RedisMemory(self.server.url())
        await other.open()
        return other


class TestRedisGone(_Store, GoneContract):
    secrets = (PASSWORD,)

    async def take_down(self, memory: Memory) -> None:
        self.server.stop()

    async def bring_up(self, memory: Memory) -> None:
        self.server.start()
