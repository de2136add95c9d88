"""Load the memory settings of a config, with the source of every value."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.places import Install, MemoryConfig, load_config

from zeroclaw_tui.config.schema import MEMORY_KEYS

THIRD = "schema_version = 3\n"
BASE = '[memory]\nbackend = "sqlite"\nauto_save = true\n'


def install_in(folder: Path, layout: Literal["workspace", "data"] = "workspace") -> Install:
    root = folder / layout
    return Install(folder, root, root / "memory" / "brain.db", layout, "test", folder / "zeroclaw-tui")


def load(
    folder: Path,
    text: str | bytes,
    environ: dict[str, str] | None = None,
    layout: Literal["workspace", "data"] = "workspace",
    **options: Any,
) -> MemoryConfig:
    (folder / "config.toml").write_bytes(text.encode() if isinstance(text, str) else text)
    return load_config(install_in(folder, layout), environ or {}, **options)


def warning(config: MemoryConfig, *parts: str) -> str:
    hits = [sentence for sentence in config.warnings if all(part in sentence for part in parts)]
    assert len(hits) == 1, config.warnings
    return hits[0]


def test_a_missing_config_means_the_defaults(tmp_path: Path) -> None:
    config = load_config(install_in(tmp_path), {})
    assert (config.backend, config.vector_weight, config.min_relevance_score) == ("sqlite", 0.7, 0.4)
    assert config.sources["memory.backend"] == "default"
    assert config.warnings == ()


def test_values_are_loaded_with_their_sources(tmp_path: Path) -> None:
    config = load(tmp_path, BASE + 'keyword_weight = 1\nsearch_mode = "bm25"\narchive_after_days = 3\n')
    assert (config.keyword_weight, config.search_mode, config.archive_after_days) == (1.0, "bm25", 3)
    assert config.sources["memory.keyword_weight"] == "config.toml"
    assert config.sources["memory.vector_weight"] == "default"
    assert config.values["search_mode"] == "bm25"
    assert config.warnings == ()


@pytest.mark.parametrize(
    ("line", "key", "default"),
    [
        ('hygiene_enabled = "yes"', "hygiene_enabled", True),
        ("archive_after_days = -1", "archive_after_days", 7),
        ("vector_weight = true", "vector_weight", 0.7),
        ("search_mode = 1", "search_mode", "hybrid"),
        ('search_mode = "vector"', "search_mode", "hybrid"),
        ("embedding_cache_size = 1979-05-27", "embedding_cache_size", 10000),
    ],
)
def test_wrong_type_is_reported_and_the_default_used(tmp_path: Path, line: str, key: str, default: object) -> None:
    config = load(tmp_path, f"{BASE}{line}\n")
    assert getattr(config, key) == default
    assert config.sources[f"memory.{key}"] == "default"
    assert "counts as" in warning(config, f"memory.{key}")


def test_wrong_type_never_shows_the_value(tmp_path: Path) -> None:
    config = load(tmp_path, 'schema_version = 3\n[memory]\nembedding_api_key = ["sk-veryverysecret"]\n')
    assert "memory.embedding_api_key is a list" in warning(config, "embedding_api_key")
    assert "sk-veryverysecret" not in repr(config)


def test_an_unknown_key_is_reported_with_a_suggestion(tmp_path: Path) -> None:
    config = load(tmp_path, BASE + "vektor_weight = 1.0\nsqlite_path = 'x'\n[memory.policy]\nthreatscan = 'on'\n")
    assert warning(config, "vektor_weight").endswith("did you mean vector_weight?")
    assert "did you mean" not in warning(config, "sqlite_path")
    assert warning(config, "threatscan").endswith("did you mean policy.threat_scan?")


def test_hostile_key_names_are_cleaned_for_the_terminal(tmp_path: Path) -> None:
    config = load(tmp_path, BASE + '"\\u001b]0;owned\\u0007" = 1\n"' + "k" * 500 + '" = 1\n')
    assert all("\x1b" not in sentence and len(sentence) < 200 for sentence in config.warnings)


@pytest.mark.parametrize(
    ("lines", "part"),
    [
        ("vector_weight = -0.1", "memory.vector_weight is -0.1"),
        ("keyword_weight = nan", "memory.keyword_weight is nan"),
        ("min_relevance_score = -1", "memory.min_relevance_score is -1"),
        ('embedding_provider = "local"', "this program's own"),
        ('embedding_provider = "ollama"', 'does not know the embedding provider "ollama"'),
        ("daily_retention_days = 3", "from 0.8.1 on"),
        ('embedding_model = "hint:none"', "No embedding route"),
    ],
)
def test_a_misleading_value_is_reported(tmp_path: Path, lines: str, part: str) -> None:
    assert warning(load(tmp_path, f"{BASE}{lines}\n"), part)


def test_a_threshold_above_one_is_reported_only_in_versions_that_refuse_it(tmp_path: Path) -> None:
    text = BASE + "min_relevance_score = 1.5\n"
    assert load(tmp_path, text).warnings == ()
    assert warning(load(tmp_path, f"schema_version = 3\n{text}"), "a number from 0 to 1")


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("0.1.7", {"search_mode": "0.6.3", "retrieval_stages": "0.5.7", "policy.read_only_namespaces": "0.5.7"}),
        ("0.6.2", {"search_mode": "0.6.3"}),
        ("0.7.5", {}),
        (None, {}),
    ],
)
def test_a_key_that_the_installed_zeroclaw_does_not_read_is_reported(
    tmp_path: Path, version: str | None, message: dict[str, str]
) -> None:
    text = BASE + "search_mode = 'bm25'\nretrieval_stages = ['fts']\n[memory.policy]\nread_only_namespaces = ['a']\n"
    config = load(tmp_path, text)
    judged = load_config(config.install, {}, version=version)
    assert set(judged.warnings) == {
        f"memory.{name} does nothing here: ZeroClaw reads it from {since} on only." for name, since in message.items()
    }


@pytest.mark.parametrize("text", ["[memory]\nbackend = 'none'\n", "[memory]\nauto_save = true\n"])
def test_missing_required_keys_of_the_old_generation_are_reported(tmp_path: Path, text: str) -> None:
    assert "does not start" in warning(load(tmp_path, text), "[memory] has no")
    assert load(tmp_path, f"schema_version = 3\n{text}").warnings == ()


@pytest.mark.parametrize("value", ["'3'", "0", "-1", "true", "4"])
def test_odd_schema_is_reported(tmp_path: Path, value: str) -> None:
    config = load(tmp_path, f"schema_version = {value}\n{BASE}")
    assert config.schema == (3 if value == "4" else 1)
    assert "starts on its defaults" in warning(config, "schema_version")


@pytest.mark.parametrize(
    ("start", "written", "backend", "alias", "in_zeroclaw"),
    [
        ("", "sqlite", "sqlite", None, "sqlite"),
        ("", " SQLite ", "sqlite", None, "sqlite"),
        ("", "markdown", "markdown", None, "markdown"),
        ("", "none", "none", None, "none"),
        ("", "lucid", "lucid", None, "lucid"),
        ("", "redis", "redis", None, "markdown"),
        ("", "sqlite.main", "sqlite", "main", "markdown"),
        ("", "", "", None, "markdown"),
        (THIRD, "sqlite.main", "sqlite", "main", "sqlite"),
        (THIRD, "SQLite.Main", "sqlite", "Main", "sqlite"),
        (THIRD, "sqlite", "sqlite", None, "sqlite"),
        (THIRD, "redis.x", "redis", "x", "markdown"),
    ],
)
def test_the_backend_is_interpreted_as_by_zeroclaw(
    tmp_path: Path, start: str, written: str, backend: str, alias: str | None, in_zeroclaw: str
) -> None:
    config = load(tmp_path, f'{start}[memory]\nbackend = "{written}"\nauto_save = true\n')
    assert (config.backend, config.alias, config.zeroclaw_backend) == (backend, alias, in_zeroclaw)
    assert any("uses Markdown" in sentence for sentence in config.warnings) == (backend != in_zeroclaw)


def test_storage_provider_overrides_the_backend_up_to_0_7_5(tmp_path: Path) -> None:
    text = BASE + '[storage.provider.config]\nprovider = " Postgres "\ndbURL = "postgres://h/d"\nschema = "z"\n'
    config = load(tmp_path, text)
    assert (config.backend, config.zeroclaw_backend) == ("postgres", "postgres")
    assert "[storage.provider.config]" in config.sources["memory.backend"]
    assert config.storage["db_url"] == "postgres://h/d"
    assert (config.storage["schema"], config.storage["table"]) == ("z", "memories")


def test_storage_provider_is_ignored_from_0_8_0_on(tmp_path: Path) -> None:
    text = BASE + '[storage.provider.config]\nprovider = "postgres"\ndb_url = "postgres://h/d"\n'
    config = load(tmp_path, text, layout="data")
    assert (config.backend, config.schema) == ("sqlite", 1)
    assert "ignores it and uses" in warning(config, "[storage.provider.config]")
    agreeing = load(tmp_path, text.replace('"sqlite"', '"postgres"'), layout="data")
    assert not any("ignores it and uses" in sentence for sentence in agreeing.warnings)


def test_old_postgres_settings_move_to_the_default_alias(tmp_path: Path) -> None:
    text = (
        '[memory]\nbackend = "postgres"\nauto_save = true\n[memory.postgres]\nvector_enabled = true\n'
        '[storage.provider.config]\nprovider = "postgres"\ndb_url = "postgres://h/d"\nconnect_timeout_secs = 9\n'
    )
    old, new = load(tmp_path, text), load(tmp_path, text, layout="data")
    for config in (old, new):
        assert config.backend == "postgres"
        assert config.storage == {
            "db_url": "postgres://h/d",
            "schema": "public",
            "table": "memories",
            "connect_timeout_secs": 9,
            "vector_enabled": True,
            "vector_dimensions": 1536,
        }
    assert old.sources["storage.vector_enabled"] == "config.toml"
    assert old.sources["storage.table"] == "default"


def test_the_alias_selects_its_storage_table(tmp_path: Path) -> None:
    text = (
        'schema_version = 3\n[memory]\nbackend = "qdrant.work"\n'
        '[storage.qdrant.default]\nurl = "http://wrong"\n[storage.qdrant.work]\nurl = "http://right"\n'
    )
    config = load(tmp_path, text)
    assert config.storage == {"url": "http://right", "collection": "zeroclaw_memories"}


def test_missing_alias_of_a_remote_store_is_reported(tmp_path: Path) -> None:
    text = 'schema_version = 3\n[memory]\nbackend = "postgres.work"\n[storage.postgres.default]\ndb_url = "x"\n'
    assert "does not start" in warning(load(tmp_path, text), "[storage.postgres.work]")


def test_agents_and_the_memory_they_read_are_loaded(tmp_path: Path) -> None:
    text = (
        "schema_version = 3\n[agents.a]\n[agents.a.workspace]\nread_memory_from = ['b', 'ghost']\n"
        "[agents.b]\n[agents.b.memory]\nbackend = 'markdown'\n[agents.c]\nworkspace = '~/x'\n"
    )
    config = load(tmp_path, text)
    assert config.agents == {"a": ("b", "ghost"), "b": (), "c": ()}
    assert warning(config, "agents.c.workspace", "must be a table")


def test_options_override_the_config_and_are_named_as_source(tmp_path: Path) -> None:
    config = load(tmp_path, BASE, backend="Redis", location="redis://h", read_only=True)
    assert (config.backend, config.zeroclaw_backend, config.location) == ("redis", "sqlite", "redis://h")
    assert config.read_only
    assert config.sources["memory.backend"] == "option"


def test_an_api_key_in_the_wrong_setting_is_not_shown(tmp_path: Path) -> None:
    config = load(tmp_path, BASE + 'embedding_provider = "sk-abcdefghijklmnopqrstuvwx"\n')
    assert "abcdefghij" not in " ".join(config.warnings)


VALUES = st.one_of(
    st.booleans().map(lambda value: str(value).lower()),
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(str),
    st.sampled_from(["''", "'x.y'", "'hint:a'", "[]", "[1]", "['a']", "{}", "{a = 1}", "1979-05-27", "[{}]"]),
)


@given(
    schema=st.sampled_from(["", "schema_version = 2\n", "schema_version = 3\n"]),
    layout=st.sampled_from(["workspace", "data"]),
    values=st.dictionaries(st.sampled_from(sorted(MEMORY_KEYS)), VALUES, max_size=6),
    outside=st.dictionaries(
        st.sampled_from(["api_key", "storage", "providers", "agents", "embedding_routes"]), VALUES, max_size=3
    ),
)
def test_values_of_any_type_do_not_stop_loading(
    tmp_path_factory: pytest.TempPathFactory,
    schema: str,
    layout: Literal["workspace", "data"],
    values: dict[str, str],
    outside: dict[str, str],
) -> None:
    top = "".join(f"{name} = {value}\n" for name, value in outside.items())
    body = "".join(f"{name} = {value}\n" for name, value in values.items())
    config = load(tmp_path_factory.mktemp("any"), f"{schema}{top}[memory]\n{body}", layout=layout)
    assert isinstance(config.vector_weight, float)
    assert isinstance(config.archive_after_days, int)
    assert isinstance(config.embedding.provider, str)
    assert config.search_mode in ("hybrid", "bm25", "embedding")
