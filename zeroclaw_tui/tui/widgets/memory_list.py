"""The list of memories: a listing whose rows come when they are seen, or the ranked answer to a recall."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from textual.cache import LRUCache
from textual.content import Content
from textual.message import Message
from textual.strip import Strip

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.query import NEWEST_STORED
from zeroclaw_tui.memory.recall import SIMILAR, RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import ELLIPSIS, NO_HIGHLIGHTS, fit, highlights_of_message, wrapped
from zeroclaw_tui.tui.widgets.marks import Marks
from zeroclaw_tui.tui.widgets.rows import (
    FELL_OUT,
    MAX_TEXT,
    WIDE_WINDOW,
    ListingLook,
    RankedRow,
    listing_columns,
    ranked_columns,
    ranked_rows,
    threshold_words,
)
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, Column, TableList

ListedRow: TypeAlias = "MemoryEntry | RankedRow | None"
"""A memory of a listing, None while it is not loaded; or a result of a recall."""
_MAX_LOADED = 4000
_MAX_ASKED = 200
_STRIPS = 512
_LEAST_TEXT_LINES, _MOST_TEXT_LINES = 2, 8


class ListedMemories(Sequence["MemoryEntry | None"]):
    """The memories of a listing in its order; of those that were not loaded yet only the handles are known."""

    def __init__(self, handles: Sequence[Handle] = ()) -> None:
        self.handles = handles
        self._entries: dict[Handle, MemoryEntry] = {}
        self._fresh: set[Handle] = set()
        """What was loaded or asked for since this order was taken."""

    def __len__(self) -> int:
        return len(self.handles)

    def __getitem__(self, at: Any) -> Any:
        """The memory at a place; None while it is not loaded."""
        return self._entries.get(self.handles[at])

    def order(self, handles: Sequence[Handle]) -> None:
        """Take an order; what is loaded is asked for again when it comes into sight."""
        self.handles = handles
        self._fresh.clear()

    def put(self, entries: Sequence[MemoryEntry]) -> None:
        """Take rows in; the ones that came longest ago make room."""
        for entry in entries:
            self._entries.pop(entry.handle, None)
            self._entries[entry.handle] = entry
            self._fresh.add(entry.handle)
        while len(self._entries) > _MAX_LOADED:
            oldest = next(iter(self._entries))
            del self._entries[oldest]
            self._fresh.discard(oldest)

    def wanted(self, start: int, stop: int) -> list[Handle]:
        """Of the rows between two places those to ask for."""
        return [handle for handle in self.handles[max(0, start) : max(0, stop)] if handle not in self._fresh]

    def ask(self, handles: Sequence[Handle]) -> None:
        """Remember that these were asked for."""
        self._fresh.update(handles)


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


class MemoryList(TableList[ListedRow]):
    """Memories in rows with a cursor. A listing asks for the rows that come into sight (`RowsWanted`)."""

    @dataclass
    class RowsWanted(Message):
        """Rows are in sight, or about to be, that are not loaded; `put_rows` brings them."""

        handles: Sequence[Handle]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, heading=lambda row: threshold_words(row, self.scrollable_content_region.width - 2))
        self.marked = Marks()
        self._listing = ListedMemories()
        self._look = ListingLook(NEWEST_STORED, datetime(1970, 1, 1, tzinfo=UTC))
        self._recall: RecallResult | None = None
        """The recall that is shown; None while a listing is."""
        self._text_lines = 1
        self._strips: LRUCache[tuple[int, bool, bool], list[Strip]] = LRUCache(_STRIPS)
        self._posted: tuple[MemoryEntry, ScoredEntry | None] | None = None
        self._is_asking = False

    @property
    def row_count(self) -> int:
        """How many memories there are to select."""
        return len(self._rows)

    @property
    def handles(self) -> Sequence[Handle]:
        """The handle of each row."""
        if self._recall is None:
            return self._listing.handles
        return [row.result.entry.handle for row in self._rows if isinstance(row, RankedRow)]

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
        at_cursor, self._posted = self._handle_at(self.cursor), None
        self._listing = ListedMemories([entry.handle for entry in entries])
        self._listing.put(entries)
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
        line = self.cursor - top
        self._show_listing(self.cursor if row is None else row)
        if top or self.cursor >= self.lines_in_sight:
            self.scroll_to(y=max(0, self.cursor - line), animate=False, force=True)

    def put_rows(self, entries: Sequence[MemoryEntry]) -> None:
        """Take in rows that were wanted, or that are other ones now."""
        self._listing.put(entries)
        if self._recall is None:
            self.redraw()
            self._post_highlight()

    def show_results(self, result: RecallResult, edited: MemoryEntry | None = None) -> None:
        """Show the ranked answer to a recall; the same query again keeps the cursor on its memory.

        A memory that was just `edited` stays in sight behind the results when it is none of them any more.
        """
        is_same_query = self._recall is not None and self._recall.request.query == result.request.query
        at_cursor = self._handle_at(self.cursor) if is_same_query else None
        rows = ranked_rows(result, edited)
        self._recall, self._posted = result, None
        place = position([row.result.entry.handle for row in rows], at_cursor, self.cursor)
        cursor = place if place is not None else self.cursor if is_same_query else 0
        self.set_rows(rows, cursor=cursor)

    def go_to(self, handle: Handle) -> None:
        """Put the cursor on this row of a listing, where it is one."""
        row = position(self._listing.handles, handle, self.cursor)
        if self._recall is None and row is not None:
            self.cursor = row

    def set_look(self, look: ListingLook) -> None:
        """Draw the rows of a listing in another way."""
        before, self._look = self._look, look
        if look != before and self._recall is None:
            self.redraw()

    def toggle_mark(self) -> None:
        """Mark the memory under the cursor, or take its mark away, and move to the next."""
        entry = self.selected_entry
        if entry is not None:
            self.marked.toggle(entry)
            self.redraw()
            self.cursor += 1
            self.post_message(self.MarksChanged(self, entry))

    def handles_to_anchor(self) -> Sequence[Handle]:
        """The rows from the one marked last to the cursor, both included; the cursor's alone without such a one."""
        handles = self.handles
        anchor = position(handles, self.marked.anchor, self.cursor)
        first, last = sorted((self.cursor if anchor is None else anchor, self.cursor))
        self.marked.anchor = self._handle_at(self.cursor)
        return handles[first : last + 1]

    def has_mark(self, row: ListedRow) -> bool:
        entry = _entry_of(row)
        return entry is not None and entry.id in self.marked

    def is_faint(self, row: ListedRow) -> bool:
        if isinstance(row, RankedRow):
            return row.is_dim
        return isinstance(row, MemoryEntry) and (row.superseded_by is not None or row.withheld is not None)

    def columns_for(self, width: int) -> Sequence[Column[Any]]:
        if self._recall is None:
            columns = listing_columns(self._look, is_wide=self.app.size.width >= WIDE_WINDOW)
        else:
            columns = ranked_columns(width, self._recall, lambda row, cells: self._texts(row)[0])
        return [column for column in columns if width >= column.hidden_below]

    def row_lines(self, row: ListedRow) -> list[Content]:
        """The cells of a memory; below a result the rest of its text, and why it stays out."""
        if row is None:
            return [Content.styled(ELLIPSIS, "faint")]
        lines = [self.cells_of(row)]
        if isinstance(row, RankedRow):
            reasons = [] if row.reason is None else [Content.styled(row.reason, "faint")]
            blank, look = " " * self._text_place()[0], "faint" if row.is_dim else "text"
            lines += [
                blank + line for line in (*(text.stylize_before(look) for text in self._texts(row)[1:]), *reasons)
            ]
        return lines

    def row_strips(self, at: int) -> list[Strip]:
        """The lines of a row, which stay as they were painted until `redraw`."""
        place = (at, at == self.cursor, self.has_focus)
        strips = self._strips.get(place)
        if strips is None:
            strips = super().row_strips(at)
            self._strips[place] = strips
        return strips

    def redraw(self) -> None:
        self._strips.clear()
        super().redraw()
        self._ask_soon()

    def notify_style_update(self) -> None:
        """Take other colours when the theme changes."""
        super().notify_style_update()
        self._strips.clear()

    def watch_cursor(self, old: int, new: int) -> None:
        super().watch_cursor(old, new)
        self._ask_soon()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._ask_soon()

    def _handle_at(self, row: int) -> Handle | None:
        handles = self.handles
        return handles[row] if row < len(handles) else None

    def _show_listing(self, cursor: int) -> None:
        self._recall = None
        self.set_rows(self._listing, cursor=cursor)

    def _texts(self, row: RankedRow) -> list[Content]:
        """The lines of a result's memory: the first in its column, the others below the scores too."""
        _, first, wide = self._text_place()
        text = one_line(row.result.entry.content[:MAX_TEXT]) or EMPTY_CONTENT
        lines = wrapped(text, first)
        if len(lines) > 1:
            lines = [lines[0], *wrapped(text[len(lines[0]) :].strip(), wide)]
        if len(lines) > self._text_lines:
            lines = lines[: self._text_lines]
            lines[-1] = fit(f"{lines[-1]}{ELLIPSIS}", wide if len(lines) > 1 else first)
        lines[0] = fit(lines[0], first)
        lights = NO_HIGHLIGHTS
        if self._recall is not None and self._recall.mode != SIMILAR:
            lights = highlights_of_message(self._recall.request.query)
        return [lights.lit(line) for line in lines]

    def _text_place(self) -> tuple[int, int, int]:
        """The cells before the memory of a result, those of its first line, and those of the lines below."""
        start = 0
        for number, (column, width) in enumerate(self.laid_out()):
            start += column.lead if number else 0
            if column.flex:
                return start, width, max(width, self.scrollable_content_region.width - start - 2)
            start += width
        return 0, 1, 1

    def row_heights(self) -> Iterable[int] | None:
        """Those of a recall, whose texts use the lines that are free below a short one."""
        if self._recall is None or not self.is_mounted:
            return None
        rows = [row for row in self._rows if isinstance(row, RankedRow)]
        others = sum((row.threshold is not None) + (row.reason is not None) for row in rows)
        free = (self.lines_in_sight - others) // max(1, len(rows))
        self._text_lines = max(_LEAST_TEXT_LINES, min(_MOST_TEXT_LINES, free))
        return [len(self.row_lines(row)) + (row.threshold is not None) for row in rows]

    def _post_highlight(self) -> None:
        entry = self.selected_entry
        if entry is not None and self._posted != (entry, self.selected_result):
            self._posted = (entry, self.selected_result)
            super()._post_highlight()

    def _ask_soon(self) -> None:
        if not self._is_asking and self._recall is None and self.is_mounted:
            self._is_asking = self.call_after_refresh(self._ask)

    def _ask(self) -> None:
        """Ask for what is in sight and a page around it, as soon as half a page around it is not here."""
        self._is_asking = False
        page, top, wanted = self.lines_in_sight, self.scroll_offset.y, self._listing.wanted
        if self._recall is None and wanted(top - page // 2, top + page + page // 2):
            around = [*wanted(top, top + page), *wanted(top + page, top + 2 * page), *wanted(top - page, top)]
            self._listing.ask(around[:_MAX_ASKED])
            self.post_message(self.RowsWanted(around[:_MAX_ASKED]))


def _entry_of(row: ListedRow) -> MemoryEntry | None:
    if isinstance(row, RankedRow):
        return row.result.entry
    return row if isinstance(row, MemoryEntry) else None
