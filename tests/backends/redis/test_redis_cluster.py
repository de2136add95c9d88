"""Redis as a cluster of three servers: the memories of all of them are one store."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from support.redis_server import NO_SERVER, PASSWORD, RedisServer, server_program
from support.redis_servers import running_cluster
from support.warm_start import run_memory
from test_redis_contract import document

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.redis.connect import read_url
from zeroclaw_tui.backends.redis.store import RedisMemory
from zeroclaw_tui.memory.change import Draft, Edit
from zeroclaw_tui.memory.errors import InspectorError, NotReachable
from zeroclaw_tui.testing.contract import MemoryContract
from zeroclaw_tui.testing.samples import sample_entries
from zeroclaw_tui.testing.store_contract import (
    CancelContract,
    ManyRowsContract,
    TwoWritersContract,
    VerbsContract,
    WritableMemoryContract,
)
from zeroclaw_tui.testing.tools import Kept

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def running_servers() -> Iterator[list[RedisServer]]:
    if server_program() is None:
        pytest.skip(NO_SERVER)
    with running_cluster() as servers:
        yield servers


@pytest.fixture
def servers(running_servers: list[RedisServer]) -> list[RedisServer]:
    """All run and are empty."""
    for server in running_servers:
        server.say("FLUSHALL")
    return running_servers


@pytest.fixture
async def memory(servers: list[RedisServer]) -> AsyncIterator[RedisMemory]:
    memory = RedisMemory(read_url(servers[1].url()))
    await memory.open()
    yield memory
    await memory.close()


async def fill(memory: RedisMemory, count: int | None = None) -> None:
    with memory.connection.asking() as client:
        for entry in sample_entries()[:count]:
            await client.set(f"memory:{entry.key}", document(entry))


class TestClusterReading(MemoryContract):
    @pytest.fixture
    async def memory(self, memory: RedisMemory) -> Memory:
        await fill(memory)
        return memory


class _Filled:
    @pytest.fixture
    async def memory(self, memory: RedisMemory) -> Memory:
        await fill(memory, 6)
        return memory

    async def another(self, memory: Memory) -> Memory:
        assert isinstance(memory, RedisMemory)
        other = RedisMemory(memory.connection.address)
        await other.open()
        return other


class TestClusterWriting(_Filled, WritableMemoryContract, VerbsContract, TwoWritersContract):
    """What a key of its own server may come in the way of."""


@pytest.mark.slow
class TestClusterOfMany(_Filled, ManyRowsContract, CancelContract):
    """What holds for one server by the same statements."""


@pytest.fixture
def command(servers: list[RedisServer], tmp_path: Path) -> Command:
    (tmp_path / "config.toml").write_text(
        f'[memory]\nbackend = "redis"\n[storage.redis.default]\nurl = "{servers[0].url()}"\n'
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run_memory("--config-dir", str(tmp_path), *arguments)

    return run


def held(command: Command) -> dict[str, str]:
    listed = command("list", "--json")
    assert listed.returncode == 0, listed.stderr
    return {entry["key"]: entry["content"] for entry in json.loads(listed.stdout)["entries"]}


async def test_the_commands_see_and_change_what_lies_on_all_servers(
    memory: RedisMemory, command: Command, servers: list[RedisServer]
) -> None:
    wanted = {f"key {number}": f"hello number {number}" for number in range(12)}
    await memory.store_batch([Draft(key, content) for key, content in wanted.items() if key != "key 0"])
    assert command("store", "key 0", wanted["key 0"]).returncode == 0
    assert all(re.search(rb"^:[1-9]", server.say("DBSIZE"), re.MULTILINE) for server in servers)
    assert held(command) == wanted
    assert len(await memory.recall("hello", 20)) == 12
    assert command("edit", "key 4", "--key", "another key").returncode == 0
    changed = {key: content for key, content in wanted.items() if key != "key 4"} | {"another key": wanted["key 4"]}
    purged = command("purge", "--contains", "hello", "--yes")
    assert "Purged 12 memories" in purged.stdout
    assert await memory.count() == 0
    assert command("undo", "--yes").returncode == 0
    assert held(command) == changed
    health = json.loads(command("health", "--json").stdout)
    assert health["ok"]
    assert health["facts"]["servers of the cluster"] == 3
    assert PASSWORD not in str(health)


async def test_a_memory_under_a_new_key_is_on_one_server_only(memory: RedisMemory) -> None:
    kept = Kept()
    for number in range(9):
        row = (await memory.create(Draft(f"old {number}", "text"), Kept())).change.row
        await memory.update(row.id, Edit({"key": f"new {number}"}), row.fingerprint, kept)
    assert sorted(entry.key for entry in await memory.list()) == [f"new {number}" for number in range(9)]
    await memory.revert(kept.last_first, Kept())
    assert sorted(entry.key for entry in await memory.list()) == [f"old {number}" for number in range(9)]


async def test_a_database_other_than_the_first_is_refused(servers: list[RedisServer]) -> None:
    with pytest.raises(NotReachable, match="is a cluster, which has the database 0 alone"):
        await RedisMemory(read_url(servers[0].url(2))).open()


async def test_a_cluster_that_is_not_whole_is_told_and_not_taken_for_the_rest(
    memory: RedisMemory, servers: list[RedisServer]
) -> None:
    await memory.store_batch([Draft(f"key {number}", "text") for number in range(30)])
    servers[2].stop(save=False)
    try:
        with pytest.raises(InspectorError) as raised:
            await memory.list()
        assert raised.value.exit_code == 3
        assert PASSWORD not in str(raised.value)
    finally:
        servers[2].start()
