"""The panes of the browser: the view, and how the store's answers reach the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.message import Message

from zeroclaw_tui.backends.about import sentences
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, UsageError
from zeroclaw_tui.memory.query import Facets, MemoryFilter
from zeroclaw_tui.memory.recall import SIMILAR, RecallRequest, RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import NO_HIGHLIGHTS, Highlights, highlights_of_message
from zeroclaw_tui.tui.loader import GOES_BY, Loader
from zeroclaw_tui.tui.view import (
    EmptyWords,
    Mode,
    Pace,
    Part,
    View,
    empty_so_far,
    fact_words,
    mark_words,
    mode_facts,
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
    from zeroclaw_tui.embeddings.base import EmbeddingRequest

FIRST_HINT = "Press / and type a message to see what your agent would recall"
_MAX_EXCERPT = 200
_NO_TEXT = "(no text)"


class BrowserPanes(Vertical):
    """Search bar, facets, list and detail of one library; it looks, and changes nothing.

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
        self._clock = clock
        self._pace = pace
        self._loader: Loader | None = None
        self._recalled_keys: tuple[str, ...] | None = None
        self._lit = MemoryFilter()
        self._found: int | None = None
        self._trouble = self._meanwhile = ""
        self._milliseconds: float | None = None
        self._starts_at_top = False
        self._glows_news = False
        self._go_to: Handle | None = None
        self._edited: MemoryEntry | None = None
        self._has_answered = self._has_searched = False
        self._is_unanswered = False
        self._was_changed = False
        self._announced_hosts: set[str] = set()
        self.rows = MemoryList(id="list", takes_marks=True)
        """The memories."""
        self.detail = MemoryDetail(id="detail")
        """The memory under the cursor."""
        self.facet_list = FacetList(id="facets")
        """The counts next to the list."""
        self.copies_banner = Banner(id="copies")
        """The banner that reports other copies of a text."""
        self._failure = Banner(id="failure")
        self._search_bar = SearchBar(pace.debounce, id="search")
        self.facet_list.border_title, self.rows.border_title, self.detail.border_title = "Filters", "Memories", "Memory"
        self.follower: Callable[[MemoryEntry | None, ScoredEntry | None, float | None], None] | None = None
        """Is told which memory is under the cursor, an excerpt until the whole is there; None where nothing is."""

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
        """Whether the search bar is shown instead of the facts."""
        return self.has_class("-searching")

    @property
    def is_typing(self) -> bool:
        """Whether what is typed goes into the search bar."""
        return self._search_bar.input.has_focus

    @property
    def is_choosing_mode(self) -> bool:
        """Whether tab means the next search mode: while one types, and where nothing was found to go to."""
        return self.is_typing or (self.is_searching and self.has_class("-empty"))

    def show_library(self, library: Library, view: View, other_install: str | None = None) -> None:
        """Show this store from now on; `other_install` is where another one is, if there is one."""
        self.stop_loading()
        self.library, self._loader = library, Loader(self, library, self._pace)
        self._recalled_keys = None
        library.on_first_request(self._announce_request)
        self.facets, self.other_facets = None, {}
        self._has_answered = False
        self.show_header()
        self._failure.hide()
        self.copies_banner.hide()
        banner = self.query_one("#other-install", Banner)
        banner.hide()
        if other_install:
            banner.show(
                "quiet",
                f"Another install here: {other_install}",
                ":",
                "to choose it",
                "app.installs",
                typed="installs",
            )
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
        """Which store, and how it is scored now."""
        if self.library is not None:
            self.app.sub_title = location_words(self.library)
            self.screen.query_one(StoreFacts).show(self.library)

    def stop_loading(self) -> None:
        """Stop waiting for answers."""
        if self._loader is not None:
            self._loader.stop()
        self._loader = None

    def start_loading(self) -> None:
        """Ask the same store again from now on."""
        if self.library is not None:
            self._loader = Loader(self, self.library, self._pace)
            self._loader.recalled_keys = self._recalled_keys
            self.look_on()

    def look(self, view: View, *, keep_place: bool = False, go_to: Handle | None = None) -> None:
        """Look at something else, or with `keep_place` at the same again; the cursor goes to the row `go_to`."""
        is_reordered = (view.sort, view.recalled) != (self.view.sort, self.view.recalled)
        before, self._starts_at_top = self.view, is_reordered
        self.view = view
        if self._loader is None:
            return
        if not keep_place:
            self._edited, self._go_to = None, go_to
        if (before.filter, before.age, before.sought) != (view.filter, view.age, view.sought):
            self.post_message(self.ViewChanged())
        now = self._clock()
        self.recalled = self.recalled if view.is_recall else None
        self._found = None
        self.rows.set_look(sort=view.sort, now=now, show_agent=self._has_agents())
        self._trouble = ""
        self.detail.now = now
        if (before.filter, before.age, before.ignored) != (view.filter, view.age, view.ignored):
            for facets in self._facet_lists():
                facets.mark(view)
        self.paint_lines()
        if view.is_similar:
            self._loader.find_similar(view, now)
        elif view.is_recall:
            self._loader.recall(view, now)
        else:
            self._loader.list_memories(view, now, keep_place=keep_place)

    def look_again(
        self, *, glows_news: bool = False, go_to: Handle | None = None, edited: MemoryEntry | None = None
    ) -> None:
        """Something was changed here: the same view again at once, its place kept.

        With `glows_news` rows that were not there before light up, with `go_to` the cursor goes to that row. What was
        `edited` stays in sight, or is reported as no longer in this view.
        """
        self._glows_news, self._go_to, self._edited = glows_news, go_to, edited
        if self._loader is not None:
            self._loader.changed_here()
        self.look(self.view, keep_place=True)

    def toggle(self, part: Part, value: str) -> None:
        """Narrow, or widen again."""
        if part == "recalled":
            is_narrowed = self.view.has("recalled", value)
            self.look(self.view.with_never_recalled(None if is_narrowed else self._recalled_keys))
        else:
            self.look(self.view.toggled(part, value))

    def know_recalls(self, keys: tuple[str, ...]) -> None:
        """Count from now on what is in nothing that is recorded, which is what has none of these keys."""
        self._recalled_keys = keys
        if self._loader is not None:
            self._loader.recalled_keys = keys
            self.look_on()

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
        """Search for memories similar to one; its text is in the search bar, to be typed over."""
        excerpt = one_line(entry.content[:_MAX_EXCERPT]) or one_line(entry.key[:_MAX_EXCERPT]) or _NO_TEXT
        self._search_bar.put(excerpt)
        self.add_class("-searching")
        self.look(replace(self.view, mode=Mode.SIMILAR, query=excerpt, similar_to=entry))
        self.screen.set_focus(self.rows)

    def close_search(self) -> None:
        """No search bar, and nothing in it."""
        self._search_bar.put("")
        self.remove_class("-searching")

    def on_search_bar_mode_chosen(self, event: SearchBar.ModeChosen) -> None:
        self._search_by(event.mode)

    def next_mode(self) -> None:
        """The next way to search, for the same text."""
        modes = list(Mode)
        self._search_by(modes[(modes.index(self.view.mode) + 1) % len(modes)])

    def _search_by(self, mode: Mode) -> None:
        typed = self._search_bar.input.value
        similar_to = self.view.similar_to if typed == self.view.query else None
        view = replace(self.view, mode=mode, query=typed, similar_to=similar_to)
        if typed:
            self.look(view)
        else:
            self.view = view
        self.paint_lines()

    def step_out(self) -> bool:
        """From the bar or a pane to the list, then out of the search; gives whether there was a step to take."""
        rows, is_typing = self.rows, self.is_typing
        has_step = self.is_searching or not rows.has_focus or self.has_class("-facets-on")
        if self.is_searching and (rows.has_focus or self.has_class("-empty") or not self.view.query):
            self.close_search()
            self.look(replace(self.view, query="", similar_to=None))
        elif not is_typing and self.screen.has_class("-narrow"):
            self.remove_class("-facets-on")
        rows.focus()
        return has_step

    def toggle_facets(self) -> None:
        """Show the facets, or hide them."""
        is_shown = self.query_one("#facets").display
        self.set_class(not is_shown, "-facets-on")
        self.set_class(is_shown, "-facets-off")
        if is_shown:
            self.rows.focus()

    def reload(self) -> None:
        """Read the store again."""
        self.look(self.view, keep_place=self.rows.row_count > 0)

    def asked(self) -> RecallRequest:
        """The agent's recall of the view; its query is blank while nothing is searched for, or not by a message."""
        assert self.library is not None
        asked = self.view.request(self._clock(), self.library.config, self.library.memory.about.recall_limit)
        is_message = self.view.mode not in (Mode.REGEX, Mode.SIMILAR)
        return replace(asked, query=asked.query if is_message else "")

    def show_marks(self) -> None:
        """Draw the marks and their count again."""
        self.rows.show_marks()
        self.paint_lines()

    def say_meanwhile(self, words: str) -> None:
        """Say below the list what is under way; nothing once it is over."""
        self._meanwhile = words
        self.paint_lines()

    def paint_lines(self) -> None:
        """Bar, fact line and summary, from what is known now."""
        view, rows = self.view, self.rows
        lines = self.query_one(FactLine)
        lines.facts = fact_words(self.facets, view)
        lines.chips = view.chips
        lines.order = view.order_words
        counted = None if self._is_unanswered else self.facets
        facts = mode_facts(view, self.recalled, counted, self._milliseconds)
        if self._waits_for_enter:
            facts = ("enter to recall",)
        shown = (self._trouble,) if self._trouble else facts
        self._search_bar.show_mode(view.mode, shown)
        total = self.facets.total if self.facets else None
        general = self.library.why_no_vectors if self.library else None
        vector = self._vector_words()
        self.rows.border_title = view.title
        summary = search_summary(view, self.recalled, total, self._found, general, vector=vector)
        marks = rows.marks
        marked, hint = mark_words(len(marks), rows.marks_shown)
        if not self._has_searched and self.facets is not None and self.facets.total:
            hint = hint or FIRST_HINT
        if self._trouble:
            # A narrow bar has no room for it, and the rows look like an answer.
            summary = (f"the pattern {self._trouble}", "the list shows the previous search")
        self.query_one(StatusBar).say(*((self._meanwhile,) if self._meanwhile else (marked, *(summary or (hint,)))))

    def show_gone(self, error: InspectorError) -> None:
        """Say in the one banner that the store does not answer; what is on the screen stays."""
        self._failure.fail(error)
        self._is_unanswered, self._milliseconds = True, None
        self.paint_lines()
        if self._loader is not None and isinstance(error, GOES_BY):
            self._loader.is_away()
        if not self._has_answered:
            self._show_rows(False)
            self.query_one(Empty).show(
                "The store does not answer.", "", (("r", "retry"), ("6", "choose another store"))
            )

    def on_prompt_line_asked(self, event: SearchBar.Asked) -> None:
        # What was typed last may come when the bar is closed already.
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
        if self._loader is not None:
            self._loader.want_rows(event.handles)

    def on_memory_list_order_wanted(self, event: MemoryList.OrderWanted) -> None:
        self._ask_for_order(event.rows)

    def on_memory_list_row_highlighted(self, event: MemoryList.RowHighlighted) -> None:
        # The list is what one waits for, the memory next to it follows.
        self._call_after_list(self._show_highlighted, event.entry, event.result)

    def _show_highlighted(self, entry: MemoryEntry, result: ScoredEntry | None) -> None:
        """Show what the cursor is on, in full as soon as that is here."""
        if self._loader is None or not self._is_selected(entry, result):
            return
        self.show_entry(entry, result)
        if entry.is_excerpt or entry.embedding_dimensions:
            self._loader.want_entry(entry, result)

    def show_page(self, entries: Sequence[MemoryEntry], milliseconds: float) -> None:
        """The first rows of a listing, which took so long, at once."""
        self._milliseconds = milliseconds
        self._light_up(Highlights.of(self.view.sought))
        self.rows.show_page(entries, len(entries))
        if self._starts_at_top:
            self.rows.action_top()
        self._answered(bool(entries))

    def know_changes(self, was_changed: bool) -> None:
        """Whether there is a change to undo, for the words where there are no memories; the counts follow."""
        self._was_changed = was_changed

    def show_facets(self, counted: Facets, others: Mapping[Part, Facets]) -> None:
        """Counts of what the filter leaves; `others` has, for a part that narrows, the counts without it."""
        self.facets, self.other_facets = counted, others
        for facets in self._facet_lists():
            facets.show(counted, others, self.view)
        self.rows.set_look(sort=self.view.sort, now=self._clock(), show_agent=self._has_agents())
        self.paint_lines()

    def show_order(self, handles: Sequence[Handle], total: int, first: Sequence[MemoryEntry], is_refresh: bool) -> None:
        """Every row's place, and the first rows as they are now; `is_refresh` for the same view again.

        Of very many rows there may be the first handles only; `total` says how many there are in all.
        """
        rows = self.rows
        was_at_top = rows.scroll_offset.y == 0
        news = rows.unseen(first) if is_refresh else []
        self._light_up(Highlights.of(self.view.sought))
        if self._glows_news:
            news += rows.newcomers(handles)
        rows.show_order(handles, total)
        every, ages = rows.marks.every, {"older_than": None, "newer_than": None}
        if every is not None and every.but(**ages) == self.view.listing_filter(self._clock()).but(**ages):
            rows.marks.count_every(total)
        rows.put_rows(first)
        if news:
            rows.glow(news)
        is_part = total > len(handles)
        if self._go_to is not None and not rows.go_to(self._go_to) and is_part:
            self._ask_for_order(total)
        else:
            self._report_position(handles)
        self._glows_news = False
        if was_at_top and rows.cursor < rows.size.height - 1:
            # In a list of the newest memories, new ones appear at once.
            rows.scroll_to(y=0, animate=False, force=True)
        self._answered(bool(handles))

    def show_more_order(self, handles: Sequence[Handle], is_whole: bool) -> None:
        """The same handles of a long order and some behind them, or all."""
        self.rows.show_more(handles, is_whole=is_whole)
        if self._go_to is not None:
            self.rows.go_to(self._go_to)
            self._report_position(handles)

    def show_recall(self, result: RecallResult, milliseconds: float) -> None:
        """What the agent would recall, and how long that took."""
        self.recalled, self._milliseconds = result, milliseconds
        is_similar = result.mode == SIMILAR
        self._lit, self.rows.lights = MemoryFilter(), NO_HIGHLIGHTS
        self.rows.show_results(result, self._edited)
        lights = NO_HIGHLIGHTS if is_similar else highlights_of_message(result.request.query)
        self._call_after_list(setattr, self.detail, "lights", lights)
        if not is_similar and self._found is None:
            self._call_after_list(self._want_found, self.view)
        self._answered(bool(self.rows.row_count))

    def _call_after_list(self, callback: Callable[..., object], *given: object) -> None:
        """Call once the list is painted."""
        # By way of the list, whose repaint then reaches the screen first: one with nothing to paint calls at once.
        self.rows.call_later(self.call_after_refresh, callback, *given)

    def _want_found(self, view: View) -> None:
        if self._loader is not None and view == self.view:
            self._loader.want_found(view, self._clock())

    def show_found(self, count: int) -> None:
        """How many memories contain the query."""
        self._found = count
        self._answered(not self.has_class("-empty"))

    def show_load_failed(self, error: InspectorError) -> None:
        """The screen stays; a banner says what is wrong and which key tries again."""
        if isinstance(error, UsageError) and self.view.mode is Mode.REGEX:
            # Half typed, most patterns cannot be read: the list stays as it is.
            self._trouble = error.message.removeprefix("The pattern ").rstrip(".")
            self.paint_lines()
            self.query_one(Empty).show(*unusable_pattern(error))
        else:
            self.show_gone(error)

    def look_on(self) -> None:
        """The same view again, the cursor on the same memory: another process wrote."""
        self.look(self.view, keep_place=True)

    @property
    def _waits_for_enter(self) -> bool:
        """Whether what is in the search bar is recalled only with Enter: the store is too big for every letter."""
        if self.library is None or self.facets is None or self.view.mode is not Mode.RECALL:
            return False
        most, typed = self.library.memory.about.slow_recall_above, self._search_bar.input.value
        return most is not None and self.facets.total > most and bool(typed.strip()) and typed != self.view.query

    def _search(self, query: str) -> None:
        if query != self.view.query:
            self.look(replace(self.view, query=query, similar_to=None))

    def _light_up(self, lights: Highlights) -> None:
        """Light up what the rows on the screen were found by; what is lit already stays, with what it learnt."""
        sought = self.view.sought if lights else MemoryFilter()
        detail = self.detail
        if sought != self._lit or (detail.lights and not lights):
            self._lit = sought
            self.rows.lights = detail.lights = lights

    def _ask_for_order(self, rows: int) -> None:
        if self._loader is not None:
            self._loader.want_order(rows)

    def _report_position(self, handles: Iterable[Handle]) -> None:
        """The cursor is on its target; an edited memory that is no longer listed is reported."""
        edited, self._go_to, self._edited = self._edited, None, None
        if edited is not None and edited.handle not in handles:
            self.notify(f"{one_line(edited.key)[:60]} no longer matches the filters.", markup=False)

    def _answered(self, has_rows: bool) -> None:
        """An answer is on the screen: the failure before it is over, and what is empty says why."""
        self._failure.hide()
        self._has_answered, self._is_unanswered = True, False
        self._show_rows(has_rows)
        self.paint_lines()
        if not has_rows and self.library is not None:
            self.query_one(Empty).show(*self._why_empty(self.library))
            self.detail.show_nothing("")
            if self.follower is not None:
                self.follower(None, None, None)

    def _why_empty(self, library: Library) -> EmptyWords:
        memory = library.memory
        if self.recalled is not None and self.recalled.awaits_vector:
            return empty_so_far(self.view, self._vector_words())
        remarks = self.recalled.notes if self.recalled is not None else ()
        # What holds for every recall here comes last.
        remarks = tuple(sorted(remarks, key=lambda note: note == library.why_no_vectors))
        notes = (*remarks, self._vector_words())
        if memory.about.keeps_nothing:
            notes = sentences(memory.about.notices)
        return why_empty(
            self.view,
            memory,
            self._found,
            can_write=library.read_only_because is None,
            notes=notes,
            is_watched="watch" not in memory.why_not,
            was_changed=self._was_changed,
            hidden=(self.facets.superseded or 0) if self.facets is not None else 0,
        )

    def _vector_words(self) -> str:
        if self.library is None or self.recalled is None or self.library.embedder is None:
            return ""
        is_fetched = self.library.waits_for(self.recalled.request.query)
        return vector_words(self.recalled, self.library.embedding_host if is_fetched else None)

    def _announce_request(self, request: EmbeddingRequest) -> None:
        """Say once of each host that texts go there."""
        if request.host not in self._announced_hosts:
            self._announced_hosts.add(request.host)
            self.notify(request.description, markup=False)

    def show_selected(self) -> None:
        """Show what is under the cursor once more, for who has just begun to read it elsewhere."""
        entry, result = self.rows.selected_entry, self.rows.selected_result
        if entry is not None and self._loader is not None:
            self.show_entry(entry, result)
            self._loader.want_entry(entry, result)

    def show_entry(self, entry: MemoryEntry, result: ScoredEntry | None, norm: float | None = None) -> None:
        """Beside the list, one memory, with the norm of its vector once it is here in full.

        What the list has moved on from is not shown: its part in one recall has no place in another.
        """
        if not self._is_selected(entry, result):
            return
        self.detail.show(entry, result, self.recalled, norm)
        if self.follower is not None:
            self.follower(entry, result, norm)

    def _is_selected(self, entry: MemoryEntry, result: ScoredEntry | None) -> bool:
        selected = self.rows.selected_entry
        return selected is not None and selected.handle == entry.handle and self.rows.selected_result == result

    def _show_rows(self, has_rows: bool) -> None:
        rows, screen = self.rows, self.screen
        if not has_rows and rows.has_focus:
            # Hidden with the focus on it, the list would hand that on to the search bar, and never get it back.
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

    def _poll(self) -> None:
        if self._loader is not None:
            self._loader.poll()
