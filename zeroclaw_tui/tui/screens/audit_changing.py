"""What the audit changes: purge, another category, merging, undo; one change after the other, each undoable."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any

from zeroclaw_tui.curation.audit.findings import Finding
from zeroclaw_tui.curation.audit.remedies import merge, recategorise
from zeroclaw_tui.curation.changes import Outcome, last_change, plan_of, remove_memories, undo
from zeroclaw_tui.curation.trash.trash import Verb
from zeroclaw_tui.memory.change import Advance, Clash, Clashes, Stamp
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.tui.changing_words import removed_words, taken_back_words
from zeroclaw_tui.tui.screens import audit_words as words
from zeroclaw_tui.tui.screens.audit_category import CategoryScreen, categories_of
from zeroclaw_tui.tui.screens.audit_listing import AuditListing
from zeroclaw_tui.tui.screens.audit_marks import which, without
from zeroclaw_tui.tui.screens.audit_merging import MergeScreen, plan_ways
from zeroclaw_tui.tui.screens.progress import with_progress
from zeroclaw_tui.tui.screens.questions import confirms_removal
from zeroclaw_tui.tui.screens.saving import repairing
from zeroclaw_tui.tui.screens.trash_dialogs import ClashScreen
from zeroclaw_tui.tui.widgets.finding_list import FindingList
from zeroclaw_tui.tui.widgets.sample_list import SampleList
from zeroclaw_tui.tui.words import memories_words

_NOTHING_CHOSEN = "Nothing is marked: * marks all of this finding, enter goes to its memories."
_NOTHING_ALIKE = "Only duplicates can be merged, and these memories are not alike."
_NOTHING_TO_MERGE = "Nothing of it can be merged: pinned memories and those of other agents stay."


class AuditChanging(AuditListing):
    """Changes memories, and brings the findings up to date."""

    def write(self, change: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do one thing at a time; what fails is told."""
        if self.is_looking:
            self.warn("One moment: the audit is still under way; esc stops it.")
        else:
            self.begin(self._seen_through(change), "audit-write")

    async def purge(self) -> None:
        """Move the marked memories, else the one under the cursor, to the trash."""
        stamps = self._chosen()
        if not stamps:
            return
        plan, now = await asyncio.to_thread(plan_of, stamps), self.clock()
        if not await confirms_removal(self.app, self.library, plan, now):
            return

        async def remove(advance: Advance) -> Outcome:
            verb: Verb = "forget" if plan.count == 1 else "purge"
            return await remove_memories(self.library, plan, verb, advance=advance)

        outcome = await self._with_progress(f"Deleting {memories_words(plan.count)}", plan.count, remove)
        key = plan.stamps[0].key if plan.count == 1 else None
        self._say_done(removed_words(outcome, plan.count, key, now), outcome.count == plan.count)
        await self._after_removal(outcome, plan.stamps)

    async def recategorise(self) -> None:
        """Give the marked memories, else the one under the cursor, another category."""
        stamps = self._chosen()
        if not stamps:
            return
        category = await self.app.push_screen_wait(CategoryScreen(stamps, await categories_of(self.library)))
        if category is None:
            return

        async def change(advance: Advance) -> Outcome:
            return await recategorise(self.library, stamps, category, advance)

        sentence = f"Giving {memories_words(len(stamps))} another category"
        outcome = await self._with_progress(sentence, len(stamps), change)
        self._say_done(words.recategorised_words(outcome, category), not (outcome.changed or outcome.cancelled))
        self.has_changed = self.has_changed or outcome.count > 0
        self.reload()

    async def merge(self) -> None:
        """Merge the marked groups, the one of the row, or from the findings all of one."""
        finding = self.query_one(SampleList).finding
        if finding is None or not finding.groups:
            self.warn(_NOTHING_ALIKE)
            return
        ways = await plan_ways(finding, self._groups_of(finding))
        if not any(plan.going.count for plan in ways.values()):
            self.warn(_NOTHING_TO_MERGE)
            return
        plan = await self.app.push_screen_wait(MergeScreen(finding.kind, ways))
        if plan is None:
            return

        async def change(advance: Advance) -> Outcome:
            return await merge(self.library, plan, advance)

        sentence = f"Merging {memories_words(plan.going.count)}"
        outcome = await self._with_progress(sentence, plan.going.count, change)
        self._say_done(words.merged_words(outcome, plan), outcome.count == plan.going.count)
        await self._after_removal(outcome, plan.going.stamps)

    async def undo(self) -> None:
        """Take back the last change, asking where something stands in the way."""
        await self.library.trash.settle(self.library.memory)
        last = await last_change(self.library)
        if last is None:
            self._say_done("There is nothing to take back: no change was made here.")
            return

        async def take_back(clash: Clash, advance: Advance) -> Outcome:
            return await undo(self.library, expected=last.number, clash=clash, advance=advance)

        sentence = f"Taking back {memories_words(last.open)}"
        try:
            outcome = await self._with_progress(sentence, last.open, partial(take_back, "refuse"))
        except Clashes as clashes:
            answer = await self.app.push_screen_wait(ClashScreen(clashes))
            if answer is None:
                return
            outcome = await self._with_progress(sentence, last.open, partial(take_back, answer))
        self._say_done(taken_back_words(outcome))
        self.has_changed = self.has_changed or outcome.count > 0
        self.reload()

    async def _seen_through(self, change: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await change()
        except InspectorError:
            # Part of it may be done: what is shown has to be what is there.
            self.has_changed = True
            self.reload()
            raise

    async def _with_progress(
        self, sentence: str, total: int, change: Callable[[Advance], Coroutine[Any, Any, Outcome]]
    ) -> Outcome:
        show = partial(with_progress, self.app, sentence, total, self.pace.patience, change)
        return await repairing(self.app, self.library, show)

    async def _after_removal(self, outcome: Outcome, stamps: Iterable[Stamp]) -> None:
        """What went leaves the findings; where that is not all of it, every memory is looked at again."""
        self.has_changed = self.has_changed or outcome.count > 0
        if self.report is None or outcome.cancelled or outcome.changed or outcome.gone:
            self.reload()
            return
        gone = {which(stamp) for stamp in stamps}
        self.take(await asyncio.to_thread(without, self.report, gone))

    def _chosen(self) -> list[Stamp]:
        """The marked memories, else the one under the cursor; says so where there is neither."""
        if self.marks:
            return self.marks.stamps
        sample = self.query_one(SampleList).selected
        if sample is None or self.query_one(FindingList).has_focus:
            self.warn(_NOTHING_CHOSEN)
            return []
        return [sample.stamp]

    def _groups_of(self, finding: Finding) -> list[int] | None:
        """The groups with a mark, else the one under the cursor; None means all of the finding."""
        samples = finding.samples
        marked = [
            number
            for number, group in enumerate(finding.groups)
            if self.marks and any(samples[at].stamp in self.marks for at in group)
        ]
        if marked or self.query_one(FindingList).has_focus:
            return marked or None
        group = self.query_one(SampleList).selected_group
        return None if group is None else [group]

    def _say_done(self, sentence: str, is_whole: bool = True) -> None:
        (self.tell if is_whole else self.warn)(sentence)
