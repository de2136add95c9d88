"""Which questions are asked in which situation, their texts, and the answers they accept."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.memories import UsageError
from support.wizard_world import BACKENDS

from zeroclaw_tui.onboard.answers import Answer, Answers, known_backends
from zeroclaw_tui.onboard.question import Question
from zeroclaw_tui.onboard.questions import QUESTIONS, questions_for
from zeroclaw_tui.onboard.situation import candidates, situation_at

FORMS: dict[str, str | None] = {
    "new": None,
    "old": '[memory]\nbackend = "sqlite"\nauto_save = true\n',
    "bare third": 'schema_version = 3\n\n[memory]\nbackend = "sqlite"\n',
    "aliased": 'schema_version = 3\n[memory]\nbackend = "sqlite.work"\n[storage.sqlite.work]\nopen_timeout_secs = 5\n',
}
OLD_VERSIONS = (None, "0.1.2", "0.2.1", "0.4.3", "0.5.6", "0.6.2", "0.6.3", "0.7.5")
MODERN_VERSIONS = (None, "0.8.0", "0.8.1", "0.8.2", "0.8.3", "0.8.4")
VERSIONS = {"new": OLD_VERSIONS, "old": OLD_VERSIONS, "bare third": MODERN_VERSIONS, "aliased": MODERN_VERSIONS}
EVERYTHING_ON = {
    "memory.hygiene_enabled": True,
    "memory.embedding_provider": "custom:http://127.0.0.1:1/v1",
    "memory.response_cache_enabled": True,
    "memory.snapshot_enabled": True,
}
"""Answers that lead to every question of a backend."""


def start(home: Path, config: str | None, version: str | None = None) -> Answers:
    """Return the initial answers for a config dir created in `home`."""
    folder = home / ".zeroclaw"
    if config is not None:
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(config, "utf-8")
    environ = {"HOME": str(home), "PATH": ""}
    situation = asyncio.run(situation_at(candidates(environ, home)[0], environ))
    return Answers(replace(situation, target=situation.target._replace(version=version)))


def answering(answers: Answers, **given: object) -> Answers:
    """Add these answers, named by key (`backend="postgres"`), or by full name in a dictionary."""
    for name, value in given.items():
        setting = name if "." in name else f"memory.{name}"
        answers = answers.with_given(setting, Answer(value, "answered"))
    return answers


def everything_on(answers: Answers, backend: str) -> Answers:
    return answering(answers, backend=backend, **EVERYTHING_ON)


def all_starts(home: Path) -> Iterator[tuple[str, Answers]]:
    """Yield every form with every possible version and backend, plain and with everything switched on."""
    for number, (form, config) in enumerate(FORMS.items()):
        plain = start(home / str(number), config)
        for version, backend in itertools.product(VERSIONS[form], BACKENDS):
            situation = replace(plain.situation, target=plain.situation.target._replace(version=version))
            answers = replace(plain, situation=situation)
            if backend not in known_backends(situation.target):
                continue
            name = f"{form}, {version}, {backend}"
            yield name, answering(answers, backend=backend)
            yield f"{name}, everything on", everything_on(answers, backend)


def ids(answers: Answers) -> list[str]:
    return [question.id for question in questions_for(answers)]


def question(id: str) -> Question:
    """Return a question by id."""
    return next(question for question in QUESTIONS if question.id == id)


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
    """Every question in every situation in which it is asked."""
    home = tmp_path_factory.mktemp("homes")
    return [(name, answers, question) for name, answers in all_starts(home) for question in questions_for(answers)]


def test_questions_about_sqlite_up_to_0_7_5_have_this_order(tmp_path: Path) -> None:
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
def test_questions_of_a_backend_follow_the_choice_of_the_backend(tmp_path: Path, backend: str, own: list[str]) -> None:
    found = ids(answering(start(tmp_path, FORMS["aliased"]), backend=backend))
    assert found[: len(own) + 2] == ["backend", *own, "auto_save"]
    assert [one for one in found if "." in one] == own


def test_settings_that_this_zeroclaw_does_not_read_from_the_file_are_not_asked(tmp_path: Path) -> None:
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
def test_settings_of_a_switch_are_asked_only_when_it_is_on(tmp_path: Path, setting: str, wanted: list[str]) -> None:
    answers = start(tmp_path, FORMS["old"])
    on, off = (ids(answering(answers, **{f"memory.{setting}": value})) for value in (True, False))
    assert [one for one in on if one not in off] == wanted
    assert not [one for one in off if one not in on]


def test_embedding_details_are_asked_only_with_vector_search_and_a_provider(
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


def test_weights_and_threshold_are_asked_only_if_they_have_an_effect(tmp_path: Path) -> None:
    answers = answering(start(tmp_path, FORMS["old"]), embedding_provider="openai")
    for backend in BACKENDS:
        found = ids(answering(answers, backend=backend))
        for one in ("search_mode", "vector_weight", "keyword_weight"):
            assert (one in found) == (backend in ("sqlite", "lucid")), (backend, one)
        assert ("min_relevance_score" in found) == (backend != "none")


def test_accepting_the_offered_answer_keeps_the_current_value(starts: list[tuple[str, Answers, Question]]) -> None:
    for name, answers, one in starts:
        offered = one.present(answers)
        if one.id in REQUIRED and not offered:
            with pytest.raises(UsageError):
                one.read(answers, offered)
            continue
        assert one.read(answers, offered) == answers.value(one.setting), (name, one.id)


def test_a_default_is_shown_and_chosen_by_an_empty_line(starts: list[tuple[str, Answers, Question]]) -> None:
    for name, answers, one in starts:
        if one.kind in ("choice", "switch") or one.id in REQUIRED:
            continue
        default = one.default(answers)
        assert default, (name, one.id)
        if one.id in OPTIONAL and answers.current(one.setting) is not None:
            continue
        wanted = None if one.id in OPTIONAL and not default.isdigit() else one.read(answers, default)
        assert one.read(answers, "") == wanted, (name, one.id)


def test_lists_include_the_current_value_and_every_choice_is_valid(starts: list[tuple[str, Answers, Question]]) -> None:
    for name, answers, one in starts:
        choices = one.choices(answers)
        assert bool(choices) == (one.kind in ("choice", "switch")), (name, one.id)
        assert not choices or one.present(answers) in [choice.value for choice in choices], (name, one.id)
        for choice in choices:
            one.read(answers, choice.value)


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
def test_a_valid_answer_is_accepted(tmp_path: Path, id: str, text: str, value: object) -> None:
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
def test_an_invalid_answer_is_refused_with_one_sentence(tmp_path: Path, id: str, text: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(start(tmp_path, FORMS["old"]), id, text)
    message = refused.value.message
    assert message.endswith((".", "?"))
    assert ". " not in message
    assert "\n" not in message
    assert refused.value.hint
    assert "hunter2" not in str(refused.value)


def test_choosing_the_current_kind_of_backend_keeps_its_alias(tmp_path: Path) -> None:
    answers = start(tmp_path, FORMS["aliased"])
    assert question("backend").present(answers) == "sqlite"
    assert read(answers, "backend", "sqlite") == "sqlite.work"
    assert read(answers, "backend", "postgres") == "postgres"


def test_an_optional_value_in_the_file_cannot_be_removed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is set in config\.toml"):
        read(start(tmp_path, FORMS["aliased"]), "sqlite.open_timeout_secs", "")
