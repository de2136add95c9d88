"""What changes between two versions of a config, line by line, with every secret masked."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from zeroclaw_tui.config.document import ConfigDocument, sections_of
from zeroclaw_tui.config.masking import masked

Kind = Literal["section", "removed", "added"]
Block = tuple[int, int, int, int]
"""Lines i1 to i2 of the old text stand where lines j1 to j2 of the new one do."""

_MOST_EQUAL_PAIRS = 50_000


@dataclass(frozen=True, slots=True)
class DiffLine:
    """`section` lines are the table headers that the changes below them stand in. `text` is masked, but not yet
    cleaned of control characters; it has no line end."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """`changed` counts the lines that go or come, a replaced line once; `kept` those whose text stays."""

    lines: tuple[DiffLine, ...]
    changed: int
    kept: int


def difference(before: ConfigDocument, after: ConfigDocument) -> Difference:
    """Compare two documents. Values of keys that name a secret, `enc2:`/`enc:`/`op://` values, passwords in URLs and
    look-alike keys become four dots, also in multi-line strings, arrays and inline tables."""
    old, new = _Lines(before.text), _Lines(after.text)
    blocks = _changed_blocks(old.texts, new.texts)
    changed = sum(max(i2 - i1, j2 - j1) for i1, i2, j1, j2 in blocks)
    kept = len(old.texts) - sum(i2 - i1 for i1, i2, _, _ in blocks)
    return Difference(tuple(_shown(old, new, blocks)), changed, kept)


class _Lines:
    """The lines of a text: as they are (to compare), as they may be shown, and under which header each stands.

    `headers` has for each line that of its section's header, its own where it is one, None before the first; `between`
    the lines that belong to no statement: comments and blank lines.
    """

    def __init__(self, text: str) -> None:
        self.texts = _lines(text)
        self.shown = _lines(masked(text))
        self.headers: list[int | None] = [None] * len(self.texts)
        self.between = set(range(len(self.texts)))
        number = _line_numbers(text)
        for section in sections_of(text):
            if section.header is not None:
                at = number(section.header.start)
                self.headers[at:] = [at] * (len(self.texts) - at)
            for line in [section.header, *(line for _, line in section.pairs)]:
                if line is not None:
                    self.between.difference_update(range(number(line.start), number(line.end) + 1))

    def header_of(self, at: int, block_end: int) -> int | None:
        """The header to show above a changed line; the line that stands in for it when it is in the block itself."""
        if at in self.between:
            following = next((line for line in range(at, block_end) if line not in self.between), None)
            if following is not None and self.headers[following] == following:
                # What stands above a new header belongs to it, although TOML counts it to the section before.
                return following
        return self.headers[at]


def _line_numbers(text: str) -> Callable[[int], int]:
    ends = [found.start() for found in re.finditer("\n", text)]
    return lambda position: bisect_left(ends, position)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _changed_blocks(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Where the lines differ. What both begin and end with is set aside first, since the comparison is quadratic."""
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    rest = shorter - start
    end = next((at for at in range(rest) if old[len(old) - 1 - at] != new[len(new) - 1 - at]), rest)
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    matcher = SequenceMatcher(None, before, after, autojunk=_are_alike(before, after))
    return [
        (start + i1, start + i2, start + j1, start + j2)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _are_alike(old: Sequence[str], new: Sequence[str]) -> bool:
    """True where so many lines say the same that comparing each with each would take seconds.

    The matcher then looks for the rarer lines first, and sees the common ones only beside these.
    """
    counted = Counter(new)
    return sum(counted[line] for line in old) > _MOST_EQUAL_PAIRS


def _shown(old: _Lines, new: _Lines, blocks: Sequence[Block]) -> Iterator[DiffLine]:
    kept = _kept_lines(blocks, len(old.texts))
    section: tuple[str, int] | None = None
    for i1, i2, j1, j2 in blocks:
        sides: tuple[tuple[_Lines, Kind, int, int], ...] = ((old, "removed", i1, i2), (new, "added", j1, j2))
        for lines, kind, first, last in sides:
            for at in range(first, last):
                header = lines.header_of(at, last)
                # A header that stays is one and the same in both texts.
                found = None if header is None else _place(kind, header, kept)
                if found != section and header is not None and not first <= header < last:
                    yield DiffLine("section", lines.shown[header].strip())
                section = found
                yield DiffLine(kind, lines.shown[at])


def _place(kind: Kind, header: int, kept: dict[int, int]) -> tuple[Kind, int]:
    if kind == "removed" and header in kept:
        return "added", kept[header]
    return kind, header


def _kept_lines(blocks: Sequence[Block], count: int) -> dict[int, int]:
    """For each old line that stays, the new one it is."""
    kept: dict[int, int] = {}
    i = j = 0
    for i1, i2, _, j2 in [*blocks, (count, count, 0, 0)]:
        kept.update(zip(range(i, i1), range(j, j + i1 - i), strict=True))
        i, j = i2, j2
    return kept
