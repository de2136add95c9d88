"""The memories of a purge plan in its question: what they are, the first of them or all, and where copies lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from zeroclaw_tui.curation.copies.copies import find_copies, planned_words, texts_of_plan
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.query import NEWEST_STORED
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.tui.changes import (
    plan_categories,
    plan_extent,
    plan_remarks,
    plan_title,
    worth_telling,
)
from zeroclaw_tui.tui.dialogs import Question, TypedConfirmation, yes_or_no
from zeroclaw_tui.tui.format import count_text
from zeroclaw_tui.tui.themes import ACCENT
from zeroclaw_tui.tui.widgets.detail import PackedFacts
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.changes import PurgePlan
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.change import Stamp
    from zeroclaw_tui.memory.entry import Handle

MOST_LOOKED_FOR = 2000
"""For more memories than this, copies are looked for once they are deleted and not while a person decides."""
_LINES_BESIDE = 20
"""What the plan of a few needs for everything that is no memory."""


def purge_question(library: Library, plan: PurgePlan, now: datetime) -> Question[bool] | TypedConfirmation:
    """Whether the memories of a plan shall go: a few like any question, of many their number has to be typed."""
    body = PlannedMemories(library, plan, now)
    count = count_text(plan.count)
    if plan.is_typed:
        return TypedConfirmation(plan_title(plan), body, str(plan.count), f"Type {count} to purge:", "purge")
    return yes_or_no(plan_title(plan), body, "Keep everything", f"Delete all {count}")


class PlannedMemories(Vertical):
    """Categories, extent, the first memories, where they go, and where copies of them lie."""

    DEFAULT_CSS = """
    PlannedMemories {
        height: auto;
        width: 84;
        max-width: 100%;
        #categories { color: $text-muted; }
        #facts { color: $text-muted; margin-bottom: 1; height: auto; }
        #doomed {
            height: auto;
            margin-bottom: 1;
            background: $panel;
            scrollbar-background: $panel;
            scrollbar-background-hover: $panel;
            scrollbar-background-active: $panel;
        }
        #more { color: $text-muted; padding: 0 0 0 1; margin-bottom: 1; height: auto; }
        #remarks, #where { height: auto; }
        &.-cut #doomed { margin-bottom: 0; }
        &.-all #doomed { height: 1fr; margin-bottom: 1; }
        &.-all #more, &.-all #remarks, &.-all #where { display: none; }
        &.-all { height: 1fr; }
    }
    """

    def __init__(self, library: Library, plan: PurgePlan, now: datetime) -> None:
        super().__init__()
        self._library = library
        self._plan = plan
        self._now = now

    def compose(self) -> ComposeResult:
        """The plan, the memories, where they go."""
        plan, shown = self._plan, self._first()
        categories = PackedFacts(id="categories")
        categories.facts = tuple(plan_categories(plan))
        yield categories
        yield Static(Content(plan_extent(plan)), id="facts")
        yield MemoryList(id="doomed")
        if len(shown) < plan.count:
            more = f"… {count_text(plan.count - len(shown))} more "
            yield Static(Content.assemble(more, ("(v to see all)", ACCENT)), id="more")
        yield Static(Content(plan_remarks(self._library, plan)), id="remarks")
        yield Static("", id="where", markup=False)

    def on_mount(self) -> None:
        """Show the memories, and look for their copies."""
        rows = self.query_one(MemoryList)
        rows.can_focus = False
        rows.set_look(sort=NEWEST_STORED, now=self._now, show_agent=False)
        self._show_rows(self._first())
        self.set_class(len(self._first()) < self._plan.count, "-cut")
        if self._plan.count <= MOST_LOOKED_FOR:
            self.run_worker(self._look_for_copies(), group="copies")
        else:
            self.query_one("#where", Static).update("Copies elsewhere are looked for once they are in the trash.")

    def on_memory_list_rows_wanted(self, event: MemoryList.RowsWanted) -> None:
        """Load the rows that come into sight."""
        event.stop()
        self.run_worker(self._load(event.handles), group="rows")

    def on_memory_list_row_highlighted(self, event: MemoryList.RowHighlighted) -> None:
        """Nothing else follows the cursor here."""
        event.stop()

    def toggle_all(self) -> bool:
        """Every memory in a list to scroll, or the first again; gives whether all are shown."""
        rows = self.query_one(MemoryList)
        shows_all = not self.has_class("-all")
        rows.can_focus = shows_all
        self.set_class(shows_all, "-all")
        self._show_rows(self._plan.stamps if shows_all else self._first())
        if shows_all:
            rows.focus()
        return shows_all

    def _first(self) -> Sequence[Stamp]:
        """What the short plan shows: the samples of many; of a few as many as there is room for."""
        if self._plan.is_typed:
            return self._plan.samples
        return self._plan.stamps[: max(len(self._plan.samples), self.app.size.height - _LINES_BESIDE)]

    def _show_rows(self, stamps: Sequence[Stamp]) -> None:
        rows = self.query_one(MemoryList)
        rows.styles.height = None if self.has_class("-all") else len(stamps) + 1
        rows.show_order([stamp.handle for stamp in stamps])

    async def _load(self, handles: Sequence[Handle]) -> None:
        try:
            entries = await self._library.memory.rows(handles)
        except InspectorError as error:
            self.notify(str(error), title=error.title, severity="error", markup=False)
            return
        shown = [replace(entry, content=masked(entry.content)) for entry in entries]
        # None is left where the question was answered while they were read.
        for rows in self.query(MemoryList):
            rows.put_rows(shown)

    async def _look_for_copies(self) -> None:
        where = self.query_one("#where", Static)
        try:
            found = await find_copies(self._library, await texts_of_plan(self._library, self._plan))
        except InspectorError as error:
            where.update(Content(f"Copies elsewhere could not be looked for: {error.message}"))
            return
        where.update(Content(planned_words(worth_telling(found))))
