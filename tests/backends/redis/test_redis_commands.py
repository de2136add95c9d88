"""Redis as the backend that config.toml names, through the commands of a shell, and what they ask of the server."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.redis_server import PASSWORD, RedisServer
from support.warm_start import run_memory

from zeroclaw_tui.backends.redis.connect import read_url
from zeroclaw_tui.backends.redis.store import RedisMemory
from zeroclaw_tui.memory.change import Draft

READS = ("get", "mget", "scan")
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Run `zeroclaw memory ...` over an install in a folder of this test."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run_memory("--config-dir", str(tmp_path), *arguments)

    return run


@pytest.mark.parametrize(
    "text",
    [
        '[memory]\nbackend = "redis"\n[storage.redis.default]\nurl = "{url}"\n',
        'schema_version = 3\n[memory]\nbackend = "redis.default"\n[storage.redis.default]\nurl = "{url}"\n',
        '[memory]\nbackend = "redis"\n[storage.provider.config]\ndb_url = "{url}"\n',
    ],
)
def test_the_url_in_config_toml_opens_it(server: RedisServer, command: Command, tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text.format(url=server.url()))
    stored = command("store", "lang", "User prefers Rust", "--category", "core")
    assert stored.returncode == 0, stored.stderr
    assert json.loads(command("get", "lang", "--json").stdout)["content"] == "User prefers Rust"
    health = command("health", "--json")
    document = json.loads(health.stdout)
    assert document["ok"]
    assert "ZeroClaw itself would use markdown, since it does not know that name" in document["chosen"]
    for told in (health, command("list")):
        assert PASSWORD not in told.stdout + told.stderr
        assert "has the key redis" not in told.stdout + told.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "No Redis server given."),
        ("url = 5\n", "No Redis server given."),
        ('url = "redis://127.0.0.1:1"\nconnect_timeout_secs = "soon"\n', "connect_timeout_secs of Redis is no number."),
    ],
)
def test_settings_that_cannot_be_are_told(command: Command, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "config.toml").write_text(f'[memory]\nbackend = "redis"\n[storage.redis.default]\n{text}')
    told = command("list")
    assert told.returncode == 2
    assert said in " ".join(told.stderr.split())
    assert "Traceback" not in told.stderr


@pytest.fixture
async def filled(server: RedisServer) -> RedisServer:
    memory = RedisMemory(read_url(server.url()))
    await memory.open()
    await memory.store_batch([Draft(f"key {number}", f"content {number}") for number in range(1500)])
    await memory.close()
    return server


def commands(server: RedisServer) -> dict[str, int]:
    """How often each command was called since the last RESETSTAT."""
    found = re.findall(rb"cmdstat_([a-z|]+):calls=(\d+)", server.say("INFO commandstats"))
    return {name.decode(): int(count) for name, count in found}


@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        (["get", "key 7"], 1),
        (["store", "new key", "content"], 2),
        (["edit", "key 7", "--content", "changed"], 7),
        (["forget", "key 7", "--yes"], 7),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_verb_of_one_key_reads_that_key_alone(
    filled: RedisServer, command: Command, tmp_path: Path, arguments: Sequence[str], most: int
) -> None:
    """The value under it, and nothing of the rest of the database."""
    (tmp_path / "config.toml").write_text(
        f'[memory]\nbackend = "redis"\n[storage.redis.default]\nurl = "{filled.url()}"\n'
    )
    filled.say("CONFIG RESETSTAT")
    assert command(*arguments).returncode == 0
    sent = commands(filled)
    assert sum(sent.get(name, 0) for name in READS) <= most, sent
    assert "scan" not in sent
    assert sent.get("info", 0) <= 2, sent
