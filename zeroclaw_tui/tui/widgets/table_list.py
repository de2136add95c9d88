"""Rows of anything in columns under a heading, each row one line that is drawn when it is seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, KeysView, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, Literal, TypeVar, overload

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from zeroclaw_tui.memory.text import display_text, mask_secrets, one_line
from zeroclaw_tui.tui.format import fit
from zeroclaw_tui.tui.widgets.rows import HEADING_LINES, MARKED, CursorList, Pieces, RowState, RowStyles, sign_of

Row = TypeVar("Row")
Look = Literal["text", "muted", "faint", "final", "vector", "keyword", "match", "good", "bad"]
"""The looks a cell may have; a `Content` names them as the styles of its parts, and knows no others."""

LEFT_OUT = "–"
_GAP = 2
_LEAST_FLEX = 40
_LEAST_CELL = 12
_WIDEST_CELL = 32
_ROWS_MEASURED = 200
_LONGEST_LOOKED_AT = 2000


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
    cell: Callable[[Row], Content | str]
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


class TableList(CursorList, Generic[Row]):
    """A list of rows of one type, with a cursor.

    The rows are read by their index and only as they come into sight, so that a hundred thousand cost no more than
    ten. What the enter key does is the room's own; a double click posts `RowOpened`.
    """

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

        By its `mark` a row is marked, and stays so in whichever rows the list holds; None where it cannot be. With
        `leaves_marked_out` a mark says that a row is left out. `is_left_out` is asked whenever a row is drawn. A row
        for which `divider` gives words is a line across the list, on which the cursor never stands.
        """
        super().__init__(id=id)
        self._columns = columns
        self._empty = empty
        self._key = key
        self._mark = mark
        self._leaves_marked_out = leaves_marked_out
        self._marks: dict[Any, None] = {}
        self._anchor = 0
        self._is_left_out = is_left_out
        self._divider = divider
        self._widths: list[tuple[Column[Row], int]] | None = None
        self._rows = rows
        self._row_count = len(rows)
        self.is_filled = bool(rows)
        """Whether it was given rows, even if there are none."""

    @property
    def rows(self) -> Sequence[Row]:
        """What the list holds."""
        return self._rows

    @property
    def selected(self) -> Row | None:
        """The row under the cursor."""
        return self._rows[self.cursor] if self.cursor < len(self._rows) else None

    @property
    def marks(self) -> KeysView[Any]:
        """What is marked, in the order of marking; also of rows that are not held now."""
        return self._marks.keys()

    def toggle_mark(self) -> None:
        """Mark or unmark the row under the cursor, and move to the next."""
        mark = self._mark_of(self.selected)
        if mark is None:
            return
        self._anchor = self.cursor
        if mark in self._marks:
            del self._marks[mark]
        else:
            self._marks[mark] = None
        self.cursor += 1
        self._post_marks()

    def mark_to_cursor(self) -> None:
        """Mark from the row that was marked last to the one under the cursor."""
        first, last = sorted((min(self._anchor, len(self._rows) - 1), self.cursor))
        self._mark_rows(self._rows[max(0, first) : last + 1])

    def mark_all(self) -> None:
        """Mark every row there is that can be; where all of them are marked, none."""
        before = len(self._marks)
        self._mark_rows(self._rows)
        if before and len(self._marks) == before:
            self.set_marks(())

    def set_marks(self, marks: Iterable[Hashable]) -> None:
        """Mark these and no others."""
        self._marks = dict.fromkeys(marks)
        self._post_marks()

    @property
    def marks_words(self) -> str:
        """How many rows are marked; empty where none is."""
        return f"{MARKED} {len(self._marks):,} marked" if self._marks else ""

    def set_rows(self, rows: Sequence[Row], *, cursor: int | None = None) -> None:
        """Hold these rows; without a `cursor` it stays on the row of its key, else on its place."""
        before = self.selected
        if cursor is None:
            cursor = self.cursor
            if self._key is not None and before is not None:
                wanted = self._key(before)
                cursor = next((at for at, row in enumerate(rows) if self._key(row) == wanted), cursor)
        self._rows = rows
        self._row_count = len(rows)
        self._widths = None
        self._anchor = 0
        self.virtual_size = self._size_of_rows()
        self.set_reactive(CursorList.cursor, self.validate_cursor(cursor))
        if self.is_mounted:
            self._bring_into_view()
        self.refresh()
        self.post_message(self.RowHighlighted(self, self.selected))
        if not self.is_filled:
            self.is_filled = True
            self.post_message(self.Filled(self))

    def set_columns(self, columns: Sequence[Column[Row]]) -> None:
        """Show other columns of the same rows."""
        self._columns = columns
        self._widths = None
        self.refresh()

    def say_empty(self, sentence: str) -> None:
        """Say something else where there are no rows."""
        self._empty = sentence
        self.refresh()

    def on_mount(self) -> None:
        self.virtual_size = self._size_of_rows()
        self.cursor = self.validate_cursor(self.cursor)

    def validate_cursor(self, row: int) -> int:
        """Keep the cursor on a row, and off the lines between rows."""
        row = super().validate_cursor(row)
        if self._divider is None or not self._rows:
            return row
        ahead = range(row, len(self._rows))
        back = range(row, -1, -1)
        ways = (ahead, back) if row >= self.cursor else (back, ahead)
        return next((at for way in ways for at in way if self._divider(self._rows[at]) is None), row)

    def watch_cursor(self, old: int, new: int) -> None:
        """Repaint two rows, bring the new one into view, and say so."""
        self._refresh_row(old)
        self._refresh_row(new)
        self._bring_into_view()
        self.post_message(self.RowHighlighted(self, self.selected))

    def on_resize(self) -> None:
        """Keep the cursor in view, and lay the columns out for the new width."""
        self._widths = None
        self._bring_into_view()

    def on_click(self, event: events.Click) -> None:
        """Select a row; a double click opens it."""
        place = event.get_content_offset(self)
        if place is None or place.y < HEADING_LINES:
            return
        row = place.y - HEADING_LINES + self.scroll_offset.y
        if row >= len(self._rows) or (self._divider is not None and self._divider(self._rows[row]) is not None):
            return
        event.stop()
        self.cursor = row
        if event.chain == 2:
            self.post_message(self.RowOpened(self, self._rows[row]))

    def render_line(self, y: int) -> Strip:
        """One line of what is in sight: the heading, a row, the sentence of an empty list, or nothing."""
        if not self._rows:
            return self._empty_line(y)
        if y < HEADING_LINES:
            return self._heading()
        at = y - HEADING_LINES + self.scroll_offset.y
        if at >= len(self._rows):
            return Strip.blank(self.size.width, self.rich_style)
        row = self._rows[at]
        across = self._divider(row) if self._divider is not None else None
        if across is not None:
            styles = self.styles_of("plain")
            words = fit(f" {one_line(mask_secrets(across))}", self.scrollable_content_region.width)
            return self.strip_of([Segment(words, styles.muted)], styles)
        return self._row_line(row, at)

    def _mark_of(self, row: Row | None) -> Hashable | None:
        return None if row is None or self._mark is None else self._mark(row)

    def _post_marks(self) -> None:
        self.refresh()
        self.post_message(self.MarksChanged(self, self.selected))

    def _mark_rows(self, rows: Iterable[Row]) -> None:
        self.set_marks((*self.marks, *(mark for mark in map(self._mark_of, rows) if mark is not None)))

    def _size_of_rows(self) -> Size:
        return Size(0, len(self._rows) + HEADING_LINES if self._rows else 0)

    def _row_line(self, row: Row, at: int) -> Strip:
        state: RowState = "plain" if at != self.cursor else "cursor" if self.has_focus else "cursor-blurred"
        is_marked = bool(self._marks) and self._mark_of(row) in self._marks
        stays = (is_marked and self._leaves_marked_out) or (self._is_left_out is not None and self._is_left_out(row))
        is_marked = is_marked and not self._leaves_marked_out
        styles = self.styles_of(state, is_marked)
        sign = LEFT_OUT if stays and state == "plain" and not is_marked else sign_of(state, is_marked)
        pieces = [Segment(sign, styles.mark)]
        for number, (column, width) in enumerate(self._laid_out()):
            if number:
                pieces.append(Segment(" " * _GAP, styles.blank))
            plain = styles.faint + Style(strike=column.flex) if stays else getattr(styles, column.look)
            pieces += self._cell(column, row, width, plain, None if stays else styles)
        return self.strip_of(pieces, styles)

    def _cell(self, column: Column[Row], row: Row, width: int, plain: Style, styles: RowStyles | None) -> Pieces:
        # A row that is on its way has blank cells.
        shown = "" if row is None else _clean(column.cell(row))
        if isinstance(shown, str) or styles is None:
            text = shown if isinstance(shown, str) else shown.plain
            if column.shortened is not None and cell_len(text) > width:
                text = column.shortened(text, width)
            words = fit(text, width, "right" if column.right else "left")
            if not plain.strike:
                return [Segment(words, plain)]
            # What is struck through ends where the words do.
            stripped = words.rstrip()
            return [Segment(stripped, plain), Segment(words[len(stripped) :], plain + Style(strike=False))]
        parts = [
            Segment(text, plain if look is None else getattr(styles, look))
            for text, look in _parts(shown.truncate(width, ellipsis=True))
        ]
        blank = Segment(" " * max(0, width - sum(part.cell_length for part in parts)), plain)
        return [blank, *parts] if column.right else [*parts, blank]

    def _heading(self) -> Strip:
        styles = self.styles_of("plain")
        titles = (fit(column.title, width, "right" if column.right else "left") for column, width in self._laid_out())
        return self.strip_of([Segment(" " + (" " * _GAP).join(titles), styles.muted)], styles)

    def _empty_line(self, y: int) -> Strip:
        styles = self.styles_of("plain")
        lines = Content(display_text(mask_secrets(self._empty))).wrap(max(8, self.size.width - 4))
        words = lines[y].plain if self._empty and y < len(lines) else ""
        return self.strip_of([Segment(f"  {words}", styles.muted)], styles)

    def _laid_out(self) -> list[tuple[Column[Row], int]]:
        """The columns there is room for, each with its cells: one cell for the sign and one at the end taken off."""
        if self._widths is not None:
            return self._widths
        width = self.scrollable_content_region.width
        columns = [column for column in self._columns if width >= column.hidden_below]
        cells = [0 if column.flex else self._wanted(column) for column in columns]
        flexible = [at for at, column in enumerate(columns) if column.flex]
        left = width - 2 - sum(cells) - _GAP * (len(columns) - 1)
        for at, column in enumerate(columns):
            # What was measured gives way to what has to be read.
            short = _LEAST_FLEX * len(flexible) - left
            if short > 0 and column.width is None and not column.flex and not column.right:
                given = min(short, max(0, cells[at] - _LEAST_CELL))
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
        rows = (self._rows[at] for at in range(min(len(self._rows), _ROWS_MEASURED)))
        shown = (_clean(column.cell(row)) for row in rows if row is not None and not self._is_across(row))
        widest = max((cell_len(text if isinstance(text, str) else text.plain) for text in shown), default=0)
        return max(cell_len(column.title), min(_WIDEST_CELL, widest))

    def _is_across(self, row: Row) -> bool:
        return self._divider is not None and self._divider(row) is not None


def _clean(shown: Content | str) -> Content | str:
    """A cell's text as it may be shown; a styled one that hides something loses its looks with it."""
    if isinstance(shown, str):
        return one_line(mask_secrets(shown[:_LONGEST_LOOKED_AT]))
    plain = shown.plain[:_LONGEST_LOOKED_AT]
    is_clean = len(plain) == len(shown.plain) and display_text(mask_secrets(plain)) == plain and "\n" not in plain
    return shown if is_clean else one_line(mask_secrets(plain))


def _parts(content: Content) -> Iterator[tuple[str, str | None]]:
    """A text cut where its looks change, each part with the look that was put on last."""
    text, spans = content.plain, content.spans
    ends = sorted({0, len(text), *(min(end, len(text)) for span in spans for end in (span.start, span.end))})
    for start, end in pairwise(ends):
        looks = [str(span.style) for span in spans if span.start <= start and end <= span.end and span.style]
        yield text[start:end], looks[-1] if looks else None
