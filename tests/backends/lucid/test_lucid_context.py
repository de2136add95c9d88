"""The program's output is read, scored and merged as by ZeroClaw's bridge."""

from __future__ import annotations

import pytest
from support.questions import ScoredEntry

from zeroclaw_tui.backends.lucid import CLOSING, OPENING, category_of, items_in, scored

NOW = "2026-11-22T10:00:00.000000000+00:00"


def block(*lines: str) -> str:
    return "\n".join([OPENING, *lines, CLOSING, ""])


def read(text: str) -> list[ScoredEntry]:
    return scored(items_in(text), NOW, "default", 1)


def test_the_context_printed_by_the_program_is_read():
    """Visual items, other types and the summary line; an item without text is ignored."""
    found = read(
        "- [bug] before the tag\n"
        + block(
            "Relevant context (2 text, 1 visual, ~40 tokens):", "- [Visual, image] red car", "- [bug] x", "-[x] y",
            "- [solution]", "  - [decision]  tea: likes green tea  ",
        )
        + "- [bug] behind the tag\n"
    )  # fmt: skip
    message = [(row.entry.id, row.entry.key, row.entry.category, row.entry.content, row.score) for row in found]
    assert message == [
        ("lucid:0", "lucid_0", "visual", "red car", 1.0),
        ("lucid:1", "lucid_1", "daily", "x", 0.95),
        ("lucid:2", "lucid_2", "core", "tea: likes green tea", 0.9),
    ]
    assert {(row.stage, row.entry.timestamp, row.entry.namespace) for row in found} == {("lucid", NOW, "default")}
    assert [row.entry.size for row in found] == [7, 1, 20]


@pytest.mark.parametrize(
    ("label", "category"),
    [
        ("decision", "core"), ("SOLUTION", "core"), ("context", "conversation"), ("bug", "daily"),
        ("audiovisual", "visual"), ("Recipe", "recipe"), ("", ""),
    ],
)  # fmt: skip
def test_a_label_becomes_a_category(label, category):
    """Labels are case-insensitive; an unknown one becomes its own category, in lower case."""
    assert category_of(label) == category
    assert [row.entry.category for row in read(block(f"- [ {label} ] text"))] == [category]


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ("", []),
        ("- [bug] no tags at all", []),
        (f"{CLOSING}\n{block('- [bug] the closing tag came first')}", []),
        (f"{OPENING}\n- [bug] never closed", ["never closed"]),
        (f"{OPENING}\r\n- [bug] line ends of Windows\r\n{CLOSING}\r\n", ["line ends of Windows"]),
        (f"\t {OPENING} \n- [bug] blanks around\u2003\n {CLOSING}", ["blanks around"]),
        (f"{OPENING} \n{OPENING}\n- [bug] opened twice\n{CLOSING}", ["opened twice"]),
        (block("- [bug] a\x0bb\x1c\u2028c"), ["a\x0bb\x1c\u2028c"]),
        (block("- [bug] first line", "second line"), ["first line"]),
        (block("- [a]b] c"), ["b] c"]),
        (block("- [no end of the label"), []),
        (block("- [bug] \x1b[31mred\x07"), ["\x1b[31mred\x07"]),
        (block("- [bug] one") + block("- [bug] a second block"), ["one"]),
    ],
)
def test_only_items_between_the_tags_count(text, contents):
    """Only a line feed ends a line; surrounding blanks are ignored; text is kept unchanged."""
    assert [row.entry.content for row in read(text)] == contents
