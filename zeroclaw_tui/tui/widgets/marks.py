"""Marked memories, by their ids or by the filter that all of them pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.lookup import versions
from zeroclaw_tui.memory.change import RowVersion
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.query import VERSIONS, MemoryFilter, Query

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory


class Marks:
    """Marked memories in the order of marking, or all that pass a filter but for some."""

    def __init__(self) -> None:
        self.every: MemoryFilter | None = None
        """The filter that all marked memories pass, None where they are marked one by one."""
        self.anchor: Handle | None = None
        """The row that was marked last: where a range begins."""
        self.total = 0
        """How many memories pass the filter."""
        self._ids: dict[str, None] = {}
        """What is marked; with a filter, what is not."""

    def __len__(self) -> int:
        return len(self._ids) if self.every is None else max(0, self.total - len(self._ids))

    def __contains__(self, id: str) -> bool:
        return (id in self._ids) is (self.every is None)

    @property
    def is_whole(self) -> bool:
        """Whether all that is marked passes one filter, and all that passes it is marked."""
        return self.every is not None and not self._ids

    def mark_every(self, filter: MemoryFilter, total: int) -> None:
        """Mark all `total` rows that pass a filter, at once."""
        self.clear()
        self.every, self.total = filter, total

    def recount(self, filter: MemoryFilter, total: int) -> None:
        """Of marks by this filter, whatever the moment, there are so many now."""
        ages = {"older_than": None, "newer_than": None}
        if self.every is not None and self.every.but(**ages) == filter.but(**ages):
            self.total = total

    def toggle(self, entry: MemoryEntry) -> None:
        """Mark a memory, or unmark it."""
        self.anchor = entry.handle
        if entry.id in self._ids:
            del self._ids[entry.id]
        else:
            self._ids[entry.id] = None

    def put(self, ids: Iterable[str]) -> None:
        """Mark memories."""
        self._ids.update(dict.fromkeys(ids))

    def drop(self, ids: Iterable[str]) -> None:
        """Unmark memories."""
        for one in ids:
            self._ids.pop(one, None)

    def clear(self) -> None:
        """Unmark everything."""
        self.every, self.anchor, self.total = None, None, 0
        self._ids.clear()

    async def chosen(self, memory: Memory) -> Sequence[RowVersion]:
        """All that is marked, as it is now; deleted memories are left out. Raises InspectorError kinds."""
        if self.every is not None:
            return [version for version in await versions(memory, self.every) if version.id not in self._ids]
        return await memory.rows(Query(VERSIONS, ids=list(self._ids)))
