"""Answers from flags and an answers file, each above the next."""

from __future__ import annotations

from pathlib import Path

import pytest
from answers_samples import ALIASED, GENERATIONS, OLD, OLD_FILE_READ_BY_NEW, PASSWORD, POSTGRES, URL, situation

from zeroclaw_tui.config.schema import Target
from zeroclaw_tui.memory.errors import WRONG_USE, UsageError
from zeroclaw_tui.onboard.answers import gather
from zeroclaw_tui.onboard.plan import make_plan

ON_POSTGRES = "[memory]\nbackend = 'postgres'\nauto_save = true\n"
SOURCES = ("flag", "answers file", "config", "default")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "answers.toml"


def message_of(error: pytest.ExceptionInfo[UsageError]) -> str:
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
    file.write_text("[storage.postgres]\nschema = 'of_file'\nconnect_timeout_secs = 2\n")
    table = "storage.postgres.default" if target.has_aliases else "storage.provider.config"
    answers = gather(
        situation(ON_POSTGRES + (f"[{table}]\nconnect_timeout_secs = 3\n" if "config" in there else ""), target),
        assignments=("storage.postgres.connect_timeout_secs=1",) if "flag" in there else (),
        answers_file=file if "answers file" in there else None,
    )
    name = "storage.postgres.connect_timeout_secs"
    assert answers.value(name) == (1, 2, 3, None)[first]
    assert answers.source(name) == SOURCES[first]


@pytest.mark.parametrize(
    ("target", "environ", "url"),
    [
        (OLD, {"ZEROCLAW_STORAGE_DB_URL": "a", "ZEROCLAW_POSTGRES_URL": "b"}, "a"),
        (OLD, {"ZEROCLAW_POSTGRES_URL": "b", "DATABASE_URL": "postgres://d"}, ""),
        (ALIASED, {"ZEROCLAW_storage__postgres__default__db_url": "e"}, "e"),
        (ALIASED, {"ZEROCLAW_STORAGE_DB_URL": "a", "ZEROCLAW_storage__postgres__other__db_url": "e"}, ""),
    ],
)
def test_a_database_url_that_zeroclaw_takes_from_its_environment_is_not_missing_and_not_written(
    target: Target, environ: dict[str, str], url: str
) -> None:
    answers = gather(situation(target=target, environ=environ), memory="postgres")
    assert (answers.in_effect(URL), answers.value(URL)) == (url, None)
    if url:
        assert [change.name for change in make_plan(answers).changes if change.name == URL] == []
        return
    with pytest.raises(UsageError) as caught:
        make_plan(answers)
    assert message_of(caught) == f"The backend postgres needs {URL}."


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
        ("postgras", OLD, "ZeroClaw does not know the backend postgras and would silently use Markdown."),
        ("in-memory", OLD, "ZeroClaw does not know the backend in-memory and would silently use Markdown."),
        ("postgres.work", OLD, "postgres.work is no backend here."),
        ("postgres.work", OLD_FILE_READ_BY_NEW, "postgres.work is no backend here."),
        ("postgres.a b", ALIASED, "postgres.a b is no backend here."),
        ("none.main", ALIASED, "none.main is no backend here."),
        ("postgres", Target(1, False, False, "0.7.0"), "ZeroClaw does not know the backend postgres"),
        ("qdrant", Target(1, False, False, "0.1.6"), "ZeroClaw does not know the backend qdrant"),
        ("", OLD, "memory.backend must not be empty."),
    ],
)
def test_backends_that_this_zeroclaw_does_not_know(memory: str, target: Target, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        gather(situation(target=target), memory=memory)
    assert sentence in message_of(caught)


@pytest.mark.parametrize(
    ("assignments", "sentence"),
    [
        (("memory.vector_weight",), '--set needs KEY=VALUE, but "memory.vector_weight" has no "=".'),
        ((POSTGRES,), '--set needs KEY=VALUE, but "postgres://me:••••@db.example/agents" has no "=".'),
        (("memory.vector_weight=0.5", "vector_weight=0.6"), "memory.vector_weight is given twice with different"),
        ((f"{URL}={POSTGRES}", f"db_url={POSTGRES}x"), f"{URL} is given twice with different values."),
        (("backend=sqlite",), "memory.backend is given twice with different values."),
        (("vektor_weight=1",), "did you mean memory.vector_weight?"),
        (("schema_version=3",), "ZeroClaw knows no setting schema_version."),
        (("storage.sqlite.path=/x",), "ZeroClaw reads storage.sqlite.path but never uses it."),
        (("memory.embedding_model=",), "memory.embedding_model must not be empty."),
        (("memory.mmr_lambda=0.5",), "memory.mmr_lambda has no effect here"),
    ],
)
def test_flags_that_cannot_be_read(assignments: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        gather(situation(), memory="postgres", assignments=assignments)
    assert sentence in message_of(caught)


def test_an_alias_of_a_flag_must_be_the_one_in_use() -> None:
    found = situation("[memory]\nbackend = 'postgres.home'\n", ALIASED)
    assignment = "storage.postgres.work.schema=agents"
    with pytest.raises(UsageError) as caught:
        gather(found, assignments=(assignment,))
    assert message_of(caught) == ("storage.postgres.work is not the table in use, which is storage.postgres.home.")
    assert caught.value.hint == "Add --memory postgres.work to use it."
    moved = gather(found, memory="postgres.work", assignments=(assignment,))
    assert (moved.alias(), moved.value("storage.postgres.schema")) == ("work", "agents")
    assert gather(situation(ON_POSTGRES), assignments=(assignment,)).value("storage.postgres.schema") == "agents"
