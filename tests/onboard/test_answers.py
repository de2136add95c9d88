"""Answers from flags, an answers file, the config and the defaults, in order of precedence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.memories import WRONG_USE, BrokenConfig, UsageError
from support.wizard_world import situation_of

from zeroclaw_tui.config.schema import Target
from zeroclaw_tui.config.secrets import encrypt
from zeroclaw_tui.onboard.answers import Answer, Answers, gather, read_answers
from zeroclaw_tui.onboard.plan import make_plan
from zeroclaw_tui.onboard.situation import Situation

OLD = Target(schema=1, has_aliases=False, is_modern=False)
OLD_FILE_READ_BY_NEW = Target(schema=1, has_aliases=False, is_modern=True)
ALIASED = Target(schema=3, has_aliases=True, is_modern=True)
GENERATIONS = (OLD, OLD_FILE_READ_BY_NEW, ALIASED)

URL = "storage.postgres.db_url"
PASSWORD = "hunter2"
POSTGRES = f"postgres://me:{PASSWORD}@db.example/agents"


def situation(
    text: str | None = '[memory]\nbackend = "sqlite"\nauto_save = true\n', target: Target = OLD, **other: Any
) -> Situation:
    return situation_of(text, target, **other)


ON_POSTGRES = "[memory]\nbackend = 'postgres'\nauto_save = true\n"
SOURCES = ("flag", "answers file", "config", "default")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "answers.toml"


def message_of(error: pytest.ExceptionInfo[UsageError]) -> str:
    """Return the message, after checking the properties of every refusal."""
    assert error.value.exit_code == WRONG_USE
    assert error.value.hint
    assert PASSWORD not in str(error.value)
    return error.value.message


@pytest.mark.parametrize("first", range(len(SOURCES)))
@pytest.mark.parametrize("target", GENERATIONS)
def test_each_source_overrides_the_next(first: int, target: Target, file: Path) -> None:
    """With the same setting in all sources from `first` on, the first one applies."""
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
def test_a_database_url_of_the_environment_is_neither_missing_nor_written(
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
def test_names_of_backends_are_accepted(memory: str, target: Target, value: str) -> None:
    answers = gather(situation(target=target), memory=memory)
    assert answers.value("memory.backend") == value
    assert answers.backend() == value.partition(".")[0]


@pytest.mark.parametrize(
    ("memory", "assignments", "target", "sentence"),
    [
        ("postgras", (), OLD, "ZeroClaw does not know the backend postgras and would silently use Markdown."),
        ("in-memory", (), OLD, "ZeroClaw does not know the backend in-memory and would silently use Markdown."),
        ("postgres.work", (), OLD, "postgres.work is not a backend here."),
        ("postgres.work", (), OLD_FILE_READ_BY_NEW, "postgres.work is not a backend here."),
        ("postgres.a b", (), ALIASED, "postgres.a b is not a backend here."),
        ("none.main", (), ALIASED, "none.main is not a backend here."),
        ("postgres", (), Target(1, False, False, "0.7.0"), "ZeroClaw does not know the backend postgres"),
        ("qdrant", (), Target(1, False, False, "0.1.6"), "ZeroClaw does not know the backend qdrant"),
        ("", (), OLD, "memory.backend must not be empty."),
        ("postgres", ("memory.vector_weight",), OLD, '--set needs KEY=VALUE, but "memory.vector_weight" has no "=".'),
        ("postgres", (POSTGRES,), OLD, '--set needs KEY=VALUE, but "postgres://me:••••@db.example/agents" has no "=".'),
        (
            "postgres",
            ("memory.vector_weight=0.5", "vector_weight=0.6"),
            OLD,
            "memory.vector_weight is given twice with different",
        ),
        ("postgres", (f"{URL}={POSTGRES}", f"db_url={POSTGRES}x"), OLD, f"{URL} is given twice with different values."),
        ("postgres", ("backend=sqlite",), OLD, "memory.backend is given twice with different values."),
        ("postgres", ("vektor_weight=1",), OLD, "did you mean memory.vector_weight?"),
        ("postgres", ("storage.sqlite.path=/x",), OLD, "ZeroClaw reads storage.sqlite.path but never uses it."),
        ("postgres", ("memory.embedding_model=",), OLD, "memory.embedding_model must not be empty."),
        ("postgres", ("memory.mmr_lambda=0.5",), OLD, "memory.mmr_lambda has no effect here"),
    ],
)
def test_invalid_flags_are_refused(memory: str, assignments: tuple[str, ...], target: Target, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        gather(situation(target=target), memory=memory, assignments=assignments)
    assert sentence in message_of(caught)


def test_the_alias_of_a_flag_must_be_the_one_in_use() -> None:
    found = situation("[memory]\nbackend = 'postgres.home'\n", ALIASED)
    assignment = "storage.postgres.work.schema=agents"
    with pytest.raises(UsageError) as caught:
        gather(found, assignments=(assignment,))
    assert message_of(caught) == ("storage.postgres.work is not the table in use, which is storage.postgres.home.")
    assert caught.value.hint == "Add --memory postgres.work to use it."
    moved = gather(found, memory="postgres.work", assignments=(assignment,))
    assert (moved.alias(), moved.value("storage.postgres.schema")) == ("work", "agents")
    assert gather(situation(ON_POSTGRES), assignments=(assignment,)).value("storage.postgres.schema") == "agents"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[memory]\nbackend = 'postgres'\n[storage.postgres]\nschema = 'x'\n", ("postgres", "x")),
        ("memory.backend = 'postgres'\n[storage.provider.config]\nschema = 'x'\n", ("postgres", "x")),
        ("[memory]\nbackend = 'postgres.work'\n[storage.postgres.work]\nschema = 'x'\n", ("postgres.work", "x")),
        ("\ufeff[memory]\r\nbackend = 'postgres'\r\n[storage.postgres]\r\nschema = 'x'\r\n", ("postgres", "x")),
    ],
)
def test_every_form_of_an_answers_file_is_read(text: str, expected: tuple[str, str], file: Path) -> None:
    file.write_bytes(text.encode())
    assert read_answers(file) == {"memory.backend": expected[0], "storage.postgres.schema": expected[1]}


def test_the_memory_settings_of_a_whole_config_are_read(file: Path) -> None:
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
def test_an_unreadable_answers_file_is_reported_with_the_reason(text: str, sentence: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises((UsageError, BrokenConfig)) as caught:
        read_answers(file)
    assert sentence in caught.value.message
    assert str(file) in caught.value.message
    assert caught.value.exit_code == 2
    assert caught.value.hint
    assert PASSWORD not in str(caught.value)


def test_a_setting_without_effect_is_ignored_only_at_its_default(file: Path) -> None:
    file.write_text("[memory]\nsqlite_journal_mode = 'wal'\nauto_save = false\n")
    assert set(gather(situation(), answers_file=file).given) == {"memory.auto_save"}
    file.write_text("[memory]\nsqlite_journal_mode = 'delete'\n")
    with pytest.raises(UsageError, match=r"memory\.sqlite_journal_mode has no effect here"):
        gather(situation(), answers_file=file)


@pytest.mark.parametrize("text", ["a\\u007Fb", "a\\nb", "a\\tb", "\\u0000\\u001B[31m", "é \\u2028x", "\\u009B31m"])
@pytest.mark.parametrize("key", ["memory.embedding_model", "memory.embedding_api_key"])
def test_control_characters_in_answers_are_refused(key: str, text: str, file: Path) -> None:
    file.write_text(f'{key} = "{text}"\n', encoding="utf-8")
    with pytest.raises(UsageError, match=f"{key} has a control character or a line end in it"):
        read_answers(file)


KEY = bytes(range(32))


def answered(name: str, value: Any, found: Situation) -> Answers:
    return Answers(found).with_given(name, Answer(value, "answered", "typed"))


def test_the_defaults_file_applies_if_defaults_are_written() -> None:
    found = situation("[memory]\nbackend = 'postgres'\nauto_save = true\n", backend="postgres")
    assert gather(found, memory="postgres").value("storage.postgres.connect_timeout_secs") is None
    without = situation("# no key yet\n")
    assert gather(without, memory="postgres").value("storage.postgres.connect_timeout_secs") == 15
    assert Answers(situation(None)).value("memory.conversation_retention_days") == 30


@pytest.mark.parametrize(
    ("text", "given", "alias"),
    [
        ("[memory]\nbackend = 'postgres.work'\n", None, "work"),
        ("[memory]\nbackend = 'postgres.work'\n", "postgres", "work"),
        ("[memory]\nbackend = 'postgres.work'\n", "postgres.home", "home"),
        ("[memory]\nbackend = 'postgres'\n[storage.postgres.work]\n", None, "default"),
        ("[memory]\nbackend = 'sqlite.main'\n[storage.postgres.work]\n", "postgres", "work"),
        ("[memory]\nbackend = 'sqlite.main'\n[storage.postgres.a]\n[storage.postgres.b]\n", "postgres", "default"),
        ("[memory]\nbackend = 'sqlite.main'\n", "qdrant", "default"),
        ("[memory]\n[storage.sqlite.work]\n", None, "default"),
        ("[memory]\n[storage.sqlite.work]\n", "sqlite", "work"),
    ],
)
def test_storage_is_written_under_the_right_alias(text: str, given: str | None, alias: str) -> None:
    found = situation(text, ALIASED)
    answers = answered("memory.backend", given, found) if given else Answers(found)
    assert answers.alias() == alias


@pytest.mark.parametrize("target", [OLD, ALIASED])
def test_an_encrypted_secret_is_decrypted_in_memory_and_never_shown(target: Target, tmp_path: Path) -> None:
    (tmp_path / ".secret_key").write_text(KEY.hex())
    sealed = encrypt(POSTGRES, KEY, bytes(range(12)))
    table = "storage.postgres.default" if target.has_aliases else "storage.provider.config"
    text = f"[memory]\nbackend = 'postgres'\n[{table}]\ndb_url = '{sealed}'\n"
    answers = Answers(situation(text, target, config_dir=tmp_path))
    assert answers.value(URL) == POSTGRES
    assert (answers.source(URL), answers.missing()) == ("config", ())
    given = answers.with_given(URL, Answer(POSTGRES, "flag", "--set"))
    assert PASSWORD not in repr(given) + repr(given.given)


def test_a_secret_that_cannot_be_decrypted_is_unchanged(tmp_path: Path) -> None:
    text = "[memory]\nbackend = 'postgres'\n[storage.provider.config]\ndb_url = 'enc2:00ff'\n"
    answers = Answers(situation(text, config_dir=tmp_path))
    assert answers.current(URL) == "enc2:00ff"
    assert answers.missing() == ()


def test_qdrants_key_is_used_literally_up_to_0_7_5(tmp_path: Path) -> None:
    (tmp_path / ".secret_key").write_text(KEY.hex())
    sealed = encrypt("the key", KEY, bytes(range(12)))
    text = f"[memory]\nbackend = 'qdrant'\n[memory.qdrant]\napi_key = '{sealed}'\n"
    assert Answers(situation(text, OLD, config_dir=tmp_path)).current("storage.qdrant.api_key") == sealed
    read_by_new = situation(text, OLD_FILE_READ_BY_NEW, config_dir=tmp_path)
    assert Answers(read_by_new).current("storage.qdrant.api_key") == "the key"
