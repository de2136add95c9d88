"""What is read, scrolling with the keys of a list."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll


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
