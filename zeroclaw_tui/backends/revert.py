"""Changing the rows of any store, and taking changes back: rows become again what they were, whatever came in between.

One engine for every store: a store supplies its `Rows`; all that is decided of them is written once, as coroutines. A
store behind a network awaits them on its event loop; one that works in a thread of its own drives them there with
`finished`.
"""

from __future__ import annotations

import asyncio
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from typing import Any, Literal, TypeVar

from zeroclaw_tui.backends.cancellation import wait_until_done
from zeroclaw_tui.memory.change import (
    AGENTS,
    CLASHES_TOLD,
    MEMORIES,
    Advance,
    Batches,
    Clash,
    Clashes,
    ClashFound,
    Conflict,
    Draft,
    DuplicateKey,
    Edit,
    FilledVectors,
    Keep,
    NewVector,
    Removal,
    Reversal,
    RowChange,
    Stamp,
    StoredRow,
    Value,
    Written,
)
from zeroclaw_tui.memory.errors import NotFound, Refused
from zeroclaw_tui.memory.text import one_line

Answer = TypeVar("Answer")
Item = TypeVar("Item")

MOST_ROWS = 250
"""How many rows are kept and changed before anybody is asked whether to go on, and before others may write."""
MOST_BYTES = 4_000_000
"""How many bytes of values at once."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One row to put in place of another: without `wanted` one to remove, without `over` one to add.

    `reverses` is the number of the kept change that it takes back. With `touch` the time of storing becomes now. What
    `is_done` is kept like the others, and needs nothing to be done.
    """

    over: StoredRow | None
    wanted: StoredRow | None
    reverses: int | None = None
    touch: bool = False
    is_done: bool = False

    @property
    def change(self) -> RowChange:
        """What it does, as it is meant."""
        return RowChange(self.over, self.wanted, reverses=self.reverses)


class Rows(ABC):
    """The rows of a store for one verb, one row for each key and owner.

    An owner is what tells two memories of one key apart: an agent, as the store names it; None where there are none.
    """

    keys_are_unique = True
    """Whether the store itself sees to it that a key is held once; else `of_key` leaves out rows that are brought back
    together with others of their key."""
    go_by_key = False
    """Whether a row is what has its key, so that it is another under another key."""
    at_once: int = MOST_ROWS
    """How many rows the next step takes at most."""
    is_stopped: bool = False
    """Whether no further step should begin."""
    done: int = 0
    """How many rows are changed for good; set by who drives the steps."""

    def __init__(self) -> None:
        self.remarks: dict[str, None] = {}
        """Sentences about what was wanted and the store did not take."""
        self.keep: Keep = keep_nothing

    @asynccontextmanager
    async def step(self, keep: Keep) -> AsyncIterator[None]:
        """What happens in it happens together, where the store has transactions; `keep` is given what changes."""
        self.keep = keep
        yield

    @asynccontextmanager
    async def look(self) -> AsyncIterator[None]:
        """The same for looking only: nothing is held for others."""
        yield

    async def read(self, work: Callable[[], Answer]) -> Answer:
        """What some work answers that waits for a disk."""
        return await asyncio.to_thread(work)

    @abstractmethod
    async def of_ids(self, ids: Iterable[str]) -> dict[str, StoredRow]:
        """The rows of these ids that are there."""

    async def of_stamps(self, stamps: Sequence[Stamp]) -> Sequence[StoredRow | None]:
        """The row of each of these stamps; None for one that is not there."""
        present = await self.of_ids([stamp.id for stamp in stamps])
        return [present.get(stamp.id) for stamp in stamps]

    @abstractmethod
    async def of_key(self, key: str, owner: str | None = None) -> StoredRow | None:
        """The row of that key and owner."""

    async def others_of_key(self, key: str, owner: str | None) -> Sequence[StoredRow]:
        """Further rows of that key, which go when it is stored again."""
        return ()

    @abstractmethod
    def identity(self, row: StoredRow) -> str:
        """What stays the same of a row for as long as it is the same memory: its id, or its key."""

    def owner(self, row: StoredRow) -> str | None:
        """Whose row it is."""
        return None

    @abstractmethod
    async def present(self, row: StoredRow) -> StoredRow | None:
        """The row of the same identity as it is now; None when it is not there."""

    @abstractmethod
    def same(self, one: StoredRow, other: StoredRow) -> bool:
        """Whether both are one memory in one state, as far as the store decides that itself."""

    def state_of(self, row: StoredRow) -> str:
        """The state that a stamp of this row has."""
        return row.fingerprint

    def check_draft(self, draft: Draft) -> None:
        """Raises Refused for what this store has no place for, before anything is read."""

    def check_edit(self, values: Mapping[str, Value]) -> None:
        """Raises Refused for what this store has no place for, before anything is read."""

    def check_vectors(self, vectors: Sequence[NewVector]) -> None:
        """Raises Refused for vectors that this store has no place for, before anything is read."""

    def as_stored(self, values: Mapping[str, Value], row: StoredRow) -> Mapping[str, Value]:
        """New values of a row as this store will write them."""
        return values

    @abstractmethod
    def drafted(self, draft: Draft, existing: StoredRow | None, owner: str | None) -> StoredRow:
        """The row a draft becomes; `existing` is the one it replaces."""

    @abstractmethod
    def edited(self, row: StoredRow, values: Mapping[str, Value]) -> StoredRow:
        """The row with other values, as it will be once it is written."""

    @abstractmethod
    def returned(self, row: StoredRow, over: StoredRow | None, owner: str | None, *, apart: bool) -> StoredRow:
        """An earlier row as it will be once it is written; `apart` means that its id belongs to another row now."""

    async def owner_named(self, alias: str | None) -> tuple[str | None, Operation | None]:
        """The owner of a new memory of this agent, and what added the agent. Raises Refused."""
        return None, None

    def owner_then(self, row: StoredRow) -> str | None:
        """Who would own a row that comes back."""
        return self.owner(row)

    async def owner_again(self, row: StoredRow) -> tuple[str | None, Operation | None]:
        """Who owns a row that comes back, and what added that agent."""
        return self.owner_then(row), None

    def outline(self, row: StoredRow, owner: str | None) -> StoredRow:
        """A row to be compared by `same` and to be found by its key, with as little weight as may be."""
        return row

    async def expect(self, changes: Sequence[RowChange]) -> None:
        """Told which changes are looked at next, so that a store can read all they concern at once."""

    async def write(self, operations: Sequence[Operation]) -> Sequence[RowChange]:
        """Keep and do these operations in order; gives those that were done, with the rows as the store now holds them.

        Where nothing happens together it is kept first.
        """
        if operations:
            await kept(self.keep, [operation.change for operation in operations])
        return await self.carry_out([operation for operation in operations if not operation.is_done])

    async def carry_out(self, operations: Sequence[Operation]) -> Sequence[RowChange]:
        """Do operations that are kept; a row to be removed that had gone is left out of what was done."""
        changes: list[RowChange] = []
        for operation in operations:
            if operation.wanted is not None:
                got = await self.put(operation.wanted, operation.over)
                changes.append(RowChange(operation.over, got, reverses=operation.reverses))
            elif operation.over is not None and await self.drop(operation.over):
                changes.append(operation.change)
        return changes

    async def put(self, row: StoredRow, over: StoredRow | None) -> StoredRow:
        """Write a row, in place of `over` where there is one; gives the row as the store now holds it."""
        raise NotImplementedError

    async def drop(self, row: StoredRow) -> bool:
        """Remove a row; False when it had gone."""
        raise NotImplementedError

    async def other(self, change: RowChange) -> Operation:
        """Take back a change of a row that is no memory, at once."""
        return Operation(change.row, change.row, change.number, is_done=True)

    async def upsert(self, drafts: Sequence[Draft]) -> bool:
        """Store drafts by a statement of the store's own; False where it has none, and nothing was done."""
        return False

    async def fill(self, filled: Sequence[tuple[StoredRow, NewVector]]) -> None:
        """Give rows other vectors; nothing else of them changes."""
        raise Refused("This store takes vectors only with the memories they are of.", hint="Nothing was changed.")

    def summary(self) -> tuple[str, ...]:
        """Sentences for the end, about all that was written."""
        return ()


async def kept(keep: Keep, changes: Sequence[RowChange]) -> None:
    """Keep what changes, on a thread since that waits for a disk; who gives up meanwhile is heard afterwards."""
    keeping = asyncio.get_running_loop().run_in_executor(None, keep, changes)
    await wait_until_done(keeping, lambda: None)


def keep_nothing(changes: Sequence[RowChange]) -> None:
    """For ZeroClaw's own verbs, which keep nothing."""


def finished(coroutine: Coroutine[Any, Any, Answer]) -> Answer:
    """What a coroutine gives that never waits for anything: it runs to its end here, on any thread."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        answer: Answer = end.value
        return answer
    coroutine.close()
    raise RuntimeError("a coroutine that is driven on a thread must not wait")


Sized = TypeVar("Sized", Stamp, Draft)

_TRIES = 20
"""How often something is begun anew that somebody else's write came into."""


async def create(rows: Rows, draft: Draft, keep: Keep, replace: bool) -> Written:
    """Store a draft. Raises UsageError, Refused, and DuplicateKey without `replace`."""
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
    """Change a row. Raises UsageError, Refused, NotFound, Conflict and DuplicateKey; an edit that changes nothing is
    not kept."""
    edited = edit.checked().values
    rows.check_edit(edited)
    async with rows.step(keep):
        row = (await rows.of_ids([id])).get(id)
        if row is None:
            raise NotFound("This memory no longer exists.", hint="Press r to reload the list.")
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


def parts(items: Iterable[Item], weigh: Callable[[Item], int], most: Callable[[], int]) -> Iterator[Sequence[Item]]:
    """As many of these at a time as `most` then says, and no more than MOST_BYTES unless one alone is."""
    part: list[Item] = []
    size = 0
    for item in items:
        weight = weigh(item)
        if part and (len(part) >= most() or size + weight > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(item)
        size += weight
    if part:
        yield part


Reason = Literal["key exists", "changed", "gone"]
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
        self._left: list[str] = []
        self._renamed: dict[str, str] = {}
        self._remarks: dict[str, None] = {}

    async def run(self, rows: Rows) -> Reversal:
        """Take them back in their order. Raises Clashes with "refuse", before anything is written."""
        if self._clash == "refuse" and not self._next:
            foreseen = await self.look(rows)
            if foreseen.clashes:
                raise Clashes(foreseen.clashes, foreseen.clashing)
        rows.done = self._reverted
        chunks = await rows.read(partial(self._chunks, rows))
        while chunk := await rows.read(partial(next, chunks, None)):
            if self._next and not goes_on(rows, self._advance, self._next):
                return self._result(rows, cancelled=True)
            plan = _Plan(rows, self._clash)
            async with rows.step(self._keep):
                await plan.carry_out(chunk)
            self._next += len(chunk)
            self._left += plan.left
            self._reverted += _counted(chunk) - len(plan.left)
            rows.done = self._reverted
            self._renamed |= plan.renamed
            self._remarks |= plan.remarks | rows.remarks
        if self._advance is not None:
            self._advance(self._next)
        return self._result(rows)

    async def look(self, rows: Rows) -> Reversal:
        """What taking these changes back would do now, with whatever is in its way; nothing is done."""
        plan = _Plan(rows, self._clash, is_looking=True)
        read: list[Sequence[RowChange]] = []
        count = size = 0
        batches = await rows.read(lambda: iter(self._changes()))
        async with rows.look():
            while batch := await rows.read(partial(next, batches, None)):
                await plan.think_out(batch)
                count += _counted(batch)
                size += sum(map(_weight, batch))
                if size <= _REMEMBERED_BYTES:
                    read.append(batch)
        if size <= _REMEMBERED_BYTES:
            self._changes = partial(iter, read)
        notes = (*plan.remarks, *rows.remarks)
        clashes, left = tuple(plan.clashes), tuple(plan.left)
        return Reversal(count - len(left), plan.renamed, False, notes, clashes, plan.clashing, left)

    def _chunks(self, rows: Rows) -> Iterator[Sequence[RowChange]]:
        """What is left, as much at a time as the store says then."""
        every = (change for batch in self._changes() for change in batch)
        return parts(islice(every, self._next, None), _weight, lambda: rows.at_once)

    def _result(self, rows: Rows, *, cancelled: bool = False) -> Reversal:
        notes, left = (*self._remarks, *rows.summary()), tuple(self._left)
        return Reversal(self._reverted, dict(self._renamed), cancelled, notes, left=left)


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
    """What takes some changes back, as far as it has been thought out, and what was met on the way.

    One that `is_looking` is never carried out: it goes over all changes in thought, whatever is in the way.
    """

    rows: Rows
    clash: Clash
    is_looking: bool = False
    projection: _Projection = field(init=False)
    operations: list[Operation] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    remarks: dict[str, None] = field(default_factory=dict)
    clashes: list[ClashFound] = field(default_factory=list)
    clashing: int = 0
    left: list[str] = field(default_factory=list)
    """The ids of rows that are not taken back since something is in their way."""

    def __post_init__(self) -> None:
        self.projection = _Projection(self.rows)

    async def carry_out(self, chunk: Sequence[RowChange]) -> None:
        """All memories in a row in thought, then at once; every other row, such as an agent, by itself."""
        for are_memories, group in groupby(chunk, key=lambda change: change.row.table == MEMORIES):
            if not are_memories:
                for change in group:
                    await self.rows.write([await self.rows.other(change)])
                continue
            self.projection = _Projection(self.rows)
            await self.think_out([*group])
            if self.clashes and self.clash == "refuse":
                raise Clashes(self.clashes, self.clashing)
            await self.rows.write(self.operations)

    async def think_out(self, batch: Sequence[RowChange]) -> None:
        """The operations that take these memories back."""
        self.operations = []
        await self.rows.expect(batch)
        for change in batch:
            if change.row.table == MEMORIES:
                await self._take_back(change)

    async def _take_back(self, change: RowChange) -> None:
        wanted = change.before
        owner = await self._owner(wanted)
        met = await self.projection.situation(change, owner)
        if met.reason is not None:
            self.clashing += 1
            self.clashes += [met.clash(change)] if len(self.clashes) < CLASHES_TOLD else []
        if met.is_done:
            self._leave(change, met.own)
        elif met.reason is not None and self.clash in ("refuse", "skip"):
            self.left.append(change.row.id)
        elif wanted is None:
            self._take_away(change, met)
        elif met.reason is not None and self.clash == "rename":
            await self._bring_beside(change, wanted, owner, met)
        else:
            self._bring_back(change, wanted, owner, met)

    async def _owner(self, wanted: StoredRow | None) -> str | None:
        if wanted is None:
            return None
        if self.is_looking:
            return self.rows.owner_then(wanted)
        owner, added = await self.rows.owner_again(wanted)
        self.operations += [] if added is None else [added]
        return owner

    def _leave(self, change: RowChange, row: StoredRow | None) -> None:
        """Nothing is to be done. A change of the trash counts as taken back then, and where the row has gone, what it
        was is kept: nobody else may have it any more."""
        if change.number is not None:
            self.operations.append(Operation(row or change.row, row, change.number, is_done=True))

    def _take_away(self, change: RowChange, met: _Situation) -> None:
        """Undo a creation."""
        if met.reason is not None and self.clash == "rename":
            key = repr(one_line(change.row.key))
            self.remarks[f"{key} changed since it was stored, so it stays as it is now."] = None
            self._leave(change, met.left)
            return
        self._drop(change, self.projection.in_the_way(met))

    def _bring_back(self, change: RowChange, wanted: StoredRow, owner: str | None, met: _Situation) -> None:
        """Undo an edit or a removal, instead of whatever is in the way."""
        in_the_way = self.projection.in_the_way(met)
        self._drop(change, in_the_way[1:])
        self._put(change, wanted, owner, in_the_way[0] if in_the_way else None)

    async def _bring_beside(self, change: RowChange, wanted: StoredRow, owner: str | None, met: _Situation) -> None:
        """Under another key; with an id of its own only where its own belongs to a row that changed."""
        old = wanted.key
        free, number = old, 1
        while await self.projection.of_key(free, owner) is not None:
            free = f"{old} (restored)" if number == 1 else f"{old} (restored {number})"
            number += 1
        if free != old:
            self.renamed[old] = free
            wanted = dataclasses.replace(wanted, values={**wanted.values, "key": free})
        over = None if met.reason == "changed" else met.own or met.left
        self._put(change, wanted, owner, over, apart=over is None and met.own is not None)

    def _drop(self, change: RowChange, rows: Sequence[StoredRow]) -> None:
        for row in rows:
            self.projection.drop(row)
            self.operations.append(Operation(row, None, change.number))

    def _put(
        self, change: RowChange, wanted: StoredRow, owner: str | None, over: StoredRow | None, *, apart: bool = False
    ) -> None:
        row = self.rows.returned(wanted, over, owner, apart=apart)
        self.operations.append(Operation(over, row, change.number))
        if over is not None:
            self.projection.drop(over)
        if self.is_looking:
            # Of all that is only looked at, little is kept in memory.
            row = self.rows.outline(dataclasses.replace(wanted, id=row.id), owner)
        self.projection.put(row)


def _counted(changes: Sequence[RowChange]) -> int:
    """How many of them a person meant: agents come along."""
    return sum(change.row.table != AGENTS for change in changes)


def _weight(change: RowChange) -> int:
    """About how many bytes a row is."""
    return sum(len(value) for value in change.row.values.values() if isinstance(value, str | bytes))
