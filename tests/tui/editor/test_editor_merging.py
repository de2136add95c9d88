"""Merging two texts of one origin."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.memory.text_difference import MARKERS, diff_lines, merge

TEXTS = st.lists(st.sampled_from("abcd"), max_size=12).map("\n".join)


def test_changes_in_different_places_fit_together() -> None:
    assert merge("a\nb\nc\nd\ne", "A\nb\nc\nd\ne", "a\nb\nc\nd\nE\nf") == ("A\nb\nc\nd\nE\nf", 0)


def test_changes_of_the_same_line_are_between_markers() -> None:
    merged, conflicts = merge("a\nb\nc", "a\nmine\nc", "a\ntheirs\nc")
    assert merged.split("\n") == ["a", MARKERS[0], "mine", MARKERS[1], "theirs", MARKERS[2], "c"]
    assert conflicts == 1


@given(TEXTS, TEXTS)
def test_one_sided_changes_are_taken_whole(base: str, changed: str) -> None:
    assert merge(base, changed, base) == merge(base, base, changed) == merge(base, changed, changed) == (changed, 0)


@given(TEXTS, TEXTS, TEXTS)
def test_both_versions_are_in_the_merge(base: str, mine: str, theirs: str) -> None:
    """Taking one side of every conflict, each line of that side's own additions is there in order."""
    merged, conflicts = merge(base, mine, theirs)
    assert merged.count(MARKERS[0]) == merged.count(MARKERS[2]) == conflicts
    added = [line.text for line in diff_lines(base, mine) if line.sign == "+"]
    lines = iter(merged.split("\n"))
    if conflicts:
        assert set(added) <= set(merged.split("\n"))
    else:
        assert all(line in lines for line in added)
