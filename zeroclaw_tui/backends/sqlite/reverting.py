"""Taking changes back: rows become again what they were, with their places, vectors and exact texts."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from zeroclaw_tui.backends.sqlite.clashes import Ahead, Fetched, Found, Situation, situation
from zeroclaw_tui.backends.sqlite.owners import earlier_owner, owner_of
from zeroclaw_tui.backends.sqlite.raw_rows import FAR
from zeroclaw_tui.backends.sqlite.writing import MOST_BYTES, Pace, Transaction, Writing
from zeroclaw_tui.files.database import as_text
from zeroclaw_tui.memory.change import (
    AGENTS,
    MEMORIES,
    Advance,
    Batches,
    Clash,
    Keep,
    Reversal,
    RowChange,
    StoredRow,
    Value,
)
from zeroclaw_tui.memory.text import one_line

Kept = list[RowChange]

REMEMBERED_BYTES = 64_000_000
"""Up to so much is not read again after the look for clashes."""


class Reverting:
    """Taking these changes back. It may be run again after SchemaMoved, and goes on where it was."""

    def __init__(self, changes: Batches, keep: Keep, clash: Clash, advance: Advance | None) -> None:
        self._changes = changes
        self._keep = keep
        self._clash = clash
        self._advance = advance
        self._next = 0
        self._reverted = self._skipped = self._far = 0
        self._renamed: dict[str, str] = {}
        self._notes: dict[str, None] = {}

    def run(self, writing: Writing) -> Reversal:
        """Take them back in their order. Raises Clashes with "refuse", before anything is written."""
        if self._clash == "refuse" and not self._next:
            self._look(writing)
        pace, held = Pace(), 0.0
        writing.done = self._reverted
        for chunk in self._chunks(pace):
            if self._next:
                if writing.is_stopped or (self._advance is not None and not self._advance(self._next)):
                    return self._result(cancelled=True)
                writing.rest(held)
            held = self._take_back(writing, chunk)
            pace.took(len(chunk), held)
        if self._advance is not None:
            self._advance(self._next)
        return self._result()

    def _look(self, writing: Writing) -> None:
        ahead, found = Ahead(writing.look()), Found()
        read: list[Sequence[RowChange]] = []
        size = 0
        for batch in self._changes():
            ahead.look(batch, found)
            size += sum(map(_weight, batch))
            if size <= REMEMBERED_BYTES:
                read.append(batch)
        found.raise_any()
        if size <= REMEMBERED_BYTES:
            self._changes = partial(iter, read)

    def _chunks(self, pace: Pace) -> Iterator[Kept]:
        """What is left, as much at a time as `pace` says then; read before the lock is taken."""
        each = (change for batch in self._changes() for change in batch)
        chunk: Kept = []
        size = 0
        for change in islice(each, self._next, None):
            weight = _weight(change)
            if chunk and (len(chunk) >= pace.rows or size + weight > MOST_BYTES):
                yield chunk
                chunk, size = [], 0
            chunk.append(change)
            size += weight
        if chunk:
            yield chunk

    def _take_back(self, writing: Writing, chunk: Kept) -> float:
        """Gives for how many seconds the lock was held."""
        has_memories = any(change.row.table == MEMORIES for change in chunk)
        with writing.transaction(needs_index=has_memories) as transaction:
            skipped = self._skipped
            kept = self._all_back(transaction, chunk)
            if kept is None:
                kept = [done for change in chunk for done in self._taken_back(transaction, change)]
            writing.keep(self._keep, kept)
        held = transaction.seconds
        self._next += len(chunk)
        self._reverted += sum(change.row.table != AGENTS for change in chunk) - (self._skipped - skipped)
        writing.done = self._reverted
        return held

    def _all_back(self, transaction: Transaction, chunk: Kept) -> Kept | None:
        """Removed memories that nothing stands in the way of, in one go; None where it is not as simple."""
        rows: list[tuple[int, dict[str, Value]]] = []
        for change in chunk:
            wanted = change.before
            if wanted is None or change.after is not None or wanted.table != MEMORIES:
                return None
            owner = earlier_owner(transaction, wanted) if transaction.schema.has_agents else None
            if not isinstance(wanted.handle, int) or (owner is None and transaction.schema.has_agents):
                return None
            rows.append((wanted.handle, self._fitting(transaction, wanted, owner)))
        keys = {(values.get("agent_id"), values["key"]) for _, values in rows}
        if len(keys) < len(rows) or not Fetched(transaction.memories, chunk).is_empty:
            return None
        back = transaction.memories.insert_all(rows)
        if back is None:
            return None
        return [RowChange(None, row, reverses=change.number) for change, row in zip(chunk, back, strict=True)]

    def _taken_back(self, transaction: Transaction, change: RowChange) -> Kept:
        if change.row.table != MEMORIES:
            return [_other_row(transaction, change)]
        wanted = change.before
        owner, added = (None, []) if wanted is None else self._owner(transaction, wanted)
        met = situation(transaction.memories, change, owner)
        if met.is_done:
            return [*added, _as_it_is(change, met.own)]
        if met.reason is not None and self._clash == "refuse":
            found = Found()
            found.add(change, met)
            found.raise_any()
        if met.reason is not None and self._clash == "skip":
            self._skipped += 1
            return added
        if wanted is None:
            return [self._removed(transaction, change, met)]
        values = self._fitting(transaction, wanted, owner)
        if met.reason is not None and self._clash == "rename":
            return [*added, self._beside(transaction, change, values, met)]
        return [*added, *self._in_place(transaction, change, values, met)]

    def _removed(self, transaction: Transaction, change: RowChange, met: Situation) -> RowChange:
        if met.reason is not None and self._clash == "rename":
            self._note(f"{_told(change.row)} changed since it was stored, so it stays as it is now.")
            return _as_it_is(change, met.left)
        transaction.memories.delete(met.in_the_way)
        return RowChange(met.left, None, reverses=change.number)

    def _beside(
        self, transaction: Transaction, change: RowChange, values: dict[str, Value], met: Situation
    ) -> RowChange:
        """Under another key; with an id of its own only where its own belongs to a row that changed."""
        memories = transaction.memories
        old = values["key"]
        over = None if met.reason == "changed" else met.own or met.left
        values = {**values, "key": _free_key(transaction, old, values.get("agent_id"))}
        if values["key"] != old:
            self._renamed[as_text(old)] = as_text(values["key"])
        if over is not None and over is met.own:
            return RowChange(over, memories.change(over, values), reverses=change.number)
        if over is not None:
            memories.delete([over])
        if met.own is not None:
            values["id"] = str(uuid.uuid4())
        return RowChange(over, self._inserted(transaction, change, values), reverses=change.number)

    def _in_place(self, transaction: Transaction, change: RowChange, values: dict[str, Value], met: Situation) -> Kept:
        """Instead of whatever is in the way; where that is the row itself it is changed, so that its place stays."""
        memories, replaced = transaction.memories, met.in_the_way
        over = replaced[0] if replaced else None
        memories.delete(row for row in replaced if row is not met.own)
        after = self._inserted(transaction, change, values) if met.own is None else memories.change(met.own, values)
        further = [RowChange(row, None, reverses=change.number) for row in replaced[1:]]
        return [*further, RowChange(over, after, reverses=change.number)]

    def _inserted(self, transaction: Transaction, change: RowChange, values: dict[str, Value]) -> StoredRow:
        """Where it lay, unless that place is taken or too far away."""
        wanted = change.row.handle
        row = transaction.memories.insert(values, wanted)
        if isinstance(wanted, int) and wanted > FAR and isinstance(row.handle, int) and wanted - row.handle > FAR:
            self._far += 1
        return row

    def _fitting(self, transaction: Transaction, wanted: StoredRow, owner: str | None) -> dict[str, Value]:
        """The values of an earlier row that today's table has columns for."""
        columns = transaction.memories.columns
        lost = [name for name, value in wanted.values.items() if name not in columns and value is not None]
        if lost:
            names = one_line(", ".join(lost))
            self._note(f"What stood in {names} is left out: this database has no such column.")
        values = {name: value for name, value in wanted.values.items() if name in columns}
        if owner is None:
            return values
        if values.get("agent_id", owner) != owner:
            alias = one_line(transaction.aliases.get(owner, owner))
            self._note(f"{_told(wanted)} belongs to the agent {alias} now, since its own is no longer there.")
        return {**values, "agent_id": owner}

    def _owner(self, transaction: Transaction, wanted: StoredRow) -> tuple[str | None, Kept]:
        if not transaction.schema.has_agents:
            return None, []
        known = earlier_owner(transaction, wanted)
        if known is not None:
            return known, []
        owner, added = owner_of(transaction, wanted.agent)
        return owner, [] if added is None else [added]

    def _note(self, sentence: str) -> None:
        self._notes[sentence] = None

    def _result(self, *, cancelled: bool = False) -> Reversal:
        notes = [*self._notes]
        if self._far:
            have = "memory has" if self._far == 1 else "memories have"
            notes.append(f"{self._far:,} {have} a new rowid: its own lies far above all others of this database.")
        return Reversal(self._reverted, dict(self._renamed), cancelled, tuple(notes))


def _as_it_is(change: RowChange, row: StoredRow | None) -> RowChange:
    """Nothing is to be done. Where the row has gone, what it was is kept: nobody else may have it any more."""
    if row is None:
        return RowChange(change.row, None, reverses=change.number)
    return RowChange(row, row, reverses=change.number)


def _other_row(transaction: Transaction, change: RowChange) -> RowChange:
    """An agent or a cached vector: added back where there is none, removed where nothing needs it."""
    table = transaction.table(change.row.table)
    if not table.columns:
        return _as_it_is(change, change.row)
    present = table.with_id(change.row.id)
    if change.before is not None:
        return _added_back(transaction, change, change.before, present)
    if present is None:
        return _as_it_is(change, None)
    if change.row.table == AGENTS and any(transaction.memories.where("agent_id = ?", [present.id])):
        return _as_it_is(change, present)
    try:
        table.delete([present])
    except sqlite3.IntegrityError:
        # Another program's table refers to the agent.
        return _as_it_is(change, present)
    transaction.aliases.pop(present.id, None)
    return RowChange(present, None, reverses=change.number)


def _added_back(transaction: Transaction, change: RowChange, wanted: StoredRow, present: StoredRow | None) -> RowChange:
    table = transaction.table(wanted.table)
    if present is not None or (wanted.table == AGENTS and wanted.agent in transaction.aliases.values()):
        return _as_it_is(change, present or wanted)
    values = {name: value for name, value in wanted.values.items() if name in table.columns}
    row = table.insert(values, wanted.handle)
    if row.table == AGENTS:
        transaction.aliases[row.id] = row.agent or row.id
    return RowChange(None, row, reverses=change.number)


def _free_key(transaction: Transaction, key: Value, owner: Value) -> Value:
    if transaction.memories.with_key(key, owner) is None:
        return key
    base = as_text(key)
    free, number = f"{base} (restored)", 2
    while transaction.memories.with_key(free, owner) is not None:
        free, number = f"{base} (restored {number})", number + 1
    return free


def _weight(change: RowChange) -> int:
    return sum(len(value) for value in change.row.values.values() if isinstance(value, str | bytes))


def _told(row: StoredRow) -> str:
    return repr(one_line(as_text(row.values.get("key"))))
