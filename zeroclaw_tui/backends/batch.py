"""The plan for a batch of changes: what each one meets in the store, and what is written then."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from zeroclaw_tui.backends.writing import Operation, OwnedKey, Reason, RowWriter, Tally
from zeroclaw_tui.memory.change import (
    CONFLICTS_LISTED,
    Change,
    Draft,
    Edit,
    OnConflict,
    Row,
    RowChange,
    RowConflict,
    RowVersion,
)
from zeroclaw_tui.memory.text import one_line


@dataclass(frozen=True, slots=True)
class Policy:
    """What a set of changes does with conflicts, and what it has done before a batch."""

    on_conflict: OnConflict
    dry_run: bool
    handled: set[str]
    """Identities that earlier batches changed, in a dry run or where keys are not unique."""


async def plan_batch(policy: Policy, writer: RowWriter, changes: Sequence[Change]) -> Batch:
    """Plan the changes of memories of a batch.

    A key is free for another row if its present row leaves it in the same batch. If a conflict prevents that, the batch
    is planned again.
    """
    owners: list[str | None] = []
    agents: list[RowChange] = []
    keys: set[OwnedKey] = set()
    for change in changes:
        owner = None
        if isinstance(change.after, Draft | Row):
            owner, agent = await writer.resolve_owner(change.after, create=not policy.dry_run)
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
        batch = Batch(policy, writer, Rows(writer, present, keys), moving, agents=agents)
        for change, owner in zip(changes, owners, strict=True):
            await batch.plan(change, owner)
        staying = moving & batch.conflicting
        if not staying:
            return batch
        moving -= staying


def _rows_of(change: Change) -> list[RowVersion | Row]:
    wanted = [change.after] if isinstance(change.after, Row) else []
    return [*([] if change.before is None else [change.before]), *wanted]


def _row(row: RowVersion | Row) -> Row:
    return row if isinstance(row, Row) else row.as_row()


def _moves(change: Change) -> bool:
    """Whether a change gives a row another key."""
    after, before = change.after, change.before
    if isinstance(after, Edit):
        return "key" in after.values and before is not None and after.values["key"] != before.key
    return isinstance(after, Row) and before is not None and after.key != before.key


class Rows:
    """The rows that a batch is about, as they will be after the operations that are planned so far."""

    def __init__(self, writer: RowWriter, present: Iterable[Row], keys: Iterable[OwnedKey]) -> None:
        self._writer = writer
        self._by_id: dict[str, Row | None] = {}
        self._by_key: dict[OwnedKey, dict[str, Row]] = {key: {} for key in keys}
        self._displaced: dict[str, Row] = {}
        """Rows whose key is their identity and is taken already by another row, before they have left it."""
        self._before: dict[str, Row] = {}
        self._read(present)

    def before(self, identity: str) -> Row | None:
        """The row of an identity as it was read."""
        return self._before.get(identity)

    def now(self, identity: str) -> Row | None:
        """The row that has an identity in the end."""
        return self._by_id.get(identity)

    def _read(self, rows: Iterable[Row]) -> None:
        for row in rows:
            identity = self._writer.identity(row)
            if identity not in self._by_id:
                self._before[identity] = row
                self.put(row)

    def current(self, row: RowVersion | Row) -> Row | None:
        """The row of that identity."""
        identity = self._writer.identity(row)
        return self._displaced.get(identity) or self._by_id.get(identity)

    async def with_key(self, key: OwnedKey) -> list[Row]:
        """The rows with a key, the one that counts first."""
        if key not in self._by_key:
            self._by_key[key] = {}
            self._read(await self._writer.read((), [key]))
        return list(self._by_key[key].values())

    def put(self, row: Row) -> None:
        """Add or replace a row."""
        identity = self._writer.identity(row)
        self._remove(identity)
        self._by_id[identity] = row
        self._by_key.setdefault((self._writer.owner(row), row.key), {})[identity] = row

    def displace(self, row: Row) -> None:
        """Add a row; the one that has its identity, if any, leaves later."""
        identity = self._writer.identity(row)
        before = self._by_id.get(identity)
        self.put(row)
        if before is not None:
            self._displaced[identity] = before

    def drop(self, row: Row) -> None:
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
class Batch:
    """The plan for a batch, and what it meets."""

    policy: Policy
    writer: RowWriter
    rows: Rows
    moving: Collection[str]
    """Identities of rows that this batch deletes or gives another key."""
    agents: Sequence[RowChange] = ()
    operations: list[Operation] = field(default_factory=list)
    journal: list[RowChange] = field(default_factory=list)
    """The changes for the journal, new rows as they are meant."""
    tally: Tally = field(default_factory=Tally)
    conflicting: set[str] = field(default_factory=set)
    handled: set[str] = field(default_factory=set)
    placed: set[str] = field(default_factory=set)
    """Identities of rows that this batch has written already."""

    async def plan(self, change: Change, owner: str | None) -> None:
        """Decide what a change needs."""
        after, left_out = change.after, len(self.tally.already) + len(self.tally.skipped)
        if isinstance(after, Draft):
            await self._plan_draft(after, change, owner)
        elif isinstance(after, Edit):
            await self._plan_edit(after, change)
        elif after is None:
            self._plan_delete(change)
        else:
            await self._plan_row(after, change, owner)
        self.tally.written += left_out == len(self.tally.already) + len(self.tally.skipped)

    async def _plan_draft(self, draft: Draft, change: Change, owner: str | None) -> None:
        holders = await self._holders((owner, draft.key), None)
        is_expected = bool(holders) and change.before is not None and self._is_expected(holders[0], change.before)
        if holders and self.policy.on_conflict == "rename" and not is_expected:
            draft = replace(draft, key=await self._free_key(draft.key, owner))
            holders = []
        elif holders and self.policy.on_conflict in ("refuse", "skip") and not is_expected:
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
            self._conflict(_row(change.before), row, "deleted" if row is None else "changed", change)
            return
        is_same = all(row.values.get(name) == value for name, value in edit.values.items())
        new = row if is_same else self.writer.edited_row(row, edit)
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
            self._do(Operation(row or _row(change.before), None), change.reverses)
        elif self.policy.on_conflict == "overwrite":
            self._note_conflict(_row(change.before), row, "changed")
            self._do(Operation(row, None), change.reverses, replaces=True)
        elif self.policy.on_conflict == "rename":
            self._note_conflict(_row(change.before), row, "changed")
            key = repr(one_line(change.before.key))
            self.writer.notes[f"{key} changed since it was stored, so it stays as it is now."] = None
            self._leave(change, row)
        else:
            self._conflict(_row(change.before), row, "changed", change)

    async def _plan_row(self, wanted: Row, change: Change, owner: str | None) -> None:
        """Write a row exactly as it is given, as undo and imports do."""
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
        if self.policy.on_conflict in ("refuse", "skip"):
            self._conflict(wanted, existing, reason, change)
            return
        self._note_conflict(wanted, existing, reason)
        if self.policy.on_conflict == "overwrite":
            for holder in holders:
                self._do(Operation(holder, None), None)
            self._put(change, wanted, source, owner, replaces=reason != "key exists")
        else:
            key = await self._free_key(wanted.key, owner)
            if key != wanted.key:
                self.tally.renamed[wanted.key] = key
                wanted = replace(wanted, values={**wanted.values, "key": key})
            is_separate = reason == "changed"
            new_id = is_separate and source is not None
            self._put(change, wanted, None if is_separate else source, owner, new_id=new_id, replaces=is_separate)

    def _obstacle(self, change: Change, source: Row | None, holders: Sequence[Row]) -> Reason | None:
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

    async def _holders(self, key: OwnedKey, *own: Row | None) -> list[Row]:
        """Rows that have a key which another one is to get, and that do not lose it in this batch."""
        staying = {self.writer.identity(row) for row in own if row is not None}
        return [
            row
            for row in await self.rows.with_key(key)
            if (identity := self.writer.identity(row)) not in staying
            and identity not in self.policy.handled
            and not self._leaves(row)
            and (self.writer.keys_are_unique or identity not in self.handled)
        ]

    def _leaves(self, row: Row) -> bool:
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

    def _is_simulated(self, row: RowVersion | Row) -> bool:
        """Whether an earlier batch of a dry run would have changed a row."""
        return self.policy.dry_run and self.writer.identity(row) in self.policy.handled

    def _is_expected(self, row: Row, expected: RowVersion | Row) -> bool:
        if isinstance(expected, RowVersion):
            # The fingerprint takes much longer, and only versions of single rows have it.
            return expected.state == self.writer.state_of(row) or expected.state == row.fingerprint
        return self.writer.same(row, expected)

    def _put(
        self,
        change: Change,
        wanted: Row,
        existing: Row | None,
        owner: str | None,
        *,
        new_id: bool = False,
        replaces: bool = False,
    ) -> None:
        row = self.writer.restored_row(wanted, existing, owner, new_id=new_id)
        self._do(Operation(existing, row), change.reverses, replaces=replaces)
        if not self.writer.keys_are_unique:
            # Of several rows that had one key, all are restored.
            self.handled.add(self.writer.identity(row))

    def _do(self, operation: Operation, reverses: int | None, *, replaces: bool = False) -> None:
        self.operations.append(operation)
        self.journal.append(RowChange(operation.existing, operation.new, reverses=reverses, replaces=replaces))
        if operation.existing is not None:
            self.rows.drop(operation.existing)
            self._handle(operation.existing)
        if operation.new is not None:
            self.rows.displace(operation.new)
            self.placed.add(self.writer.identity(operation.new))
            self._handle(operation.new)
            self.tally.rows.append(operation.new)

    def _handle(self, row: Row) -> None:
        if self.policy.dry_run:
            self.handled.add(self.writer.identity(row))

    def _leave(self, change: Change, row: Row | None) -> None:
        """Write nothing. A change that is undone already is still journaled, so that the trash counts it as undone and
        has its row."""
        target = change.target
        assert target is not None, "a draft is always written"
        known = row or (target if isinstance(target, Row) else None)
        if change.reverses is not None and known is not None:
            self.journal.append(RowChange(known, row, reverses=change.reverses))
        self.tally.already.append(target.id)
        if row is not None:
            self.tally.rows.append(row)

    def _conflict(self, wanted: Row, existing: Row | None, reason: Reason, change: Change) -> None:
        """Leave a change out."""
        target = wanted if change.target is None else change.target
        self.tally.add_conflict(RowConflict(wanted, existing, reason), skipped=target.id)
        if change.before is not None:
            self.conflicting.add(self.writer.identity(change.before))

    def _note_conflict(self, wanted: Row, existing: Row | None, reason: Reason) -> None:
        self.tally.add_conflict(RowConflict(wanted, existing, reason))

    def forget_operations(self) -> None:
        """Nothing of it is written."""
        met = self.tally
        self.operations, self.journal, self.handled = [], [], set()
        self.tally = Tally(skipped=met.skipped, conflicts=met.conflicts, conflict_count=met.conflict_count)

    def net(self) -> list[Operation]:
        """What the operations come to together, one for each row."""
        identity_of, identities, touched = self.writer.identity, list[str](), set[str]()
        for operation in self.operations:
            found = [identity_of(row) for row in (operation.existing, operation.new) if row is not None]
            identities += found
            touched |= set(found) if operation.touch else set()
        pairs = ((name, self.rows.before(name), self.rows.now(name)) for name in dict.fromkeys(identities))
        return [Operation(before, now, name in touched) for name, before, now in pairs if before or now]

    def adopt(self, rows: Mapping[str, Row]) -> None:
        """Take new rows as the store completed or wrote them; one that was replaced later stays as it was meant."""
        if not rows:
            return

        def adopted(row: Row | None) -> Row | None:
            if row is None or self.rows.current(row) is not row:
                return row
            return rows.get(self.writer.identity(row), row)

        self.operations = [replace(one, new=adopted(one.new)) for one in self.operations]
        self.journal = [replace(one, after=adopted(one.after)) for one in self.journal]
        first = self.tally.rows[:CONFLICTS_LISTED]
        self.tally.rows = [rows.get(self.writer.identity(row), row) for row in first]
        for row in rows.values():
            self.rows.put(row)
