"""What goes wrong with a server is told in one sentence, with exit code 3 or 2 and without any secret."""

from __future__ import annotations

import asyncio
import builtins
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.redis_server import PASSWORD, RedisServer, running_redis

from zeroclaw_tui.backends.factory import backend_of_url, create_memory
from zeroclaw_tui.backends.redis.connect import read_url
from zeroclaw_tui.backends.redis.store import RedisMemory
from zeroclaw_tui.config.locations import Install
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.memory.change import Draft
from zeroclaw_tui.memory.errors import InspectorError, NotReachable, Refused, UsageError
from zeroclaw_tui.testing.tools import Kept

WRONG = "Wr0ng-Password"


def opened(url: str) -> Any:
    return RedisMemory(read_url(url), connect_seconds=1.0).open()


async def told(deed: Any, kind: type[InspectorError] = NotReachable, code: int = 3) -> str:
    with pytest.raises(kind) as raised:
        await deed
    error = raised.value
    assert error.exit_code == code
    assert "\n" not in error.message
    assert error.hint
    assert error.__cause__ is None
    for secret in (WRONG, PASSWORD, "redis://"):
        assert secret not in str(error)
    return error.message


@asynccontextmanager
async def answering(answer: Callable[[bytes], bytes | None]) -> AsyncIterator[int]:
    """A port that answers like this; None closes, an empty answer waits."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while asked := await reader.read(4096):
            said = answer(asked)
            if said is None:
                break
            writer.write(said)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def test_a_closed_port_an_unknown_host_and_a_missing_socket() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert await told(opened(f"redis://u:{WRONG}@127.0.0.1:{port}/0")) == f"Nothing listens at 127.0.0.1:{port}."
    assert "Unknown host" in await told(opened(f"redis://:{WRONG}@no-such-host.invalid:6379"))
    assert "no socket /nowhere/redis.sock" in await told(opened("unix:///nowhere/redis.sock"))


async def test_a_port_that_hangs_closes_or_speaks_something_else() -> None:
    async with answering(lambda asked: b"") as port:
        assert "does not answer in time" in await told(opened(f"redis://127.0.0.1:{port}"))
    async with answering(lambda asked: b"HTTP/1.0 400 Bad Request\r\n\r\n") as port:
        assert "is not Redis" in await told(opened(f"redis://127.0.0.1:{port}"))
    async with answering(lambda asked: None) as port:
        assert "closed the connection" in await told(opened(f"redis://127.0.0.1:{port}"))
    async with answering(lambda asked: b"-LOADING reading\r\n") as port:
        assert "still reading its data" in await told(opened(f"redis://127.0.0.1:{port}"))


async def test_a_wrong_password_none_at_all_and_tls_where_there_is_none(server: RedisServer) -> None:
    for password in (WRONG, None):
        assert "rejects this user" in await told(opened(server.url(password=password)))
    assert "does not answer in time" in await told(opened(server.url().replace("redis://", "rediss://")))
    assert "no database of that number" in await told(opened(server.url(database=99)))


@pytest.mark.parametrize(
    "url",
    ["http://x", "redis://", "redis://h:port", "redis://h:99999", "redis://h/name", "unix://", "redis://h?secret=1",
     "redis://[::1", ""],
)  # fmt: skip
def test_a_url_that_cannot_be_is_wrong_use(url: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_url(url)
    assert raised.value.exit_code == 2
    assert "redis://[USER" in raised.value.hint


@pytest.mark.parametrize("scheme", ["redis+sentinel", "rediss+sentinel"])
def test_the_url_of_a_sentinel_is_wrong_use(scheme: str) -> None:
    url = f"{scheme}://:{WRONG}@h:26379/service/0"
    assert backend_of_url(url) == "redis"
    with pytest.raises(UsageError) as raised:
        read_url(url)
    assert raised.value.message == "Redis Sentinel is not supported."
    assert raised.value.hint == "Name a single Redis server."


async def test_a_server_of_a_cluster_is_refused() -> None:
    with running_redis("--cluster-enabled", "yes") as server:
        for database in (0, 1):
            kind, code = (Refused, 1) if database == 0 else (NotReachable, 3)
            sentence = await told(opened(server.url(database)), kind, code)
            assert sentence == f"{server.host}:{server.port} is part of a Redis cluster, which is not supported."


async def test_a_sentinel_is_refused() -> None:
    said = b"redis_version:7.0.15\r\nredis_mode:sentinel\r\n"

    def answer(asked: bytes) -> bytes:
        if b"INFO\r\n" in asked and b"SETINFO" not in asked:
            return b"$%d\r\n%s\r\n" % (len(said), said)
        return b"+PONG\r\n" if b"PING" in asked else b"+OK\r\n" * asked.count(b"*")

    async with answering(answer) as port:
        sentence = await told(opened(f"redis://127.0.0.1:{port}"), Refused, 1)
    assert sentence == f"127.0.0.1:{port} is a Redis Sentinel, which is not supported."


def test_a_location_shows_no_password() -> None:
    address = read_url(f"rediss://me:{WRONG}@[::1]:7000/3")
    assert address.location == "rediss://[::1]:7000/3"
    assert WRONG not in repr(address)
    assert read_url(f"unix:///run/r.sock?db=2&password={WRONG}").location == "unix:///run/r.sock?db=2"
    assert read_url("redis://localhost").location == "redis://localhost:6379/0"


def config(tmp_path: Path, **rest: Any) -> MemoryConfig:
    return MemoryConfig(Install(None, tmp_path, tmp_path / "brain.db", "lone", "a test", tmp_path), "redis", **rest)


def test_the_factory_makes_it_from_a_location_or_from_settings(tmp_path: Path) -> None:
    memory = create_memory(config(tmp_path, location="redis://h/1", storage={"url": "redis://other"}))
    assert (memory.name, memory.location) == ("redis", "redis://h:6379/1")
    assert create_memory(config(tmp_path, storage={"db_url": "redis://s:1"})).location == "redis://s:1/0"
    with pytest.raises(UsageError, match="No Redis server"):
        create_memory(config(tmp_path))


async def test_a_missing_driver_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.split(".")[0] == "redis":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(Refused) as raised:
        await opened("redis://127.0.0.1:1")
    assert "'redis>=" in raised.value.hint


async def test_a_server_that_stops_answering_in_the_middle(
    memory: RedisMemory, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zeroclaw_tui.backends.redis.connect.ANSWER_SECONDS", 0.3)
    await memory.open()
    with server.frozen():
        assert "does not answer in time" in await told(memory.count())
        assert not await memory.health_check()
    assert await memory.count() == 0


async def test_a_copy_takes_no_writes_and_says_so(server: RedisServer) -> None:
    options = ("--replicaof", f"{server.host} {server.port}", "--masterauth", PASSWORD)
    with running_redis(*options) as copy:
        memory = RedisMemory(read_url(copy.url()))
        await memory.open()
        assert "copy of another server" in memory.capabilities.why_not["write"]
        with pytest.raises(Refused, match="copy of another server"):
            await memory.create(Draft("a", "b"), Kept())
        await memory.close()


async def test_a_user_who_may_not_write_or_ask_for_info(memory: RedisMemory, server: RedisServer) -> None:
    server.say(f"ACL SETUSER looker on >{WRONG} ~memory:* +@read +ping +client")
    await memory.store("a", "b", "core")
    limited = RedisMemory(read_url(f"redis://looker:{WRONG}@{server.host}:{server.port}/0"))
    await limited.open()
    assert [entry.content for entry in await limited.list()] == ["b"]
    assert await limited.version() is None
    assert "does not report writes" in limited.capabilities.why_not["watch"]
    assert "does not allow this command" in await told(limited.create(Draft("c", "d"), Kept()))
    await limited.close()
    server.say("ACL DELUSER looker")
