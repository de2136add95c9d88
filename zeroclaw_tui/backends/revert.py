"""Taking changes back: rows become again what they were, whatever came in between.

One engine for every store: it looks at the rows some changes are about, decides what each of them needs, and hands the
store the operations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from typing import Literal

from zeroclaw_tui.backends.rows import MOST_BYTES, Operation, Rows
from zeroclaw_tui.backends.write import goes_on
from zeroclaw_tui.memory.change import (
    AGENTS,
    MEMORIES,
    Advance,
    Batches,
    Clash,
    Clashes,
    ClashFound,
    Keep,
    Reversal,
    RowChange,
    StoredRow,
)
from zeroclaw_tui.memory.text import one_line

Reason = Literal["key exists", "changed", "gone"]
_CLASHES_TOLD = 100
_REMEMBERED_BYTES = 64_000_000
"""Up to so much is not read again after the look for clashes."""


class RevertJob:
    """Taking these changes back. It may be run again where a store had to be opened anew, and goes on where it was."""

    def __init__(self, changes: Batches, keep: Keep, clash: Clash, advance: Advance | None) -> None:
        self._changes = changes
        self._keep = keep
        self._clash = clash
        self._advance = advance
        self._next = self._reverted = 0
        self._renamed: dict[str, str] = {}
        self._remarks: dict[str, None] = {}

    async def run(self, rows: Rows) -> Reversal:
        """Take them back in their order. Raises Clashes with "refuse", before anything is written."""
        if self._clash == "refuse" and not self._next:
            await self.look(rows)
        rows.done = self._reverted
        chunks = await rows.read(partial(self._chunks, rows))
        while chunk := await rows.read(partial(next, chunks, None)):
            if self._next and not goes_on(rows, self._advance, self._next):
                return self._result(rows, cancelled=True)
            plan = _Plan(rows, self._clash)
            async with rows.step(self._keep):
                await plan.carry_out(chunk)
            self._next += len(chunk)
            self._reverted += sum(change.row.table != AGENTS for change in chunk) - plan.skipped
            rows.done = self._reverted
            self._renamed |= plan.renamed
            self._remarks |= plan.remarks | rows.remarks
        if self._advance is not None:
            self._advance(self._next)
        return self._result(rows)

    async def look(self, rows: Rows) -> None:
        """Raises Clashes where taking these changes back meets something that came since; nothing is done."""
        projection = _Projection(rows)
        found: list[ClashFound] = []
        read: list[Sequence[RowChange]] = []
        total = size = 0
        batches = await rows.read(lambda: iter(self._changes()))
        async with rows.look():
            while batch := await rows.read(partial(next, batches, None)):
                clashes = await projection.take_back(batch)
                total += len(clashes)
                found += clashes[: _CLASHES_TOLD - len(found)]
                size += sum(map(_weight, batch))
                if size <= _REMEMBERED_BYTES:
                    read.append(batch)
        if total:
            raise Clashes(found, total)
        if size <= _REMEMBERED_BYTES:
            self._changes = partial(iter, read)

    def _chunks(self, rows: Rows) -> Iterator[Sequence[RowChange]]:
        """What is left, as much at a time as the store says then."""
        chunk: list[RowChange] = []
        size = 0
        for change in islice((change for batch in self._changes() for change in batch), self._next, None):
            weight = _weight(change)
            if chunk and (len(chunk) >= rows.at_once or size + weight > MOST_BYTES):
                yield chunk
                chunk, size = [], 0
            chunk.append(change)
            size += weight
        if chunk:
            yield chunk

    def _result(self, rows: Rows, *, cancelled: bool = False) -> Reversal:
        return Reversal(self._reverted, dict(self._renamed), cancelled, (*self._remarks, *rows.summary()))


@dataclass(frozen=True, slots=True)
class _Situation:
    """What a change meets that shall be taken back.

    `own` is the wanted row as it is now, `left` the one the change left, `holder` another row with the wanted key.
    `reason` is None where nothing is in the way.
    """

    own: StoredRow | None = None
    left: StoredRow | None = None
    holder: StoredRow | None = None
    reason: Reason | None = None
    is_done: bool = False

    def clash(self, change: RowChange) -> ClashFound:
        """The same for people."""
        assert self.reason is not None
        return ClashFound(
            change.row, self.holder if self.reason == "key exists" else self.own or self.left, self.reason
        )


class _Projection:
    """The rows of a store as they will be after what was taken back so far; nothing is written."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._now: dict[str, StoredRow | None] = {}
        self._by_key: dict[tuple[str | None, str], StoredRow] = {}

    async def take_back(self, batch: Sequence[RowChange]) -> list[ClashFound]:
        """Take changes of memories back in thought; gives what stands in the way."""
        rows = self._rows
        found: list[ClashFound] = []
        await rows.expect(batch)
        for change in batch:
            if change.row.table != MEMORIES:
                continue
            wanted = change.before
            owner = None if wanted is None else rows.owner_then(wanted)
            met = await self.situation(change, owner)
            if met.reason is not None:
                found.append(met.clash(change))
            elif not met.is_done:
                for row in self.in_the_way(met):
                    self.drop(row)
                if wanted is not None:
                    self.put(rows.outline(wanted, owner))
        return found

    async def situation(self, change: RowChange, owner: str | None) -> _Situation:
        """Look at the rows one change is about; `owner` is the one the wanted row will have."""
        rows, wanted, after = self._rows, change.before, change.after
        if wanted is None:
            left = await self.present(change.row)
            if left is None:
                return _Situation(is_done=True)
            return _Situation(left=left, reason=None if rows.same(left, change.row) else "changed")
        own = await self.present(wanted)
        if own is not None and rows.same(own, wanted):
            return _Situation(own=own, is_done=True)
        is_other = after is not None and rows.identity(after) != rows.identity(wanted)
        left = await self.present(after) if after is not None and is_other else own
        if is_other and rows.go_by_key:
            # Whoever has the key now is only its holder.
            own = None
        holder = await self.of_key(wanted.key, owner)
        known = {rows.identity(row) for row in (own, left) if row is not None}
        if holder is not None and rows.identity(holder) in known:
            holder = None
        return _Situation(own, left, holder, self._reason(after, own, left, holder))

    def _reason(
        self, after: StoredRow | None, own: StoredRow | None, left: StoredRow | None, holder: StoredRow | None
    ) -> Reason | None:
        if after is None or (own is not None and own is not left):
            changed = own is not None
        else:
            changed = left is not None and not self._rows.same(left, after)
        if changed:
            return "changed"
        if holder is not None:
            return "key exists"
        return "gone" if after is not None and left is None else None

    def in_the_way(self, met: _Situation) -> list[StoredRow]:
        """Every row that goes when the wanted one takes its place, the likeliest ancestor first."""
        rows = {self._rows.identity(row): row for row in (met.own, met.left, met.holder) if row is not None}
        return list(rows.values())

    async def present(self, row: StoredRow) -> StoredRow | None:
        """What a row will have become."""
        identity = self._rows.identity(row)
        return self._now[identity] if identity in self._now else await self._rows.present(row)

    async def of_key(self, key: str, owner: str | None) -> StoredRow | None:
        """The row that will have that key."""
        if (owner, key) in self._by_key:
            return self._by_key[owner, key]
        row = await self._rows.of_key(key, owner)
        return None if row is None or self._rows.identity(row) in self._now else row

    def put(self, row: StoredRow) -> None:
        """As if it were written."""
        self._now[self._rows.identity(row)] = row
        if self._rows.keys_are_unique:
            self._by_key[self._rows.owner(row), row.key] = row

    def drop(self, row: StoredRow) -> None:
        """As if it were removed."""
        self._now[self._rows.identity(row)] = None
        self._by_key.pop((self._rows.owner(row), row.key), None)


@dataclass(slots=True)
class _Plan:
    """What takes some changes back, as far as it has been thought out, and what was met on the way."""

    rows: Rows
    clash: Clash
    operations: list[Operation] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    remarks: dict[str, None] = field(default_factory=dict)
    skipped: int = 0

    async def carry_out(self, chunk: Sequence[RowChange]) -> None:
        """All memories in a row in thought, then at once; every other row, such as an agent, by itself."""
        for are_memories, group in groupby(chunk, key=lambda change: change.row.table == MEMORIES):
            if not are_memories:
                for change in group:
                    await self.rows.write([await self.rows.other(change)])
                continue
            part = [*group]
            await self.rows.expect(part)
            projection = _Projection(self.rows)
            self.operations = []
            for change in part:
                await self._take_back(projection, change)
            await self.rows.write(self.operations)

    async def _take_back(self, projection: _Projection, change: RowChange) -> None:
        wanted = change.before
        owner, added = (None, None) if wanted is None else await self.rows.owner_again(wanted)
        if added is not None:
            self.operations.append(added)
        met = await projection.situation(change, owner)
        if met.is_done:
            self._leave(change, met.own)
        elif met.reason is not None and self.clash == "refuse":
            raise Clashes([met.clash(change)], 1)
        elif met.reason is not None and self.clash == "skip":
            self.skipped += 1
        elif wanted is None:
            self._take_away(projection, change, met)
        elif met.reason is not None and self.clash == "rename":
            await self._bring_beside(projection, change, wanted, owner, met)
        else:
            self._bring_back(projection, change, wanted, owner, met)

    def _leave(self, change: RowChange, row: StoredRow | None) -> None:
        """Nothing is to be done. A change of the trash counts as taken back then, and where the row has gone, what it
        was is kept: nobody else may have it any more."""
        if change.number is not None:
            self.operations.append(Operation(row or change.row, row, change.number, is_done=True))

    def _take_away(self, projection: _Projection, change: RowChange, met: _Situation) -> None:
        """Undo a creation."""
        if met.reason is not None and self.clash == "rename":
            key = repr(one_line(change.row.key))
            self.remarks[f"{key} changed since it was stored, so it stays as it is now."] = None
            self._leave(change, met.left)
            return
        for row in projection.in_the_way(met):
            projection.drop(row)
            self.operations.append(Operation(row, None, change.number))

    def _bring_back(
        self, projection: _Projection, change: RowChange, wanted: StoredRow, owner: str | None, met: _Situation
    ) -> None:
        """Undo an edit or a removal, instead of whatever is in the way."""
        in_the_way = projection.in_the_way(met)
        over = in_the_way[0] if in_the_way else None
        for row in in_the_way[1:]:
            projection.drop(row)
            self.operations.append(Operation(row, None, change.number))
        self._append(projection, over, self.rows.returned(wanted, over, owner, apart=False), change)

    async def _bring_beside(
        self, projection: _Projection, change: RowChange, wanted: StoredRow, owner: str | None, met: _Situation
    ) -> None:
        """Under another key; with an id of its own only where its own belongs to a row that changed."""
        old = wanted.key
        free, number = old, 1
        while await projection.of_key(free, owner) is not None:
            free = f"{old} (restored)" if number == 1 else f"{old} (restored {number})"
            number += 1
        if free != old:
            self.renamed[old] = free
            wanted = dataclasses.replace(wanted, values={**wanted.values, "key": free})
        over = None if met.reason == "changed" else met.own or met.left
        apart = over is None and met.own is not None
        self._append(projection, over, self.rows.returned(wanted, over, owner, apart=apart), change)

    def _append(self, projection: _Projection, over: StoredRow | None, row: StoredRow, change: RowChange) -> None:
        if over is not None:
            projection.drop(over)
        projection.put(row)
        self.operations.append(Operation(over, row, change.number))


def _weight(change: RowChange) -> int:
    """About how many bytes a row is."""
    return sum(len(value) for value in change.row.values.values() if isinstance(value, str | bytes))
