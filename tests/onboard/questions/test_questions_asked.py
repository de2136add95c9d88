"""Which questions are asked, in which order, for each form, version and backend; and how they read."""

from __future__ import annotations

from pathlib import Path

import pytest
from question_samples import BACKENDS, FORMS, all_starts, answering, everything_on, ids, start

from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.onboard.answers import Answers
from zeroclaw_tui.onboard.question import Question
from zeroclaw_tui.onboard.questions import asked

SQLITE = [
    "backend",
    "sqlite.open_timeout_secs",
    "auto_save",
    "hygiene_enabled",
    "archive_after_days",
    "purge_after_days",
    "conversation_retention_days",
    "embedding_provider",
    "min_relevance_score",
    "response_cache_enabled",
    "snapshot_enabled",
]
REQUIRED = ("postgres.db_url", "qdrant.url")
OPTIONAL = ("sqlite.open_timeout_secs", "postgres.connect_timeout_secs", "qdrant.api_key", "embedding_api_key")


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Answers, Question]]:
    """Every question in every situation it is asked in."""
    home = tmp_path_factory.mktemp("homes")
    return [(name, answers, question) for name, answers in all_starts(home) for question in asked(answers)]


def test_sqlite_up_to_0_7_5_is_asked_about_in_this_order(tmp_path: Path) -> None:
    assert ids(start(tmp_path, FORMS["old"])) == SQLITE


@pytest.mark.parametrize(
    ("backend", "own"),
    [
        ("sqlite", ["sqlite.open_timeout_secs"]),
        ("lucid", ["lucid.binary_path", "lucid.recall_timeout_ms", "lucid.store_timeout_ms"]),
        (
            "postgres",
            [
                "postgres.db_url",
                "postgres.schema",
                "postgres.table",
                "postgres.connect_timeout_secs",
                "postgres.vector_enabled",
            ],
        ),
        ("markdown", []),
        ("qdrant", ["qdrant.url", "qdrant.collection", "qdrant.api_key"]),
    ],
)
def test_each_backend_is_asked_for_its_own_settings_right_after_it(
    tmp_path: Path, backend: str, own: list[str]
) -> None:
    found = ids(answering(start(tmp_path, FORMS["aliased"]), backend=backend))
    assert found[: len(own) + 2] == ["backend", *own, "auto_save"]
    assert [one for one in found if "." in one] == own


def test_settings_that_this_zeroclaw_takes_from_elsewhere_or_not_at_all_are_not_asked(tmp_path: Path) -> None:
    old = start(tmp_path / "old", FORMS["old"])
    assert not [one for one in ids(answering(old, backend="lucid")) if one.startswith("lucid.")]
    modern = start(tmp_path / "modern", FORMS["aliased"], "0.8.0")
    assert not [one for one in ids(answering(modern, backend="lucid")) if one.startswith("lucid.")]
    assert "daily_retention_days" not in ids(modern)
    assert "daily_retention_days" in ids(start(tmp_path / "later", FORMS["aliased"], "0.8.1"))
    assert "search_mode" not in ids(start(tmp_path / "before", FORMS["old"], "0.6.2"))
    before = answering(start(tmp_path / "pg", FORMS["old"], "0.5.7"), backend="postgres")
    assert "postgres.vector_enabled" not in ids(before)


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [
        ("hygiene_enabled", ["archive_after_days", "purge_after_days", "conversation_retention_days"]),
        ("response_cache_enabled", ["response_cache_ttl_minutes", "response_cache_max_entries"]),
        ("snapshot_enabled", ["snapshot_on_hygiene", "auto_hydrate"]),
    ],
)
def test_what_a_switch_governs_is_asked_only_when_it_is_on(tmp_path: Path, setting: str, wanted: list[str]) -> None:
    answers = start(tmp_path, FORMS["old"])
    on, off = (ids(answering(answers, **{f"memory.{setting}": value})) for value in (True, False))
    assert [one for one in on if one not in off] == wanted
    assert not [one for one in off if one not in on]


def test_embeddings_are_asked_about_where_vectors_are_searched_and_in_detail_once_there_is_a_provider(
    tmp_path: Path,
) -> None:
    answers = start(tmp_path, FORMS["aliased"], "0.8.2")
    details = ["embedding_model", "embedding_dimensions", "embedding_api_key", "embedding_cache_size"]
    for backend in BACKENDS:
        plain, full = ids(answering(answers, backend=backend)), ids(everything_on(answers, backend))
        searches = backend in ("sqlite", "lucid", "qdrant")
        assert ("embedding_provider" in plain) == searches
        assert not set(details) & set(plain)
        assert ("embedding_model" in full) == searches
        assert ("embedding_cache_size" in full) == (backend in ("sqlite", "lucid"))
    hosted = ids(answering(answers, embedding_provider="openai"))
    assert [one for one in hosted if one in details] == details
    older = start(tmp_path / "older", FORMS["old"])
    assert "embedding_api_key" not in ids(answering(older, embedding_provider="openai"))


def test_the_weights_are_asked_where_they_weigh_and_the_threshold_wherever_memory_is_recalled(tmp_path: Path) -> None:
    answers = answering(start(tmp_path, FORMS["old"]), embedding_provider="openai")
    for backend in BACKENDS:
        found = ids(answering(answers, backend=backend))
        for one in ("search_mode", "vector_weight", "keyword_weight"):
            assert (one in found) == (backend in ("sqlite", "lucid")), (backend, one)
        assert ("min_relevance_score" in found) == (backend != "none")


def test_taking_what_is_offered_gives_the_value_that_holds(starts: list[tuple[str, Answers, Question]]) -> None:
    for name, answers, one in starts:
        offered = one.present(answers)
        if one.id in REQUIRED and not offered:
            with pytest.raises(UsageError):
                one.read(answers, offered)
            continue
        assert one.read(answers, offered) == answers.value(one.setting), (name, one.id)


def test_a_default_is_shown_and_an_empty_line_means_it(starts: list[tuple[str, Answers, Question]]) -> None:
    for name, answers, one in starts:
        if one.kind in ("choice", "switch") or one.id in REQUIRED:
            continue
        default = one.default(answers)
        assert default, (name, one.id)
        if one.id in OPTIONAL and answers.current(one.setting) is not None:
            continue
        wanted = None if one.id in OPTIONAL and not default.isdigit() else one.read(answers, default)
        assert one.read(answers, "") == wanted, (name, one.id)


def test_lists_hold_what_is_in_use_and_every_choice_can_be_taken(starts: list[tuple[str, Answers, Question]]) -> None:
    for name, answers, one in starts:
        choices = one.choices(answers)
        assert bool(choices) == (one.kind in ("choice", "switch")), (name, one.id)
        assert not choices or one.present(answers) in [choice.value for choice in choices], (name, one.id)
        for choice in choices:
            one.read(answers, choice.value)
