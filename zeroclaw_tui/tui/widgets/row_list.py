"""A list of rows with a cursor, each row one line that is drawn when it is seen."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from zeroclaw_tui.tui.widgets.cursor_list import HEADING_LINES, CursorList
from zeroclaw_tui.tui.widgets.list_rows import Pieces, RowState, RowStyles, sign_of


class RowList(CursorList, inherit_bindings=False):
    """Rows under a heading. A subclass says how many there are and draws them as pieces, the first cell left out.

    What `enter` does is the screen's own.
    """

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
    BINDINGS: ClassVar[list[BindingType]] = [
        binding for binding in CursorList.BINDINGS if isinstance(binding, Binding) and binding.id != "list.open"
    ]

    class CursorMoved(Message):
        """The cursor stands on another row, or what is under it has arrived."""

    class RowOpened(Message):
        """A row was clicked twice."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._styles: dict[tuple[RowState, bool], RowStyles] = {}

    def set_row_count(self, count: int, cursor: int) -> None:
        """Hold so many rows from now on, the cursor on that one or the last."""
        self._row_count = count
        self.virtual_size = Size(0, count + HEADING_LINES if count else 0)
        self.set_reactive(CursorList.cursor, self.validate_cursor(cursor))
        if self.is_mounted:
            self._bring_into_view()
        self.refresh()
        self.post_message(self.CursorMoved())

    def heading(self, styles: RowStyles) -> Pieces:
        """The line above the rows."""
        raise NotImplementedError

    def pieces(self, row: int, styles: RowStyles) -> Pieces:
        """One row."""
        raise NotImplementedError

    def is_marked(self, row: int) -> bool:
        """Whether a row carries a mark."""
        return False

    def watch_cursor(self, old: int, new: int) -> None:
        """Repaint two rows, bring the new one into view, and say so."""
        for row in (old, new):
            self.refresh_row(row)
        self._bring_into_view()
        self.post_message(self.CursorMoved())

    def refresh_row(self, row: int) -> None:
        """Repaint one row, where it is in sight."""
        y = row - self.scroll_offset.y + HEADING_LINES
        if HEADING_LINES <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._bring_into_view()

    def on_click(self, event: events.Click) -> None:
        """Select a row; a double click opens it."""
        place = event.get_content_offset(self)
        if place is None or place.y < HEADING_LINES:
            return
        row = place.y - HEADING_LINES + self.scroll_offset.y
        if row < self._row_count:
            event.stop()
            self.cursor = row
            if event.chain == 2:
                self.post_message(self.RowOpened())

    def notify_style_update(self) -> None:
        """Take other colours when the theme changes or the focus comes and goes."""
        super().notify_style_update()
        self._styles.clear()

    @property
    def row_width(self) -> int:
        """The cells a row has, the first one for the cursor's mark included."""
        return self.scrollable_content_region.width

    def render_line(self, y: int) -> Strip:
        """One line of what is in sight: the heading, a row, or nothing."""
        if self._row_count and y < HEADING_LINES:
            styles = self._styles_of("plain", False)
            return self._strip([Segment(" ", styles.blank), *self.heading(styles)], styles)
        row = y - HEADING_LINES + self.scroll_offset.y
        if not 0 <= row < self._row_count:
            return Strip.blank(self.size.width, self.rich_style)
        state: RowState = "plain" if row != self.cursor else "cursor" if self.has_focus else "cursor-blurred"
        is_marked = self.is_marked(row)
        styles = self._styles_of(state, is_marked)
        return self._strip([Segment(sign_of(state, is_marked), styles.mark), *self.pieces(row, styles)], styles)

    def _strip(self, pieces: Pieces, styles: RowStyles) -> Strip:
        return Strip(pieces).adjust_cell_length(self.size.width, styles.text)

    def _styles_of(self, state: RowState, is_marked: bool) -> RowStyles:
        styles = self._styles.get((state, is_marked))
        if styles is None:
            ground = Style(bgcolor=self.rich_style.bgcolor)
            styles = self._styles[(state, is_marked)] = RowStyles.of(self.app, ground, state, is_marked)
        return styles

    def _bring_into_view(self) -> None:
        top, lines = self.scroll_offset.y, self.lines_in_sight
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + lines:
            self.scroll_to(y=self.cursor - lines + 1, animate=False, force=True)
