"""What a verb of one key asks the server: the value under that key, and nothing of the rest of the database."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.redis_server import RedisServer
from support.warm_start import run_memory

from zeroclaw_tui.backends.redis.connect import read_url
from zeroclaw_tui.backends.redis.store import RedisMemory
from zeroclaw_tui.memory.change import Draft

READS = ("get", "mget", "scan")


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
    ("command", "most"),
    [
        (["get", "key 7"], 1),
        (["store", "new key", "content"], 2),
        (["edit", "key 7", "--content", "changed"], 7),
        (["forget", "key 7", "--yes"], 7),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_verb_of_one_key_reads_that_key_alone(
    filled: RedisServer, tmp_path: Path, command: Sequence[str], most: int
) -> None:
    (tmp_path / "config.toml").write_text(
        f'[memory]\nbackend = "redis"\n[storage.redis.default]\nurl = "{filled.url()}"\n'
    )
    filled.say("CONFIG RESETSTAT")
    assert run_memory("--config-dir", str(tmp_path), *command).returncode == 0
    sent = commands(filled)
    assert sum(sent.get(name, 0) for name in READS) <= most, sent
    assert "scan" not in sent
    assert sent.get("info", 0) <= 2, sent
