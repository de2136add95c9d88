"""Redis behind a Sentinel, which names the server that takes the writes, before and after another one takes over."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress

import pytest
from support.redis_server import NO_SERVER, PASSWORD, RedisServer, server_program
from support.redis_servers import SERVICE, running_sentinel, until

from zeroclaw_tui.backends.factory import backend_of_url
from zeroclaw_tui.backends.redis.connect import read_url
from zeroclaw_tui.backends.redis.store import RedisMemory
from zeroclaw_tui.memory.errors import NotReachable, UsageError


@pytest.fixture
def watched() -> Iterator[tuple[RedisServer, RedisServer, int]]:
    if server_program() is None:
        pytest.skip(NO_SERVER)
    with running_sentinel() as servers:
        yield servers


def url(port: int, service: str = SERVICE) -> str:
    return f"redis+sentinel://:{PASSWORD}@127.0.0.1:{port},localhost:{port}/{service}/0"


async def opened_for_writing(memory: RedisMemory) -> None:
    """Opened again as often as the Sentinel still names the server that has gone."""
    async with asyncio.timeout(60):
        memory.read_only_because = "not yet open"
        while memory.read_only_because is not None:
            with suppress(NotReachable):
                await memory.open()


async def test_the_server_that_takes_writes_is_asked_whichever_it_is(
    watched: tuple[RedisServer, RedisServer, int],
) -> None:
    first, second, port = watched
    memory = RedisMemory(read_url(url(port)))
    assert memory.location == f"redis+sentinel://127.0.0.1:{port},localhost:{port}/{SERVICE}/0"
    await memory.open()
    assert memory.read_only_because is None
    await memory.store("lang", "Rust", "core")
    assert b"Rust" in first.say("GET memory:lang")
    first.say("WAIT 1 5000")
    first.stop(save=False)
    until(lambda: b"role:master" in second.say("INFO replication"))
    await opened_for_writing(memory)
    assert [entry.content for entry in await memory.list()] == ["Rust"]
    await memory.store("lang", "Zig", "core")
    assert b"Zig" in second.say("GET memory:lang")
    await memory.close()


async def test_a_service_that_no_sentinel_knows_is_told(watched: tuple[RedisServer, RedisServer, int]) -> None:
    with pytest.raises(NotReachable, match=r"No Sentinel at .* knows a server of that service"):
        await RedisMemory(read_url(url(watched[2], "nothing"))).open()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("redis+sentinel://host:26379", "names no service"),
        ("redis+sentinel://host:26379,/memories", "names no host"),
        ("redis+sentinel://host:x/memories", "cannot be read"),
        ("redis+sentinel://host/memories/x", "database that is no number"),
        ("redis+sentinel://host/memories?role=slave", "option that is not known here"),
    ],
)
def test_urls_that_cannot_be_are_told(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_url(text)


def test_a_url_says_all_that_is_needed() -> None:
    address = read_url("rediss+sentinel://ada:p%40ss@[::1]:5,b/memories/3?sentinel_password=x")
    assert (address.user, address.password, address.service, address.database) == ("ada", "p@ss", "memories", 3)
    assert (address.sentinels, address.tls, address.sentinel_password) == ((("::1", 5), ("b", 26379)), True, "x")
    assert address.location == "rediss+sentinel://[::1]:5,b:26379/memories/3"
    assert "p@ss" not in repr(address)
    assert backend_of_url("redis+sentinel://host/memories") == "redis"
