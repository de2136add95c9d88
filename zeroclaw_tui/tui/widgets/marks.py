"""Which memories are marked: by id, each in the state it was marked in, wherever the list goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from zeroclaw_tui.memory.change import Stamp
from zeroclaw_tui.memory.entry import Handle, MemoryEntry


class Marks:
    """Marked memories in the order of marking.

    A mark set on a row of the list holds at once; which state that row has is asked of the store (`waiting`) and
    brought by `settle`. Every verb but counting what is shown takes as long for a hundred thousand marks as for one.
    """

    def __init__(self) -> None:
        self._handles: dict[str, Handle] = {}
        self._stamps: dict[str, Stamp] = {}
        self._waiting: dict[str, None] = {}
        self.anchor: Handle | None = None
        """The row that was marked last: where a range begins."""

    def __len__(self) -> int:
        return len(self._handles)

    def __contains__(self, id: str) -> bool:
        return id in self._handles

    @property
    def handles(self) -> frozenset[Handle]:
        """Where the marked memories lie in a listing."""
        return frozenset(self._handles.values())

    @property
    def stamps(self) -> list[Stamp]:
        """Those whose state is known."""
        return [self._stamps[one] for one in self._handles if one in self._stamps]

    @property
    def waiting(self) -> dict[str, Handle]:
        """The ids, with their handles, whose state is to be asked for."""
        return {one: self._handles[one] for one in self._waiting}

    def toggle(self, entry: MemoryEntry) -> bool:
        """Mark a memory, or take its mark away; whether it is marked now."""
        self.anchor = entry.handle
        if entry.id in self._handles:
            self.drop([entry.id])
            return False
        self._handles[entry.id] = entry.handle
        self._waiting[entry.id] = None
        return True

    def put(self, stamps: Iterable[Stamp]) -> None:
        """Mark all of these in the state they have."""
        for stamp in stamps:
            self._handles[stamp.id] = stamp.handle
            self._stamps[stamp.id] = stamp
            self._waiting.pop(stamp.id, None)

    def ask_again(self, ids: Iterable[str] | None = None) -> None:
        """The state of these, or of all, has to be asked for anew."""
        for one in list(self._handles) if ids is None else ids:
            if one in self._handles:
                self._waiting[one] = None

    def settle(self, asked: Iterable[str], found: Sequence[Stamp]) -> None:
        """The answer for what was asked: what it lacks has gone from the store, and its mark with it."""
        states = {stamp.id: stamp for stamp in found}
        for one in asked:
            if one in self._handles and one in states:
                self.put([states[one]])
            else:
                self.drop([one])

    def drop(self, ids: Iterable[str]) -> None:
        """Take the marks of these away."""
        for one in ids:
            self._handles.pop(one, None)
            self._stamps.pop(one, None)
            self._waiting.pop(one, None)

    def clear(self) -> None:
        """No marks at all."""
        self._handles.clear()
        self._stamps.clear()
        self._waiting.clear()
        self.anchor = None
