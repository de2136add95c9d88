"""Apply changes to the rows of any store in batches: compare, journal, write.

The coroutines here only await the writer, so that a store with its own thread can run them there with `run_sync`.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from zeroclaw_tui.backends.batch import Batch, Policy, plan_batch
from zeroclaw_tui.backends.writing import BATCH_BYTES, RowWriter, WriteConflict
from zeroclaw_tui.memory.change import (
    AGENTS,
    MEMORIES,
    ApplyResult,
    Change,
    Draft,
    Edit,
    Journal,
    OnConflict,
    ProgressCallback,
    RowChange,
)
from zeroclaw_tui.memory.errors import Refused

T = TypeVar("T")
_TRIES = 3
"""How often a batch is tried while other programs write the same rows."""


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, on any thread."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise RuntimeError("a coroutine that is run on a thread must not wait")


class ChangeSet:
    """Changes to apply with one policy.

    `run` may be called again with another writer after the store was reopened; it resumes with the pending batch.
    """

    def __init__(
        self,
        changes: Iterable[Change],
        journal: Journal | None,
        *,
        on_conflict: OnConflict = "skip",
        dry_run: bool = False,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        self._policy = Policy(on_conflict, dry_run, set())
        self._is_one_batch = on_conflict == "refuse" and not dry_run
        self._changes = iter(changes)
        self._journal = journal
        self._on_progress = on_progress
        self._pending: list[Change] = []
        self._processed = 0
        self._total = ApplyResult()

    async def run(self, writer: RowWriter) -> ApplyResult:
        """Apply the changes. Raises UsageError for values that no store can have, Refused if only this one cannot."""
        writer.done = self._total.written
        while batch := await writer.blocking(lambda: self._next_batch(writer)):
            if self._processed and (writer.is_stopped or not self._report_progress()):
                self._total.cancelled = True
                break
            await self._apply(writer, batch)
            self._pending = []
            self._processed += sum(change.table != AGENTS for change in batch)
            writer.done = self._total.written
        else:
            self._report_progress()
        if self._policy.on_conflict == "refuse" and self._total.conflict_count:
            # A dry run counted the rows without a conflict, but they would not be written either.
            self._total.written = 0
        self._total.note(*writer.notes, *writer.summary())
        return self._total

    def _report_progress(self) -> bool:
        """Report the number of processed changes; False means that no further batch may begin."""
        return self._on_progress is None or self._on_progress(self._processed)

    def _next_batch(self, writer: RowWriter) -> Sequence[Change]:
        """Take as many changes as fit in a batch; all of them if a single conflict refuses the whole set."""
        batch = self._pending
        size, most_rows = sum(change.size for change in batch), writer.batch_rows
        while self._is_one_batch or not batch or (len(batch) < most_rows and size < BATCH_BYTES):
            change = next(self._changes, None)
            if change is None:
                break
            after = change.after
            if isinstance(after, (Draft, Edit)):
                after = after.checked()
                writer.check(after)
                change = replace(change, after=after)
            batch.append(change)
            size += change.size
        return batch

    async def _apply(self, writer: RowWriter, batch: Sequence[Change]) -> None:
        for _ in range(_TRIES):
            try:
                async with writer.batch(dry_run=self._policy.dry_run):
                    plan = await self._write(writer, batch)
            except WriteConflict:
                continue
            except _Refused as refused:
                # The exception has rolled the batch back.
                self._total.add(refused.tally)
                return
            self._total.add(plan.tally)
            self._policy.handled.update(plan.handled)
            return
        raise Refused("Another program keeps writing these memories.", hint="Try again when ZeroClaw is idle.")

    async def _write(self, writer: RowWriter, batch: Sequence[Change]) -> Batch:
        """Plan, journal and write a batch; a writer with transactions writes before it journals."""
        memories = [change for change in batch if change.table == MEMORIES]
        others = [change for change in batch if change.table != MEMORIES] if len(memories) < len(batch) else []
        dry_run = self._policy.dry_run
        # An agent is inserted before its memories, and deleted after them.
        added = [await writer.write_other(one, dry_run=dry_run) for one in others if one.after is not None]
        plan = await plan_batch(self._policy, writer, memories)
        if self._is_one_batch and plan.tally.skipped:
            raise _Refused(plan.tally.refused())
        plan.tally.written += sum(change.table != AGENTS for change in others)
        if dry_run:
            return plan
        changes = plan.net_changes()
        if completed := await writer.prepare([one.after for one in changes if one.after is not None]):
            plan.adopt(completed)
            changes = plan.net_changes()
        agents = [change for change in (*added, *plan.agents) if change is not None]
        if not writer.is_transactional:
            await self._record(writer, [*agents, *plan.journal])
        try:
            written = await writer.write(changes) if changes else {}
        except WriteConflict:
            if self._journal is not None and not writer.is_transactional:
                await writer.blocking(self._journal.withdraw)
            raise
        plan.adopt(written, with_state=writer.is_transactional)
        removed = [await writer.write_other(one, dry_run=False) for one in others if one.after is None]
        if writer.is_transactional:
            deleted = [change for change in removed if change is not None]
            await self._record(writer, [*agents, *plan.journal, *deleted])
        return plan

    async def _record(self, writer: RowWriter, changes: Sequence[RowChange]) -> None:
        journal = self._journal
        if journal is not None and changes:
            await writer.blocking(lambda: journal.record(changes))


class _Refused(Exception):
    """Raised to leave the batch of an all-or-nothing set with conflicts."""

    def __init__(self, tally: ApplyResult) -> None:
        self.tally = tally
