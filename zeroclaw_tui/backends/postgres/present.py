"""The rows that some changes are about: as they are, held until the end, and as they shall be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from zeroclaw_tui.backends.postgres.owners import earlier_owner
from zeroclaw_tui.backends.postgres.transaction import Transaction
from zeroclaw_tui.memory.change import RowChange, StoredRow, Value


class Present:
    """Every row of the ids and the keys of some changes, read in one go and locked."""

    def __init__(self, rows: Iterable[StoredRow]) -> None:
        self.by_id: dict[str, StoredRow] = {}
        self.by_key: dict[tuple[Value, Value], StoredRow] = {}
        for row in rows:
            self.by_id[row.id] = row
            self.by_key[identity(row)] = row

    @classmethod
    async def read(cls, open_: Transaction, changes: Sequence[RowChange]) -> Present:
        """Read and lock them."""
        rows = [row for change in changes for row in (change.before, change.after) if row is not None]
        owners = {owner for row in rows if (owner := earlier_owner(open_.table, row)) is not None}
        keys = {str(row.values["key"]) for row in rows}
        return cls(await open_.locked({row.id for row in rows}, keys, owners))

    def with_id(self, id: str, handle: object = None) -> StoredRow | None:
        """One of those read."""
        return self.by_id.get(id)

    def with_key(self, key: Value, owner: Value) -> StoredRow | None:
        """One of those read."""
        return self.by_key.get((owner, key))


class Rewriting:
    """The same rows as they shall be: changed here one by one, and in the table all at once."""

    def __init__(self, present: Present) -> None:
        self._before = dict(present.by_id)
        self._rows = dict(present.by_id)
        self._keys = dict(present.by_key)
        self._written: dict[str, StoredRow] = {}

    def with_id(self, id: str, handle: object = None) -> StoredRow | None:
        """As it shall be."""
        return self._rows.get(id)

    def with_key(self, key: Value, owner: Value) -> StoredRow | None:
        """As it shall be."""
        return self._keys.get((owner, key))

    def drop(self, row: StoredRow) -> None:
        """Have no such row."""
        self._rows.pop(row.id, None)
        self._keys.pop(identity(row), None)

    def put(self, row: StoredRow) -> None:
        """Have this row."""
        self._rows[row.id] = self._keys[identity(row)] = row

    async def free_key(self, open_: Transaction, key: str, owner: Value) -> str:
        """The key, or one like it that no row has."""
        free, number = key, 1
        while await self._is_taken(open_, free, owner):
            number += 1
            free = f"{key} (restored)" if number == 2 else f"{key} (restored {number - 1})"
        return free

    async def carry_out(self, open_: Transaction) -> None:
        """Write what differs: first what goes, then what changes, then what comes."""
        going = [row_id for row_id in self._before if row_id not in self._rows]
        changed: list[tuple[StoredRow, StoredRow]] = []
        coming = [row for row_id, row in self._rows.items() if row_id not in self._before]
        keys = {identity(row) for row in self._before.values()}
        for row_id, row in self._rows.items():
            before = self._before.get(row_id)
            if before is None or before.values == row.values:
                continue
            if identity(row) != identity(before) and identity(row) in keys:
                # Two rows that swap their keys cannot be changed one after the other.
                going.append(row_id)
                coming.append(row)
            else:
                changed.append((before, row))
        await open_.delete(going)
        for before, row in changed:
            self._written[row.id] = await open_.change(before, row.values, touch=False)
        for rows in _by_columns(coming):
            self._written |= {row.id: row for row in await open_.insert(rows)}
        self._rows |= {row_id: row for row_id, row in self._written.items() if row_id in self._rows}
        self._before = dict(self._rows)

    def as_written(self, row: StoredRow | None) -> StoredRow | None:
        """A row that was put, as the table then held it; one that another took the place of stays as it was meant."""
        if row is None:
            return None
        written = self._written.get(row.id)
        if written is None or any(written.values.get(name) != value for name, value in row.values.items()):
            return row
        return written

    async def _is_taken(self, open_: Transaction, key: str, owner: Value) -> bool:
        if (owner, key) in self._keys:
            return True
        there = await open_.with_key(key, None if owner is None else str(owner))
        return there is not None and there.id not in self._before


def identity(row: StoredRow) -> tuple[Value, Value]:
    """What no two rows may have in common."""
    return row.values.get("agent_id"), row.values.get("key")


def _by_columns(rows: Iterable[StoredRow]) -> Iterable[list[StoredRow]]:
    """Rows that name the same columns together, since what is not named is the table's to fill in."""
    groups: dict[frozenset[str], list[StoredRow]] = {}
    for row in rows:
        groups.setdefault(frozenset(row.values), []).append(row)
    return groups.values()
