"""What the browser shows: the panes, and how answers of the store get onto them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, WrongUse
from zeroclaw_tui.memory.query import Facets
from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui import messages
from zeroclaw_tui.tui.dimming import why_read_only
from zeroclaw_tui.tui.lighting import NO_LIGHTS, Lights
from zeroclaw_tui.tui.loader import GOES_BY, Loader, Pace
from zeroclaw_tui.tui.screens.doctor_words import endpoint_host
from zeroclaw_tui.tui.screens.lit import LitScreen
from zeroclaw_tui.tui.view import Mode, Part, View
from zeroclaw_tui.tui.widgets.detail import MemoryDetail
from zeroclaw_tui.tui.widgets.empty import Empty
from zeroclaw_tui.tui.widgets.facets import FacetList
from zeroclaw_tui.tui.widgets.header import StoreHeader
from zeroclaw_tui.tui.widgets.key_line import KeyLine
from zeroclaw_tui.tui.widgets.memory_list import MemoryList
from zeroclaw_tui.tui.widgets.search_bar import FactLine, SearchBar
from zeroclaw_tui.tui.widgets.status_bar import Banner, StatusBar
from zeroclaw_tui.tui.words import (
    EmptyWords,
    empty_so_far,
    fact_words,
    mark_words,
    mode_facts,
    search_summary,
    unusable_pattern,
    vector_words,
    why_empty,
)

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.embeddings.remote_calls import RemoteCall


class ListingScreen(LitScreen):
    """Facets, list and detail of one library.

    `clock` gives the moment that ages count from. Until `show_library` is called it says that the store is opening.
    """

    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (100, "-middle"),
        (120, "-wide"),
    ]
    AUTO_FOCUS = "#list"

    def __init__(self, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__()
        self.library: Library | None = None
        self.facets: Facets | None = None
        self.other_facets: Mapping[Part, Facets] = {}
        self.recalled: RecallResult | None = None
        self.pace = pace
        self._clock = clock
        self._found: int | None = None
        self._words: int | None = None
        self._trouble = ""
        self._milliseconds: float | None = None
        self._starts_at_top = False
        self._glows_news = False
        self._go_to: Handle | None = None
        self._has_answered = False
        self._is_unanswered = False
        self._told_places: set[str] = set()

    def compose(self) -> ComposeResult:
        """Header, bar, banners, panes, keys."""
        yield StoreHeader(id="header")
        yield SearchBar(id="search")
        yield FactLine(id="facts")
        yield Banner(id="failure")
        yield Banner(id="other-install")
        yield Banner(id="copies")
        with Horizontal(id="body"):
            yield FacetList(id="facets")
            with Container(id="panes"):
                with Vertical(id="middle"):
                    yield MemoryList(id="list", takes_marks=True)
                    yield Empty(id="empty")
                    yield StatusBar(id="status")
                yield MemoryDetail(id="detail")
        yield KeyLine(show_command_palette=False)

    def on_mount(self) -> None:
        """Say that it is being opened; look for changes from then on."""
        self._show_rows(False)
        self.query_one(Empty).show("Opening …")
        if self.pace.poll is not None:
            self.set_interval(self.pace.poll, self._poll)

    def show_library(self, library: Library, view: View) -> None:
        """Show this store from now on."""
        self.stop_loading()
        self.library, self._loader = library, Loader(self, library, self.pace)
        library.tell_before_first_call(self._tell_remote_call)
        self.facets, self.other_facets = None, {}
        self._has_answered = False
        self.query_one(StoreHeader).show(library)
        self.query_one("#failure", Banner).hide()
        self.query_one(Empty).show("Opening …")
        self.query_one(MemoryDetail).show_nothing("")
        rows = self.query_one(MemoryList)
        rows.clear_rows()
        rows.marks.clear()
        self.look(view)

    def stop_loading(self) -> None:
        """Wait for no answer any more."""
        if self._loader is not None:
            self._loader.stop()
        self._loader = None

    def start_loading(self) -> None:
        """Ask the same store again from now on."""
        if self.library is not None:
            self._loader = Loader(self, self.library, self.pace)
            self.look(self.view, keep_place=True)

    def look(self, view: View, *, keep_place: bool = False) -> None:
        """Look at something else, or with `keep_place` at the same again."""
        self._starts_at_top = view.sort != self.view.sort
        view = self.view = self._with_similar(view)
        if self._loader is None:
            return
        now = self._clock()
        self.recalled = self.recalled if view.is_recall else None
        self._found = self._words = None
        rows = self.query_one(MemoryList)
        rows.set_look(sort=view.sort, now=now, show_agent=self._has_agents())
        self._trouble = ""
        if view.is_recall:
            self._light_up(NO_LIGHTS)
        self.query_one(MemoryDetail).now = now
        for facets in self._facet_lists():
            facets.mark(view)
        self.paint_lines()
        if view.is_similar:
            self._loader.find_similar(view, now)
        elif view.is_recall:
            self._loader.recall(view, now)
        else:
            self._loader.list_memories(view, now, keep_place=keep_place)

    def look_again(self, *, glows_news: bool = False, go_to: Handle | None = None) -> None:
        """Something was changed here: the same view again at once, its place kept.

        With `glows_news` rows that were not there before light up, with `go_to` the cursor goes to that row.
        """
        self._glows_news, self._go_to = glows_news, go_to
        if self._loader is not None:
            self._loader.changed_here()
        self.look(self.view, keep_place=True)

    def prepare_search(self) -> None:
        """A search is about to come."""
        if self._loader is not None:
            self._loader.prepare_vectors()

    def paint_lines(self) -> None:
        """Bar, fact line and summary, from what is known now."""
        lines = self.query_one(FactLine)
        lines.facts = fact_words(self.facets, self.view)
        lines.chips = self.view.chips
        lines.order = self.view.order_words
        counted = None if self._is_unanswered else self.facets
        facts = mode_facts(self.view, self.recalled, counted, self._milliseconds)
        near = self.view.similar_to
        shown = (self._trouble,) if self._trouble else facts
        self.query_one(SearchBar).show_mode(self.view.mode, shown, near=one_line(near.key) if near is not None else "")
        total = self.facets.total if self.facets else None
        general = self.library.why_no_vectors if self.library else None
        vector = self._vector_words()
        summary = search_summary(
            self.view, self.recalled, total, self._found, general, words=self._words, vector=vector
        )
        rows = self.query_one(MemoryList)
        is_blocks = self.view.shows_blocks
        marked, hint = mark_words(len(rows.marks), rows.marks_shown, rows.marks.memories, blocks=is_blocks)
        if self._trouble:
            # On a narrow screen the bar has no room for it, and on every screen the rows look like an answer.
            summary = (f"the pattern {self._trouble}", "the list is from before it")
        self._paint_standing()
        self.query_one(StatusBar).say(marked, *(summary or (hint,)))

    def on_page_loaded(self, event: messages.PageLoaded) -> None:
        """The first rows, at once."""
        if not event.is_stale:
            self._milliseconds = event.milliseconds
            self._light_up(Lights.of(self.view.sought))
            rows = self.query_one(MemoryList)
            rows.show_page(event.page.entries, len(event.page.entries))
            if self._starts_at_top:
                rows.action_top()
            self._answered(bool(event.page.entries))

    def on_facets_loaded(self, event: messages.FacetsLoaded) -> None:
        """Counts and totals."""
        if event.is_stale:
            return
        self.facets, self.other_facets = event.facets, event.others
        for facets in self._facet_lists():
            facets.show(event.facets, event.others, self.view)
        self.query_one(MemoryList).set_look(sort=self.view.sort, now=self._clock(), show_agent=self._has_agents())
        self.paint_lines()

    def on_order_loaded(self, event: messages.OrderLoaded) -> None:
        """Every row's place, and the first rows as they are now."""
        if not event.is_stale:
            rows = self.query_one(MemoryList)
            was_at_top = rows.scroll_offset.y == 0
            news = rows.unseen(event.first) if event.is_refresh else []
            self._light_up(Lights.of(self.view.sought))
            if self._glows_news:
                news += rows.newcomers(event.handles)
            rows.show_order(event.handles, event.total)
            rows.put_rows(event.first)
            if news:
                rows.glow(news)
            if self._go_to is not None and not rows.go_to(self._go_to) and event.total > len(event.handles):
                self._ask_for_order(event.total)
            else:
                self._go_to = None
            self._glows_news = False
            if was_at_top and rows.cursor < rows.size.height - 1:
                # Whoever looks at the newest memories wants to see newer ones come.
                rows.scroll_to(y=0, animate=False, force=True)
            self._answered(bool(event.handles))

    def on_order_grown(self, event: messages.OrderGrown) -> None:
        """More of a long order."""
        if not event.is_stale:
            rows = self.query_one(MemoryList)
            rows.show_more(event.handles, is_whole=event.is_whole)
            if self._go_to is not None:
                rows.go_to(self._go_to)
                self._go_to = None

    def on_rows_loaded(self, event: messages.RowsLoaded) -> None:
        """Rows that came into sight."""
        if not event.is_stale:
            self.query_one(MemoryList).put_rows(event.entries)

    def on_recall_loaded(self, event: messages.RecallLoaded) -> None:
        """What the agent would recall."""
        if not event.is_stale:
            self.recalled, self._milliseconds = event.result, event.milliseconds
            self.query_one(MemoryList).show_results(event.result)
            self._answered(bool(event.result.results or event.result.withheld))

    def on_find_counted(self, event: messages.FindCounted) -> None:
        """What `contains` would have shown."""
        if not event.is_stale:
            self._found, self._words = event.count, event.words
            self._answered(not self.has_class("-empty"))

    def on_entry_loaded(self, event: messages.EntryLoaded) -> None:
        """The whole memory under the cursor."""
        if not event.is_stale:
            self._show_detail(event.entry, event.result, event.norm)

    def on_load_failed(self, event: messages.LoadFailed) -> None:
        """The screen stays; a banner says what is wrong and which key tries again."""
        if event.is_stale:
            return
        if isinstance(event.error, WrongUse) and self.view.mode is Mode.REGEX:
            # Half typed, most patterns cannot be read: the list stays as it is.
            self._trouble = event.error.message.removeprefix("The pattern ").rstrip(".")
            self.paint_lines()
            self.query_one(Empty).show(*unusable_pattern(event.error))
        else:
            self.show_gone(event.error)

    def show_gone(self, error: InspectorError) -> None:
        """Say in the one banner that the store does not answer; what is on the screen stays."""
        self.query_one("#failure", Banner).show("error", str(error), "r", "tries again", "reload")
        self._is_unanswered, self._milliseconds = True, None
        self.paint_lines()
        if self._loader is not None and isinstance(error, GOES_BY):
            self._loader.is_away()
        if not self._has_answered:
            self._show_rows(False)
            self.query_one(Empty).show("The store does not answer.", "", (("r", "try again"), ("b", "another store")))

    def on_store_changed(self) -> None:
        """Another process wrote: the same view again, the cursor on the same memory."""
        self.look(self.view, keep_place=True)

    def on_memory_list_rows_wanted(self, event: MemoryList.RowsWanted) -> None:
        """Load the rows that come into sight."""
        if self._loader is not None:
            self._loader.want_rows(event.handles)

    def on_memory_list_order_wanted(self, event: MemoryList.OrderWanted) -> None:
        """Learn which rows come into sight."""
        self._ask_for_order(event.rows)

    def _ask_for_order(self, rows: int) -> None:
        if self._loader is not None:
            self._loader.want_order(rows)

    def on_memory_list_row_highlighted(self, event: MemoryList.RowHighlighted) -> None:
        """Show what the cursor is on, in full as soon as that is here."""
        if event.entry is None or self._loader is None:
            return
        self._show_detail(event.entry, event.result)
        if event.entry.is_excerpt or event.entry.embedding_dimensions:
            self._loader.want_entry(event.entry, event.result)

    def _answered(self, has_rows: bool) -> None:
        """An answer is on the screen: the failure before it is over, and what is empty says why."""
        self.query_one("#failure", Banner).hide()
        self._has_answered, self._is_unanswered = True, False
        self._show_rows(has_rows)
        self.paint_lines()
        if not has_rows and self.library is not None:
            self.query_one(Empty).show(*self._why_empty(self.library))
            self.query_one(MemoryDetail).show_nothing("")

    def _why_empty(self, library: Library) -> EmptyWords:
        memory = library.memory
        if self.recalled is not None and self.recalled.awaits_vector:
            return empty_so_far(self.view, self._vector_words())
        told = self.recalled.notes if self.recalled is not None else ()
        # What holds for every recall here comes last.
        told = tuple(sorted(told, key=lambda note: note == library.why_no_vectors))
        notes = memory.notices if memory.keeps_nothing else (*told, self._vector_words())
        can_write, is_watched = why_read_only(library) is None, memory.capabilities.watch
        return why_empty(
            self.view,
            memory,
            self._found,
            words=self._words,
            can_write=can_write,
            notes=notes,
            is_watched=is_watched,
        )

    def _vector_words(self) -> str:
        if self.library is None:
            return ""
        return vector_words(self.recalled, endpoint_host(self.library.config.embedding), self.library.resting)

    def _tell_remote_call(self, call: RemoteCall) -> None:
        """Say once of each host that texts go there."""
        if call.place not in self._told_places:
            self._told_places.add(call.place)
            self.notify(call.words, markup=False)

    def _show_detail(self, entry: MemoryEntry, result: ScoredEntry | None, norm: float | None = None) -> None:
        self.query_one(MemoryDetail).show(entry, result, self.recalled, norm)

    def _show_rows(self, has_rows: bool) -> None:
        rows = self.query_one(MemoryList)
        if not has_rows and rows.has_focus:
            # Hidden with the focus on it, the list would hand that on to the search bar, and never get it back.
            self.set_focus(None)
        self.set_class(not has_rows, "-empty")
        if has_rows and self.focused is None:
            rows.focus()

    def _facet_lists(self) -> list[FacetList]:
        """The pane, and the panel when it is on top."""
        lists = list(self.query(FacetList))
        return lists if self.app.screen is self else [*lists, *self.app.screen.query(FacetList)]

    def _has_agents(self) -> bool:
        return bool(self.facets and self.facets.agent and len(self.facets.agent) > 1)

    def _paint_standing(self) -> None:
        header = self.query_one(StoreHeader)
        header.standing = one_line((self.library.memory.standing if self.library else None) or "")

    def _poll(self) -> None:
        self._paint_standing()
        if self._loader is not None:
            self._loader.poll()
