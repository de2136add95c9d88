"""The settings of backends that ZeroClaw does not know: Redis and plug-ins."""

from __future__ import annotations

from pathlib import Path

import pytest

from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.locations import Install
from zeroclaw_tui.config.memory_config import MemoryConfig

THIRD = "schema_version = 3\n"


def load(root: Path, text: str, backend: str | None = None) -> MemoryConfig:
    (root / "config.toml").write_text(text)
    install = Install(root, root / "data", root / "brain.db", "workspace", "a test", root / "zeroclaw-tui")
    return load_config(install, {}, backend=backend)


@pytest.mark.parametrize("schema", ["", THIRD], ids=["first schema", "third schema"])
@pytest.mark.parametrize(
    ("backend", "text", "wanted"),
    [
        ("redis", '[storage.redis.default]\nurl = "redis://a"\n', {"url": "redis://a"}),
        ("redis", '[storage.redis]\nurl = "redis://b"\n', {"url": "redis://b"}),
        ("redis.w", '[storage.redis.w]\nurl = "redis://c"\n[storage.redis.default]\nurl = "x"\n', {"url": "redis://c"}),
        ("shoe-box", "[storage.shoe-box]\nlid = 2\nblue = true\n", {"lid": 2, "blue": True}),
        ("box", "[storage.box]\nlid = 2\n[storage.box.default]\nin = {a = 1}\n", {"lid": 2, "in": {"a": 1}}),
    ],
)  # fmt: skip
def test_the_table_of_its_name_reaches_it(
    tmp_path: Path, schema: str, backend: str, text: str, wanted: dict[str, object]
) -> None:
    config = load(tmp_path, f'{schema}[memory]\nbackend = "{backend}"\n{text}')
    assert config.storage == wanted
    assert config.zeroclaw_backend == "markdown"
    assert not [sentence for sentence in config.warnings if "has the key" in sentence]
    assert [sentence for sentence in config.warned_about("fact") if "read by this program alone" in sentence]
    assert all(config.sources[f"storage.{name}"] == "config.toml" for name in wanted)


def test_the_one_table_of_old_configs_counts_for_whichever_backend_is_in_use(tmp_path: Path) -> None:
    text = '[memory]\nbackend = "redis"\n[storage.provider.config]\ndbURL = "redis://a"\n'
    assert load(tmp_path, text).storage == {"db_url": "redis://a"}
    assert load(tmp_path, text + 'provider = "redis"\n').storage == {"db_url": "redis://a"}


def test_an_alias_that_is_not_there_is_reported(tmp_path: Path) -> None:
    config = load(tmp_path, THIRD + '[memory]\nbackend = "redis.work"\n[storage.redis.default]\nurl = "redis://a"\n')
    assert config.storage == {}
    assert "There is no [storage.redis.work]." in config.warnings
