"""Storing many memories in a few short transactions, each as ZeroClaw's own store does it."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Mapping, Sequence
from itertools import groupby

from zeroclaw_tui.backends.clock import local_now
from zeroclaw_tui.backends.sqlite.changes import RESET, as_stored, check_has, check_owner, create, session_kept
from zeroclaw_tui.backends.sqlite.owners import owner_of
from zeroclaw_tui.backends.sqlite.writing import HELD_SECONDS, Transaction, Writing
from zeroclaw_tui.files.database import bound, quoted
from zeroclaw_tui.memory.change import Draft, RowChange, Value
from zeroclaw_tui.scoring.generations import USUAL

_AT_ONCE = 100
_KEPT = frozenset({"id", "key", "created_at", "agent_id", "embedding"})
"""What a memory that is stored again keeps; its vector only for the content it was made of."""


def store_many(writing: Writing, drafts: Sequence[Draft]) -> None:
    """Store drafts in order; of those with one key the last counts. Raises what `create` raises."""
    ready = [draft.checked() for draft in drafts]
    for draft in ready:
        check_has(writing.schema, _named(draft))
        check_owner(writing.schema, draft.agent)
    done = 0
    while done < len(ready):
        with writing.transaction() as transaction:
            if not _can_upsert(transaction):
                break
            began = done
            while done < len(ready) and (done == began or transaction.seconds < HELD_SECONDS):
                part = ready[done : done + _AT_ONCE]
                for names, alike in groupby(part, key=lambda draft: tuple(_named(draft))):
                    _upsert(transaction, names, [*alike])
                done += len(part)
            held = transaction.seconds
        writing.done = done
        if done < len(ready):
            if writing.is_stopped:
                return
            writing.rest(held)
    for draft in ready[done:]:
        create(writing, draft, _keep_nothing, None, True)


def _upsert(transaction: Transaction, names: Sequence[str], drafts: Sequence[Draft]) -> None:
    """Drafts that name the same fields, in one statement run for each."""
    schema = transaction.schema
    reset = {**USUAL, **dict.fromkeys(RESET)} if schema.has_agents else {}
    rows = [_row(transaction, draft) for draft in drafts]
    changing = [name for name in rows[0] if name not in _KEPT and (name not in USUAL or name in reset or name in names)]
    sets = [f"{quoted(name)} = excluded.{quoted(name)}" for name in changing]
    sets += [f"{quoted(name)} = NULL" for name in RESET if name in reset and schema.has(name)]
    sets.append("embedding = CASE WHEN content = excluded.content THEN embedding END")
    for marks, alike in groupby((bound(row.values()) for row in rows), key=lambda pair: pair[0]):
        statement = (
            f"INSERT INTO memories ({', '.join(map(quoted, rows[0]))}) VALUES ({marks}) "
            f"ON CONFLICT ({_unique(transaction)}) DO UPDATE SET {', '.join(sets)}"
        )
        transaction.connection.executemany(statement, (values for _, values in alike))


def _row(transaction: Transaction, draft: Draft) -> dict[str, Value]:
    schema, now = transaction.schema, local_now()
    row: dict[str, Value] = {"id": str(uuid.uuid4()), "key": draft.key, "created_at": now, "updated_at": now}
    if schema.has_agents:
        row["agent_id"] = owner_of(transaction, draft.agent)[0]
    row |= {name: value for name, value in USUAL.items() if schema.has(name)}
    row |= {"content": draft.content, "category": draft.category}
    row["session_id"] = session_kept(schema, draft.session_id, [])
    return row | as_stored(_named(draft))


def _named(draft: Draft) -> Mapping[str, Value]:
    said: dict[str, Value] = {
        "namespace": draft.namespace, "importance": draft.importance, "pinned": draft.pinned,
    }  # fmt: skip
    return {name: value for name, value in said.items() if value is not None}


def _unique(transaction: Transaction) -> str:
    """What a key belongs to one memory of."""
    return "agent_id, key" if transaction.schema.has_agents else "key"


def _can_upsert(transaction: Transaction) -> bool:
    """Whether the table has the uniqueness ZeroClaw gives it."""
    statement = f"EXPLAIN INSERT INTO memories (key) VALUES ('') ON CONFLICT ({_unique(transaction)}) DO NOTHING"
    try:
        transaction.connection.execute(statement).fetchall()
    except sqlite3.OperationalError:
        return False
    return True


def _keep_nothing(changes: Sequence[RowChange]) -> None:
    """For ZeroClaw's own verbs, which keep nothing."""
