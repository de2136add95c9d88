"""The plan for a batch of changes: the existing rows for each change, conflicts, and the rows to write."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from zeroclaw_tui.backends.writing import OwnedKey, Reason, RowWriter
from zeroclaw_tui.memory.change import (
    MAX_CONFLICTS,
    ApplyResult,
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
    """How a change set resolves conflicts, and the rows that its earlier batches changed."""

    on_conflict: OnConflict
    dry_run: bool
    handled: set[str]
    """The identities of these rows, recorded in a dry run or if keys are not unique."""


async def plan_batch(policy: Policy, writer: RowWriter, changes: Sequence[Change]) -> Batch:
    """Plan the changes of memories in a batch.

    A row may get a key that another row loses in the same batch. If a conflict prevents that loss, the batch is planned
    again.
    """
    owners: list[str | None] = []
    agents: list[RowChange] = []
    keys: set[OwnedKey] = set()
    targets: list[RowVersion | Row] = []
    freeing: set[str] = set()
    for change in changes:
        owner, before, after = None, change.before, change.after
        if isinstance(after, (Draft, Row)):
            owner, agent = await writer.resolve_owner(after, create=not policy.dry_run)
            agents += [] if agent is None else [agent]
            keys.add((owner, after.key))
        owners.append(owner)
        targets += [] if before is None else [before]
        targets += [after] if isinstance(after, Row) else []
        if before is not None and (after is None or _new_key(after, before.key) != before.key):
            freeing.add(writer.identity(before))
    present = [*await writer.read(targets, keys)] if targets or keys else []
    while True:
        batch = Batch(policy, writer, present, keys, freeing, agents)
        for change, owner in zip(changes, owners, strict=True):
            if not batch.plan_new(change, owner):
                await batch.plan(change, owner)
        batch.tally.written = len(changes) - len(batch.tally.already) - len(batch.tally.skipped)
        still_taken = freeing & batch.conflicting
        if not still_taken:
            return batch
        freeing -= still_taken


def _new_key(after: Row | Draft | Edit, key: str) -> str:
    """The key of a row after a change; a draft replaces the row with its own key."""
    if isinstance(after, Edit):
        return str(after.values.get("key", key))
    return after.key if isinstance(after, Row) else key


def _as_row(row: RowVersion | Row) -> Row:
    return row if isinstance(row, Row) else Row.from_entry(row)


class Batch:
    """The plan for a batch: its rows after the changes planned so far, and the conflicts of these changes."""

    def __init__(
        self,
        policy: Policy,
        writer: RowWriter,
        present: Iterable[Row],
        keys: Iterable[OwnedKey],
        freeing: Collection[str],
        agents: Sequence[RowChange],
    ) -> None:
        """`freeing` are the identities of rows that free their key: this batch deletes them or changes their key."""
        self.policy, self.writer, self.freeing, self.agents = policy, writer, freeing, agents
        self.journal: list[RowChange] = []
        """The changes for the journal, with new rows as planned."""
        self.tally = ApplyResult()
        self.conflicting: set[str] = set()
        """The identities of rows whose change is skipped because of a conflict."""
        self.handled: set[str] = set()
        """The identities to add to `policy.handled`."""
        self._before: dict[str, Row] = {}
        """The rows as read, by identity."""
        self._now: dict[str, Row | None] = {}
        """The planned rows by identity; None for a removed one."""
        self._by_key: dict[OwnedKey, dict[str, Row]] = {key: {} for key in keys}
        self._displaced: dict[str, Row] = {}
        """If the identity is the key: rows whose own change comes after that of the row that takes their key."""
        self._changed: dict[str, None] = {}
        """The identities of changed rows, in order."""
        self._placed: set[str] = set()
        """The identities of rows that this batch has already planned to write."""
        self._add(present)

    def _add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            identity = self.writer.identity(row)
            if identity not in self._now:
                self._before[identity] = row
                self._place(row)

    def _current(self, row: RowVersion | Row) -> Row | None:
        """The planned row with the same identity."""
        identity = self.writer.identity(row)
        return self._displaced.get(identity) or self._now.get(identity)

    async def _with_key(self, key: OwnedKey) -> Sequence[Row]:
        """The planned rows with a key; of several, the store uses the first."""
        if key not in self._by_key:
            self._by_key[key] = {}
            self._add(await self.writer.read((), [key]))
        return list(self._by_key[key].values())

    def _place(self, row: Row) -> str:
        """Add a row and return its identity; another row with this identity becomes a displaced one."""
        identity = self.writer.identity(row)
        before = self._now.get(identity)
        if before is not None:
            self._remove(identity)
            self._displaced[identity] = before
        self._now[identity] = row
        self._by_key.setdefault((self.writer.owner(row), row.key), {})[identity] = row
        return identity

    def _remove(self, identity: str) -> None:
        before = self._now.get(identity)
        self._now[identity] = None
        if before is not None:
            self._by_key.get((self.writer.owner(before), before.key), {}).pop(identity, None)

    def plan_new(self, change: Change, owner: str | None) -> bool:
        """Plan a new row whose id and key no other row has, the usual case of an import; False for any other change."""
        row = change.after
        if change.before is not None or not isinstance(row, Row) or self._current(row) is not None:
            return False
        if self._by_key[owner, row.key]:
            return False
        new = self.writer.restored_row(row, None, owner, new_id=False)
        self._replace(None, new, change)
        if not self.writer.keys_are_unique:
            self.handled.add(self.writer.identity(new))
        return True

    async def plan(self, change: Change, owner: str | None) -> None:
        """Plan one change."""
        if isinstance(change.after, Draft):
            await self._plan_draft(change.after, change, owner)
        elif isinstance(change.after, Row):
            await self._plan_row(change.after, change, owner)
        elif change.before is None:
            raise ValueError("a change has a row before or after")
        elif change.after is None:
            self._plan_delete(change.before, change)
        else:
            await self._plan_edit(change.before, change.after, change)

    async def _plan_draft(self, draft: Draft, change: Change, owner: str | None) -> None:
        """Plan to store a new memory, which replaces the memory with its key if that is expected or overwritten."""
        holders = await self._key_holders((owner, draft.key))
        is_expected = not holders or (change.before is not None and self._is_expected(holders[0], change.before))
        if not is_expected and self.policy.on_conflict != "overwrite":
            self._add_conflict(self.writer.new_row(draft, None, owner), holders[0], "key exists", change)
            return
        for other in holders[1:]:
            self._replace(other, None)
        existing = holders[0] if holders else None
        self._replace(existing, self.writer.new_row(draft, existing, owner), change)

    async def _plan_edit(self, before: RowVersion | Row, edit: Edit, change: Change) -> None:
        row = self._current(before)
        if row is None or not self._is_expected(row, before):
            self._add_conflict(_as_row(before), row, "deleted" if row is None else "changed", change)
            return
        is_same = bool(edit.values) and all(row.values.get(name) == value for name, value in edit.values.items())
        new = row if is_same else self.writer.edited_row(row, edit)
        holders = await self._key_holders((self.writer.owner(row), new.key), row) if new.key != row.key else []
        if new is row:
            self._write_nothing(change, row)
        elif holders:
            self._add_conflict(new, holders[0], "key exists", change)
        else:
            self._replace(row, new, change)

    def _plan_delete(self, before: RowVersion | Row, change: Change) -> None:
        row = self._current(before)
        is_simulated = self._is_simulated(before)
        if row is None and not is_simulated:
            self._write_nothing(change, None)
        elif row is None or is_simulated or self._is_expected(row, before):
            self._replace(row or _as_row(before), None, change)
        else:
            is_skipped = self.policy.on_conflict in ("refuse", "skip")
            self._add_conflict(_as_row(before), row, "changed", change if is_skipped else None)
            if self.policy.on_conflict == "overwrite":
                self._replace(row, None, change, had_changed=True)
            elif self.policy.on_conflict == "rename":
                key = repr(one_line(before.key))
                self.writer.notes[f"{key} changed since it was stored, so it stays as it is now."] = None
                self._write_nothing(change, row)

    async def _plan_row(self, wanted: Row, change: Change, owner: str | None) -> None:
        """Plan to write a row exactly as given, for undo and imports; `source` is the existing row that it replaces."""
        current = self._current(wanted)
        if current is not None and self.writer.same(current, wanted):
            self._write_nothing(change, current)
            return
        source = current if change.before is None else self._current(change.before)
        holders = await self._key_holders((owner, wanted.key), current, source)
        if current is not None and source is not current and not self._frees_key(current):
            # The row is to replace `source`, but exists already.
            holders.insert(0, current)
        reason = self._conflict_reason(change, source, holders)
        existing = holders[0] if reason == "key exists" else source
        if reason is not None:
            is_skipped = self.policy.on_conflict in ("refuse", "skip")
            self._add_conflict(wanted, existing, reason, change if is_skipped else None)
            if is_skipped:
                return
        if reason is None or self.policy.on_conflict == "overwrite":
            for holder in holders:
                self._replace(holder, None)
            row = self.writer.restored_row(wanted, source, owner, new_id=False)
            self._replace(source, row, change, had_changed=reason in ("changed", "deleted"))
        else:
            key = await self._free_key(wanted.key, owner)
            if key != wanted.key:
                self.tally.renamed[wanted.key] = key
                wanted = replace(wanted, values={**wanted.values, "key": key})
            is_separate = reason == "changed"
            replaced = None if is_separate else source
            row = self.writer.restored_row(wanted, replaced, owner, new_id=is_separate and source is not None)
            self._replace(replaced, row, change, had_changed=is_separate)
        if not self.writer.keys_are_unique:
            # Restore all of several rows that had the same key.
            self.handled.add(self.writer.identity(row))

    def _conflict_reason(self, change: Change, source: Row | None, holders: Sequence[Row]) -> Reason | None:
        """The reason why a row cannot be written, if it conflicts with existing rows."""
        if change.target is not None and not self._is_simulated(change.target):
            if source is None and change.before is not None:
                return "deleted"
            if source is not None and (change.before is None or not self._is_expected(source, change.before)):
                return "changed"
        return "key exists" if holders else None

    async def _key_holders(self, key: OwnedKey, *own: Row | None) -> list[Row]:
        """The rows other than `own` that have a key, and do not free it in this batch."""
        ignored = {self.writer.identity(row) for row in own if row is not None} | self.policy.handled
        if not self.writer.keys_are_unique:
            ignored |= self.handled
        found = await self._with_key(key)
        return [row for row in found if self.writer.identity(row) not in ignored and not self._frees_key(row)]

    def _frees_key(self, row: Row) -> bool:
        """Whether a later change of this batch deletes a row or changes its key."""
        identity = self.writer.identity(row)
        return identity in self.freeing and identity not in self._placed

    async def _free_key(self, key: str, owner: str | None) -> str:
        """Find an unused key: the same one, or with "(restored)" appended."""
        free, number = key, 1
        while await self._with_key((owner, free)):
            free = f"{key} (restored)" if number == 1 else f"{key} (restored {number})"
            number += 1
        return free

    def _is_simulated(self, row: RowVersion | Row) -> bool:
        """Whether an earlier batch of this dry run would have changed a row."""
        return self.policy.dry_run and self.writer.identity(row) in self.policy.handled

    def _is_expected(self, row: Row, expected: RowVersion | Row) -> bool:
        if isinstance(expected, RowVersion):
            # Compute the fingerprint last: it is much slower, and only the version of a single row has it as its state.
            return expected.state == self.writer.state_of(row) or expected.state == row.fingerprint
        return self.writer.same(row, expected)

    def _replace(
        self, existing: Row | None, new: Row | None, change: Change | None = None, *, had_changed: bool = False
    ) -> None:
        """Plan to replace a row by another, for a change; `had_changed` means that the row was not as expected."""
        reverses = None if change is None else change.reverses
        self.journal.append(RowChange(existing, new, reverses=reverses, replaces=had_changed))
        if existing is not None:
            identity = self.writer.identity(existing)
            if self._displaced.pop(identity, None) is None:
                self._remove(identity)
            self._changed[identity] = None
        if new is not None:
            identity = self._place(new)
            self._placed.add(identity)
            self.tally.rows.append(new)
            self._changed[identity] = None
        if self.policy.dry_run:
            self.handled.update(self.writer.identity(row) for row in (existing, new) if row is not None)

    def _write_nothing(self, change: Change, row: Row | None) -> None:
        """Plan no write. If the change would reverse an earlier one, it is still journaled, so that the trash marks the
        earlier one as reversed and stores the row."""
        target = change.target
        assert target is not None, "a draft is always written"
        known = row or (target if isinstance(target, Row) else None)
        if change.reverses is not None and known is not None:
            self.journal.append(RowChange(known, row, reverses=change.reverses))
        self.tally.already.append(target.id)
        if row is not None:
            self.tally.rows.append(row)

    def _add_conflict(self, wanted: Row, existing: Row | None, reason: Reason, skipped: Change | None = None) -> None:
        """Record a row that differs from the expected one, and the change that is skipped because of it."""
        if skipped is not None and skipped.before is not None:
            self.conflicting.add(self.writer.identity(skipped.before))
        skipped_id = None if skipped is None else (skipped.target or wanted).id
        self.tally.add_conflict(RowConflict(wanted, existing, reason), skipped=skipped_id)

    def net_changes(self) -> list[RowChange]:
        """The net change of each row of the batch."""
        rows = ((self._before.get(name), self._now.get(name)) for name in self._changed)
        return [RowChange(before, now) for before, now in rows if before or now]

    def adopt(self, rows: Mapping[str, Row], *, with_state: bool = False) -> None:
        """Replace planned rows by those that the store completed or wrote, unless a later change replaced them.

        With `with_state` the journal also gets the fingerprints of new rows, so that it need not save their content.
        """

        def adopted(change: RowChange) -> RowChange:
            before, row = change.before, change.after
            if row is None:
                return change
            if self._current(row) is row:
                row = rows.get(self.writer.identity(row), row)
            state = row.fingerprint if with_state and before is None else None
            return RowChange(before, row, None, change.reverses, change.replaces, state)

        self.journal = list(map(adopted, self.journal))
        first = self.tally.rows[:MAX_CONFLICTS]
        self.tally.rows = [rows.get(self.writer.identity(row), row) for row in first]
        self._now |= {self.writer.identity(row): row for row in rows.values()}
