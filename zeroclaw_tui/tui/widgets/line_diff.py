"""What two texts differ in, line by line, in the unified way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.memory.text import display_text
from zeroclaw_tui.tui.merging import equal_blocks

Sign = Literal["+", "-", "~", " ", "…"]

CONTEXT = 3
MOST_SHOWN = 200_000
MOST_SHOWN_LINES = 5000
_TAB = 4


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a difference; the sign "…" stands for lines left out, and its text says how many."""

    sign: Sign
    text: str


def diff_lines(before: str, after: str) -> list[DiffLine]:
    """The lines that went and came, with a few around them; cleaned for showing, and no more than can be read."""
    old, new = _lines(before), _lines(after)
    shown: list[DiffLine] = []
    characters = 0
    rest = _diff(old, new)
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


def _diff(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    at_old = at_new = 0
    for start, new_start, length in equal_blocks(old, new):
        yield from _replaced(old[at_old:start], new[at_new:new_start])
        at_old, at_new = start + length, new_start + length
        is_last = at_old == len(old) and at_new == len(new)
        yield from _unchanged(old[start:at_old], is_first=start == new_start == 0, is_last=is_last)
    yield from _replaced(old[at_old:], new[at_new:])


def _replaced(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    yield from (DiffLine("-", line) for line in old)
    yield from (DiffLine("+", line) for line in new)


def _unchanged(lines: Sequence[str], *, is_first: bool, is_last: bool) -> Iterator[DiffLine]:
    """Lines that stayed: those next to a change, and how many are left out."""
    before = 0 if is_first else CONTEXT
    after = 0 if is_last else CONTEXT
    left_out = len(lines) - before - after
    if left_out <= 1:
        yield from (DiffLine(" ", line) for line in lines)
        return
    yield from (DiffLine(" ", line) for line in lines[:before])
    yield DiffLine("…", f"{left_out:,} lines unchanged")
    yield from (DiffLine(" ", line) for line in lines[len(lines) - after :])
