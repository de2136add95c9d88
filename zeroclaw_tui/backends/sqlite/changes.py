"""Storing a new memory, and changing one, by ZeroClaw's own rules."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from zeroclaw_tui.backends.clock import local_now
from zeroclaw_tui.backends.session_ids import sanitised
from zeroclaw_tui.backends.sqlite.identity import other_model
from zeroclaw_tui.backends.sqlite.owners import owner_of
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.writing import Transaction, Writing
from zeroclaw_tui.files.database import as_text
from zeroclaw_tui.memory.change import (
    Conflict,
    Draft,
    DuplicateKey,
    Edit,
    Keep,
    RowChange,
    StoredRow,
    Value,
    Vector,
    Written,
)
from zeroclaw_tui.memory.errors import NotThere, Refused
from zeroclaw_tui.scoring.generations import USUAL, lacks

__all__ = ["RESET", "USUAL", "as_stored", "check_has", "create", "sanitised", "session_kept", "update"]

RESET = ("kind", "tenant_id")
"""What ZeroClaw >= 0.8.0 empties in a memory that it overwrites."""


def create(writing: Writing, draft: Draft, keep: Keep, vector: Vector | None, replace: bool) -> Written:
    """Store a draft; `Memory.create` says the rest."""
    draft = draft.checked()
    said = {"namespace": draft.namespace, "importance": draft.importance, "pinned": draft.pinned}
    named = {name: value for name, value in said.items() if value is not None}
    check_has(writing.schema, named)
    check_owner(writing.schema, draft.agent)
    notes: list[str] = []
    session = session_kept(writing.schema, draft.session_id, notes)
    values = {"content": draft.content, "category": draft.category, "session_id": session, **as_stored(named)}
    with writing.transaction() as transaction:
        owner, added = owner_of(transaction, draft.agent) if writing.schema.has_agents else (None, None)
        existing = transaction.memories.with_key(draft.key, owner)
        if existing is not None and not replace:
            raise DuplicateKey(draft.key, existing)
        data = _usable(transaction, vector, notes)
        if existing is None:
            after = _inserted(transaction, draft.key, owner, values, data)
        else:
            values = {**_reset(writing.schema), **values}
            after = _changed(transaction, existing, values, data)
        change = RowChange(existing, after)
        writing.keep(keep, [change] if added is None else [added, change])
    return Written(change, tuple(notes))


def update(writing: Writing, id: str, edit: Edit, expected: str, keep: Keep, vector: Vector | None) -> Written:
    """Change a row; `Memory.update` says the rest. An edit that changes nothing writes and keeps nothing."""
    edited = dict(edit.checked().values)
    check_has(writing.schema, edited)
    with writing.transaction() as transaction:
        row = transaction.memories.with_id(id)
        if row is None:
            raise NotThere("This memory is no longer there.", hint="r reloads the list.")
        if row.fingerprint != expected:
            raise Conflict(row)
        notes: list[str] = []
        if "session_id" in edited and edited["session_id"] != row.values["session_id"]:
            wanted = edited["session_id"]
            edited["session_id"] = session_kept(writing.schema, None if wanted is None else as_text(wanted), notes)
        values = as_stored(edited)
        if all(row.values[name] == value for name, value in values.items()):
            return Written(RowChange(row, row), tuple(notes))
        _check_free(transaction, row, values)
        is_new_content = "content" in values and values["content"] != row.values["content"]
        data = _usable(transaction, vector, notes) if is_new_content else None
        change = RowChange(row, _changed(transaction, row, values, data))
        writing.keep(keep, [change])
    return Written(change, tuple(notes))


def _inserted(
    transaction: Transaction, key: str, owner: str | None, values: Mapping[str, Value], data: bytes | None
) -> StoredRow:
    now = local_now()
    fixed: dict[str, Value] = {"id": str(uuid.uuid4()), "key": key, "created_at": now, "updated_at": now}
    fixed["embedding"] = data
    if owner is not None:
        fixed["agent_id"] = owner
    usual = {name: value for name, value in USUAL.items() if transaction.schema.has(name)}
    return transaction.memories.insert({**fixed, **usual, **values})


def _changed(transaction: Transaction, row: StoredRow, values: Mapping[str, Value], data: bytes | None) -> StoredRow:
    """Creation time, id and place stay. A vector of other content would be worse than none."""
    same_content = values.get("content", row.values["content"]) == row.values["content"]
    embedding = (row.values["embedding"] or data) if same_content else data
    updated = local_now(after=as_text(row.values["updated_at"]))
    return transaction.memories.change(row, {**values, "embedding": embedding, "updated_at": updated})


def _reset(schema: Schema) -> dict[str, Value]:
    """What ZeroClaw's own store sets back in a memory it overwrites: nothing of it before 0.8.0."""
    if not schema.has_agents:
        return {}
    fields: dict[str, Value] = {**USUAL, **dict.fromkeys(RESET)}
    return {name: value for name, value in fields.items() if schema.has(name)}


def as_stored(values: Mapping[str, Any]) -> dict[str, Value]:
    """Values as the columns hold them; what is None and needs a value gets the usual one."""
    plain: dict[str, Value] = {}
    for name, value in values.items():
        if value is None:
            plain[name] = USUAL.get(name)
        elif name == "pinned":
            plain[name] = int(bool(value))
        elif name == "importance":
            plain[name] = float(value)
        else:
            plain[name] = value
    return plain


def check_has(schema: Schema, names: Mapping[str, Value]) -> None:
    """Raises Refused for a field this generation has no column for."""
    for name in names:
        if not schema.has(name):
            raise Refused(lacks(name), hint="Leave it out.")


def _check_free(transaction: Transaction, row: StoredRow, values: Mapping[str, Value]) -> None:
    key = values.get("key", row.values["key"])
    if key == row.values["key"]:
        return
    holder = transaction.memories.with_key(key, row.values.get("agent_id"))
    if holder is not None:
        raise DuplicateKey(as_text(key), holder)


def check_owner(schema: Schema, agent: str | None) -> None:
    """Raises Refused for an agent where memories have no owners."""
    if agent is not None and not schema.has_agents:
        raise Refused(lacks("agents"), hint="Leave the agent out: all memories here have one owner.")


def session_kept(schema: Schema, session: str | None, notes: list[str]) -> str | None:
    """A session as ZeroClaw of this generation writes it; a sentence is added to `notes` where that differs."""
    if not session or not schema.has_agents:
        return session or None
    clean = sanitised(session)
    if clean != session:
        notes.append(f"The session is stored as {clean!r}: this ZeroClaw keeps letters, digits, _ and - only.")
    return clean


def _usable(transaction: Transaction, vector: Vector | None, notes: list[str]) -> bytes | None:
    """A vector's data, unless the store says that its vectors come from another model (ZeroClaw >= 0.8.3)."""
    if vector is None:
        return None
    theirs = other_model(transaction.connection, transaction.schema, vector.provider, vector.model, vector.dimensions)
    if theirs is None:
        return vector.data
    notes.append(f"Stored without its vector, since the vectors here come from another model ({theirs}).")
    return None
