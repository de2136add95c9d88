"""What the browser changes: new, edit, delete, undo, and the ways to trash, history and copies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from textual.events import Key

from zeroclaw_tui.memory.change import SUPERSEDED_BY, Edit
from zeroclaw_tui.memory.errors import InspectorError, NotThere
from zeroclaw_tui.tui.changes import Changes
from zeroclaw_tui.tui.commands import Command, say_why_not
from zeroclaw_tui.tui.dimming import why_dimmed
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.screens.marking import MarkingScreen
from zeroclaw_tui.tui.widgets.memory_list import MemoryList
from zeroclaw_tui.tui.widgets.status_bar import Banner

# What a change needs is imported when one is made: none of it must delay the first frame.
if TYPE_CHECKING:
    from zeroclaw_tui.curation.changes import Outcome
    from zeroclaw_tui.curation.copies.copies import Copy
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.change import StoredRow
    from zeroclaw_tui.memory.entry import MemoryEntry


class ChangingScreen(MarkingScreen):
    """Changes memories: one change after the other, each asked for, kept in the trash, and undoable."""

    _copies: Sequence[Copy] = ()

    def __init__(self, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__(clock, pace)
        self.changes = Changes(
            self, clock, pace, library=lambda: self.library, after=self._after_change, fail=self.say_failure
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What cannot be done here is dimmed."""
        bound = f"{action}({parameters[0]!r})" if parameters else action
        return None if self.why_action_dimmed(bound) else True

    def why_not(self, command: Command) -> str | None:
        """Why a command is dimmed, in a sentence; None when it works."""
        return self.why_action_dimmed(command.action)

    def why_action_dimmed(self, action: str) -> str | None:
        """Why an action, as it is bound, cannot be done now, in a sentence; None when it can."""
        if self.library is None or not self.is_mounted:
            return None
        rows = self.query_one(MemoryList)
        takes_marks = action in ("delete", "erase") and len(rows.marks) > 0
        return why_dimmed(action, self.library, self.view, None if takes_marks else rows.selected_result)

    def on_key(self, event: Key) -> None:
        """A dimmed key says why it is dimmed."""
        say_why_not(self, event, self.why_action_dimmed)

    @property
    def is_changing(self) -> bool:
        """Whether a change is under way."""
        return self.changes.is_under_way

    def action_create(self) -> None:
        """Write a new memory."""
        self.changes.begin(self._create)

    def action_edit(self) -> None:
        """Edit the memory under the cursor."""
        self.changes.begin(self._edit)

    def action_edit_externally(self) -> None:
        """Edit the memory under the cursor in $EDITOR."""
        self.changes.begin(self._edit_externally)

    def action_delete(self) -> None:
        """Delete the marked memories, else the one under the cursor."""
        self.changes.begin(self._delete)

    def action_delete_shown(self) -> None:
        """Delete all that the view shows."""
        self.changes.begin(self._delete_shown)

    def action_erase(self) -> None:
        """Erase the marked memories, else the one under the cursor, or a text, from every place."""
        self.changes.begin(self._erase)

    def action_show_again(self) -> None:
        """Show the superseded memory under the cursor to the agent again."""
        self.changes.begin(self._show_again)

    def action_undo(self) -> None:
        """Take back the last change."""
        self.changes.begin(self._undo)

    def action_redo(self) -> None:
        """Do again what was taken back last."""
        self.changes.begin(self._redo)

    def action_show_trash(self) -> None:
        """What was deleted here."""
        if self.library is not None:
            from zeroclaw_tui.tui.screens.trash import TrashScreen

            self.app.push_screen(TrashScreen(self.library, self._clock), self._after_trash)

    def action_show_history(self) -> None:
        """What was done here to the memory under the cursor."""
        entry = self._entry_here()
        if self.library is not None and entry is not None:
            from zeroclaw_tui.tui.screens.history import HistoryScreen

            self.app.push_screen(HistoryScreen(self.library, entry.id, entry.key, self._clock))

    def action_show_copies(self) -> None:
        """Where else the text lies: of what was deleted last, else of the memory under the cursor."""
        self.changes.begin(self._show_copies)

    async def _after_change(self, outcome: Outcome | None) -> None:
        """Memories were removed or came back, or a change failed that may have done a part of it."""
        if self.library is None:
            return
        if outcome is None:
            await self._refresh_marks(self.library)
            self.look_again()
            return
        is_back = outcome.verb in ("undo", "redo")
        if is_back:
            self.query_one("#copies", Banner).hide()
        self.look_again(glows_news=is_back)
        await self.stamp_again(self.library)
        if not is_back and outcome.action is not None:
            self._look_for_copies(self.library, outcome.action.number)

    async def _create(self, library: Library) -> None:
        from zeroclaw_tui.tui.screens.editor import EditorScreen

        await self._after_writing(library, await self.app.push_screen_wait(EditorScreen(library, None)))

    async def _edit(self, library: Library) -> None:
        from zeroclaw_tui.tui.screens.editor import EditorScreen

        row = await self._stored_here(library)
        if row is not None:
            await self._after_writing(library, await self.app.push_screen_wait(EditorScreen(library, row)))

    async def _edit_externally(self, library: Library) -> None:
        from zeroclaw_tui.tui.screens.editing import edit_externally

        row = await self._stored_here(library)
        if row is not None:
            await self._after_writing(library, await edit_externally(self.app, library, row))

    async def _show_again(self, library: Library) -> None:
        from zeroclaw_tui.curation.changes import edit_memory
        from zeroclaw_tui.tui.screens.saving import repairing

        row = await self._stored_here(library)
        if row is None:
            return
        if row.entry().superseded_by is None:
            self.notify("This memory is not superseded: the agent has it already.", markup=False)
            return
        edit = partial(edit_memory, library, row.id, Edit({SUPERSEDED_BY: None}), row.fingerprint)
        await self._after_writing(library, await repairing(self.app, library, edit))

    async def _after_writing(self, library: Library, outcome: Outcome | None) -> None:
        if outcome is None:
            return
        from zeroclaw_tui.tui.changing_words import written_words

        rows = self.query_one(MemoryList)
        is_new = outcome.verb == "store"
        if outcome.row is not None:
            entry = outcome.row.entry().excerpt()
            rows.put_rows([entry])
            rows.glow([entry.handle])
        self.notify(written_words(outcome), markup=False)
        self.look_again(go_to=outcome.row.handle if is_new and outcome.row is not None else None)
        if outcome.row is not None:
            await self.stamp_again(library, [outcome.row.id])
        if outcome.action is not None and not is_new:
            self._look_for_copies(library, outcome.action.number, is_edit=True)

    async def _delete(self, library: Library) -> None:
        from zeroclaw_tui.curation.changes import plan_of
        from zeroclaw_tui.curation.superseded import superseded_hidden

        stamps = await self.chosen_stamps(library)
        hidden = 0
        if self.facets is not None and len(stamps) == self.facets.total and not self.view.is_recall:
            # All that the list shows is marked.
            hidden = await superseded_hidden(library, self.view.listing_filter(self._clock()))
        await self.changes.remove(library, await asyncio.to_thread(plan_of, stamps, None, hidden))

    async def _delete_shown(self, library: Library) -> None:
        from zeroclaw_tui.curation.changes import plan_of
        from zeroclaw_tui.curation.superseded import superseded_hidden

        stamps = await self.shown_stamps(library)
        chosen = None if self.view.is_recall else self.view.listing_filter(self._clock())
        hidden = 0 if chosen is None else await superseded_hidden(library, chosen)
        await self.changes.remove(library, await asyncio.to_thread(plan_of, stamps, chosen, hidden))

    async def _erase(self, library: Library) -> None:
        from zeroclaw_tui.curation.changes import plan_of
        from zeroclaw_tui.curation.copies.copies import texts_of_plan
        from zeroclaw_tui.tui.screens.erase import EraseScreen

        plan = await asyncio.to_thread(plan_of, await self.chosen_stamps(library))
        report = await self.app.push_screen_wait(EraseScreen(library, await texts_of_plan(library, plan)))
        if report is None:
            return
        self.query_one(MemoryList).marks.drop(stamp.id for stamp in plan.stamps)
        self.query_one("#copies", Banner).hide()
        self.look_again()
        await self.stamp_again(library)

    def _look_for_copies(self, library: Library, action: int, *, is_edit: bool = False) -> None:
        self.run_worker(self._tell_copies(library, action, is_edit), group="copies", exclusive=True)

    async def _tell_copies(self, library: Library, action: int, is_edit: bool) -> None:
        from zeroclaw_tui.curation.copies.copies import find_copies, summary, texts_of
        from zeroclaw_tui.tui.changing_words import worth_telling

        banner = self.query_one("#copies", Banner)
        try:
            self._copies = await find_copies(library, await texts_of(library, action))
        except InspectorError as error:
            self.say_failure(error)
            return
        found = summary(worth_telling(self._copies, is_edit=is_edit))
        if found:
            banner.show("quiet", f"Also found in {found}", "C", "shows them", "show_copies")
        else:
            banner.hide()

    async def _show_copies(self, library: Library) -> None:
        from zeroclaw_tui.curation.copies.copies import Text, find_copies
        from zeroclaw_tui.tui.screens.copies import CopiesScreen

        banner = self.query_one("#copies", Banner)
        found, self._copies = self._copies, ()
        if not (found and banner.has_class("-quiet")):
            entry = self._entry_here()
            if entry is None:
                return
            whole = await library.memory.whole(entry.handle)
            found = await find_copies(library, [Text(whole.id, whole.key, whole.content)])
        banner.hide()
        outcome = await self.app.push_screen_wait(CopiesScreen(library, found))
        if outcome is not None:
            self.look_again()
            await self.stamp_again(library)

    async def _undo(self, library: Library) -> None:
        await self.changes.undo(library)

    async def _redo(self, library: Library) -> None:
        await self.changes.redo(library)

    async def _refresh_marks(self, library: Library) -> None:
        try:
            await self.stamp_again(library)
        except InspectorError:
            # The failure that led here was told; the marks keep the state they had.
            self.show_marks()

    async def _stored_here(self, library: Library) -> StoredRow | None:
        entry = self._entry_here()
        if entry is None:
            return None
        row = await library.memory.stored(entry.id)
        if row is None:
            raise NotThere("This memory is no longer there.", hint="r reloads the list.")
        return row

    def _entry_here(self) -> MemoryEntry | None:
        entry = self.query_one(MemoryList).selected_entry
        if entry is None:
            self.notify("There is no memory under the cursor.", severity="warning", markup=False)
        return entry

    def _after_trash(self, came_back: bool | None) -> None:
        if came_back and self.library is not None:
            self.look_again(glows_news=True)
            self.run_worker(self._refresh_marks(self.library), group="marks")
