"""The list of memories: a listing whose rows come when they are seen, or the ranked answer to a recall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from textual.cache import LRUCache
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.query import NEWEST_STORED, Sort, SortField
from zeroclaw_tui.memory.recall import SIMILAR, RecallResult, ScoredEntry
from zeroclaw_tui.tui.format import ELLIPSIS, NO_HIGHLIGHTS, Highlights, fit, highlights_of_message
from zeroclaw_tui.tui.widgets.marks import Marks
from zeroclaw_tui.tui.widgets.rows import (
    FELL_OUT,
    MAX_KEY,
    MAX_REASON,
    WIDE_WINDOW,
    Look,
    RankedRow,
    Ranking,
    listing_columns,
    ranked_columns,
    ranked_texts,
    threshold_row,
)
from zeroclaw_tui.tui.widgets.table_list import Column, LazyRows, Pieces, RowList, RowState, Styles, lead_of

ListedRow: TypeAlias = "MemoryEntry | RankedRow | float | None"
"""A memory of a listing, None while it is not loaded; a result of a recall, or the threshold between two of them."""
_MAX_LOADED = 4000
_MAX_ASKED = 200
_STRIPS = 512
_READABLE = 80
"""Characters of a recalled memory that are shown whatever its list's width."""
_MAX_TEXT_LINES = 8


class Listing(LazyRows["MemoryEntry | None"]):
    """The memories of a listing in its order; of those that were not loaded yet only the handles are known."""

    def __init__(self, entries: Sequence[MemoryEntry] = ()) -> None:
        self.handles: Sequence[Handle] = [entry.handle for entry in entries]
        self.key_cells = 0
        """Cells of the longest key that was loaded."""
        self._is_ordered = False
        self._entries: dict[Handle, MemoryEntry] = {}
        self._stale: set[Handle] = set()
        self._asked: set[Handle] = set()
        self.put(entries)

    def __len__(self) -> int:
        return len(self.handles)

    def row(self, at: int) -> MemoryEntry | None:
        """The memory at a place; None while it is not loaded."""
        return self._entries.get(self.handles[at])

    def order(self, handles: Sequence[Handle]) -> None:
        """Take an order; behind another one what is loaded is asked for again when it comes into sight."""
        if self._is_ordered:
            self._stale = set(self._entries)
        self.handles, self._is_ordered = handles, True
        self._asked.clear()

    def put(self, entries: Sequence[MemoryEntry]) -> None:
        """Take rows in; the ones that came longest ago make room."""
        came = {entry.handle: entry for entry in entries}
        for handle in came:
            self._entries.pop(handle, None)
        self._entries.update(came)
        self._stale.difference_update(came)
        self._asked.difference_update(came)
        self.key_cells = max([self.key_cells, *(cell_len(entry.key[:MAX_KEY]) for entry in entries)])
        while len(self._entries) > _MAX_LOADED:
            self._entries.pop(next(iter(self._entries)))

    def wanted(self, start: int, stop: int) -> list[Handle]:
        """Of the rows between two places those to ask for."""
        return [
            handle
            for handle in self.handles[max(0, start) : max(0, stop)]
            if (handle not in self._entries or handle in self._stale) and handle not in self._asked
        ]

    def ask(self, handles: Iterable[Handle]) -> None:
        """Remember that these were asked for."""
        self._asked.update(handles)


def position(handles: Sequence[Handle | None], wanted: Handle | None, near: int) -> int | None:
    """The position of a handle, searched first at its old place; None when it is missing."""
    if wanted is None:
        return None
    if 0 <= near < len(handles) and handles[near] == wanted:
        return near
    try:
        return handles.index(wanted)
    except ValueError:
        return None


class MemoryList(RowList[ListedRow]):
    """Memories in rows with a cursor. A listing asks for the rows that come into sight (`RowsWanted`)."""

    lights: reactive[Highlights] = reactive(NO_HIGHLIGHTS, repaint=False)
    """What is lit up in keys and memories of a listing."""

    @dataclass
    class RowsWanted(Message):
        """Rows are in sight, or about to be, that are not loaded; `put_rows` brings them."""

        handles: Sequence[Handle]

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
        self._listing = Listing()
        self._look = Look(NEWEST_STORED, datetime(1970, 1, 1, tzinfo=UTC))
        self._recall: RecallResult | None = None
        self._ranking: Ranking | None = None
        """What is drawn of a recall; None while a listing is shown."""
        self._text_lines = 1
        self._strips: LRUCache[tuple[int, RowState], list[Strip]] = LRUCache(_STRIPS)
        self._posted: tuple[MemoryEntry, ScoredEntry | None] | None = None
        self._is_asking = False

    @property
    def row_count(self) -> int:
        """How many memories there are to select."""
        return len(self._rows if self._ranking is None else self._ranking.rows)

    @property
    def place(self) -> int:
        """Which of them the cursor is on, from 1."""
        line_at = None if self._ranking is None else self._ranking.line_at
        return self.cursor + 1 - (line_at is not None and self.cursor > line_at)

    @property
    def selected_entry(self) -> MemoryEntry | None:
        """The memory under the cursor; None when there is none or it is not loaded yet."""
        return _entry_of(self.selected)

    @property
    def selected_result(self) -> ScoredEntry | None:
        """The recall result under the cursor; None in a listing."""
        row = self.selected
        return row.result if isinstance(row, RankedRow) and row.result.stage != FELL_OUT else None

    def show_page(self, entries: Sequence[MemoryEntry]) -> None:
        """Show the first rows of a listing whose whole order is not known yet.

        The cursor stays on its memory when that is among these, else it goes to the top.
        """
        at_cursor = self._handle_at(self.cursor)
        self._listing, self._posted = Listing(entries), None
        self._show_listing(position(self._listing.handles, at_cursor, 0) or 0)

    def show_order(self, handles: Sequence[Handle], first: Sequence[MemoryEntry] = ()) -> None:
        """Show all rows of a listing in this order, with the `first` of them as they are now.

        The cursor stays on its memory and that on its line of the screen; when it is deleted, on its place. At the top
        of a list new memories appear at once.
        """
        at_cursor, top = self._handle_at(self.cursor), self.scroll_offset.y
        self._listing.order(handles)
        self._listing.put(first)
        row = position(handles, at_cursor, self.cursor)
        self._show_listing(self.cursor if row is None else row, self.cursor - top)
        if not top and self.cursor < self.lines_in_sight:
            self.scroll_to(y=0, animate=False, force=True)

    def put_rows(self, entries: Sequence[MemoryEntry]) -> None:
        """Take in rows that were wanted, or that are other ones now."""
        self._listing.put(entries)
        if self._ranking is None:
            self.redraw()
            self._post_highlight()
            self._ask_soon()

    def show_results(self, result: RecallResult, edited: MemoryEntry | None = None) -> None:
        """Show the ranked answer to a recall; the same query again keeps the cursor on its memory.

        A memory that was just `edited` stays in sight behind the results when it is none of them any more.
        """
        is_same_query = self._recall is not None and self._recall.request.query == result.request.query
        at_cursor = self._handle_at(self.cursor) if is_same_query else None
        self._recall, self._ranking, self._posted = result, Ranking.of(result, edited), None
        rows = self._ranking.lines
        at = next((at for at, row in enumerate(rows) if at_cursor and _handle_of(row) == at_cursor), None)
        self._show(rows, at if at is not None else self.cursor if is_same_query else 0)

    def clear_rows(self) -> None:
        """Show nothing."""
        self._listing, self._posted = Listing(), None
        self._show_listing(0)

    def go_to(self, handle: Handle) -> None:
        """Put the cursor on this row of a listing, where it is one."""
        row = position(self._listing.handles, handle, self.cursor)
        if self._ranking is None and row is not None:
            self.cursor = row

    def set_look(self, *, sort: Sort, now: datetime, show_agent: bool) -> None:
        """What a listing is ordered by, the moment ages count to, and whether rows of several agents are mixed."""
        self._look = replace(self._look, sort=sort, now=now, show_agent=show_agent)
        self.redraw()

    def show_parts(self, parts: Mapping[Handle, str]) -> None:
        """Of these memories show the part where their first match is."""
        self._look = replace(self._look, parts={**self._look.parts, **parts})
        self.redraw()

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
        handles = self._handles
        anchor = position(handles, self.marks.anchor, self.cursor)
        first, last = sorted((self.cursor if anchor is None else anchor, self.cursor))
        self.marks.anchor = self._handle_at(self.cursor)
        return [handle for handle in handles[first : last + 1] if handle is not None]

    def show_marks(self) -> None:
        """Draw the marks again, after they were changed from outside."""
        self._marks_shown = None
        self.redraw()

    @property
    def marks_shown(self) -> int:
        """How many of the marked memories are among these rows."""
        if self.marks.every is not None:
            return len(self.marks)
        if self._marks_shown is None:
            marked = self.marks.handles
            self._marks_shown = sum(map(marked.__contains__, self._handles)) if marked else 0
        return self._marks_shown

    def is_marked(self, row: ListedRow) -> bool:
        entry = _entry_of(row)
        return entry is not None and entry.id in self.marks

    def divider(self, row: ListedRow) -> str | None:
        return "threshold" if isinstance(row, float) else None

    def columns_for(self, width: int) -> Sequence[Column[Any]]:
        if self._ranking is not None:
            return ranked_columns(width, self._ranking, lambda row, _, styles: self._texts(row, styles)[0])
        is_wide = self.app.size.width >= WIDE_WINDOW
        return listing_columns(width, self._look, self._listing.key_cells, is_wide=is_wide)

    def sorted_by(self) -> tuple[SortField, bool] | None:
        sort = self._look.sort
        return (sort.field, sort.descending) if self._ranking is None else None

    def heading_clicked(self, field: SortField) -> None:
        self.post_message(self.SortWanted(field))

    def row_clicked(self, *, is_mark: bool, is_double: bool) -> None:
        if is_mark and self._takes_marks:
            self.toggle_mark()
        elif is_double:
            self.action_open()

    def action_open(self) -> None:
        if self.selected_entry is not None:
            self.post_message(self.RowOpened())

    def row_lines(self, row: ListedRow, styles: Styles) -> list[Pieces]:
        """The cells of a memory; below a result the rest of its text, and why it stays out."""
        width = self.scrollable_content_region.width
        if row is None:
            return [[Segment(fit(ELLIPSIS, max(0, width - 1)), styles["faint"])]]
        if isinstance(row, float):
            (_, rank), (_, key) = self.laid_out()[:2]
            return [threshold_row(row, rank + 2, key, width, styles)]
        lines = [self.cells_of(row, styles)]
        if isinstance(row, RankedRow):
            start, widths = self._text_place()
            blank = Segment(" " * start, styles["blank"])
            lines += [[blank, *pieces] for pieces in self._texts(row, styles)[1:]]
            if row.reason is not None:
                words = fit(row.reason[:MAX_REASON], max(widths[0], width - start - 2))
                lines.append([blank, Segment(words, styles["faint"])])
        return lines

    def row_strips(self, at: int, state: RowState) -> list[Strip]:
        strips = self._strips.get((at, state))
        if strips is None:
            strips = self._strips[(at, state)] = super().row_strips(at, state)
        return strips

    def redraw(self) -> None:
        self._strips.clear()
        super().redraw()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()

    def watch_cursor(self, old: int, new: int) -> None:
        super().watch_cursor(old, new)
        self._post_highlight()
        self._ask_soon()

    def watch_lights(self, lights: Highlights) -> None:
        """Light up these matches, and show no parts of memories any more."""
        self._look = replace(self._look, lights=lights, parts={})
        self.redraw()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._ask_soon()

    def on_resize(self) -> None:
        super().on_resize()
        self._ask_soon()

    @property
    def _handles(self) -> Sequence[Handle | None]:
        """The handle of each row."""
        return self._listing.handles if self._ranking is None else [_handle_of(row) for row in self._rows]

    def _handle_at(self, row: int) -> Handle | None:
        handles = self._handles
        return handles[row] if row < len(handles) else None

    def _show_listing(self, cursor: int, line: int | None = None) -> None:
        self._ranking = self._recall = None
        self._show(self._listing, cursor, line)

    def _show(self, rows: Sequence[ListedRow], cursor: int, line: int | None = None) -> None:
        """Take another set of rows, with the cursor on that row and that on the given line of the view."""
        self._rows, self._marks_shown = rows, None
        self.redraw()
        self.set_reactive(RowList.cursor, self.validate_cursor(cursor))
        if self.is_mounted:
            start = self._lines_of(self.cursor).start if rows else 0
            self.scroll_to(y=max(0, start - (line or 0)), animate=False, force=True)
            self._bring_into_view()
        self._post_highlight()
        self._ask_soon()

    def _texts(self, row: RankedRow, styles: Styles) -> list[Pieces]:
        lights = NO_HIGHLIGHTS
        if self._recall is not None and self._recall.mode != SIMILAR:
            lights = highlights_of_message(self._recall.request.query)
        return ranked_texts(row, self._text_place()[1], lights, styles)

    def _text_place(self) -> tuple[int, list[int]]:
        """The cells before the memory of a result, and those of each of its lines: below the scores there is room."""
        start = 0
        for number, (column, width) in enumerate(self.laid_out()):
            start += lead_of(column, is_first=not number)
            if column.flex:
                wide = max(width, self.scrollable_content_region.width - start - 2)
                least = 2 if width + wide >= _READABLE else 3
                return start, [width, *[wide] * (max(least, self._text_lines) - 1)]
            start += width
        return 0, [1]

    def _measure(self) -> None:
        """Be as high as the rows are; the texts of a short recall use the lines that are free below it."""
        if self._ranking is not None and self.is_mounted:
            others = (
                len(self._rows) - len(self._ranking.rows) + sum(row.reason is not None for row in self._ranking.rows)
            )
            free = (self.lines_in_sight - others) // max(1, len(self._ranking.rows))
            self._text_lines = min(_MAX_TEXT_LINES, free)
            self._starts = [0]
            for row in self._rows:
                self._starts.append(self._starts[-1] + len(self.row_lines(row, self.styles_of("plain", False))))
        super()._measure()

    def _post_highlight(self) -> None:
        entry = self.selected_entry
        if entry is not None and self._posted != (entry, self.selected_result):
            self._posted = (entry, self.selected_result)
            self.post_message(self.RowHighlighted(*self._posted))

    def _ask_soon(self) -> None:
        if not self._is_asking and self._ranking is None and self.is_mounted:
            self._is_asking = self.call_after_refresh(self._ask)

    def _ask(self) -> None:
        """Ask for what is in sight and a page around it, as soon as half a page around it is not here."""
        self._is_asking = False
        page, top, wanted = self.lines_in_sight, self.scroll_offset.y, self._listing.wanted
        if self._ranking is None and wanted(top - page // 2, top + page + page // 2):
            around = [*wanted(top, top + page), *wanted(top + page, top + 2 * page), *wanted(top - page, top)]
            self._listing.ask(around[:_MAX_ASKED])
            self.post_message(self.RowsWanted(around[:_MAX_ASKED]))


def _entry_of(row: ListedRow) -> MemoryEntry | None:
    if isinstance(row, RankedRow):
        return row.result.entry
    return row if isinstance(row, MemoryEntry) else None


def _handle_of(row: ListedRow) -> Handle | None:
    entry = _entry_of(row)
    return None if entry is None else entry.handle
