"""Taking changes back row by row, on the primitives of `row_writing`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from zeroclaw_tui.backends.row_writing import Rows, kept_first
from zeroclaw_tui.memory.change import (
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

CLASHES_TOLD = 100
Reason = Literal["key exists", "changed", "gone"]


@dataclass(frozen=True, slots=True)
class Deed:
    """One row to put in place of another; without `wanted`, one to remove; without `over`, one to add."""

    over: StoredRow | None
    wanted: StoredRow | None


@dataclass(slots=True)
class Plan:
    """What takes some changes back, in order, as far as it has been thought out."""

    kept: list[RowChange] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
    clashes: list[ClashFound] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    skipped: int = 0


async def revert(rows: Rows, changes: Batches, keep: Keep, clash: Clash, advance: Advance | None) -> Reversal:
    """Bring rows back to `before`, batch by batch. Raises Clashes before anything is done, with "refuse"."""
    if clash == "refuse":
        await look_first(rows, changes)
    reverted = 0
    renamed: dict[str, str] = {}
    notes: dict[str, None] = {}
    iterator = await asyncio.to_thread(lambda: iter(changes()))
    while batch := await asyncio.to_thread(next, iterator, None):
        if reverted and advance is not None and not advance(reverted):
            return Reversal(reverted, renamed, cancelled=True, notes=tuple(notes))
        await rows.expect(batch)
        plan = await _planned(Ahead(rows), batch, clash)
        if plan.clashes:
            raise Clashes(plan.clashes[:CLASHES_TOLD], len(plan.clashes))
        if plan.kept:
            await kept_first(keep, plan.kept)
        notes.update(dict.fromkeys(await rows.carry_out([(deed.over, deed.wanted) for deed in plan.deeds])))
        reverted += len(batch) - plan.skipped
        renamed |= plan.renamed
        notes |= plan.notes
    if advance is not None:
        advance(reverted)
    return Reversal(reverted, renamed, notes=tuple(notes))


async def look_first(rows: Rows, changes: Batches) -> None:
    """Raises Clashes where taking these changes back meets something that came since; nothing is done."""
    ahead, total = Ahead(rows), 0
    found: list[ClashFound] = []
    iterator = await asyncio.to_thread(lambda: iter(changes()))
    while batch := await asyncio.to_thread(next, iterator, None):
        await rows.expect(batch)
        clashes = (await _planned(ahead, batch, "refuse")).clashes
        total += len(clashes)
        found += clashes[: CLASHES_TOLD - len(found)]
    if total:
        raise Clashes(found, total)


async def _planned(ahead: Ahead, batch: Sequence[RowChange], clash: Clash) -> Plan:
    plan = Plan()
    for change in batch:
        if change.before is None:
            await _take_away(ahead, change, clash, plan)
        else:
            await _bring_back(ahead, change, change.before, clash, plan)
    return plan


async def _take_away(ahead: Ahead, change: RowChange, clash: Clash, plan: Plan) -> None:
    """Undo a creation."""
    created = change.row
    present = await ahead.present(created)
    if present is None:
        return
    if not ahead.same(present, created):
        if clash == "refuse":
            plan.clashes.append(ClashFound(created, present, "changed"))
            return
        if clash == "skip":
            plan.skipped += 1
            return
        if clash == "rename":
            plan.notes[f"{_key(created)!r} changed since it was stored, so it stays as it is now."] = None
            return
    plan.kept.append(RowChange(present, None, reverses=change.number))
    plan.deeds.append(Deed(present, None))
    ahead.drop(present)


async def _bring_back(ahead: Ahead, change: RowChange, wanted: StoredRow, clash: Clash, plan: Plan) -> None:
    """Undo an edit or a removal."""
    present = await ahead.present(change.after or wanted)
    if present is None:
        # A store that goes by keys may have it under its old one already.
        there = await ahead.present(wanted)
        present = there if there is not None and ahead.same(there, wanted) else None
    if present is not None and ahead.same(present, wanted):
        return
    holder = await ahead.of_key(_key(wanted))
    if holder is not None and present is not None and ahead.is_one(holder, present):
        holder = None
    reason = _reason(ahead, change, present, holder)
    if reason is not None and clash == "refuse":
        plan.clashes.append(ClashFound(wanted, holder if reason == "key exists" else present, reason))
        return
    if reason is not None and clash == "skip":
        plan.skipped += 1
        return
    # Beside a row that changed, the old one needs an id of its own; where only its key is taken, another key will do.
    apart = clash == "rename" and reason == "changed"
    over = None if apart else present
    if clash == "overwrite":
        if over is None:
            over, holder = holder, None
        elif holder is not None:
            _append(ahead, plan, holder, None, change.number)
    elif holder is not None or apart:
        wanted = await _under_a_free_key(ahead, wanted, plan)
    _append(ahead, plan, over, ahead.returned(wanted, over, apart=apart), change.number)


def _reason(ahead: Ahead, change: RowChange, present: StoredRow | None, holder: StoredRow | None) -> Reason | None:
    if present is not None and (change.after is None or not ahead.same(present, change.after)):
        return "changed"
    if holder is not None:
        return "key exists"
    return "gone" if present is None and change.after is not None else None


def _append(ahead: Ahead, plan: Plan, over: StoredRow | None, wanted: StoredRow | None, number: int | None) -> None:
    plan.kept.append(RowChange(over, wanted, reverses=number))
    plan.deeds.append(Deed(over, wanted))
    if wanted is not None:
        ahead.put(wanted, over)
    elif over is not None:
        ahead.drop(over)


async def _under_a_free_key(ahead: Ahead, row: StoredRow, plan: Plan) -> StoredRow:
    old = _key(row)
    if await ahead.of_key(old) is None:
        return row
    key, number = f"{old} (restored)", 2
    while await ahead.of_key(key) is not None:
        key, number = f"{old} (restored {number})", number + 1
    plan.renamed[old] = key
    return replace(row, values={**row.values, "key": key})


def _key(row: StoredRow) -> str:
    return str(row.values["key"])


class Ahead:
    """The rows of a store as they will be: what is put and dropped here stays here."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._now: dict[str, StoredRow | None] = {}
        self._by_key: dict[str, StoredRow] = {}
        self.same, self.returned = rows.same, rows.returned

    async def present(self, row: StoredRow) -> StoredRow | None:
        """What a row will have become."""
        identity = self._rows.identity(row)
        return self._now[identity] if identity in self._now else await self._rows.present(row)

    async def of_key(self, key: str) -> StoredRow | None:
        """The row that will have that key."""
        if key in self._by_key:
            return self._by_key[key]
        row = await self._rows.of_key(key)
        return None if row is None or self._rows.identity(row) in self._now else row

    def put(self, row: StoredRow, over: StoredRow | None) -> None:
        """As if it were written."""
        if over is not None:
            self.drop(over)
        self._now[self._rows.identity(row)] = row
        if self._rows.keys_are_unique:
            self._by_key[_key(row)] = row

    def drop(self, row: StoredRow) -> None:
        """As if it were removed."""
        self._now[self._rows.identity(row)] = None
        self._by_key.pop(_key(row), None)

    def is_one(self, one: StoredRow, other: StoredRow) -> bool:
        """Whether both are the same memory, in whatever state."""
        return self._rows.identity(one) == self._rows.identity(other)
