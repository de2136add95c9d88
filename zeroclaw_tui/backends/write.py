"""Storing, changing and removing memories by the rows of a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from zeroclaw_tui.backends.rows import MOST_BYTES, Operation, Rows, keep_nothing
from zeroclaw_tui.memory.change import (
    Advance,
    Conflict,
    Draft,
    DuplicateKey,
    Edit,
    FilledVectors,
    Keep,
    NewVector,
    Removal,
    RowChange,
    Stamp,
    Written,
)
from zeroclaw_tui.memory.errors import NotThere

Sized = TypeVar("Sized", Stamp, Draft)

_TRIES = 20
"""How often something is begun anew that somebody else's write came into."""


async def create(rows: Rows, draft: Draft, keep: Keep, replace: bool) -> Written:
    """Store a draft. Raises WrongUse, Refused, and DuplicateKey without `replace`."""
    draft = draft.checked()
    rows.check_draft(draft)
    for tries_left in reversed(range(_TRIES)):
        try:
            async with rows.step(keep):
                return await _stored(rows, draft, replace)
        except DuplicateKey:
            # Another program may take the key between the look at it and the write.
            if not replace or not tries_left:
                raise
    raise AssertionError


async def _stored(rows: Rows, draft: Draft, replace: bool) -> Written:
    owner, added = await rows.owner_named(draft.agent)
    existing = await rows.of_key(draft.key, owner)
    if existing is not None and not replace:
        raise DuplicateKey(draft.key, existing)
    others = [Operation(row, None) for row in await rows.others_of_key(draft.key, owner)]
    operation = Operation(existing, rows.drafted(draft, existing, owner), touch=True)
    *_, change = await rows.write([*([] if added is None else [added]), *others, operation])
    return Written(change, tuple(rows.remarks))


async def update(rows: Rows, id: str, edit: Edit, expected: str, keep: Keep) -> Written:
    """Change a row. Raises WrongUse, Refused, NotThere, Conflict and DuplicateKey; an edit that changes nothing is not
    kept."""
    edited = edit.checked().values
    rows.check_edit(edited)
    async with rows.step(keep):
        row = (await rows.of_ids([id])).get(id)
        if row is None:
            raise NotThere("This memory is no longer there.", hint="r reloads the list.")
        if row.fingerprint != expected:
            raise Conflict(row)
        values = rows.as_stored(edited, row)
        if all(row.values.get(name) == value for name, value in values.items()):
            return Written(RowChange(row, row), tuple(rows.remarks))
        key = values.get("key", row.values["key"])
        holder = await rows.of_key(str(key), rows.owner(row)) if key != row.values["key"] else None
        if holder is not None:
            raise DuplicateKey(str(key), holder)
        (change,) = await rows.write([Operation(row, rows.edited(row, values), touch=True)])
    return Written(change, tuple(rows.remarks))


class RemoveJob:
    """The removal of these memories.

    It may be run again where a store had to be opened anew, and goes on where it was.
    """

    def __init__(self, stamps: Sequence[Stamp], keep: Keep, advance: Advance | None) -> None:
        self._stamps = stamps
        self._keep = keep
        self._advance = advance
        self._next = self._removed = 0
        self._changed: list[str] = []
        self._gone: list[str] = []

    async def run(self, rows: Rows) -> Removal:
        """Remove what still has the state of its stamp, some hundreds at a time."""
        rows.done = self._removed
        while self._next < len(self._stamps):
            if self._next and not goes_on(rows, self._advance, self._next):
                return self._result(rows, cancelled=True)
            await self._step(rows, _fitting(self._stamps, self._next, rows.at_once))
            rows.done = self._removed
        if self._advance is not None:
            self._advance(self._next)
        return self._result(rows)

    async def _step(self, rows: Rows, batch: Sequence[Stamp]) -> None:
        size, tries = len(batch), 0
        while batch and tries < _TRIES:
            tries += 1
            async with rows.step(self._keep):
                found = [*zip(batch, await rows.of_stamps(batch), strict=True)]
                unchanged = [row for stamp, row in found if row is not None and rows.state_of(row) == stamp.state]
                going = {rows.identity(row): row for row in unchanged}
                done = await rows.write([Operation(row, None) for row in going.values()]) if going else ()
            left = going.keys() - {rows.identity(change.row) for change in done}
            self._removed += len(going) - len(left)
            self._changed += [stamp.id for stamp, row in found if row is not None and rows.identity(row) not in going]
            self._gone += [stamp.id for stamp, row in found if row is None]
            # Where nothing can be held, another program may write between the look at a row and its removal.
            batch = [stamp for stamp, row in found if row is not None and rows.identity(row) in left]
        self._changed += [stamp.id for stamp in batch]
        self._next += size

    def _result(self, rows: Rows, *, cancelled: bool = False) -> Removal:
        return Removal(self._removed, tuple(self._changed), tuple(self._gone), cancelled, tuple(rows.remarks))


class StoreJob:
    """Storing many drafts, each as `create` does with `replace`; of those with one key the last counts.

    It may be run again where a store had to be opened anew, and goes on where it was.
    """

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self._drafts = [draft.checked() for draft in drafts]
        self._next = 0

    async def run(self, rows: Rows) -> None:
        """Store them. Raises Refused before any is written, for what the store has no place for."""
        for draft in self._drafts:
            rows.check_draft(draft)
        while self._next < len(self._drafts) and not rows.is_stopped:
            batch = _fitting(self._drafts, self._next, rows.at_once)
            async with rows.step(keep_nothing):
                is_done = await rows.upsert(batch)
            for draft in () if is_done else batch:
                await create(rows, draft, keep_nothing, replace=True)
            self._next = rows.done = self._next + len(batch)


class FillJob:
    """Giving rows these vectors. It may be run again where a store had to be opened anew, and goes on where it was."""

    def __init__(self, vectors: Sequence[NewVector]) -> None:
        self._vectors = vectors
        self._next = self._filled = 0
        self._left: list[str] = []

    async def run(self, rows: Rows) -> FilledVectors:
        """Write them into the rows that still have the fingerprint; their times stay. Raises Refused."""
        rows.check_vectors(self._vectors)
        while self._next < len(self._vectors) and not rows.is_stopped:
            batch = self._vectors[self._next : self._next + rows.at_once]
            async with rows.step(keep_nothing):
                present = await rows.of_ids([wanted.id for wanted in batch])
                going = {
                    wanted.id: (present[wanted.id], wanted)
                    for wanted in batch
                    if wanted.id in present and present[wanted.id].fingerprint == wanted.fingerprint
                }
                await rows.fill([*going.values()])
            self._next += len(batch)
            self._filled = rows.done = self._filled + len(going)
            self._left += [wanted.id for wanted in batch if wanted.id not in going]
        return FilledVectors(self._filled, tuple(self._left))


def goes_on(rows: Rows, advance: Advance | None, done: int) -> bool:
    """Whether another step should begin, after so many rows."""
    return not rows.is_stopped and (advance is None or advance(done))


def _fitting(items: Sequence[Sized], start: int, most: int) -> Sequence[Sized]:
    size = 0
    for end in range(start, min(start + most, len(items))):
        item = items[end]
        size += item.size if isinstance(item, Stamp) else len(item.content)
        if end > start and size > MOST_BYTES:
            return items[start:end]
    return items[start : start + most]
