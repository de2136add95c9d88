"""The panes of Memories: search line, facets, list and detail of one view, and how they are loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.message import Message
from textual.reactive import var
from textual.worker import get_current_worker

from zeroclaw_tui.backends.lookup import count_facets, whole_entry
from zeroclaw_tui.curation.recall import recall_steps
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, Locked, NotReachable, SearchInterrupted, UsageError
from zeroclaw_tui.memory.query import EXCERPTS, HANDLES, MemoryFilter, Query
from zeroclaw_tui.memory.recall import SIMILAR, RecallRequest, RecallResult, ScoredEntry
from zeroclaw_tui.memory.statistics import Counts
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui import view as words
from zeroclaw_tui.tui.commands import start_work
from zeroclaw_tui.tui.format import NO_HIGHLIGHTS, Highlights, highlights_of_message
from zeroclaw_tui.tui.view import Mode, Pace, Part, View
from zeroclaw_tui.tui.widgets.detail import MemoryDetail
from zeroclaw_tui.tui.widgets.facets import FacetList
from zeroclaw_tui.tui.widgets.header import Empty, StoreFacts, location_words
from zeroclaw_tui.tui.widgets.lines import Banner, FactLine, SearchBar, StatusBar
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.similar import SimilarResult

GOES_BY = (NotReachable, Locked)
"""Failures after which a store may answer again by itself."""
FIRST_HINT = "Press / and type a message to see what your agent would recall"
PAGE_ROWS = 200
MANY_ROWS = 20_000
"""Of more memories a first recall shows its keyword hits before all vectors are read."""
_MAX_SIMILAR = 50
_MAX_EXCERPT = 200
_SCALES = {"vector": "cosine of vectors", "rare words": "shared rare words"}
_LOADS = ("list", "rows", "entry", "poll")


class Shown(NamedTuple):
    """The memory under the cursor, an excerpt until the whole is here, with its part in a recall."""

    entry: MemoryEntry
    result: ScoredEntry | None


class BrowserPanes(Vertical):
    """Search line, facets, list and detail of one store; it loads and shows, and changes nothing."""

    shown: var[Shown | None] = var(None, init=False, always_update=True)
    """What the detail shows; None where the list is empty."""

    class ViewChanged(Message):
        """The filter or the search has changed."""

    def __init__(self, clock: Callable[[], datetime], pace: Pace, id: str | None = None) -> None:
        super().__init__(id=id, classes="-empty")
        self.library: Library | None = None
        self.view = View()
        self.facets: Counts | None = None
        self.other_facets: Mapping[Part, Counts] = {}
        self.recalled: RecallResult | None = None
        self._clock = clock
        self._pace = pace
        self._is_loading = self._is_away = self._has_recalled = self._has_searched = False
        self._version: int | None = None
        self._counted: tuple[object, ...] | None = None
        self._found: int | None = None
        self._milliseconds: float | None = None
        self._bad_pattern = ""
        self._text_filter: MemoryFilter | None = None
        self.lights = NO_HIGHLIGHTS
        self.rows = MemoryList(id="list")
        self.detail = MemoryDetail(id="detail")
        self._facet_list = FacetList(id="facets")
        self._failure = Banner(id="failure")
        self._search_bar = SearchBar(pace.debounce, id="search")

    def compose(self) -> ComposeResult:
        yield self._search_bar
        yield FactLine(id="facts")
        yield self._failure
        panes = {"Filters": self._facet_list, "Memories": self.rows, "Memory": self.detail}
        for title, pane in panes.items():
            pane.border_title = title
            pane.add_class("pane")
        with Horizontal(id="body"):
            yield self._facet_list
            with Container(id="beside"):
                with Vertical(id="middle"):
                    yield self.rows
                    yield Empty(id="empty")
                    yield StatusBar(id="status")
                yield self.detail

    def on_mount(self) -> None:
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

    def show_library(self, library: Library, view: View) -> None:
        """Show this store from now on."""
        self.stop_loading()
        self.library, self._is_loading = library, True
        self.facets, self.other_facets = None, {}
        self._counted = self._version = None
        self._is_away = self._has_recalled = False
        library.on_first_request(partial(self.notify, markup=False))
        self.show_header()
        self._failure.hide()
        self.query_one(Empty).show("Opening …")
        self.close_search()
        self.rows.show_page(())
        self.rows.marked.clear()
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
        self.look_again()

    def look_again(self, *, go_to: Handle | None = None, edited: MemoryEntry | None = None) -> None:
        """Show the same view again, its place kept, with the cursor on the row `go_to`.

        What was `edited` stays in sight of a recall, or is reported as no longer in this list.
        """
        self.look(self.view, keep_place=True, go_to=go_to, edited=edited)

    def look(
        self,
        view: View,
        *,
        keep_place: bool = False,
        go_to: Handle | None = None,
        edited: MemoryEntry | None = None,
    ) -> None:
        """Show another view, with the cursor on the row `go_to`."""
        before, self.view = self.view, view
        if self.library is None or not self._is_loading:
            return
        if _what_is_counted(before) != _what_is_counted(view):
            self.post_message(self.ViewChanged())
        now = self._clock()
        if keep_place:
            # It shows what was written just now, so that no poll has to.
            self._version = None
        self.recalled = self.recalled if view.is_recall else None
        self._found, self._bad_pattern = None, ""
        self.rows.set_look(sort=view.sort, now=now, show_agent=self._has_agents())
        self.detail.now = now
        self._facet_list.show(self.facets, self.other_facets, self.view)
        self.paint_lines()
        self.workers.cancel_group(self, "rows")
        if view.is_similar:
            self._load("list", self._find_similar, view, now)
        elif view.is_recall:
            self._load("list", self._recall, view, now, edited)
        else:
            at_top = before.sort != view.sort
            self._load("list", self._list, view, now, keep_place, at_top, go_to, edited)

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
        self._search_bar.focus_to_replace()

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
        modes, typed = list(Mode), self._search_bar.input.value
        mode = modes[(modes.index(self.view.mode) + 1) % len(modes)]
        similar_to = self.view.similar_to if typed == self.view.query else None
        view = replace(self.view, mode=mode, query=typed, similar_to=similar_to)
        if typed:
            self.look(view)
        self.view = view
        self.paint_lines()

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
        self.rows.redraw()
        self.paint_lines()

    def show_not_reachable(self, error: InspectorError) -> None:
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
        lines.facts, lines.chips = words.fact_words(self.facets, view), view.chips
        lines.order = words.order_words(view.sort)
        counted = self.facets if self._counted == _what_is_counted(view) else None
        facts = words.mode_facts(view, self.recalled, counted, self._milliseconds)
        if self._bad_pattern or self._waits_for_enter:
            facts = (self._bad_pattern or "enter to recall",)
        self._search_bar.show_mode(view.mode, facts)
        rows.border_title = view.title
        summary = words.search_summary(view, self.recalled, total, self._found, self._vector_words())
        marked, hint = words.mark_words(len(rows.marked))
        if not self._has_searched and total:
            hint = hint or FIRST_HINT
        if self._bad_pattern:
            # A narrow search line has no room for it, and the rows look like an answer.
            summary = (f"the pattern {self._bad_pattern}", "the list shows the previous search")
        self.query_one(StatusBar).say(marked, *(summary or (hint,)))

    def watch_shown(self, shown: Shown | None) -> None:
        if shown is not None:
            self.detail.show(shown.entry, shown.result, self.recalled, self.lights)

    def on_prompt_line_asked(self, event: SearchBar.Asked) -> None:
        # What was typed last may come when the line is closed already.
        if self.is_searching and not self._waits_for_enter:
            self._search(event.text)
        self.paint_lines()

    def on_search_bar_left(self) -> None:
        """What was typed last counts at once, for the keys that come next; the results stay."""
        self._search(self._search_bar.input.value)
        self.screen.set_focus(self.rows)

    def on_facet_list_toggled(self, event: FacetList.Toggled) -> None:
        self.toggle(event.part, event.value)

    def on_fact_line_chip_clicked(self, event: FactLine.ChipClicked) -> None:
        self.look(self.view.without(event.chip))

    def on_memory_list_rows_wanted(self, event: MemoryList.RowsWanted) -> None:
        if self._is_loading:
            self._load("rows", self._read_rows, event.handles, exclusive=False)

    def on_table_list_row_highlighted(self) -> None:
        # By way of the list, whose repaint then reaches the screen first: that is what one waits for.
        self.rows.call_later(self.call_after_refresh, self._show_selected)

    def _show_selected(self) -> None:
        """Show the memory under the cursor next to the list, in full as soon as that is here."""
        entry, result = self.rows.selected_entry, self.rows.selected_result
        self.workers.cancel_group(self, "entry")
        if entry is not None and self._is_loading:
            self.shown = Shown(entry, result)
            if entry.is_excerpt or entry.embedding_dimensions:
                self._load("entry", self._read_entry, entry, result)

    def _load(self, group: str, work: Callable[..., Awaitable[None]], *args: object, exclusive: bool = True) -> None:
        start_work(self, group, self._guarded, work, *args, exclusive=exclusive)

    async def _guarded(self, work: Callable[..., Awaitable[None]], *args: object) -> None:
        """Load something; the screen stays when that fails, and a banner says what is wrong."""
        try:
            await work(*args)
        except SearchInterrupted:
            # The store is being closed.
            return
        except InspectorError as error:
            if isinstance(error, UsageError) and self.view.mode is Mode.REGEX:
                # Half typed, most patterns cannot be read: the list stays as it is.
                self._bad_pattern = error.message.removeprefix("The pattern ").rstrip(".")
                self.paint_lines()
                self.query_one(Empty).show(error.message, error.hint or "", (("esc", "close the search"),))
            else:
                self.show_not_reachable(error)

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
        memory, chosen, rows, started = self._memory, view.listing_filter(now), self.rows, self._pace.stopwatch()
        if self._version is None:
            # Read before the rows, so that what is written in between is seen by the next poll.
            self._version = await memory.version()
        first = await memory.rows(Query(EXCERPTS, chosen, view.sort, limit=PAGE_ROWS))
        handles: Sequence[Handle] = [entry.handle for entry in first]
        if not handles:
            await self._count(view, now)
        if self._text_filter != view.text_filter:
            # Patterns that were too slow for one list are not tried again in the same.
            self.lights = Highlights.of(view.text_filter)
            rows.highlight(self.lights)
            self._text_filter = view.text_filter
        if not keep_place:
            self._milliseconds = self._since(started)
            rows.show_page(first)
            if at_top:
                rows.action_top()
            self._answered()
        if len(first) == PAGE_ROWS:
            handles = await memory.rows(Query(HANDLES, chosen, view.sort))
        rows.show_order(handles, first)
        rows.marked.recount(chosen, len(handles))
        if go_to is not None:
            rows.go_to(go_to)
        if edited is not None and edited.handle not in handles:
            self.notify(f"{one_line(edited.key)[:60]} is no longer in this list.", markup=False)
        self._answered()
        await self._scan(first)
        if handles:
            await self._count(view, now)

    async def _recall(self, view: View, now: datetime, edited: MemoryEntry | None) -> None:
        """Show what the agent would recall, then how many memories contain the query."""
        library, started = self._open_library, self._pace.stopwatch()
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
        found = await similar_memories(self._open_library, entry=view.similar_to, text=text, limit=_MAX_SIMILAR)
        self._show_recall(_similar_ranking(found, self._request(view, now)), self._since(started), None)
        await self._count_again(view, now)

    def _show_recall(self, result: RecallResult, milliseconds: float, edited: MemoryEntry | None) -> None:
        self.recalled, self._milliseconds, self._text_filter = result, milliseconds, None
        self.lights = NO_HIGHLIGHTS if result.mode == SIMILAR else highlights_of_message(result.request.query)
        self.rows.show_results(result, edited)
        self._answered()

    async def _read_rows(self, handles: Sequence[Handle]) -> None:
        """Load the rows that have come into sight."""
        entries = await self._memory.rows(Query(EXCERPTS, handles=handles))
        self.rows.put_rows(entries)
        await self._scan(entries)

    async def _scan(self, entries: Sequence[MemoryEntry]) -> None:
        """Mark what the agent does not get, after the rows are there: long contents are read for it."""
        withheld = [entry for entry in await self._open_library.scanned(entries) if entry.withheld]
        if withheld:
            self.rows.put_rows(withheld)

    async def _read_entry(self, entry: MemoryEntry, result: ScoredEntry | None) -> None:
        """Show one memory in full."""
        whole = await whole_entry(self._memory, entry.handle) if entry.is_excerpt else entry
        (scanned,) = await self._open_library.scanned([whole])
        selected = self.rows.selected_entry
        # Its part in one recall has no place among the results of another.
        if selected is not None and (selected.handle, self.rows.selected_result) == (entry.handle, result):
            self.shown = Shown(scanned, result)

    async def _count(self, view: View, now: datetime) -> None:
        """Count what the filter leaves, and for each part that narrows what would be left without it."""
        moment, parts = now.isoformat(), view.facet_filters(now).items()
        facets = await count_facets(self._memory, view.listing_filter(now), moment)
        others: dict[Part, Counts] = {part: await count_facets(self._memory, wider, moment) for part, wider in parts}
        self.facets, self.other_facets, self._counted = facets, others, _what_is_counted(view)
        self._facet_list.show(self.facets, self.other_facets, self.view)
        self.rows.set_look(sort=view.sort, now=self._clock(), show_agent=self._has_agents())
        self.paint_lines()

    async def _count_again(self, view: View, now: datetime) -> None:
        """Count unless that is known for this view."""
        if self._counted != _what_is_counted(view):
            await self._count(view, now)

    def _poll(self) -> None:
        is_asking = any(worker.group == "poll" and not worker.is_finished for worker in self.workers)
        if self._is_loading and not is_asking:
            self._load("poll", self._look_for_changes)

    async def _look_for_changes(self) -> None:
        """Show the view again where another process has written, or where the store answers again."""
        memory = self._memory
        # A cached version needs no server; of a store that was away the server must answer.
        if self._is_away and not await memory.health_check():
            return
        before, self._version = self._version, await memory.version()
        # Without an earlier version a listing is under way that is newer than any.
        if self._is_away or (before is not None and self._version != before):
            self._is_away = False
            self.call_later(self.look_again)

    @property
    def _open_library(self) -> Library:
        assert self.library is not None
        return self.library

    @property
    def _memory(self) -> Memory:
        return self._open_library.memory

    @property
    def _waits_for_enter(self) -> bool:
        """Whether what is in the search line is recalled only with Enter: the store is too big for every letter."""
        if self.library is None or self.facets is None or self.view.mode is not Mode.RECALL:
            return False
        most, typed = self._memory.about.slow_recall_above, self._search_bar.input.value
        return most is not None and self.facets.total > most and bool(typed.strip()) and typed != self.view.query

    def _request(self, view: View, now: datetime) -> RecallRequest:
        return view.request(now, self._open_library.config, self._memory.about.recall_limit)

    def _search(self, query: str) -> None:
        if query != self.view.query:
            self.look(replace(self.view, query=query, similar_to=None))

    def _answered(self) -> None:
        """An answer is on the screen: the failure before it is over, and what is empty says why."""
        has_rows = self.rows.row_count > 0
        self._failure.hide()
        self._show_rows(has_rows)
        self.paint_lines()
        if not has_rows:
            why_empty = words.why_empty(
                self.view,
                self._memory,
                self._found,
                notes=(*(self.recalled.notes if self.recalled else ()), self._vector_words()),
                can_write=self._open_library.read_only_because is None,
                hidden=self.facets.superseded if self.facets is not None else 0,
            )
            self.query_one(Empty).show(*why_empty)
            self.shown = None

    def _vector_words(self) -> str:
        if self.library is None or self.recalled is None or self.library.embedder is None:
            return ""
        is_fetched = self.library.waits_for(self.recalled.request.query)
        return words.vector_words(self.recalled, self.library.embedding_host if is_fetched else None)

    def _show_rows(self, has_rows: bool) -> None:
        rows, screen = self.rows, self.screen
        if not has_rows and rows.has_focus:
            # Hidden with the focus on it, the list would hand that on to the search line, and never get it back.
            screen.set_focus(None)
        self.set_class(not has_rows, "-empty")
        if has_rows and screen.focused is None:
            rows.focus()

    def _has_agents(self) -> bool:
        return self.facets is not None and len(self.facets.by.get("agent", ())) > 1

    async def _painted(self) -> None:
        """Wait until what is shown now is painted."""
        painted = asyncio.Event()
        if self.call_after_refresh(painted.set):
            await painted.wait()

    def _since(self, started: float) -> float:
        return (self._pace.stopwatch() - started) * 1000


def _what_is_counted(view: View) -> tuple[object, ...]:
    """What the counts and the rows of a view depend on, besides the moment."""
    return (view.filter, view.age, view.text_filter)


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
            )
            for near in found.results
        ),
        notes=found.sentences(),
    )
