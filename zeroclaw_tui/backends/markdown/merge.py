"""Undoing a change of a whole notes file that others have written since: a merge by lines."""

from __future__ import annotations

from collections import Counter
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
    file because the lines around them are gone.
    """

    data: bytes | None
    conflicts: list[Conflict] = field(default_factory=list)
    is_moved: bool = False


def undone(before: bytes | None, after: bytes | None, now: bytes | None, on_conflict: OnConflict) -> Merged:
    """The file `now` without the change that made `after` of `before`; None stands for no file."""
    if now in (before, after):
        return Merged(before)
    merge = _Merge(raw_lines(before or b""), raw_lines(after or b""), raw_lines(now or b""), on_conflict)
    data = joined(merge.lines())
    return Merged(data if data or before is not None else None, merge.conflicts, merge.is_moved)


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


class _Merge:
    def __init__(
        self, before: Sequence[bytes], after: Sequence[bytes], now: Sequence[bytes], on_conflict: OnConflict
    ) -> None:
        self._before, self._after, self._now = before, after, now
        self._on_conflict = on_conflict
        self._theirs = [*_hunks(after, now)]
        self._removed: set[int] = set()
        """Numbers of lines of now."""
        self._inserted: dict[int, list[bytes]] = {}
        """By the number of the line of now before which they come."""
        self.conflicts: list[Conflict] = []
        self.is_moved = False

    def lines(self) -> list[bytes]:
        """The lines of the merged file."""
        for ours in _hunks(self._after, self._before):
            if ours.tag != "equal":
                self._undo(ours)
        merged: list[bytes] = []
        for number, line in enumerate([*self._now, None]):
            merged += self._inserted.get(number, ())
            if line is not None and number not in self._removed:
                merged.append(line)
        return merged

    def _undo(self, ours: Hunk) -> None:
        wanted = self._before[ours.new_start : ours.new_end]
        changed = [hunk for hunk in self._theirs if _overlap(ours, hunk, is_wanted=bool(wanted))]
        region = self._unchanged(ours) | self._restored(ours, wanted)
        if changed:
            region |= {number for hunk in changed for number in range(hunk.new_start, hunk.new_end)}
            now = sorted(region)
            if [self._now[number] for number in now] == list(wanted):
                return
            before, after = range(ours.new_start, ours.new_end), range(ours.start, ours.end)
            self.conflicts.append(Conflict(before, after, now))
        if not changed or self._on_conflict == "overwrite":
            self._removed |= region
        elif self._on_conflict != "rename":
            return
        if wanted:
            place = max(region) + 1 if region else self._place(ours.start)
            self._inserted.setdefault(place, []).extend(wanted)

    def _unchanged(self, ours: Hunk) -> set[int]:
        """The numbers in the file now of lines that are to go and are as the change left them."""
        return {
            hunk.new_start + number - hunk.start
            for hunk in self._theirs
            if hunk.tag == "equal"
            for number in range(max(ours.start, hunk.start), min(ours.end, hunk.end))
        }

    def _restored(self, ours: Hunk, wanted: Sequence[bytes]) -> set[int]:
        """The numbers in the file now of lines that are back already: some of those that are wanted, and no others."""
        return {
            number
            for hunk in self._theirs
            if hunk.tag == "insert" and ours.start <= hunk.start <= ours.end
            if not Counter(self._now[hunk.new_start : hunk.new_end]) - Counter(wanted)
            for number in range(hunk.new_start, hunk.new_end)
        }

    def _place(self, number: int) -> int:
        """Where the gap before a line of `after` is in the file now."""
        for hunk in self._theirs:
            if hunk.tag == "equal" and hunk.start <= number <= hunk.end:
                return hunk.new_start + number - hunk.start
        around = next((hunk for hunk in self._theirs if hunk.start <= number <= hunk.end), None)
        end = len(self._now) if around is None else around.new_end
        self.is_moved |= end == len(self._now)
        return end


def _overlap(ours: Hunk, theirs: Hunk, *, is_wanted: bool) -> bool:
    """Whether others have changed a line that is to change back; a line that is to go may be gone already."""
    is_same_line = max(ours.start, theirs.start) < min(ours.end, theirs.end)
    return is_same_line and (theirs.tag == "replace" or (theirs.tag == "delete" and is_wanted))
