"""Differences of texts: removed and added lines, and the context shown around them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.memory.text_difference import MAX_LINE_PAIRS, MAX_LINES, diff_lines


def signs(before: str, after: str) -> str:
    return "".join(line.sign for line in diff_lines(before, after))


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "long line"]), max_size=30).map("\n".join)


@given(LINES, LINES)
def test_both_texts_can_be_reconstructed_from_a_difference(before: str, after: str) -> None:
    """If nothing is omitted, unchanged and removed lines are the old text, unchanged and added lines the new one."""
    lines = diff_lines(before, after)
    left_out = sum(int(line.text.split()[0]) for line in lines if line.sign == "…")
    old, new = before.split("\n") if before else [], after.split("\n") if after else []
    assert sum(line.sign in " -" for line in lines) + left_out == len(old)
    assert sum(line.sign in " +" for line in lines) + left_out == len(new)
    assert all(line.text in old for line in lines if line.sign in " -")
    assert all(line.text in new for line in lines if line.sign in " +")
    if not left_out:
        assert [line.text for line in lines if line.sign in " -"] == old
        assert [line.text for line in lines if line.sign in " +"] == new


def test_three_lines_around_a_change_are_shown_and_the_others_counted() -> None:
    before = "\n".join(f"line {number}" for number in range(20))
    after = before.replace("line 10", "another")
    assert signs(before, after) == "…   -+   …"
    assert diff_lines(before, after)[0].text == "7 lines unchanged"


def test_an_empty_text_means_all_removed_or_all_added() -> None:
    assert signs("", "one\ntwo") == "++"
    assert signs("", "") == ""
    assert diff_lines("", "", whole=True) == []
    assert signs("one\ntwo", "") == "--"


def test_completely_different_texts_are_not_compared_line_by_line() -> None:
    """Two long texts are reported as removed and added, except a common beginning and end."""
    count = int(MAX_LINE_PAIRS**0.5) + 1
    before, after = ("\n".join(["head", *(f"{name} {at % 7}" for at in range(count))]) for name in ("old", "new"))
    assert signs(before, after) == " " + "-" * count + "+" * count
    lines = diff_lines(before * 5, after * 5)
    assert len(lines) == MAX_LINES + 1
    assert lines[-1].text == f"{2 * (5 * count + 1) - 1 - MAX_LINES:,} more lines"


def test_control_characters_are_shown_and_tabs_widened() -> None:
    (line,) = diff_lines("", "\x1b[2J\ta\x9b")
    assert line.text == "␛[2J    a�"
