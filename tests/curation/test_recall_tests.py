"""Recall tests: their files, the results of a run, and the vectors of their queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.libraries import Library
from support.memories import UsageError
from support.opened import opened_at
from support.questions import RecallRequest
from support.rules import Trial
from support.small_store import make

from zeroclaw_tui.curation.recall_tests import RecallTest, read_tests, run_tests

VALID = "[[query]]\nquery = 'q'\nexpected = 'a'\n"


def written(folder: Path, content: str | bytes, name: str = "a.toml") -> Path:
    path = folder / name
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def refusal(path: Path) -> UsageError:
    with pytest.raises(UsageError) as refused:
        read_tests(path)
    assert refused.value.exit_code == 2
    assert refused.value.hint
    assert "\n" not in refused.value.message
    return refused.value


def test_a_file_can_have_every_field_of_a_test(tmp_path):
    path = written(
        tmp_path,
        "# what I ask most\n[[query]]\nquery = 'what does she eat?'\nexpected = ['food', 'food_allergy', 'food']\n"
        "[[query]]\nname = 'time'\nquery = 'what time is it?'\nexpected = 'tz'\nsession = 'tg_1'\n"
        "[[query]]\nquery = 'plans?'\nrejected = 'old_plan'\nnote = 'n'\n"
        "[[query]]\nquery = ''\nexpected = ['']\n",
    )
    first, second, third, blank = read_tests(path)
    assert first == RecallTest("what does she eat?", ("food", "food_allergy"), "what does she eat?")
    assert second == RecallTest("what time is it?", ("tz",), "time", "tg_1")
    assert (third.expected, third.rejected) == ((), ("old_plan",))
    assert blank == RecallTest("", ("",), "")


@pytest.mark.parametrize(
    ("fields", "mistake"),
    [
        ("expected = 'a'", '"query" is missing'),
        ("query = 'q'", '"expected" is missing'),
        ("query = 'q'\nexpect = 'a'", 'unknown field "expect"'),
        ("query = 'q'\nexpected = 'a'\nlimit = 3", 'unknown field "limit"'),
        ('query = "q"\n"\\u001b[31m" = 1', 'unknown field "␛[31m"'),
        ("query = 7\nexpected = 'a'", '"query" must be a string'),
        ("query = 'q'\nexpected = 'a'\nsession = false", '"session" must be a string'),
        ("query = 'q'\nexpected = []", '"expected" must be a key or a list of keys'),
        ("query = 'q'\nexpected = ['a', 7]", '"expected" must be a key or a list of keys'),
        ("query = 'q'\nexpected = ['a', 'b']\nrejected = 'b'", '"b" is both expected and rejected'),
    ],
)
def test_a_mistake_in_a_test_is_reported_with_its_table(tmp_path, fields, mistake):
    path = written(tmp_path, f"{VALID}[[query]]\n{fields}\n")
    assert refusal(path).message == f"[[query]] 2 of {path}: {mistake}."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (" \n\n", "{path} is not a list of tests."),
        ("\n\n[[query]]\nquery = \n", "{path} is not TOML in UTF-8: Invalid value (at line 4, column 9)."),
        ('{"query": "q", "expected": "a"}', "{path} is not TOML in UTF-8: Invalid statement (at line 1, column 1)."),
        ("[query]\nquery = 'q'\nexpected = 'a'\n", "{path} is not a list of tests."),
        ("[[queries]]\nquery = 'q'\n", "{path} is not a list of tests."),
        ("a = " + "[" * 5000, "{path} is not TOML in UTF-8: maximum recursion depth exceeded."),
    ],
)
def test_an_unreadable_file_is_reported_in_one_sentence(tmp_path, content, message):
    path = written(tmp_path, content)
    assert refusal(path).message == message.format(path=path)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_as_tests_or_refused_with_one_sentence(tmp_path_factory, content):
    path = written(tmp_path_factory.getbasetemp(), content)
    with pytest.raises(UsageError):
        read_tests(path)


def trial(library: Library, layer: str = "store", **changes: Any) -> Trial:
    """Return a recall of 5 memories with other settings."""
    request = RecallRequest("", layer=layer, as_of="2026-03-20T12:00:00+00:00")
    return Trial(request, library.profile.profile, library.settings._replace(**changes))


@pytest.fixture
def store(tmp_path):
    """Ten memories of ZeroClaw 0.5.7-0.7.5, enough to give a word some weight."""
    rows = [
        {"key": "lang", "content": "User prefers Rust", "category": "core"},
        {"key": "food", "content": "Likes ramen", "category": "core"},
        {"key": "chat", "content": "rust on the bicycle", "session_id": "tg_1"},
        *({"content": f"filler number {number}"} for number in range(7)),
    ]
    return make(tmp_path / "brain.db", "G2", rows)


async def test_a_run_measures_the_prompt_in_the_session_of_the_test(store):
    tests = [
        RecallTest("rust", ("lang",), "all"),
        RecallTest("rust", ("lang",), "one session", "tg_1"),
        RecallTest("ramen", ("food",), "food"),
    ]

    async with opened_at(store, "0.7.5") as library:
        run = await run_tests(library, "a.toml", tests, trial(library, threshold=1.6))
    everywhere, in_session, food = run.results
    assert set(everywhere.recalled) == {"lang", "chat"}
    assert (everywhere.hit, everywhere.injected) == (True, ())
    assert (in_session.recalled, in_session.hit) == (("chat",), False)
    assert food.injected == ("food",)
    assert (run.k, run.first.profile, run.first.threshold, run.search_mode) == (5, "0.7.5", 1.6, "hybrid")
