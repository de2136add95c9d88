"""Marks: which memories the next action takes, wherever the list goes meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.memory.errors import InspectorError, NotReachable, Refused
from zeroclaw_tui.tui.screens.listing import ListingScreen
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.change import Stamp
    from zeroclaw_tui.memory.entry import Handle

_STAMPS_AT_ONCE = 500


class MarkingScreen(ListingScreen):
    """A list whose memories can be marked, by hand, in ranges, or all that are shown."""

    def on_memory_list_marks_changed(self) -> None:
        """Ask which state the marked rows are in, and say how many there are."""
        self.paint_lines()
        if self.library is not None:
            self.run_worker(self._stamp_in_background(self.library), group="marks")

    def action_toggle_mark(self) -> None:
        """Mark the memory under the cursor and go on to the next."""
        rows = self.query_one(MemoryList)
        rows.toggle_mark()
        rows.action_move(1)

    def action_mark_range(self) -> None:
        """Mark from the row marked last to the cursor."""
        handles = self.query_one(MemoryList).handles_to_anchor()
        if self.library is not None:
            self.run_worker(self._mark(self.library, handles), group="marks")

    def action_mark_all(self) -> None:
        """Mark all that the view shows, also what is not loaded."""
        if self.library is not None:
            self.run_worker(self._mark(self.library, None), group="marks")

    def action_mark_none(self) -> None:
        """Take every mark away."""
        rows = self.query_one(MemoryList)
        rows.marks.clear()
        self.show_marks()

    def show_marks(self) -> None:
        """Draw the marks and their count anew."""
        self.query_one(MemoryList).show_marks()
        self.paint_lines()

    async def chosen_stamps(self, library: Library) -> list[Stamp]:
        """The marked memories, else the one under the cursor, each in the state it was marked or is now."""
        rows = self.query_one(MemoryList)
        if rows.marks:
            await self.stamp_marks(library)
            return rows.marks.stamps
        entry = rows.selected_entry
        return [] if entry is None else await library.memory.stamps_of([entry.handle])

    async def shown_stamps(self, library: Library) -> list[Stamp]:
        """Every memory of the view; of a recall its results."""
        rows = self.query_one(MemoryList)
        if self.view.is_recall:
            found = self.recalled
            results = [*found.results, *found.withheld] if found is not None else []
            return await self._stamps_of(library, [result.entry.handle for result in results])
        stamps = await library.memory.stamps(self.view.listing_filter(self._clock()))
        rows.marks.anchor = None
        return stamps

    async def stamp_marks(self, library: Library) -> None:
        """Bring the state of every mark that has none yet; marks of rows that have gone leave."""
        marks = self.query_one(MemoryList).marks
        waiting = marks.waiting
        if waiting:
            try:
                found = await self._stamps_by_row(library, list(waiting.values()))
            except Refused:
                # What the store cannot change keeps no mark.
                marks.settle(waiting, {})
                self.show_marks()
                raise
            marks.settle(waiting, found)

    async def stamp_again(self, library: Library, ids: Sequence[str] | None = None) -> None:
        """These marked memories, or all, were changed here: their marks hold for what they are now."""
        marks = self.query_one(MemoryList).marks
        before = marks.states if ids is None and library.memory.capabilities.blocks else {}
        marks.ask_again(ids)
        await self.stamp_marks(library)
        # An id in a store of lines is a place: another state there is another line, which nobody marked.
        marks.drop([one for one, states in marks.states.items() if before.get(one, states) != states])
        self.show_marks()

    async def _stamp_in_background(self, library: Library) -> None:
        try:
            await self.stamp_marks(library)
        except InspectorError as error:
            self.say_failure(error)
            return
        if self.view.shows_blocks:
            # How many memories a block is was not known before.
            self.paint_lines()

    async def _mark(self, library: Library, handles: Sequence[Handle] | None) -> None:
        try:
            if self.view.shows_blocks:
                await self._mark_blocks(library, handles)
            else:
                found = await (self.shown_stamps(library) if handles is None else self._stamps_of(library, handles))
                self.query_one(MemoryList).marks.put(found)
        except InspectorError as error:
            self.say_failure(error)
            return
        self.show_marks()

    async def _mark_blocks(self, library: Library, handles: Sequence[Handle] | None) -> None:
        marks = self.query_one(MemoryList).marks
        if handles is None:
            handles = await library.memory.order(self.view.listing_filter(self._clock()), self.view.sort)
            marks.anchor = None
        for start in range(0, len(handles), _STAMPS_AT_ONCE):
            some = handles[start : start + _STAMPS_AT_ONCE]
            stamps = await library.memory.stamps_by_row(some)
            for block in await library.memory.rows(some):
                marks.put_row(block.id, block.handle, stamps.get(block.handle, ()))

    def say_failure(self, error: InspectorError) -> None:
        """One sentence and what to do next; nothing on the screen changes.

        A store that does not answer has the banner, so that no heap of notices says so.
        """
        if isinstance(error, NotReachable):
            self.show_gone(error)
            return
        self.notify(str(error), title=error.title, severity="error", markup=False)

    async def _stamps_by_row(self, library: Library, handles: Sequence[Handle]) -> dict[Handle, list[Stamp]]:
        found: dict[Handle, list[Stamp]] = {}
        for start in range(0, len(handles), _STAMPS_AT_ONCE):
            found |= await library.memory.stamps_by_row(handles[start : start + _STAMPS_AT_ONCE])
        return found

    async def _stamps_of(self, library: Library, handles: Sequence[Handle]) -> list[Stamp]:
        stamps: list[Stamp] = []
        for start in range(0, len(handles), _STAMPS_AT_ONCE):
            stamps += await library.memory.stamps_of(handles[start : start + _STAMPS_AT_ONCE])
        return stamps
