"""Panes that are gone through by the same keys: rows with a cursor, and text that scrolls."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.reactive import reactive
from textual.scroll_view import ScrollView

HEADING_LINES = 1


class CursorList(ScrollView, can_focus=True, inherit_bindings=False):
    """A scrolling view whose cursor stands on one of `row_count` rows."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", id="list.down", show=False, tooltip="The next memory"),
        Binding("k,up", "move(-1)", "Up", id="list.up", show=False, tooltip="The memory before"),
        Binding("g,home", "top", "Top", id="list.top", show=False, tooltip="The first memory"),
        Binding("G,end", "bottom", "Bottom", id="list.bottom", show=False, tooltip="The last memory"),
        Binding("ctrl+d", "move_pages(0.5)", "Half down", id="list.half_down", show=False, tooltip="Half a page on"),
        Binding("ctrl+u", "move_pages(-0.5)", "Half up", id="list.half_up", show=False, tooltip="Half a page back"),
        Binding("pagedown", "move_pages(1)", "Page down", id="list.page_down", show=False, tooltip="A page on"),
        Binding("pageup", "move_pages(-1)", "Page up", id="list.page_up", show=False, tooltip="A page back"),
        Binding("enter", "open", "Read", id="list.open", show=False, tooltip="Read the whole memory"),
    ]

    cursor: reactive[int] = reactive(0, repaint=False)
    """The row that is selected, from 0."""

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._row_count = 0

    @property
    def row_count(self) -> int:
        """How many rows there are to select."""
        return self._row_count

    @property
    def lines_in_sight(self) -> int:
        """How many lines there are under the heading."""
        return max(1, self.size.height - HEADING_LINES)

    def validate_cursor(self, row: int) -> int:
        """Keep the cursor on a row."""
        return max(0, min(row, self._row_count - 1))

    def action_move(self, rows: int) -> None:
        """Move the cursor by rows."""
        self.cursor += rows

    def action_move_pages(self, pages: float) -> None:
        """Move the cursor by pages of the rows in sight."""
        self.cursor += round(pages * max(1, self.lines_in_sight - 1))

    def action_top(self) -> None:
        """Move the cursor to the first row, and the heading's list back to its start."""
        self.cursor = 0
        self.scroll_to(y=0, animate=False, force=True)

    def action_bottom(self) -> None:
        """Move the cursor to the last row."""
        self.cursor = self._row_count - 1


class ReadingPane(VerticalScroll, can_focus=True, inherit_bindings=False):
    """A pane beside or below a list, or in its place, that takes the focus and scrolls."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "Down", id="pane.down", show=False, tooltip="A line on"),
        Binding("k,up", "scroll_up", "Up", id="pane.up", show=False, tooltip="A line back"),
        Binding("g,home", "scroll_home", "Top", id="pane.top", show=False, tooltip="To the beginning"),
        Binding("G,end", "scroll_end", "End", id="pane.bottom", show=False, tooltip="To the end"),
        Binding("ctrl+d", "half_page(1)", "Half down", id="pane.half_down", show=False, tooltip="Half a page on"),
        Binding("ctrl+u", "half_page(-1)", "Half up", id="pane.half_up", show=False, tooltip="Half a page back"),
        Binding("pagedown", "page_down", "Page down", id="pane.page_down", show=False, tooltip="A page on"),
        Binding("pageup", "page_up", "Page up", id="pane.page_up", show=False, tooltip="A page back"),
    ]

    def action_half_page(self, way: int) -> None:
        """Half a page on or back."""
        self.scroll_relative(y=way * max(1, self.scrollable_content_region.height // 2), animate=False)
