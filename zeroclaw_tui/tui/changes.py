"""What a room does to memories, one change at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.content import Content
from textual.screen import Screen

from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.memory.change import MEMORIES
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import cut, display_text, mask_secrets
from zeroclaw_tui.tui.format import absolute_time, count_text
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.looks import MUTED
from zeroclaw_tui.tui.words import memories_words

# What a change needs is imported when one is made: none of it must delay the first frame.
if TYPE_CHECKING:
    from zeroclaw_tui.curation.changes import Outcome, PurgePlan
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.trash.trash import Action
    from zeroclaw_tui.memory.change import Advance, Batches, Clash, RowChange

Change = Callable[["Library"], Awaitable[None]]
Work = Callable[["Advance"], Awaitable["Outcome"]]
Attempt = Callable[["Clash", "Advance"], Awaitable["Outcome"]]

AT_ONCE_FOR = timedelta(minutes=10)
"""For so long a change of this session is taken back, and done again, without a question."""
_ROWS_NAMED, _ROWS_READ = 3, 20
_LONGEST_ROW = 70


class Changes:
    """Removes, undoes, redoes, and does whatever else it is given, one change at a time.

    What takes its time shows how far it is; what is in the way is asked about, and so is a repair that has to come
    first. `library` gives the store, None while there is none. `after` is told what was done, or None where a change
    failed, so that the room shows what is there; `fail` shows an error, by a notification where none is given.
    """

    def __init__(
        self,
        room: Screen[Any],
        clock: Callable[[], datetime],
        pace: Pace,
        *,
        library: Callable[[], Library | None],
        after: Callable[[Outcome | None], Awaitable[None]],
        fail: Callable[[InspectorError], None] | None = None,
    ) -> None:
        self._room = room
        self._clock = clock
        self._pace = pace
        self._library = library
        self._after = after
        self._fail = fail or self._notify_failure
        self._is_under_way = False

    @property
    def is_under_way(self) -> bool:
        """Whether a change is being made, asked about or shown."""
        return self._is_under_way

    def begin(self, change: Change) -> None:
        """Make a change, unless another one is under way; what fails is told."""
        library = self._library()
        if library is None:
            return
        if self._is_under_way:
            self.warn("One moment: the change before is still under way.")
            return
        self._is_under_way = True
        # Never exclusive: a change is not to be cut off by the next.
        self._room.run_worker(self._seen_through(library, change), group="change")

    async def remove(self, library: Library, plan: PurgePlan) -> Outcome | None:
        """Move the memories of a plan to the trash, once a person said yes; None where nothing shall go."""
        from zeroclaw_tui.curation.changes import remove_memories
        from zeroclaw_tui.tui.changing_words import removed_words
        from zeroclaw_tui.tui.screens.questions import confirms_removal

        if not plan.count:
            self.warn("There is no memory to delete here.")
            return None
        now = self._clock()
        if not await confirms_removal(self._room.app, library, plan, now):
            return None

        async def work(advance: Advance) -> Outcome:
            return await remove_memories(library, plan, "forget" if plan.count == 1 else "purge", advance=advance)

        outcome = await self.carried_out(library, f"Deleting {memories_words(plan.count)}", plan.count, work)
        key = plan.stamps[0].key if plan.count == 1 else None
        is_whole = outcome.count == plan.count
        (self.tell if is_whole else self.warn)(removed_words(outcome, plan.count, key, now))
        await self._after(outcome)
        return outcome

    async def undo(self, library: Library, number: int | None = None) -> Outcome | None:
        """Take back the change of a number, or the last one; None where none was taken back.

        The last one is asked about where it was made in another session, or longer ago than AT_ONCE_FOR.
        """
        from zeroclaw_tui.curation.changes import change_numbered, last_change, undo
        from zeroclaw_tui.tui.changing_words import taken_back_words

        await library.trash.settle(library.memory)
        change = await (last_change(library) if number is None else change_numbered(library, number))
        if change is None:
            self.tell("There is nothing to take back: no change was made here.")
            return None
        if number is None and not await self._is_meant(library, change, change, "Take back"):
            return None

        async def attempt(clash: Clash, advance: Advance) -> Outcome:
            return await undo(library, expected=change.number, number=number, clash=clash, advance=advance)

        outcome = await self.settled(library, f"Taking back {memories_words(change.open)}", change.open, attempt)
        if outcome is not None:
            self.tell(taken_back_words(outcome))
            await self._after(outcome)
        return outcome

    async def redo(self, library: Library, number: int | None = None) -> Outcome | None:
        """Do again the change of a number, or the one taken back last; None where none was done again."""
        from zeroclaw_tui.curation.changes import redo, undone_change
        from zeroclaw_tui.tui.changing_words import done_again_words

        await library.trash.settle(library.memory)
        change = await undone_change(library, number)
        undo = (await library.trash.actions(1))[0]
        if number is None and not await self._is_meant(library, change, undo, "Do again"):
            return None

        async def attempt(clash: Clash, advance: Advance) -> Outcome:
            return await redo(library, expected=change.number, number=number, clash=clash, advance=advance)

        count = change.count - change.open
        outcome = await self.settled(library, f"Doing {memories_words(count)} again", count, attempt)
        if outcome is not None:
            self.tell(done_again_words(outcome))
            await self._after(outcome)
        return outcome

    async def carried_out(self, library: Library, sentence: str, total: int, work: Work) -> Outcome:
        """Do what a person has agreed to, with a bar where it takes its time; `total` is in rows, 0 where unknown."""
        from zeroclaw_tui.tui.screens.progress import with_progress
        from zeroclaw_tui.tui.screens.saving import repairing

        app = self._room.app
        show = partial(with_progress, app, sentence, total, self._pace.patience, work)
        return await repairing(app, library, show)

    async def settled(self, library: Library, sentence: str, total: int, attempt: Attempt) -> Outcome | None:
        """The same of what may find something in its way: then a person says how to go on. None where all stays."""
        from zeroclaw_tui.memory.change import Clashes
        from zeroclaw_tui.tui.screens.trash_dialogs import ClashScreen

        try:
            return await self.carried_out(library, sentence, total, partial(attempt, "refuse"))
        except Clashes as clashes:
            clash = await self._room.app.push_screen_wait(ClashScreen(clashes))
        if clash is None:
            return None
        return await self.carried_out(library, sentence, total, partial(attempt, clash))

    def tell(self, sentence: str) -> None:
        """Say what was done."""
        self._room.notify(display_text(mask_secrets(sentence)), markup=False)

    def warn(self, sentence: str) -> None:
        """Say what was not done."""
        self._room.notify(display_text(mask_secrets(sentence)), severity="warning", markup=False)

    async def _seen_through(self, library: Library, change: Change) -> None:
        try:
            await change(library)
        except InspectorError as error:
            self._fail(error)
            # Part of it may be done. Where the room cannot look either, the failure that led here says enough.
            with suppress(InspectorError):
                await self._after(None)
        finally:
            self._is_under_way = False

    def _notify_failure(self, error: InspectorError) -> None:
        words = display_text(mask_secrets(str(error)))
        self._room.notify(words, title=error.title, severity="error", markup=False)

    async def _is_meant(self, library: Library, change: Action, latest: Action, question: str) -> bool:
        """Whether this change is to be undone or redone; `latest` is the change itself, or the undo of it."""
        trash = library.trash
        now, made, is_ours = trash.now(), moment(latest.at), trash.was_begun_here(latest.number)
        if is_ours and made is not None and now - made < AT_ONCE_FOR:
            return True
        from zeroclaw_tui.curation.trash.words import reversal_words, summary_words
        from zeroclaw_tui.tui.screens.confirm import QuestionScreen

        title = f"{question}: {summary_words(change)}, {time_words(latest.at, now)}?"
        numbers = await (trash.numbers_to_undo if latest is change else trash.numbers_to_redo)(change.number)
        rows = await asyncio.to_thread(_first_rows, trash.changes_numbered(numbers[:_ROWS_READ]))
        shown = [cut(display_text(reversal_words(row)), _LONGEST_ROW) for row in rows[:_ROWS_NAMED]]
        more = (change.open if latest is change else change.count - change.open) - len(shown)
        body = Content.assemble(
            "\n".join(shown),
            (f"\n… {count_text(more)} more" if more > 0 else "", MUTED),
            ("" if is_ours else "\n\nIt was done in an earlier session, or by another program beside this one.", MUTED),
        )
        return await self._room.app.push_screen_wait(QuestionScreen(title, body, "Leave it", question))


def _first_rows(batches: Batches) -> list[RowChange]:
    """The first changes, memories before what only comes along with them."""
    rows = [row for batch in batches() for row in batch]
    return sorted(rows, key=lambda row: row.row.table != MEMORIES)


def time_words(at: str, now: datetime) -> str:
    """When something was done: "17:15", "yesterday 17:15", or with its date."""
    then = moment(at)
    if then is None:
        return absolute_time(at)
    days = (now.date() - then.astimezone(now.tzinfo).date()).days
    clock = then.astimezone(now.tzinfo).strftime("%H:%M")
    return {0: clock, 1: f"yesterday {clock}"}.get(days, absolute_time(at))
