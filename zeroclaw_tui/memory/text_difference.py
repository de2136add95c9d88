"""Two texts of one origin: what they differ in, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import Literal, NamedTuple

from zeroclaw_tui.memory.text import display_text

Sign = Literal["+", "-", "~", " ", "…"]

MOST_COMPARED = 1_000_000
"""Texts with more pairs of lines are compared by their rarer lines."""
MOST_SHOWN_LINES = 5000
_MOST_SHOWN = 200_000
_CONTEXT = 3
_TAB = 4


class DiffLine(NamedTuple):
    """A line of a difference; the sign "…" marks omitted lines, and its text says how many."""

    sign: Sign
    text: str


def diff_lines(before: str, after: str, *, whole: bool = False) -> list[DiffLine]:
    """The lines that went and came, with a few around them or, with `whole`, with all that stayed; cleaned for showing,
    and no more than can be read."""
    rest = _diff(before.split("\n") if before else [], after.split("\n") if after else [], whole=whole)
    first = ((line.sign, line.text[:_MOST_SHOWN]) for line in islice(rest, MOST_SHOWN_LINES))
    shown = [DiffLine(sign, display_text(text).expandtabs(_TAB)) for sign, text in first]
    more = sum(1 for _ in rest)
    return [*shown, DiffLine("…", f"{more:,} more lines")] if more else shown


def _diff(old: Sequence[str], new: Sequence[str], *, whole: bool) -> Iterator[DiffLine]:
    matcher = SequenceMatcher(None, old, new, autojunk=len(old) * len(new) > MOST_COMPARED)
    at_old = at_new = 0
    for start, new_start, length in matcher.get_matching_blocks():
        yield from (DiffLine("-", line) for line in old[at_old:start])
        yield from (DiffLine("+", line) for line in new[at_new:new_start])
        at_old, at_new = start + length, new_start + length
        before = _CONTEXT if start or new_start else 0
        after = _CONTEXT if at_old < len(old) or at_new < len(new) else 0
        left_out = length - before - after
        if whole or left_out <= 1:
            yield from (DiffLine(" ", line) for line in old[start:at_old])
        else:
            yield from (DiffLine(" ", line) for line in old[start : start + before])
            yield DiffLine("…", f"{left_out:,} lines unchanged")
            yield from (DiffLine(" ", line) for line in old[at_old - after : at_old])
