"""Answers files: shaped like a config.toml of any version."""

from __future__ import annotations

from pathlib import Path

import pytest
from answers_samples import PASSWORD, situation

from zeroclaw_tui.memory.errors import BrokenConfig, UsageError
from zeroclaw_tui.onboard.answers import gather, read_answers


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "answers.toml"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[memory]\nbackend = 'postgres'\n[storage.postgres]\nschema = 'x'\n", ("postgres", "x")),
        ("memory.backend = 'postgres'\n[storage.provider.config]\nschema = 'x'\n", ("postgres", "x")),
        ("[memory]\nbackend = 'postgres.work'\n[storage.postgres.work]\nschema = 'x'\n", ("postgres.work", "x")),
        ("\ufeff[memory]\r\nbackend = 'postgres'\r\n[storage.postgres]\r\nschema = 'x'\r\n", ("postgres", "x")),
    ],
)
def test_every_shape_of_an_answers_file(text: str, expected: tuple[str, str], file: Path) -> None:
    file.write_bytes(text.encode())
    assert read_answers(file) == {"memory.backend": expected[0], "storage.postgres.schema": expected[1]}


def test_a_whole_config_is_taken_for_its_memory(file: Path) -> None:
    file.write_text(
        "schema_version = 3\ndefault_temperature = 0.7\napi_key = 'sk-1'\ndefault_model = 'x'\nembedding_routes = []\n"
        "[memory]\nbackend = 'qdrant.q'\nvector_weight = 1\npolicy.retention_days_by_category.core = 9\n"
        "[storage.qdrant.q]\nurl = 'http://q'\napi_key = 'enc2:00ff'\n"
        "[storage.sqlite.default]\npath = '/x'\n[storage.markdown.default]\ndirectory = '/y'\n"
        "[channels.matrix]\npassword = 'p'\n[[model_routes]]\nhint = 'fast'\n"
    )
    assert read_answers(file) == {
        "memory.backend": "qdrant.q",
        "memory.vector_weight": 1.0,
        "memory.policy.retention_days_by_category.core": 9,
        "storage.qdrant.url": "http://q",
        "storage.qdrant.api_key": "enc2:00ff",
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("vector_weight = 1", "has no [memory] and no [storage] table."),
        ("[memory]\nvektor_weight = 1", "did you mean memory.vector_weight?"),
        ("[memory]\nvector_weight = 'much'", "memory.vector_weight must be a number from 0; it is a text."),
        (
            "[storage.provider.config]\ndb_url = 'a'\n[storage.postgres]\ndb_url = 'b'",
            "sets storage.postgres.db_url twice with different values.",
        ),
        ("memory = 3", "memory is a whole number and must be a table."),
        (
            "[memory]\nbackend = 'sqlite'\n[storage.postgres.a]\nschema = 'x'\n[storage.postgres.b]\nschema = 'y'\n",
            "sets storage.postgres.schema twice with different values.",
        ),
        ("a = ", "line 1, column 5"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_what_is_wrong(text: str, sentence: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises((UsageError, BrokenConfig)) as caught:
        read_answers(file)
    assert sentence in caught.value.message
    assert str(file) in caught.value.message
    assert caught.value.exit_code == 2
    assert caught.value.hint
    assert PASSWORD not in str(caught.value)


def test_what_this_zeroclaw_does_not_read_is_left_out_only_at_its_default(file: Path) -> None:
    file.write_text("[memory]\nsqlite_journal_mode = 'wal'\nauto_save = false\n")
    assert set(gather(situation(), answers_file=file).given) == {"memory.auto_save"}
    file.write_text("[memory]\nsqlite_journal_mode = 'delete'\n")
    with pytest.raises(UsageError, match=r"memory\.sqlite_journal_mode has no effect here"):
        gather(situation(), answers_file=file)


@pytest.mark.parametrize("text", ["a\\u007Fb", "a\\nb", "a\\tb", "\\u0000\\u001B[31m", "é \\u2028x", "\\u009B31m"])
@pytest.mark.parametrize("key", ["memory.embedding_model", "memory.embedding_api_key"])
def test_a_control_character_is_no_part_of_an_answer(key: str, text: str, file: Path) -> None:
    file.write_text(f'{key} = "{text}"\n', encoding="utf-8")
    with pytest.raises(UsageError, match=f"{key} has a control character or a line end in it"):
        read_answers(file)
