"""Rooms of a store, in which its memories are changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.memory.errors import InspectorError, NotFound
from zeroclaw_tui.memory.text import counted, one_line
from zeroclaw_tui.tui.commands import Change, Room, inform, saying, store_options, warn
from zeroclaw_tui.tui.typeahead import TypeAhead

# What a change needs is imported when one is made: none of it must delay the first list of memories.
if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.curation.purge_plan import PurgePlan
    from zeroclaw_tui.memory.change import Row
    from zeroclaw_tui.memory.entry import MemoryEntry
    from zeroclaw_tui.tui.dialogs import Work
    from zeroclaw_tui.tui.view import Pace

Turn = Literal["undo", "redo"]


async def stored_row(library: Library, id: str) -> Row:
    """A memory as it is stored now. Raises NotFound."""
    row = await row_with_id(library.memory, id)
    if row is None:
        raise NotFound("This memory no longer exists.", hint="Press r to reload the list.")
    return row


class StoreRoom(Room[bool]):
    """A room of one store, with one change at a time. Gives True when memories, files or settings were changed from it.

    A change that takes time shows how far it is; conflicts and repairs that have to come first are asked about.
    """

    def __init__(self, library: Library, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__()
        self.library = library
        self.clock = clock
        self.pace = pace
        self.has_changed = False
        self.is_changing = False
        """Whether a change is being made, asked about or shown; it has to end before the room is left."""

    def shell_facts(self) -> dict[str, str]:
        """The store, for the lines of a shell."""
        return {"store": store_options(self.library)}

    def stop(self) -> None:
        """Stop questions and checks, because the room closes."""

    def action_leave(self) -> None:
        """Back to where one came from, unless something is being written."""
        if self.is_changing:
            warn(self, "Wait until this is done.")
        else:
            self.stop()
            self.dismiss(self.has_changed)

    def action_undo(self) -> None:
        self.begin(partial(self.turn, way="undo"))

    def action_redo(self) -> None:
        self.begin(partial(self.turn, way="redo"))

    async def after_change(self, outcome: Outcome | None) -> None:
        """Show what is there after a change; None where one failed halfway."""

    def begin(self, change: Change, *, group: str = "change") -> None:
        """Make a change, unless another one is under way; a failure is reported.

        When a person quits, a change of the group "change" is stopped after the batch under way. One of another group
        asks nothing, so that it holds no keys, and is finished.
        """
        # The message of the previous change would contradict the new one.
        self.app.clear_notifications()
        if self.is_changing:
            warn(self, "Wait: the previous change is still running.")
            return
        self.is_changing = True
        if isinstance(self.app, TypeAhead) and group == "change":
            # They are meant for the question, or for the screen after the change.
            self.app.hold_keys()
        # Never exclusive: a change is not to be cut off by the next.
        self.run_worker(self._run_and_report(change), group=group)

    async def _run_and_report(self, change: Change) -> None:
        has_failed = False
        try:
            await change(self.library)
        except InspectorError as error:
            has_failed = True
            self.say_failure(error)
            # Part of the change may be done. If the room cannot reload either, the first failure is enough.
            with suppress(InspectorError):
                await self.after_change(None)
        finally:
            self.is_changing = False
            if isinstance(self.app, TypeAhead):
                self.app.release_keys(dropped=has_failed)

    async def delete(self, library: Library, plan: PurgePlan) -> Outcome | None:
        """Move the memories of a plan to the trash, once a person confirms it; None when nothing is deleted."""
        from zeroclaw_tui.curation.changes import remove_memories
        from zeroclaw_tui.tui.actions import confirms_removal, key_words

        if not plan.count:
            warn(self, "No memories to delete.")
            return None
        if not await confirms_removal(self.app, library, plan):
            return None
        work = partial(remove_memories, library, plan, "forget" if plan.count == 1 else "purge")
        outcome = await self.run_change(f"Deleting {counted(plan.count)}", plan.count, work)
        what = key_words(plan.stamps[0].key) if plan.count == 1 else ""
        (inform if outcome.count == plan.count else warn)(self, outcome.report(" · u", what=what))
        await self.after_change(outcome)
        return outcome

    async def edit(self, library: Library, id: str, *, is_outside: bool = False) -> Outcome | None:
        """Edit a memory, and say what was written; None when nothing was. Raises NotFound."""
        from zeroclaw_tui.tui.rooms.editor import EditorScreen

        screen = EditorScreen(library, await stored_row(library, id), is_outside=is_outside)
        outcome = await self.app.push_screen_wait(screen)
        if outcome is not None:
            inform(self, outcome.report(" · u"))
        return outcome

    async def re_embed(self, library: Library, entry: MemoryEntry) -> None:
        """Make the vector of a memory again, and say what was sent where."""
        from zeroclaw_tui.tui.actions import re_embed

        words = f"Re-embedding {one_line(entry.key)} …"
        with saying(self, self.pace.patience, lambda: inform(self, words)):
            is_done, result_line = await re_embed(library, entry)
        (inform if is_done else warn)(self, result_line)
        if is_done:
            await self.after_change(None)

    async def turn(self, library: Library, way: Turn, number: int | None = None) -> None:
        """Undo or redo the change of a number, or the last one.

        The last one is asked about where it was made in another session, or longer ago than AT_ONCE_FOR.
        """
        from zeroclaw_tui.curation import changes
        from zeroclaw_tui.tui.actions import confirms_turn

        await library.trash.recover(library.memory)
        try:
            change = await changes.action_to_turn(library, way, number)
        except NotFound as nothing:
            inform(self, nothing.message)
            return
        if number is None and not await confirms_turn(self.app, library, change, way):
            return
        count = change.open if way == "undo" else change.count - change.open
        turn = changes.undo if way == "undo" else changes.redo
        turned = partial(turn, library, expected=change.number, number=number)
        outcome = await self.settled(f"{way.capitalize()}ing {counted(count)}", count, turned)
        if outcome is not None:
            inform(self, outcome.report())
            await self.after_change(outcome)

    async def run_change(self, sentence: str, total: int, work: Work[Outcome]) -> Outcome:
        """Do what a person has agreed to, with a bar where it takes its time; `total` is in rows, 0 where unknown."""
        from zeroclaw_tui.tui.dialogs import with_progress

        return await with_progress(self.app, sentence, total, self.pace.patience, work)

    async def settled(self, sentence: str, total: int, attempt: Callable[..., Awaitable[Outcome]]) -> Outcome | None:
        """The same for a change that may conflict: then a person chooses the `on_conflict` rule.

        None when nothing changes.
        """
        from zeroclaw_tui.memory.change import Conflicts
        from zeroclaw_tui.tui.actions import restore_question

        try:
            return await self.run_change(sentence, total, partial(attempt, on_conflict="refuse"))
        except Conflicts as conflicts:
            on_conflict = await self.app.push_screen_wait(restore_question(conflicts))
        if on_conflict is None:
            return None
        return await self.run_change(sentence, total, partial(attempt, on_conflict=on_conflict))
