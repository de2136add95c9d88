"""What a store must do that several programs use at once, or whose work is cancelled, as tests of each store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.lookup import versions, why_fixed
from zeroclaw_tui.memory.change import ApplyResult, Draft
from zeroclaw_tui.memory.errors import SearchInterrupted
from zeroclaw_tui.memory.query import EVERYTHING
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringSettings, profile_for
from zeroclaw_tui.testing.tools import (
    PATIENCE_SECONDS,
    Contract,
    JournalRecorder,
    create,
    delete,
    edit,
    numbered,
    obstacle_of,
    recall_of,
    restorable,
    row_of,
    state_of,
    undo,
    within_timeout,
)

_EACH, _CANCELLED = 20, 300


class Canceller:
    """Cancels what it runs, from another thread, which goes on only when that has arrived."""

    async def run(self, deed: Coroutine[Any, Any, Any]) -> None:
        """Run it to its end, which is its own or that of being cancelled."""
        self._loop, self._task = asyncio.get_running_loop(), asyncio.ensure_future(deed)
        await within_timeout(ended(self._task))

    def cancel(self) -> None:
        """Cancel it."""
        arrived = threading.Event()
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._loop.call_soon_threadsafe(arrived.set)
        assert arrived.wait(PATIENCE_SECONDS), "the event loop is held up"


async def ended(task: asyncio.Future[Any]) -> None:
    """Wait for the end of a task that may have been cancelled."""
    try:
        await task
    except (asyncio.CancelledError, SearchInterrupted):
        assert task.done()


class NeighbourContract(Contract):
    """Tests that each take an open `memory` that may be written, and make a neighbour of it by `another`."""

    async def another(self, memory: Memory) -> Memory:
        """A second open object on the same store, as another process has one; the test closes it.

        A store that is in one object is its own neighbour: then this is `memory` itself, as it is here.
        """
        return memory

    async def test_what_both_store_at_once_all_arrives(self, memory: Memory) -> None:
        async with self._neighbour(memory) as other:
            count = await memory.count()
            drafts = [
                create(writer, Draft(f"{name} {number}", f"content of {name} {number}"))
                for number in range(_EACH)
                for name, writer in (("mine", memory), ("theirs", other))
            ]
            await within_timeout(asyncio.gather(*drafts))
            for reader in (memory, other):
                contents = [entry.content for entry in await reader.list() if "content of " in entry.content]
                assert len({*contents}) == len(contents) == await reader.count() - count == 2 * _EACH

    async def test_of_two_edits_of_one_state_the_second_is_a_conflict(self, memory: Memory) -> None:
        if why_fixed(memory, "content"):
            return  # Contents cannot be edited.
        async with self._neighbour(memory) as other:
            row = row_of(await create(memory, Draft("shared", "first")))
            edits = (edit(memory, row, {"content": "by me"}), edit(other, row, {"content": "by them"}))
            done = await within_timeout(asyncio.gather(*edits))
            first, second = sorted(done, key=lambda result: result.conflict_count)
            assert obstacle_of(second, "changed").entry().content == row_of(first).entry().content
            for reader in (memory, other):
                contents = [entry.content for entry in await reader.list()]
                assert sum(content.endswith(("by me", "by them")) for content in contents) == 1

    async def test_what_a_neighbour_writes_before_the_write_is_not_lost(self, memory: Memory) -> None:
        if why_fixed(memory, "content") or "atomic" in memory.why_not:
            return  # Contents cannot be edited, or the store cannot compare and write in one step.
        async with self._neighbour(memory) as other:
            row = row_of(await create(memory, Draft("shared", "first")))
            loop, begun = asyncio.get_running_loop(), list[Future[ApplyResult]]()

            def write() -> None:
                if not begun:
                    theirs = edit(other, row, {"content": "theirs"})
                    begun.append(asyncio.run_coroutine_threadsafe(theirs, loop))

            deleted = await within_timeout(delete(memory, [row], JournalRecorder(write)))
            edited = await within_timeout(asyncio.wrap_future(begun[0]))
            assert (deleted.written, edited.written) in ((0, 1), (1, 0))
            contents = [entry.content for entry in await other.list() if entry.content in ("first", "theirs")]
            assert contents == ["theirs"] * edited.written

    async def test_of_two_stores_of_one_new_key_one_is_a_conflict(self, memory: Memory) -> None:
        if why_fixed(memory, "key"):
            return  # Memories have no keys of their own.
        async with self._neighbour(memory) as other:
            count = await memory.count()
            drafts = (create(memory, Draft("same key", "a")), create(other, Draft("same key", "b")))
            done = await within_timeout(asyncio.gather(*drafts))
            assert sorted(result.written for result in done) == [0, 1]
            assert [conflict.reason for result in done for conflict in result.conflicts] == ["key exists"]
            assert await other.count() == count + 1

    async def test_rows_both_remove_go_once(self, memory: Memory) -> None:
        async with self._neighbour(memory) as other:
            for number in range(_EACH):
                await create(memory, Draft(f"both {number}", f"both content {number}"))
            count, shown = await memory.count(), await versions(memory, EVERYTHING)
            mine, theirs = JournalRecorder(), JournalRecorder()
            done = await within_timeout(asyncio.gather(delete(memory, shown, mine), delete(other, shown, theirs)))
            assert (sum(result.written for result in done), await other.count()) == (count, 0)
            for journal in (mine, theirs):
                await undo(memory, journal.changes[::-1])
            assert await other.count() == count

    async def test_a_pass_or_a_search_that_is_cancelled_ends_and_the_store_answers(self, memory: Memory) -> None:
        await self.fill(memory, numbered(_CANCELLED))
        canceller, seen = Canceller(), list[str]()
        await canceller.run(memory.scan(lambda row: canceller.cancel()))
        await within_timeout(memory.scan(lambda row: seen.append(row.id)))
        assert len(seen) == await memory.count()
        profile = profile_for(memory.about.newest_version or NEWEST)
        asked = (memory, RecallRequest("bulk content 00007"), profile, ScoringSettings())
        wanted = [scored.entry.id for scored in (await within_timeout(recall_of(*asked))).entries]
        task = asyncio.ensure_future(recall_of(*asked))
        await asyncio.sleep(0)
        task.cancel()
        await within_timeout(ended(task))
        assert [scored.entry.id for scored in (await within_timeout(recall_of(*asked))).entries] == wanted

    async def test_a_removal_that_is_cancelled_can_be_undone(self, memory: Memory) -> None:
        await self.fill(memory, numbered(_CANCELLED))
        before, everything, canceller = await restorable(memory), await state_of(memory), Canceller()
        journal = JournalRecorder(canceller.cancel)
        await canceller.run(delete(memory, await versions(memory, EVERYTHING), journal))
        left = {content for _, content, *_ in await state_of(memory)}
        removed = {content for _, content, *_ in everything} - left
        assert removed <= {change.row.entry().content for change in journal.memories}
        await within_timeout(undo(memory, journal.changes[::-1]))
        assert await restorable(memory) == before

    @asynccontextmanager
    async def _neighbour(self, memory: Memory) -> AsyncIterator[Memory]:
        other = await self.another(memory)
        try:
            yield other
        finally:
            if other is not memory:
                await other.close()
