"""Redis as the backend that config.toml names, through the commands of a shell."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.redis_server import PASSWORD, RedisServer
from support.warm_start import run_memory

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
    for told in (health, command("health"), command("list")):
        assert PASSWORD not in told.stdout + told.stderr
        assert "has the key redis" not in told.stdout + told.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Redis needs to know which server."),
        ("url = 5\n", "Redis needs to know which server."),
        ('url = "redis://127.0.0.1:1"\nconnect_timeout_secs = "soon"\n', "connect_timeout_secs of Redis is no number."),
    ],
)
def test_settings_that_cannot_be_are_told(command: Command, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "config.toml").write_text(f'[memory]\nbackend = "redis"\n[storage.redis.default]\n{text}')
    told = command("list")
    assert told.returncode == 2
    assert said in " ".join(told.stderr.split())
    assert "Traceback" not in told.stderr
