"""Which rows of a long listing are here, which are on their way, and which have gone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from zeroclaw_tui.memory.entry import Handle, MemoryEntry

MOST_LOADED = 4000
MOST_ASKED = 200


class LoadedRows:
    """A bounded store of entries by handle that remembers what it asked for.

    The answer to a batch settles it and every older one: what a settled batch lacked has gone from the store when the
    answer was for that very batch, and may be asked for again when it was for a newer one.
    """

    def __init__(self) -> None:
        self._entries: dict[Handle, MemoryEntry] = {}
        self._old: set[Handle] = set()
        self._gone: set[Handle] = set()
        self._batches: list[frozenset[Handle]] = []

    def get(self, handle: Handle) -> MemoryEntry | None:
        """The entry of a handle, when it is here."""
        return self._entries.get(handle)

    def differs(self, entry: MemoryEntry) -> bool:
        """Whether a row is not here as it is now in the store; what a scan found in it does not count."""
        held = self._entries.get(entry.handle)
        return held is None or replace(held, withheld=entry.withheld) != entry

    def has_gone(self, handle: Handle) -> bool:
        """Whether a row was asked for and is no longer in the store."""
        return handle in self._gone

    def put(self, entries: Sequence[MemoryEntry]) -> None:
        """Take rows in; the ones that came longest ago make room."""
        for entry in entries:
            self._entries.pop(entry.handle, None)
            self._entries[entry.handle] = entry
            self._old.discard(entry.handle)
            self._gone.discard(entry.handle)
        self._settle({entry.handle for entry in entries})
        while len(self._entries) > MOST_LOADED:
            self._entries.pop(next(iter(self._entries)))

    def missing(self, handles: Iterable[Handle]) -> list[Handle]:
        """Of these, the ones to ask for: neither here and fresh, nor on their way, nor gone."""
        return [
            handle
            for handle in handles
            if (handle not in self._entries or handle in self._old)
            and handle not in self._gone
            and not any(handle in batch for batch in self._batches)
        ]

    def expect(self, handles: Sequence[Handle]) -> None:
        """Remember that these were asked for."""
        self._batches.append(frozenset(handles))

    def grow_old(self) -> None:
        """What is here stays to look at, and is asked for again when it comes into sight."""
        self._old = set(self._entries)
        self._gone.clear()
        self._batches.clear()

    def forget_questions(self) -> None:
        """Nothing is on its way any more."""
        self._gone.clear()
        self._batches.clear()

    def clear(self) -> None:
        """Hold nothing."""
        self._entries.clear()
        self._old.clear()
        self.forget_questions()

    def _settle(self, came: set[Handle]) -> None:
        for at in range(len(self._batches) - 1, -1, -1):
            if came <= self._batches[at] and (came or at == 0):
                self._gone |= {handle for handle in self._batches[at] - came if handle not in self._entries}
                del self._batches[: at + 1]
                return


def position(handles: Sequence[Handle], wanted: Handle | None, near: int) -> int | None:
    """Where a handle stands, looked for first where it was; None when it is not there."""
    if wanted is None:
        return None
    if 0 <= near < len(handles) and handles[near] == wanted:
        return near
    try:
        return handles.index(wanted)
    except ValueError:
        return None
