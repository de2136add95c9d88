"""Undo a change of a notes file that other programs have written since: a line-based merge."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import NamedTuple

from zeroclaw_tui.backends.markdown.lines import raw_lines
from zeroclaw_tui.memory.change import OnConflict


class ConflictingHunk(NamedTuple):
    """Line numbers before the change to undo, after it, and in the current file."""

    before: Sequence[int]
    after: Sequence[int]
    now: Sequence[int]


@dataclass(slots=True)
class MergedFile:
    """A file after undoing a change; `data` None means no file.

    `conflicts` are the hunks that others have changed since. `is_moved` is True if lines were restored at the end of
    the file because the lines around them are missing.
    """

    data: bytes | None
    conflicts: list[ConflictingHunk] = field(default_factory=list)
    is_moved: bool = False


def undo_change(before: bytes | None, after: bytes | None, now: bytes | None, on_conflict: OnConflict) -> MergedFile:
    """Undo the change from `before` to `after` in the file `now`; None means no file."""
    merged = MergedFile(before)
    if now in (before, after):
        return merged
    # Other programs add a missing line ending before they append; the line itself is unchanged then.
    versions = [raw_lines(data or b"") for data in (before, after, now)]
    without_end = {version[-1] + b"\n" for version in versions if version and not version[-1].endswith(b"\n")}
    old, new, lines = ([line if line.endswith(b"\n") else line + b"\n" for line in version] for version in versions)
    mapping = _LineMapping(new, lines)
    removed: set[int] = set()
    inserted: dict[int, list[bytes]] = defaultdict(list)
    for is_equal, written, replaced in _hunks(new, old):
        if is_equal:
            continue
        wanted = [old[number] for number in replaced]
        region, is_changed = mapping.region_of(written, wanted)
        if is_changed:
            if [lines[number] for number in sorted(region)] == wanted:
                continue
            merged.conflicts.append(ConflictingHunk(replaced, written, sorted(region)))
            if on_conflict not in ("overwrite", "rename"):
                continue
        if not is_changed or on_conflict == "overwrite":
            removed |= region
        if wanted:
            place = max(region) + 1 if region else mapping.place_of(written.start)
            merged.is_moved |= place is None
            inserted[len(lines) if place is None else place] += wanted
    # A line may have been restored elsewhere in the file.
    others = (line.rstrip() for number, line in enumerate(lines) if number not in removed)
    missing = Counter(map(bytes.rstrip, old)) - Counter(others)
    pieces: list[bytes] = []
    for number in range(len(lines) + 1):
        for line in inserted[number]:
            text = line.rstrip()
            pieces += [line] if not text or missing[text] > 0 else []
            missing[text] -= 1
        pieces += lines[number : number + 1] if number not in removed else []
    data = b"".join(pieces)
    if pieces and pieces[-1] in without_end:
        data = data[:-1]
    merged.data = data if data or before is not None else None
    return merged


class _LineMapping:
    """The mapping of the lines of one version of a file to a later version."""

    def __init__(self, version: Sequence[bytes], later: Sequence[bytes]) -> None:
        self._later = later
        self.same = {-1: -1, len(version): len(later)}
        """The later numbers of unchanged lines; the start and the end of the file are always included."""
        self.others: dict[int, range] = {}
        """The lines that replaced each other line, by its number."""
        self.added: dict[int, range] = {}
        """The lines inserted before a line."""
        for is_equal, lines, now in _hunks(version, later):
            if is_equal:
                self.same |= zip(lines, now, strict=True)
            elif lines:
                self.others |= dict.fromkeys(lines, now)
            else:
                self.added[lines.start] = now

    def region_of(self, hunk: range, wanted: Sequence[bytes]) -> tuple[set[int], bool]:
        """Find the later lines that `wanted` replaces, if it replaces this hunk, and whether the hunk has changed."""
        # If nothing is wanted, a line of the hunk may be missing already.
        changed = [self.others[line] for line in hunk if line in self.others and (wanted or self.others[line])]
        region = {self.same[line] for line in hunk if line in self.same}.union(*changed)
        for gap in range(hunk.start, hunk.stop + 1):
            added = self.added.get(gap, ())
            if not Counter(self._later[number] for number in added) - Counter(wanted):
                # Some of the wanted lines exist already.
                region.update(added)
        return region, bool(changed)

    def place_of(self, gap: int) -> int | None:
        """The position of the gap before a line in the later version; None if the lines around it are missing."""
        if gap - 1 in self.same:
            return self.same[gap - 1] + 1
        if gap in self.same:
            return self.same[gap]
        place = self.others[gap - 1].stop
        return None if place == max(self.same.values()) else place


def _hunks(one: Sequence[bytes], other: Sequence[bytes]) -> Iterator[tuple[bool, range, range]]:
    """Pair the lines of two versions in hunks, each with True for equal lines. Lines replaced by as many others are a
    hunk each."""
    # Match common lines at the start and at the end first, so that one of several equal lines stays the same line.
    head = _common_lines(one, other)
    tail = _common_lines(one[head:][::-1], other[head:][::-1])
    yield True, range(head), range(head)
    middle = SequenceMatcher(None, one[head : len(one) - tail], other[head : len(other) - tail])
    for tag, start, end, new_start, new_end in middle.get_opcodes():
        lines, now = range(head + start, head + end), range(head + new_start, head + new_end)
        length = max(len(lines), len(now))
        step = 1 if tag == "replace" and len(lines) == len(now) else length
        yield from ((tag == "equal", lines[at : at + step], now[at : at + step]) for at in range(0, length, step))
    yield True, range(len(one) - tail, len(one)), range(len(other) - tail, len(other))


def _common_lines(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """Count the equal lines at the start of both."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
