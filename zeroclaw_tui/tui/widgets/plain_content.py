"""A memory's content as plain text: lines kept, wrapped to the width a little at a time."""

from __future__ import annotations

from rich.cells import split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from zeroclaw_tui.memory.text import display_text

MOST_SHOWN = 200_000
_AT_ONCE = 10_000
_TAB = 4


class PlainContent(Widget):
    """Plain text of any length. Only a first piece is wrapped before it is painted; the rest follows between frames."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    PlainContent {
        width: 1fr;
        height: auto;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = ""
        self._lines: list[str] = []
        self._start = 0
        self._width = 0
        self._is_waiting = False

    @property
    def lines(self) -> list[str]:
        """The lines that are wrapped so far."""
        return self._lines

    @property
    def is_wrapping(self) -> bool:
        """Whether lines are still to come."""
        return self._start < len(self._text)

    def show(self, content: str) -> None:
        """Show the first 200,000 characters of a memory's content."""
        self._text = display_text(content[:MOST_SHOWN]).expandtabs(_TAB)
        self._restart(self._width)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """How many lines are wrapped so far at this width."""
        if width != self._width:
            self._restart(width)
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        """One wrapped line."""
        style = Style(color=self.rich_style.color, bgcolor=self.rich_style.bgcolor)
        if y >= len(self._lines):
            return Strip.blank(self.size.width, style)
        return Strip([Segment(self._lines[y], style)]).adjust_cell_length(self.size.width, style)

    def _restart(self, width: int) -> None:
        self._width = width
        self._lines = []
        self._start = 0
        self._wrap_more()

    def _wrap_more(self) -> None:
        until = min(self._start + _AT_ONCE, len(self._text))
        while self._width > 0 and self._start < until:
            line, self._start = next_line(self._text, self._start, self._width)
            self._lines.append(line)
        if self._width > 0 and self.is_wrapping and not self._is_waiting:
            self._is_waiting = self.call_after_refresh(self._go_on)

    def _go_on(self) -> None:
        self._is_waiting = False
        self._wrap_more()
        self.refresh(layout=True)


def next_line(text: str, start: int, width: int) -> tuple[str, int]:
    """The line of at most `width` cells that begins at `start`, and where the next one begins.

    It ends at a line feed, else at the last blank that fits, which is swallowed, else within a word.
    """
    line_end = text.find("\n", start)
    if line_end < 0:
        line_end = len(text)
    end = _fitting(text, start, line_end, width)
    if end >= line_end:
        return text[start:line_end], line_end + 1
    if text[end] != " ":
        blank = text.rfind(" ", start, end)
        if blank < 0 or not text[start:blank].strip(" "):
            return text[start:end], end
        end = blank
    following = end
    while following < line_end and text[following] == " ":
        following += 1
    return text[start:end], following + (following == line_end)


def _fitting(text: str, start: int, line_end: int, width: int) -> int:
    window = text[start : min(line_end, start + 2 * width + 16)]
    if window.isascii():
        return min(start + width, line_end)
    used = 0
    for begin, end, cells in split_graphemes(window)[0]:
        if used + cells > width:
            return start + (begin or end)
        used += cells
    return start + len(window)
