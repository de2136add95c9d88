"""What two texts differ in, line by line, in the unified way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import Literal

from zeroclaw_tui.memory.text import display_text

Sign = Literal["+", "-", " ", "…"]

CONTEXT = 3
MOST_LINES = 4000
"""Where more lines than these differ on one side, all of them count as replaced: a finer look would take seconds."""
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
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    yield from _unchanged(old[:head], is_first=True)
    yield from _middle(old[head : len(old) - tail], new[head : len(new) - tail])
    yield from _unchanged(old[len(old) - tail :], is_last=True)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines at the beginning are the same."""
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count


def _middle(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    if max(len(old), len(new)) > MOST_LINES:
        yield from (DiffLine("-", line) for line in old)
        yield from (DiffLine("+", line) for line in new)
        return
    for tag, start, stop, new_start, new_stop in SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            yield from _unchanged(old[start:stop])
        else:
            yield from (DiffLine("-", line) for line in islice(old, start, stop))
            yield from (DiffLine("+", line) for line in islice(new, new_start, new_stop))


def _unchanged(lines: Sequence[str], *, is_first: bool = False, is_last: bool = False) -> Iterator[DiffLine]:
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
