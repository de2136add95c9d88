"""What is cancelled in the middle leaves a store that answers, and nothing lost; used like MemoryContract."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.memory.change import Draft, Edit, RowChange, StoredRow
from zeroclaw_tui.memory.errors import SearchInterrupted
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringSettings, profile_for
from zeroclaw_tui.testing.tools import (
    EVERY,
    PATIENCE_SECONDS,
    Kept,
    StoreHooks,
    cut,
    numbered,
    soon,
    state_of,
    whole_rows,
    written_row,
)

_ROWS = 300


class CancelContract(StoreHooks):
    """Tests that each take an open `memory` of a few rows, or none, that may be written."""

    async def test_a_pass_that_is_cancelled_ends_and_the_store_answers(self, memory: Memory) -> None:
        """Cancelled at its first row, a pass over every row ends; the next one shows them all."""
        await self.fill(memory, numbered(_ROWS))
        count, canceller = await memory.count(), Canceller()

        def see(row: StoredRow) -> None:
            canceller.cancel()

        await canceller.run(memory.each_row(see))
        seen: list[str] = []
        await soon(memory.each_row(lambda row: seen.append(row.id)))
        assert len(seen) == count

    async def test_a_search_that_is_cancelled_or_interrupted_can_be_asked_again(self, memory: Memory) -> None:
        """The same search gives the same rows afterwards."""
        await self.fill(memory, numbered(_ROWS))
        profile = profile_for(memory.newest_version or NEWEST)

        def searching() -> Coroutine[Any, Any, Any]:
            return memory.search(RecallRequest("bulk content 00007"), profile, ScoringSettings())

        wanted = [scored.entry.id for scored in (await soon(searching())).entries]
        for stop in (asyncio.Task.cancel, lambda task: memory.interrupt()):
            task = asyncio.ensure_future(searching())
            await asyncio.sleep(0)
            stop(task)
            await soon(_ended(task))
            assert [scored.entry.id for scored in (await soon(searching())).entries] == wanted

    async def test_a_removal_that_is_cancelled_can_be_taken_back(self, memory: Memory) -> None:
        """Whatever went had been kept; undo gives every memory back."""
        await self.fill(memory, numbered(_ROWS))
        before, kept = await state_of(memory), KeptAndCancelled()
        await kept.canceller.run(memory.remove(await memory.stamps(EVERY), kept))
        left = {row.content for row in await whole_rows(memory)}
        assert {row[1] for row in before} - left <= {change.row.entry().content for change in kept.changes}
        await soon(memory.revert(kept.last_first, Kept()))
        assert cut(await state_of(memory), self.keeps_rows_exactly) == cut(before, self.keeps_rows_exactly)

    async def test_a_store_that_is_cancelled_is_done_or_not_done(self, memory: Memory) -> None:
        """There is the new memory or none, and undo leaves none."""
        before, kept = await state_of(memory), KeptAndCancelled()
        await kept.canceller.run(memory.create(Draft("cancelled", "cancelled content"), kept))
        now = await state_of(memory)
        assert sum(now.values()) - sum(before.values()) in (0, 1)
        await soon(memory.revert(kept.last_first, Kept()))
        assert cut(await state_of(memory), self.keeps_rows_exactly) == cut(before, self.keeps_rows_exactly)

    async def test_an_edit_that_is_cancelled_is_done_or_not_done(self, memory: Memory) -> None:
        """The old text stands there or the new one, and undo leaves the old."""
        if "content" not in memory.capabilities.editable:
            return
        row = written_row(await memory.create(Draft("cancelled", "old text"), Kept()))
        kept = KeptAndCancelled()
        await kept.canceller.run(memory.update(row.id, Edit({"content": "new text"}), row.fingerprint, kept))
        ends = [entry.content for entry in await memory.list() if entry.content.endswith(("old text", "new text"))]
        assert len(ends) == 1
        await soon(memory.revert(kept.last_first, Kept()))
        assert [entry.content for entry in await memory.list() if entry.content.endswith(" text")] == [
            row.entry().content
        ]

    async def test_what_is_cancelled_before_it_began_changed_nothing(self, memory: Memory) -> None:
        """A write that waits for another can be cancelled; the other one is done."""
        before, kept = await state_of(memory), Kept()
        deeds = [asyncio.ensure_future(memory.create(Draft(f"n {n}", f"content {n}"), kept)) for n in range(6)]
        for deed in deeds[1::2]:
            deed.cancel()
        for deed in deeds:
            await soon(_ended(deed))
        stored = {entry.content[-1] for entry in await memory.list() if "content " in entry.content}
        assert {"0", "2", "4"} <= stored
        await soon(memory.revert(kept.last_first, Kept()))
        assert cut(await state_of(memory), self.keeps_rows_exactly) == cut(before, self.keeps_rows_exactly)


class Canceller:
    """Cancels what it runs, from whichever thread; the thread goes on only when that has arrived."""

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._arrived = threading.Event()

    async def run(self, deed: Coroutine[Any, Any, Any]) -> None:
        """Run it to its end, which is its own or that of being cancelled."""
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._task = asyncio.ensure_future(deed)
        await soon(_ended(self._task))

    def cancel(self) -> None:
        """Once: cancel it."""
        if self._task is None or self._loop is None or self._arrived.is_set():
            return
        if threading.get_ident() == self._thread:
            self._task.cancel()
            self._arrived.set()
            return
        self._loop.call_soon_threadsafe(self._arrive)
        assert self._arrived.wait(PATIENCE_SECONDS), "the event loop is held up"

    def _arrive(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._arrived.set()


class KeptAndCancelled(Kept):
    """Keeps, and cancels what is being done as soon as something has been kept."""

    def __init__(self) -> None:
        super().__init__()
        self.canceller = Canceller()

    def __call__(self, changes: Sequence[RowChange]) -> None:
        """Keep some, then cancel."""
        super().__call__(changes)
        self.canceller.cancel()


async def _ended(task: asyncio.Future[Any]) -> None:
    try:
        await task
    except (asyncio.CancelledError, SearchInterrupted):
        assert task.done()
