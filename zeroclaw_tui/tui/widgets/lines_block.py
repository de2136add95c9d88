"""A block of lines that are made for the width they get."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import RenderResult
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

Lines = Callable[[int], Sequence[Content]]
"""Makes the lines for a width in cells."""


class LinesBlock(Widget):
    """A few lines that are as long as there is room. They are shown as they are: clean them first."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    LinesBlock { width: 1fr; height: auto; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(self, lines: Lines | None = None, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines = lines or (lambda width: ())

    def show(self, lines: Lines) -> None:
        """Show other lines; without any the block takes no room."""
        self._lines = lines
        self.display = bool(lines(1))
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One line for each."""
        return len(self._lines(max(1, width)))

    def render(self) -> RenderResult:
        """The lines at this width."""
        return Content("\n").join(self._lines(max(1, self.content_size.width)))
