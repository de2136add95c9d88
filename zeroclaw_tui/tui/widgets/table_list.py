"""The list widget: rows in columns under a heading, with a cursor; each row is read only when it is drawn."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, KeysView, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar, Generic, TypeVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from zeroclaw_tui.memory.text import cut, display_text, fit, last_cells, mask_secrets, one_line
from zeroclaw_tui.tui.themes import LOOKS, Look

Row = TypeVar("Row")
EMPTY_KEY = "(empty key)"
EMPTY_CONTENT = "(empty)"
CURSOR, MARKED, MARKED_CURSOR, LEFT_OUT = "▌", "●", "◉", "–"
HEADING_LINES = 1
_MIN_CELL, _MAX_CELL = 12, 32
_MAX_LENGTH = 2000


def position(keys: Sequence[Any], wanted: Any, near: int) -> int | None:
    """The index of a key, tried first at its previous index; None if it is missing."""
    if wanted is None:
        return None
    if 0 <= near < len(keys) and keys[near] == wanted:
        return near
    try:
        return keys.index(wanted)
    except ValueError:
        return None


def wrap(text: str, width: int) -> list[str]:
    """Wrap a text into lines of at most `width` cells, at blanks if possible."""
    return [line.plain for line in Content(text).wrap(max(2, width))]


def cut_key(key: str, cells: int) -> str:
    """Fit a key into `cells` cells, cut in the middle, because generated keys differ at their ends."""
    shown = one_line(key)
    if cell_len(shown) <= cells or cells < 10:
        return shown
    tail = (cells - 1) // 2
    return cut(shown, cells - tail) + last_cells(shown, tail)


# Without slots, which would not allow `Column[Row](…)`.
@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column: its title, and the cell that it shows of a row.

    A cell may be any text: it is put on one line, cleaned and masked here, and never read as markup.
    """

    title: str
    cell: Callable[[Row], Content | str] = lambda row: ""
    width: int | None = None
    """The width in cells; None fits the widest of the first 200 rows, within limits."""
    flex: bool = False
    """Takes the remaining width, shared with other flexible columns."""
    right: bool = False
    """Right-aligned, as for numbers."""
    hidden_below: int = 0
    """Hidden if the list has fewer cells."""
    look: Look = "text"
    """The style of unstyled text; the parts of a `Content` may be styled by the names of looks."""
    shortened: Callable[[str, int], str] | None = None
    """Shortens a plain text that is too long for so many cells; None cuts it at its end."""
    lead: int = 2
    """Blank cells before the column, unless it is the first."""
    draw: Callable[[Row, int], Content] | None = None
    """Replaces `cell`: makes a text of exactly so many cells, which must already be clean."""


class Marks:
    """Marked rows in the order of marking, or all rows of a filter with exceptions."""

    def __init__(self, ids: Iterable[Hashable] = (), filter: Any = None, total: int = 0) -> None:
        self.filter = filter
        """The filter that selects the marked rows; None if they are marked one by one."""
        self.total = total
        """The number of rows that the filter selects."""
        self.ids: dict[Any, None] = dict.fromkeys(ids)
        """The marked rows; with a filter, the unmarked ones."""

    def __len__(self) -> int:
        return len(self.ids) if self.filter is None else max(0, self.total - len(self.ids))

    def __contains__(self, id: Hashable) -> bool:
        return (id in self.ids) is (self.filter is None)

    @property
    def is_whole(self) -> bool:
        """Whether all rows of the filter are marked."""
        return self.filter is not None and not self.ids


class TableList(ScrollView, Generic[Row], can_focus=True, inherit_bindings=False):
    """Rows in columns with a cursor, and marks that stay when the rows change.

    A row is one line unless a subclass draws more. A row of None is not loaded yet.
    """

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
    COMPONENT_CLASSES: ClassVar[set[str]] = {"list--cursor", "list--marked"}
    DEFAULT_CSS = """
    TableList {
        width: 1fr;
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;

        & > .list--cursor { background: $foreground 8%; }
        & > .list--marked { background: $primary 6%; }
        &:focus > .list--cursor { background: $primary 12%; text-style: bold; }
        &:ansi > .list--cursor, &:ansi > .list--marked { background: transparent; }
    }
    """
    cursor: reactive[int] = reactive(0, repaint=False)
    """The index of the selected row."""

    @dataclass
    class RowMessage(Message, namespace="table_list"):
        """A message about one row; None if there are no rows."""

        table: TableList[Any]
        row: Any

    class RowHighlighted(RowMessage, namespace="table_list"):
        """The cursor moved to another row, or the rows changed."""

    class RowOpened(RowMessage, namespace="table_list"):
        """A row was double-clicked."""

    class MarksChanged(RowMessage, namespace="table_list"):
        """The marks changed."""

    @dataclass
    class Filled(Message, namespace="table_list"):
        """The list got its first rows, even if there are none."""

        table: TableList[Any]

    def __init__(
        self,
        columns: Sequence[Column[Row]] | Callable[[int], Sequence[Column[Row]]] = (),
        rows: Sequence[Row] = (),
        *,
        empty: str = "",
        key: Callable[[Row], object] | None = None,
        mark: Callable[[Row], Hashable | None] | None = None,
        is_left_out: Callable[[Row], bool] | None = None,
        heading: Callable[[Row], str | None] | None = None,
        id: str | None = None,
    ) -> None:
        """`columns` may depend on the list's width.

        When the rows change, the cursor stays on the row with the same `key`. `mark` is what identifies a marked row;
        None if a row cannot be marked. `heading` is a line above a row.
        """
        super().__init__(id=id)
        self._columns = columns
        self.rows = rows
        """The rows of the list."""
        self.empty = empty
        """The text of an empty list."""
        self._key = key
        self._mark = mark
        self._is_left_out = is_left_out or (lambda row: False)
        self._heading = heading
        self.marked = Marks()
        self.anchor: Any = None
        """The key of the last marked row, where a range begins."""
        self._strips: LRUCache[tuple[int, bool, bool, bool, bool], list[Strip]] = LRUCache(512)
        self._widths: list[tuple[Column[Row], int]] | None = None
        self._starts: list[int] | None = None
        """The first line of each row, followed by the number of lines; None if each row is one line."""
        self.is_filled = bool(rows)
        """Whether the rows were set, even to none."""

    @property
    def selected(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    @property
    def keys(self) -> Sequence[Any]:
        """The keys of the rows; empty if they have none."""
        return [] if self._key is None else [self._key(row) for row in self.rows]

    @property
    def key_here(self) -> Any:
        """The key of the row under the cursor; None if there is none."""
        row = self.selected
        return None if row is None or self._key is None else self._key(row)

    @property
    def visible_lines(self) -> int:
        """The number of visible lines under the heading."""
        return max(1, self.size.height - HEADING_LINES)

    @property
    def marks(self) -> KeysView[Any]:
        """The marks in the order of marking, including those of absent rows."""
        return self.marked.ids.keys()

    def has_mark(self, row: Row) -> bool:
        """Whether a row is marked, for inclusion or exclusion."""
        mark = self._mark_of(row)
        return mark is not None and mark in self.marked

    def is_faint(self, row: Row) -> bool:
        """Whether a row is drawn faint, because it is excluded or not in the prompt."""
        return row is not None and self._is_left_out(row)

    def row_lines(self, row: Row) -> list[Content]:
        """The lines of a row without the sign column."""
        return [self.cells_of(row)]

    def set_rows(self, rows: Sequence[Row], *, cursor: int | None = None) -> None:
        """Set the rows; without `cursor` it stays on the row with its key, else at its index."""
        key, self.rows = self.key_here, rows
        if cursor is None:
            place = position(self.keys, key, self.cursor)
            cursor = self.cursor if place is None else place
        self.redraw()
        self.set_reactive(TableList.cursor, self.validate_cursor(cursor))
        self._bring_into_view()
        self._post_highlight()
        if not self.is_filled:
            self.is_filled = True
            self.post_message(self.Filled(self))

    def toggle_mark(self) -> None:
        """Mark or unmark the row under the cursor, and move to the next."""
        mark = self._mark_of(self.selected)
        if mark is not None:
            ids = self.marked.ids
            others = [other for other in ids if other != mark]
            self.set_marks(Marks(others if mark in ids else (*ids, mark), self.marked.filter, self.marked.total))
            self.anchor = self.key_here
            self.cursor += 1

    def mark_all(self) -> None:
        """Mark all rows that can be marked; if all are marked, unmark them."""
        every = [mark for mark in map(self._mark_of, self.rows) if mark is not None]
        before = self.marks if self.marked.filter is None else ()
        self.set_marks(() if all(mark in self.marked for mark in every) else (*before, *every))

    def set_marks(self, marks: Marks | Iterable[Hashable]) -> None:
        """Replace the marks."""
        self.marked = marks if isinstance(marks, Marks) else Marks(marks)
        self.refresh()
        self.post_message(self.MarksChanged(self, self.selected))

    def redraw(self) -> None:
        """Lay out and draw everything again after a change of rows or colours."""
        self._widths = self._starts = None
        self._strips.clear()
        self._measure()
        self.refresh()

    def notify_style_update(self) -> None:
        """Redraw in new colours when the theme changes."""
        super().notify_style_update()
        self._strips.clear()

    def on_resize(self) -> None:
        """Keep the cursor in view, and lay the columns out for the new width."""
        self.redraw()
        self._bring_into_view()

    def validate_cursor(self, row: int) -> int:
        """Clamp the cursor to the rows."""
        return max(0, min(row, len(self.rows) - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        """Repaint the old and the new row, and bring the new one into view."""
        for index in (old, new):
            lines = self._lines_of(index)
            y = lines.start - self.scroll_offset.y + HEADING_LINES
            top, bottom = max(HEADING_LINES, y), min(self.size.height, y + len(lines))
            if top < bottom:
                self.refresh(Region(0, top, self.size.width, bottom - top))
        self._bring_into_view()
        self._post_highlight()

    def action_move(self, rows: int) -> None:
        self.cursor += rows

    def action_move_pages(self, pages: float) -> None:
        self.cursor += round(pages * max(1, self.visible_lines - 1))

    def action_top(self) -> None:
        self.cursor = 0
        self.scroll_to(y=0, animate=False, force=True)

    def action_bottom(self) -> None:
        self.cursor = len(self.rows) - 1

    def on_click(self, event: events.Click) -> None:
        """Select a row; a second click opens it."""
        place = event.get_content_offset(self)
        if place is None or place.y < HEADING_LINES:
            return
        event.stop()
        at, _ = self._row_at(place.y - HEADING_LINES + self.scroll_offset.y)
        if at < len(self.rows):
            self.cursor = at
            if event.chain == 2:
                self.post_message(self.RowOpened(self, self.selected))

    def render_line(self, y: int) -> Strip:
        """Draw a visible line: the heading, a line of a row, or a blank line."""
        if not self.rows:
            empty = wrap(display_text(mask_secrets(self.empty)), max(8, self.size.width - 4))
            return self._strip(Content.styled(f"  {empty[y]}" if y < len(empty) else "", "muted"))
        if y < HEADING_LINES:
            titles = [
                (column, fit(column.title, width, "right" if column.right else "left"))
                for column, width in self.laid_out()
            ]
            return self._strip(" " + _join([(column, Content.styled(title, "muted")) for column, title in titles]))
        at, part = self._row_at(y - HEADING_LINES + self.scroll_offset.y)
        lines = self._row_strips(at) if at < len(self.rows) else []
        return lines[part] if part < len(lines) else self._strip(Content(""))

    def _row_strips(self, at: int) -> list[Strip]:
        """All lines of a row with its heading, cached until `redraw`."""
        row = self.rows[at]
        is_left_out = row is not None and self._is_left_out(row)
        is_marked = row is not None and not is_left_out and self.has_mark(row)
        place = (at, at == self.cursor, self.has_focus, is_marked, is_left_out)
        painted = self._strips.get(place)
        if painted is not None:
            return painted
        if at == self.cursor and self.can_focus:
            signs, style_class = (MARKED_CURSOR if is_marked else CURSOR, CURSOR), "list--cursor"
        else:
            signs = (MARKED if is_marked else LEFT_OUT if is_left_out else " ", " ")
            style_class = "list--marked" if is_marked else ""
        # A mark has its sign only on the first line; the cursor has its sign on all lines of the row.
        lines = [
            self._strip(Content.styled(signs[min(number, 1)], "final") + line, style_class)
            for number, line in enumerate(self.row_lines(row))
        ]
        heading = self._heading_of(row)
        if heading is not None:
            lines.insert(0, self._strip(Content.styled(f" {one_line(mask_secrets(heading))}", "muted")))
        self._strips[place] = lines
        return lines

    def cells_of(self, row: Row) -> Content:
        """Draw the cells of a row."""
        look = "faint" if self.is_faint(row) else None
        return _join([(column, _cell(column, row, width, look)) for column, width in self.laid_out()])

    def laid_out(self) -> list[tuple[Column[Row], int]]:
        """The visible columns with their widths in cells; one cell is for the sign and one at the end stays blank."""
        if self._widths is not None:
            return self._widths
        width = self.scrollable_content_region.width
        all_columns = self._columns(width) if callable(self._columns) else self._columns
        columns = [column for column in all_columns if width >= column.hidden_below]
        cells = [0 if column.flex else self._preferred_width(column) for column in columns]
        flexible = [index for index, column in enumerate(columns) if column.flex]
        room = width - 2 - sum(cells) - sum(column.lead for column in columns[1:])
        for index, column in enumerate(columns):
            # Columns with a measured width shrink, so that flexible columns stay readable.
            missing = 40 * len(flexible) - room
            if missing > 0 and column.width is None and not column.flex and not column.right:
                freed = min(missing, max(0, cells[index] - _MIN_CELL))
                cells[index] -= freed
                room += freed
        for number, index in enumerate(flexible):
            cells[index] = max(1, room // (len(flexible) - number))
            room -= cells[index]
        self._widths = list(zip(columns, cells, strict=True))
        return self._widths

    def _strip(self, line: Content, style_class: str = "") -> Strip:
        """Render a line in the styles of a component class."""
        base = self.get_visual_style(*filter(None, [style_class]))
        parse = self.app.stylesheet.parse_style

        def style(name: str | Style) -> Style:
            return parse(LOOKS.get(name, name)) if isinstance(name, str) else name

        pieces = [Segment(text, look.rich_style) for text, look in line.render(base, "", style)]
        return Strip(pieces).adjust_cell_length(self.size.width, base.rich_style)

    def _preferred_width(self, column: Column[Row]) -> int:
        if column.width is not None:
            return column.width
        rows = (self.rows[index] for index in range(min(len(self.rows), 200)))
        widest = max((_clean(column.cell(row)).cell_length for row in rows if row is not None), default=0)
        return max(cell_len(column.title), min(_MAX_CELL, widest))

    def _lines_of(self, at: int) -> range:
        """The lines of a row, counted from the first line below the heading."""
        if self._starts is None:
            return range(at, at + 1)
        return range(self._starts[at], self._starts[at + 1]) if at + 1 < len(self._starts) else range(0)

    def _row_at(self, line: int) -> tuple[int, int]:
        """The index of the row at a line, and the index of the line within the row."""
        if self._starts is None:
            return line, 0
        index = bisect_right(self._starts, line) - 1
        return index, line - self._starts[index]

    def _heading_of(self, row: Row) -> str | None:
        return None if row is None or self._heading is None else self._heading(row)

    def _mark_of(self, row: Row | None) -> Hashable | None:
        return None if row is None or self._mark is None else self._mark(row)

    def row_heights(self) -> Iterable[int] | None:
        """The number of lines of each row with its heading; None if each row is one line."""
        return None if self._heading is None else (1 + (self._heading_of(row) is not None) for row in self.rows)

    def _measure(self) -> None:
        """Set the virtual height to that of all rows."""
        heights = self.row_heights()
        self._starts = None if heights is None else [*accumulate(heights, initial=0)]
        lines = self._lines_of(len(self.rows) - 1).stop if self.rows else -HEADING_LINES
        self.virtual_size = Size(0, lines + HEADING_LINES)

    def _bring_into_view(self) -> None:
        if not self.rows or not self.size.height or not self.is_mounted:
            return
        lines, top, height = self._lines_of(self.cursor), self.scroll_offset.y, self.visible_lines
        if lines.start < top:
            self.scroll_to(y=lines.start, animate=False, force=True)
        elif lines.stop > top + height:
            self.scroll_to(y=min(lines.start, lines.stop - height), animate=False, force=True)

    def _post_highlight(self) -> None:
        self.post_message(self.RowHighlighted(self, self.selected))


def _join(cells: Sequence[tuple[Column[Row], Content]]) -> Content:
    """Join cells side by side."""
    pieces = [Content(" " * column.lead) + cell if number else cell for number, (column, cell) in enumerate(cells)]
    return Content("").join(pieces)


def _cell(column: Column[Row], row: Row, width: int, look: str | None) -> Content:
    """Draw a table cell in exactly `width` terminal cells; blank if the row is not loaded."""
    if row is None:
        return Content(" " * width)
    if column.draw is not None:
        drawn = column.draw(row, width)
        return drawn.stylize_before(column.look) if look is None else Content.styled(drawn.plain, look)
    shown = _clean(column.cell(row))
    if look is not None or not shown.spans:
        text = shown.plain
        if column.shortened is not None and shown.cell_length > width:
            text = column.shortened(text, width)
        return Content.styled(fit(text, width, "right" if column.right else "left"), look or column.look)
    shown = shown.truncate(width, ellipsis=True).stylize_before(column.look)
    blank = " " * (width - shown.cell_length)
    return blank + shown if column.right else shown + blank


def _clean(shown: Content | str) -> Content:
    """Clean the text of a cell for display; styled text that needs cleaning loses its styles."""
    if isinstance(shown, str):
        return Content(one_line(mask_secrets(shown[:_MAX_LENGTH])))
    plain = shown.plain[:_MAX_LENGTH]
    is_clean = len(plain) == len(shown.plain) and display_text(mask_secrets(plain)) == plain and "\n" not in plain
    return shown if is_clean else Content(one_line(mask_secrets(plain)))
