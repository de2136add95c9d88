"""What two texts differ in, as lines with signs before them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from zeroclaw_tui.memory.text_difference import DiffLine, Sign
from zeroclaw_tui.tui.themes import score_colours
from zeroclaw_tui.tui.widgets.detail import next_line

_AT_ONCE = 10_000
_GUTTER = 2
_COLOURS: dict[Sign, str] = {"+": "good", "-": "bad", "~": "text", " ": "muted", "…": "faint"}


class DiffContent(Widget):
    """Lines with + and - before them. Only a first piece is wrapped before it is painted; the rest follows."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "DiffContent { width: 1fr; height: auto; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._diff: Sequence[DiffLine] = ()
        self._wrapped: list[tuple[Sign, str]] = []
        self._line = 0
        self._start = 0
        self._width = 0
        self._is_waiting = False

    def show(self, lines: Sequence[DiffLine]) -> None:
        """Show another difference."""
        self._diff = lines
        self._restart(self._width)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """How many lines are wrapped so far at this width."""
        if width != self._width:
            self._restart(width)
        return len(self._wrapped)

    def render_line(self, y: int) -> Strip:
        """One wrapped line, its sign repeated in the gutter."""
        ground = self.rich_style.bgcolor
        blank = Style(bgcolor=ground)
        if y >= len(self._wrapped):
            return Strip.blank(self.size.width, blank)
        sign, text = self._wrapped[y]
        style = Style(color=score_colours(self.app)[_COLOURS[sign]].rich_color, bgcolor=ground)
        return Strip([Segment(f"{sign} {text}", style)]).adjust_cell_length(self.size.width, blank)

    def _restart(self, width: int) -> None:
        self._width = width
        self._wrapped = []
        self._line = self._start = 0
        self._wrap_more()

    def _wrap_more(self) -> None:
        width = self._width - _GUTTER
        budget = _AT_ONCE
        while width > 0 and budget > 0 and self._line < len(self._diff):
            line = self._diff[self._line]
            text, following = next_line(line.text, self._start, width) if line.text else ("", 1)
            self._wrapped.append((line.sign, text))
            budget -= max(width, following - self._start)
            if following >= len(line.text):
                self._line, self._start = self._line + 1, 0
            else:
                self._start = following
        if width > 0 and self._line < len(self._diff) and not self._is_waiting:
            self._is_waiting = self.call_after_refresh(self._go_on)

    def _go_on(self) -> None:
        self._is_waiting = False
        self._wrap_more()
        self.refresh(layout=True)
