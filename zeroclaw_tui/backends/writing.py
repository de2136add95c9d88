"""What a store supplies so that changes of its rows can be applied.

A `RowWriter` reads the rows of a batch, completes new ones and writes them; what a change meets and what follows from
it is decided once for all stores, in `batch.py`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, TypeVar

from zeroclaw_tui.backends.cancellation import wait_until_done
from zeroclaw_tui.memory.change import Change, Draft, Edit, Row, RowChange, RowVersion
from zeroclaw_tui.memory.errors import Refused

T = TypeVar("T")

BATCH_ROWS = 250
"""How many rows a batch has at most, unless the store says otherwise."""
BATCH_BYTES = 4_000_000
"""How many bytes of values a batch has at most, unless one row alone has more."""
UNCONFIRMED = "The last step is not confirmed. Check with `zeroclaw memory list`."
"""What to say of a change if nobody can know whether it was written."""
Reason = Literal["key exists", "changed", "deleted"]
OwnedKey = tuple[str | None, str]
"""The owner of a memory, as the store names it (None where there are no owners), and its key."""


class WriteConflict(Exception):
    """Another program has written a row between its comparison and the write; nothing of the batch was written."""


class RowWriter(ABC):
    """What a store supplies for writing: reading the rows of a batch, completing new rows, and writing them.

    A row's owner is its agent as the store names it, None where there are no agents.
    """

    is_transactional = False
    """Whether a batch is written in one transaction, so that it is journaled after the write, as the store has it."""
    keys_are_unique = True
    """Whether the store itself ensures that an owner has a key only once."""
    why_not: Mapping[str, str] = MappingProxyType({})
    """The fields that an edit cannot change, each with a sentence."""
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
        for name in after.values if isinstance(after, Edit) else ():
            if name in self.why_not:
                raise Refused(self.why_not[name])

    @abstractmethod
    async def read(self, rows: Sequence[RowVersion | Row], keys: Collection[OwnedKey]) -> Iterable[Row]:
        """The present rows of these identities, and those with these keys; locked until the end of the batch."""

    def identity(self, row: RowVersion | Row) -> str:
        """What stays the same for as long as a row is the same memory: its id."""
        return row.id

    def owner(self, row: Row) -> str | None:
        """The owner of a row."""
        return None

    def same(self, one: Row, other: Row) -> bool:
        """Whether two rows are equal in what the store can have, except for the vector."""
        return one.fingerprint == other.fingerprint

    def state_of(self, row: Row) -> str:
        """The state of a row as the store's versions have it."""
        return row.fingerprint

    async def resolve_owner(self, row: Row | Draft, *, create: bool) -> tuple[str | None, RowChange | None]:
        """The owner of a new or restored row, and the agent that was added for it. Raises Refused."""
        return None, None

    @abstractmethod
    def new_row(self, draft: Draft, existing: Row | None, owner: str | None) -> Row:
        """The row of a draft; `existing` is the row that it replaces."""

    @abstractmethod
    def edited_row(self, row: Row, edit: Edit) -> Row:
        """The row with new values; the same object where the store has them already."""

    @abstractmethod
    def restored_row(self, row: Row, existing: Row | None, owner: str | None, *, new_id: bool) -> Row:
        """A row of any time as the store can have it now, in place of `existing`."""

    def as_stored(self, row: Row) -> Row:
        """A row of any store as this store would have it; its agent stays."""
        return self.restored_row(row, None, None, new_id=False)

    async def prepare(self, rows: Sequence[Row]) -> Mapping[str, Row]:
        """Complete new rows before they are journaled, by identity; those that stay as they are may be left out."""
        return {}

    @abstractmethod
    async def write(self, changes: Sequence[RowChange]) -> Mapping[str, Row]:
        """Put rows in place of others, each of another identity, in an order that lets rows exchange their keys.

        Returns new rows as the store has them, by identity; one that is left out is as it was given. Raises
        WriteConflict.
        """

    async def write_other(self, change: Change, *, dry_run: bool) -> RowChange | None:
        """Write a row of another table, such as an agent; None in a dry run, and for a store without other tables."""
        return None

    def summary(self) -> tuple[str, ...]:
        """Sentences for the end, about all that was written."""
        return ()


Work: TypeAlias = Callable[[RowWriter], Coroutine[Any, Any, T]]
"""What writes rows by a writer that the store gives it."""
