"""What is in the way of a memory of a database that shall become again what it was."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from zeroclaw_tui.backends import clashes
from zeroclaw_tui.backends.clashes import Found, Situation, situation, with_agents_back
from zeroclaw_tui.backends.sqlite.owners import earlier_owner
from zeroclaw_tui.backends.sqlite.raw_rows import RawTable
from zeroclaw_tui.backends.sqlite.writing import Transaction
from zeroclaw_tui.memory.change import MEMORIES, RowChange, StoredRow, Value

__all__ = ["Ahead", "Fetched", "Found", "Situation", "situation"]


class Fetched:
    """The memories some changes are about, read in one go: every row of their ids and of their keys."""

    def __init__(self, memories: RawTable, changes: Sequence[RowChange]) -> None:
        rows = [row for change in changes for row in (change.before, change.after) if row is not None]
        self._memories = memories
        self._by_id = memories.with_ids(list({row.id for row in rows}))
        self._by_key = memories.with_keys(list({row.values.get("key") for row in rows}))

    @property
    def is_empty(self) -> bool:
        """Whether nothing is there that any of the changes names."""
        return not self._by_id and not self._by_key

    def with_id(self, id: str, handle: object = None) -> StoredRow | None:
        """One of those read."""
        return self._by_id.get(id) or (None if id else self._memories.with_id(id, handle))

    def with_key(self, key: Value, owner: Value) -> StoredRow | None:
        """One of those read."""
        return self._by_key.get((owner, key))


class Ahead(clashes.Ahead):
    """The memories of a database as they will be."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__()
        self._transaction = transaction

    def look(self, changes: Sequence[RowChange], found: Found) -> None:
        """Take changes back in thought."""
        of_memories = [change for change in changes if change.row.table == MEMORIES]
        self._transaction.aliases.update(with_agents_back(self._transaction.aliases, changes))
        now = Fetched(self._transaction.memories, of_memories)
        self.look_at(of_memories, now, partial(earlier_owner, self._transaction), found)
