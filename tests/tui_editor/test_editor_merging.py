"""Comparing and merging two texts of one origin."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.tui import merging
from zeroclaw_tui.tui.merging import MARKERS, DiffLine, line_diff, merge

TEXTS = st.lists(st.sampled_from("abcd"), max_size=12).map("\n".join)


def test_changes_in_different_places_fit_together() -> None:
    assert merge("a\nb\nc\nd\ne", "A\nb\nc\nd\ne", "a\nb\nc\nd\nE\nf") == ("A\nb\nc\nd\nE\nf", 0)


def test_changes_of_the_same_line_stand_between_markers() -> None:
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
    added = [line.text for line in line_diff(base, mine) if line.sign == "+"]
    lines = iter(merged.split("\n"))
    if conflicts:
        assert set(added) <= set(merged.split("\n"))
    else:
        assert all(line in lines for line in added)


@given(TEXTS, TEXTS)
def test_a_comparison_tells_both_texts(before: str, after: str) -> None:
    """Kept and gone lines are the old text, kept and new ones the new one."""
    lines = line_diff(before, after)
    if all(line.sign != "…" for line in lines):
        assert "\n".join(line.text for line in lines if line.sign != "+") == before
        assert "\n".join(line.text for line in lines if line.sign != "-") == after


def test_far_from_a_change_lines_are_counted() -> None:
    before = "\n".join(map(str, range(100)))
    lines = line_diff(before, before.replace("\n50\n", "\nfifty\n"))
    assert [line.sign for line in lines] == ["…", " ", " ", "-", "+", " ", " ", "…"]
    assert lines[0] == DiffLine("…", "48 lines the same")


def test_texts_that_differ_in_too_many_lines_are_one_block(monkeypatch: object) -> None:
    """Two long texts with nothing alike are told at once as gone and new, their common ends apart."""
    count = int(merging.MOST_COMPARED**0.5) + 1
    before, after = ("\n".join(["head", *(f"{name}{at}" for at in range(count))]) for name in "ab")
    signs = [line.sign for line in line_diff(before, after)]
    assert signs == [" ", *"-" * count, *"+" * count]
