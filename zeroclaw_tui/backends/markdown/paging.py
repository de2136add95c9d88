"""Pages of notes whose lines come and go meanwhile: a line's number, and so its key, is another then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import Cursor, Page

LISTINGS_KEPT = 4
"""How many listings can be paged through at once; an older one goes on by handles alone."""


@dataclass(slots=True)
class Listings:
    """The listings whose first page was shown, each as it was then."""

    _kept: dict[int, Sequence[MemoryEntry]] = field(default_factory=dict)
    _numbers: count[int] = field(default_factory=lambda: count(1))

    def page(self, ordered: Sequence[MemoryEntry], cursor: Cursor | None, limit: int) -> Page:
        """The rows behind a cursor that are still there, by their text; `ordered` is the listing as it is now."""
        number, at = cursor.value if cursor is not None else (next(self._numbers), 0)
        if cursor is None or number not in self._kept:
            handles = [] if cursor is None else [entry.handle for entry in ordered]
            at = 0 if cursor is None else _behind(handles, cursor)
            number = number if cursor is None else next(self._numbers)
            self._kept[number] = ordered
            while len(self._kept) > LISTINGS_KEPT:
                self._kept.pop(next(iter(self._kept)))
        listed = self._kept[number]
        now = _as_they_are_now(listed, ordered)
        there = [place for place in range(at, len(listed)) if now[place] is not None]
        chosen = [entry for place in there[:limit] if (entry := now[place]) is not None]
        following = Cursor((number, there[limit - 1] + 1), chosen[-1].handle) if len(there) > limit > 0 else None
        return Page(tuple(entry.excerpt() for entry in chosen), following)


def _behind(handles: Sequence[object], cursor: Cursor) -> int:
    return handles.index(cursor.handle) + 1 if cursor.handle in handles else len(handles)


def _as_they_are_now(listed: Sequence[MemoryEntry], ordered: Sequence[MemoryEntry]) -> Sequence[MemoryEntry | None]:
    """For each row of a listing the one it is now; of several alike, the first is the first."""
    if listed == ordered:
        return listed
    alike: dict[tuple[str, str], list[MemoryEntry]] = defaultdict(list)
    for entry in sorted(ordered, key=_place):
        alike[_text(entry)].append(entry)
    now: list[MemoryEntry | None] = [None] * len(listed)
    for _, place in sorted((_place(entry), place) for place, entry in enumerate(listed)):
        same = alike[_text(listed[place])]
        now[place] = same.pop(0) if same else None
    return now


def _place(entry: MemoryEntry) -> tuple[str, int]:
    label, _, number = entry.id.rpartition(":")
    return label, int(number.partition("-")[0])


def _text(entry: MemoryEntry) -> tuple[str, str]:
    return entry.id.rpartition(":")[0], entry.content
