"""One server for all tests of Redis, emptied before each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from support.redis_server import NO_SERVER, RedisServer, running_redis, server_program

from zeroclaw_tui.backends.redis import RedisMemory


@pytest.fixture(scope="session")
def running() -> Iterator[RedisServer]:
    if server_program() is None:
        pytest.skip(NO_SERVER)
    with running_redis() as server:
        yield server


@pytest.fixture
def server(running: RedisServer) -> RedisServer:
    """It runs and is empty."""
    if b"PONG" not in running.say("PING"):
        running.start()
    running.say("FLUSHALL")
    return running


@pytest.fixture
async def memory(server: RedisServer) -> AsyncIterator[RedisMemory]:
    """An open store on the empty server."""
    memory = RedisMemory(server.url())
    await memory.open()
    yield memory
    await memory.close()
