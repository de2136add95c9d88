"""What is taken as an answer, and what is refused with one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from question_samples import FORMS, question, start

from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.onboard.answers import Answers


def read(answers: Answers, id: str, text: str) -> object:
    return question(id).read(answers, text)


@pytest.mark.parametrize(
    ("id", "text", "value"),
    [
        ("auto_save", "yes", True),
        ("archive_after_days", " 14 ", 14),
        ("min_relevance_score", "0.25", 0.25),
        ("search_mode", "bm25", "bm25"),
        ("postgres.db_url", "postgresql://me:p%40ss@db.example/x", "postgresql://me:p%40ss@db.example/x"),
        ("postgres.connect_timeout_secs", "", None),
        ("embedding_provider", "openai", "openai"),
        ("embedding_provider", "http://localhost:11434/v1", "custom:http://localhost:11434/v1"),
    ],
)
def test_a_fitting_answer_is_taken(tmp_path: Path, id: str, text: str, value: object) -> None:
    taken = read(start(tmp_path, FORMS["old"]), id, text)
    assert taken == value
    assert type(taken) is type(value)


@pytest.mark.parametrize(
    ("id", "text"),
    [
        ("auto_save", "perhaps"),
        ("archive_after_days", "seven"),
        ("vector_weight", "nan"),
        ("min_relevance_score", "40%"),
        ("postgres.schema", "my-schema"),
        ("postgres.db_url", ""),
        ("qdrant.url", ""),
        ("embedding_provider", "opnai"),
    ],
)
def test_another_answer_is_refused_with_one_sentence(tmp_path: Path, id: str, text: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(start(tmp_path, FORMS["old"]), id, text)
    message = refused.value.message
    assert message.endswith((".", "?"))
    assert ". " not in message
    assert "\n" not in message
    assert refused.value.hint
    assert "hunter2" not in str(refused.value)


def test_the_alias_in_use_stays_with_its_kind(tmp_path: Path) -> None:
    answers = start(tmp_path, FORMS["aliased"])
    assert question("backend").present(answers) == "sqlite"
    assert read(answers, "backend", "sqlite") == "sqlite.work"
    assert read(answers, "backend", "postgres") == "postgres"


def test_an_optional_value_that_the_file_has_is_not_taken_out(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is set in config\.toml"):
        read(start(tmp_path, FORMS["aliased"]), "sqlite.open_timeout_secs", "")
