"""What a store and a snapshot have in common, by key, when ZeroClaw's format lies between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.curation.snapshot.loading import Loaded
from zeroclaw_tui.curation.snapshot.text import what_is_lost, what_is_read
from zeroclaw_tui.memory.change import Advance, StoredRow
from zeroclaw_tui.memory.entry import MemoryEntry

Where = Literal["only here", "only there", "changed", "same"]
"""Here is the store, there the snapshot."""

_ORDER: Sequence[Where] = ("changed", "only here", "only there", "same")
_TOLD_EVERY = 200


@dataclass(frozen=True, slots=True)
class Difference:
    """One key. `here` is the store's memory (an excerpt is never in it), `there` the file's; None where it has none.

    `lost` says what ZeroClaw's format loses of `there`; of `here` where the file has none of it.
    """

    key: str
    where: Where
    here: MemoryEntry | None
    there: MemoryEntry | None
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """What the store has in place of a memory of the file. `here` is None where it has none, also of one that is the
    same: then it is a part of another memory, whose lines look like an entry."""

    here: MemoryEntry | None
    is_same: bool


class Present:
    """Memories of a store, to find those of a file among them."""

    def __init__(self, entries: Iterable[MemoryEntry], *, is_exact: bool) -> None:
        self._by_key: dict[str, list[MemoryEntry]] = {}
        self._read_of: dict[str, tuple[tuple[str, str], ...]] = {}
        self._is_exact = is_exact
        self._parts: set[tuple[str, str]] = set()
        for entry in entries:
            self._by_key.setdefault(entry.key, []).append(entry)
            if not is_exact:
                self._read_of[entry.id] = what_is_read(entry)
                self._parts.update(self._read_of[entry.id])

    def match(self, row: StoredRow, agent: str | None = None) -> Match:
        """The memory of the same key, of this agent where one is given; the one with the same content first."""
        wanted = row.entry()
        there = [entry for entry in self._by_key.get(wanted.key, ()) if agent is None or entry.agent == agent]
        for entry in there:
            if entry.content == wanted.content or (wanted.key, wanted.content) in self._read_of.get(entry.id, ()):
                return Match(entry, True)
        if there:
            return Match(there[0], False)
        return Match(None, (wanted.key, wanted.content) in self._parts)


def differences(
    entries: Sequence[MemoryEntry], loaded: Loaded, advance: Advance | None = None
) -> tuple[Difference, ...]:
    """Every key of both sides; once `advance` says no, those looked at so far."""
    present = Present(entries, is_exact=loaded.is_exact)
    aliases = {entry.agent for entry in entries}
    lost_there = loaded.lost

    def lost_of(there: MemoryEntry) -> tuple[str, ...]:
        return what_is_lost(there) if loaded.is_exact else lost_there.get(there.key, ())

    found: list[Difference] = []
    met: set[str] = set()
    for at, row in enumerate(loaded.rows):
        if advance is not None and at % _TOLD_EVERY == 0 and not advance(at):
            break
        match = present.match(row, row.agent if row.agent in aliases else None)
        there, here = row.entry(), match.here
        if here is not None:
            met.add(here.id)
            lost = lost_of(there) or (what_is_lost(here) if match.is_same and not loaded.is_exact else ())
            found.append(Difference(here.key, "same" if match.is_same else "changed", here, there, lost))
        elif not match.is_same:
            found.append(Difference(there.key, "only there", None, there, lost_of(there)))
    found += [
        Difference(entry.key, "only here", entry, None, what_is_lost(entry)) for entry in entries if entry.id not in met
    ]
    if advance is not None:
        advance(len(loaded.rows))
    return tuple(sorted(found, key=lambda difference: _ORDER.index(difference.where)))
