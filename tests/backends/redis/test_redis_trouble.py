"""Every failure of a server is one sentence with its exit code, without secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.failures import failure_of
from support.http_endpoints import answering_bytes, free_port
from support.memories import Draft, InspectorError, NotReachable, Refused, UsageError
from support.redis_server import PASSWORD, running_redis
from support.warm_start import run_memory

from zeroclaw_tui.backends.redis import RedisMemory
from zeroclaw_tui.testing.tools import create

WRONG = "Wr0ng-Password"


def opened(url: str) -> Any:
    return RedisMemory(url).open()


async def error_of(action: Any, kind: type[InspectorError] = NotReachable, code: int = 3) -> str:
    error = await failure_of(action, WRONG, PASSWORD, "redis://", kind=kind)
    assert (error.exit_code, error.__cause__) == (code, None)
    return error.message


async def test_a_closed_port_an_unknown_host_and_a_missing_socket_are_reported():
    port = free_port()
    closed = await error_of(opened(f"redis://u:{WRONG}@127.0.0.1:{port}/0"))
    assert closed == f"Redis at 127.0.0.1:{port} cannot be reached."
    assert "cannot be reached" in await error_of(opened(f"redis://:{WRONG}@no-such-host.invalid:6379"))
    assert "/nowhere/redis.sock cannot be reached" in await error_of(opened("unix:///nowhere/redis.sock"))


async def test_a_hanging_or_unready_server_is_reported(monkeypatch):
    monkeypatch.setattr("zeroclaw_tui.backends.redis.CONNECT_SECONDS", 0.3)
    async with answering_bytes(b"") as port:
        assert "does not answer in time" in await error_of(opened(f"redis://127.0.0.1:{port}"))
    async with answering_bytes(b"HTTP/1.0 400 Bad Request\r\n\r\n") as port:
        assert "cannot be reached" in await error_of(opened(f"redis://127.0.0.1:{port}"))
    async with answering_bytes(b"-LOADING reading\r\n") as port:
        assert "refuses: " in await error_of(opened(f"redis://127.0.0.1:{port}"))


async def test_a_wrong_or_missing_password_is_reported(server):
    for password in (WRONG, None):
        assert "refuses: " in await error_of(opened(server.url(password=password)))


@pytest.mark.parametrize(
    "url",
    ["http://x", "redis+sentinel://h", "redis://", "redis://h:port", "redis://h:99999", "redis://h/name", "unix://",
     "redis://h?secret=1", "redis://[::1", ""],
)  # fmt: skip
def test_an_invalid_redis_url_is_a_usage_error(url):
    with pytest.raises(UsageError) as raised:
        RedisMemory(url)
    assert raised.value.exit_code == 2
    assert "redis://[USER" in raised.value.hint


async def test_a_cluster_server_is_refused():
    with running_redis("--cluster-enabled", "yes") as server:
        assert "is part of a cluster" in await error_of(opened(server.url()), Refused, 1)


def test_a_location_shows_no_password():
    assert RedisMemory(f"rediss://me:{WRONG}@[::1]:7000/3").about.location == "rediss://[::1]:7000/3"
    assert RedisMemory(f"unix:///run/r.sock?db=2&password={WRONG}").about.location == "unix:///run/r.sock?db=2"
    assert RedisMemory("redis://localhost").about.location == "redis://localhost:6379/0"


async def test_a_user_without_write_permission_is_reported(memory, server):
    server.say(f"ACL SETUSER looker on >{WRONG} ~memory:* +@read +@transaction +ping +client +info")
    await memory.store("a", "b", "core")
    limited = RedisMemory(f"redis://looker:{WRONG}@{server.host}:{server.port}/0")
    await limited.open()
    assert [entry.content for entry in await limited.list()] == ["b"]
    message = await error_of(create(limited, Draft("c", "d")))
    assert message.endswith("refuses: this user has no permissions to run the 'set' command.")
    await limited.close()
    server.say("ACL SETUSER looker -info")
    assert "no permissions" in await error_of(limited.open())
    server.say("ACL DELUSER looker")


def test_the_url_in_config_toml_opens_it(server, tmp_path):
    def command(*arguments):
        return run_memory("--config-dir", str(tmp_path), *arguments)

    (tmp_path / "config.toml").write_text(
        f'[memory]\nbackend = "redis"\n[storage.redis.default]\nurl = "{server.url()}"\n'
    )
    stored = command("store", "lang", "User prefers Rust", "--category", "core")
    assert stored.returncode == 0, stored.stderr
    assert json.loads(command("get", "lang", "--json").stdout)["content"] == "User prefers Rust"
    edited = command("edit", "lang", "--content", "User prefers Zig")
    assert edited.returncode == 0, edited.stderr
    health = command("health", "--json")
    document = json.loads(health.stdout)
    assert document["ok"]
    assert "ZeroClaw itself would use markdown" in document["chosen"]
    for shown in (health, edited, command("list")):
        assert PASSWORD not in shown.stdout + shown.stderr
        assert "has the key redis" not in shown.stdout + shown.stderr
