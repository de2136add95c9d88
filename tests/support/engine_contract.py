"""Tests of the change engine on each built-in store, beyond the contract for plug-in authors.

EngineContract covers conflicts, dry runs and failing journals; ConcurrencyContract covers concurrent programs and
cancelled work.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from support.memories import (
    ApplyResult,
    Change,
    Draft,
    Edit,
    OnConflict,
    Refused,
    Row,
    SearchInterrupted,
    UsageError,
    Value,
)
from support.questions import EVERYTHING, ROWS, Query
from support.recalls import ids, recalled
from support.rules import NEWEST
from support.stores import Memory, versions, why_fixed
from zeroclaw_tui.testing.contract import PATIENCE_SECONDS, made, obstacle_of, restorable
from zeroclaw_tui.testing.tools import (
    Contract,
    JournalRecorder,
    create,
    delete,
    edit,
    numbered,
    raises,
    row_of,
    skip_if,
    state_of,
    undo,
)

FORCED_CONFLICTS = pytest.mark.parametrize("on_conflict", ["overwrite", "rename"])
_EACH, _CANCELLED = 20, 300


class EngineContract(Contract):
    """Tests that take an open, writable `memory` with a few rows."""

    async def test_a_dry_run_shows_the_row_and_writes_nothing(self, memory: Memory) -> None:
        row, state, journal = await made(memory), await state_of(memory), JournalRecorder()
        draft = Change(None, Draft("dry key", "dry content", "daily"))
        changes = [draft, Change(row, Edit({"content": "edited"})) if not why_fixed(memory, "content") else draft]
        result = await memory.apply(changes, journal, on_conflict="overwrite", dry_run=True)
        assert result.written == 2
        assert result.rows[0].entry().content.endswith("dry content")
        assert (await memory.apply([Change(row, None)], journal, dry_run=True)).written == 1
        assert (journal.changes, await state_of(memory)) == ([], state)

    async def test_a_row_of_another_store_is_stored_as_previewed(self, memory: Memory) -> None:
        at = "2026-03-01T10:00:00.123456789+00:00"
        values: dict[str, Value] = {
            "id": "other 1", "key": "other key", "content": "a\0b \udcff c", "category": "core", "created_at": at,
            "updated_at": at, "session_id": "s", "namespace": "n", "importance": 0.7, "mood": "good",
        }  # fmt: skip
        (shown,) = await memory.as_stored([Row("other 1", values)])
        assert (await memory.apply([Change(None, shown)], JournalRecorder())).written == 1
        found = [row for row in await memory.rows(Query(ROWS)) if row.values["content"] == shown.values["content"]]
        assert len(found) == 1
        compared = shown.values.keys() - {"agent_id", *(["id"] if not shown.id else [])}
        compared -= {"key"} if memory.about.is_line_based else set()
        assert {name: found[0].values.get(name) for name in compared} == {name: shown.values[name] for name in compared}

    async def test_one_conflict_or_one_invalid_value_refuses_all_changes(self, memory: Memory) -> None:
        rows, journal = [await made(memory, number) for number in range(2)], JournalRecorder()
        await edit(memory, rows[1], {"content": "theirs"})
        state = await state_of(memory)
        refused = await memory.apply([Change(row, None) for row in rows], journal, on_conflict="refuse")
        assert (refused.written, refused.conflict_count) == (0, 1)
        for draft in (Draft(" ", "content"), Draft("key", "\n "), Draft("key", "content", " ")):
            impossible = memory.apply([Change(rows[0], None), Change(None, draft)], journal, on_conflict="refuse")
            await raises(impossible, UsageError)
        assert (journal.changes, await state_of(memory)) == ([], state)

    async def test_two_memories_swap_keys_and_undo_swaps_them_back(self, memory: Memory) -> None:
        skip_if(why_fixed(memory, "key"))
        first, second = await made(memory, 1), await made(memory, 2)
        before, journal = await restorable(memory), JournalRecorder()
        changes = [Change(first, Edit({"key": second.key})), Change(second, Edit({"key": first.key}))]
        assert (await memory.apply(changes, journal, on_conflict="refuse")).written == 2
        contents = {entry.key: entry.content for entry in await memory.list()}
        assert contents[first.key] == second.entry().content
        assert contents[second.key] == first.entry().content
        assert (await undo(memory, journal.changes[::-1])).done == 2
        assert await restorable(memory) == before

    async def test_nothing_changes_if_the_journal_fails(self, memory: Memory) -> None:
        journal, failing = JournalRecorder(), JournalRecorder(_refuse)
        row = row_of(await edit(memory, await made(memory), {"content": "second"}, journal))
        state, shown = await state_of(memory), await versions(memory, EVERYTHING)
        for action in (
            create(memory, Draft("another key", "content"), failing),
            edit(memory, row, {"content": "third"}, failing),
            delete(memory, shown, failing),
            undo(memory, journal.changes[::-1], failing),
        ):
            assert (await raises(action, Refused)).message == "The disk is full."
        assert failing.changes
        assert await state_of(memory) == state

    @FORCED_CONFLICTS
    async def test_undo_overwrites_newer_changes_only_on_request(self, memory: Memory, on_conflict: OnConflict) -> None:
        row, journal = row_of(await create(memory, Draft("a key", "mine before"))), JournalRecorder()
        await create(memory, Draft("neighbour", "next"))
        mine = row_of(await edit(memory, row, {"content": "mine after"}, journal))
        await edit(memory, mine, {"content": "theirs"})
        assert (await _undo_after_preview(memory, journal, on_conflict, "changed")).done == 1
        contents = " ".join(entry.content for entry in await memory.list())
        assert "mine before" in contents
        assert ("theirs" in contents) == (on_conflict == "rename")

    @FORCED_CONFLICTS
    async def test_undo_reports_a_key_that_exists_again(self, memory: Memory, on_conflict: OnConflict) -> None:
        skip_if(why_fixed(memory, "key"))
        journal, renames = JournalRecorder(), on_conflict == "rename"
        await delete(memory, [row_of(await create(memory, Draft("key", "old")))], journal)
        await create(memory, Draft("key", "new"))
        reversal = await _undo_after_preview(memory, journal, on_conflict, "key exists", "changed")
        assert dict(reversal.renamed) == ({"key": "key (restored)"} if renames else {})
        found = {entry.key: entry.content for entry in await memory.list() if entry.key.startswith("key")}
        assert found == ({"key": "new", "key (restored)": "old"} if renames else {"key": "old"})

    async def test_a_long_removal_and_a_long_undo_can_be_stopped(self, memory: Memory) -> None:
        several = 600  # More rows than any backend changes at once.
        others = {version.id for version in await versions(memory, EVERYTHING)}
        await self.fill(memory, numbered(several))
        shown = [version for version in await versions(memory, EVERYTHING) if version.id not in others]
        before, journal, undone = await restorable(memory), JournalRecorder(), JournalRecorder()
        removal = await delete(memory, shown, journal, on_progress=lambda done: False)
        assert removal.cancelled
        assert 0 < removal.written == len(journal.memories) < several
        assert await memory.count() == before.total() - removal.written
        rest = await delete(memory, shown[removal.written :], journal)
        assert removal.written + rest.written == several
        reversal = await undo(memory, journal.changes[::-1], undone, on_conflict="skip", on_progress=lambda done: False)
        assert reversal.cancelled
        assert 0 < reversal.done < several
        await undo(memory, journal.changes[::-1], undone)
        assert await restorable(memory) == before


def _refuse() -> None:
    raise Refused("The disk is full.")


async def _undo_after_preview(
    memory: Memory, journal: JournalRecorder, on_conflict: OnConflict, *reasons: str
) -> ApplyResult:
    """Check that "refuse" and a dry run show the conflict and change nothing, then undo what was journaled."""
    state, changes = await state_of(memory), journal.changes[::-1]
    refused = await undo(memory, changes)
    (conflict,) = refused.conflicts
    assert (refused.written, conflict.reason in reasons) == (0, True)
    shown = await undo(memory, changes, on_conflict=on_conflict, dry_run=True)
    assert [other.words for other in shown.conflicts] == [conflict.words]
    assert await state_of(memory) == state
    reversal = await undo(memory, changes, on_conflict=on_conflict)
    assert (shown.written, shown.renamed) == (reversal.done, reversal.renamed)
    assert set(shown.notes) <= set(reversal.notes)
    return reversal


class Canceller:
    """Cancels the coroutine it runs, from another thread that waits until the cancellation has arrived."""

    async def run(self, action: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine until it returns or is cancelled."""
        self._loop, self._task = asyncio.get_running_loop(), asyncio.ensure_future(action)
        await ended(self._task)

    def cancel(self) -> None:
        """Cancel the running coroutine."""
        arrived = threading.Event()
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._loop.call_soon_threadsafe(arrived.set)
        assert arrived.wait(PATIENCE_SECONDS), "the event loop is blocked"


async def ended(task: asyncio.Future[Any]) -> None:
    """Wait until a task has ended, cancelled or not."""
    try:
        await task
    except (asyncio.CancelledError, SearchInterrupted):
        assert task.done()


class ConcurrencyContract(Contract):
    """Tests that take an open, writable `memory` and open the same store a second time with `another`."""

    async def another(self, memory: Memory) -> Memory:
        """Open the same store a second time, as another process would; the test closes it.

        The default returns `memory` itself, for a store that exists in one object only.
        """
        return memory

    async def test_concurrent_stores_of_two_programs_are_all_saved(self, memory: Memory) -> None:
        async with self._neighbour(memory) as other:
            count = await memory.count()
            drafts = [
                create(writer, Draft(f"{name} {number}", f"content of {name} {number}"))
                for number in range(_EACH)
                for name, writer in (("mine", memory), ("theirs", other))
            ]
            await asyncio.gather(*drafts)
            for reader in (memory, other):
                contents = [entry.content for entry in await reader.list() if "content of " in entry.content]
                assert len({*contents}) == len(contents) == await reader.count() - count == 2 * _EACH

    async def test_the_second_of_two_edits_of_the_same_row_is_a_conflict(self, memory: Memory) -> None:
        skip_if(why_fixed(memory, "content"))
        async with self._neighbour(memory) as other:
            row = row_of(await create(memory, Draft("shared", "first")))
            edits = (edit(memory, row, {"content": "by me"}), edit(other, row, {"content": "by them"}))
            done = await asyncio.gather(*edits)
            first, second = sorted(done, key=lambda result: result.conflict_count)
            assert obstacle_of(second, "changed").entry().content == row_of(first).entry().content
            for reader in (memory, other):
                contents = [entry.content for entry in await reader.list()]
                assert sum(content.endswith(("by me", "by them")) for content in contents) == 1

    async def test_a_write_by_another_program_before_ours_is_not_lost(self, memory: Memory) -> None:
        skip_if(why_fixed(memory, "content") or memory.why_not.get("atomic"))
        async with self._neighbour(memory) as other:
            row = row_of(await create(memory, Draft("shared", "first")))
            loop, begun = asyncio.get_running_loop(), list[Future[ApplyResult]]()

            def write() -> None:
                if not begun:
                    theirs = edit(other, row, {"content": "theirs"})
                    begun.append(asyncio.run_coroutine_threadsafe(theirs, loop))

            deleted = await delete(memory, [row], JournalRecorder(write))
            edited = await asyncio.wrap_future(begun[0])
            assert (deleted.written, edited.written) in ((0, 1), (1, 0))
            contents = [entry.content for entry in await other.list() if entry.content in ("first", "theirs")]
            assert contents == ["theirs"] * edited.written

    async def test_one_of_two_stores_of_the_same_new_key_is_a_conflict(self, memory: Memory) -> None:
        skip_if(why_fixed(memory, "key"))
        async with self._neighbour(memory) as other:
            count = await memory.count()
            drafts = (create(memory, Draft("same key", "a")), create(other, Draft("same key", "b")))
            done = await asyncio.gather(*drafts)
            assert sorted(result.written for result in done) == [0, 1]
            assert [conflict.reason for result in done for conflict in result.conflicts] == ["key exists"]
            assert await other.count() == count + 1

    async def test_rows_removed_by_two_programs_are_removed_once(self, memory: Memory) -> None:
        async with self._neighbour(memory) as other:
            for number in range(_EACH):
                await create(memory, Draft(f"both {number}", f"both content {number}"))
            count, shown = await memory.count(), await versions(memory, EVERYTHING)
            mine, theirs = JournalRecorder(), JournalRecorder()
            done = await asyncio.gather(delete(memory, shown, mine), delete(other, shown, theirs))
            assert (sum(result.written for result in done), await other.count()) == (count, 0)
            for journal in (mine, theirs):
                await undo(memory, journal.changes[::-1])
            assert await other.count() == count

    async def test_a_cancelled_scan_or_search_ends_and_the_store_still_answers(self, memory: Memory) -> None:
        await self.fill(memory, numbered(_CANCELLED))
        canceller, seen = Canceller(), list[str]()
        search = partial(recalled, memory, "bulk content 00007", memory.about.newest_version or NEWEST)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await canceller.run(memory.scan(lambda row: canceller.cancel()))
            await memory.scan(lambda row: seen.append(row.id))
            assert len(seen) == await memory.count()
            wanted, task = ids(await search()), asyncio.ensure_future(search())
            await asyncio.sleep(0)
            task.cancel()
            await ended(task)
            assert ids(await search()) == wanted

    async def test_a_cancelled_removal_can_be_undone(self, memory: Memory) -> None:
        await self.fill(memory, numbered(_CANCELLED))
        before, everything, canceller = await restorable(memory), await state_of(memory), Canceller()
        journal = JournalRecorder(canceller.cancel)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await canceller.run(delete(memory, await versions(memory, EVERYTHING), journal))
            left = {content for _, content, *_ in await state_of(memory)}
            removed = {content for _, content, *_ in everything} - left
            assert removed <= {change.row.entry().content for change in journal.memories}
            await undo(memory, journal.changes[::-1])
        assert await restorable(memory) == before

    @asynccontextmanager
    async def _neighbour(self, memory: Memory) -> AsyncIterator[Memory]:
        other = await self.another(memory)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                yield other
        finally:
            if other is not memory:
                await other.close()
