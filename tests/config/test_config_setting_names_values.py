"""Values given by hand: what each text means, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.config.schema import SETTINGS
from zeroclaw_tui.config.setting_names import checked_value, parsed_value
from zeroclaw_tui.memory.errors import UsageError

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
def test_texts_and_what_they_mean(name: str, text: str, value: Any) -> None:
    assert parsed_value(name, text) == value
    assert type(parsed_value(name, text)) is type(value)


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
def test_values_that_do_not_fit_are_one_sentence_with_a_hint(name: str, text: str, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        parsed_value(name, text)
    assert expected in caught.value.message
    assert name in caught.value.message or "embedding provider" in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("value", ["hunter2\udcff", ["hunter2"], {"hunter2": "hunter2"}])
def test_a_wrong_secret_is_never_shown(name: str, value: Any) -> None:
    with pytest.raises(UsageError) as caught:
        checked_value(name, value)
    assert "hunter2" not in str(caught.value)
    assert name in caught.value.message


@given(st.sampled_from([name for name, key in SETTINGS.items() if key.default is not None]))
def test_every_default_is_a_value_that_may_be_given(name: str) -> None:
    default = SETTINGS[name].default
    assert checked_value(name, default) == (list(default) if isinstance(default, tuple) else default)


@given(st.sampled_from(sorted(SETTINGS)), st.text())
def test_any_text_is_a_value_or_one_complaint(name: str, text: str) -> None:
    problem: UsageError | None = None
    try:
        value = parsed_value(name, text)
    except UsageError as caught:
        problem = caught
    if problem is None:
        assert checked_value(name, value) == value
    else:
        assert problem.message.endswith((".", "?"))
        assert problem.hint
