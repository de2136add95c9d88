"""Two texts of one origin: which lines they share, and both changes in one text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

MOST_COMPARED = 1_000_000
"""Up to so many pairs of lines are compared one by one; what differs more is taken as one block."""
MARKERS = ("<<<<<<< mine", "=======", ">>>>>>> theirs")

Block = tuple[int, int, int]


def merge(base: str, mine: str, theirs: str) -> tuple[str, int]:
    """Both changes in one text, and in how many places they exclude each other: there both stand between markers."""
    if mine == theirs or theirs == base:
        return mine, 0
    if mine == base:
        return theirs, 0
    origin, left, right = (text.split("\n") for text in (base, mine, theirs))
    merged: list[str] = []
    conflicts = 0
    at_origin = at_left = at_right = 0
    for start, start_left, start_right, length in _in_all_three(origin, left, right):
        part, clashes = _merged(origin[at_origin:start], left[at_left:start_left], right[at_right:start_right])
        merged += part
        conflicts += clashes
        merged += origin[start : start + length]
        at_origin, at_left, at_right = start + length, start_left + length, start_right + length
    return "\n".join(merged), conflicts


def _merged(origin: Sequence[str], left: Sequence[str], right: Sequence[str]) -> tuple[Sequence[str], int]:
    if left == right or right == origin:
        return left, 0
    if left == origin:
        return right, 0
    return [MARKERS[0], *left, MARKERS[1], *right, MARKERS[2]], 1


def _in_all_three(origin: Sequence[str], left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Runs of lines that all three have, as starts in each and a length; last an empty one at the ends."""
    in_left, in_right = equal_blocks(origin, left), equal_blocks(origin, right)
    at_left = at_right = 0
    while at_left < len(in_left) and at_right < len(in_right):
        start_a, left_start, length_a = in_left[at_left]
        start_b, right_start, length_b = in_right[at_right]
        start, end = max(start_a, start_b), min(start_a + length_a, start_b + length_b)
        if start < end:
            yield start, left_start + start - start_a, right_start + start - start_b, end - start
        if start_a + length_a < start_b + length_b:
            at_left += 1
        else:
            at_right += 1
    yield len(origin), len(left), len(right), 0


def equal_blocks(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Runs of equal lines in order: where they start in each, and how long they are."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    blocks = [(0, 0, head)]
    if len(middle_old) * len(middle_new) <= MOST_COMPARED:
        found = SequenceMatcher(None, middle_old, middle_new, autojunk=False).get_matching_blocks()
        blocks += [(head + block.a, head + block.b, block.size) for block in found]
    blocks.append((len(old) - tail, len(new) - tail, tail))
    return [block for block in blocks if block[2]]
