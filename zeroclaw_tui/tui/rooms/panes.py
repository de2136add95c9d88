"""The panes of the Memories room: search line, facets, list and detail of a view, and their loading."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.reactive import var
from textual.worker import Worker, get_current_worker

from zeroclaw_tui.backends.lookup import count_facets, count_matching, versions_at, whole_entry
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, Locked, NotReachable, SearchInterrupted, UsageError
from zeroclaw_tui.memory.query import EXCERPTS, HANDLES, Query
from zeroclaw_tui.memory.recall import SIMILAR, RecallRequest, RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.commands import Palette, warn
from zeroclaw_tui.tui.store_room import StoreRoom
from zeroclaw_tui.tui.view import (
    NO_HIGHLIGHTS,
    ORDERS,
    Mode,
    Pace,
    Page,
    View,
    highlights_of_filter,
    highlights_of_message,
    order_text,
)
from zeroclaw_tui.tui.widgets.detail import MemoryDetail
from zeroclaw_tui.tui.widgets.facets import FacetList, FilterValues
from zeroclaw_tui.tui.widgets.lines import Banner, Empty, FactLine, SearchBar, StatusBar, StoreFacts, location_text
from zeroclaw_tui.tui.widgets.memory_list import MemoryList
from zeroclaw_tui.tui.widgets.table_list import Marks

FIRST_HINT = "Press / and type a message to see what your agent would recall"
PAGE_ROWS = 200
_MAX_EXCERPT = 200
_SCALES = {"vector": "cosine of vectors", "rare words": "shared rare words"}


class MemoriesRoom(StoreRoom):
    """Search line, facets, list and detail of one store; loads and shows memories, without changing any."""

    CSS_PATH = "browser.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-middle"), (220, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (10, "-low"), (18, "-high")]  # noqa: RUF012
    AUTO_FOCUS = "#list"

    page: var[Page] = var(Page, init=False)
    """The view, and the answer of the store so far."""

    def __init__(self, library: Library, view: View, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__(library, clock, pace)
        self.add_class("-empty")
        self.set_reactive(MemoriesRoom.page, Page(view))
        self._is_loading = True
        self._has_recalled = self._has_searched = False
        self._version: int | None = None
        self._why_no_vectors: str | None = None
        """The fact that the line about the store already shows."""
        self.rows = MemoryList(id="list")
        self.detail = MemoryDetail(id="detail")
        self._facet_list = FacetList(id="facets")
        self._search_bar = SearchBar(pace.debounce, id="search")

    def compose(self) -> ComposeResult:
        yield StoreFacts()
        yield self._search_bar
        yield FactLine(id="facts")
        yield Banner(id="failure")
        panes = {"Filters": self._facet_list, "Memories": self.rows, "Memory": self.detail}
        for title, pane in panes.items():
            pane.border_title = title
            pane.add_class("pane")
        with Horizontal(id="body"):
            yield self._facet_list
            with Container(id="side"):
                with Vertical(id="middle"):
                    yield self.rows
                    yield Empty(id="empty")
                    yield StatusBar(id="status")
                yield self.detail

    def on_mount(self) -> None:
        if self.pace.poll is not None:
            self.set_interval(self.pace.poll, self._poll)
        self.library.on_first_request(partial(self.notify, markup=False))
        self.query_one(Empty).show("Opening …")
        self.show_header()
        self.show_view(self.view)

    @property
    def view(self) -> View:
        """The current filter, order and search."""
        return self.page.view

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Dim unavailable commands, and hide those that make no sense now."""
        is_typing = self._search_bar.input.has_focus
        if action == "search" and is_typing:
            return False
        if action == "search_mode":
            # While typing, and after a search without results.
            return is_typing or (self.has_class("-searching") and self.has_class("-empty"))
        if action in ("next", "previous"):
            return self.has_class("-reading")
        return super().check_action(action, parameters)

    # Display

    def watch_page(self, before: Page, page: Page) -> None:
        """Update all panes except the rows of the list, which their loaders show."""
        view, rows, line = page.view, self.rows, self.query_one(FactLine)
        has_new_counts = (page.counts, page.other_counts) != (before.counts, before.other_counts)
        if has_new_counts or view.selected != before.view.selected:
            # Not at every change, because new lines scroll the facets to their top.
            self._facet_list.show(page.counts, page.other_counts, view)
            line.facts = page.facts
        rows.border_title = view.title
        has_agents = page.counts is not None and len(page.counts.by.get("agent", ())) > 1
        rows.set_look(view.sort, page.now, has_agents, page.highlights)
        self.detail.now = page.now
        line.chips, line.order = view.chips, order_text(view.sort)
        self._search_bar.show_mode(view.mode, ("enter to recall",) if self._waits_for_enter else page.search_facts)
        self._show_status()
        banner = self.query_one(Banner)
        banner.hide() if page.error is None else banner.fail(page.error)
        self._show_empty()
        if not rows.row_count and rows.has_focus:
            # A focused list that is hidden would pass the focus to the search line for good.
            self.set_focus(None)
        self.set_class(not rows.row_count, "-empty")
        if rows.row_count and self.focused is None:
            rows.focus()

    def show_error(self, error: InspectorError) -> None:
        """Show in the banner that the store does not answer; the rest of the screen stays."""
        self._show(error=error, milliseconds=None)

    def _show_entry(self, entry: MemoryEntry, result: ScoredEntry | None) -> None:
        """Show a memory in the detail, as an excerpt until it is loaded, with its result in a recall."""
        title = "Memory"
        if self.has_class("-reading"):
            marked = " ● marked" if entry.id in self.rows.marked else ""
            title = f"Memory {self.rows.cursor + 1:,} of {self.rows.row_count:,}{marked}"
        self.detail.border_title = title
        self.detail.show(entry, result, self.page.recall, self.page.highlights)

    def _show(self, **parts: Any) -> None:
        self.page = replace(self.page, **parts)

    def _show_answer(self, **parts: Any) -> None:
        """Show an answer after its rows: clears the last failure, and an empty list says why."""
        self._show(is_answered=True, error=None, **parts)
        if not self.rows.row_count:
            self.remove_class("-reading")

    def _show_status(self) -> None:
        """Update the status bar: marks, results or a hint."""
        has_memories = self.page.counts is not None and self.page.counts.total
        hint = FIRST_HINT if has_memories and not self._has_searched else ""
        facts = self.page.status(len(self.rows.marked), hint)
        self.query_one(StatusBar).say(*(fact for fact in facts if fact != self._why_no_vectors))

    def _show_empty(self) -> None:
        """Say why there are no rows."""
        page, empty = self.page, self.query_one(Empty)
        if page.bad_pattern is not None:
            empty.show(page.bad_pattern.message, page.bad_pattern.hint or "", (("esc", "close the search"),))
        elif page.error is not None and page.counts is None:
            empty.show("The store does not answer.", "", (("r", "retry"), ("6", "choose another store")))
        elif page.is_answered and not self.rows.row_count:
            empty.show(*page.why_empty(self.library.memory, can_write=self.library.read_only_because is None))

    # The view

    def show_header(self) -> None:
        """Show the store and its scoring."""
        self.app.sub_title = location_text(self.library)
        self.query_one(StoreFacts).show(self.library)
        self._why_no_vectors = self.library.why_no_vectors

    def stop_loading(self) -> None:
        """Stop all queries to the store."""
        self._is_loading = False
        for group in ("list", "rows", "entry", "poll"):
            self.workers.cancel_group(self, group)

    def reload_view(self, *, go_to: Handle | None = None, edited: MemoryEntry | None = None) -> None:
        """Show the same view again at the same position, or with the cursor on the row `go_to`.

        An `edited` memory stays visible in a recall; in a listing, its absence is reported.
        """
        # The reload shows our own write, so the next poll need not.
        self._version = None
        if self.library.memory.about.is_line_based:
            # An id in a store of lines is a line number, which may now belong to another line.
            self.rows.set_marks(())
        self.show_header()
        self.show_view(self.view, go_to=go_to, edited=edited)

    def show_view(self, view: View, *, go_to: Handle | None = None, edited: MemoryEntry | None = None) -> None:
        """Show a view; for the same view the position stays, or the cursor goes to the row `go_to`."""
        before = self.view
        if before.scope != view.scope and self.rows.marked.filter is not None:
            # The marks were all memories of the previous filter.
            self.rows.set_marks(())
        if not self._is_loading:
            self._show(view=view)
            return
        now, recall = self.clock(), self.page.recall if view.is_recall else None
        self._show(view=view, now=now, recall=recall, found=None, bad_pattern=None, is_answered=False)
        self.workers.cancel_group(self, "rows")
        self._load("list", self._rank if view.is_recall else self._list, view, now, before, go_to, edited)

    def action_search(self) -> None:
        """Start a recall search; the previous text is selected, so that typing replaces it."""
        self.add_class("-searching")
        self.remove_class("-reading")
        self._has_searched = True
        self._show_search(replace(self.view, mode=Mode.RECALL, similar_to=None))
        self._search_bar.focus_to_replace()

    def action_search_mode(self) -> None:
        """Search for the same text in the next mode."""
        modes, typed = list(Mode), self._search_bar.input.value
        mode = modes[(modes.index(self.view.mode) + 1) % len(modes)]
        similar_to = self.view.similar_to if typed == self.view.query else None
        self._show_search(replace(self.view, mode=mode, query=typed, similar_to=similar_to))

    def _show_search(self, view: View) -> None:
        """Show another search mode; without a query, the rows stay."""
        if view.query and view != self.view:
            self.show_view(view)
        else:
            self._show(view=view)

    def action_similar(self) -> None:
        """Search for memories similar to this one; typing in the search line replaces its text."""
        entry = self.entry_here()
        if entry is None:
            return
        excerpt = one_line(entry.content[:_MAX_EXCERPT]) or one_line(entry.key[:_MAX_EXCERPT]) or "(no text)"
        self._search_bar.put(excerpt)
        self.add_class("-searching")
        self.show_view(replace(self.view, mode=Mode.SIMILAR, query=excerpt, similar_to=entry))
        self.show_list()

    def action_read(self) -> None:
        """Show the memory under the cursor on the whole screen; the list keys go to the next and previous one."""
        if self.entry_here() is not None:
            self.add_class("-reading")
            self.set_focus(self.detail)
            self._show_selected()

    def action_next(self) -> None:
        self.rows.action_move(1)

    def action_previous(self) -> None:
        self.rows.action_move(-1)

    def on_table_list_row_opened(self) -> None:
        self.action_read()

    def show_list(self) -> None:
        """Go to the list, also from the whole-screen view of a memory."""
        self.remove_class("-reading")
        self._show_selected()
        self.set_focus(self.rows)

    def action_step_out(self) -> None:
        """Go from the whole-screen view, the search line or a pane to the list, then close the search; never quit."""
        is_in_list = self.rows.has_focus or self.has_class("-empty") or not self.view.query
        if self.has_class("-searching") and is_in_list and not self.has_class("-reading"):
            self._search_bar.put("")
            self.remove_class("-searching")
            self.show_view(replace(self.view, query="", similar_to=None))
        self.show_list()

    def recall_request(self) -> RecallRequest:
        """The recall for the view; its query is blank without a search, or if the search is not for a message."""
        request = self._request(self.view, self.clock())
        return replace(request, query="" if self.view.mode in (Mode.REGEX, Mode.SIMILAR) else request.query)

    def on_prompt_line_entered(self, event: SearchBar.Entered) -> None:
        # The event of the last typed text may arrive after the line is closed.
        if self.has_class("-searching") and not self._waits_for_enter:
            self._search(event.text)
        else:
            self._show()

    def action_leave_line(self) -> None:
        """Go to the results, and search for the typed text immediately, so that following keys use it."""
        self._search_bar.stop_waiting()
        self._search(self._search_bar.input.value)
        self.set_focus(self.rows)

    def on_facet_list_toggled(self, event: FacetList.Toggled) -> None:
        self.show_view(self.view.toggled(event.part, event.value))

    def action_same_session(self) -> None:
        """Filter by the session of the memory under the cursor, else its category; again: remove that filter."""
        entry = self.entry_here()
        if entry is not None:
            self.show_view(self.view.toggled(*self.view.part_of(entry)), go_to=entry.handle)

    def action_filter(self) -> None:
        """Choose a value to filter by, or to remove from the filter."""
        self.app.push_screen(Palette(providers=[FilterValues], placeholder="Show only: type to find a value"))

    def action_remove_chip(self, number: int) -> None:
        chip = self.view.chips[number]
        self.show_view(self.view.toggled(chip.part, chip.value))

    def action_no_filter(self) -> None:
        self.show_view(replace(self.view, selected=()))

    def action_sort(self) -> None:
        """Sort the list by another column, or reverse its order."""
        from zeroclaw_tui.tui.dialogs import Answer, choice

        view = self.view
        choices = [Answer("", order_text(view.sorted_by(sort.field).sort), sort.field) for sort, *_ in ORDERS]
        index = [sort.field for sort, *_ in ORDERS].index(view.sort.field)
        choices[index] = replace(choices[index], words=order_text(view.sort), remark="again: reversed")
        question = choice("Sort by?", choices, view.sort.field)
        self.app.push_screen(question, lambda field: None if field is None else self.show_view(view.sorted_by(field)))

    def action_reload(self) -> None:
        self.reload_view()

    def action_mark(self) -> None:
        self.rows.toggle_mark()

    def action_mark_range(self) -> None:
        if self.rows.marked.filter is None:
            self.run_background("marks", self._mark_range, exclusive=False)

    async def _mark_range(self) -> None:
        versions = await versions_at(self.library.memory, self.rows.handles_to_anchor())
        self.rows.set_marks((*self.rows.marks, *(version.id for version in versions)))

    def action_mark_all(self) -> None:
        """Mark all memories of the view, including those not loaded; if all are marked, unmark them."""
        if self.view.is_recall:
            self.rows.mark_all()
        elif self.rows.marked.is_whole:
            self.rows.set_marks(())
        else:
            self.rows.set_marks(Marks((), self.view.listing_filter(self.clock()), self.rows.row_count))

    def on_table_list_marks_changed(self) -> None:
        self._show_status()

    def entry_here(self) -> MemoryEntry | None:
        """The memory under the cursor; None, with a warning, if there is none."""
        entry = self.rows.selected_entry
        if entry is None:
            warn(self, "There is no memory under the cursor.")
        return entry

    def on_memory_list_rows_wanted(self, event: MemoryList.RowsWanted) -> None:
        if self._is_loading:
            self._load("rows", self._read_rows, event.handles, exclusive=False)

    def on_table_list_row_highlighted(self) -> None:
        # Called through the list, so that its repaint, which the user waits for, reaches the screen first.
        self.rows.call_later(self.call_after_refresh, self._show_selected)

    def _show_selected(self) -> None:
        """Show the memory under the cursor in the detail, in full once it is loaded."""
        entry, result = self.rows.selected_entry, self.rows.selected_result
        self.workers.cancel_group(self, "entry")
        if entry is not None and self._is_loading:
            self._show_entry(entry, result)
            if entry.is_excerpt or entry.embedding_dimensions:
                self._load("entry", self._read_entry, entry, result)

    def _search(self, query: str) -> None:
        if query != self.view.query:
            self.show_view(replace(self.view, query=query, similar_to=None))

    @property
    def _waits_for_enter(self) -> bool:
        """Whether the typed message is recalled only on Enter, because the store is too big to recall at every key."""
        if self.page.counts is None or self.view.mode is not Mode.RECALL:
            return False
        most, typed = self.library.memory.about.slow_recall_above, self._search_bar.input.value
        return most is not None and self.page.counts.total > most and bool(typed.strip()) and typed != self.view.query

    # Loading

    def _load(self, group: str, work: Callable[..., Awaitable[None]], *args: object, exclusive: bool = True) -> None:
        """Run a query in the background; a failure is shown in the banner."""

        async def run() -> None:
            try:
                await work(*args)
            except SearchInterrupted:
                # A newer query interrupted this one, or the store is being closed.
                return
            except InspectorError as error:
                self._show_failure(error)

        # mypy cannot infer the type of the result.
        _: Worker[None] = self.run_worker(run, group=group, exclusive=exclusive)

    def _show_failure(self, error: InspectorError) -> None:
        """Show a failure in the banner, except an invalid pattern, which may be half typed."""
        if isinstance(error, UsageError) and self.view.mode is Mode.REGEX:
            self._show(bad_pattern=error)
        else:
            self.show_error(error)

    async def _list(
        self, view: View, now: datetime, before: View, go_to: Handle | None, edited: MemoryEntry | None
    ) -> None:
        """Load the first page, the whole order and the counts; for the same view, show the page only with the order."""
        memory, chosen, rows, started = self.library.memory, view.listing_filter(now), self.rows, self.pace.stopwatch()
        if self._version is None:
            # Read before the rows, so that the next poll notices writes in between.
            self._version = await memory.version()
        first = await memory.rows(Query(EXCERPTS, chosen, view.sort, limit=PAGE_ROWS))
        handles: Sequence[Handle] = [entry.handle for entry in first]
        highlights = highlights_of_filter(view.text_filter)
        if view != before or not rows.is_filled:
            rows.show_page(first)
            if view.sort != before.sort:
                rows.action_top()
            self._show_answer(highlights=highlights, milliseconds=self._since(started))
        if len(first) == PAGE_ROWS:
            handles = await memory.rows(Query(HANDLES, chosen, view.sort))
        rows.show_order(handles, first)
        if rows.marked.filter is not None:
            rows.marked.total = len(handles)
        rows.go_to(go_to)
        if edited is not None and edited.handle not in handles:
            self.notify(f"{one_line(edited.key)[:60]} is no longer in this list.", markup=False)
        self._show_answer(highlights=highlights)
        await self._scan(first)
        await self._count(view, now)

    async def _rank(
        self, view: View, now: datetime, before: View, go_to: Handle | None, edited: MemoryEntry | None
    ) -> None:
        """Show the recall or the similar memories, then the counts of the filter."""
        library, started, request = self.library, self.pace.stopwatch(), self._request(view, now)
        if view.is_similar:
            steps = self._similar(view, request)
        else:
            from zeroclaw_tui.curation.recall import recall_steps

            # The first recall of a big store shows keyword results before all vectors are read.
            is_big = self.page.counts is not None and self.page.counts.total > 20_000
            keywords_first = is_big and not self._has_recalled and library.memory.about.rule is None
            steps = recall_steps(library, request, keywords_first=keywords_first)
        async with aclosing(steps):
            async for result in steps:
                if get_current_worker().is_cancelled:
                    # The thread of a driver may continue after its await was cancelled.
                    return
                self.rows.show_results(result, edited)
                self.rows.go_to(go_to)
                go_to = None
                highlights = NO_HIGHLIGHTS if view.is_similar else highlights_of_message(view.query)
                vector = "" if view.is_similar else self._vector_text(result)
                took = self._since(started)
                self._show_answer(recall=result, vector_text=vector, highlights=highlights, milliseconds=took)
        # The counts must not delay the painting of the results.
        painted = asyncio.Event()
        if self.call_after_refresh(painted.set):
            await painted.wait()
        if view == before or self.page.scope != view.scope:
            await self._count(view, now)
        if not view.is_similar:
            self._has_recalled = True
            finding = replace(view, mode=Mode.CONTAINS).listing_filter(now)
            self._show(found=await count_matching(library.memory, finding))

    def _vector_text(self, recall: RecallResult) -> str:
        """Describe the awaited vector step: the request for the query's vector, or the comparison."""
        if not recall.awaits_vector:
            return ""
        from zeroclaw_tui.curation.recall import requests_vector

        if requests_vector(self.library, recall.request.query):
            return f"getting the query vector from {one_line(self.library.embedding_host)} …"
        return "comparing the vectors …"

    async def _similar(self, view: View, request: RecallRequest) -> AsyncGenerator[RecallResult, None]:
        """Find the memories nearest to a memory or a text, as a ranking by cosine or by words."""
        from zeroclaw_tui.curation.similar import SimilarMemory, similar_memories

        text = view.query if view.similar_to is None else ""
        found = await similar_memories(self.library, entry=view.similar_to, text=text, limit=50)

        def result_of(near: SimilarMemory) -> ScoredEntry:
            vector, keyword = (near.score, None) if found.method == "vector" else (None, near.score)
            return ScoredEntry(near.entry, near.rank, None, vector_score=vector, keyword_score=keyword, stage=SIMILAR)

        yield RecallResult(
            request=request,
            backend=found.backend,
            location=found.location,
            profile="",
            profile_source="",
            mode=SIMILAR,
            weights=(0.0, 0.0),
            threshold=0.0,
            scale=_SCALES[found.method],
            results=tuple(map(result_of, found.results)),
            injected=0,
            notes=found.sentences(),
        )

    async def _read_rows(self, handles: Sequence[Handle]) -> None:
        """Load rows that became visible."""
        entries = await self.library.memory.rows(Query(EXCERPTS, handles=handles))
        self.rows.put_rows(entries)
        await self._scan(entries)

    async def _scan(self, entries: Sequence[MemoryEntry]) -> None:
        """Mark withheld memories after the rows are shown, because this reads their whole contents."""
        withheld = [entry for entry in await self.library.scan_entries(entries) if entry.withheld]
        if withheld:
            self.rows.put_rows(withheld)

    async def _read_entry(self, entry: MemoryEntry, result: ScoredEntry | None) -> None:
        """Load and show a memory in full."""
        whole = await whole_entry(self.library.memory, entry.handle) if entry.is_excerpt else entry
        (scanned,) = await self.library.scan_entries([whole])
        selected = self.rows.selected_entry
        # The result of one recall must not be shown with another recall.
        if selected is not None and (selected.handle, self.rows.selected_result) == (entry.handle, result):
            self._show_entry(scanned, result)

    async def _count(self, view: View, now: datetime) -> None:
        """Count the memories of the filter, and those of the filter without each selected part."""
        memory, moment = self.library.memory, now.isoformat()
        counts = await count_facets(memory, view.listing_filter(now), moment)
        others = {part: await count_facets(memory, wider, moment) for part, wider in view.facet_filters(now).items()}
        self._show(counts=counts, other_counts=others, scope=view.scope)

    def _poll(self) -> None:
        is_polling = any(worker.group == "poll" and not worker.is_finished for worker in self.workers)
        if self._is_loading and not is_polling:
            self._load("poll", self._check_for_changes)

    async def _check_for_changes(self) -> None:
        """Reload if another process has written, or if the store answers again."""
        # After these failures the store may become available again.
        memory, is_away = self.library.memory, isinstance(self.page.error, (NotReachable, Locked))
        # version() may be cached without a server; health_check() needs an answer of the server.
        if is_away and not await memory.health_check():
            return
        version = await memory.version()
        # Read only now, because a reload during the query has already shown the new version.
        before, self._version = self._version, version
        # Without an earlier version, a newer listing is already being loaded.
        if is_away or (before is not None and self._version != before):
            self._show(error=None)
            self.call_later(self.reload_view)

    def _request(self, view: View, now: datetime) -> RecallRequest:
        own_rule = self.library.memory.about.rule
        return view.request(now, self.library.config, None if own_rule is None else own_rule.limit)

    def _since(self, started: float) -> float:
        return (self.pace.stopwatch() - started) * 1000
