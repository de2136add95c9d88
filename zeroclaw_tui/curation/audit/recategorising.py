"""Rows with another category, read a few at a time while they are written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.clock import local_now
from zeroclaw_tui.memory.change import RowChange, Stamp, StoredRow

_AT_ONCE = 200
_MOST_BYTES = 4_000_000


class InCategory:
    """The changes that give memories a category. Made on the event loop, iterated on a thread of the change.

    `changed` and `gone` are the ids left out because the row has another state than its stamp, or has gone.
    """

    def __init__(self, memory: Memory, stamps: Sequence[Stamp], category: str) -> None:
        self._memory, self._stamps, self._category = memory, stamps, category
        self._loop = asyncio.get_running_loop()
        self._given: set[str] = set()
        self._changed: dict[str, None] = {}
        self._gone: dict[str, None] = {}

    @property
    def changed(self) -> Sequence[str]:
        """Ids left out because they changed."""
        return list(self._changed)

    @property
    def gone(self) -> Sequence[str]:
        """Ids left out because they have gone."""
        return list(self._gone)

    def batches(self) -> Iterator[Sequence[RowChange]]:
        """The changes, a few megabytes at a time; every time anew from what the store holds then."""
        for stamps in self._chunks():
            reading = asyncio.run_coroutine_threadsafe(
                self._memory.stored_of([stamp.handle for stamp in stamps]), self._loop
            )
            rows = {row.handle: row for row in reading.result()}
            changes = [
                change for stamp in stamps if (change := self._change(stamp, rows.get(stamp.handle))) is not None
            ]
            if changes:
                yield changes

    def _change(self, stamp: Stamp, row: StoredRow | None) -> RowChange | None:
        if row is None or row.id != stamp.id:
            self._gone[stamp.id] = None
            return None
        if row.values.get("category") == self._category and row.id in self._given:
            # Iterated again after a part was written: the count must stay, or others would be skipped.
            return RowChange(row, row)
        if self._memory.stamp_of(row).state != stamp.state:
            self._changed[stamp.id] = None
            return None
        self._given.add(row.id)
        updated = local_now(after=stamp.updated_at)
        values = {**row.values, "category": self._category, "updated_at": updated}
        return RowChange(replace(row, values=values), row)

    def _chunks(self) -> Iterator[Sequence[Stamp]]:
        chunk: list[Stamp] = []
        size = 0
        for stamp in self._stamps:
            if chunk and (len(chunk) >= _AT_ONCE or size + stamp.size > _MOST_BYTES):
                yield chunk
                chunk, size = [], 0
            chunk.append(stamp)
            size += stamp.size
        if chunk:
            yield chunk
