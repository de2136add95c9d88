"""Marked memories, each in the version that it was marked in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.lookup import versions, versions_at
from zeroclaw_tui.memory.change import RowVersion
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.query import MemoryFilter

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory


class Marks:
    """Marked memories in the order of marking, or all that pass a filter but for some.

    A mark set on a row of the list holds at once; `resolve` asks the store which version that row has. What asks a
    store raises InspectorError kinds.
    """

    def __init__(self) -> None:
        self.every: MemoryFilter | None = None
        """The filter that all marked memories pass, None where they are marked one by one."""
        self.anchor: Handle | None = None
        """The row that was marked last: where a range begins."""
        self.total = 0
        """How many memories pass the filter."""
        self._handles: dict[str, Handle] = {}
        """What is marked by id; with a filter, what is not."""
        self._versions: dict[str, RowVersion] = {}

    def __len__(self) -> int:
        return len(self._handles) if self.every is None else max(0, self.total - len(self._handles))

    def __contains__(self, id: str) -> bool:
        return (id in self._handles) is (self.every is None)

    @property
    def is_whole(self) -> bool:
        """Whether all that is marked passes one filter, and all that passes it is marked."""
        return self.every is not None and not self._handles

    @property
    def is_waiting(self) -> bool:
        """Whether the version of a marked row has to be asked for."""
        return self.every is None and len(self._versions) < len(self._handles)

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
        """Mark a row, or take its mark away."""
        self.anchor = entry.handle
        if entry.id in self._handles:
            self.drop([entry.id])
        else:
            self._handles[entry.id] = entry.handle

    def put(self, found: Iterable[RowVersion]) -> None:
        """Mark memories in these versions."""
        for version in found:
            self._handles[version.id] = version.handle
            self._versions[version.id] = version

    def drop(self, ids: Iterable[str]) -> None:
        """Take the marks of these memories away."""
        for one in ids:
            self._handles.pop(one, None)
            self._versions.pop(one, None)

    def clear(self) -> None:
        """Unmark everything."""
        self.every, self.anchor, self.total = None, None, 0
        self._handles.clear()
        self._versions.clear()

    async def mark_at(self, memory: Memory, handles: Sequence[Handle]) -> None:
        """Mark the memories at these positions."""
        self.put(await versions_at(memory, handles))

    async def resolve(self, memory: Memory) -> None:
        """Read the version of every new mark; marks of deleted rows, and of rows that cannot change, are removed."""
        asked = {one: handle for one, handle in self._handles.items() if one not in self._versions}
        if self.every is not None or not asked:
            return
        try:
            # By its id, since another memory may now be at the place of a deleted row.
            found = {version.id: version for version in await versions_at(memory, list(asked.values()))}
        except Refused:
            self.drop(asked)
            raise
        self.put(found[one] for one in asked if one in found and one in self._handles)
        self.drop(one for one in asked if one not in found)

    async def resolve_again(self, memory: Memory, ids: Iterable[str] | None = None) -> None:
        """These memories, or all, were changed here: their marks hold for what they are now."""
        before = dict(self._versions)
        for one in list(before) if ids is None else ids:
            self._versions.pop(one, None)
        await self.resolve(memory)
        if ids is None and memory.about.keeps_lines:
            # An id in a store of lines is a place: another state there is another line, which nobody marked.
            now = self._versions
            self.drop([one for one, old in before.items() if one in now and now[one].state != old.state])

    async def chosen(self, memory: Memory) -> list[RowVersion]:
        """All that is marked, each memory in the version it was marked in, or has now."""
        if self.every is not None:
            return [version for version in await versions(memory, self.every) if version.id not in self._handles]
        await self.resolve(memory)
        return [self._versions[one] for one in self._handles if one in self._versions]
