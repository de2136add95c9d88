"""The differences of two texts, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import Literal, NamedTuple

from zeroclaw_tui.memory.text import counted, display_text

Sign = Literal["+", "-", "~", " ", "…"]

MAX_LINE_PAIRS = 1_000_000
"""Texts with more pairs of lines are compared by their rarer lines."""
MAX_LINES = 5000
_MAX_LINE_LENGTH = 200_000
_CONTEXT = 3
_TAB = 4


class DiffLine(NamedTuple):
    """A line of a difference; the sign "…" marks omitted lines, with their number as its text."""

    sign: Sign
    text: str


def diff_lines(before: str, after: str, *, whole: bool = False) -> list[DiffLine]:
    """Compare two texts: removed and added lines, with a few lines of context or, with `whole`, with all unchanged
    lines; cleaned for display, and limited to MAX_LINES."""
    rest = _diff(before.split("\n") if before else [], after.split("\n") if after else [], whole=whole)
    first = ((line.sign, line.text[:_MAX_LINE_LENGTH]) for line in islice(rest, MAX_LINES))
    shown = [DiffLine(sign, display_text(text).expandtabs(_TAB)) for sign, text in first]
    more = sum(1 for _ in rest)
    return [*shown, DiffLine("…", f"{more:,} more lines")] if more else shown


def _diff(old: Sequence[str], new: Sequence[str], *, whole: bool) -> Iterator[DiffLine]:
    matcher = SequenceMatcher(None, old, new, autojunk=len(old) * len(new) > MAX_LINE_PAIRS)
    end = 0
    for group in [matcher.get_opcodes()] if whole and (old or new) else matcher.get_grouped_opcodes(_CONTEXT):
        yield from _unchanged(group[0][1] - end)
        for tag, start, end, new_start, new_end in group:
            yield from (DiffLine(" " if tag == "equal" else "-", line) for line in old[start:end])
            yield from (DiffLine("+", line) for line in new[new_start:new_end] if tag != "equal")
    yield from _unchanged(len(old) - end)


def _unchanged(count: int) -> list[DiffLine]:
    return [DiffLine("…", f"{counted(count, 'line')} unchanged")] if count else []
