"""The rows of a store as `write` and `revert` see them: what a store supplies so that its memories can be changed.

Both are written once, as coroutines. A store behind a network awaits them on its event loop; one that works in a thread
of its own drives them there with `finished`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from zeroclaw_tui.backends.cancellation import to_its_end
from zeroclaw_tui.memory.change import Draft, Keep, NewVector, RowChange, Stamp, StoredRow, Value

Answer = TypeVar("Answer")

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
        raise NotImplementedError

    def summary(self) -> tuple[str, ...]:
        """Sentences for the end, about all that was written."""
        return ()


async def kept(keep: Keep, changes: Sequence[RowChange]) -> None:
    """Keep what changes, on a thread since that waits for a disk; who gives up meanwhile is heard afterwards."""
    keeping = asyncio.get_running_loop().run_in_executor(None, keep, changes)
    await to_its_end(keeping, lambda: None)


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
