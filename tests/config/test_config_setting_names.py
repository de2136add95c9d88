"""Settings typed by hand: spellings of names, accepted values, and keys in a file."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memories import WRONG_USE, BrokenConfig, UsageError

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.schema import MEMORY_KEYS, SETTINGS, Target
from zeroclaw_tui.config.setting_names import (
    check_setting,
    is_read,
    parse_setting,
    place_of,
    setting_name,
    written_value,
)

URL = "storage.postgres.db_url"


def test_every_memory_key_is_a_setting_except_mem0_and_the_table_of_days() -> None:
    rest = [key for key in MEMORY_KEYS if not key.startswith("mem0.") and MEMORY_KEYS[key].kind != "table"]
    assert {setting_name(key) for key in rest} <= set(SETTINGS)
    assert {setting_name(f"memory.{key}") for key in rest} == {setting_name(key) for key in rest}


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("vector_weight", "memory.vector_weight"),
        ("policy.threat_scan", "memory.policy.threat_scan"),
        (" backend ", "memory.backend"),
        ("storage.provider.config.provider", "memory.backend"),
        ("db_url", URL),
        ("storage.provider.config.db_url", URL),
        ("storage.provider.config.dbURL", URL),
        ("storage.postgres.work.database_url", URL),
        ("storage.postgres.work.db_url", URL),
        ("storage.provider.config.schema", "storage.postgres.schema"),
        ("memory.postgres.vector_enabled", "storage.postgres.vector_enabled"),
        ("memory.qdrant.url", "storage.qdrant.url"),
        ("qdrant.api_key", "storage.qdrant.api_key"),
        ("storage.qdrant.default.collection", "storage.qdrant.collection"),
        ("sqlite_open_timeout_secs", "storage.sqlite.open_timeout_secs"),
        ("memory.sqlite_open_timeout_secs", "storage.sqlite.open_timeout_secs"),
    ],
)
def test_spellings_of_both_generations_name_the_same_setting(written: str, name: str) -> None:
    assert setting_name(written) == name


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("vektor_weight", "memory.vector_weight"),
        ("storage.postgres.db_ulr", URL),
        ("storage.postgress.db_url", URL),
        ("memory.policy.retention_days_by_category.cor", "memory.policy.retention_days_by_category.core"),
    ],
)
def test_a_misspelt_setting_is_reported_with_a_suggestion(written: str, meant: str) -> None:
    with pytest.raises(UsageError) as caught:
        setting_name(written)
    assert caught.value.message == f"ZeroClaw knows no setting {written}; did you mean {meant}?"
    assert caught.value.exit_code == WRONG_USE


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("storage.sqlite.work.path", "storage.sqlite.path"),
        ("storage.markdown.directory", "storage.markdown.directory"),
        ("storage.provider.config.tls", "storage.postgres.tls"),
    ],
)
def test_keys_without_effect_are_refused_with_the_reason(written: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"ZeroClaw reads {meant} but never uses it"):
        setting_name(written)


def test_an_api_key_typed_as_a_name_is_not_shown() -> None:
    with pytest.raises(UsageError) as caught:
        setting_name("sk-abcdefghijklmnop1234")
    assert "abcdefghijklmnop" not in str(caught.value)


SECRETS = [name for name, key in SETTINGS.items() if key.is_secret]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        *[("memory.auto_save", text, True) for text in ("true", "on", "YES", " True ")],
        *[("memory.auto_save", text, False) for text in ("false", "off", "No")],
        ("memory.archive_after_days", " 14 ", 14),
        ("memory.vector_weight", "1", 1.0),
        ("memory.vector_weight", ".5", 0.5),
        ("memory.candidate_multiplier", "20", 20),
        ("memory.search_mode", "BM25", "bm25"),
        ("memory.retrieval_stages", '["fts", "vector"]', ["fts", "vector"]),
        ("memory.retrieval_stages", "fts, vector,", ["fts", "vector"]),
        ("memory.pin_namespaces", "", []),
        ("memory.embedding_model", "a=b", "a=b"),
        ("memory.embedding_provider", "OpenAI", "openai"),
        ("memory.embedding_provider", "custom:http://127.0.0.1:8080/v1", "custom:http://127.0.0.1:8080/v1"),
        ("memory.embedding_provider", "openai.work", "openai.work"),
        ("memory.embedding_provider", "http://127.0.0.1:8080/v1", "custom:http://127.0.0.1:8080/v1"),
        ("storage.postgres.db_url", "enc2:00ff", "enc2:00ff"),
        ("storage.postgres.db_url", "${DB}", "${DB}"),
        ("storage.postgres.db_url", "", ""),
    ],
)
def test_texts_are_parsed_as_values(name: str, text: str, value: Any) -> None:
    assert parse_setting(name, text) == value
    assert type(parse_setting(name, text)) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("memory.auto_save", "maybe", 'memory.auto_save must be true or false; "maybe" is not.'),
        ("memory.auto_save", "", "memory.auto_save must be true or false; nothing was given."),
        ("memory.vector_weight", "much", 'a number from 0; "much" is not.'),
        ("memory.vector_weight", "-0.1", "a number from 0; -0.1 is not."),
        ("memory.archive_after_days", "4294967296", "a whole number from 0 to 4294967295; 4294967296 is not."),
        ("memory.mmr_lambda", "1.1", "a number from 0 to 1; 1.1 is not."),
        ("memory.pin_namespaces", "[1]", 'a list of texts; "[1]" is not.'),
        ("memory.search_mode", "hybird", 'one of hybrid, bm25, embedding; "hybird" is not.'),
        ("memory.embedding_model", "", "memory.embedding_model must not be empty."),
        ("memory.embedding_provider", "opnai", "is not an embedding provider"),
        ("storage.postgres.schema", "my schema", "letters, digits and _"),
        ("storage.postgres.connect_timeout_secs", "301", "from 1 to 300; 301 is not."),
        ("memory.embedding_model", "a\udcff", "is not UTF-8 text"),
    ],
)
def test_invalid_values_are_reported_in_one_sentence_with_a_hint(name: str, text: str, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_setting(name, text)
    assert expected in caught.value.message
    assert name in caught.value.message or "embedding provider" in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("value", ["hunter2\udcff", ["hunter2"], {"hunter2": "hunter2"}])
def test_an_invalid_secret_is_never_shown(name: str, value: Any) -> None:
    with pytest.raises(UsageError) as caught:
        check_setting(name, value)
    assert "hunter2" not in str(caught.value)
    assert name in caught.value.message


@given(st.sampled_from([name for name, key in SETTINGS.items() if key.default is not None]))
def test_every_default_is_a_valid_value(name: str) -> None:
    default = SETTINGS[name].default
    assert check_setting(name, default) == (list(default) if isinstance(default, tuple) else default)


@given(st.sampled_from(sorted(SETTINGS)), st.text())
def test_any_text_is_accepted_or_refused_with_one_error(name: str, text: str) -> None:
    problem: UsageError | None = None
    try:
        value = parse_setting(name, text)
    except UsageError as caught:
        problem = caught
    if problem is None:
        assert check_setting(name, value) == value
    else:
        assert problem.message.endswith((".", "?"))
        assert problem.hint


FIRST = Target(schema=1, has_aliases=False, is_modern=False)
THIRD = Target(schema=3, has_aliases=True, is_modern=True)


def known(version: str) -> Target:
    modern = version.startswith("0.8")
    return Target(schema=3 if modern else 1, has_aliases=modern, is_modern=modern, version=version)


def document(text: str) -> ConfigDocument:
    return ConfigDocument(text, False, tomllib.loads(text))


@pytest.mark.parametrize("spelling", ["dbURL", "database_url", "databaseUrl"])
def test_the_files_own_spelling_of_the_url_is_kept(spelling: str) -> None:
    old = document(f'[storage.provider.config]\n{spelling} = "postgres://h/d"\n')
    aliased = document(f'[storage.postgres.work]\n{spelling} = "postgres://h/d"\n')
    assert place_of("storage.postgres.db_url", old, FIRST)[-1] == spelling
    assert place_of("storage.postgres.db_url", aliased, THIRD, "work")[-1] == spelling
    assert written_value("storage.postgres.db_url", old, FIRST) == "postgres://h/d"
    assert written_value("storage.postgres.db_url", aliased, THIRD, "work") == "postgres://h/d"
    assert written_value("storage.postgres.db_url", aliased, THIRD, "other") is None


def test_a_key_of_memory_postgres_is_changed_there_if_zeroclaw_moves_it() -> None:
    old = document("[memory.postgres]\ntable = 't'\n")
    assert place_of("storage.postgres.table", old, FIRST._replace(is_modern=True)) == ("memory", "postgres", "table")
    assert place_of("storage.postgres.table", old, FIRST) == ("storage", "provider", "config", "table")


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
def test_the_versions_that_read_a_setting_are_known(name: str, reading: list[str], not_reading: list[str]) -> None:
    assert [version for version in reading if not is_read(name, known(version))] == []
    assert [version for version in not_reading if is_read(name, known(version))] == []


def test_defaults_follow_the_version() -> None:
    assert [SETTINGS["storage.lucid.recall_timeout_ms"].default_for(known(v)) for v in ("0.7.5", "0.8.4")] == [
        500,
        3000,
    ]
    assert SETTINGS["memory.retrieval_stages"].default_for(known("0.8.3")) == ["cache", "fts", "vector"]
    assert SETTINGS["memory.retrieval_stages"].default_for(known("0.8.4")) == ["fts", "vector"]
    assert SETTINGS["storage.postgres.db_url"].default_for(FIRST) is None
