"""What is taken as an answer, and what is refused with one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from question_samples import FORMS, about, answering, ids, question, start

from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.onboard.answers import Answers

ROUTE = '[[embedding_routes]]\nhint = "semantic"\nprovider = "openai"\nmodel = "text-embedding-3-large"\n'
HINTED = f'[memory]\nbackend = "sqlite"\nauto_save = true\nembedding_model = "hint:semantic"\n\n{ROUTE}'
REFERRING = (
    'schema_version = 3\n\n[memory]\nbackend = "sqlite"\nembedding_provider = "openai.work"\n\n'
    '[providers.models.openai.work]\napi_key = "sk-x"\n'
)


def read(answers: Answers, id: str, text: str) -> object:
    return question(id).read(answers, text)


@pytest.mark.parametrize(
    ("id", "text", "value"),
    [
        ("backend", "postgres", "postgres"),
        ("auto_save", "yes", True),
        ("auto_save", "no", False),
        ("archive_after_days", " 14 ", 14),
        ("vector_weight", "1", 1.0),
        ("vector_weight", "0", 0.0),
        ("min_relevance_score", "0.25", 0.25),
        ("search_mode", "bm25", "bm25"),
        ("postgres.schema", "agents_1", "agents_1"),
        ("postgres.db_url", "postgresql://me:p%40ss@db.example/x", "postgresql://me:p%40ss@db.example/x"),
        ("postgres.db_url", "postgres:///x?host=/run/postgresql", "postgres:///x?host=/run/postgresql"),
        ("postgres.db_url", "${MY_URL}", "${MY_URL}"),
        ("postgres.db_url", "enc2:00ff", "enc2:00ff"),
        ("postgres.connect_timeout_secs", "", None),
        ("qdrant.url", "https://qdrant.example:6333", "https://qdrant.example:6333"),
        ("qdrant.url", "http://[::1]:6333", "http://[::1]:6333"),
        ("qdrant.api_key", "", None),
        ("embedding_address", "http://localhost:11434/v1", "custom:http://localhost:11434/v1"),
        ("embedding_address", "custom:http://localhost:11434/v1", "custom:http://localhost:11434/v1"),
        ("embedding_dimensions", "0", 0),
        ("embedding_provider", "openai", "openai"),
        ("embedding_provider", "custom", "custom:"),
    ],
)
def test_a_fitting_answer_is_taken(tmp_path: Path, id: str, text: str, value: object) -> None:
    taken = read(start(tmp_path, FORMS["old"]), id, text)
    assert taken == value
    assert type(taken) is type(value)


@pytest.mark.parametrize(
    ("id", "text"),
    [
        ("backend", "redis"),
        ("backend", ""),
        ("backend", "postgres.work"),
        ("auto_save", "perhaps"),
        ("archive_after_days", "-1"),
        ("archive_after_days", "seven"),
        ("archive_after_days", "4294967296"),
        ("vector_weight", "-0.1"),
        ("vector_weight", "nan"),
        ("vector_weight", "inf"),
        ("min_relevance_score", "-0.1"),
        ("min_relevance_score", "40%"),
        ("search_mode", "both"),
        ("sqlite.open_timeout_secs", "301"),
        ("postgres.schema", "my-schema"),
        ("postgres.table", '1"; drop table x'),
        ("postgres.db_url", ""),
        ("postgres.db_url", "mysql://me@db/x"),
        ("postgres.db_url", "postgres://"),
        ("postgres.db_url", "postgres://me:hunter2@db:99999/x"),
        ("postgres.db_url", "postgres://me:hunter2@db/x?sslmode=require"),
        ("postgres.connect_timeout_secs", "0"),
        ("qdrant.url", ""),
        ("qdrant.url", "localhost:6333"),
        ("qdrant.url", "ftp://localhost"),
        ("qdrant.url", "http://"),
        ("qdrant.url", "http://a b"),
        ("qdrant.url", "http://localhost:port"),
        ("qdrant.collection", "a/b"),
        ("embedding_address", ""),
        ("embedding_address", "localhost/v1"),
        ("embedding_address", "https:///v1"),
        ("embedding_provider", "opnai"),
        ("embedding_provider", "custom:http://localhost/v1"),
        ("embedding_dimensions", "1.5"),
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


def test_one_of_the_weights_must_be_more_than_nothing(tmp_path: Path) -> None:
    answers = start(tmp_path, FORMS["old"])
    for zero, other in (("vector_weight", "keyword_weight"), ("keyword_weight", "vector_weight")):
        without = answering(answers, **{f"memory.{zero}": 0.0})
        for text in ("0", "0.0"):
            with pytest.raises(UsageError, match="Both weights are 0"):
                read(without, other, text)
        assert read(without, other, "0.5") == 0.5


def test_the_alias_in_use_is_kept_with_its_kind(tmp_path: Path) -> None:
    answers = start(tmp_path, FORMS["aliased"])
    assert question("backend").present(answers) == "sqlite"
    assert read(answers, "backend", "sqlite") == "sqlite.work"
    assert read(answers, "backend", "postgres") == "postgres"


def test_an_optional_value_that_the_file_has_is_not_taken_out(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is set in config\.toml"):
        read(start(tmp_path, FORMS["aliased"]), "sqlite.open_timeout_secs", "")


def test_a_custom_provider_and_back_leaves_nothing_odd(tmp_path: Path) -> None:
    address = "custom:http://127.0.0.1:1/v1"
    answers = answering(start(tmp_path, FORMS["old"]), embedding_provider="custom:")
    assert question("embedding_provider").present(answers) == "custom"
    assert question("embedding_address").present(answers) == ""
    assert answers.missing() == ("memory.embedding_provider",)
    answers = answering(answers, embedding_provider=read(answers, "embedding_address", "http://127.0.0.1:1/v1"))
    assert answers.missing() == ()
    assert question("embedding_address").present(answers) == "http://127.0.0.1:1/v1"
    assert read(answers, "embedding_provider", "custom") == address
    back = answering(answers, embedding_provider=read(answers, "embedding_provider", "none"))
    assert back.value("memory.embedding_provider") == "none"
    assert "embedding_address" not in ids(back)
    assert read(back, "embedding_provider", "custom") == "custom:"


def test_a_provider_profile_of_the_file_can_be_kept_and_come_back_to(tmp_path: Path) -> None:
    answers = start(tmp_path, REFERRING)
    away = answering(answers, embedding_provider="none")
    for one in (answers, away):
        first = question("embedding_provider").choices(one)[0]
        assert (first.value, first.title) == ("openai.work", "keep openai.work")
        assert read(one, "embedding_provider", "openai.work") == "openai.work"
    assert question("embedding_provider").present(answers) == "openai.work"
    assert "embedding_cache_size" in ids(answers)
    assert "embedding_cache_size" not in ids(away)


def test_a_hint_makes_vectors_whatever_the_provider_until_the_model_is_another(tmp_path: Path) -> None:
    answers = start(tmp_path, HINTED)
    assert "[[embedding_routes]]" in about(answers, "embedding_provider")
    assert question("embedding_model").present(answers) == "hint:semantic"
    assert "embedding_model" in ids(answers)
    assert "embedding_cache_size" in ids(answers)
    plain = answering(answers, embedding_model="text-embedding-3-small")
    assert "embedding_model" not in ids(plain)
    assert "embedding_cache_size" not in ids(plain)
