"""Shared by the contracts: running a test on a store, a recording journal, and helpers for changes."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import pytest

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.memory.change import (
    MEMORIES,
    ApplyResult,
    Change,
    Draft,
    Edit,
    Journal,
    Row,
    RowChange,
    RowVersion,
    Value,
    inverse_changes,
)
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.query import ENTRIES, EVERYTHING, HANDLES, OLDEST_STORED, MemoryFilter, Query, Sort

Kind = TypeVar("Kind", bound=InspectorError)


class Contract:
    """Tests of a store, `test_...(self, memory)`; a class with `new_memory` runs them itself."""

    async def new_memory(self, folder: Path) -> Memory:
        """Make a new, empty store in an empty folder, not yet opened; it is closed after the test."""
        raise NotImplementedError

    async def prepare(self, memory: Memory) -> None:
        """Fill a new store with the memories that the tests expect."""

    async def fill(self, memory: Memory, drafts: Sequence[Draft]) -> None:
        """Store thousands of memories in order; override it for a faster way around the object."""
        await fill(memory, drafts)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.new_memory is Contract.new_memory:
            return
        for name in dir(cls):
            test = getattr(cls, name)
            if name.startswith("test") and inspect.iscoroutinefunction(test):
                setattr(cls, name, _run_by_itself(test))


def _run_by_itself(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[[Contract, Path], None]:
    """Wrap a test into a plain function with a folder, independent of pytest plug-ins."""

    async def run_with_new_memory(contract: Contract, folder: Path) -> None:
        memory = await contract.new_memory(folder)
        # The factory sets both when it opens a plug-in by name.
        memory.name = memory.name or "plug-in"
        memory.about = memory.about._replace(location=memory.about.location or str(folder))
        await memory.open()
        try:
            await contract.prepare(memory)
            await test(contract, memory)
        finally:
            await memory.close()

    @wraps(test)
    def run(self: Contract, tmp_path: Path) -> None:
        asyncio.run(run_with_new_memory(self, tmp_path))

    # Otherwise pytest would see the parameters of the wrapped test.
    del run.__wrapped__
    return run


def skip_if(why: str | None) -> None:
    """Skip a test that a store cannot pass, with the store's reason; None or "" does not skip."""
    if why:
        pytest.skip(f"does not apply: {why}")


class JournalRecorder(Journal):
    """Records changes, numbered like a trash does; `then` is called after each record, on the same thread."""

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        self.changes: list[RowChange] = []
        self._last = 0
        self._then = then

    @property
    def memories(self) -> list[RowChange]:
        """The changes of memories; a store of files also journals files."""
        return [change for change in self.changes if change.row.table == MEMORIES]

    def record(self, changes: Sequence[RowChange]) -> None:
        numbered = enumerate(changes, len(self.changes) + 1)
        self.changes += [RowChange(one.before, one.after, number, one.reverses) for number, one in numbered]
        self._last = len(changes)
        self._then()

    def withdraw(self) -> None:
        del self.changes[len(self.changes) - self._last :]
        self._last = 0


async def create(memory: Memory, draft: Draft, journal: Journal | None = None, *, replace: bool = False) -> ApplyResult:
    """Store a new memory; with `replace` it may replace one with the same key."""
    changes, journal = [Change(None, draft)], journal or JournalRecorder()
    return await memory.apply(changes, journal, on_conflict="overwrite" if replace else "refuse")


async def edit(
    memory: Memory, row: Row | RowVersion, values: Mapping[str, Value], journal: Journal | None = None, **options: Any
) -> ApplyResult:
    """Change values of a memory; `options` may include the vector of the new content."""
    changes = [Change(row, Edit(values, **options))]
    return await memory.apply(changes, journal or JournalRecorder(), on_conflict="refuse")


async def delete(
    memory: Memory, rows: Sequence[Row | RowVersion], journal: Journal | None = None, **options: Any
) -> ApplyResult:
    """Delete memories that have not changed since they were read."""
    return await memory.apply((Change(row, None) for row in rows), journal or JournalRecorder(), **options)


async def undo(
    memory: Memory, changes: Sequence[RowChange], journal: Journal | None = None, **options: Any
) -> ApplyResult:
    """Undo journaled changes in this order; a conflict refuses all of them, unless `options` say otherwise."""
    every = (one for change in changes for one in inverse_changes(change))
    return await memory.apply(every, journal or JournalRecorder(), **{"on_conflict": "refuse", **options})


async def fill(memory: Memory, drafts: Iterable[Draft]) -> None:
    """Store many memories in order, each replacing one with the same key."""
    await memory.apply((Change(None, draft) for draft in drafts), None, on_conflict="overwrite")


async def handles_of(memory: Memory, filter: MemoryFilter, sort: Sort) -> Sequence[Handle]:
    """The handles of all memories that a filter selects, in order."""
    return await memory.rows(Query(HANDLES, filter, sort))


async def entries_of(memory: Memory, filter: MemoryFilter) -> Sequence[MemoryEntry]:
    """All memories that a filter selects, with full content, the oldest stored first."""
    return await memory.rows(Query(ENTRIES, filter, OLDEST_STORED))


async def state_of(memory: Memory) -> Counter[tuple[Any, ...]]:
    """All rows, counted; their first four fields are those that the trait stores."""
    rows = await entries_of(memory, EVERYTHING)
    return Counter((row.key, row.content, row.category, row.session_id, *row.as_json().items()) for row in rows)


def row_of(result: ApplyResult) -> Row:
    """The written row of a successful change."""
    assert not result.skipped, result.conflicts[0].words
    return result.rows[0]


def numbered(count: int) -> list[Draft]:
    """Make `count` numbered drafts in three categories."""
    categories = ("core", "daily", "conversation")
    return [Draft(f"bulk {number:05}", f"bulk content {number:05}", categories[number % 3]) for number in range(count)]


async def raises(operation: Awaitable[object], kind: type[Kind]) -> Kind:
    """Assert that an operation raises this kind of error with a message, and return the error."""
    with pytest.raises(kind) as caught:
        await operation
    assert caught.value.message
    return caught.value
