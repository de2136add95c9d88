"""The trash beside an install: every change's before and after, so that any of them can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.config.install import Install
from zeroclaw_tui.memory.change import Batches, Keep, RowChange, StoredRow

NAME = "trash.db"
DAYS_KEPT = 30
BYTES_KEPT = 500_000_000

Verb = Literal["store", "edit", "forget", "purge", "clear", "restore", "undo", "clean"]
"""What a person did. "restore" brings chosen rows back from the trash, "clean" removes copies of a text elsewhere."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person did to one store. `at` is RFC 3339, `size` in bytes, `until` when the trash lets go of it.

    `count` is how many rows it changed, `open` how many of them are not taken back yet. `store` names the store.
    """

    number: int
    verb: Verb
    at: str
    summary: str
    count: int
    open: int
    size: int
    until: str
    store: str


@dataclass(frozen=True, slots=True)
class TrashRow:
    """A deleted memory that can be restored. `number` is how commands name it, `size` in bytes with its vector."""

    number: int
    action: int
    verb: Verb
    deleted_at: str
    until: str
    size: int
    row: StoredRow
    store: str


@dataclass(frozen=True, slots=True)
class Version:
    """One step in the history of one memory: what was done to it, and the row before and after."""

    action: int
    verb: Verb
    at: str
    before: StoredRow | None
    after: StoredRow | None


@dataclass(frozen=True, slots=True)
class TrashUsage:
    """What the trash of a config dir holds, for all of its stores. `bytes` is the size of its file."""

    rows: int
    bytes: int
    days_kept: int
    bytes_kept: int
    oldest: str | None


class Trash:
    """The trash of one config dir, seen from one store of it (`store` names that: backend and real path).

    Nothing is made on disk before the first change. Every coroutine runs SQLite in a thread. Raises InspectorError
    kinds: Unreadable when trash.db cannot be read or written, Locked. Old rows go only while something new is kept,
    and never those of the action under way.
    """

    def __init__(self, install: Install, store: str, clock: Callable[[], datetime]) -> None:
        self.file = install.own_dir / NAME
        self.store = store
        self._clock = clock

    async def begin(self, verb: Verb, summary: str) -> int:
        """Note that an action begins, and hold the lock that tells other processes so; gives its number.

        Raises Locked while another process is in the middle of an action on this config dir.
        """
        raise NotImplementedError

    def keeper(self, action: int) -> Keep:
        """What a backend calls with each batch before it changes it; one durable transaction (fsync) a call."""
        raise NotImplementedError

    def forgetter(self, action: int) -> Keep:
        """The same for what shall never come back: earlier versions of these rows leave the trash as well, zeroed."""
        raise NotImplementedError

    async def finish(self, action: int) -> Action | None:
        """The action is over: let go of the lock. One that changed nothing is struck out and gives None."""
        raise NotImplementedError

    async def settle(self, memory: Memory) -> None:
        """Put right what an action that was cut off left open: what was kept but is still in the store as it was is
        struck out, so that each row is in the store or in the trash. Does nothing while such an action still runs."""
        raise NotImplementedError

    async def last(self) -> Action | None:
        """The last action on this store, other than an undo, with something not yet taken back."""
        raise NotImplementedError

    async def actions(self, limit: int = 100) -> list[Action]:
        """What was done to this store, the newest first."""
        raise NotImplementedError

    async def action(self, number: int) -> Action:
        """One action. Raises NotThere."""
        raise NotImplementedError

    def open_changes(self, action: int) -> Batches:
        """What an action changed and nothing took back yet, the last change first, in batches of at most 250."""
        raise NotImplementedError

    def changes_numbered(self, numbers: Sequence[int]) -> Batches:
        """The kept changes of these numbers, in batches."""
        raise NotImplementedError

    async def listing(
        self, contains: str = "", *, limit: int = 200, offset: int = 0, every_store: bool = False
    ) -> tuple[list[TrashRow], int]:
        """Deleted memories not restored since, the newest deletion first, and how many there are in all.

        `contains` is looked for in key and content, ignoring case.
        """
        raise NotImplementedError

    async def numbers(self, contains: str = "", *, action: int | None = None) -> list[int]:
        """The numbers of all that `listing` would give for this store, or of one action's."""
        raise NotImplementedError

    async def row(self, number: int) -> TrashRow:
        """One deleted memory. Raises NotThere when it was restored or the trash let go of it."""
        raise NotImplementedError

    async def history(self, id: str) -> list[Version]:
        """What was done here to the memory of this id, the newest first."""
        raise NotImplementedError

    async def usage(self) -> TrashUsage:
        """How much it holds and how long it keeps it."""
        raise NotImplementedError

    async def empty(self, numbers: Sequence[int] | None = None) -> int:
        """Let go for ever of these deleted memories, or of everything; gives how many. Zeroes what they used."""
        raise NotImplementedError


def store_name(backend: str, location: str) -> str:
    """How a store is named in the trash: its backend and where it lies."""
    return f"{backend}:{location}"


def change_of(number: int, before: StoredRow | None, after: StoredRow | None) -> RowChange:
    """A kept change as `Memory.revert` takes it."""
    return RowChange(before, after, number=number)
