"""Files of test queries: both forms, and one sentence with the place for each thing that can be wrong with one."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.curation.evaluation.queries import (
    MOST_LINE_BYTES,
    MOST_TOML_BYTES,
    TestQuery,
    append_queries,
    read_queries,
)
from zeroclaw_tui.memory.errors import UsageError

GOOD = {"query": "what does she eat?", "expected": ["food", "food_allergy"]}
TOO_DEEP = "its values are nested too deeply"
HALF = "has half a character (a lone surrogate)"
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


@pytest.mark.parametrize("name", ["golden.jsonl", "golden.json", "golden.ndjson", "golden", "golden.txt"])
def test_jsonl_with_blank_lines_and_nulls(tmp_path: Path, name: str) -> None:
    second = {"query": "time?", "expected": "tz", "name": None, "session": None}
    path = written(tmp_path, name, f"\n{json.dumps(GOOD)}\r\n\n{json.dumps(second)}")
    assert read_queries(path) == (READ, TestQuery("time?", ("tz",), "time?"))


def test_a_name_that_says_nothing_is_told_by_its_beginning(tmp_path: Path) -> None:
    path = written(tmp_path, "golden", "\n[[query]]\nquery = 'what does she eat?'\nexpected = ['food', 'food_allergy']")
    assert read_queries(path) == (READ,)


@pytest.mark.parametrize("name", ["a.toml", "a.jsonl"])
def test_a_byte_order_mark_is_no_part_of_the_first_query(tmp_path: Path, name: str) -> None:
    toml = '[[query]]\nquery = "what does she eat?"\nexpected = ["food", "food_allergy"]'
    content = toml if name.endswith("toml") else json.dumps(GOOD)
    assert read_queries(written(tmp_path, name, b"\xef\xbb\xbf" + content.encode())) == (READ,)


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(GOOD).encode())))
    assert read_queries(Path("-")) == (READ,)


def test_a_blank_query_and_an_empty_key_are_what_a_store_can_have(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", '{"query": "", "expected": [""]}')
    assert read_queries(path) == (TestQuery("", ("",), ""),)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ({"expected": "a"}, '"query" is missing'),
        ({"query": "q"}, '"expected" is missing'),
        ({"query": "q", "expect": "a"}, 'there is no "expect", but "expected"'),
        ({"query": "q", "expected": "a", "limit": 3}, 'there is no "limit"'),
        ({"query": 7, "expected": "a"}, '"query" must be a text'),
        ({"query": "q", "expected": []}, '"expected" names no key'),
        ({"query": "q", "expected": 7}, '"expected" must be a key or a list of keys'),
        ({"query": "q", "expected": ["a", 7]}, '"expected" must be a key or a list of keys'),
        ({"query": "q", "expected": "a", "name": 7}, '"name" must be a text'),
        ({"query": "q", "expected": "a", "session": False}, '"session" must be a text'),
    ],
)
def test_a_query_that_is_not_right_is_named_by_line_or_table(
    tmp_path: Path, line: dict[str, object], fault: str
) -> None:
    lines = written(tmp_path, "a.jsonl", f"{json.dumps(GOOD)}\n\n{json.dumps(line)}\n")
    assert refusal(lines).message == f"Line 3 of {lines}: {fault}."
    table = "".join(f"{name} = {json.dumps(value)}\n" for name, value in line.items())
    tables = written(tmp_path, "a.toml", f"[[query]]\nquery = 'q'\nexpected = 'a'\n[[query]]\n{table}")
    assert refusal(tables).message == f"[[query]] 2 of {tables}: {fault}."


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.toml", "", "{path} is empty."),
        ("a.jsonl", " \n\n", "{path} is empty."),
        ("a.toml", "# nothing yet\n", "{path} holds no queries."),
        ("a.toml", "\n\n[[query]]\nquery = \n", "{path} is no TOML: invalid value (at line 4, column 9)."),
        ("a.toml", "[query]\nquery = 'q'\nexpected = 'a'\n", "query in {path} is no list of tables."),
        ("a.toml", "query = ['q']\n", "query in {path} is no list of tables."),
        ("a.toml", "[[queries]]\nquery = 'q'\n", '{path} has "queries", which is no query.'),
        ("a.toml", b"[[query]]\nquery = '\xff'\n", "Line 2 of {path} is not UTF-8."),
        ("a.toml", "a = " + "[" * 5000, f"{{path}} is no TOML: {TOO_DEEP}."),
        ("a.jsonl", "\n" + '{"query": ', "Line 2 of {path} is no JSON: expecting value at column 10."),
        ("a.json", "[\n" + json.dumps(GOOD), "Line 1 of {path} is no JSON: expecting value at column 2."),
        ("a.jsonl", '["q"]\n', "Line 1 of {path} is no JSON object."),
        ("a.jsonl", b'{"query": "\xff"}\n', "Line 1 of {path} is not UTF-8."),
        ("a.jsonl", json.dumps(GOOD).encode("utf-16"), "Line 1 of {path} is not UTF-8."),
        ("a.jsonl", "[" * 100_000, f"Line 1 of {{path}} is JSON that cannot be read: {TOO_DEEP}."),
        ("a.jsonl", '{"query": "\\ud800", "expected": "a"}', f'Line 1 of {{path}}: "query" {HALF}.'),
        ("a.jsonl", '{"query": "q", "expected": ["\\ud800"]}', f'Line 1 of {{path}}: "expected" {HALF}.'),
        ("a.jsonl", '{"\\u001b[31m": 1}', 'Line 1 of {path}: there is no "␛[31m".'),
    ],
)  # fmt: skip
def test_a_file_that_is_not_right_is_told_in_one_sentence(
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
    assert "longer than 8 MB" in refusal(path).message
    assert MOST_TOML_BYTES == 8 * 1024**2


def test_a_huge_line_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as file:
        file.write(json.dumps(GOOD).encode() + b"\n{")
        file.truncate(1024**3)
    assert refusal(path).message == f"Line 2 of {path} is longer than 1 MB."
    assert MOST_LINE_BYTES == 1024**2


def test_more_queries_than_anybody_waits_for(tmp_path: Path) -> None:
    path = written(tmp_path, "many.jsonl", '{"query": "q", "expected": "a"}\n' * 100_001)
    assert refusal(path).message == f"{path} holds more than 100,000 queries."


@given(st.binary(max_size=60), st.sampled_from(["a.toml", "a.jsonl", "a"]))
def test_whatever_bytes_a_file_has_they_are_queries_or_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str
) -> None:
    path = written(tmp_path_factory.getbasetemp(), name, content)
    with pytest.raises(UsageError):
        read_queries(path)


TEXT = st.text(st.characters(codec="utf-8"), max_size=12)


@given(st.lists(st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=3)), min_size=1, max_size=4))
def test_both_forms_say_the_same(
    tmp_path_factory: pytest.TempPathFactory, queries: list[tuple[str, list[str]]]
) -> None:
    import tomlkit

    folder = tmp_path_factory.getbasetemp()
    objects = [{"query": query, "expected": expected} for query, expected in queries]
    lines = written(folder, "same.jsonl", "\n".join(map(json.dumps, objects)))
    tables = written(folder, "same.toml", tomlkit.dumps({"query": objects}))
    assert read_queries(lines) == read_queries(tables)


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
    path = written(tmp_path, "a.jsonl", '{"query": "q", "expected": ["a", "b"], "rejected": "b"}')
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
def test_a_test_is_put_behind_what_stands_there_byte_for_byte(tmp_path: Path, present: bytes) -> None:
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


def test_a_line_is_put_behind_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", json.dumps(GOOD))
    append_queries(path, TestQuery("b", (), "b", rejected=("x",)))
    assert read_queries(path) == (READ, TestQuery("b", (), "b", rejected=("x",)))


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
