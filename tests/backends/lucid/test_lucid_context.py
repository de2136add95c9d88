"""What the program prints, read, scored and merged as ZeroClaw's bridge does it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.backends.lucid import (
    CLOSING,
    OPENING,
    category_of,
    is_within_bounds,
    items_in,
    merged,
    scored,
)
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry

NOW = "2026-11-22T10:00:00.000000000+00:00"


def block(*lines: str) -> str:
    return "\n".join([OPENING, *lines, CLOSING, ""])


def read(text: str) -> list[ScoredEntry]:
    return scored(items_in(text), NOW, "default", 1)


def local(key: str, content: str, timestamp: str = NOW) -> ScoredEntry:
    return ScoredEntry(MemoryEntry(key, key, content, "core", timestamp, handle=7), 1, 0.3, stage="keyword")


def test_a_context_as_the_program_prints_it() -> None:
    """Visual items, other types and the summary line; an item without text is none."""
    found = read(
        "- [bug] before the tag\n"
        + block(
            "Relevant context (2 text, 1 visual, ~40 tokens):",
            "- [Visual, image] red car",
            "- [bug] x",
            "-[x] y",
            "- [solution]",
            "  - [decision]  tea: likes green tea  ",
        )
        + "- [bug] behind the tag\n"
    )
    told = [(row.entry.id, row.entry.key, row.entry.category, row.entry.content, row.score) for row in found]
    assert told == [
        ("lucid:0", "lucid_0", "visual", "red car", 1.0),
        ("lucid:1", "lucid_1", "daily", "x", 0.95),
        ("lucid:2", "lucid_2", "core", "tea: likes green tea", 0.9),
    ]
    assert {(row.stage, row.entry.timestamp, row.entry.namespace) for row in found} == {("lucid", NOW, "default")}
    assert [row.entry.size for row in found] == [7, 1, 20]


def test_scores_fall_by_a_twentieth_and_stay_at_a_tenth() -> None:
    """1.0, 0.95, 0.90 …; from the nineteenth on 0.1."""
    scores = [row.score for row in read(block(*(f"- [bug] {number}" for number in range(25))))]
    assert scores[:3] == pytest.approx([1.0, 0.95, 0.90])
    assert scores[17] == pytest.approx(0.15)
    assert scores[18:] == pytest.approx([0.1] * 7)


@pytest.mark.parametrize(
    ("label", "category"),
    [
        ("decision", "core"),
        ("Learning", "core"),
        ("SOLUTION", "core"),
        ("context", "conversation"),
        ("conversation", "conversation"),
        ("bug", "daily"),
        ("Visual, video", "visual"),
        ("audiovisual", "visual"),
        ("Recipe", "recipe"),
        ("core", "core"),
        ("", ""),
    ],
)
def test_a_label_is_a_category(label: str, category: str) -> None:
    """Whatever its letters' case; one that nobody knows is a category of its own, in small letters."""
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
def test_only_items_between_the_tags_count(text: str, contents: list[str]) -> None:
    """Lines end at a line feed alone; blanks around count nowhere; text is kept as it came."""
    assert [row.entry.content for row in read(text)] == contents


LINES = st.one_of(
    st.sampled_from([OPENING, CLOSING, "- [bug] x", "- [", "- []", "-[x] y", "- [a] ]", " - [Visual, image] v "]),
    st.text(max_size=20),
)


@given(st.lists(LINES, max_size=12).map("\n".join))
def test_whatever_is_printed_only_lines_between_the_tags_are_taken(text: str) -> None:
    """Any text is read without an error, and each content stands on a line between the tags."""
    lines = text.split("\n")
    tags = [line.strip() for line in lines]
    start = tags.index(OPENING) + 1 if OPENING in tags else len(lines)
    end = tags.index(CLOSING) if CLOSING in tags else len(lines)
    within = [line for line in lines[start:end] if "- [" in line]
    found = items_in(text)
    assert len(found) <= len(within)
    for (label, content), line in zip(found, [line for line in within if _is_item(line)], strict=True):
        assert content
        assert content in line
        assert label in line


def _is_item(line: str) -> bool:
    return bool(items_in(block(line))) and line.strip() not in (OPENING, CLOSING)


def test_local_rows_come_first_and_the_limit_cuts() -> None:
    """The local rows keep their places whatever their scores; lucid fills what is left."""
    rows = merged([local("tea", "green")], read(block("- [bug] a", "- [bug] b", "- [bug] c")), 3)
    assert [row.entry.content for row in rows] == ["green", "a", "b"]
    assert merged([local("tea", "green")], [], 0) == []


def test_a_row_with_the_same_key_and_content_comes_once() -> None:
    """Letters' case does not count, and the first one stays; key and content are told apart."""
    rows = merged(
        [local("LUCID_0", "Green"), local("lucid_0", "green"), local("lucid", "_0green")],
        read(block("- [bug] green")),
        9,
    )
    assert [(row.entry.key, row.entry.content) for row in rows] == [("LUCID_0", "Green"), ("lucid", "_0green")]


@pytest.mark.parametrize(
    ("since", "until", "kept"),
    [
        (None, None, ["old", "lucid", "odd"]),
        ("2026-11-20T00:00:00Z", None, ["lucid", "odd"]),
        (None, "2026-11-20T00:00:00Z", ["old", "odd"]),
        ("2026-11-22T11:00:00+01:00", "2026-11-22T11:00:00+01:00", ["lucid", "odd"]),
    ],
)
def test_time_bounds_hold_for_lucid_too(since: str | None, until: str | None, kept: list[str]) -> None:
    """Lucid's rows count as of now, and bounds are moments; a time that cannot be read is let through."""
    rows = [local("a", "old", "2026-11-01T00:00:00Z"), *read(block("- [bug] lucid")), local("b", "odd", "someday")]
    request = RecallRequest("q", since=since, until=until)
    assert [row.entry.content for row in rows if is_within_bounds(row, request)] == kept
