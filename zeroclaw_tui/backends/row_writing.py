"""Creating, changing and removing rows on a few primitives that a store supplies."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from zeroclaw_tui.backends.waiting import to_its_end
from zeroclaw_tui.memory.change import (
    Advance,
    Conflict,
    Draft,
    DuplicateKey,
    Edit,
    Keep,
    Removal,
    RowChange,
    Stamp,
    StoredRow,
    Value,
    Written,
)
from zeroclaw_tui.memory.errors import NotThere

ROWS_AT_ONCE = 250
"""How many rows are kept and then changed before anybody is asked whether to go on."""


class Rows(ABC):
    """The rows of a store, one for each key. What `put` and `drop` do is kept by the caller beforehand."""

    keys_are_unique = True
    """Whether the store itself sees to it that a key is held once; else `of_key` leaves out rows that are brought back
    together with others of their key."""

    @abstractmethod
    async def of_ids(self, ids: Iterable[str]) -> dict[str, StoredRow]:
        """The rows of these ids that are there."""

    @abstractmethod
    async def of_key(self, key: str) -> StoredRow | None:
        """The row of that key."""

    @abstractmethod
    def identity(self, row: StoredRow) -> str:
        """What stays the same of a row for as long as it is the same memory: its id, or its key."""

    @abstractmethod
    async def present(self, row: StoredRow) -> StoredRow | None:
        """The row of the same identity as it is now; None when it is not there."""

    @abstractmethod
    def same(self, one: StoredRow, other: StoredRow) -> bool:
        """Whether both are one memory in one state, as far as the store decides that itself."""

    @abstractmethod
    def drafted(self, draft: Draft, existing: StoredRow | None) -> StoredRow:
        """The row a draft becomes; `existing` is the one it replaces."""

    @abstractmethod
    def edited(self, row: StoredRow, values: Mapping[str, Value]) -> StoredRow:
        """The row with other values, as it will be after `put`."""

    @abstractmethod
    def returned(self, row: StoredRow, over: StoredRow | None, *, apart: bool) -> StoredRow:
        """An earlier row as it will be after `put`; `apart` means that its id belongs to another row now."""

    @abstractmethod
    async def put(self, row: StoredRow, over: StoredRow | None) -> StoredRow:
        """Write a row, in place of `over` where there is one; gives the row as the store now holds it."""

    @abstractmethod
    async def drop(self, row: StoredRow) -> bool:
        """Remove a row; False when it had gone."""

    def notes(self, wanted: StoredRow, got: StoredRow) -> tuple[str, ...]:
        """Sentences about what was wanted and the store did not take."""
        return ()

    async def expect(self, changes: Sequence[RowChange]) -> None:
        """Told which changes are looked at next, so that a store can read all they concern at once."""

    async def carry_out(self, deeds: Sequence[tuple[StoredRow | None, StoredRow | None]]) -> Sequence[str]:
        """Put each second row in place of the first one, in order; without a second the first is removed, without a
        first the second is added. Gives the notes of all."""
        notes: list[str] = []
        for over, wanted in deeds:
            if wanted is not None:
                notes += self.notes(wanted, await self.put(wanted, over))
            elif over is not None:
                await self.drop(over)
        return notes


async def kept_first(keep: Keep, changes: Sequence[RowChange]) -> None:
    """Keep what is about to change, on a thread. Cancelled, it ends only when the trash has let go of it."""
    keeping = asyncio.get_running_loop().run_in_executor(None, keep, changes)
    await to_its_end(keeping, lambda: None)


async def create(rows: Rows, draft: Draft, keep: Keep, replace: bool) -> Written:
    """Store a draft. Raises WrongUse, and DuplicateKey without `replace`."""
    draft = draft.checked()
    existing = await rows.of_key(draft.key)
    if existing is not None and not replace:
        raise DuplicateKey(draft.key, existing)
    wanted = rows.drafted(draft, existing)
    await kept_first(keep, [RowChange(existing, wanted)])
    got = await rows.put(wanted, existing)
    return Written(RowChange(existing, got), rows.notes(wanted, got))


async def update(rows: Rows, id: str, edit: Edit, expected: str, keep: Keep) -> Written:
    """Change a row. Raises WrongUse, NotThere, Conflict and DuplicateKey; an edit that changes nothing is not kept."""
    values = edit.checked().values
    row = (await rows.of_ids([id])).get(id)
    if row is None:
        raise NotThere("This memory is no longer there.", hint="r reloads the list.")
    if row.fingerprint != expected:
        raise Conflict(row)
    if all(row.values.get(name) == value for name, value in values.items()):
        return Written(RowChange(row, row))
    key = values.get("key", row.values["key"])
    holder = await rows.of_key(str(key)) if key != row.values["key"] else None
    if holder is not None:
        raise DuplicateKey(str(key), holder)
    wanted = rows.edited(row, values)
    await kept_first(keep, [RowChange(row, wanted)])
    got = await rows.put(wanted, row)
    return Written(RowChange(row, got), rows.notes(wanted, got))


async def remove(rows: Rows, stamps: Sequence[Stamp], keep: Keep, advance: Advance | None) -> Removal:
    """Remove the rows that still have the state of their stamp."""
    removed = 0
    changed: list[str] = []
    gone: list[str] = []
    for start in range(0, len(stamps), ROWS_AT_ONCE):
        if start and advance is not None and not advance(removed):
            return Removal(removed, tuple(changed), tuple(gone), cancelled=True)
        batch = stamps[start : start + ROWS_AT_ONCE]
        present = await rows.of_ids([stamp.id for stamp in batch])
        gone += [stamp.id for stamp in batch if stamp.id not in present]
        there = [stamp for stamp in batch if stamp.id in present]
        changed += [stamp.id for stamp in there if present[stamp.id].fingerprint != stamp.state]
        going = {stamp.id: present[stamp.id] for stamp in there if present[stamp.id].fingerprint == stamp.state}
        if not going:
            continue
        await kept_first(keep, [RowChange(row, None) for row in going.values()])
        for row in going.values():
            if await rows.drop(row):
                removed += 1
            else:
                gone.append(row.id)
    if advance is not None:
        advance(removed)
    return Removal(removed, tuple(changed), tuple(gone))
