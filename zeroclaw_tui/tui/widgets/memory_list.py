"""The list of memories: a listing whose rows are loaded when visible, or the ranked results of a recall."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.query import NEWEST_STORED, Sort, SortField
from zeroclaw_tui.memory.recall import SIMILAR, RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import NO_VALUE, distinct_numbers, fit, one_line, size_shown
from zeroclaw_tui.scoring.injection import compared_score
from zeroclaw_tui.tui.format import ELLIPSIS, relative_age
from zeroclaw_tui.tui.themes import Look
from zeroclaw_tui.tui.view import NO_HIGHLIGHTS, NO_MOMENT, Highlights, bar, highlights_of_message, score_text
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, EMPTY_KEY, Column, TableList, cut_key, position, wrap

ListedRow: TypeAlias = "MemoryEntry | RankedRow | None"
"""A memory of a listing, None until it is loaded; or a result of a recall."""
_LEAST_TEXT_LINES, _MOST_TEXT_LINES = 2, 8
LUCID = "lucid"
NO_LONGER_LISTED = "edited: no longer in this list"
MAX_TEXT = 4096
_CATEGORY = 12
_LEAST_FOR_KEY, _LEAST_FOR_PARTS, _LEAST_FOR_BARS = 46, 70, 86
"""The minimum widths of a list, in cells, to show the key, the parts of the score, and their bars."""
_BAR, _NUMBER = 8, 5


class ListedMemories(Sequence["MemoryEntry | None"]):
    """The memories of a listing in order; only the handles are known of memories that are not loaded."""

    def __init__(self, handles: Sequence[Handle] = (), entries: Sequence[MemoryEntry] = ()) -> None:
        self.handles = handles
        self._entries: dict[Handle, MemoryEntry] = {}
        self._fresh: set[Handle] = set()
        """The handles that were loaded or requested since this order was read."""
        self.put(entries)

    def __len__(self) -> int:
        return len(self.handles)

    def __getitem__(self, at: Any) -> Any:
        """The memory at an index; None until it is loaded."""
        return self._entries.get(self.handles[at])

    def ordered(self, handles: Sequence[Handle]) -> ListedMemories:
        """Copy with another order; loaded memories are requested again when they become visible."""
        other = ListedMemories(handles)
        other._entries = self._entries
        return other

    def put(self, entries: Sequence[MemoryEntry]) -> None:
        """Store loaded rows; the oldest ones are evicted."""
        for entry in entries:
            self._entries.pop(entry.handle, None)
            self._entries[entry.handle] = entry
            self._fresh.add(entry.handle)
        while len(self._entries) > 4000:
            oldest = next(iter(self._entries))
            del self._entries[oldest]
            self._fresh.discard(oldest)

    def missing(self, start: int, stop: int) -> list[Handle]:
        """The rows between two indexes that must be requested."""
        return [handle for handle in self.handles[max(0, start) : max(0, stop)] if handle not in self._fresh]

    def mark_requested(self, handles: Sequence[Handle]) -> None:
        """Remember that these rows were requested."""
        self._fresh.update(handles)


class MemoryList(TableList[ListedRow]):
    """The list of memories. A listing requests the rows that become visible (`RowsWanted`)."""

    @dataclass
    class RowsWanted(Message):
        """Rows in or near the view are not loaded; `put_rows` delivers them."""

        handles: Sequence[Handle]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(
            self._columns_for,
            ListedMemories(),
            key=lambda row: None if (entry := _entry_of(row)) is None else entry.handle,
            mark=_mark_of,
            heading=lambda row: threshold_text(row, self.scrollable_content_region.width - 2),
            id=id,
        )
        self._look: tuple[Sort, datetime, bool, Highlights] = (NEWEST_STORED, NO_MOMENT, False, NO_HIGHLIGHTS)
        self._recall: RecallResult | None = None
        """The recall that is shown; None for a listing."""
        self._text_lines = 1
        self._posted: tuple[MemoryEntry, ScoredEntry | None] | None = None
        self._is_requesting = False

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.rows)

    @property
    def keys(self) -> Sequence[Any]:
        return self.rows.handles if isinstance(self.rows, ListedMemories) else super().keys

    @property
    def key_here(self) -> Any:
        keys = self.keys
        return keys[self.cursor] if self.cursor < len(keys) else None

    @property
    def selected_entry(self) -> MemoryEntry | None:
        """The memory under the cursor; None if there is none or it is not loaded."""
        return _entry_of(self.selected)

    @property
    def selected_result(self) -> ScoredEntry | None:
        """The recall result under the cursor; None in a listing."""
        row = self.selected
        return row.result if isinstance(row, RankedRow) and row.result.stage != NO_LONGER_LISTED else None

    def show_page(self, entries: Sequence[MemoryEntry]) -> None:
        """Show the first rows of a listing before its whole order is known.

        The cursor stays on its memory if that is among these rows, else it goes to the top.
        """
        rows = ListedMemories([entry.handle for entry in entries], entries)
        cursor = position(rows.handles, self.key_here, 0) or 0
        self._recall = self._posted = None
        self.set_rows(rows, cursor=cursor)

    def show_order(self, handles: Sequence[Handle], first: Sequence[MemoryEntry] = ()) -> None:
        """Show all rows of a listing in this order; `first` are the loaded first rows.

        The cursor stays on its memory, and that on its line of the screen; if the memory was deleted, at its index. At
        the top of a list new memories become visible at once.
        """
        before = self.rows if isinstance(self.rows, ListedMemories) else ListedMemories()
        rows, top = before.ordered(handles), self.scroll_offset.y
        rows.put(first)
        line = self.cursor - top
        self._recall = None
        self.set_rows(rows)
        if top or self.cursor >= self.visible_lines:
            self.scroll_to(y=max(0, self.cursor - line), animate=False, force=True)

    def put_rows(self, entries: Sequence[MemoryEntry]) -> None:
        """Deliver rows of a listing that were requested, or that have changed."""
        if isinstance(self.rows, ListedMemories):
            self.rows.put(entries)
            self.redraw()
            self._post_highlight()

    def show_results(self, result: RecallResult, edited: MemoryEntry | None = None) -> None:
        """Show the results of a recall; for the same query, the cursor stays on its memory.

        A memory that was just `edited` stays visible after the results if it is no longer one of them.
        """
        is_same_query = self._recall is not None and self._recall.request.query == result.request.query
        self._recall, self._posted = result, None
        self.set_rows(ranked_rows(result, edited), cursor=None if is_same_query else 0)

    def go_to(self, handle: Handle | None) -> None:
        """Put the cursor on this row, if it exists."""
        row = position(self.keys, handle, self.cursor)
        if row is not None:
            self.cursor = row

    def drop_rows(self, deleted: Container[Handle]) -> None:
        """Remove deleted memories before the list is loaded again, so that the next key is for a row that exists."""
        if isinstance(self.rows, ListedMemories):
            self.set_rows(self.rows.ordered([handle for handle in self.rows.handles if handle not in deleted]))
        else:
            self.set_rows([row for row in self.rows if (entry := _entry_of(row)) and entry.handle not in deleted])

    def set_look(self, sort: Sort, now: datetime, show_agent: bool, highlights: Highlights) -> None:
        """Set how the rows of a listing are drawn."""
        before, self._look = self._look, (sort, now, show_agent, highlights)
        if self._look != before and self._recall is None:
            self.redraw()

    def handles_to_anchor(self) -> Sequence[Handle]:
        """The rows from the last marked one to the cursor, inclusive; only the cursor's row if nothing is marked."""
        handles = self.keys
        anchor = position(handles, self.anchor, self.cursor) if self.marked else None
        first, last = sorted((self.cursor if anchor is None else anchor, self.cursor))
        self.anchor = self.key_here
        return handles[first : last + 1]

    def is_faint(self, row: ListedRow) -> bool:
        if isinstance(row, RankedRow):
            return row.is_dim
        return isinstance(row, MemoryEntry) and (row.superseded_by is not None or row.withheld is not None)

    def _columns_for(self, width: int) -> Sequence[Column[Any]]:
        if self._recall is None:
            return listing_columns(*self._look, is_wide=self.app.size.width >= 140)
        return ranked_columns(width, self._recall, lambda row, cells: self._texts(row)[0])

    def row_lines(self, row: ListedRow) -> list[Content]:
        """The cells of a memory; below a result the rest of its text, and why it is not injected."""
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

    def redraw(self) -> None:
        super().redraw()
        self._request_soon()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._request_soon()

    def _texts(self, row: RankedRow) -> list[Content]:
        """The lines of a result's text: the first in its column, the others also below the scores."""
        _, first, wide = self._text_place()
        text = one_line(row.result.entry.content[:MAX_TEXT]) or EMPTY_CONTENT
        lines = wrap(text, first)
        if len(lines) > 1:
            lines = [lines[0], *wrap(text[len(lines[0]) :].strip(), wide)]
        if len(lines) > self._text_lines:
            lines = lines[: self._text_lines]
            lines[-1] = fit(f"{lines[-1]}{ELLIPSIS}", wide if len(lines) > 1 else first)
        lines[0] = fit(lines[0], first)
        highlights = NO_HIGHLIGHTS
        if self._recall is not None and self._recall.mode != SIMILAR:
            highlights = highlights_of_message(self._recall.request.query)
        return [highlights.apply(line) for line in lines]

    def _text_place(self) -> tuple[int, int, int]:
        """The start of a result's text, the width of its first line, and that of the other lines, in cells."""
        start = 0
        for number, (column, width) in enumerate(self.laid_out()):
            start += column.lead if number else 0
            if column.flex:
                return start, width, max(width, self.scrollable_content_region.width - start - 2)
            start += width
        return 0, 1, 1

    def row_heights(self) -> Iterable[int] | None:
        """The heights of a recall's rows: the texts of a short recall fill the free lines."""
        if self._recall is None or not self.is_mounted:
            return None
        rows = [row for row in self.rows if isinstance(row, RankedRow)]
        others = sum((row.threshold is not None) + (row.reason is not None) for row in rows)
        free = (self.visible_lines - others) // max(1, len(rows))
        self._text_lines = max(_LEAST_TEXT_LINES, min(_MOST_TEXT_LINES, free))
        return [len(self._texts(row)) + (row.reason is not None) + (row.threshold is not None) for row in rows]

    def _post_highlight(self) -> None:
        entry = self.selected_entry
        if entry is not None and self._posted != (entry, self.selected_result):
            self._posted = (entry, self.selected_result)
            super()._post_highlight()

    def _request_soon(self) -> None:
        if not self._is_requesting and self._recall is None and self.is_mounted:
            self._is_requesting = self.call_after_refresh(self._request_rows)

    def _request_rows(self) -> None:
        """Request the visible rows and a page around them, if rows within half a page around are missing."""
        self._is_requesting = False
        page, top, rows = self.visible_lines, self.scroll_offset.y, self.rows
        if isinstance(rows, ListedMemories) and rows.missing(top - page // 2, top + page + page // 2):
            requested = [*rows.missing(top, top + 2 * page), *rows.missing(top - page, top)][:200]
            rows.mark_requested(requested)
            self.post_message(self.RowsWanted(requested))


def _entry_of(row: ListedRow) -> MemoryEntry | None:
    if isinstance(row, RankedRow):
        return row.result.entry
    return row if isinstance(row, MemoryEntry) else None


def _mark_of(row: ListedRow) -> str | None:
    """The id of a memory; None for a result of the lucid program, which cannot be marked."""
    entry = _entry_of(row)
    return None if entry is None or (isinstance(row, RankedRow) and is_from_lucid(row.result)) else entry.id


def listing_columns(
    sort: Sort, now: datetime, show_agent: bool, highlights: Highlights, *, is_wide: bool
) -> Sequence[Column[Any]]:
    """Key, first line and age; in a wide window also category, agent and size.

    If the list is sorted by the last change, the age is that of the change.
    """
    key = Column[MemoryEntry](
        "key",
        lambda entry: highlights.apply(one_line(entry.key)) if entry.key else EMPTY_KEY,
        shortened=cut_key,
        hidden_below=30,
    )
    flag = Column[MemoryEntry]("", width=1, lead=1, draw=_flag)
    memory = Column[MemoryEntry]("memory", flex=True, lead=1, draw=partial(_memory, highlights))
    age = Column[MemoryEntry](
        "age", lambda entry: relative_age(entry.when, now), 6, right=True, look="muted", hidden_below=_LEAST_FOR_KEY
    )
    if sort.field is SortField.UPDATED:
        age = Column("updated", lambda entry: relative_age(entry.updated_at or entry.when, now), 8, right=True)
    if not is_wide:
        return [key, flag, memory, age]
    category = Column[MemoryEntry]("category", lambda entry: entry.category, _CATEGORY, look="muted")
    agent = Column[MemoryEntry]("agent", lambda entry: entry.agent or "", _CATEGORY, look="muted")
    size = Column[MemoryEntry]("size", lambda entry: size_shown(entry.size), 6, right=True, look="muted")
    return [category, key, flag, memory, *([agent] if show_agent else []), size, age]


def _flag(entry: MemoryEntry, cells: int) -> Content:
    if entry.withheld:
        return Content.styled("✗", "bad")
    return Content("→" if entry.superseded_by is not None else "◆" if entry.pinned else " ")


def _memory(highlights: Highlights, entry: MemoryEntry, cells: int) -> Content:
    """The beginning of a memory, or the text around its first match if that would be cut."""
    words = f"withheld: {one_line(entry.withheld)}  " if entry.withheld else ""
    text = words + (one_line(entry.content[:MAX_TEXT]) or EMPTY_CONTENT)
    matches = highlights.spans(text)
    if matches and cell_len(text[: matches[0][1]]) > cells:
        text = ELLIPSIS + text[max(0, matches[0][0] - 12) :]
    return highlights.apply(fit(text, cells))


@dataclass(frozen=True, slots=True)
class RankedRow:
    """A result; `reason` is why it is not injected, unless the threshold line says so.

    `threshold` is set if the threshold line is above this row.
    """

    result: ScoredEntry
    is_dim: bool
    reason: str | None = None
    threshold: float | None = None


def ranked_rows(recall: RecallResult, edited: MemoryEntry | None = None) -> list[RankedRow]:
    """The results in order, then memories withheld by the scanner, then `edited` if it is not one of these."""
    if recall.mode == SIMILAR or recall.not_read_because is not None:
        # This ranking is never injected.
        return [RankedRow(result, False) for result in recall.results]
    line_at = threshold_line(recall.results, recall.threshold)
    rows = [
        RankedRow(
            result,
            not result.injected,
            _reason(result, line_at is not None and index >= line_at, recall),
            recall.threshold if index == line_at else None,
        )
        for index, result in enumerate(recall.results)
    ]
    rows += [RankedRow(result, True, f"withheld: {one_line(result.withheld or '')}") for result in recall.withheld]
    if edited is not None and all(row.result.entry.id != edited.id for row in rows):
        rows.append(RankedRow(ScoredEntry(edited, 0, None, stage=NO_LONGER_LISTED), True, NO_LONGER_LISTED))
    return rows


def is_from_lucid(result: ScoredEntry | None) -> bool:
    """Whether a result comes from the lucid program and is not a memory of the store."""
    return result is not None and result.stage == LUCID


def why_not_injected(result: ScoredEntry) -> str:
    """Why a result is not injected, in a few words."""
    return "not injected" if result.stop is None else one_line(result.stop.words).rstrip(".")


def threshold_line(results: Sequence[ScoredEntry], threshold: float) -> int | None:
    """The index of the result below the threshold line; None unless all results that reach it come first."""
    reaches = [_reaches(result, threshold) for result in results]
    passing = sum(reaches)
    return None if passing == len(reaches) or not all(reaches[:passing]) else passing


def threshold_text(row: Any, cells: int) -> str | None:
    """The threshold line above the first row below it, in `cells` cells; None above other rows."""
    if not isinstance(row, RankedRow) or row.threshold is None:
        return None
    return f"───── threshold {score_text(row.threshold)}: below is not injected ".ljust(cells, "─")


def ranked_columns(
    width: int, recall: RecallResult, draw_memory: Callable[[Any, int], Content]
) -> Sequence[Column[Any]]:
    """Rank, key, memory, final score and its parts, with bars if there is room."""
    columns: list[Column[Any]] = [
        Column("", _rank, 2, right=True, look="muted", lead=0),
        Column("key", lambda row: row.result.entry.key or EMPTY_KEY, shortened=cut_key, hidden_below=_LEAST_FOR_KEY),
        Column("memory", flex=True, draw=draw_memory),
    ]
    results = (*recall.results, *recall.withheld)
    if any(result.score is not None for result in results):
        columns.append(Column("final", partial(_final, recall.threshold), right=True))
    cells = _BAR if width >= _LEAST_FOR_BARS else 0
    if width < _LEAST_FOR_PARTS:
        return columns
    if any(result.vector_score is not None for result in results):
        columns.append(_part_column("vector", lambda row: _part(row.result.vector_score, cells), cells))
    if any(result.keyword_score is not None for result in results):
        columns.append(_part_column("keyword", lambda row: _part(row.result.keyword_score, cells), cells))
    return columns


def _rank(row: RankedRow) -> str:
    return "" if row.result.withheld or not row.result.rank else str(row.result.rank)


def _part_column(name: Look, cell: Callable[[RankedRow], Content], bar_cells: int) -> Column[Any]:
    return Column(name, cell, max(len(name), bar_cells + _NUMBER), right=not bar_cells, look=name)


def _part(value: float | None, bar_cells: int) -> Content:
    """A number, after a bar if there is room."""
    return Content(NO_VALUE if value is None else f"{bar(value, bar_cells)}{score_text(value):>{_NUMBER}}")


def _final(threshold: float, row: RankedRow) -> Content | str:
    """The score that is compared with the threshold, after the score before decay or rerank."""
    result = row.result
    if is_from_lucid(result):
        return "◇ lucid"
    compared = compared_score(result)
    shown = score_text(compared)
    before = "" if shown == score_text(result.score) else f"{score_text(result.score)} → "
    if compared is not None and compared < threshold and shown == score_text(threshold):
        shown, _ = distinct_numbers(compared, threshold)
    return Content.assemble((before, "muted"), (shown, "final"))


def _reaches(result: ScoredEntry, threshold: float) -> bool:
    score = compared_score(result)
    return result.injected or score is None or score >= threshold


def _reason(result: ScoredEntry, is_below_line: bool, recall: RecallResult) -> str | None:
    if result.injected or (is_below_line and not _reaches(result, recall.threshold)):
        return None
    return why_not_injected(result)
