"""Settings of stores, from the table of each backend and the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from support.places import Install, MemoryConfig, load_config

OLD = '[memory]\nbackend = "sqlite"\nauto_save = true\n'
POSTGRES = (
    '[memory]\nbackend = "postgres"\nauto_save = true\n[storage.provider.config]\nprovider = "postgres"\n'
    'db_url = "postgres://config/d"\n'
)


def load(folder: Path, text: str, layout: Literal["workspace", "data"] = "workspace", **environ: str) -> MemoryConfig:
    (folder / "config.toml").write_text(text)
    root = folder / layout
    return load_config(Install(folder, root, root / "memory/brain.db", layout, "test", folder / "own"), environ)


def test_storage_provider_variable_changes_the_backend_up_to_0_7_5(tmp_path: Path) -> None:
    config = load(tmp_path, OLD, ZEROCLAW_STORAGE_PROVIDER=" Postgres ", ZEROCLAW_STORAGE_CONNECT_TIMEOUT_SECS="7")
    assert config.backend == "postgres"
    assert config.sources["memory.backend"] == "environment ZEROCLAW_STORAGE_PROVIDER"
    assert config.storage["connect_timeout_secs"] == 7


def test_generic_variables_of_the_third_schema_are_read(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        "schema_version = 3\n[memory]\nvector_weight = 0.1\n",
        ZEROCLAW_memory__vector_weight="0.9",
        ZEROCLAW_memory__hygiene_enabled="false",
        ZEROCLAW_memory__policy__threat_scan="strict",
        ZEROCLAW_memory__backend="postgres.work",
        ZEROCLAW_storage__postgres__work__db_url="postgres://env/d",
        ZEROCLAW_agents__a__workspace__read_memory_from="b, c",
    )
    assert (config.vector_weight, config.hygiene_enabled, config.threat_scan) == (0.9, False, "strict")
    assert (config.backend, config.alias) == ("postgres", "work")
    assert config.storage["db_url"] == "postgres://env/d"
    assert config.sources["memory.vector_weight"] == "environment ZEROCLAW_memory__vector_weight"
    assert config.sources["storage.db_url"] == "environment ZEROCLAW_storage__postgres__work__db_url"
    assert config.agents["a"] == ("b", "c")
    assert config.values["vector_weight"] == 0.9


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ZEROCLAW_memory__no_such_key", "1"),
        ("ZEROCLAW_memory__vector_weight", "heavy"),
        ("ZEROCLAW_memory__auto_save", "yes"),
        ("ZEROCLAW_memory__archive_after_days", "-1"),
        ("ZEROCLAW_storage__sqlite", "x"),
        ("ZEROCLAW_schema_version", "2"),
        ("ZEROCLAW_memory", "x"),
    ],
)
def test_a_generic_variable_that_zeroclaw_refuses_is_reported(tmp_path: Path, variable: str, value: str) -> None:
    config = load(tmp_path, "schema_version = 3\n", **{variable: value})
    (sentence,) = config.warnings
    assert variable in sentence
    assert "does not start" in sentence
    assert config.schema == 3


def test_generic_variables_are_ignored_in_older_schemas(tmp_path: Path) -> None:
    config = load(tmp_path, OLD, ZEROCLAW_memory__backend="none")
    assert config.backend == "sqlite"


URLS = {
    "ZEROCLAW_STORAGE_DB_URL": "postgres://agent/d",
    "ZEROCLAW_POSTGRES_URL": "postgres://ours/d",
    "ZEROCLAW_DB_URL": "postgres://ours-too/d",
    "DATABASE_URL": "postgresql://anyone/d",
}


@pytest.mark.parametrize("first", range(5))
def test_postgres_urls_have_an_order_of_precedence(tmp_path: Path, first: int) -> None:
    names = list(URLS)[first:]
    config = load(tmp_path, POSTGRES, **{name: URLS[name] for name in names})
    expected = URLS[names[0]] if names else "postgres://config/d"
    assert config.storage["db_url"] == expected
    assert config.sources["storage.db_url"] == (f"environment {names[0]}" if names else "config.toml")
    assert config.read_only == (names == ["DATABASE_URL"])


def test_qdrant_variables_fill_in_or_override_settings(tmp_path: Path) -> None:
    text = (
        '[memory]\nbackend = "qdrant"\nauto_save = true\n[memory.qdrant]\nurl = "http://config"\ncollection = "mine"\n'
    )
    config = load(tmp_path, text, QDRANT_URL="http://env", QDRANT_COLLECTION="theirs", QDRANT_API_KEY="k")
    assert config.storage == {"url": "http://config", "collection": "theirs", "api_key": "k"}
    assert config.sources["storage.url"] == "config.toml"
    assert config.sources["storage.collection"] == "environment QDRANT_COLLECTION"
    assert config.sources["storage.api_key"] == "environment QDRANT_API_KEY"


def test_lucid_variables_are_read(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        '[memory]\nbackend = "lucid"\nauto_save = true\n',
        ZEROCLAW_LUCID_CMD="/opt/lucid",
        ZEROCLAW_LUCID_RECALL_TIMEOUT_MS="1",
        ZEROCLAW_LUCID_BUDGET="many",
    )
    assert config.storage == {"binary_path": "/opt/lucid", "recall_timeout_ms": 20}
    assert any("ZEROCLAW_LUCID_BUDGET" in sentence for sentence in config.warnings)


THIRD = "schema_version = 3\n"


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
def test_a_backend_receives_the_table_of_its_name(
    tmp_path: Path, schema: str, backend: str, text: str, wanted: dict[str, object]
) -> None:
    config = load(tmp_path, f'{schema}[memory]\nbackend = "{backend}"\n{text}')
    assert config.storage == wanted
    assert config.zeroclaw_backend == "markdown"
    assert not [sentence for sentence in config.warnings if "has the key" in sentence]
    assert [sentence for sentence in config.warnings_about("fact") if "read by this program alone" in sentence]
    assert all(config.sources[f"storage.{name}"] == "config.toml" for name in wanted)


def test_a_missing_alias_is_reported(tmp_path: Path) -> None:
    config = load(tmp_path, THIRD + '[memory]\nbackend = "redis.work"\n[storage.redis.default]\nurl = "redis://a"\n')
    assert config.storage == {}
    assert "There is no [storage.redis.work]." in config.warnings
