"""The panes of Memories: search line, facets, list and detail of one view, and how they are loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.message import Message
from textual.worker import get_current_worker

from zeroclaw_tui.backends.about import sentences
from zeroclaw_tui.backends.lookup import count_facets, vector_norm, whole_entry
from zeroclaw_tui.curation.recall import recall_steps
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, Locked, NotReachable, SearchInterrupted, UsageError
from zeroclaw_tui.memory.query import ENTRIES, EXCERPTS, HANDLES, Facets, MemoryFilter, Query
from zeroclaw_tui.memory.recall import SIMILAR, RecallRequest, RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.commands import start_work
from zeroclaw_tui.tui.format import (
    NO_HIGHLIGHTS,
    Highlights,
    excerpts_without_match,
    highlights_of_message,
    parts_with_matches,
)
from zeroclaw_tui.tui.view import (
    EmptyWords,
    Mode,
    Pace,
    Part,
    View,
    fact_words,
    mark_words,
    mode_facts,
    order_words,
    search_summary,
    unusable_pattern,
    vector_words,
    why_empty,
)
from zeroclaw_tui.tui.widgets.detail import MemoryDetail
from zeroclaw_tui.tui.widgets.facets import FacetList
from zeroclaw_tui.tui.widgets.header import Empty, StoreFacts, location_words
from zeroclaw_tui.tui.widgets.lines import Banner, FactLine, SearchBar, StatusBar
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.similar import SimilarResult
    from zeroclaw_tui.embeddings.base import EmbeddingRequest

Follower = Callable[["MemoryEntry | None", "ScoredEntry | None", "float | None"], None]
GOES_BY = (NotReachable, Locked)
"""Failures after which a store may answer again by itself."""
FIRST_HINT = "Press / and type a message to see what your agent would recall"
PAGE_ROWS = 200
MANY_ROWS = 20_000
"""Of more memories a first recall shows its keyword hits before all vectors are read."""
_READ_WHOLE = 20
_MAX_SIMILAR = 50
_MAX_EXCERPT = 200
_SCALES = {"vector": "cosine of vectors", "rare words": "shared rare words"}
_LOADS = ("list", "rows", "entry", "poll")


class BrowserPanes(Vertical):
    """Search line, facets, list and detail of one store; it loads and shows, and changes nothing.

    `clock` gives the moment that ages count from. Until `show_library` is called it says that the store is opening.
    """

    class ViewChanged(Message):
        """The filter or the search has changed."""

    def __init__(self, clock: Callable[[], datetime], pace: Pace, id: str | None = None) -> None:
        super().__init__(id=id, classes="-empty")
        self.library: Library | None = None
        self.view = View()
        self.facets: Facets | None = None
        self.other_facets: Mapping[Part, Facets] = {}
        self.recalled: RecallResult | None = None
        self.follower: Follower | None = None
        """Gets the memory under the cursor, an excerpt until the whole is there; None where nothing is."""
        self._clock = clock
        self._pace = pace
        self._is_loading = False
        self._is_away = self._has_recalled = self._has_searched = self._was_changed = False
        self._version: int | None = None
        self._counted: tuple[object, ...] | None = None
        self._found: int | None = None
        self._milliseconds: float | None = None
        self._trouble = ""
        self._lit = MemoryFilter()
        self.rows = MemoryList(id="list", takes_marks=True)
        self.detail = MemoryDetail(id="detail")
        self.facet_list = FacetList(id="facets")
        self.copies_banner = Banner(id="copies")
        """The banner that reports other copies of a text."""
        self._failure = Banner(id="failure")
        self._search_bar = SearchBar(pace.debounce, id="search")
        self.facet_list.border_title, self.rows.border_title, self.detail.border_title = "Filters", "Memories", "Memory"

    def compose(self) -> ComposeResult:
        yield self._search_bar
        yield FactLine(id="facts")
        yield self._failure
        yield Banner(id="other-install")
        yield self.copies_banner
        for pane in (self.facet_list, self.rows, self.detail):
            pane.add_class("pane")
        with Horizontal(id="body"):
            yield self.facet_list
            with Container(id="beside"):
                with Vertical(id="middle"):
                    yield self.rows
                    yield Empty(id="empty")
                    yield StatusBar(id="status")
                yield self.detail

    def on_mount(self) -> None:
        # A program that is being left composes nothing any more.
        for empty in self.query(Empty):
            empty.show("Opening …")
        if self._pace.poll is not None:
            self.set_interval(self._pace.poll, self._poll)

    @property
    def is_searching(self) -> bool:
        """Whether the search line is shown instead of the facts."""
        return self.has_class("-searching")

    @property
    def is_typing(self) -> bool:
        """Whether what is typed goes into the search line."""
        return self._search_bar.input.has_focus

    @property
    def is_choosing_mode(self) -> bool:
        """Whether tab means the next search mode: while one types, and where nothing was found to go to."""
        return self.is_typing or (self.is_searching and self.has_class("-empty"))

    def show_library(self, library: Library, view: View, other_install: str | None = None) -> None:
        """Show this store from now on; `other_install` is where another one is, if there is one."""
        self.stop_loading()
        self.library, self._is_loading = library, True
        self.facets, self.other_facets = None, {}
        self._version = self._counted = None
        self._is_away = self._has_recalled = False
        library.on_first_request(self._announce_request)
        self.show_header()
        for banner in self.query(Banner):
            banner.hide()
        if other_install:
            sentence = f"Another install here: {other_install}"
            banner = self.query_one("#other-install", Banner)
            banner.show("quiet", sentence, ":", "to choose it", "app.installs", typed="installs")
        self.query_one(Empty).show("Opening …")
        self.detail.show_nothing("")
        self.close_search()
        if view.query and not library.memory.about.keeps_nothing:
            self._search_bar.put(view.query)
            self.add_class("-searching")
        self.rows.clear_rows()
        self.rows.marks.clear()
        self.look(view)

    def show_header(self) -> None:
        """Show which store this is, and how it is scored now."""
        if self.library is not None:
            self.app.sub_title = location_words(self.library)
            self.screen.query_one(StoreFacts).show(self.library)

    def stop_loading(self) -> None:
        """Ask the store nothing more."""
        self._is_loading = False
        for group in _LOADS:
            self.workers.cancel_group(self, group)

    def start_loading(self) -> None:
        """Ask the same store again from now on."""
        self._is_loading, self._counted = True, None
        self.look_on()

    def look(
        self,
        view: View,
        *,
        keep_place: bool = False,
        go_to: Handle | None = None,
        edited: MemoryEntry | None = None,
    ) -> None:
        """Show another view, or with `keep_place` the same again; the cursor goes to the row `go_to`.

        What was `edited` stays in sight of a recall, or is reported as no longer in this view.
        """
        before, self.view = self.view, view
        if self.library is None or not self._is_loading:
            return
        if (before.filter, before.age, before.sought) != (view.filter, view.age, view.sought):
            self.post_message(self.ViewChanged())
        now = self._clock()
        self.recalled = self.recalled if view.is_recall else None
        self._found, self._trouble = None, ""
        self.rows.set_look(sort=view.sort, now=now, show_agent=self._has_agents())
        self.detail.now = now
        for facets in self._facet_lists():
            facets.mark(view)
        self.paint_lines()
        self.workers.cancel_group(self, "rows")
        if view.is_similar:
            self._load("list", self._find_similar, view, now)
        elif view.is_recall:
            self._load("list", self._recall, view, now, edited)
        else:
            at_top = before.sort != view.sort
            self._load("list", self._list, view, now, keep_place, at_top, go_to, edited)

    def look_again(self, *, go_to: Handle | None = None, edited: MemoryEntry | None = None) -> None:
        """Show the same view again, its place kept: something was changed here."""
        # The next listing shows what was written just now, so that no poll has to.
        self._version = None
        self.look(self.view, keep_place=True, go_to=go_to, edited=edited)

    def look_on(self) -> None:
        """Show the same view again, the cursor on the same memory: another process wrote."""
        self.look(self.view, keep_place=True)

    def reload(self) -> None:
        """Read the store again."""
        self.look(self.view, keep_place=self.rows.row_count > 0)

    def toggle(self, part: Part, value: str) -> None:
        """Narrow, or widen again."""
        self.look(self.view.toggled(part, value))

    def open_search(self) -> None:
        """Type a message to recall by; the text of the search before is selected, so that typing replaces it."""
        self.add_class("-searching")
        self._has_searched = True
        view = replace(self.view, mode=Mode.RECALL, similar_to=None)
        if view.query and view != self.view:
            self.look(view)
        self.view = view
        self.paint_lines()
        self._search_bar.type_anew()

    def find_similar(self, entry: MemoryEntry) -> None:
        """Search for memories similar to one; its text is in the search line, to be typed over."""
        excerpt = one_line(entry.content[:_MAX_EXCERPT]) or one_line(entry.key[:_MAX_EXCERPT]) or "(no text)"
        self._search_bar.put(excerpt)
        self.add_class("-searching")
        self.look(replace(self.view, mode=Mode.SIMILAR, query=excerpt, similar_to=entry))
        self.screen.set_focus(self.rows)

    def close_search(self) -> None:
        """Hide the search line, and forget what was typed."""
        self._search_bar.put("")
        self.remove_class("-searching")

    def next_mode(self) -> None:
        """Search the same text in the next mode."""
        modes = list(Mode)
        self._search_by(modes[(modes.index(self.view.mode) + 1) % len(modes)])

    def step_out(self) -> None:
        """Go from the search line or a pane to the list, then out of the search."""
        rows = self.rows
        if self.is_searching and (rows.has_focus or self.has_class("-empty") or not self.view.query):
            self.close_search()
            self.look(replace(self.view, query="", similar_to=None))
        rows.focus()

    def asked(self) -> RecallRequest:
        """The agent's recall of the view; its query is blank while nothing is searched for, or not by a message."""
        asked = self._request(self.view, self._clock())
        return replace(asked, query="" if self.view.mode in (Mode.REGEX, Mode.SIMILAR) else asked.query)

    def show_marks(self) -> None:
        """Draw the marks and their count again."""
        self.rows.show_marks()
        self.paint_lines()

    def show_selected(self) -> None:
        """Show the memory under the cursor next to the list, in full as soon as that is here."""
        entry, result = self.rows.selected_entry, self.rows.selected_result
        self.workers.cancel_group(self, "entry")
        if entry is not None and self._is_loading:
            self._show_entry(entry, result)
            if entry.is_excerpt or entry.embedding_dimensions:
                self._load("entry", self._read_entry, entry, result)

    def show_gone(self, error: InspectorError) -> None:
        """Say in the one banner that the store does not answer; what is on the screen stays."""
        self._failure.fail(error)
        self._milliseconds = None
        self._is_away = isinstance(error, GOES_BY)
        self.paint_lines()
        if self.facets is None and not self.rows.row_count:
            self._show_rows(False)
            keys = (("r", "retry"), ("6", "choose another store"))
            self.query_one(Empty).show("The store does not answer.", "", keys)

    def paint_lines(self) -> None:
        """Show search line, facts and summary from what is known now."""
        view, rows, total = self.view, self.rows, self.facets.total if self.facets else None
        lines = self.query_one(FactLine)
        lines.facts, lines.chips, lines.order = fact_words(self.facets, view), view.chips, order_words(view.sort)
        counted = self.facets if self._counted == _what_is_counted(view) else None
        facts = mode_facts(view, self.recalled, counted, self._milliseconds)
        if self._trouble or self._waits_for_enter:
            facts = (self._trouble or "enter to recall",)
        self._search_bar.show_mode(view.mode, facts)
        rows.border_title = view.title
        general = self.library.why_no_vectors if self.library else None
        vector = self._vector_words()
        summary = search_summary(view, self.recalled, total, self._found, general, vector=vector)
        marked, hint = mark_words(len(rows.marks), rows.marks_shown)
        if not self._has_searched and total:
            hint = hint or FIRST_HINT
        if self._trouble:
            # A narrow search line has no room for it, and the rows look like an answer.
            summary = (f"the pattern {self._trouble}", "the list shows the previous search")
        self.query_one(StatusBar).say(marked, *(summary or (hint,)))

    def on_search_bar_mode_chosen(self, event: SearchBar.ModeChosen) -> None:
        self._search_by(event.mode)

    def on_prompt_line_asked(self, event: SearchBar.Asked) -> None:
        # What was typed last may come when the line is closed already.
        if self.is_searching and not self._waits_for_enter:
            self._search(event.text)
        self.paint_lines()

    def on_search_bar_left(self) -> None:
        """What was typed last counts at once, for the keys that come next; the results stay."""
        self._search(self._search_bar.input.value)
        # At once, so that the key that comes next is the list's.
        self.screen.set_focus(self.rows)

    def on_facet_list_toggled(self, event: FacetList.Toggled) -> None:
        self.toggle(event.part, event.value)

    def on_fact_line_chip_clicked(self, event: FactLine.ChipClicked) -> None:
        self.look(self.view.without(event.chip))

    def on_memory_list_sort_wanted(self, event: MemoryList.SortWanted) -> None:
        self.look(self.view.sorted_by(event.field))

    def on_memory_list_rows_wanted(self, event: MemoryList.RowsWanted) -> None:
        if self._is_loading:
            self._load("rows", self._read_rows, event.handles, exclusive=False)

    def on_memory_list_row_highlighted(self) -> None:
        # By way of the list, whose repaint then reaches the screen first: that is what one waits for.
        self.rows.call_later(self.call_after_refresh, self.show_selected)

    def _load(self, group: str, work: Callable[..., Awaitable[None]], *given: object, exclusive: bool = True) -> None:
        start_work(self, group, self._guarded, work, *given, exclusive=exclusive)

    async def _guarded(self, work: Callable[..., Awaitable[None]], *given: object) -> None:
        """Load something; the screen stays when that fails, and a banner says what is wrong."""
        try:
            await work(*given)
        except SearchInterrupted:
            # The store is being closed.
            return
        except InspectorError as error:
            if isinstance(error, UsageError) and self.view.mode is Mode.REGEX:
                # Half typed, most patterns cannot be read: the list stays as it is.
                self._trouble = error.message.removeprefix("The pattern ").rstrip(".")
                self.paint_lines()
                self.query_one(Empty).show(*unusable_pattern(error))
            else:
                self.show_gone(error)

    async def _list(
        self,
        view: View,
        now: datetime,
        keep_place: bool,
        at_top: bool,
        go_to: Handle | None,
        edited: MemoryEntry | None,
    ) -> None:
        """Load the first page, the whole order, and the counts; with `keep_place` the page waits for the order."""
        library = self._library
        memory, chosen, started = library.memory, view.listing_filter(now), self._pace.stopwatch()
        if self._version is None:
            # Read before the rows, so that what is written in between is seen by the next poll.
            self._version = await memory.version()
        first = await memory.rows(Query(EXCERPTS, chosen, view.sort, limit=PAGE_ROWS))
        handles: Sequence[Handle] = [entry.handle for entry in first]
        if not handles:
            self._was_changed = await self._has_change() if view.shows_all else False
            await self._count(view, now)
        self._light_up(Highlights.of(view.sought))
        if not keep_place:
            self._milliseconds = self._since(started)
            self.rows.show_page(first)
            if at_top:
                self.rows.action_top()
            self._answered()
        if len(first) == PAGE_ROWS:
            handles = await memory.rows(Query(HANDLES, chosen, view.sort))
        self._show_order(handles, first, go_to, edited)
        await self._scan(first)
        if handles:
            await self._count(view, now)

    def _show_order(
        self, handles: Sequence[Handle], first: Sequence[MemoryEntry], go_to: Handle | None, edited: MemoryEntry | None
    ) -> None:
        """Show all rows of the listing, with the cursor where it was or on the row `go_to`."""
        rows = self.rows
        was_at_top = rows.scroll_offset.y == 0
        rows.show_order(handles, first)
        every, ages = rows.marks.every, {"older_than": None, "newer_than": None}
        if every is not None and every.but(**ages) == self.view.listing_filter(self._clock()).but(**ages):
            rows.marks.total = len(handles)
        if go_to is not None:
            rows.go_to(go_to)
        elif was_at_top and rows.cursor < rows.size.height - 1:
            # In a list of the newest memories, new ones appear at once.
            rows.scroll_to(y=0, animate=False, force=True)
        if edited is not None and edited.handle not in handles:
            self.notify(f"{one_line(edited.key)[:60]} no longer matches the filters.", markup=False)
        self._answered()

    async def _recall(self, view: View, now: datetime, edited: MemoryEntry | None) -> None:
        """Show what the agent would recall, then how many memories contain the query."""
        library, started = self._library, self._pace.stopwatch()
        # The first recall of a big store reads all its vectors.
        is_big = self.facets is not None and self.facets.total > MANY_ROWS
        words_first = is_big and not self._has_recalled and library.memory.about.rule is None
        trial = library.trial(self._request(view, now))
        async with aclosing(recall_steps(library, trial, words_first=words_first)) as steps:
            async for result in steps:
                if get_current_worker().is_cancelled:
                    # A driver's thread may go on after its await was cancelled.
                    return
                self._show_recall(result, self._since(started), edited)
        self._has_recalled = True
        await self._painted()
        await self._count_again(view, now)
        self._found = (await count_facets(library.memory, view.finding_filter(now), now.isoformat())).total
        self._answered()

    async def _find_similar(self, view: View, now: datetime) -> None:
        """Show the memories nearest to one of them, or to a text."""
        from zeroclaw_tui.curation.similar import similar_memories

        started, text = self._pace.stopwatch(), view.query if view.similar_to is None else ""
        found = await similar_memories(self._library, entry=view.similar_to, text=text, limit=_MAX_SIMILAR)
        self._show_recall(_similar_ranking(found, self._request(view, now)), self._since(started), None)
        await self._count_again(view, now)

    def _show_recall(self, result: RecallResult, milliseconds: float, edited: MemoryEntry | None) -> None:
        self.recalled, self._milliseconds = result, milliseconds
        self._lit, self.rows.lights = MemoryFilter(), NO_HIGHLIGHTS
        self.rows.show_results(result, edited)
        lights = NO_HIGHLIGHTS if result.mode == SIMILAR else highlights_of_message(result.request.query)
        self.rows.call_later(self.call_after_refresh, setattr, self.detail, "lights", lights)
        self._answered()

    async def _read_rows(self, handles: Sequence[Handle]) -> None:
        """Load the rows that have come into sight."""
        entries = await self._library.memory.rows(Query(EXCERPTS, handles=handles))
        self.rows.put_rows(entries)
        await self._scan(entries)

    async def _scan(self, entries: Sequence[MemoryEntry]) -> None:
        """Mark what the agent does not get, after the rows are there: long contents are read for it.

        Of what has no match in what the list holds of it, show where the first one is.
        """
        memory, sought = self._library.memory, self.view.sought
        withheld = [entry for entry in await self._library.scanned(entries) if entry.withheld]
        if withheld:
            self.rows.put_rows(withheld)
        if not sought.looks_for_text:
            return
        lights = await asyncio.to_thread(Highlights.of, sought)
        unlit = await asyncio.to_thread(excerpts_without_match, entries, lights)
        for start in range(0, len(unlit), _READ_WHOLE):
            whole = await memory.rows(Query(ENTRIES, handles=unlit[start : start + _READ_WHOLE]))
            self.rows.show_parts(await asyncio.to_thread(parts_with_matches, whole, lights))

    async def _read_entry(self, entry: MemoryEntry, result: ScoredEntry | None) -> None:
        """Show one memory in full, with the norm of its vector."""
        memory = self._library.memory
        whole = await whole_entry(memory, entry.handle) if entry.is_excerpt else entry
        norm = await vector_norm(memory, entry.handle) if entry.embedding_dimensions else None
        (scanned,) = await self._library.scanned([whole])
        selected = self.rows.selected_entry
        # Its part in one recall has no place among the results of another.
        if selected is not None and (selected.handle, self.rows.selected_result) == (entry.handle, result):
            self._show_entry(scanned, result, norm)

    def _show_entry(self, entry: MemoryEntry, result: ScoredEntry | None, norm: float | None = None) -> None:
        self.detail.show(entry, result, self.recalled, norm)
        if self.follower is not None:
            self.follower(entry, result, norm)

    async def _count(self, view: View, now: datetime) -> None:
        """Count what the filter leaves, and for each part that narrows what would be left without it."""
        memory, moment = self._library.memory, now.isoformat()
        facets = await count_facets(memory, view.listing_filter(now), moment)
        parts = view.facet_filters(now).items()
        others: dict[Part, Facets] = {part: await count_facets(memory, wider, moment) for part, wider in parts}
        self.facets, self.other_facets, self._counted = facets, others, _what_is_counted(view)
        for shown in self._facet_lists():
            shown.show(facets, others, view)
        self.rows.set_look(sort=view.sort, now=self._clock(), show_agent=self._has_agents())
        self.paint_lines()

    async def _count_again(self, view: View, now: datetime) -> None:
        """Count unless that is known for this view."""
        if self._counted != _what_is_counted(view):
            await self._count(view, now)

    async def _has_change(self) -> bool:
        """Whether there is a change to undo here; an unreadable trash is reported where it is shown."""
        try:
            return await self._library.trash.last() is not None
        except InspectorError:
            return False

    def _poll(self) -> None:
        is_asking = any(worker.group == "poll" and not worker.is_finished for worker in self.workers)
        if self._is_loading and not is_asking:
            self._load("poll", self._look_for_changes)

    async def _look_for_changes(self) -> None:
        """Show the view again where another process has written, or where the store answers again."""
        memory = self._library.memory
        if self._is_away:
            # A cached version needs no server; here the server must answer.
            if not await memory.health_check():
                return
            self._is_away = False
            self.call_later(self.look_on)
        before, self._version = self._version, await memory.version()
        # Without an earlier version a listing is under way that is newer than any.
        if before is not None and self._version != before:
            self.call_later(self.look_on)

    @property
    def _library(self) -> Library:
        assert self.library is not None
        return self.library

    @property
    def _waits_for_enter(self) -> bool:
        """Whether what is in the search line is recalled only with Enter: the store is too big for every letter."""
        if self.library is None or self.facets is None or self.view.mode is not Mode.RECALL:
            return False
        most, typed = self.library.memory.about.slow_recall_above, self._search_bar.input.value
        return most is not None and self.facets.total > most and bool(typed.strip()) and typed != self.view.query

    def _request(self, view: View, now: datetime) -> RecallRequest:
        return view.request(now, self._library.config, self._library.memory.about.recall_limit)

    def _search(self, query: str) -> None:
        if query != self.view.query:
            self.look(replace(self.view, query=query, similar_to=None))

    def _search_by(self, mode: Mode) -> None:
        typed = self._search_bar.input.value
        similar_to = self.view.similar_to if typed == self.view.query else None
        view = replace(self.view, mode=mode, query=typed, similar_to=similar_to)
        if typed:
            self.look(view)
        else:
            self.view = view
        self.paint_lines()

    def _light_up(self, lights: Highlights) -> None:
        """Light up what the rows on the screen were found by; what is lit already stays, with what it learnt."""
        sought = self.view.sought if lights else MemoryFilter()
        if sought != self._lit or (self.detail.lights and not lights):
            self._lit = sought
            self.rows.lights = self.detail.lights = lights

    def _answered(self) -> None:
        """An answer is on the screen: the failure before it is over, and what is empty says why."""
        has_rows = self.rows.row_count > 0
        self._failure.hide()
        self._show_rows(has_rows)
        self.paint_lines()
        if not has_rows and self.library is not None:
            self.query_one(Empty).show(*self._why_empty(self.library))
            self.detail.show_nothing("")
            if self.follower is not None:
                self.follower(None, None, None)

    def _why_empty(self, library: Library) -> EmptyWords:
        memory, recalled = library.memory, self.recalled
        remarks = recalled.notes if recalled is not None else ()
        # What holds for every recall here comes last.
        notes = (*sorted(remarks, key=lambda note: note == library.why_no_vectors), self._vector_words())
        return why_empty(
            self.view,
            memory,
            self._found,
            can_write=library.read_only_because is None,
            notes=sentences(memory.about.notices) if memory.about.keeps_nothing else notes,
            is_watched="watch" not in memory.why_not,
            was_changed=self._was_changed,
            is_first=recalled is not None and recalled.awaits_vector,
            hidden=(self.facets.superseded or 0) if self.facets is not None else 0,
        )

    def _vector_words(self) -> str:
        if self.library is None or self.recalled is None or self.library.embedder is None:
            return ""
        is_fetched = self.library.waits_for(self.recalled.request.query)
        return vector_words(self.recalled, self.library.embedding_host if is_fetched else None)

    def _announce_request(self, request: EmbeddingRequest) -> None:
        """Say once that texts go to a host."""
        self.notify(request.description, markup=False)

    def _show_rows(self, has_rows: bool) -> None:
        rows, screen = self.rows, self.screen
        if not has_rows and rows.has_focus:
            # Hidden with the focus on it, the list would hand that on to the search line, and never get it back.
            screen.set_focus(None)
        self.set_class(not has_rows, "-empty")
        if has_rows and screen.focused is None:
            rows.focus()

    def _facet_lists(self) -> list[FacetList]:
        """The pane, and the panel when it is on top."""
        lists = [*self.query(FacetList)]
        return lists if self.app.screen is self.screen else [*lists, *self.app.screen.query(FacetList)]

    def _has_agents(self) -> bool:
        return bool(self.facets and self.facets.agent and len(self.facets.agent) > 1)

    async def _painted(self) -> None:
        """Wait until what is shown now is painted."""
        painted = asyncio.Event()
        if self.call_after_refresh(painted.set):
            await painted.wait()

    def _since(self, started: float) -> float:
        return (self._pace.stopwatch() - started) * 1000


def _what_is_counted(view: View) -> tuple[object, ...]:
    """What the counts of a view depend on, besides the moment."""
    return (view.filter, view.age, view.sought)


def _similar_ranking(found: SimilarResult, request: RecallRequest) -> RecallResult:
    """The nearest memories with a part of the score that says by what they are near: a cosine, or words."""
    is_by_vector = found.method == "vector"
    return RecallResult(
        request=request,
        backend=found.backend,
        location=found.location,
        profile="",
        profile_source="",
        mode=SIMILAR,
        weights=(0.0, 0.0),
        threshold=0.0,
        scale=_SCALES[found.method],
        results=tuple(
            ScoredEntry(
                near.entry,
                near.rank,
                None,
                vector_score=near.score if is_by_vector else None,
                keyword_score=None if is_by_vector else near.score,
                stage=SIMILAR,
                shared=near.shared,
            )
            for near in found.results
        ),
        notes=found.sentences(),
    )
