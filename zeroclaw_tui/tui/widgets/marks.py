"""Which memories are marked: by the id of their row, each in the state it was marked in, wherever the list goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from zeroclaw_tui.memory.change import Stamp
from zeroclaw_tui.memory.entry import Handle, MemoryEntry


class Marks:
    """Marked rows in the order of marking; a row is one memory, or a block of several.

    A mark set on a row of the list holds at once; which state that row has is asked of the store (`waiting`) and
    brought by `settle`. Every verb but counting what is shown takes as long for a hundred thousand marks as for one.
    """

    def __init__(self) -> None:
        self._handles: dict[str, Handle] = {}
        self._stamps: dict[str, tuple[Stamp, ...]] = {}
        self._waiting: dict[str, None] = {}
        self._memories = 0
        self.anchor: Handle | None = None
        """The row that was marked last: where a range begins."""

    def __len__(self) -> int:
        return len(self._handles)

    def __contains__(self, id: str) -> bool:
        return id in self._handles

    @property
    def memories(self) -> int | None:
        """How many memories the marked rows are; None while that is asked for."""
        if self._waiting:
            return None
        # A line can be marked by itself and with its block.
        return self._memories if self._memories == len(self) else len(self.stamps)

    @property
    def handles(self) -> frozenset[Handle]:
        """Where the marked rows lie in a listing."""
        return frozenset(self._handles.values())

    @property
    def stamps(self) -> list[Stamp]:
        """The memories whose state is known, none twice."""
        every = (stamp for one in self._handles for stamp in self._stamps.get(one, ()))
        return list({(stamp.id, stamp.handle): stamp for stamp in every}.values())

    @property
    def states(self) -> dict[str, tuple[str, ...]]:
        """The ids of the rows whose state is known, with the states of the memories that each means."""
        return {one: tuple(stamp.state for stamp in stamps) for one, stamps in self._stamps.items()}

    @property
    def waiting(self) -> dict[str, Handle]:
        """The ids, with their handles, whose state is to be asked for."""
        return {one: self._handles[one] for one in self._waiting}

    def toggle(self, entry: MemoryEntry) -> bool:
        """Mark a row, or take its mark away; whether it is marked now."""
        self.anchor = entry.handle
        if entry.id in self._handles:
            self._forget(entry.id)
            return False
        self._handles[entry.id] = entry.handle
        self._waiting[entry.id] = None
        return True

    def put(self, stamps: Iterable[Stamp]) -> None:
        """Mark all of these memories, each a row, in the state they have."""
        for stamp in stamps:
            self.put_row(stamp.id, stamp.handle, (stamp,))

    def put_row(self, id: str, handle: Handle, stamps: Sequence[Stamp]) -> None:
        """Mark a row that means these memories."""
        self._memories += len(stamps) - len(self._stamps.get(id, ()))
        self._handles[id] = handle
        self._stamps[id] = tuple(stamps)
        self._waiting.pop(id, None)

    def ask_again(self, ids: Iterable[str] | None = None) -> None:
        """The state of these, or of all, has to be asked for anew."""
        for one in list(self._handles) if ids is None else ids:
            if one in self._handles:
                self._waiting[one] = None

    def settle(self, asked: Mapping[str, Handle], found: Mapping[Handle, Sequence[Stamp]]) -> None:
        """The answer for what was asked: a row that means nothing any more has gone, and its mark with it."""
        for one, handle in asked.items():
            stamps = found.get(handle, ())
            # Where a row has gone, another memory can have come to its place.
            is_there = bool(stamps) and all(stamp.id == one for stamp in stamps if stamp.handle == handle)
            if one in self._handles and is_there:
                self.put_row(one, handle, stamps)
            else:
                self._forget(one)

    def drop(self, ids: Iterable[str]) -> None:
        """Take the marks of these memories away; a block loses its mark once all of its memories are among them."""
        gone = frozenset(ids)
        for one in list(self._handles):
            stamps = self._stamps.get(one)
            if one in gone or (stamps and all(stamp.id in gone for stamp in stamps)):
                self._forget(one)

    def clear(self) -> None:
        """No marks at all."""
        self._handles.clear()
        self._stamps.clear()
        self._waiting.clear()
        self._memories = 0
        self.anchor = None

    def _forget(self, id: str) -> None:
        self._handles.pop(id, None)
        self._memories -= len(self._stamps.pop(id, ()))
        self._waiting.pop(id, None)
