"""The interface between a store and the engine that applies changes of rows.

A `RowWriter` reads the rows of a batch, completes new ones and writes them; the comparison with existing rows and the
decisions that follow are implemented once for all stores, in `batch.py`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, TypeVar

from zeroclaw_tui.backends.about import why_not_field
from zeroclaw_tui.backends.cancellation import wait_until_done
from zeroclaw_tui.memory.change import Change, Draft, Edit, Row, RowChange, RowVersion
from zeroclaw_tui.memory.errors import Refused

T = TypeVar("T")

BATCH_ROWS = 250
"""The maximum number of rows in a batch, unless the store sets another."""
BATCH_BYTES = 4_000_000
"""The maximum size of the values in a batch in bytes, unless a single row is bigger."""
UNCONFIRMED = "The last step is not confirmed. Check with `zeroclaw memory list`."
"""The sentence for a change if it is unknown whether it was written."""
Reason = Literal["key exists", "changed", "deleted"]
OwnedKey = tuple[str | None, str]
"""The store's identifier of a memory's owner (None without owners), and the memory's key."""


class WriteConflict(Exception):
    """Another program wrote a row between its comparison and the write; nothing of the batch was written."""


class RowWriter(ABC):
    """Reads the rows of a batch, completes new rows, and writes them.

    A row's owner is the store's identifier of its agent, None without agents.
    """

    is_transactional = False
    """Whether a batch is one transaction, so that it is journaled after the write, with the rows as stored."""
    keys_are_unique = True
    """Whether the store itself ensures that keys are unique per owner."""
    why_not: Mapping[str, str] = MappingProxyType({})
    """The fields that an edit cannot change, each with the reason."""
    batch_rows: int = BATCH_ROWS
    is_stopped: bool = False
    """Whether no further batch should begin."""
    done: int = 0
    """The number of written rows, set by the engine after each batch, for messages."""

    def __init__(self) -> None:
        self.notes: dict[str, None] = {}
        """Sentences about values that the store did not accept."""

    async def blocking(self, work: Callable[[], T]) -> T:
        """Run blocking work on a thread; a cancelled caller waits for its end."""
        return await wait_until_done(asyncio.get_running_loop().run_in_executor(None, work), lambda: None)

    @asynccontextmanager
    async def batch(self, *, dry_run: bool) -> AsyncIterator[None]:
        """The context of a batch: a transaction, if the store has transactions; without a lock for a dry run."""
        yield

    def check(self, after: Draft | Edit) -> None:
        """Raise Refused for values that this store cannot have, before reading."""
        for name in after.values if isinstance(after, Edit) else ():
            if (reason := why_not_field(self.why_not, name)) is not None:
                raise Refused(reason)

    @abstractmethod
    async def read(self, rows: Sequence[RowVersion | Row], keys: Collection[OwnedKey]) -> Iterable[Row]:
        """Read the current rows with these identities or keys, and lock them until the end of the batch."""

    def identity(self, row: RowVersion | Row) -> str:
        """The identity of a row, which is constant for a memory: its id."""
        return row.id

    def owner(self, row: Row) -> str | None:
        """The owner of a row."""
        return None

    def same(self, one: Row, other: Row) -> bool:
        """Whether two rows are equal in the values that the store can have, except for the vector."""
        return one.fingerprint == other.fingerprint

    def state_of(self, row: Row) -> str:
        """The `state` in the version of a row."""
        return row.fingerprint

    async def resolve_owner(self, row: Row | Draft, *, create: bool) -> tuple[str | None, RowChange | None]:
        """Find the owner of a new or restored row, and the agent that was added for it. Raises Refused."""
        return None, None

    @abstractmethod
    def new_row(self, draft: Draft, existing: Row | None, owner: str | None) -> Row:
        """Make the row of a draft; `existing` is the row that it replaces."""

    @abstractmethod
    def edited_row(self, row: Row, edit: Edit) -> Row:
        """Make the row with new values; the same object if it has them already."""

    @abstractmethod
    def restored_row(self, row: Row, existing: Row | None, owner: str | None, *, new_id: bool) -> Row:
        """Convert an earlier row to what the store can have now, to replace `existing`."""

    def as_stored(self, row: Row) -> Row:
        """Convert a row of any store to what this store would have, without changing its agent."""
        return self.restored_row(row, None, None, new_id=False)

    async def prepare(self, rows: Sequence[Row]) -> Mapping[str, Row]:
        """Complete new rows before they are journaled, by identity; unchanged ones may be left out."""
        return {}

    @abstractmethod
    async def write(self, changes: Sequence[RowChange]) -> Mapping[str, Row]:
        """Replace rows, each with a different identity, in an order that allows rows to exchange their keys.

        Returns new rows as stored, by identity; unchanged ones may be left out. Raises WriteConflict.
        """

    async def write_other(self, change: Change, *, dry_run: bool) -> RowChange | None:
        """Write a row of another table, such as an agent; None in a dry run, and for a store without other tables."""
        return None

    def summary(self) -> tuple[str, ...]:
        """Sentences about all writes, for the end."""
        return ()


Work: TypeAlias = Callable[[RowWriter], Coroutine[Any, Any, T]]
"""A function that writes rows with the store's writer."""
