"""What the trash shows: title, list, detail and marks, and how answers get onto them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from zeroclaw_tui.curation.trash.trash import Action, TrashRow
from zeroclaw_tui.memory.errors import InspectorError, NotThere
from zeroclaw_tui.tui.format import count_text
from zeroclaw_tui.tui.looks import MUTED, STRONG
from zeroclaw_tui.tui.screens.trash_words import empty_words, fate_parts, title_facts
from zeroclaw_tui.tui.view import Mode
from zeroclaw_tui.tui.widgets.detail import MemoryDetail
from zeroclaw_tui.tui.widgets.detail_text import DOT
from zeroclaw_tui.tui.widgets.empty import Empty
from zeroclaw_tui.tui.widgets.key_line import KeyLine
from zeroclaw_tui.tui.widgets.packed_facts import PackedFacts
from zeroclaw_tui.tui.widgets.search_bar import SearchBar
from zeroclaw_tui.tui.widgets.status_bar import Banner, StatusBar
from zeroclaw_tui.tui.widgets.trash_list import PAGE_ROWS, TrashList
from zeroclaw_tui.tui.widgets.trash_rows import TrashLook

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

DEBOUNCE = 0.12


class TrashListing(Screen[bool]):
    """List and detail of the trash.

    `clock` gives the moment that ages count from; `debounce` is how many seconds of rest start a search.
    """

    AUTO_FOCUS = "#list"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012

    def __init__(self, library: Library, clock: Callable[[], datetime], *, debounce: float = DEBOUNCE) -> None:
        super().__init__()
        self.library = library
        self.marks: set[int] = set()
        self.look = TrashLook(clock(), library.trash.store)
        self.clock = clock
        self._debounce = debounce
        self._rest: Timer | None = None
        self._question = 0
        self._facts: tuple[str, ...] = ()
        self._actions: dict[int, Action | None] = {}

    def compose(self) -> ComposeResult:
        """Title, search, list and detail, keys."""
        yield Static("", id="title", markup=False)
        yield SearchBar(id="search")
        yield Banner(id="failure")
        with Container(id="panes"):
            with Vertical(id="middle"):
                yield TrashList(self.look, id="list")
                yield Empty(id="empty")
                yield StatusBar(id="status")
            with Vertical(id="about"):
                yield PackedFacts(id="fate")
                yield MemoryDetail(id="detail")
        yield KeyLine(show_command_palette=False)

    def on_mount(self) -> None:
        """Look."""
        self.query_one(SearchBar).show_mode(Mode.CONTAINS, ())
        self.paint_status()
        self.reload()

    def reload(self) -> None:
        """Look again, the cursor on its place; answers to what was asked before are dropped."""
        self._question += 1
        self.look = replace(self.look, now=self.clock())
        self.run_worker(self._list(self._question), group="trash-list", exclusive=True)

    def search(self, contains: str) -> None:
        """Show only what contains this."""
        if contains != self.look.lit:
            self.look = replace(self.look, lit=contains)
            self.query_one(TrashList).action_top()
            self.reload()

    def mark_all_shown(self) -> None:
        """Mark everything of this store that is listed."""
        self.run_worker(self._mark_all(self._question), group="trash-marks", exclusive=True)

    @property
    def selected(self) -> TrashRow | None:
        """What is under the cursor."""
        return self.query_one(TrashList).selected

    def on_resize(self) -> None:
        """As many facts as fit."""
        self._paint_title()

    def on_trash_list_page_wanted(self, event: TrashList.PageWanted) -> None:
        """Load the rows that come into sight."""
        self.run_worker(self._page(self._question, event.offset), group="trash-pages")

    def on_row_list_cursor_moved(self) -> None:
        """Show what the cursor is on."""
        self._show_detail()

    def on_row_list_row_opened(self) -> None:
        """Read on in the detail."""
        self.query_one(MemoryDetail).focus()

    def on_search_bar_typed(self, event: SearchBar.Typed) -> None:
        """Search when the fingers rest."""
        self.stop_waiting()
        if self._debounce:
            self._rest = self.set_timer(self._debounce, lambda: self.search(event.query))
        else:
            self.search(event.query)

    def on_search_bar_left(self) -> None:
        """The results stay."""
        self.query_one(TrashList).focus()

    def stop_waiting(self) -> None:
        """What was typed is not looked for any more."""
        if self._rest is not None:
            self._rest.stop()

    def paint_marks(self) -> None:
        """Marks in the list, and how many under it."""
        self.query_one(TrashList).mark(self.marks)
        self.paint_status()

    def paint_status(self) -> None:
        """The line under the list."""
        marked = f"{count_text(len(self.marks))} marked" if self.marks else ""
        self.query_one(StatusBar).say(self.doing_words(), marked, self.library.read_only_because or "")

    def doing_words(self) -> str:
        """What is under way; nothing where only reading is done."""
        return ""

    def fail(self, error: InspectorError) -> None:
        """The rows stay; a banner says what is wrong and which key tries again."""
        self.query_one("#failure", Banner).show("error", str(error), "ctrl+r", "tries again", "reload")

    async def on_banner_clicked(self, event: Banner.Clicked) -> None:
        """Do what the banner's key does."""
        await self.run_action(event.action)

    async def _list(self, question: int) -> None:
        listed, trash = self.query_one(TrashList), self.library.trash
        offset = listed.page_offset
        try:
            rows, total = await trash.listing(
                self.look.lit, limit=PAGE_ROWS, offset=offset, every_store=self.look.every_store
            )
            if question != self._question:
                return
            listed.show(self.look, total, offset, rows)
            self._answered(total, bool(total) or bool(await trash.actions(1)))
            if self.marks:
                self.marks &= set(await trash.numbers())
            _, own = await trash.listing(limit=1)
            self._facts = title_facts(own, await trash.usage())
        except InspectorError as error:
            self.fail(error)
            return
        self._paint_title()
        self.paint_marks()

    async def _page(self, question: int, offset: int) -> None:
        try:
            rows, _ = await self.library.trash.listing(
                self.look.lit, limit=PAGE_ROWS, offset=offset, every_store=self.look.every_store
            )
        except InspectorError as error:
            self.query_one(TrashList).forget_question(offset)
            self.fail(error)
            return
        if question == self._question:
            self.query_one(TrashList).put_page(offset, rows)

    async def _mark_all(self, question: int) -> None:
        try:
            numbers = await self.library.trash.numbers(self.look.lit)
        except InspectorError as error:
            self.fail(error)
            return
        if question == self._question:
            self.marks |= set(numbers)
            self.paint_marks()

    def _answered(self, total: int, was_used: bool) -> None:
        self.query_one("#failure", Banner).hide()
        self.set_class(total == 0, "-empty")
        if total == 0:
            self.query_one(Empty).show(*empty_words(self.look.lit, was_used=was_used))
        self.query_one(SearchBar).show_mode(Mode.CONTAINS, (f"{count_text(total)} found",) if self.look.lit else ())
        self.refresh_bindings()

    def _show_detail(self) -> None:
        row = self.selected
        if row is None:
            return
        detail = self.query_one(MemoryDetail)
        detail.now = self.look.now
        detail.show(row.row.entry(), None, None)
        if row.action not in self._actions:
            self.run_worker(self._load_action(row), group="trash-action", exclusive=True)
        fate = fate_parts(row, self.look.store, self.look.now, self._actions.get(row.action))
        self.query_one(PackedFacts).facts = tuple(fate)

    async def _load_action(self, row: TrashRow) -> None:
        try:
            self._actions[row.action] = await self.library.trash.action(row.action)
        except NotThere:
            self._actions[row.action] = None
        except InspectorError as error:
            self.fail(error)
            return
        self._show_detail()

    def _paint_title(self) -> None:
        facts = list(self._facts)
        while len(facts) > 1 and len(DOT.join(facts)) > self.size.width - 2:
            facts.pop()
        if facts:
            rest = "".join(DOT + fact for fact in facts[1:])
            self.query_one("#title", Static).update(Content.assemble((facts[0], STRONG), (rest, MUTED)))
