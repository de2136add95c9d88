"""The list of memories: one line a row, built when it is seen, as fast with a million rows as with ten."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from zeroclaw_tui.backends.lookup import versions, versions_at
from zeroclaw_tui.memory.change import RowVersion
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.query import NEWEST_STORED, MemoryFilter, Sort, SortField
from zeroclaw_tui.memory.recall import SIMILAR, RecallResult, ScoredEntry
from zeroclaw_tui.tui.format import ELLIPSIS, NO_HIGHLIGHTS, Highlights, fit, highlights_of_message
from zeroclaw_tui.tui.widgets.rows import (
    FELL_OUT,
    HEADING_LINES,
    LONGEST_KEY,
    WIDE_WINDOW,
    CursorList,
    Layout,
    Look,
    Pieces,
    Ranking,
    RowState,
    RowStyles,
    browse_layout,
    browse_row,
    ranked_layout,
    ranked_lines,
    sign_of,
    threshold_row,
)

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory

MOST_LOADED = 4000
MOST_ASKED = 200
GONE = "(no longer there)"
_STRIPS_KEPT = 512
_MARKED_AT_ONCE = 500
_GLOW_SECONDS = 1.2
_MARK_CELLS = 2
"""How far from the left edge a click marks: the sign's own cell and the one next to it."""


class LoadedRows:
    """A bounded store of entries by handle that remembers what it asked for.

    The answer to a batch settles it and every older one: what a settled batch lacked has gone from the store when the
    answer was for that very batch, and may be asked for again when it was for a newer one.
    """

    def __init__(self) -> None:
        self._entries: dict[Handle, MemoryEntry] = {}
        self._old: set[Handle] = set()
        self._gone: set[Handle] = set()
        self._batches: list[frozenset[Handle]] = []

    def get(self, handle: Handle) -> MemoryEntry | None:
        """The entry of a handle, when it is here."""
        return self._entries.get(handle)

    def differs(self, entry: MemoryEntry) -> bool:
        """Whether a row is not here as it is now in the store; what a scan found in it does not count."""
        present = self._entries.get(entry.handle)
        return present is None or replace(present, withheld=entry.withheld) != entry

    def has_gone(self, handle: Handle) -> bool:
        """Whether a row was asked for and is no longer in the store."""
        return handle in self._gone

    def put(self, entries: Sequence[MemoryEntry]) -> None:
        """Take rows in; the ones that came longest ago make room."""
        for entry in entries:
            self._entries.pop(entry.handle, None)
            self._entries[entry.handle] = entry
            self._old.discard(entry.handle)
            self._gone.discard(entry.handle)
        self._settle({entry.handle for entry in entries})
        while len(self._entries) > MOST_LOADED:
            self._entries.pop(next(iter(self._entries)))

    def missing(self, handles: Iterable[Handle]) -> list[Handle]:
        """Of these, the ones to ask for: neither here and fresh, nor on their way, nor gone."""
        return [
            handle
            for handle in handles
            if (handle not in self._entries or handle in self._old)
            and handle not in self._gone
            and not any(handle in batch for batch in self._batches)
        ]

    def expect(self, handles: Sequence[Handle]) -> None:
        """Remember that these were asked for."""
        self._batches.append(frozenset(handles))

    def grow_old(self) -> None:
        """What is here stays to look at, and is asked for again when it comes into sight."""
        self._old = set(self._entries)
        self._gone.clear()
        self._batches.clear()

    def forget_questions(self) -> None:
        """Nothing is on its way any more."""
        self._gone.clear()
        self._batches.clear()

    def clear(self) -> None:
        """Hold nothing."""
        self._entries.clear()
        self._old.clear()
        self.forget_questions()

    def _settle(self, came: set[Handle]) -> None:
        for at in range(len(self._batches) - 1, -1, -1):
            if came <= self._batches[at] and (came or at == 0):
                self._gone |= {handle for handle in self._batches[at] - came if handle not in self._entries}
                del self._batches[: at + 1]
                return


def position(handles: Sequence[Handle], wanted: Handle | None, near: int) -> int | None:
    """The position of a handle, searched first at its old place; None when it is missing."""
    if wanted is None:
        return None
    if 0 <= near < len(handles) and handles[near] == wanted:
        return near
    try:
        return handles.index(wanted)
    except ValueError:
        return None


class MemoryList(CursorList):
    """Memories in rows with a cursor, as a listing or as the ranked answer to a recall.

    A listing knows its order as handles and asks for the rows that come into sight (`RowsWanted`). Rows are counted
    without the heading and without the threshold's line, so that the cursor can be on neither.
    """

    lights: reactive[Highlights] = reactive(NO_HIGHLIGHTS, repaint=False)
    """What is lit up in keys and memories of a listing."""

    @dataclass
    class RowsWanted(Message):
        """Rows are in sight, or about to be, that are not loaded; `put_rows` brings them."""

        handles: Sequence[Handle]

    @dataclass
    class OrderWanted(Message):
        """Rows are in sight whose handles are not known; `show_more` brings the order for `rows` at least."""

        rows: int

    @dataclass
    class RowHighlighted(Message):
        """The cursor is on another memory, or the memory under it has arrived or changed.

        `result` is its part in a recall.
        """

        entry: MemoryEntry
        result: ScoredEntry | None

    class RowOpened(Message):
        """A memory was chosen for reading."""

    @dataclass
    class SortWanted(Message):
        """A heading was clicked."""

        field: SortField

    class MarksChanged(Message):
        """A mark was set or taken away by hand."""

    def __init__(self, *, id: str | None = None, takes_marks: bool = False) -> None:
        super().__init__(id=id)
        self.marks = Marks()
        self._takes_marks = takes_marks
        self._marks_shown: int | None = None
        self._handles: Sequence[Handle] = ()
        self._loaded = LoadedRows()
        self._is_ordered = self._is_whole_order = False
        self._order_asked = 0
        self._recall: RecallResult | None = None
        self._look = Look(NEWEST_STORED, datetime(1970, 1, 1, tzinfo=UTC))
        self._ranking: Ranking | None = None
        """What is drawn of a recall; None while a listing is shown."""
        self._ranked_lights = NO_HIGHLIGHTS
        self._starts: list[int] | None = None
        self._laid_out: Layout | None = None
        self._strips: LRUCache[tuple[int | None, int, RowState], Strip] = LRUCache(_STRIPS_KEPT)
        self._posted: tuple[MemoryEntry, ScoredEntry | None] | None = None
        self._is_asking = False
        self._key_cells = 0
        """Cells of the longest key that came with a listing."""
        self._glowing: frozenset[Handle] = frozenset()

    @property
    def selected_entry(self) -> MemoryEntry | None:
        """The memory under the cursor; None when there is none or it is not loaded yet."""
        return self._entry_at(self.cursor)

    @property
    def selected_result(self) -> ScoredEntry | None:
        """The recall result under the cursor; None in a listing."""
        if self._ranking is None or not 0 <= self.cursor < self._row_count:
            return None
        result = self._ranking.rows[self.cursor].result
        return None if result.stage == FELL_OUT else result

    def show_page(self, entries: Sequence[MemoryEntry], total: int | None) -> None:
        """Show the first rows of a listing whose whole order is not known yet; `total` is how many there will be.

        The cursor stays on its memory when that is among these, else it goes to the top.
        """
        at_cursor = self._handle_at(self.cursor)
        self._leave_ranking()
        self._loaded.clear()
        self._loaded.put(entries)
        self._key_cells = 0
        self._fit_keys(entries)
        self._handles = [entry.handle for entry in entries]
        self._is_ordered = self._is_whole_order = False
        self._show_rows(max(len(entries), total or 0), position(self._handles, at_cursor, 0) or 0)

    def show_order(self, handles: Sequence[Handle], total: int | None = None) -> None:
        """Show all rows of a listing, in this order; of `total` rows these may be the first.

        Loaded rows stay, and when an order was already shown they are asked for again as they come into sight. The
        cursor stays on its memory and that on its line of the screen; when it has gone, on its place.
        """
        at_cursor = self._handle_at(self.cursor)
        was_on_line = self.cursor - self.scroll_offset.y
        self._leave_ranking(forget=False)
        if self._is_ordered:
            self._loaded.grow_old()
        self._loaded.forget_questions()
        self._handles = handles
        count = max(len(handles), total or 0)
        self._is_ordered, self._is_whole_order, self._order_asked = True, count == len(handles), 0
        row = position(handles, at_cursor, self.cursor)
        self._show_rows(count, self.cursor if row is None else row, was_on_line, forget=False)

    def show_more(self, handles: Sequence[Handle], *, is_whole: bool) -> None:
        """Take the handles of more rows, behind those that were known; the rows that are here stay as they are."""
        if not self._is_ordered:
            return
        line = self.cursor - self.scroll_offset.y
        self._handles, self._is_whole_order, self._order_asked = handles, is_whole, 0
        count = len(handles) if is_whole else max(self._row_count, len(handles))
        self._show_rows(count, self.cursor, line, forget=False)

    def put_rows(self, entries: Sequence[MemoryEntry]) -> None:
        """Take in rows that were wanted; in whichever order, and also unasked."""
        self._loaded.put(entries)
        if self._ranking is None:
            self._fit_keys(entries)
            self._forget_rows()
            self._post_highlight()
            self._ask_soon()

    def _fit_keys(self, entries: Sequence[MemoryEntry]) -> None:
        """Make the column of keys wider where one of these needs it; it never gets narrower in one listing."""
        longest = max((cell_len(entry.key[:LONGEST_KEY]) for entry in entries), default=0)
        if longest > self._key_cells:
            self._key_cells = longest
            self._forget_columns()

    def unseen(self, entries: Sequence[MemoryEntry]) -> list[Handle]:
        """Of these, the ones that are not here as they are now."""
        return [entry.handle for entry in entries if self._loaded.differs(entry)]

    def glow(self, handles: Iterable[Handle]) -> None:
        """Light these rows up for a moment, unless motion is not wanted."""
        self._glowing = frozenset(handles) if self.app.animation_level != "none" else frozenset()
        if self._glowing:
            self.set_timer(_GLOW_SECONDS, partial(self._end_glow, self._glowing))
        self.refresh()

    def newcomers(self, handles: Sequence[Handle]) -> list[Handle]:
        """Of these, the ones that the listing on the screen does not have."""
        known = frozenset(self._handles)
        return [handle for handle in handles if handle not in known]

    def go_to(self, handle: Handle) -> bool:
        """Put the cursor on this row, where it is known to be listed; whether it is."""
        row = position(self._handles, handle, self.cursor)
        if row is not None:
            self.cursor = row
        return row is not None

    def toggle_mark(self) -> None:
        """Mark the memory under the cursor, or take its mark away."""
        entry = self.selected_entry
        if entry is None:
            return
        change = 1 if self.marks.toggle(entry) else -1
        if self._marks_shown is not None:
            self._marks_shown += change
        self._strips.clear()
        self._refresh_row(self.cursor)
        self.post_message(self.MarksChanged())

    def handles_to_anchor(self) -> Sequence[Handle]:
        """The rows from the one marked last to the cursor, both included; the cursor's alone without such a one."""
        anchor = position(self._handles, self.marks.anchor, self.cursor)
        first, last = sorted((self.cursor if anchor is None else anchor, self.cursor))
        if last >= len(self._handles):
            return ()
        self.marks.anchor = self._handle_at(self.cursor)
        return self._handles[first : last + 1]

    def show_marks(self) -> None:
        """Draw the marks again, after they were changed from outside."""
        self._marks_shown = None
        self._forget_rows()

    @property
    def marks_shown(self) -> int | None:
        """How many of the marked memories are among these rows; None while rows are not known that it depends on."""
        if self.marks.every is not None:
            # A filter with other rows is replaced by single marks.
            return len(self.marks)
        if self._ranking is None and not self._is_ordered:
            return None
        if self._marks_shown is None:
            marked = self.marks.handles
            self._marks_shown = sum(map(marked.__contains__, self._handles)) if marked else 0
        is_known = self._ranking is not None or self._is_whole_order or self._marks_shown == len(self.marks.handles)
        return self._marks_shown if is_known else None

    def show_results(self, result: RecallResult, edited: MemoryEntry | None = None) -> None:
        """Show the ranked answer to a recall; the same query again keeps the cursor on its memory.

        A memory that was just `edited` stays in sight behind the results when it is none of them any more.
        """
        is_same_query = self._recall is not None and self._recall.request.query == result.request.query
        at_cursor = self._handle_at(self.cursor) if is_same_query else None
        self._recall = result
        ranking = Ranking.of(result, edited)
        self._rank(ranking, NO_HIGHLIGHTS if result.mode == SIMILAR else highlights_of_message(result.request.query))
        self._handles = [row.result.entry.handle for row in ranking.rows]
        self._is_ordered = self._is_whole_order = False
        row = position(self._handles, at_cursor, 0)
        self._show_rows(len(self._handles), row if row is not None else self.cursor if is_same_query else 0)

    def clear_rows(self) -> None:
        """Show nothing."""
        self._leave_ranking()
        self._loaded.clear()
        self._handles = ()
        self._is_ordered = self._is_whole_order = False
        self._show_rows(0, 0)

    def set_look(self, *, sort: Sort, now: datetime, show_agent: bool) -> None:
        """What a listing is ordered by, the moment ages count to, and whether rows of several agents are mixed."""
        self._look = replace(self._look, sort=sort, now=now, show_agent=show_agent)
        self._forget_columns()

    def show_parts(self, parts: Mapping[Handle, str]) -> None:
        """Of these memories show the part where their first match is."""
        self._look = replace(self._look, parts={**self._look.parts, **parts})
        self._forget_rows()

    def watch_cursor(self, old: int, new: int) -> None:
        """Repaint two rows, bring the new one into view, and say so."""
        self._refresh_row(old)
        self._refresh_row(new)
        self._bring_into_view()
        self._post_highlight()
        self._ask_soon()

    def watch_lights(self, lights: Highlights) -> None:
        """Light up these matches, and show no parts of memories any more."""
        self._look = replace(self._look, lights=lights, parts={})
        self._forget_rows()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._ask_soon()

    def on_mount(self) -> None:
        self._lay_out()
        self._ask_soon()

    def on_resize(self) -> None:
        self._lay_out()
        self._bring_into_view()
        self._ask_soon()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._forget_rows()

    def action_open(self) -> None:
        entry = self.selected_entry
        if entry is not None:
            self.post_message(self.RowOpened())

    def on_click(self, event: events.Click) -> None:
        """Select a row, mark it at its left edge, open it at a double click, or order by a heading."""
        place = event.get_content_offset(self)
        if place is None or not self._row_count:
            return
        event.stop()
        if place.y < HEADING_LINES:
            field = self._columns.sort_at(place.x) if self._ranking is None else None
            if field is not None:
                self.post_message(self.SortWanted(field))
            return
        row, _ = self._row_of(place.y - HEADING_LINES + self.scroll_offset.y)
        if row is None or row >= self._row_count:
            return
        self.cursor = row
        if self._takes_marks and place.x < _MARK_CELLS:
            self.toggle_mark()
        elif event.chain == 2:
            self.action_open()

    def render_line(self, y: int) -> Strip:
        """One line of what is in sight: the heading, a row, the threshold's line, or nothing."""
        if not self._row_count:
            return Strip.blank(self.size.width, self.rich_style)
        if y < HEADING_LINES:
            return self._heading()
        row, part = self._row_of(y - HEADING_LINES + self.scroll_offset.y)
        if row is not None and row >= self._row_count:
            return Strip.blank(self.size.width, self.rich_style)
        state = self._state_of(row)
        return self._strips.get((row, part, state)) or self._draw(row, part, state)

    def _state_of(self, row: int | None) -> RowState:
        if row == self.cursor and self.can_focus:
            return "cursor" if self.has_focus else "cursor-blurred"
        if self._glowing and row is not None and self._ranking is None and self._handle_at(row) in self._glowing:
            return "glowing"
        return "plain"

    def _draw(self, row: int | None, part: int, state: RowState) -> Strip:
        entry = None if row is None else self._entry_at(row)
        is_marked = entry is not None and entry.id in self.marks
        if row is None or self._ranking is not None:
            return self._draw_ranked(row, part, state, is_marked)
        handle = self._handle_at(row)
        has_gone = handle is not None and self._loaded.has_gone(handle)
        next_rows = (self._entry_at(row - 1), self._entry_at(row + 1))
        neighbours = [other.key for other in next_rows if other is not None]
        return self._draw_listed(row, state, entry, has_gone, is_marked, neighbours)

    @property
    def _line_starts(self) -> list[int]:
        """The line that each row of the recall begins on, and behind them the count of lines."""
        if self._starts is None:
            self._starts = [0]
            for row in range(len(self._ranking.rows) if self._ranking else 0):
                self._starts.append(self._starts[-1] + len(self._ranked(row, self.styles_of("plain"))))
        return self._starts

    def _ranked(self, row: int, styles: RowStyles) -> list[Pieces]:
        assert self._ranking is not None
        rows = self._ranking.rows
        keys = [rows[at].result.entry.key for at in (row - 1, row + 1) if 0 <= at < len(rows)]
        return ranked_lines(rows[row], self._ranking, self._columns, styles, self._ranked_lights, keys)

    def _draw_ranked(self, row: int | None, part: int, state: RowState, is_marked: bool = False) -> Strip:
        """A line of a row of a recall; None is the threshold's line."""
        assert self._ranking is not None
        styles = self.styles_of(state, is_marked)
        lines = [threshold_row(self._ranking, self._columns, styles)] if row is None else self._ranked(row, styles)
        for number, pieces in enumerate(lines):
            self._keep(row, number, state, pieces, styles, is_marked)
        return self._strips[(row, part, state)]

    def _draw_listed(
        self,
        row: int,
        state: RowState,
        entry: MemoryEntry | None,
        has_gone: bool,
        is_marked: bool = False,
        neighbours: Sequence[str] = (),
    ) -> Strip:
        """A row of a listing, also one that is not here; `neighbours` are the keys above and below it."""
        styles = self.styles_of(state, is_marked)
        if entry is not None:
            pieces = browse_row(entry, self._columns, self._look, styles, neighbours)
        else:
            words = GONE if has_gone else ELLIPSIS
            pieces = [Segment(fit(words, max(0, self._columns.width - 1)), styles.faint)]
        return self._keep(row, 0, state, pieces, styles, is_marked)

    def _keep(
        self, row: int | None, part: int, state: RowState, pieces: Pieces, styles: RowStyles, is_marked: bool
    ) -> Strip:
        # The sign of a mark is on the first line alone; that of the cursor runs along all of its lines.
        sign = Segment(sign_of(state, is_marked and part == 0), styles.mark)
        strip = self._strips[(row, part, state)] = self.strip_of([sign, *pieces], styles)
        return strip

    def _rank(self, ranking: Ranking | None, lights: Highlights = NO_HIGHLIGHTS) -> None:
        """Draw a recall with these words of its memories lit; None for a listing."""
        self._ranking, self._ranked_lights = ranking, lights
        self._forget_columns()

    def _forget_rows(self) -> None:
        """Draw every row again."""
        self._strips.clear()
        self.refresh()

    def _forget_columns(self) -> None:
        """Lay out the columns again."""
        self._laid_out = self._starts = None
        self._forget_rows()

    @property
    def _columns(self) -> Layout:
        """The columns at this width."""
        if self._laid_out is None:
            width = self.scrollable_content_region.width
            if self._ranking is not None:
                self._laid_out = ranked_layout(width, self._ranking)
            else:
                is_wide = self.app.size.width >= WIDE_WINDOW
                agents = self._look.show_agent
                self._laid_out = browse_layout(
                    width, self._look.sort, self._key_cells, is_wide=is_wide, show_agent=agents
                )
        return self._laid_out

    def _heading(self) -> Strip:
        """The line above the rows."""
        styles = self.styles_of("plain")
        return self.strip_of(self._columns.heading(styles, None if self._ranking else self._look.sort), styles)

    def _lines_of(self, row: int) -> range:
        """The lines that a row takes, the threshold's own line counted."""
        if self._ranking is None or not self._row_count:
            return range(row, row + 1)
        starts, line_at = self._line_starts, self._ranking.line_at
        below = line_at is not None and row >= line_at
        return range(starts[row] + below, starts[row + 1] + below)

    def _row_of(self, line: int) -> tuple[int | None, int]:
        """Which row is on a line, and which of its lines that is; no row on the threshold's."""
        if self._ranking is None:
            return line, 0
        starts, line_at = self._line_starts, self._ranking.line_at
        if line_at is not None and line >= starts[line_at]:
            if line == starts[line_at]:
                return None, 0
            line -= 1
        row = bisect_right(starts, line) - 1
        return row, line - starts[row]

    def _end_glow(self, handles: frozenset[Handle]) -> None:
        if self._glowing is handles:
            self.glow(())

    def _handle_at(self, row: int) -> Handle | None:
        return self._handles[row] if 0 <= row < len(self._handles) else None

    def _entry_at(self, row: int) -> MemoryEntry | None:
        if self._ranking is not None:
            return self._ranking.rows[row].result.entry if 0 <= row < self._row_count else None
        handle = self._handle_at(row)
        return None if handle is None else self._loaded.get(handle)

    def _leave_ranking(self, *, forget: bool = True) -> None:
        self._rank(None)
        self._recall = None
        if forget:
            self._posted = None

    def _show_rows(self, count: int, cursor: int, on_line: int = 0, *, forget: bool = True) -> None:
        """Take another set of rows, with the cursor on that row and that on the given line of the view."""
        if forget or not count:
            self._posted = None
        self._row_count = count
        self._marks_shown = None
        self._forget_columns()
        self._measure()
        self.set_reactive(MemoryList.cursor, self.validate_cursor(cursor))
        if self.is_mounted:
            self.scroll_to(y=max(0, self._lines_of(self.cursor).start - on_line), animate=False, force=True)
            self._bring_into_view()
        self._lay_out()
        self._post_highlight()
        self._ask_soon()

    def _lay_out(self) -> None:
        self._forget_columns()
        self._measure()

    def _measure(self) -> None:
        """As high as the rows are at this width."""
        lines = self._lines_of(self._row_count - 1).stop if self._row_count else -HEADING_LINES
        self.virtual_size = Size(0, lines + HEADING_LINES)

    def _post_highlight(self) -> None:
        entry = self.selected_entry
        if entry is None:
            return
        now = (entry, self.selected_result)
        if self._posted != now:
            self._posted = now
            self.post_message(self.RowHighlighted(*now))

    def _ask_soon(self) -> None:
        if not self._is_asking and self._ranking is None and self.is_mounted:
            self._is_asking = self.call_after_refresh(self._ask)

    def _ask(self) -> None:
        """Ask for what is in sight and a page around it, as soon as half a page around it is not here."""
        self._is_asking = False
        if self._ranking is not None:
            return
        page = self.lines_in_sight
        top = self.scroll_offset.y
        needed = min(top + 2 * page, self._row_count)
        if self._is_ordered and not self._is_whole_order and needed > max(len(self._handles), self._order_asked):
            self._order_asked = needed
            self.post_message(self.OrderWanted(needed))
        if not self._loaded.missing(self._between(top - page // 2, top + page + page // 2)):
            return
        in_sight = self._loaded.missing(self._between(top, top + page))
        around = [*self._between(top + page, top + 2 * page), *self._between(top - page, top)]
        handles = [*in_sight, *self._loaded.missing(around)][:MOST_ASKED]
        self._loaded.expect(handles)
        self.post_message(self.RowsWanted(handles))

    def _between(self, start: int, stop: int) -> Sequence[Handle]:
        return self._handles[max(0, start) : max(0, stop)]


class Marks:
    """Marked memories in the order of marking.

    A mark set on a row of the list holds at once; which state that row has is asked of the store by `resolve`. All that
    a list shows is marked by its filter alone (`mark_every`), whatever their number: the rows are then those that pass
    it when they are asked for, but for the ones whose mark was taken away. What asks a store raises InspectorError
    kinds.
    """

    def __init__(self) -> None:
        self.every: MemoryFilter | None = None
        """The filter that all marked memories pass, None where they are marked one by one."""
        self.anchor: Handle | None = None
        """The row that was marked last: where a range begins."""
        self._total = 0
        self._without: dict[str, Handle] = {}
        self._handles: dict[str, Handle] = {}
        self._stamps: dict[str, RowVersion] = {}
        self._waiting: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._handles) if self.every is None else max(0, self._total - len(self._without))

    def __contains__(self, id: str) -> bool:
        return id in self._handles if self.every is None else id not in self._without

    def mark_every(self, filter: MemoryFilter, total: int) -> None:
        """Mark all `total` rows that pass a filter, at once."""
        self.clear()
        self.every, self._total = filter, total

    def count_every(self, total: int) -> None:
        """So many rows pass that filter now."""
        self._total = total

    @property
    def is_whole(self) -> bool:
        """Whether all that is marked passes one filter, and all that passes it is marked."""
        return self.every is not None and not self._without

    @property
    def is_waiting(self) -> bool:
        """Whether the state of a marked row has to be asked for."""
        return bool(self._waiting)

    @property
    def handles(self) -> frozenset[Handle]:
        """The positions of the marked rows in a listing."""
        return frozenset(self._handles.values())

    @property
    def stamps(self) -> list[RowVersion]:
        """The memories whose state is known."""
        return [self._stamps[one] for one in self._handles if one in self._stamps]

    def toggle(self, entry: MemoryEntry) -> bool:
        """Mark a row, or take its mark away; whether it is marked now."""
        self.anchor = entry.handle
        if self.every is not None:
            if entry.id in self._without:
                del self._without[entry.id]
                return True
            self._without[entry.id] = entry.handle
            return False
        if entry.id in self._handles:
            self._forget(entry.id)
            return False
        self._handles[entry.id] = entry.handle
        self._waiting[entry.id] = None
        return True

    def mark(self, entry: MemoryEntry) -> None:
        """Mark a row of which it is not known yet what state it is in."""
        if entry.id not in self:
            self.toggle(entry)

    def put(self, stamps: Iterable[RowVersion]) -> None:
        """Mark memories in the state that they have."""
        for stamp in stamps:
            self._handles[stamp.id] = stamp.handle
            self._stamps[stamp.id] = stamp
            self._waiting.pop(stamp.id, None)

    def drop(self, ids: Iterable[str]) -> None:
        """Take the marks of these memories away."""
        for one in ids:
            self._forget(one)

    def clear(self) -> None:
        """No marks at all."""
        self._handles.clear()
        self._stamps.clear()
        self._waiting.clear()
        self.anchor = None
        self.every, self._total = None, 0
        self._without.clear()

    async def resolve(self, memory: Memory) -> None:
        """Read the state of every new mark; marks of deleted rows are removed."""
        asked = {one: self._handles[one] for one in self._waiting}
        handles = list(asked.values())
        found: dict[Handle, RowVersion] = {}
        try:
            for start in range(0, len(handles), _MARKED_AT_ONCE):
                stamps = await versions_at(memory, handles[start : start + _MARKED_AT_ONCE])
                found |= {stamp.handle: stamp for stamp in stamps}
        except Refused:
            # What the store cannot change keeps no mark.
            self.drop(asked)
            raise
        for one, handle in asked.items():
            stamp = found.get(handle)
            # Another memory may now be at the place of a deleted row.
            if one in self._handles and stamp is not None and stamp.id == one:
                self.put([stamp])
            else:
                self._forget(one)

    async def resolve_again(self, memory: Memory, ids: Iterable[str] | None = None) -> None:
        """These memories, or all, were changed here: their marks hold for what they are now."""
        before = self._states if ids is None and memory.about.keeps_lines else {}
        self._waiting |= dict.fromkeys(one for one in (self._handles if ids is None else ids) if one in self._handles)
        await self.resolve(memory)
        # An id in a store of lines is a place: another state there is another line, which nobody marked.
        self.drop([one for one, state in self._states.items() if before.get(one, state) != state])

    async def chosen(self, memory: Memory) -> list[RowVersion]:
        """All that is marked, each memory in the state it was marked in, or has now."""
        if self.every is not None:
            return await self._marked(memory, self.every)
        await self.resolve(memory)
        return self.stamps

    async def keep(self, memory: Memory) -> None:
        """Mark one by one what was marked by its filter."""
        every = self.every
        if every is not None:
            stamps = await self._marked(memory, every)
            if self.every is every:
                self.clear()
                self.put(stamps)

    async def mark_at(self, memory: Memory, handles: Sequence[Handle]) -> None:
        """Mark the memories at these positions."""
        for start in range(0, len(handles), _MARKED_AT_ONCE):
            self.put(await versions_at(memory, handles[start : start + _MARKED_AT_ONCE]))

    async def _marked(self, memory: Memory, every: MemoryFilter) -> list[RowVersion]:
        """The memories that pass a filter and have a mark."""
        return [stamp for stamp in await versions(memory, every) if stamp.id not in self._without]

    @property
    def _states(self) -> dict[str, str]:
        """The ids of the memories whose state is known, with it."""
        return {one: stamp.state for one, stamp in self._stamps.items()}

    def _forget(self, id: str) -> None:
        self._handles.pop(id, None)
        self._stamps.pop(id, None)
        self._waiting.pop(id, None)
