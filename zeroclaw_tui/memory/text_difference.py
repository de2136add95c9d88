"""Two texts of one origin: what they differ in, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from zeroclaw_tui.memory.text import display_text

Sign = Literal["+", "-", "~", " ", "…"]

MOST_COMPARED = 1_000_000
"""Texts with more pairs of lines are compared by their rarer lines."""
_MOST_SEARCHED = 100_000_000
"""Texts with more pairs of lines are taken as one block."""

Block = tuple[int, int, int]

CONTEXT = 3
MOST_SHOWN = 200_000
MOST_SHOWN_LINES = 5000
_TAB = 4


class DiffLine(NamedTuple):
    """A line of a difference; the sign "…" marks omitted lines, and its text says how many."""

    sign: Sign
    text: str


def diff_lines(before: str, after: str, *, whole: bool = False) -> list[DiffLine]:
    """The lines that went and came, with a few around them or, with `whole`, with all that stayed; cleaned for showing,
    and no more than can be read."""
    shown: list[DiffLine] = []
    characters = 0
    rest = _diff(_lines(before), _lines(after), whole=whole)
    for line in rest:
        if len(shown) >= MOST_SHOWN_LINES or characters >= MOST_SHOWN:
            more = 1 + sum(1 for _ in rest)
            shown.append(DiffLine("…", f"{more:,} more lines"))
            break
        text = display_text(line.text[:MOST_SHOWN]).expandtabs(_TAB)
        characters += len(text)
        shown.append(DiffLine(line.sign, text))
    return shown


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _diff(old: Sequence[str], new: Sequence[str], *, whole: bool) -> Iterator[DiffLine]:
    at_old = at_new = 0
    for start, new_start, length in [*equal_blocks(old, new), (len(old), len(new), 0)]:
        yield from (DiffLine("-", line) for line in old[at_old:start])
        yield from (DiffLine("+", line) for line in new[at_new:new_start])
        at_old, at_new = start + length, new_start + length
        before = CONTEXT if start or new_start else 0
        after = CONTEXT if at_old < len(old) or at_new < len(new) else 0
        left_out = length - before - after
        if whole or left_out <= 1:
            yield from (DiffLine(" ", line) for line in old[start:at_old])
        else:
            yield from (DiffLine(" ", line) for line in old[start : start + before])
            yield DiffLine("…", f"{left_out:,} lines unchanged")
            yield from (DiffLine(" ", line) for line in old[at_old - after : at_old])


def equal_blocks(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Runs of equal lines in order: where they start in each, and how long they are."""
    head = _equal_at_start(old, new)
    tail = _equal_at_start(old[head:][::-1], new[head:][::-1])
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    blocks = [(0, 0, head)]
    pairs = len(middle_old) * len(middle_new)
    if pairs <= _MOST_SEARCHED:
        matcher = SequenceMatcher(None, middle_old, middle_new, autojunk=pairs > MOST_COMPARED)
        blocks += [(head + block.a, head + block.b, block.size) for block in matcher.get_matching_blocks()]
    blocks.append((len(old) - tail, len(new) - tail, tail))
    return [block for block in blocks if block[2]]


def _equal_at_start(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines are the same at the beginning of both."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (line, other) in pairs if line != other), min(len(old), len(new)))
