"""Files of recall tests: what they can have, and one sentence with the place for each thing that can be wrong."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.curation.recall_test_files import (
    MOST_TOML_BYTES,
    TestQuery,
    append_queries,
    read_queries,
)
from zeroclaw_tui.memory.errors import UsageError

GOOD = '[[query]]\nquery = "what does she eat?"\nexpected = ["food", "food_allergy"]'
TOO_DEEP = "its values are nested too deeply"
READ = TestQuery("what does she eat?", ("food", "food_allergy"), "what does she eat?")


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def refusal(path: Path) -> UsageError:
    with pytest.raises(UsageError) as refused:
        read_queries(path)
    assert refused.value.exit_code == 2
    assert refused.value.hint
    assert "\n" not in refused.value.message
    return refused.value


def test_toml_with_everything_a_query_can_have(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "golden.toml",
        "# what I ask most\n[[query]]\nquery = 'what does she eat?'\nexpected = ['food', 'food_allergy', 'food']\n"
        "[[query]]\nname = 'time'\nquery = 'what time is it?'\nexpected = 'tz'\nsession = 'tg_1'\n",
    )
    assert read_queries(path) == (READ, TestQuery("what time is it?", ("tz",), "time", "tg_1"))


@pytest.mark.parametrize("name", ["golden.toml", "golden", "golden.txt"])
def test_the_name_of_a_file_may_be_any_but_one_of_json(tmp_path: Path, name: str) -> None:
    assert read_queries(written(tmp_path, name, f"\n{GOOD}")) == (READ,)


@pytest.mark.parametrize("name", ["golden.jsonl", "golden.json", "golden.NDJSON", "golden"])
def test_jsonl_is_answered_with_what_to_write_instead(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, json.dumps({"query": "q", "expected": "a"}) + "\n")
    answer = refusal(path)
    assert answer.message == f"{path} is not TOML: recall tests in JSON or JSONL are no longer read."
    assert "`zeroclaw memory help queries`" in answer.hint
    with pytest.raises(UsageError, match="no longer read"):
        append_queries(path, READ)
    assert json.loads(path.read_text()) == {"query": "q", "expected": "a"}


def test_no_test_is_added_to_a_new_file_with_a_name_of_jsonl(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no longer read"):
        append_queries(tmp_path / "new.jsonl", READ)
    assert not list(tmp_path.iterdir())


def test_a_byte_order_mark_is_no_part_of_the_first_query(tmp_path: Path) -> None:
    assert read_queries(written(tmp_path, "a.toml", b"\xef\xbb\xbf" + GOOD.encode())) == (READ,)


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(GOOD.encode())))
    assert read_queries(Path("-")) == (READ,)


def test_a_blank_query_and_an_empty_key_are_what_a_store_can_have(tmp_path: Path) -> None:
    path = written(tmp_path, "a.toml", '[[query]]\nquery = ""\nexpected = [""]')
    assert read_queries(path) == (TestQuery("", ("",), ""),)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ({"expected": "a"}, '"query" is missing'),
        ({"query": "q"}, '"expected" is missing'),
        ({"query": "q", "expect": "a"}, 'unknown field "expect" (did you mean "expected"?)'),
        ({"query": "q", "expected": "a", "limit": 3}, 'unknown field "limit"'),
        ({"query": 7, "expected": "a"}, '"query" must be a string'),
        ({"query": "q", "expected": []}, '"expected" names no key'),
        ({"query": "q", "expected": 7}, '"expected" must be a key or a list of keys'),
        ({"query": "q", "expected": ["a", 7]}, '"expected" must be a key or a list of keys'),
        ({"query": "q", "expected": "a", "name": 7}, '"name" must be a string'),
        ({"query": "q", "expected": "a", "session": False}, '"session" must be a string'),
    ],
)
def test_a_query_that_is_not_right_is_named_by_its_table(tmp_path: Path, line: dict[str, object], fault: str) -> None:
    table = "".join(f"{name} = {json.dumps(value)}\n" for name, value in line.items())
    tables = written(tmp_path, "a.toml", f"[[query]]\nquery = 'q'\nexpected = 'a'\n[[query]]\n{table}")
    assert refusal(tables).message == f"[[query]] 2 of {tables}: {fault}."


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.toml", "", "{path} is empty."),
        ("a.toml", " \n\n", "{path} is empty."),
        ("a.toml", "# nothing yet\n", "{path} has no tests."),
        ("a.toml", "\n\n[[query]]\nquery = \n", "{path} is not TOML: invalid value (at line 4, column 9)."),
        ("a.toml", "[query]\nquery = 'q'\nexpected = 'a'\n", "query in {path} is not a list of tables."),
        ("a.toml", "query = ['q']\n", "query in {path} is not a list of tables."),
        ("a.toml", "[[queries]]\nquery = 'q'\n", '{path} has an unknown entry "queries".'),
        ("a.toml", b"[[query]]\nquery = '\xff'\n", "Line 2 of {path} is not UTF-8."),
        ("a.toml", "a = " + "[" * 5000, f"{{path}} is not TOML: {TOO_DEEP}."),
        ("a.toml", GOOD.encode("utf-16"), "Line 1 of {path} is not UTF-8."),
        ("a.toml", '[[query]]\nquery = "q"\n"\\u001b[31m" = 1', '[[query]] 1 of {path}: unknown field "␛[31m".'),
    ],
)  # fmt: skip
def test_a_file_that_is_not_right_gets_one_sentence(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    path = written(tmp_path, name, content)
    assert refusal(path).message == message.format(path=path)


def test_what_cannot_be_read_at_all(tmp_path: Path) -> None:
    assert refusal(tmp_path).message == f"{tmp_path} cannot be read: Is a directory."
    assert refusal(tmp_path / "none.toml").message.endswith("cannot be read: No such file or directory.")


def test_a_huge_toml_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "huge.toml"
    with path.open("wb") as file:
        file.write(b"# long\n")
        file.truncate(1024**3)
    assert refusal(path).message == f"{path} is larger than 8 MB."
    assert MOST_TOML_BYTES == 8 * 1024**2


def test_a_byte_order_mark_does_not_hide_that_a_file_is_too_large(tmp_path: Path) -> None:
    path = written(tmp_path, "a.toml", b"\xef\xbb\xbf" + GOOD.encode() + b"\n#" + b"x" * MOST_TOML_BYTES)
    assert refusal(path).message == f"{path} is larger than 8 MB."


def test_a_test_with_half_a_character_is_not_written(tmp_path: Path) -> None:
    for test, field in ((TestQuery("\ud800", ("a",), "n"), "query"), (TestQuery("q", ("\ud800",), "n"), "expected")):
        with pytest.raises(UsageError, match=f'"{field}" has a lone surrogate'):
            append_queries(tmp_path / "tests.toml", test)
    assert not list(tmp_path.iterdir())


@given(st.binary(max_size=60), st.sampled_from(["a.toml", "a"]))
def test_whatever_bytes_a_file_has_they_are_queries_or_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str
) -> None:
    path = written(tmp_path_factory.getbasetemp(), name, content)
    with pytest.raises(UsageError):
        read_queries(path)


TEXT = st.text(st.characters(codec="utf-8"), max_size=12)


@given(st.lists(st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=3, unique=True)), min_size=1, max_size=4))
def test_what_another_program_writes_as_toml_is_read(
    tmp_path_factory: pytest.TempPathFactory, queries: list[tuple[str, list[str]]]
) -> None:
    import tomlkit

    tables = [{"query": query, "expected": expected} for query, expected in queries]
    path = written(tmp_path_factory.getbasetemp(), "same.toml", tomlkit.dumps({"query": tables}))
    assert [(read.query, list(read.expected)) for read in read_queries(path)] == queries


def test_what_must_not_come_and_whose_turn_it_is(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "a.toml",
        "[[query]]\nquery = 'plans?'\nrejected = 'old_plan'\nagent = 'ann'\nchannel = 'telegram.main'\nnote = 'n'\n",
    )
    (read,) = read_queries(path)
    assert (read.expected, read.rejected, read.agent, read.channel) == ((), ("old_plan",), "ann", "telegram.main")
    assert (read.rule, read.note) == ("channel", "n")


@pytest.mark.parametrize(
    ("channel", "rule"),
    [(None, None), ("cli", "cli"), ("Telegram.main", "channel"), ("heartbeat", "cron"), ("acp", "library")],
)
def test_a_channel_says_by_which_rule_the_prompt_is_made(channel: str | None, rule: str | None) -> None:
    assert TestQuery("q", ("a",), "q", channel=channel).rule == rule


def test_a_key_cannot_be_both(tmp_path: Path) -> None:
    path = written(tmp_path, "a.toml", '[[query]]\nquery = "q"\nexpected = ["a", "b"]\nrejected = "b"')
    assert '"b" is both expected and rejected' in refusal(path).message


@pytest.mark.parametrize(
    "present",
    [
        b"",
        b"# my tests",
        b"# CRLF\r\n[[query]]\r\nquery = 'a'\r\nexpected = 'x'\r\n",
        b"\xef\xbb\xbf[[query]]\nquery = 'a'\nexpected = 'x'   # no line end",
    ],
)
def test_a_test_is_added_at_the_end_and_the_rest_stays_byte_for_byte(tmp_path: Path, present: bytes) -> None:
    path = written(tmp_path, "tests.toml", present)
    path.chmod(0o640)
    before = read_queries(path) if b"[[" in present else ()
    added = TestQuery(
        'say "hi"\\ \x7f\x00\n[[query]]', ("k'1", ""), "a name", "s", ("no",), "ann", "telegram", "as it was"
    )
    append_queries(path, added)
    assert path.read_bytes().startswith(present)
    assert read_queries(path) == (*before, added)
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["tests.toml"]


def test_a_test_file_is_made_where_there_is_none_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "own" / "tests.toml"
    append_queries(path, READ)
    assert read_queries(path) == (READ,)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "present",
    [b"[[query]\n", b"title = 'x'\n", b"query = [{query = 'a', expected = 'x'}]\n", b"[[query]]\nquery = 'a'\n"],
)
def test_a_file_that_takes_no_test_stays_as_it_is(tmp_path: Path, present: bytes) -> None:
    path = written(tmp_path, "tests.toml", present)
    with pytest.raises(UsageError):
        append_queries(path, READ)
    assert path.read_bytes() == present


@given(
    st.builds(
        TestQuery,
        st.text(max_size=20),
        st.lists(st.text(max_size=9), min_size=1, max_size=3, unique=True).map(tuple),
        st.text(min_size=1, max_size=9),
        st.none() | st.text(max_size=9),
    )
)
def test_whatever_a_test_says_is_read_back(tmp_path_factory: pytest.TempPathFactory, asked: TestQuery) -> None:
    path = tmp_path_factory.mktemp("tests") / "tests.toml"
    append_queries(path, asked)
    append_queries(path, READ)
    assert read_queries(path) == (asked, READ)
