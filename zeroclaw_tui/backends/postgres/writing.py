"""Storing, changing and removing memories of a PostgreSQL table by ZeroClaw's own rules."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from zeroclaw_tui.backends.postgres.browse import state_of
from zeroclaw_tui.backends.postgres.connect import Connections
from zeroclaw_tui.backends.postgres.owners import owner_of
from zeroclaw_tui.backends.postgres.schema import Table
from zeroclaw_tui.backends.postgres.sql import check_text, has_vectors
from zeroclaw_tui.backends.postgres.transaction import MOST_BYTES, MOST_ROWS, Transaction, kept, transaction
from zeroclaw_tui.backends.session_ids import sanitised
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
    Vector,
    Written,
)
from zeroclaw_tui.memory.errors import NotThere, Refused
from zeroclaw_tui.memory.text import one_line

_TRIES = 3
"""How often a key is tried that others keep taking and letting go."""


async def create(
    connections: Connections, table: Table, draft: Draft, keep: Keep, vector: Vector | None, replace: bool
) -> Written:
    """Store a draft; `Memory.create` says the rest."""
    draft = draft.checked()
    check_text(draft.key, draft.content, draft.category, draft.session_id, draft.namespace, draft.agent)
    notes: list[str] = []
    values = drafted(table, draft, notes)
    if draft.agent is not None and table.form != "agents":
        raise Refused("This table knows no agents.", hint="Leave the agent out: all memories here have one owner.")
    data = _usable(table, vector, notes)
    async with transaction(connections, table) as open_:
        owner, added = await owner_of(open_, draft.agent)
        change = await _stored(open_, draft.key, owner, values, data, replace)
        await kept(keep, [change] if added is None else [added, change])
    return Written(change, tuple(notes))


async def update(
    connections: Connections, table: Table, id: str, edit: Edit, expected: str, keep: Keep, vector: Vector | None
) -> Written:
    """Change a row; `Memory.update` says the rest. An edit that changes nothing writes and keeps nothing."""
    edited = dict(edit.checked().values)
    check_has(table, edited)
    check_text(*(value for value in edited.values() if isinstance(value, str)))
    notes: list[str] = []
    data = _usable(table, vector, notes) if "content" in edited else None
    async with transaction(connections, table) as open_:
        row = await open_.with_id(id)
        if row is None:
            raise NotThere("This memory is no longer there.", hint="r reloads the list.")
        if row.fingerprint != expected:
            raise Conflict(row)
        if "session_id" in edited and edited["session_id"] != row.values["session_id"]:
            edited["session_id"] = session_stored(table, edited["session_id"], notes)
        values = _plain(edited)
        if all(row.values[name] == value for name, value in values.items()):
            return Written(RowChange(row, row), tuple(notes))
        await _check_free(open_, row, values)
        change = RowChange(row, await _changed(open_, row, values, data))
        await kept(keep, [change])
    return Written(change, tuple(notes))


class Removing:
    """The removal of these memories. It may be run again after TableMoved, and goes on where it was."""

    def __init__(self, stamps: Sequence[Stamp], keep: Keep, advance: Advance | None) -> None:
        self._stamps = stamps
        self._keep = keep
        self._advance = advance
        self._next = self._removed = 0
        self._changed: list[str] = []
        self._gone: list[str] = []

    async def run(self, connections: Connections, table: Table) -> Removal:
        """Remove what still has the state of its stamp, a batch to a transaction."""
        while self._next < len(self._stamps):
            if self._next and self._advance is not None and not self._advance(self._removed):
                return self._result(cancelled=True)
            batch = self._batch()
            async with transaction(connections, table) as open_:
                going, changed, gone = await _still_so(open_, batch)
                await kept(self._keep, [RowChange(row, None) for row in going])
                await open_.delete([row.id for row in going])
            self._next += len(batch)
            self._removed += len(going)
            self._changed += changed
            self._gone += gone
        if self._advance is not None:
            self._advance(self._removed)
        return self._result()

    def _batch(self) -> list[Stamp]:
        batch: list[Stamp] = []
        size = 0
        for stamp in self._stamps[self._next : self._next + MOST_ROWS]:
            size += stamp.size
            if batch and size > MOST_BYTES:
                break
            batch.append(stamp)
        return batch

    def _result(self, *, cancelled: bool = False) -> Removal:
        return Removal(self._removed, tuple(self._changed), tuple(self._gone), cancelled)


def check_has(table: Table, names: Mapping[str, Any]) -> None:
    """Raises Refused for a field that this table has no column for."""
    for name in names:
        if not table.has(name):
            raise Refused(lacks(name), hint="Leave it out.")


def lacks(name: str) -> str:
    """The sentence for a field that a table has no column for."""
    return f"This table has no column for the {name.replace('_id', '')} of a memory."


async def _still_so(open_: Transaction, batch: Sequence[Stamp]) -> tuple[list[StoredRow], list[str], list[str]]:
    """The rows that are as they were shown, and the ids of those that changed, and of those that went."""
    present = {row.id: row for row in await open_.locked(ids=[stamp.id for stamp in batch])}
    gone = [stamp.id for stamp in batch if stamp.id not in present]
    changed = [stamp.id for stamp in batch if stamp.id in present and state_of(present[stamp.id]) != stamp.state]
    left = {*gone, *changed}
    going = dict.fromkeys(stamp.id for stamp in batch if stamp.id not in left)
    return [present[row_id] for row_id in going], changed, gone


async def _stored(
    open_: Transaction, key: str, owner: str | None, values: dict[str, Value], data: bytes | None, replace: bool
) -> RowChange:
    """ZeroClaw's own store: an existing key keeps its id and its creation time."""
    for _ in range(_TRIES):
        existing = await open_.with_key(key, owner)
        if existing is not None:
            if not replace:
                raise DuplicateKey(key, existing)
            return RowChange(existing, await _changed(open_, existing, values, data))
        new_id = str(uuid.uuid4())
        fixed: dict[str, Value] = {"id": new_id, "key": key}
        if owner is not None:
            fixed["agent_id"] = owner
        if data is not None:
            fixed["embedding"] = data
        row = StoredRow(new_id, {**fixed, **values}, agent=None if owner is None else open_.table.agents.get(owner))
        for after in await open_.insert([row], unless_taken=True):
            return RowChange(None, after)
    raise Refused(
        f"The table does not take another memory with the key {one_line(key)!r}, by a rule of its own.",
        hint="A table made before ZeroClaw 0.8.0 may allow each key once for all agents together.",
    )


async def _changed(open_: Transaction, row: StoredRow, values: Mapping[str, Value], data: bytes | None) -> StoredRow:
    """Creation time and id stay. A vector of other content would be worse than none."""
    if open_.table.has("embedding"):
        same_content = values.get("content", row.values["content"]) == row.values["content"]
        values = {**values, "embedding": (row.values["embedding"] or data) if same_content else data}
    return await open_.change(row, values)


async def _check_free(open_: Transaction, row: StoredRow, values: Mapping[str, Value]) -> None:
    key = values.get("key", row.values["key"])
    if key == row.values["key"]:
        return
    owner = row.values.get("agent_id")
    holder = await open_.with_key(str(key), None if owner is None else str(owner))
    if holder is not None:
        raise DuplicateKey(str(key), holder)


def drafted(table: Table, draft: Draft, notes: list[str]) -> dict[str, Value]:
    """What a draft gives its row, by column. Raises Refused for what the table has no column for."""
    named = {"namespace": draft.namespace, "importance": draft.importance, "pinned": draft.pinned}
    told = {name: value for name, value in named.items() if value is not None}
    check_has(table, told)
    if draft.session_id is not None:
        check_has(table, {"session_id": draft.session_id})
    values: dict[str, Value] = {"content": draft.content, "category": draft.category, **_plain(told)}
    if table.has("session_id"):
        values["session_id"] = session_stored(table, draft.session_id, notes)
    return values


def _plain(values: Mapping[str, Any]) -> dict[str, Value]:
    return {
        name: float(value) if name == "importance" and value is not None else value for name, value in values.items()
    }


def session_stored(table: Table, session: Value, notes: list[str]) -> str | None:
    """A session as this table's ZeroClaw writes it, with a note where that is another; None for a blank one."""
    if not isinstance(session, str) or not session:
        return None
    if table.form != "agents":
        return session
    clean = sanitised(session)
    if clean != session:
        notes.append(f"The session is stored as {clean!r}: this ZeroClaw keeps letters, digits, _ and - only.")
    return clean


def _usable(table: Table, vector: Vector | None, notes: list[str]) -> bytes | None:
    """A vector's data where the table has room for it."""
    if vector is None or not table.has("embedding"):
        return None
    if not has_vectors(table) or table.dimensions not in (None, vector.dimensions):
        length = "" if table.dimensions is None else f" of {table.dimensions} numbers"
        notes.append(f"Stored without its vector of {vector.dimensions} numbers: the table takes vectors{length} only.")
        return None
    return vector.data
