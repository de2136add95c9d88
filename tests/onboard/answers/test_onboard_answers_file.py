"""Answers files: read in every shape people have, written so that reading them gives the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from answers_samples import ALIASED, OLD, PASSWORD, POSTGRES, URL, situation
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.config.schema import BACKENDS_WITH_DEFAULTS, MemoryKey, default_text
from zeroclaw_tui.config.setting_names import SETTINGS, Target, checked_value, is_read
from zeroclaw_tui.memory.errors import BrokenConfig, InspectorError, UsageError
from zeroclaw_tui.memory.text import mask_secrets
from zeroclaw_tui.onboard.answers import Answers, Given, answers_text, gather, read_answers


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "answers.toml"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("backend = 'postgres'\n'storage.postgres.schema' = 'x'\n", ("postgres", "x")),
        ("'memory.backend' = 'postgres'\nstorage.postgres.schema = 'x'\n", ("postgres", "x")),
        ("[memory]\nbackend = 'postgres'\n[storage.postgres]\nschema = 'x'\n", ("postgres", "x")),
        ("memory.backend = 'postgres'\n[storage.provider.config]\nschema = 'x'\n", ("postgres", "x")),
        (
            "[memory]\nbackend = 'sqlite'\n[storage.provider.config]\nprovider = 'postgres'\nschema = 'x'\n",
            ("postgres", "x"),
        ),
        ("[memory]\nbackend = 'postgres.work'\n[storage.postgres.work]\nschema = 'x'\n", ("postgres.work", "x")),
        (
            "[memory]\nbackend = 'postgres.b'\n[storage.postgres.a]\nschema = 'y'\n"
            "[storage.postgres.b]\nschema = 'x'\n",
            ("postgres.b", "x"),
        ),
        (
            "[memory]\nbackend = 'postgres'\n[storage.postgres.a]\nschema = 'y'\n"
            "[storage.postgres.default]\nschema = 'x'\n",
            ("postgres", "x"),
        ),
        ("\ufeff[memory]\r\nbackend = 'postgres'\r\n[storage.postgres]\r\nschema = 'x'\r\n", ("postgres", "x")),
    ],
)
def test_every_shape_of_an_answers_file(text: str, expected: tuple[str, str], file: Path) -> None:
    file.write_bytes(text.encode())
    assert read_answers(file) == {"memory.backend": expected[0], "storage.postgres.schema": expected[1]}


def test_keys_below_a_table_of_memory_need_not_name_memory(file: Path) -> None:
    file.write_text("qdrant.url = 'http://q'\npolicy.threat_scan = 'off'\nauto_save = false\n")
    assert read_answers(file) == {
        "storage.qdrant.url": "http://q",
        "memory.policy.threat_scan": "off",
        "memory.auto_save": False,
    }


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
        ("vektor_weight = 1", "did you mean memory.vector_weight?"),
        ("[memory]\nvektor_weight = 1", "did you mean memory.vector_weight?"),
        ("vektor_weight = 1\n[memory]\nbackend = 'none'", "did you mean memory.vector_weight?"),
        (f"[storage.postgres]\ndb_ulr = '{POSTGRES}'", "did you mean storage.postgres.db_url?"),
        ("[storage.redis.default]\nhost = 'x'", "ZeroClaw knows no setting storage.redis.default.host."),
        ("favourite = 3", "favourite is no setting of the memory"),
        ("[memory]\nvector_weight = 'much'", "memory.vector_weight must be a number from 0; it is a text."),
        (f"db_url = ['{POSTGRES}']", "storage.postgres.db_url must be a secret text;"),
        ("auto_save = 2026-01-01", "memory.auto_save must be true or false; it is a date or time."),
        ("db_url = 'a'\n[storage.postgres]\ndb_url = 'b'", "sets storage.postgres.db_url twice, to different values."),
        ("memory = 3", "memory is a whole number and must be a table."),
        ("[storage.provider.config]\nprovider = 1", "storage.provider.config.provider is a whole number"),
        (
            "[memory]\nbackend = 'sqlite'\n[storage.postgres.a]\nschema = 'x'\n[storage.postgres.b]\nschema = 'y'\n",
            "has several [storage.postgres] tables (a, b), and memory.backend names none of them.",
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


def test_a_file_that_is_not_there(file: Path) -> None:
    with pytest.raises(UsageError, match="There is no answers file"):
        read_answers(file)
    with pytest.raises(UsageError, match="is a folder"):
        read_answers(file.parent)


def test_a_file_with_a_backend_asks_for_its_defaults_where_there_is_no_memory_yet(file: Path) -> None:
    without = situation("api_key = 'k'\n")
    file.write_text("backend = 'sqlite'\n")
    assert gather(without, answers_file=file).changes_backend()
    assert not gather(situation("[memory]\nbackend = 'sqlite'\n"), answers_file=file).changes_backend()
    file.write_text("auto_save = false\n")
    assert not gather(without, answers_file=file).changes_backend()


@pytest.mark.parametrize("text", ["backend = 'postgras'", "[memory]\nbackend = 'sqlite.main'"])
def test_a_backend_that_cannot_be_used_names_the_file(text: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises(UsageError, match=f"In the answers file {file}: "):
        gather(situation(), answers_file=file)


def test_what_this_zeroclaw_does_not_read_is_left_out_only_at_its_default(file: Path) -> None:
    file.write_text("[memory]\nsqlite_journal_mode = 'wal'\nauto_save = false\n")
    assert set(gather(situation(), answers_file=file).given) == {"memory.auto_save"}
    file.write_text("[memory]\nsqlite_journal_mode = 'delete'\n")
    with pytest.raises(UsageError, match=r"memory\.sqlite_journal_mode does nothing here"):
        gather(situation(), answers_file=file)


@pytest.mark.parametrize("backend", BACKENDS_WITH_DEFAULTS)
def test_our_own_defaults_are_an_answers_file(backend: str, file: Path) -> None:
    file.write_text(default_text(backend))
    answers = gather(situation(), answers_file=file)
    assert answers.backend() == backend
    assert answers.value("memory.auto_save") is (backend != "none")


def test_secrets_are_named_and_not_written(file: Path) -> None:
    answers = gather(
        situation(),
        memory="postgres",
        assignments=(
            f"{URL}={POSTGRES}",
            "storage.postgres.schema=agents",
            f"embedding_provider=custom:http://me:{PASSWORD}@h/v1",
        ),
    )
    text = answers_text(answers)
    assert PASSWORD not in text
    assert f"--set {URL}=… or the variable ZEROCLAW_POSTGRES_URL" in text
    file.write_text(text)
    assert read_answers(file) == {"memory.backend": "postgres", "storage.postgres.schema": "agents"}
    assert gather(situation(), answers_file=file).missing() == (URL,)


def _is_plain(name: str, value: Any) -> bool:
    try:
        return checked_value(name, value) == value and (not isinstance(value, str) or mask_secrets(value) == value)
    except InspectorError:
        return False


def _values(key: MemoryKey) -> st.SearchStrategy[Any]:
    high = key.largest if key.high is None else int(key.high)
    number = st.floats(key.low or 0.0, 1e300 if key.high is None else key.high)
    by_kind = {
        "switch": st.booleans(),
        "count": st.integers(int(key.low or 0), high),
        "number": number,
        "texts": st.lists(st.text()),
        "text": st.sampled_from(key.choices) if key.choices else st.text(),
    }
    return by_kind[key.kind].filter(lambda value: _is_plain(key.name, value))


@st.composite
def _answers(draw: st.DrawFn, target: Target) -> Answers:
    names = [
        name
        for name, key in SETTINGS.items()
        if is_read(name, target)
        and not key.is_secret
        and name
        not in ("memory.backend", "memory.embedding_provider", "storage.postgres.schema", "storage.postgres.table")
    ]
    answers = Answers(situation(target=target))
    if draw(st.booleans()):
        backend = draw(
            st.sampled_from(["sqlite", "postgres", "none", *(["postgres.work"] if target.has_aliases else [])])
        )
        answers = answers.with_given("memory.backend", Given(backend, "answered"))
    for name in draw(st.lists(st.sampled_from(names), unique=True, max_size=6)):
        answers = answers.with_given(name, Given(draw(_values(SETTINGS[name])), "answered"))
    return answers


def _targets() -> Iterator[Target]:
    yield from (OLD, ALIASED)


@pytest.mark.parametrize("target", _targets(), ids=["old", "aliased"])
@given(data=st.data())
def test_reading_what_was_written_gives_the_same_answers(
    target: Target, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    answers = data.draw(_answers(target))
    file = tmp_path_factory.mktemp("answers") / "answers.toml"
    file.write_text(answers_text(answers), encoding="utf-8", newline="")
    again = gather(situation(target=target), answers_file=file)
    assert {name: answer.value for name, answer in again.given.items()} == {
        name: answer.value for name, answer in answers.given.items()
    }


@pytest.mark.parametrize("text", ["a\\nb", 'quote " and \\ slash', "[31m", "é \xa0 \U0001f980", "a\u200db", "# no"])
def test_any_character_survives_the_file(text: str, file: Path) -> None:
    answers = Answers(situation()).with_given("memory.embedding_model", Given(text, "answered"))
    file.write_text(answers_text(answers), encoding="utf-8", newline="")
    assert read_answers(file) == {"memory.embedding_model": text}


@pytest.mark.parametrize("text", ["a\\u007Fb", "a\\nb", "a\\tb", "\\u0000\\u001B[31m", "é \\u2028x", "\\u009B31m"])
@pytest.mark.parametrize("key", ["memory.embedding_model", "memory.embedding_api_key"])
def test_a_control_character_is_no_part_of_an_answer(key: str, text: str, file: Path) -> None:
    file.write_text(f'"{key}" = "{text}"\n', encoding="utf-8")
    with pytest.raises(UsageError, match=f"{key} has a control character or a line end in it"):
        read_answers(file)
