"""Any text falls into blocks as a person sees them: every line that ZeroClaw remembers is in exactly one, in order."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zeroclaw_tui.backends.markdown.files import Block, split
from zeroclaw_tui.memory.text import WHITE_SPACE

PIECES = (
    "- bullet", "  - nested", "* star", "1. one", "1986. What a year", "-", "- ", "text", "   text", "\ttab", "# Head",
    "###### Six", "#tag", "  # inner", "```", "````", "~~~", "  ```py", "- ```", "---", "***", "- - -", "===", "|a|b|",
    "|-|-|", "a | b", "--|--", "> quote", "", "", "  ", "\u3000", "\ufeff", "\ufeff# Head", "\ufeff---", "...", "\x1c",
    "- **lang**: Rust", "**", "- **",
)  # fmt: skip
LINES = st.lists(st.sampled_from(PIECES) | st.text(max_size=6).map(lambda text: text.replace("\n", "")), max_size=30)


def is_entry(line: str) -> bool:
    trimmed = line.strip(WHITE_SPACE)
    return bool(trimmed) and not trimmed.startswith("#")


def texts(text: str) -> list[str]:
    lines = textwrap.dedent(text).strip("\n").split("\n")
    return ["\n".join(lines[block.first : block.behind]) for block in split(lines)]


def one(text: str) -> Block:
    (block,) = split(textwrap.dedent(text).strip("\n").split("\n"))
    return block


@given(LINES, st.sampled_from(("", "\r")))
@example(["\ufeff"], "")
@example(["\ufeff# x", "---"], "\r")
def test_every_line_of_a_memory_is_in_exactly_one_block_in_order(lines: list[str], end: str) -> None:
    held = [line + end for line in lines]
    blocks = split(held)
    covered = [at for block in blocks for at in range(block.first, block.behind)]
    assert covered == sorted(set(covered))
    assert {at for at, line in enumerate(held) if is_entry(line)} <= set(covered)
    for block in blocks:
        assert 0 <= block.first < block.behind <= len(held)
        assert block.open_fence is None or block.first <= block.open_fence < block.behind
    assert split(held) == blocks


@given(LINES)
def test_windows_line_ends_make_no_difference(lines: list[str]) -> None:
    assert split([line + "\r" for line in lines]) == split(lines)


def test_a_bullet_takes_what_is_nested_and_what_goes_on_below_it() -> None:
    assert texts("""
        - one
          - nested
            deeper

          still one
        goes on

        - two
        * three
        1. four
        2) five
        """) == [
        "- one\n  - nested\n    deeper\n\n  still one\ngoes on", "- two", "* three", "1. four", "2) five",
    ]  # fmt: skip


def test_a_tab_nests_as_four_blanks_do() -> None:
    assert texts("- one\n\t- nested\n- two") == ["- one\n\t- nested", "- two"]


def test_a_paragraph_ends_where_something_else_begins() -> None:
    assert texts("""
        one
        two
        - bullet

        three
        1986. What a year
        > quoted
        lazily
        ***
        four
        """) == ["one\ntwo", "- bullet", "three\n1986. What a year", "> quoted\nlazily", "***", "four"]


def test_a_table_is_one_block_and_a_pipe_alone_is_none() -> None:
    assert texts("""
        words | more
        before
        | a | b |
        |---|:-:|
        | 1 | 2 |
        no pipe

        after
        """) == ["words | more\nbefore", "| a | b |\n|---|:-:|\n| 1 | 2 |\nno pipe", "after"]


def test_a_fence_keeps_blank_lines_bullets_and_comments() -> None:
    code = "````py\n- x\n\n# comment\n```\n````"
    assert texts(f"before\n{code}\nafter") == ["before", code, "after"]


def test_a_fence_in_a_bullet_ends_with_it() -> None:
    blocks = split(["- run", "  ```", "  code", "", "  # c", "  ```", "- next", "  ~~~", "  open", "out"])
    assert [(block.first, block.behind, block.open_fence) for block in blocks] == [
        (0, 6, None),
        (6, 9, 7),
        (9, 10, None),
    ]


def test_a_fence_nothing_closes_goes_to_the_end_of_the_file() -> None:
    blocks = split(["one", "", "```", "code", "# comment", "", "- more", "", ""])
    assert [(block.first, block.behind, block.open_fence) for block in blocks] == [(0, 1, None), (2, 7, 2)]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_front_matter_is_one_block_and_a_rule_is_none(mark: str) -> None:
    assert texts(f"{mark}---\ntitle: x\n- y\n---\ntext") == [f"{mark}---\ntitle: x\n- y\n---", "text"]
    assert texts(f"{mark}---\n\ntext\n\n---\nmore") == [f"{mark}---", "text", "---", "more"]
    assert texts(f"{mark}---\nnever closed") == [f"{mark}---", "never closed"]


def test_blocks_know_the_headings_they_lie_under() -> None:
    blocks = split(
        ["top", "# A", "one", "## B ##", "two", "#### D", "three", "## C#", "four", "", "Under", "===", "five"]
    )
    assert [block.headings for block in blocks] == [
        (), ("A",), ("A", "B"), ("A", "B", "D"), ("A", "C#"), ("Under",), ("Under",),
    ]  # fmt: skip


def test_a_bullet_is_named_by_the_bold_text_it_begins_with() -> None:
    assert one("- **lang**: Rust **and** more").name == "lang"
    assert one("* [x] **done:** that").name == "done"
    assert one("- more **lang**").name is None
    assert one("**lang**: Rust").name is None
    assert one("- ****").name is None
    assert one(f"- **{'x' * 2000}**").name is None


def test_a_heading_of_a_megabyte_names_nothing_at_length() -> None:
    blocks = split(["# " + "long " * 200_000, *["- x"] * 2000])
    assert len(blocks) == 2000
    assert max(len(text) for block in blocks for text in block.headings) <= 100
