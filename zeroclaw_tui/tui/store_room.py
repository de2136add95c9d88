"""Rooms in which the memories of a store are changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from zeroclaw_tui.memory.errors import InspectorError, NotFound
from zeroclaw_tui.memory.text import counted
from zeroclaw_tui.tui.commands import Change, Result, Room, inform, show_failure, store_options, warn
from zeroclaw_tui.tui.typeahead import TypeAhead

# What a change needs is imported when one is made: none of it must delay the first frame.
if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.curation.purge_plan import PurgePlan
    from zeroclaw_tui.tui.dialogs import Work
    from zeroclaw_tui.tui.view import Pace


class ChangingRoom(Room[Result]):
    """A room in which memories are changed, one change at a time."""

    library: Library | None
    """The open store."""

    def __init__(self, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__()
        self.clock = clock
        self.pace = pace
        self.changes = Changes(self)

    def begin(self, change: Change) -> None:
        """Make a change, unless another one is under way."""
        # The message of the previous change would contradict the new one.
        self.app.clear_notifications()
        self.changes.begin(change)

    async def after_change(self, outcome: Outcome | None) -> None:
        """Show what is there after a change; None where one failed halfway."""

    def say_failure(self, error: InspectorError) -> None:
        """One sentence and what to do next; nothing on the screen changes."""
        show_failure(self, error)

    def action_undo(self) -> None:
        self.begin(self.changes.undo)

    def action_redo(self) -> None:
        self.begin(self.changes.redo)


class StoreRoom(ChangingRoom[bool]):
    """A room of one store. Gives True when memories, files or settings were changed from it."""

    library: Library

    def __init__(self, library: Library, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__(clock, pace)
        self.library = library
        self.has_changed = False

    def shell_facts(self) -> dict[str, str]:
        """The store, for the lines of a shell."""
        return {"store": store_options(self.library)}

    @property
    def is_writing(self) -> bool:
        """Whether something is being written, which has to end before the room is left."""
        return self.changes.is_under_way

    def stop(self) -> None:
        """Stop questions and checks, because the room closes."""

    def action_leave(self) -> None:
        """Back to where one came from, unless something is being written."""
        if self.is_writing:
            warn(self, "Wait until this is done.")
        else:
            self.stop()
            self.dismiss(self.has_changed)


class Changes:
    """Removes, undoes, redoes, and does whatever else it is given, one change at a time.

    What takes its time shows how far it is; what is in the way is asked about, and so is a repair that has to come
    first.
    """

    def __init__(self, room: ChangingRoom[Any]) -> None:
        self._room = room
        self.is_under_way = False
        """Whether a change is being made, asked about or shown."""

    def begin(self, change: Change, *, group: str = "change") -> None:
        """Make a change, unless another one is under way; a failure is reported.

        When a person quits, a change of the group "change" is stopped after the batch under way. One of another group
        asks nothing, so that it holds no keys, and is finished.
        """
        library = self._room.library
        if library is None:
            return
        if self.is_under_way:
            warn(self._room, "Wait: the previous change is still running.")
            return
        self.is_under_way = True
        if isinstance(self._room.app, TypeAhead) and group == "change":
            # They are meant for the question, or for the screen after the change.
            self._room.app.hold_keys()
        # Never exclusive: a change is not to be cut off by the next.
        self._room.run_worker(self._run_and_report(library, change), group=group)

    async def remove(self, library: Library, plan: PurgePlan) -> Outcome | None:
        """Move the memories of a plan to the trash, once a person confirms it; None when nothing is deleted."""
        from zeroclaw_tui.curation.changes import remove_memories
        from zeroclaw_tui.tui.actions import confirms_removal, removed_words

        if not plan.count:
            warn(self._room, "No memories to delete.")
            return None
        now = self._room.clock()
        if not await confirms_removal(self._room.app, library, plan):
            return None
        work = partial(remove_memories, library, plan, "forget" if plan.count == 1 else "purge")
        outcome = await self.run_change(f"Deleting {counted(plan.count)}", plan.count, work)
        key = plan.stamps[0].key if plan.count == 1 else None
        is_whole = outcome.count == plan.count
        (inform if is_whole else warn)(self._room, removed_words(outcome, key, now))
        await self._room.after_change(outcome)
        return outcome

    async def undo(self, library: Library, number: int | None = None) -> Outcome | None:
        """Undo the change of a number, or the last one; None where none was undone.

        The last one is asked about where it was made in another session, or longer ago than AT_ONCE_FOR.
        """
        return await self._turn(library, "undo", number)

    async def redo(self, library: Library, number: int | None = None) -> Outcome | None:
        """Redo the change of a number, or the last undone one; None where none was redone."""
        return await self._turn(library, "redo", number)

    async def _turn(self, library: Library, way: Literal["undo", "redo"], number: int | None) -> Outcome | None:
        from zeroclaw_tui.curation import changes
        from zeroclaw_tui.tui.actions import confirms_turn

        await library.trash.recover(library.memory)
        try:
            change = await changes.action_to_turn(library, way, number)
        except NotFound as nothing:
            inform(self._room, nothing.message)
            return None
        if number is None and not await confirms_turn(self._room.app, library, change, way):
            return None
        count = change.open if way == "undo" else change.count - change.open
        turn = changes.undo if way == "undo" else changes.redo
        turned = partial(turn, library, expected=change.number, number=number)
        outcome = await self.settled(f"{way.capitalize()}ing {counted(count)}", count, turned)
        if outcome is not None:
            inform(self._room, " ".join(outcome.sentences()))
            await self._room.after_change(outcome)
        return outcome

    async def run_change(self, sentence: str, total: int, work: Work[Outcome]) -> Outcome:
        """Do what a person has agreed to, with a bar where it takes its time; `total` is in rows, 0 where unknown."""
        from zeroclaw_tui.tui.dialogs import with_progress

        return await with_progress(self._room.app, sentence, total, self._room.pace.patience, work)

    async def settled(self, sentence: str, total: int, attempt: Callable[..., Awaitable[Outcome]]) -> Outcome | None:
        """The same for a change that may conflict: then a person chooses the `on_conflict` rule.

        None when nothing changes.
        """
        from zeroclaw_tui.memory.change import Conflicts
        from zeroclaw_tui.tui.actions import restore_question

        try:
            return await self.run_change(sentence, total, partial(attempt, on_conflict="refuse"))
        except Conflicts as conflicts:
            on_conflict = await self._room.app.push_screen_wait(restore_question(conflicts, self._room.app.size.width))
        if on_conflict is None:
            return None
        return await self.run_change(sentence, total, partial(attempt, on_conflict=on_conflict))

    async def _run_and_report(self, library: Library, change: Change) -> None:
        has_failed = False
        try:
            await change(library)
        except InspectorError as error:
            has_failed = True
            self._room.say_failure(error)
            # Part of the change may be done. If the room cannot reload either, the first failure is enough.
            with suppress(InspectorError):
                await self._room.after_change(None)
        finally:
            self.is_under_way = False
            if isinstance(self._room.app, TypeAhead):
                self._room.app.release_keys(dropped=has_failed)
