"""Lists: rows in columns under a heading with a cursor, each row read and drawn only when it is seen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args, overload

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from zeroclaw_tui.memory.query import SortField
from zeroclaw_tui.memory.text import display_text, mask_secrets, one_line
from zeroclaw_tui.tui.format import ELLIPSIS, first_cells, fit, last_cells
from zeroclaw_tui.tui.themes import score_colours

Row = TypeVar("Row")
Pieces = list[Segment]
Styles = Mapping[str, Style]
"""The styles of one row by name: the looks of cells, and blank, mark, match and keyword_match."""
Draw = Callable[[Any, int, Styles], Pieces]
"""Draws a cell of a row in so many cells."""
Look = Literal["text", "muted", "faint", "final", "vector", "keyword", "good", "bad"]
"""The looks a cell may have; a `Content` names them as the styles of its parts, and knows no others."""
RowState = Literal["plain", "cursor", "cursor-blurred"]

EMPTY_KEY = "(empty key)"
EMPTY_CONTENT = "(empty)"
CURSOR, MARKED, MARKED_CURSOR, LEFT_OUT = "▌", "●", "◉", "–"
HEADING_LINES = 1
_GAP = 2
_MIN_FLEX = 40
_MIN_CELL, _MAX_CELL = 12, 32
_MIN_KEY = 10
_ROWS_MEASURED = 200
_MAX_LENGTH = 2000
_MARK_CELLS = 2
"""How far from the left edge a click marks a row."""


def row_styles(app: App[Any], ground: Style, state: RowState, is_marked: bool) -> Styles:
    """The styles of a row in the app's theme, on the list's own ground."""
    colours = {name: colour.rich_color for name, colour in score_colours(app).items()}
    surface = "marked" if state == "plain" and is_marked else state
    if surface != "plain" and not app.native_ansi_color:
        ground += Style(bgcolor=colours[surface])
    styles = {name: ground + Style(color=colours[name]) for name in map(str, get_args(Look))}
    if state != "plain":
        # On the cursor's ground the faintest would not be legible.
        styles["faint"] = styles["muted"]
    styles["text"] += Style(bold=state == "cursor")
    styles["mark"] = styles["final" if state == "cursor" or is_marked else "faint"]
    styles["match"] = styles["final"] + Style(bold=True, underline=True)
    styles["keyword_match"] = styles["keyword"] + Style(bold=True, underline=True)
    styles["final"] += Style(bold=True)
    styles["blank"] = ground
    return styles


def cut_key(key: str, cells: int) -> str:
    """A key in at most so many cells, cut in its middle: keys of programs differ at their end."""
    shown = one_line(key)
    if cell_len(shown) <= cells or cells < _MIN_KEY:
        return shown
    tail = (cells - 1) // 2
    return first_cells(shown, cells - 1 - tail) + ELLIPSIS + last_cells(shown, tail)


class LazyRows(Sequence[Row]):
    """Rows that are made or brought only when they are read."""

    def row(self, at: int) -> Row:
        """The row at a place."""
        raise NotImplementedError

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        return self.row(at) if isinstance(at, int) else [self.row(one) for one in range(*at.indices(len(self)))]


# No slots: `Column[Row](…)` could not be made with them.
@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column: what is above it, and what it shows of a row.

    A cell may hold any text: it is put on one line, cleaned and masked here, and is never markup.
    """

    title: str
    cell: Callable[[Row], Content | str] = lambda row: ""
    width: int | None = None
    """Its cells; None: what the widest of the first 200 rows needs, within reason."""
    flex: bool = False
    """Takes what the others leave; several share it."""
    right: bool = False
    """Aligned to the right, as numbers are."""
    hidden_below: int = 0
    """Left out of a list of fewer cells."""
    look: Look = "text"
    """How a plain text, and what is unstyled of a `Content`, looks."""
    shortened: Callable[[str, int], str] | None = None
    """Puts a plain text into so many cells where it has more; None: it is cut at its end."""
    lead: int | None = None
    """Blank cells before it; None: two, and none before the first column."""
    sort: SortField | None = None
    """What a click on its title orders the list by."""
    draw: Draw | None = None
    """In place of `cell`."""


class RowList(ScrollView, Generic[Row], can_focus=True, inherit_bindings=False):
    """Rows in columns, one line each unless a subclass draws more, with a cursor that is on one of them."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", id="list.down", show=False, tooltip="The next memory"),
        Binding("k,up", "move(-1)", "Up", id="list.up", show=False, tooltip="The memory before"),
        Binding("g,home", "top", "Top", id="list.top", show=False, tooltip="The first memory"),
        Binding("G,end", "bottom", "Bottom", id="list.bottom", show=False, tooltip="The last memory"),
        Binding("ctrl+d", "move_pages(0.5)", "Half down", id="list.half_down", show=False, tooltip="Half a page down"),
        Binding("ctrl+u", "move_pages(-0.5)", "Half up", id="list.half_up", show=False, tooltip="Half a page up"),
        Binding("pagedown", "move_pages(1)", "Page down", id="list.page_down", show=False, tooltip="A page on"),
        Binding("pageup", "move_pages(-1)", "Page up", id="list.page_up", show=False, tooltip="A page back"),
    ]
    DEFAULT_CSS = """
    RowList {
        width: 1fr;
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
    }
    """
    cursor: reactive[int] = reactive(0, repaint=False)
    """The row that is selected, from 0."""

    def __init__(self, columns: Sequence[Column[Row]] = (), rows: Sequence[Row] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._columns = columns
        self._rows = rows
        self._widths: list[tuple[Column[Row], int]] | None = None
        self._starts: list[int] | None = None
        """The line that each row begins on, and behind them the count of lines; None: each row takes one line."""
        self._styles: dict[tuple[RowState, bool], Styles] = {}

    @property
    def rows(self) -> Sequence[Row]:
        """What the list holds."""
        return self._rows

    @property
    def selected(self) -> Row | None:
        """The row under the cursor."""
        return self._rows[self.cursor] if self.cursor < len(self._rows) else None

    @property
    def lines_in_sight(self) -> int:
        """How many lines there are under the heading."""
        return max(1, self.size.height - HEADING_LINES)

    def is_marked(self, row: Row) -> bool:
        """Whether a row has a mark."""
        return False

    def is_left_out(self, row: Row) -> bool:
        """Whether a row is struck through."""
        return False

    def divider(self, row: Row) -> str | None:
        """The words of a line across the list, on which the cursor never is; None for any other row."""
        return None

    def columns_for(self, width: int) -> Sequence[Column[Row]]:
        """The columns that a list of this width has."""
        return [column for column in self._columns if width >= column.hidden_below]

    def sorted_by(self) -> tuple[SortField, bool] | None:
        """The order of the rows, and whether it is descending, for the sign in the heading."""
        return None

    def heading_clicked(self, field: SortField) -> None:
        """Answer a click on the title of a column that can order the list."""

    def row_clicked(self, *, is_mark: bool, is_double: bool) -> None:
        """Answer a click on the row under the cursor; `is_mark` for one at its left edge."""

    def row_lines(self, row: Row, styles: Styles) -> list[Pieces]:
        """The lines of a row without the sign before them."""
        return [self.cells_of(row, styles)]

    def redraw(self) -> None:
        """Lay out and draw everything again: rows, marks or colours are other ones now."""
        self._widths = self._starts = None
        self._measure()
        self.refresh()

    def notify_style_update(self) -> None:
        """Take other colours when the theme changes or the focus comes and goes."""
        super().notify_style_update()
        self._styles.clear()

    def on_mount(self) -> None:
        self._measure()
        self.cursor = self.validate_cursor(self.cursor)

    def on_resize(self) -> None:
        """Keep the cursor in view, and lay the columns out for the new width."""
        self.redraw()
        self._bring_into_view()

    def validate_cursor(self, row: int) -> int:
        """Keep the cursor on a row, and off the lines between rows."""
        row = max(0, min(row, len(self._rows) - 1))
        if not self._rows or not self._is_divider(row):
            return row
        ahead, back = range(row, len(self._rows)), range(row, -1, -1)
        ways = (ahead, back) if row >= self.cursor else (back, ahead)
        return next((at for way in ways for at in way if not self._is_divider(at)), row)

    def watch_cursor(self, old: int, new: int) -> None:
        """Repaint two rows, and bring the new one into view."""
        self._refresh_row(old)
        self._refresh_row(new)
        self._bring_into_view()

    def action_move(self, rows: int) -> None:
        self.cursor += rows

    def action_move_pages(self, pages: float) -> None:
        self.cursor += round(pages * max(1, self.lines_in_sight - 1))

    def action_top(self) -> None:
        self.cursor = 0
        self.scroll_to(y=0, animate=False, force=True)

    def action_bottom(self) -> None:
        self.cursor = len(self._rows) - 1

    def on_click(self, event: events.Click) -> None:
        """Select a row, or order by a title."""
        place = event.get_content_offset(self)
        if place is None or not self._rows:
            return
        event.stop()
        if place.y < HEADING_LINES:
            end = 1
            for column, width in self.laid_out():
                end += lead_of(column) + width
                if place.x < end:
                    if column.sort is not None:
                        self.heading_clicked(column.sort)
                    return
            return
        at, _ = self._row_at(place.y - HEADING_LINES + self.scroll_offset.y)
        if at < len(self._rows) and not self._is_divider(at):
            self.cursor = at
            self.row_clicked(is_mark=place.x < _MARK_CELLS, is_double=event.chain == 2)

    def render_line(self, y: int) -> Strip:
        """One line of what is in sight: the heading, a line of a row, or nothing."""
        if not self._rows:
            return Strip.blank(self.size.width, self.rich_style)
        if y < HEADING_LINES:
            return self._heading()
        at, part = self._row_at(y - HEADING_LINES + self.scroll_offset.y)
        if at >= len(self._rows):
            return Strip.blank(self.size.width, self.rich_style)
        state: RowState = "plain"
        if at == self.cursor and self.can_focus:
            state = "cursor" if self.has_focus else "cursor-blurred"
        lines = self.row_strips(at, state)
        return lines[part] if part < len(lines) else Strip.blank(self.size.width, self.rich_style)

    def row_strips(self, at: int, state: RowState) -> list[Strip]:
        """All lines of a row as they are painted."""
        row = self._rows[at]
        is_marked = row is not None and self.is_marked(row)
        styles = self.styles_of(state, is_marked)
        if state != "plain":
            signs = (MARKED_CURSOR if is_marked else CURSOR, CURSOR)
        else:
            signs = (MARKED if is_marked else LEFT_OUT if self.is_left_out(row) else " ", " ")
        # The sign of a mark is on the first line alone; that of the cursor runs along all of its lines.
        return [
            self._strip_of([Segment(signs[min(number, 1)], styles["mark"]), *pieces], styles)
            for number, pieces in enumerate(self.row_lines(row, styles))
        ]

    def cells_of(self, row: Row, styles: Styles) -> Pieces:
        """The cells of a row, or its words across all of them."""
        across = None if row is None else self.divider(row)
        if across is not None:
            width = self.scrollable_content_region.width
            return [Segment(fit(f"{one_line(mask_secrets(across))}", width), styles["muted"])]
        is_left_out = self.is_left_out(row)
        pieces: Pieces = []
        for number, (column, width) in enumerate(self.laid_out()):
            pieces.append(Segment(" " * lead_of(column, is_first=not number), styles["blank"]))
            if column.draw is not None:
                pieces += column.draw(row, width, styles)
            else:
                pieces += _cell(column, row, width, styles, is_left_out=is_left_out)
        return pieces

    def _heading(self) -> Strip:
        """The titles; the one that orders the list carries ▾ or ▴."""
        styles, order = self.styles_of("plain", False), self.sorted_by()
        pieces, spill = [Segment(" ", styles["blank"])], 0
        for number, (column, width) in enumerate(self.laid_out()):
            is_sorted = order is not None and column.sort is order[0]
            title = f"{column.title}{'▾' if order and order[1] else '▴'}" if is_sorted else column.title
            pieces.append(Segment(" " * (lead_of(column, is_first=not number) - spill), styles["blank"]))
            # A title as wide as its column takes the sign into the gap after it.
            spill = 1 if is_sorted and not column.right and cell_len(title) > width else 0
            shown = fit(title, width + spill, "right" if column.right else "left")
            pieces.append(Segment(shown, styles["text" if is_sorted else "muted"]))
        return self._strip_of(pieces, styles)

    def styles_of(self, state: RowState, is_marked: bool) -> Styles:
        styles = self._styles.get((state, is_marked))
        if styles is None:
            ground = Style(bgcolor=self.rich_style.bgcolor)
            styles = self._styles[(state, is_marked)] = row_styles(self.app, ground, state, is_marked)
        return styles

    def _strip_of(self, pieces: Pieces, styles: Styles) -> Strip:
        return Strip(pieces).adjust_cell_length(self.size.width, styles["text"])

    def laid_out(self) -> list[tuple[Column[Row], int]]:
        """The columns there is room for, each with its cells: one cell for the sign and one at the end taken off."""
        if self._widths is not None:
            return self._widths
        width = self.scrollable_content_region.width
        columns = self.columns_for(width)
        cells = [0 if column.flex else self._wanted(column) for column in columns]
        flexible = [at for at, column in enumerate(columns) if column.flex]
        gaps = sum(lead_of(column, is_first=not at) for at, column in enumerate(columns))
        left = width - 2 - sum(cells) - gaps
        for at, column in enumerate(columns):
            # What was measured gives way to what has to be read.
            short = _MIN_FLEX * len(flexible) - left
            if short > 0 and column.width is None and not column.flex and not column.right:
                given = min(short, max(0, cells[at] - _MIN_CELL))
                cells[at] -= given
                left += given
        for number, at in enumerate(flexible):
            cells[at] = max(1, left // (len(flexible) - number))
            left -= cells[at]
        self._widths = list(zip(columns, cells, strict=True))
        return self._widths

    def _wanted(self, column: Column[Row]) -> int:
        if column.width is not None:
            return column.width
        rows = (self._rows[at] for at in range(min(len(self._rows), _ROWS_MEASURED)) if not self._is_divider(at))
        shown = (_clean(column.cell(row)) for row in rows if row is not None)
        widest = max((cell_len(text if isinstance(text, str) else text.plain) for text in shown), default=0)
        return max(cell_len(column.title), min(_MAX_CELL, widest))

    def _lines_of(self, at: int) -> range:
        """The lines that a row takes, counted from the first below the heading."""
        return range(at, at + 1) if self._starts is None else range(self._starts[at], self._starts[at + 1])

    def _row_at(self, line: int) -> tuple[int, int]:
        """Which row is on a line, and which of its lines that is."""
        if self._starts is None:
            return line, 0
        at = bisect_right(self._starts, line) - 1
        return at, line - self._starts[at]

    def _is_divider(self, at: int) -> bool:
        row = self._rows[at]
        return row is not None and self.divider(row) is not None

    def _measure(self) -> None:
        """Be as high as the rows are."""
        lines = self._lines_of(len(self._rows) - 1).stop if self._rows else -HEADING_LINES
        self.virtual_size = Size(0, lines + HEADING_LINES)

    def _refresh_row(self, at: int) -> None:
        if not 0 <= at < len(self._rows):
            return
        lines = self._lines_of(at)
        y = lines.start - self.scroll_offset.y + HEADING_LINES
        top, bottom = max(HEADING_LINES, y), min(self.size.height, y + len(lines))
        if top < bottom:
            self.refresh(Region(0, top, self.size.width, bottom - top))

    def _bring_into_view(self) -> None:
        if not self._rows or not self.size.height or not self.is_mounted:
            return
        lines, top, height = self._lines_of(self.cursor), self.scroll_offset.y, self.lines_in_sight
        if lines.start < top:
            self.scroll_to(y=lines.start, animate=False, force=True)
        elif lines.stop > top + height:
            self.scroll_to(y=min(lines.start, lines.stop - height), animate=False, force=True)


class TableList(RowList[Row]):
    """A list of rows of one type, with marks that stay whichever rows it holds."""

    @dataclass
    class RowMessage(Message, namespace="table_list"):
        """Something about one row; None where there are no rows."""

        table: TableList[Any]
        row: Any

    class RowHighlighted(RowMessage, namespace="table_list"):
        """The cursor is on another row, or other rows are shown."""

    class RowOpened(RowMessage, namespace="table_list"):
        """A row was clicked twice."""

    class MarksChanged(RowMessage, namespace="table_list"):
        """Other rows are marked than before."""

    @dataclass
    class Filled(Message):
        """The list was given its first rows, even if there are none."""

        table: TableList[Any]

    def __init__(
        self,
        columns: Sequence[Column[Row]],
        rows: Sequence[Row] = (),
        *,
        empty: str = "",
        key: Callable[[Row], object] | None = None,
        mark: Callable[[Row], Hashable | None] | None = None,
        leaves_marked_out: bool = False,
        is_left_out: Callable[[Row], bool] | None = None,
        divider: Callable[[Row], str | None] | None = None,
        id: str | None = None,
    ) -> None:
        """`empty` is said where there are no rows. By the `key` of its row the cursor is put back when rows change.

        By its `mark` a row is marked; None where it cannot be. With `leaves_marked_out` a mark says that a row is left
        out. A row for which `divider` gives words is a line across the list.
        """
        super().__init__(columns, rows, id=id)
        self._empty = empty
        self._key = key
        self._mark = mark
        self._leaves_marked_out = leaves_marked_out
        self._is_left_out = is_left_out
        self._divider = divider
        self._marks: dict[Any, None] = {}
        self.is_filled = bool(rows)
        """Whether it was given rows, even if there are none."""

    @property
    def marks(self) -> KeysView[Any]:
        """What is marked, in the order of marking; also of rows that are not held now."""
        return self._marks.keys()

    @property
    def marks_words(self) -> str:
        """How many rows are marked; empty where none is."""
        return f"{MARKED} {len(self._marks):,} marked" if self._marks else ""

    def is_marked(self, row: Row) -> bool:
        return not self._leaves_marked_out and self._has_mark(row)

    def is_left_out(self, row: Row) -> bool:
        if self._leaves_marked_out and self._has_mark(row):
            return True
        return self._is_left_out is not None and self._is_left_out(row)

    def divider(self, row: Row) -> str | None:
        return None if self._divider is None else self._divider(row)

    def toggle_mark(self) -> None:
        """Mark or unmark the row under the cursor, and move to the next."""
        mark = self._mark_of(self.selected)
        if mark is None:
            return
        if mark in self._marks:
            del self._marks[mark]
        else:
            self._marks[mark] = None
        self.cursor += 1
        self._post_marks()

    def mark_all(self) -> None:
        """Mark every row there is that can be; where all of them are marked, none."""
        before = len(self._marks)
        self.set_marks((*self.marks, *(mark for mark in map(self._mark_of, self._rows) if mark is not None)))
        if before and len(self._marks) == before:
            self.set_marks(())

    def set_marks(self, marks: Iterable[Hashable]) -> None:
        """Mark these and no others."""
        self._marks = dict.fromkeys(marks)
        self._post_marks()

    def set_rows(self, rows: Sequence[Row], *, cursor: int | None = None) -> None:
        """Hold these rows; without a `cursor` it stays on the row of its key, else on its place."""
        before = self.selected
        if cursor is None:
            cursor = self.cursor
            if self._key is not None and before is not None:
                wanted = self._key(before)
                cursor = next((at for at, row in enumerate(rows) if self._key(row) == wanted), cursor)
        self._rows = rows
        self.redraw()
        self.set_reactive(RowList.cursor, self.validate_cursor(cursor))
        self._bring_into_view()
        self.post_message(self.RowHighlighted(self, self.selected))
        if not self.is_filled:
            self.is_filled = True
            self.post_message(self.Filled(self))

    def set_columns(self, columns: Sequence[Column[Row]]) -> None:
        """Show other columns of the same rows."""
        self._columns = columns
        self.redraw()

    def say_empty(self, sentence: str) -> None:
        """Say something else where there are no rows."""
        self._empty = sentence
        self.refresh()

    def watch_cursor(self, old: int, new: int) -> None:
        super().watch_cursor(old, new)
        self.post_message(self.RowHighlighted(self, self.selected))

    def row_clicked(self, *, is_mark: bool, is_double: bool) -> None:
        if is_double:
            self.post_message(self.RowOpened(self, self.selected))

    def render_line(self, y: int) -> Strip:
        if self._rows:
            return super().render_line(y)
        styles = self.styles_of("plain", False)
        lines = Content(display_text(mask_secrets(self._empty))).wrap(max(8, self.size.width - 4))
        words = lines[y].plain if self._empty and y < len(lines) else ""
        return self._strip_of([Segment(f"  {words}", styles["muted"])], styles)

    def _has_mark(self, row: Row) -> bool:
        return bool(self._marks) and self._mark_of(row) in self._marks

    def _mark_of(self, row: Row | None) -> Hashable | None:
        return None if row is None or self._mark is None else self._mark(row)

    def _post_marks(self) -> None:
        self.redraw()
        self.post_message(self.MarksChanged(self, self.selected))


def lead_of(column: Column[Any], *, is_first: bool = False) -> int:
    """The blank cells before a column."""
    return column.lead if column.lead is not None else 0 if is_first else _GAP


def _cell(column: Column[Row], row: Row, width: int, styles: Styles, *, is_left_out: bool) -> Pieces:
    """A cell in exactly so many cells; a row that is on its way has blank ones."""
    plain = styles["faint" if is_left_out else column.look]
    shown = "" if row is None else _clean(column.cell(row))
    if isinstance(shown, str) or is_left_out:
        text = shown if isinstance(shown, str) else shown.plain
        if column.shortened is not None and cell_len(text) > width:
            text = column.shortened(text, width)
        words = fit(text, width, "right" if column.right else "left")
        # What is struck through ends where the words do.
        struck = words.rstrip() if is_left_out and column.flex else ""
        return [Segment(struck, plain + Style(strike=True)), Segment(words[len(struck) :], plain)]
    parts = [
        Segment(text, plain if look is None else styles[look])
        for text, look in _parts(shown.truncate(width, ellipsis=True))
    ]
    blank = Segment(" " * max(0, width - sum(part.cell_length for part in parts)), plain)
    return [blank, *parts] if column.right else [*parts, blank]


def _clean(shown: Content | str) -> Content | str:
    """A cell's text as it may be shown; a styled one that hides something loses its looks with it."""
    if isinstance(shown, str):
        return one_line(mask_secrets(shown[:_MAX_LENGTH]))
    plain = shown.plain[:_MAX_LENGTH]
    is_clean = len(plain) == len(shown.plain) and display_text(mask_secrets(plain)) == plain and "\n" not in plain
    return shown if is_clean else one_line(mask_secrets(plain))


def _parts(content: Content) -> Iterator[tuple[str, str | None]]:
    """A text cut where its looks change, each part with the look that was put on last."""
    text, spans = content.plain, content.spans
    ends = sorted({0, len(text), *(min(end, len(text)) for span in spans for end in (span.start, span.end))})
    for start, end in pairwise(ends):
        looks = [str(span.style) for span in spans if span.start <= start and end <= span.end and span.style]
        yield text[start:end], looks[-1] if looks else None
