"""Where settings lie in a file, over all generations, what is there, and which ZeroClaw reads it."""

from __future__ import annotations

import tomllib

import pytest

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.schema import SETTINGS, Target
from zeroclaw_tui.config.setting_names import is_read, place_of, written_value
from zeroclaw_tui.memory.errors import BrokenConfig

FIRST = Target(schema=1, has_aliases=False, is_modern=False)
THIRD = Target(schema=3, has_aliases=True, is_modern=True)


def known(version: str) -> Target:
    modern = version.startswith("0.8")
    return Target(schema=3 if modern else 1, has_aliases=modern, is_modern=modern, version=version)


def document(text: str) -> ConfigDocument:
    return ConfigDocument(text, False, tomllib.loads(text))


@pytest.mark.parametrize("spelling", ["dbURL", "database_url", "databaseUrl"])
def test_the_spelling_of_the_url_that_the_file_uses_stays(spelling: str) -> None:
    old = document(f'[storage.provider.config]\n{spelling} = "postgres://h/d"\n')
    aliased = document(f'[storage.postgres.work]\n{spelling} = "postgres://h/d"\n')
    assert place_of("storage.postgres.db_url", old, FIRST)[-1] == spelling
    assert place_of("storage.postgres.db_url", aliased, THIRD, "work")[-1] == spelling
    assert written_value("storage.postgres.db_url", old, FIRST) == "postgres://h/d"
    assert written_value("storage.postgres.db_url", aliased, THIRD, "work") == "postgres://h/d"
    assert written_value("storage.postgres.db_url", aliased, THIRD, "other") is None


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        (
            "storage.postgres.db_url",
            'storage.provider.config.db_url = ["postgres://u:hunter2@h/d"]',
            "storage.provider.config.db_url in config.toml is a list and must be a text in quotes.",
        ),
        (
            "storage.qdrant.api_key",
            'memory.qdrant = "hunter2"',
            "memory.qdrant in config.toml is a text and must be a table.",
        ),
    ],
)
def test_a_wrong_type_names_the_key_and_shows_no_value(name: str, text: str, sentence: str) -> None:
    with pytest.raises(BrokenConfig) as caught:
        written_value(name, document(text), FIRST)
    assert caught.value.message == sentence
    assert "hunter2" not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "reading", "not_reading"),
    [
        ("memory.search_mode", ["0.6.3", "0.8.4"], ["0.6.2"]),
        ("memory.core_retention_days", ["0.8.1", "0.8.4"], ["0.8.0", "0.7.5"]),
        ("memory.sqlite_journal_mode", ["0.1.8"], ["0.1.7", "0.1.9", "0.8.4"]),
        ("storage.postgres.db_url", ["0.1.2", "0.6.2", "0.7.4", "0.8.4"], ["0.6.3", "0.7.3"]),
        ("storage.qdrant.url", ["0.1.7", "0.7.5", "0.8.4"], ["0.1.6"]),
        ("storage.lucid.binary_path", ["0.8.4"], ["0.7.5", "0.8.0", "0.8.3"]),
        ("storage.lucid.budget", [], ["0.1.2", "0.7.5", "0.8.4"]),
    ],
)
def test_which_versions_read_a_setting(name: str, reading: list[str], not_reading: list[str]) -> None:
    assert [version for version in reading if not is_read(name, known(version))] == []
    assert [version for version in not_reading if is_read(name, known(version))] == []


def test_defaults_that_changed_between_versions() -> None:
    assert [SETTINGS["storage.lucid.recall_timeout_ms"].default_for(known(v)) for v in ("0.7.5", "0.8.4")] == [
        500,
        3000,
    ]
    assert SETTINGS["memory.retrieval_stages"].default_for(known("0.8.3")) == ["cache", "fts", "vector"]
    assert SETTINGS["memory.retrieval_stages"].default_for(known("0.8.4")) == ["fts", "vector"]
    assert SETTINGS["storage.postgres.db_url"].default_for(FIRST) is None
