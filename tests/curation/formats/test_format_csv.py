"""A table of memories is written and read back, and any other table with a key and a content is read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from zeroclaw_tui.curation.export import markdown_head, markdown_section
from zeroclaw_tui.curation.formats import csv_file
from zeroclaw_tui.curation.formats.registry import find_format
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.change import Row

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


def test_another_table_states_only_its_full_cells(tmp_path):
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


def test_markdown_is_for_people_and_nothing_in_a_content_ends_its_fence():
    text = markdown_head("2026-11-23", "sqlite") + markdown_section(
        Row("7", {**ROW.values, "content": "~~~~\nBees\n~~~~"}, None, "zoe")
    )
    assert text.decode() == (
        "# ZeroClaw memories\n\nExported 2026-11-23 from sqlite. This file is for reading; JSONL can be imported again."
        "\n\n## k\n\ncore · 2026-03-01 10:00 · importance 0.5 · kind semantic:fact · pinned yes · agent zoe\n"
        "\n~~~~~\n~~~~\nBees\n~~~~\n~~~~~\n"
    )
