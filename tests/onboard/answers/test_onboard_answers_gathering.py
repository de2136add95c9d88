"""Answers from flags, the environment and an answers file, each above the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from answers_samples import (
    ALIASED,
    GENERATIONS,
    OLD,
    OLD_FILE_READ_BY_NEW,
    PASSWORD,
    POSTGRES,
    URL,
    situation,
)

from zeroclaw_tui.config.setting_names import Target
from zeroclaw_tui.memory.errors import WRONG_USE, UsageError
from zeroclaw_tui.onboard.answers import Given, gather
from zeroclaw_tui.onboard.plan import (
    make_plan,
)
from zeroclaw_tui.onboard.questions import (
    question_of,
)

ON_POSTGRES = "[memory]\nbackend = 'postgres'\nauto_save = true\n"
SOURCES = ("flag", "environment", "answers file", "config", "default")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "answers.toml"


def told(error: pytest.ExceptionInfo[UsageError]) -> str:
    """The sentence, after checking what every refusal has."""
    assert error.value.exit_code == WRONG_USE
    assert error.value.hint
    assert PASSWORD not in str(error.value)
    return error.value.message


@pytest.mark.parametrize("first", range(len(SOURCES)))
@pytest.mark.parametrize("target", GENERATIONS)
def test_each_source_is_above_the_next(first: int, target: Target, file: Path) -> None:
    """The same setting in all sources from `first` on: the first of them counts."""
    there = SOURCES[first:]
    file.write_text("[storage.postgres]\nschema = 'of_file'\nconnect_timeout_secs = 3\n")
    table = "storage.postgres.default" if target.has_aliases else "storage.provider.config"
    variable = "ZEROCLAW_storage__postgres__default__" if target.is_modern else "ZEROCLAW_STORAGE_"
    variable += "connect_timeout_secs" if target.is_modern else "CONNECT_TIMEOUT_SECS"
    answers = gather(
        situation(
            ON_POSTGRES + (f"[{table}]\nconnect_timeout_secs = 4\n" if "config" in there else ""),
            target,
            environ={variable: "2"} if "environment" in there else {},
        ),
        assignments=("storage.postgres.connect_timeout_secs=1",) if "flag" in there else (),
        answers_file=file if "answers file" in there else None,
    )
    name = "storage.postgres.connect_timeout_secs"
    assert answers.value(name) == (1, 2, 3, 4, None)[first]
    assert answers.source(name) == SOURCES[first]


@pytest.mark.parametrize(
    ("target", "environ", "url"),
    [
        (OLD, {"ZEROCLAW_STORAGE_DB_URL": "a", "ZEROCLAW_POSTGRES_URL": "b", "ZEROCLAW_DB_URL": "c"}, "a"),
        (OLD, {"ZEROCLAW_POSTGRES_URL": "b", "ZEROCLAW_DB_URL": "c", "DATABASE_URL": "postgres://d"}, "b"),
        (OLD, {"ZEROCLAW_DB_URL": " c ", "DATABASE_URL": "postgres://d"}, "c"),
        (OLD, {"DATABASE_URL": "postgresql://d"}, None),
        (OLD, {"DATABASE_URL": "mysql://d"}, None),
        (OLD, {"ZEROCLAW_storage__postgres__default__db_url": "e"}, None),
        (ALIASED, {"ZEROCLAW_STORAGE_DB_URL": "a"}, None),
        (ALIASED, {"ZEROCLAW_POSTGRES_URL": "b", "ZEROCLAW_storage__postgres__default__db_url": "e"}, "e"),
        (ALIASED, {"ZEROCLAW_storage__postgres__other__db_url": "e"}, None),
        (OLD_FILE_READ_BY_NEW, {"ZEROCLAW_storage__postgres__default__db_url": "e"}, "e"),
    ],
)
def test_the_database_in_the_environment(target: Target, environ: dict[str, str], url: str | None) -> None:
    assert gather(situation(ON_POSTGRES, target, environ=environ)).value(URL) == url


def test_the_database_of_another_program_is_offered_and_never_taken() -> None:
    answers = gather(situation(ON_POSTGRES, environ={"DATABASE_URL": "postgres://another/d"}))
    assert (answers.given, answers.value(URL)) == ({}, None)
    question = question_of(URL)
    assert question is not None
    assert question.present(answers) == "postgres://another/d"
    assert "may belong to another program" in question.about(answers)
    with pytest.raises(UsageError) as caught:
        make_plan(gather(situation(environ={"DATABASE_URL": "postgres://another/d"}), memory="postgres"))
    assert '--set db_url="$DATABASE_URL"' in caught.value.hint


def test_the_environment_of_another_store_counts_only_once_that_is_chosen() -> None:
    environ = {"ZEROCLAW_DB_URL": POSTGRES, "QDRANT_URL": "http://q:6333", "QDRANT_API_KEY": PASSWORD}
    answers = gather(situation(environ=environ))
    assert answers.given == {}
    on_postgres = answers.with_given("memory.backend", Given("postgres", "answered"))
    assert set(on_postgres.given) == {"memory.backend", URL}
    on_qdrant = on_postgres.with_given("memory.backend", Given("qdrant", "answered"))
    assert set(on_qdrant.given) == {"memory.backend", "storage.qdrant.url", "storage.qdrant.api_key"}
    assert PASSWORD not in repr(on_qdrant)
    assert on_qdrant.without("memory.backend").given == {}


def test_the_backend_of_the_environment() -> None:
    old = gather(situation(environ={"ZEROCLAW_STORAGE_PROVIDER": " Postgres "}))
    assert (old.backend(), old.source("memory.backend")) == ("postgres", "environment")
    modern = {"ZEROCLAW_memory__backend": "qdrant.work", "ZEROCLAW_storage__qdrant__work__url": "http://q"}
    new = gather(situation(target=ALIASED, environ=modern))
    assert (new.backend(), new.alias(), new.value("storage.qdrant.url")) == ("qdrant", "work", "http://q")
    assert gather(situation(environ=modern)).given == {}
    by_flag = gather(situation(environ={"ZEROCLAW_STORAGE_PROVIDER": "unheard-of"}), memory="sqlite")
    assert (by_flag.backend(), by_flag.source("memory.backend")) == ("sqlite", "flag")


def test_a_backend_of_the_environment_that_zeroclaw_does_not_know_names_the_variable() -> None:
    with pytest.raises(UsageError) as caught:
        gather(situation(environ={"ZEROCLAW_STORAGE_PROVIDER": "postgras"}))
    assert told(caught) == (
        "The environment variable ZEROCLAW_STORAGE_PROVIDER cannot be used: ZeroClaw does not know the backend "
        "postgras. Did you mean postgres?"
    )


def test_settings_of_memory_in_the_environment_from_0_8_0_on() -> None:
    environ = {"ZEROCLAW_memory__vector_weight": "0.25", "ZEROCLAW_memory__policy__threat_scan": "strict"}
    answers = gather(situation(target=ALIASED, environ=environ))
    assert answers.value("memory.vector_weight") == 0.25
    assert answers.value("memory.policy.threat_scan") == "strict"
    assert gather(situation(environ=environ)).given == {}
    with pytest.raises(UsageError) as caught:
        gather(situation(target=ALIASED, environ={"ZEROCLAW_memory__vector_weight": "much"}))
    assert "ZEROCLAW_memory__vector_weight cannot be used" in told(caught)


def test_lucid_in_the_environment_up_to_0_7_5() -> None:
    environ = {
        "ZEROCLAW_LUCID_CMD": "/opt/lucid",
        "ZEROCLAW_LUCID_BUDGET": "300",
        "ZEROCLAW_LUCID_STORE_TIMEOUT_MS": "1",
    }
    on_lucid = "[memory]\nbackend = 'lucid'\n"
    answers = gather(situation(on_lucid, environ=environ))
    assert answers.value("storage.lucid.binary_path") == "/opt/lucid"
    assert answers.value("storage.lucid.budget") == 300
    assert answers.value("storage.lucid.store_timeout_ms") == 50
    assert answers.value("storage.lucid.recall_timeout_ms") == 500
    assert gather(situation(environ=environ)).given == {}
    assert "storage.lucid.budget" not in gather(situation(on_lucid, ALIASED, environ=environ)).given


@pytest.mark.parametrize(
    ("memory", "target", "value"),
    [
        ("postgres", OLD, "postgres"),
        (" PostgreSQL ", OLD, "postgres"),
        ("md", OLD, "markdown"),
        ("none", ALIASED, "none"),
        ("sqlite", ALIASED, "sqlite"),
        ("Postgres.Work", ALIASED, "postgres.Work"),
    ],
)
def test_names_of_backends(memory: str, target: Target, value: str) -> None:
    answers = gather(situation(target=target), memory=memory)
    assert answers.value("memory.backend") == value
    assert answers.backend() == value.partition(".")[0]


@pytest.mark.parametrize(
    ("memory", "target", "sentence"),
    [
        ("postgras", OLD, "ZeroClaw does not know the backend postgras. Did you mean postgres?"),
        ("redis", OLD, "ZeroClaw does not know the backend redis and would silently use Markdown."),
        ("rmem", ALIASED, "ZeroClaw does not know the backend rmem and would silently use Markdown."),
        ("in-memory", OLD, "ZeroClaw does not know the backend in-memory and would silently use Markdown."),
        ("mem0", OLD, "ZeroClaw does not know the backend mem0 and would silently use Markdown."),
        ("hybrid", OLD, "ZeroClaw does not know the backend sqlite_qdrant_hybrid and would silently use Markdown."),
        ("xyz", OLD, "ZeroClaw does not know the backend xyz and would silently use Markdown."),
        ("postgres.work", OLD, "would silently use Markdown."),
        ("postgres.work", OLD_FILE_READ_BY_NEW, "would silently use Markdown."),
        ("postgres.a b", ALIASED, 'Invalid alias "a b". Use letters, digits, _ and -.'),
        ("postgres.", ALIASED, 'Invalid alias "". Use letters, digits, _ and -.'),
        ("none.main", ALIASED, "The backend none has no alias."),
        ("postgres", Target(1, False, False, "0.7.0"), "ZeroClaw 0.7.0 does not know the backend postgres and"),
        ("qdrant", Target(1, False, False, "0.1.6"), "ZeroClaw 0.1.6 does not know the backend qdrant and"),
        ("", OLD, "memory.backend must not be empty."),
    ],
)
def test_backends_that_this_zeroclaw_does_not_know(memory: str, target: Target, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        gather(situation(target=target), memory=memory)
    assert sentence in told(caught)


@pytest.mark.parametrize(
    ("assignment", "name", "value"),
    [
        ("vector_weight=0.6", "memory.vector_weight", 0.6),
        ("memory.auto_save=off", "memory.auto_save", False),
        ("storage.provider.config.provider=markdown", "memory.backend", "markdown"),
        ("memory.qdrant.url='http://q:6333'", "storage.qdrant.url", "http://q:6333"),
        (f"storage.provider.config.dbURL={POSTGRES}?a=b", URL, f"{POSTGRES}?a=b"),
        ("memory.sqlite_open_timeout_secs=9", "storage.sqlite.open_timeout_secs", 9),
    ],
)
@pytest.mark.parametrize("target", GENERATIONS)
def test_settings_by_flag_in_either_spelling(assignment: str, name: str, value: Any, target: Target) -> None:
    answers = gather(situation(target=target), assignments=(assignment,))
    assert answers.given == {name: Given(value, "flag", "--set")}


@pytest.mark.parametrize(
    ("assignments", "sentence"),
    [
        (("memory.vector_weight",), '--set needs KEY=VALUE, but "memory.vector_weight" has no "=".'),
        ((POSTGRES,), '--set needs KEY=VALUE, but "postgres://me:••••@db.example/agents" has no "=".'),
        (("memory.vector_weight=0.5", "vector_weight=0.6"), "memory.vector_weight is given twice with different"),
        ((f"{URL}={POSTGRES}", f"db_url={POSTGRES}x"), f"{URL} is given twice with different values."),
        (("backend=sqlite",), "memory.backend is given twice with different values."),
        (("vektor_weight=1",), "did you mean memory.vector_weight?"),
        (("schema_version=3",), "schema_version is not a memory setting"),
        (("storage.sqlite.path=/x",), "ZeroClaw reads storage.sqlite.path but never uses it."),
        (("memory.embedding_model=",), "memory.embedding_model must not be empty."),
        (("memory.mmr_lambda=0.5",), "memory.mmr_lambda has no effect here"),
    ],
)
def test_flags_that_cannot_be_read(assignments: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        gather(situation(), memory="postgres", assignments=assignments)
    assert sentence in told(caught)


def test_an_alias_of_a_flag_must_be_the_one_in_use() -> None:
    found = situation("[memory]\nbackend = 'postgres.home'\n", ALIASED)
    assignment = "storage.postgres.work.schema=agents"
    with pytest.raises(UsageError) as caught:
        gather(found, assignments=(assignment,))
    assert told(caught) == ("storage.postgres.work is not the table in use, which is storage.postgres.home.")
    assert caught.value.hint == "Add --memory postgres.work to use it."
    moved = gather(found, memory="postgres.work", assignments=(assignment,))
    assert (moved.alias(), moved.value("storage.postgres.schema")) == ("work", "agents")
    assert gather(situation(ON_POSTGRES), assignments=(assignment,)).value("storage.postgres.schema") == "agents"
