"""Applying changes to the rows of any store: compare, journal, write, a batch at a time.

A store supplies a `RowWriter`; what a change meets and what follows from it is decided here, once for all stores. The
coroutines here wait for nothing but the writer, so that a store with a thread of its own can drive them there with
`run_sync`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from zeroclaw_tui.backends.cancellation import wait_until_done
from zeroclaw_tui.memory.change import (
    AGENTS,
    CONFLICTS_LISTED,
    MEMORIES,
    Advance,
    ApplyResult,
    Change,
    Draft,
    Edit,
    FilledVectors,
    Journal,
    NewVector,
    OnConflict,
    RowChange,
    RowConflict,
    Stamp,
    StoredRow,
)
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import one_line

T = TypeVar("T")

BATCH_ROWS = 250
"""How many rows a batch has at most, unless the store says otherwise."""
BATCH_BYTES = 4_000_000
"""How many bytes of values a batch has at most, unless one row alone has more."""
_TRIES = 3
"""How often a batch is tried when other programs write the same rows."""

Reason = Literal["key exists", "changed", "deleted"]
OwnedKey = tuple[str | None, str]
"""The owner of a memory, as the store names it (None where there are no owners), and its key."""


class WriteConflict(Exception):
    """Another program has written a row between its comparison and the write; nothing of the batch was written."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A row to put in place of another: no `new` deletes, no `existing` inserts.

    With `touch` the row's time of change becomes now.
    """

    existing: StoredRow | None
    new: StoredRow | None
    touch: bool = False


class RowWriter(ABC):
    """What a store supplies for writing: reading the rows of a batch, completing new rows, and writing them.

    A row's owner is its agent as the store names it, None where there are no agents.
    """

    is_transactional = False
    """Whether a batch is written in one transaction, so that it is journaled after the write, as the store has it."""
    keys_are_unique = True
    """Whether the store itself ensures that an owner has a key only once."""
    identified_by_key = False
    """Whether a row is the same memory for as long as it has the same key; else as long as it has the same id."""
    batch_rows: int = BATCH_ROWS
    is_stopped: bool = False
    """Whether no further batch should begin."""
    done: int = 0
    """How many rows are written; set by the engine after each batch, for messages."""

    def __init__(self) -> None:
        self.notes: dict[str, None] = {}
        """Sentences about what the store did not take of a row."""

    async def blocking(self, work: Callable[[], T]) -> T:
        """Do work that waits for a disk; a cancelled caller waits for its end."""
        return await wait_until_done(asyncio.get_running_loop().run_in_executor(None, work), lambda: None)

    @asynccontextmanager
    async def batch(self, *, dry_run: bool) -> AsyncIterator[None]:
        """Surround a batch: a transaction, where the store has such; without a lock for a dry run."""
        yield

    def check(self, after: Draft | Edit) -> None:
        """Raise Refused for values that this store cannot have, before anything is read."""

    @abstractmethod
    async def read(self, rows: Sequence[Stamp | StoredRow], keys: Collection[OwnedKey]) -> Iterable[StoredRow]:
        """The present rows of these identities, and those with these keys; locked until the end of the batch."""

    def identity(self, row: Stamp | StoredRow) -> str:
        """What stays the same for as long as a row is the same memory: its id."""
        return row.id

    def owner(self, row: StoredRow) -> str | None:
        """The owner of a row."""
        return None

    def same(self, one: StoredRow, other: StoredRow) -> bool:
        """Whether two rows are equal in what the store can have, except for the vector."""
        return one.fingerprint == other.fingerprint

    def state_of(self, row: StoredRow) -> str:
        """The state of a row as the store's versions have it."""
        return row.fingerprint

    async def resolve_owner(self, row: StoredRow | Draft, *, create: bool) -> tuple[str | None, RowChange | None]:
        """The owner of a new or restored row, and the agent that was added for it. Raises Refused."""
        return None, None

    @abstractmethod
    def new_row(self, draft: Draft, existing: StoredRow | None, owner: str | None) -> StoredRow:
        """The row of a draft; `existing` is the row that it replaces."""

    @abstractmethod
    def edited_row(self, row: StoredRow, edit: Edit) -> StoredRow:
        """The row with new values; the same object where nothing changes."""

    @abstractmethod
    def restored_row(self, row: StoredRow, existing: StoredRow | None, owner: str | None, *, new_id: bool) -> StoredRow:
        """A row of any time as the store can have it now, in place of `existing`."""

    async def prepare(self, rows: Sequence[StoredRow]) -> Mapping[str, StoredRow]:
        """Complete new rows before they are journaled, by identity; those that stay as they are may be left out."""
        return {}

    @abstractmethod
    async def write(self, operations: Sequence[Operation]) -> Mapping[str, StoredRow]:
        """Write operations, each of another identity, in an order that lets rows exchange their keys.

        Returns new rows as the store has them, by identity; one that is left out is as it was given. Raises
        WriteConflict.
        """

    async def write_other(self, change: Change, *, dry_run: bool) -> RowChange | None:
        """Write a row of another table, such as an agent; None in a dry run, and for a store without other tables."""
        return None

    async def fill(self, rows: Sequence[tuple[StoredRow, NewVector]]) -> None:
        """Give rows other vectors; nothing else of them changes."""
        raise Refused("This store takes vectors only with the memories they are of.", hint="Nothing was changed.")

    def summary(self) -> tuple[str, ...]:
        """Sentences for the end, about all that was written."""
        return ()


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, on any thread."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise RuntimeError("a coroutine that is run on a thread must not wait")


class ChangeSet:
    """Changes to apply with one policy.

    `run` may be called again with another writer where the store had to be opened again; it goes on where it was.
    """

    def __init__(
        self,
        changes: Iterable[Change],
        journal: Journal | None,
        *,
        on_conflict: OnConflict = "skip",
        dry_run: bool = False,
        on_progress: Advance | None = None,
    ) -> None:
        self.on_conflict = on_conflict
        self.dry_run = dry_run
        self._is_one_batch = on_conflict == "refuse" and not dry_run
        self._changes = iter(changes)
        self._journal = journal
        self._on_progress = on_progress
        self._pending: list[Change] = []
        self._is_read = False
        self._processed = 0
        self._total = _Total()
        self.handled: set[str] = set()
        """Identities that earlier batches changed, in a dry run or where keys are not unique."""

    async def run(self, writer: RowWriter) -> ApplyResult:
        """Apply them. Raises UsageError and Refused for values no store, or not this one, can have."""
        writer.done = self._total.written
        while batch := await writer.blocking(lambda: self._next_batch(writer)):
            if self._processed and not self._goes_on(writer):
                return self._total.result(writer, cancelled=True)
            await self._apply(writer, batch)
            self._pending = []
            self._processed += sum(change.table != AGENTS for change in batch)
            writer.done = self._total.written
        if self._on_progress is not None:
            self._on_progress(self._processed)
        if self.on_conflict == "refuse" and self._total.conflict_count:
            self._total.written = 0
        return self._total.result(writer)

    def _goes_on(self, writer: RowWriter) -> bool:
        return not writer.is_stopped and (self._on_progress is None or self._on_progress(self._processed))

    def _next_batch(self, writer: RowWriter) -> Sequence[Change]:
        """As many changes as the writer takes at once; all of them where a conflict refuses the set."""
        batch = self._pending
        size = sum(change.size for change in batch)
        while not self._is_read and (
            self._is_one_batch or not batch or (len(batch) < writer.batch_rows and size < BATCH_BYTES)
        ):
            change = next(self._changes, None)
            if change is None:
                self._is_read = True
            else:
                batch.append(_checked(change, writer))
                size += change.size
        return batch

    async def _apply(self, writer: RowWriter, batch: Sequence[Change]) -> None:
        for _ in range(_TRIES):
            try:
                async with writer.batch(dry_run=self.dry_run):
                    found = await self._write(writer, batch)
            except WriteConflict:
                continue
            except _Conflicting as conflicting:
                # Leaving the block by an exception has rolled the batch back.
                found = conflicting.found
            self._total.add(found)
            self.handled |= found.handled
            return
        raise Refused("Another program writes these memories all the time.", hint="Try again when the agent is idle.")

    async def _write(self, writer: RowWriter, batch: Sequence[Change]) -> _Batch:
        others = [change for change in batch if change.table != MEMORIES]
        memories = [change for change in batch if change.table == MEMORIES]
        # An agent is inserted before its memories, and deleted after them.
        added = [await writer.write_other(one, dry_run=self.dry_run) for one in others if one.after is not None]
        found = await _planned(self, writer, memories)
        if self._is_one_batch and found.skipped:
            raise _Conflicting(found)
        found.other_rows = sum(change.table != AGENTS for change in others)
        if self.dry_run:
            return found
        found.complete(await writer.prepare([one.new for one in found.net(writer) if one.new is not None]))
        agents = [change for change in (*added, *found.agents) if change is not None]
        removing = [change for change in others if change.after is None]
        if not writer.is_transactional:
            await self._record(writer, [*agents, *found.journaled({})])
        try:
            written = await writer.write(found.net(writer)) if found.operations else {}
        except WriteConflict:
            if self._journal is not None and not writer.is_transactional:
                await writer.blocking(self._journal.withdraw)
            raise
        found.replace_rows(writer, written)
        removed = [await writer.write_other(change, dry_run=False) for change in removing]
        if writer.is_transactional:
            gone = [change for change in removed if change is not None]
            await self._record(writer, [*agents, *found.journaled(written), *gone])
        return found

    async def _record(self, writer: RowWriter, changes: Sequence[RowChange]) -> None:
        journal = self._journal
        if journal is not None and changes:
            await writer.blocking(lambda: journal.record(changes))


def _checked(change: Change, writer: RowWriter) -> Change:
    if isinstance(change.after, Draft | Edit):
        after = change.after.checked()
        writer.check(after)
        return replace(change, after=after)
    return change


async def _planned(job: ChangeSet, writer: RowWriter, changes: Sequence[Change]) -> _Batch:
    """The plan for the memories of a batch. A row that is to lose its key makes room for another, unless a conflict
    keeps it where it is: then it is planned again."""
    owners: list[str | None] = []
    agents: list[RowChange] = []
    keys: set[OwnedKey] = set()
    for change in changes:
        owner = None
        if isinstance(change.after, Draft | StoredRow):
            owner, agent = await writer.resolve_owner(change.after, create=not job.dry_run)
            agents += [] if agent is None else [agent]
            keys.add((owner, change.after.key))
        owners.append(owner)
    targets = [row for change in changes for row in _rows_of(change)]
    present = [*await writer.read(targets, keys)] if targets or keys else []
    moving = {
        writer.identity(change.before)
        for change in changes
        if change.before is not None and (change.after is None or _moves(change))
    }
    while True:
        batch = _Batch(job, writer, _Rows(writer, present, keys), moving, agents=agents)
        for change, owner in zip(changes, owners, strict=True):
            await batch.plan(change, owner)
        staying = moving & batch.conflicting
        if not staying:
            return batch
        moving -= staying


def _rows_of(change: Change) -> list[Stamp | StoredRow]:
    wanted = [change.after] if isinstance(change.after, StoredRow) else []
    return [*([] if change.before is None else [change.before]), *wanted]


def _moves(change: Change) -> bool:
    """Whether a change gives a row another key."""
    after, before = change.after, change.before
    if isinstance(after, Edit):
        return "key" in after.values and before is not None and after.values["key"] != before.key
    return isinstance(after, StoredRow) and before is not None and after.key != before.key


class _Conflicting(Exception):
    """Leaves a batch of a set that is written whole or not at all."""

    def __init__(self, found: _Batch) -> None:
        self.found = found
        found.forget_operations()


class _Rows:
    """The rows that a batch is about, as they will be after the operations that are planned so far."""

    def __init__(self, writer: RowWriter, present: Iterable[StoredRow], keys: Iterable[OwnedKey]) -> None:
        self._writer = writer
        self._by_id: dict[str, StoredRow | None] = {}
        self._by_key: dict[OwnedKey, dict[str, StoredRow]] = {key: {} for key in keys}
        self._displaced: dict[str, StoredRow] = {}
        """Rows whose key is their identity and is taken already by another row, before they have left it."""
        for row in present:
            self.put(row)

    def current(self, row: Stamp | StoredRow) -> StoredRow | None:
        """The row of that identity."""
        identity = self._writer.identity(row)
        return self._displaced.get(identity) or self._by_id.get(identity)

    async def with_key(self, key: OwnedKey) -> list[StoredRow]:
        """The rows with a key, the one that counts first."""
        if key not in self._by_key:
            self._by_key[key] = {}
            for row in await self._writer.read((), [key]):
                if self._writer.identity(row) not in self._by_id:
                    self.put(row)
        return list(self._by_key[key].values())

    def put(self, row: StoredRow) -> None:
        """Add or replace a row."""
        identity = self._writer.identity(row)
        self._remove(identity)
        self._by_id[identity] = row
        self._by_key.setdefault((self._writer.owner(row), row.key), {})[identity] = row

    def displace(self, row: StoredRow) -> None:
        """Add a row; the one that has its identity, if any, leaves later."""
        identity = self._writer.identity(row)
        before = self._by_id.get(identity)
        self.put(row)
        if before is not None:
            self._displaced[identity] = before

    def drop(self, row: StoredRow) -> None:
        """Remove a row."""
        identity = self._writer.identity(row)
        if self._displaced.pop(identity, None) is None:
            self._remove(identity)

    def _remove(self, identity: str) -> None:
        before = self._by_id.get(identity)
        self._by_id[identity] = None
        if before is not None:
            self._by_key.get((self._writer.owner(before), before.key), {}).pop(identity, None)


@dataclass(slots=True)
class _Batch:
    """The plan for a batch, and what it meets."""

    job: ChangeSet
    writer: RowWriter
    rows: _Rows
    moving: Collection[str]
    """Identities of rows that this batch deletes or gives another key."""
    agents: Sequence[RowChange] = ()
    operations: list[Operation] = field(default_factory=list)
    journal: list[RowChange] = field(default_factory=list)
    """The changes for the journal, new rows as they are meant."""
    already: list[str] = field(default_factory=list)
    conflicts: list[RowConflict] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    conflicting: set[str] = field(default_factory=set)
    new_rows: list[StoredRow] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    handled: set[str] = field(default_factory=set)
    placed: set[str] = field(default_factory=set)
    """Identities of rows that this batch has written already."""
    written: int = 0
    other_rows: int = 0

    async def plan(self, change: Change, owner: str | None) -> None:
        """Decide what a change needs."""
        after, left_out = change.after, len(self.already) + len(self.skipped)
        if isinstance(after, Draft):
            await self._plan_draft(after, change, owner)
        elif isinstance(after, Edit):
            await self._plan_edit(after, change)
        elif after is None:
            self._plan_delete(change)
        else:
            await self._plan_row(after, change, owner)
        self.written += left_out == len(self.already) + len(self.skipped)

    async def _plan_draft(self, draft: Draft, change: Change, owner: str | None) -> None:
        holders = await self._holders((owner, draft.key), None)
        is_expected = bool(holders) and change.before is not None and self._is_expected(holders[0], change.before)
        if holders and self.job.on_conflict == "rename" and not is_expected:
            draft = replace(draft, key=await self._free_key(draft.key, owner))
            holders = []
        elif holders and self.job.on_conflict in ("refuse", "skip") and not is_expected:
            wanted = self.writer.new_row(draft, None, owner)
            self._conflict(wanted, holders[0], "key exists", change)
            return
        existing = holders[0] if holders else None
        for other in holders[1:]:
            self._do(Operation(other, None), None)
        self._do(Operation(existing, self.writer.new_row(draft, existing, owner), touch=True), change.reverses)

    async def _plan_edit(self, edit: Edit, change: Change) -> None:
        assert change.before is not None, "an edit changes a row"
        row = self.rows.current(change.before)
        if row is None or not self._is_expected(row, change.before):
            self._conflict(_as_row(change.before), row, "deleted" if row is None else "changed", change)
            return
        new = self.writer.edited_row(row, edit)
        if new is row:
            self._leave(change, row)
            return
        if new.key != row.key:
            holders = await self._holders((self.writer.owner(row), new.key), row)
            if holders:
                self._conflict(new, holders[0], "key exists", change)
                return
        self._do(Operation(row, new, touch=True), change.reverses)

    def _plan_delete(self, change: Change) -> None:
        assert change.before is not None, "a change has a row before or after"
        row = self.rows.current(change.before)
        is_simulated = self._is_simulated(change.before)
        if row is None and not is_simulated:
            self._leave(change, None)
        elif row is None or is_simulated or self._is_expected(row, change.before):
            self._do(Operation(row or _as_row(change.before), None), change.reverses)
        elif self.job.on_conflict == "overwrite":
            self._note_conflict(_as_row(change.before), row, "changed")
            self._do(Operation(row, None), change.reverses)
        elif self.job.on_conflict == "rename":
            self._note_conflict(_as_row(change.before), row, "changed")
            key = repr(one_line(change.before.key))
            self.writer.notes[f"{key} changed since it was stored, so it stays as it is now."] = None
            self._leave(change, row)
        else:
            self._conflict(_as_row(change.before), row, "changed", change)

    async def _plan_row(self, wanted: StoredRow, change: Change, owner: str | None) -> None:
        """Put a row of any time in its place again."""
        own = self.rows.current(wanted)
        if own is not None and self.writer.same(own, wanted):
            self._leave(change, own)
            return
        before = change.before
        source = own if before is None else self.rows.current(before)
        holders = await self._holders((owner, wanted.key), own, source)
        if own is not None and source is not own and not self._leaves(own):
            # The row takes the place of another one, but is already there.
            holders.insert(0, own)
        reason = self._obstacle(change, source, holders)
        if reason is None:
            self._put(change, wanted, source, owner)
            return
        existing = holders[0] if reason == "key exists" else source
        if self.job.on_conflict in ("refuse", "skip"):
            self._conflict(wanted, existing, reason, change)
            return
        self._note_conflict(wanted, existing, reason)
        if self.job.on_conflict == "overwrite":
            for holder in holders:
                self._do(Operation(holder, None), None)
            self._put(change, wanted, source, owner)
        else:
            key = await self._free_key(wanted.key, owner)
            if key != wanted.key:
                self.renamed[wanted.key] = key
                wanted = replace(wanted, values={**wanted.values, "key": key})
            is_separate = reason == "changed"
            self._put(change, wanted, None if is_separate else source, owner, new_id=is_separate and source is not None)

    def _obstacle(self, change: Change, source: StoredRow | None, holders: Sequence[StoredRow]) -> Reason | None:
        target = change.target
        if target is None or self._is_simulated(target):
            pass
        elif change.before is None:
            if source is not None:
                return "changed"
        elif source is None:
            return "deleted"
        elif not self._is_expected(source, change.before):
            return "changed"
        return "key exists" if holders else None

    async def _holders(self, key: OwnedKey, *own: StoredRow | None) -> list[StoredRow]:
        """Rows that have a key which another one is to get, and that do not lose it in this batch."""
        staying = {self.writer.identity(row) for row in own if row is not None}
        return [
            row
            for row in await self.rows.with_key(key)
            if (identity := self.writer.identity(row)) not in staying
            and identity not in self.job.handled
            and not self._leaves(row)
            and (self.writer.keys_are_unique or identity not in self.handled)
        ]

    def _leaves(self, row: StoredRow) -> bool:
        """Whether a later change of this batch deletes a row or gives it another key."""
        identity = self.writer.identity(row)
        return identity in self.moving and identity not in self.placed

    async def _free_key(self, key: str, owner: str | None) -> str:
        """A key that is not in use: the same one, or with "(restored)" after it."""
        free, number = key, 1
        while await self.rows.with_key((owner, free)):
            free = f"{key} (restored)" if number == 1 else f"{key} (restored {number})"
            number += 1
        return free

    def _is_simulated(self, row: Stamp | StoredRow) -> bool:
        """Whether an earlier batch of a dry run would have changed a row."""
        return self.job.dry_run and self.writer.identity(row) in self.job.handled

    def _is_expected(self, row: StoredRow, expected: Stamp | StoredRow) -> bool:
        if isinstance(expected, Stamp):
            return expected.state in (self.writer.state_of(row), row.fingerprint)
        return self.writer.same(row, expected)

    def _put(
        self, change: Change, wanted: StoredRow, existing: StoredRow | None, owner: str | None, *, new_id: bool = False
    ) -> None:
        row = self.writer.restored_row(wanted, existing, owner, new_id=new_id)
        self._do(Operation(existing, row), change.reverses)
        if not self.writer.keys_are_unique:
            # Of several rows that had one key, all are restored.
            self.handled.add(self.writer.identity(row))

    def _do(self, operation: Operation, reverses: int | None) -> None:
        self.operations.append(operation)
        self.journal.append(RowChange(operation.existing, operation.new, reverses=reverses))
        if operation.existing is not None:
            self.rows.drop(operation.existing)
            self._handle(operation.existing)
        if operation.new is not None:
            self.rows.displace(operation.new)
            self.placed.add(self.writer.identity(operation.new))
            self._handle(operation.new)
            self.new_rows.append(operation.new)

    def _handle(self, row: StoredRow) -> None:
        if self.job.dry_run:
            self.handled.add(self.writer.identity(row))

    def _leave(self, change: Change, row: StoredRow | None) -> None:
        """Nothing is to be done. An undone change is journaled as such; with the row that was there before, which
        nobody else may have any more."""
        target = change.target
        assert target is not None, "a draft is always written"
        known = row or (target if isinstance(target, StoredRow) else None)
        if change.reverses is not None and known is not None:
            self.journal.append(RowChange(known, row, reverses=change.reverses))
        self.already.append(target.id)
        if row is not None:
            self.new_rows.append(row)

    def _conflict(self, wanted: StoredRow, existing: StoredRow | None, reason: Reason, change: Change) -> None:
        """Leave a change out."""
        self._note_conflict(wanted, existing, reason)
        self.skipped.append(change.target.id if change.target is not None else wanted.id)
        if change.before is not None:
            self.conflicting.add(self.writer.identity(change.before))

    def _note_conflict(self, wanted: StoredRow, existing: StoredRow | None, reason: Reason) -> None:
        self.conflicts.append(RowConflict(wanted, existing, reason))

    def forget_operations(self) -> None:
        """Nothing of it is written."""
        self.written = 0
        self.operations, self.journal, self.handled = [], [], set()
        self.renamed, self.new_rows, self.already = {}, [], []

    def net(self, writer: RowWriter) -> list[Operation]:
        """What the operations come to together, one for each row."""
        first: dict[str, StoredRow | None] = {}
        last: dict[str, StoredRow | None] = {}
        touched: set[str] = set()
        for operation in self.operations:
            existing, new = operation.existing, operation.new
            for row in (existing, new):
                touched |= {writer.identity(row)} if row is not None and operation.touch else set()
            if existing is not None:
                identity = writer.identity(existing)
                taken = last.get(identity)
                if taken is None or taken is existing:
                    first.setdefault(identity, existing)
                    last[identity] = None
                else:
                    # Another row has taken its key, which is its identity, before.
                    first[identity] = existing
            if new is not None:
                identity = writer.identity(new)
                first.setdefault(identity, None)
                last[identity] = new
        return [
            Operation(existing, last[identity], identity in touched)
            for identity, existing in first.items()
            if existing is not None or last[identity] is not None
        ]

    def complete(self, rows: Mapping[str, StoredRow]) -> None:
        """Take completed new rows."""
        self.operations = [replace(one, new=self._as_written(one.new, rows)) for one in self.operations]
        self.journal = self.journaled(rows)
        for row in rows.values():
            self.rows.put(row)
        self.replace_rows(self.writer, rows)

    def journaled(self, written: Mapping[str, StoredRow]) -> list[RowChange]:
        """The changes as the journal has them, new rows as they were written."""
        return [replace(change, after=self._as_written(change.after, written)) for change in self.journal]

    def replace_rows(self, writer: RowWriter, written: Mapping[str, StoredRow]) -> None:
        """Take new rows as the store has them."""
        self.new_rows = [written.get(writer.identity(row), row) for row in self.new_rows[:CONFLICTS_LISTED]]

    def _as_written(self, row: StoredRow | None, written: Mapping[str, StoredRow]) -> StoredRow | None:
        """A row that another operation of the batch replaced stays as it was meant."""
        if row is None:
            return None
        identity = self.writer.identity(row)
        return written.get(identity, row) if self.rows.current(row) is row else row


def _as_row(row: Stamp | StoredRow) -> StoredRow:
    """What is known of a row."""
    if isinstance(row, StoredRow):
        return row
    values = {"key": row.key, "content": "", "category": row.category, "created_at": row.timestamp}
    return StoredRow(row.id, values, row.handle, row.agent)


@dataclass(slots=True)
class _Total:
    """The results of all batches."""

    written: int = 0
    already: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    conflicts: list[RowConflict] = field(default_factory=list)
    conflict_count: int = 0
    rows: list[StoredRow] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)

    def add(self, batch: _Batch) -> None:
        """Add those of one batch."""
        self.written += batch.written + batch.other_rows
        self.already += batch.already
        self.skipped += batch.skipped
        self.conflict_count += len(batch.conflicts)
        self.conflicts += batch.conflicts[: CONFLICTS_LISTED - len(self.conflicts)]
        self.rows += batch.new_rows[: CONFLICTS_LISTED - len(self.rows)]
        self.renamed |= batch.renamed

    def result(self, writer: RowWriter, *, cancelled: bool = False) -> ApplyResult:
        """The result so far."""
        return ApplyResult(
            self.written,
            tuple(self.already),
            tuple(self.skipped),
            tuple(self.conflicts),
            self.conflict_count,
            tuple(self.rows),
            dict(self.renamed),
            cancelled,
            (*writer.notes, *writer.summary()),
        )


class FillVectors:
    """Giving rows new vectors. `run` may be called again after the store was opened again."""

    def __init__(self, vectors: Sequence[NewVector]) -> None:
        self._vectors = vectors
        self._next = self._filled = 0
        self._skipped: list[str] = []

    async def run(self, writer: RowWriter) -> FilledVectors:
        """Write them into the rows that still have the fingerprint. Raises Refused for vectors that do not fit."""
        while self._next < len(self._vectors) and not writer.is_stopped:
            batch = {new.id: new for new in self._vectors[self._next : self._next + writer.batch_rows]}
            async with writer.batch(dry_run=False):
                rows = await writer.read([StoredRow(name, {}) for name in batch], ())
                filled = [(row, batch[row.id]) for row in rows if row.fingerprint == batch[row.id].fingerprint]
                await writer.fill(filled)
            self._next += len(batch)
            self._filled = writer.done = self._filled + len(filled)
            done = {row.id for row, _ in filled}
            self._skipped += [name for name in batch if name not in done]
        return FilledVectors(self._filled, tuple(self._skipped))
