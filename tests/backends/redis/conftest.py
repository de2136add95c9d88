"""One Redis server for all tests, emptied before each."""

from __future__ import annotations

import pytest
from support.redis_server import NO_SERVER, running_redis, server_program

from zeroclaw_tui.backends.redis import RedisMemory


@pytest.fixture(scope="session")
def running():
    if server_program() is None:
        pytest.skip(NO_SERVER)
    with running_redis() as server:
        yield server


@pytest.fixture
def server(running):
    """The running server, emptied."""
    if b"PONG" not in running.say("PING"):
        running.start()
    running.say("FLUSHALL")
    return running


@pytest.fixture
async def memory(server, opening):
    """An open store on the empty server."""
    return await opening(RedisMemory(server.url()))
