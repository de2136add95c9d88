"""Our own formats: JSONL and tables are read back exactly; Markdown is only for people."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memories import Row, UsageError, Value

from zeroclaw_tui.curation.export import markdown_head, markdown_section
from zeroclaw_tui.curation.formats import csv_file, jsonl
from zeroclaw_tui.curation.formats.jsonl import line_of
from zeroclaw_tui.curation.formats.source import MAX_FILE_SIZE, Source
from zeroclaw_tui.curation.transfer.imports import find_format

_NOT_UTF8 = st.binary(max_size=20).map(lambda data: data.decode("utf-8", "surrogateescape"))
_TEXT = (
    st.text(max_size=30) | _NOT_UTF8 | st.sampled_from(["\udcc3\udca9", "a\0b", "\r\n", "---\n*Created:\n### 🔑 `k`"])
)
_VALUE: st.SearchStrategy[Value] = (
    _TEXT | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=True) | st.binary(max_size=24) | st.none()
)
_COLUMNS = (
    "id", "key", "content", "category", "embedding", "created_at", "updated_at", "session_id", "namespace",
    "importance", "superseded_by", "agent_id", "kind", "pinned", "tenant_id", "embedding_dimensions",
)  # fmt: skip
_KINDS = st.sampled_from(['"episodic"', '{"semantic":"fact"}', '{"semantic": "fact"}', "{}", "no JSON", None])


@st.composite
def _rows(draw: st.DrawFn) -> Row:
    stated = _VALUE.filter(lambda value: value is not None)
    values: dict[str, Value] = {"key": draw(stated), "content": draw(stated), "id": draw(_VALUE)}
    for name in draw(st.sets(st.sampled_from(_COLUMNS[3:]))):
        values[name] = draw(_KINDS | _VALUE if name == "kind" else _VALUE)
    names = (st.text(max_size=9) | _NOT_UTF8).filter(lambda name: name not in _COLUMNS)
    for name in draw(st.sets(names, max_size=3)):
        values[name] = draw(_VALUE)
    stored = values["id"]
    text = stored.decode("utf-8", "surrogateescape") if isinstance(stored, bytes) else stored
    handle = draw(st.none() | st.integers(-(2**63), 2**63 - 1))
    return Row("" if text is None else str(text), values, handle, draw(st.none() | _TEXT))


def _exact(values: Any) -> dict[str, tuple[type, str]]:
    return {name: (type(value), repr(value)) for name, value in values.items()}


def _read_line(line: bytes, number: int = 2) -> Row:
    return jsonl.row_of_line(line.decode(), number, Counter())


@given(_rows())
def test_every_value_is_read_back_exactly(row):
    line = line_of(row, vectors=True)
    assert line.count(b"\n") == 1
    back = _read_line(line)
    assert (back.id, back.handle, back.agent) == (row.id, row.handle, row.agent)
    assert _exact(back.values) == _exact(row.values)


def test_a_line_has_the_field_names_that_commands_print():
    values: dict[str, Value] = {
        "id": "7", "key": "lang", "content": "Rust\r\n", "category": "core", "created_at": "2026-02-01T10:00:00+00:00",
        "updated_at": "2026-02-02T10:00:00+00:00", "session_id": None, "importance": 0.5, "kind": '{"semantic":"fact"}',
        "pinned": 1, "embedding": b"\0\0\x80?" * 3, "agent_id": "a1", "mood": b"\xff",
    }  # fmt: skip
    assert json.loads(line_of(Row("7", values, 12, "zoe"), vectors=True)) == {
        "id": "7", "key": "lang", "content": "Rust\r\n", "category": "core", "timestamp": "2026-02-01T10:00:00+00:00",
        "updated_at": "2026-02-02T10:00:00+00:00", "session_id": None, "importance": 0.5, "kind": "semantic:fact",
        "pinned": True, "agent": "zoe", "embedding_dimensions": 3, "embedding": "AACAPwAAgD8AAIA/", "rowid": 12,
        "columns": {"agent_id": "a1", "mood": {"base64": "/w=="}},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[1, 2]\n", "is not a memory: it is not an object"),
        (b'{"key": "a", "content": "cut of', "cut off"),
        (b'{"key": "a"}\n', "it has no content"),
        (b'{"key": null, "content": "b"}\n', "it has no key"),
        (b'{"key": 5, "content": "b"}\n', "key is not text"),
        (b'{"key": "a", "content": "b", "importance": 1e999}\n', "importance is not a number"),
        (b'{"key": "a", "content": "b", "importance": NaN}\n', "importance is not a number"),
        (b'{"key": "a", "content": "b", "columns": {"x": -Infinity}}\n', "x is not a number"),
        (b'{"key": "a", "content": "b", "importance": 99999999999999999999}\n', "importance is not a number"),
        (b'{"key": "a", "content": "b", "pinned": "yes"}\n', "pinned is not a number"),
        (b'{"key": "a", "content": "b", "kind": "odd"}\n', "kind is not a kind that ZeroClaw knows"),
        (b'{"key": "a", "content": "b", "columns": 1}\n', "its columns are not an object"),
        (b'{"key": "a", "content": "b", "columns": {"x": {"base64": "!"}}}\n', "x is not base64"),
        (b'{"key": "a", "content": "b", "columns": {"x": {"text_bytes": 1}}}\n', "x is an object that is no"),
        (b'{"key": "a", "content": "b", "columns": {"x": {"surrogates": "/w=="}}}\n', "x is"),
        (b'{"key": "a", "content": "b", "embedding": [1, 2]}\n', "embedding is not base64"),
        (b'{"key": "a", "content": "b\\ud800"}\n', "half a character"),
        (b"[" * 100_000 + b"\n", "not JSON"),
        (b'{"key": "a", "content": "b", "importance": ' + b"9" * 5_000 + b"}\n", "not JSON"),
    ],
)
def test_an_invalid_line_is_reported_with_its_number(line, reason):
    with pytest.raises(UsageError, match="Line 1,234 ") as failure:
        _read_line(line, 1_234)
    assert reason in str(failure.value)


def test_an_export_may_exceed_the_size_limit_of_other_formats(tmp_path):
    """Other formats read whole files up to a maximum size; their readers do not see our exports."""
    file = tmp_path / "all.jsonl"
    with file.open("wb") as written:
        written.write(b'{"key": "first", "content": "text"}\n')
        written.truncate(MAX_FILE_SIZE + 1)
    assert find_format(Source(file)).name == "jsonl"


# Tables and Markdown


ROW = Row(
    "7",
    {
        "id": "7", "key": "k", "content": 'a "b",\r\nc', "category": "core", "created_at": "2026-03-01 10:00",
        "updated_at": None, "session_id": None, "namespace": "default", "importance": 0.5, "superseded_by": None,
        "kind": '{"semantic":"fact"}', "pinned": 1,
    },
    12,
    "zoe",
)  # fmt: skip


def _read(tmp_path: Path, data: bytes) -> tuple[list[Row], Counter[str]]:
    (tmp_path / "x").write_bytes(data)
    source, lost = Source(tmp_path / "x"), Counter[str]()
    found = find_format(source)
    assert found.name == "csv"
    return list(found.read(source, lost)), lost


def test_an_exported_table_is_read_back(tmp_path):
    ((row,), lost) = _read(tmp_path, csv_file.header_line() + csv_file.line_of(ROW))
    assert (row.id, row.agent, row.handle) == ("7", "zoe", None)
    assert row.values == {name: value for name, value in ROW.values.items() if value is not None}
    assert lost == {}


@given(st.fixed_dictionaries(dict.fromkeys(("key", "content", "category"), st.text(min_size=1, max_size=40))))
def test_any_text_is_read_back_from_a_table(tmp_path_factory, values):
    rows, _ = _read(tmp_path_factory.mktemp("table"), csv_file.header_line() + csv_file.line_of(Row("", values)))
    assert [row.values for row in rows] == [values]


def test_a_first_line_may_have_capitals_and_blanks(tmp_path):
    rows, lost = _read(tmp_path, b",Key, Content\n0,b,Bees\n")
    assert [row.values for row in rows] == [{"key": "b", "content": "Bees"}]
    assert lost == {"column (no name)": 1}


def test_only_non_empty_cells_of_other_tables_are_read(tmp_path):
    table = (
        "\ufeffcontent,key,importance,pinned,timestamp,mood\r\n"
        "Bees,b,0.5,TRUE,2026-03-01T10:00:00+00:00,calm\r\n\r\n"
        "Wax,w,high,no,,\r\n"
    )
    rows, lost = _read(tmp_path, table.encode())
    assert [row.values for row in rows] == [
        {"key": "b", "content": "Bees", "importance": 0.5, "pinned": 1, "created_at": "2026-03-01T10:00:00+00:00"},
        {"key": "w", "content": "Wax"},
    ]
    assert lost == {"column mood": 1, "importance that cannot be read": 1, "pinned that cannot be read": 1}


def test_no_content_ends_its_fence_in_a_markdown_export():
    text = markdown_head("2026-11-23", "sqlite") + markdown_section(
        Row("7", {**ROW.values, "content": "~~~~\nBees\n~~~~"}, None, "zoe")
    )
    assert text.decode() == (
        "# ZeroClaw memories\n\nExported 2026-11-23 from sqlite. This file is for reading; JSONL can be imported again."
        "\n\n## k\n\ncore · 2026-03-01 10:00 · importance 0.5 · kind semantic:fact · pinned yes · agent zoe\n"
        "\n~~~~~\n~~~~\nBees\n~~~~\n~~~~~\n"
    )
