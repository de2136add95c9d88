"""Undoing a change of a whole notes file that others have written since: a merge by lines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import NamedTuple

from zeroclaw_tui.backends.markdown.lines import joined, raw_lines
from zeroclaw_tui.memory.change import OnConflict


class Hunk(NamedTuple):
    """Lines `start` to `end` of one version of a file that are lines `new_start` to `new_end` of another."""

    tag: str
    start: int
    end: int
    new_start: int
    new_end: int


class Conflict(NamedTuple):
    """The numbers of lines before the change to undo and after it, and of those in their place now."""

    before: Sequence[int]
    after: Sequence[int]
    now: Sequence[int]


@dataclass(slots=True)
class Merged:
    """A file in which a change is undone; `data` None means no file.

    `conflicts` are the hunks that others have changed since. `is_moved` says that lines came back at the end of the
    file because the lines around them are missing.
    """

    data: bytes | None
    conflicts: list[Conflict] = field(default_factory=list)
    is_moved: bool = False


def undone(before: bytes | None, after: bytes | None, now: bytes | None, on_conflict: OnConflict) -> Merged:
    """The file `now` without the change that made `after` of `before`; None means no file."""
    merged = Merged(before)
    if now in (before, after):
        return merged
    old, new, lines = (raw_lines(data or b"") for data in (before, after, now))
    theirs = [*_hunks(new, lines)]
    removed: set[int] = set()
    inserted: dict[int, list[bytes]] = defaultdict(list)
    for ours in _hunks(new, old):
        if ours.tag == "equal":
            continue
        wanted = old[ours.new_start : ours.new_end]
        changed = [hunk for hunk in theirs if _overlap(ours, hunk, is_wanted=bool(wanted))]
        region = _unchanged(ours, theirs) | _restored(ours, theirs, lines, wanted)
        if changed:
            region |= {number for hunk in changed for number in range(hunk.new_start, hunk.new_end)}
            if [lines[number] for number in sorted(region)] == wanted:
                continue
            merged.conflicts.append(
                Conflict(range(ours.new_start, ours.new_end), range(ours.start, ours.end), sorted(region))
            )
            if on_conflict not in ("overwrite", "rename"):
                continue
        if not changed or on_conflict == "overwrite":
            removed |= region
        if wanted:
            place = max(region) + 1 if region else _place(ours.start, theirs)
            merged.is_moved |= place is None
            inserted[len(lines) if place is None else place] += wanted
    pieces: list[bytes] = []
    for number in range(len(lines) + 1):
        pieces += inserted[number]
        pieces += lines[number : number + 1] if number not in removed else []
    data = joined(pieces)
    merged.data = data if data or before is not None else None
    return merged


def _hunks(one: Sequence[bytes], other: Sequence[bytes]) -> Iterator[Hunk]:
    """What makes `other` of `one`; as many lines in place of as many others are a hunk each."""
    # The same lines at the start and at the end come first, so that a line among others like it stays the same line.
    most = min(len(one), len(other))
    head = next((at for at in range(most) if one[at] != other[at]), most)
    tail = next((at for at in range(most - head) if one[-1 - at] != other[-1 - at]), most - head)
    yield Hunk("equal", 0, head, 0, head)
    middle = SequenceMatcher(None, one[head : len(one) - tail], other[head : len(other) - tail])
    for tag, *ends in middle.get_opcodes():
        start, end, new_start, new_end = (head + number for number in ends)
        if tag == "replace" and end - start == new_end - new_start:
            for at in range(end - start):
                yield Hunk(tag, start + at, start + at + 1, new_start + at, new_start + at + 1)
        else:
            yield Hunk(tag, start, end, new_start, new_end)
    yield Hunk("equal", len(one) - tail, len(one), len(other) - tail, len(other))


def _overlap(ours: Hunk, theirs: Hunk, *, is_wanted: bool) -> bool:
    """Whether others have changed a line that is to change back; one that is to be removed may be missing already."""
    is_same_line = max(ours.start, theirs.start) < min(ours.end, theirs.end)
    return is_same_line and (theirs.tag == "replace" or (theirs.tag == "delete" and is_wanted))


def _unchanged(ours: Hunk, theirs: Sequence[Hunk]) -> set[int]:
    """The numbers in the file now of lines that are to go and are as the change left them."""
    return {
        hunk.new_start + number - hunk.start
        for hunk in theirs
        if hunk.tag == "equal"
        for number in range(max(ours.start, hunk.start), min(ours.end, hunk.end))
    }


def _restored(ours: Hunk, theirs: Sequence[Hunk], lines: Sequence[bytes], wanted: Sequence[bytes]) -> set[int]:
    """The numbers in the file now of lines that are back already: some of those that are wanted, and no others."""
    return {
        number
        for hunk in theirs
        if hunk.tag == "insert" and ours.start <= hunk.start <= ours.end
        if not Counter(lines[hunk.new_start : hunk.new_end]) - Counter(wanted)
        for number in range(hunk.new_start, hunk.new_end)
    }


def _place(number: int, theirs: Sequence[Hunk]) -> int | None:
    """Where the gap before a line of the changed file is in the file now; None if the lines around it are missing."""
    for hunk in theirs:
        if hunk.tag == "equal" and hunk.start <= number <= hunk.end:
            return hunk.new_start + number - hunk.start
    around = next((hunk.new_end for hunk in theirs if hunk.start <= number <= hunk.end), None)
    return None if around == theirs[-1].new_end else around
