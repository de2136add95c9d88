"""Front matter and the blocks of a note."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.curation.formats.foreign import tagged
from zeroclaw_tui.curation.formats.front_matter import (
    LARGEST_NOTE,
    blocks_of,
    items_of,
    note_of,
    read_note,
)
from zeroclaw_tui.curation.formats.old_source import Report, Source

LINES = "---,# A,## B ##,- a,  - b,1. c,```,~~~,> q,text,\t,[x]: y,===,<div>,- [ ] t,**k**: v,[[Link]],a: b,\r,\x00"
MARKDOWN = st.lists(st.sampled_from([*LINES.split(","), "", "| a | b |", "|---|---|", "- " * 30]), max_size=30).map(
    "\n".join
)


def test_a_date_stays_the_text_that_it_is_and_so_does_a_time_of_day() -> None:
    note = note_of("---\ncreated: 2026-03-01\nat: 12:30\nsure: yes\ncount: 3\nold: 007\n---\n\nBees\n")
    assert note.front == {"created": "2026-03-01", "at": "12:30", "sure": "yes", "count": 3, "old": "007"}
    assert note.body == "\nBees\n"
    assert note.first == 8


@pytest.mark.parametrize(
    "front",
    [
        "a: &x 1\nb: *x",
        "a: !!python/object/apply:os.system [id]",
        "a: !!binary eA==",
        'a: "\\ud800"',
        "a: b: c",
        "a: [",
        "[" * 1000,
    ],
    ids=["alias", "object", "tag", "half a character", "two colons", "open", "deep"],
)
def test_front_matter_that_is_not_plain_yaml_makes_the_whole_file_markdown(front: str) -> None:
    text = f"---\n{front}\n---\nBees\n"
    note = note_of(text)
    assert note.body == text
    assert note.front == {}
    assert note.problem is not None
    assert note.problem.startswith("Its front matter is not valid YAML")


@pytest.mark.parametrize("text", ["---\nBees\n---\nmore\n", "---\nno end\n", "a\n---\nb: c\n---\n", "---\n- a\n---\n"])
def test_rules_are_not_taken_for_front_matter(text: str) -> None:
    note = note_of(text)
    assert note.body == text
    assert note.problem is None


def test_front_matter_of_more_than_64_kb_is_not_read() -> None:
    note = note_of(f"---\na: {'b' * 70_000}\n---\nBees\n")
    assert note.front == {}
    assert note.problem == "Its front matter is larger than 64 kB."


def test_a_fence_a_table_and_what_hangs_on_an_item_stay_whole() -> None:
    note = note_of(
        "# A\n\n## B\n- one\n  - below\n\n  more\n- two\n\n```\n# no heading\n- no item\n```\n| a |\n|---|\n| b |\n"
    )
    assert [(block.line, block.text, block.is_item) for block in blocks_of(note)] == [
        (4, "one\n- below\n\nmore", True),
        (8, "two", True),
        (10, "```\n# no heading\n- no item\n```", False),
        (14, "| a |\n|---|\n| b |", False),
    ]
    assert {block.headings for block in blocks_of(note)} == {("A", "B")}


def test_a_rule_under_a_paragraph_and_what_defines_a_link_lose_no_text() -> None:
    note = note_of("Bees\n---\n[wax]: https://bees.example\n")
    assert [block.text for block in blocks_of(note)] == ["Bees", "[wax]: https://bees.example"]


def test_items_of_lists_are_found_at_any_depth_but_in_no_quotation() -> None:
    note = note_of("- a\n  - b\n    goes on\n\n> - quoted\n\n1. c\n")
    assert [(item.line, item.behind, item.text) for item in items_of(note)] == [
        (1, 2, "a"),
        (2, 4, "b\ngoes on"),
        (7, 8, "c"),
    ]


def test_tags_are_added_where_the_text_does_not_say_them() -> None:
    assert tagged("Bees #home", ["bees", "home", "bee"]) == "Bees #home\n\nTags: bee"


@given(MARKDOWN)
def test_no_line_of_any_markdown_is_lost(text: str) -> None:
    """Every line with a letter is a heading's, or stands in exactly one block in its place."""
    note = note_of(text)
    lines = note.body.split("\n")
    for block in blocks_of(note):
        first = lines[block.line - note.first]
        assert block.text.split("\n")[0].strip() in first
    shown = "\n".join(block.text for block in blocks_of(note)) + "\n".join(
        heading for block in blocks_of(note) for heading in block.headings
    )
    for word in ("text", "**k**: v", "[[Link]]", "[x]: y"):
        assert shown.count(word) >= sum(line.strip() == word for line in lines)


@given(MARKDOWN | st.text())
def test_any_text_is_a_note(text: str) -> None:
    note = note_of(text)
    for item in items_of(note):
        assert 1 <= item.line < item.behind <= note.first + note.body.count("\n") + 1


def test_a_note_that_cannot_be_read_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "large.md").write_bytes(b"a" * (LARGEST_NOTE + 1))
    (tmp_path / "latin.md").write_bytes(b"M\xe4rz")
    (tmp_path / "odd.md").write_text("---\na: *b\n---\n")
    source, report = Source(tmp_path), Report()
    notes = {str(file): read_note(source, file, report) for file in map(PurePosixPath, ("large.md", "latin.md"))}
    assert notes == {"large.md": None, "latin.md": None}
    assert report.left == {"large.md": "larger than 4 MB", "latin.md": "latin.md is not UTF-8."}
    assert read_note(source, PurePosixPath("odd.md"), report) is not None
    assert [sentence for sentence in report.notes if "odd.md" in sentence and "as Markdown" in sentence]
