"""The default files of the backends agree with the table of keys."""

from __future__ import annotations

import tomllib

import pytest

from zeroclaw_tui.config.schema import (
    BACKENDS_WITH_DEFAULTS,
    MEMORY_KEYS,
    default_text,
    default_values,
    defaults_folder,
    fits,
)

WRITTEN = [
    "backend",
    "auto_save",
    "hygiene_enabled",
    "archive_after_days",
    "purge_after_days",
    "conversation_retention_days",
    "embedding_provider",
    "embedding_model",
    "embedding_dimensions",
    "vector_weight",
    "keyword_weight",
    "min_relevance_score",
    "embedding_cache_size",
    "chunk_max_tokens",
    "response_cache_enabled",
    "response_cache_ttl_minutes",
    "response_cache_max_entries",
    "snapshot_enabled",
    "snapshot_on_hygiene",
    "auto_hydrate",
]
PROFILES = {
    "sqlite": (True, True, 7, 30, 10000),
    "postgres": (True, False, 0, 0, 0),
    "lucid": (True, False, 0, 0, 0),
    "markdown": (True, False, 0, 0, 0),
    "qdrant": (True, False, 0, 0, 0),
    "none": (False, False, 0, 0, 0),
}
PROFILE_KEYS = ("auto_save", "hygiene_enabled", "archive_after_days", "purge_after_days", "embedding_cache_size")


def test_there_is_one_file_for_each_backend() -> None:
    assert sorted(file.stem for file in defaults_folder().glob("*.toml")) == sorted(BACKENDS_WITH_DEFAULTS)


@pytest.mark.parametrize("backend", BACKENDS_WITH_DEFAULTS)
def test_file_agrees_with_the_table_of_keys(backend: str) -> None:
    memory = dict(default_values(backend)["memory"])
    own = memory.pop("qdrant", {})
    assert own == ({"collection": MEMORY_KEYS["qdrant.collection"].default} if backend == "qdrant" else {})
    assert list(memory) == WRITTEN
    for name, value in memory.items():
        key = MEMORY_KEYS[name]
        assert fits(key.kind, value), name
        assert type(value) is type(key.default), name
        if name not in ("backend", *PROFILE_KEYS):
            assert value == key.default, name
    assert memory["backend"] == backend
    assert tuple(memory[name] for name in PROFILE_KEYS) == PROFILES[backend]


@pytest.mark.parametrize("backend", BACKENDS_WITH_DEFAULTS)
def test_keys_in_comments_can_be_uncommented(backend: str) -> None:
    text = default_text(backend)
    assert MEMORY_KEYS["sqlite_open_timeout_secs"].default is None
    needed = {"postgres": ["db_url"], "qdrant": ["url"]}
    for name in ("sqlite_open_timeout_secs", *needed.get(backend, [])):
        assert f"\n# {name} = " in text
        text = text.replace(f"\n# {name} = ", f"\n{name} = ")
    document = tomllib.loads(text)
    assert document["memory"]["sqlite_open_timeout_secs"] == 30
