"""Which memories are marked: by the id of their row, wherever the list goes, or all that a filter leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from zeroclaw_tui.memory.change import Stamp
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.query import MemoryFilter


class Marks:
    """Marked rows in the order of marking; a row is one memory, or a block of several.

    A mark set on a row of the list holds at once; which state that row has is asked of the store (`waiting`) and
    brought by `settle`. All that a list shows is marked by its filter alone (`mark_every`), whatever their number: the
    rows are then those that pass it when they are asked for, but for the ones whose mark was taken away.
    """

    def __init__(self) -> None:
        self._every: MemoryFilter | None = None
        self._total = 0
        self._without: dict[str, Handle] = {}
        self._handles: dict[str, Handle] = {}
        self._stamps: dict[str, tuple[Stamp, ...]] = {}
        self._waiting: dict[str, None] = {}
        self._memories = 0
        self.anchor: Handle | None = None
        """The row that was marked last: where a range begins."""

    def __len__(self) -> int:
        return len(self._handles) if self._every is None else max(0, self._total - len(self._without))

    def __contains__(self, id: str) -> bool:
        return id in self._handles if self._every is None else id not in self._without

    @property
    def every(self) -> MemoryFilter | None:
        """The filter that all marked memories pass, None where they are marked one by one."""
        return self._every

    @property
    def without(self) -> frozenset[str]:
        """The ids that pass it and have no mark."""
        return frozenset(self._without)

    def mark_every(self, filter: MemoryFilter, total: int) -> None:
        """Mark all `total` rows that pass a filter, at once."""
        self.clear()
        self._every, self._total = filter, total

    def count_every(self, total: int) -> None:
        """So many rows pass that filter by now."""
        self._total = total

    @property
    def memories(self) -> int | None:
        """How many memories the marked rows are; None while that is asked for."""
        if self._every is not None:
            return None if self._every.blocks else len(self)
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
        if self._every is not None:
            if entry.id in self._without:
                del self._without[entry.id]
                return True
            self._without[entry.id] = entry.handle
            return False
        if entry.id in self._handles:
            self._forget(entry.id)
            return False
        self._handles[entry.id] = entry.handle
        self._waiting[entry.id] = None
        return True

    def mark(self, entry: MemoryEntry) -> None:
        """Mark a row of which it is not known yet what state it is in."""
        if entry.id not in self:
            self.toggle(entry)

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
        self._every, self._total = None, 0
        self._without.clear()

    def _forget(self, id: str) -> None:
        self._handles.pop(id, None)
        self._memories -= len(self._stamps.pop(id, ()))
        self._waiting.pop(id, None)
