"""A memory's content as plain text: lines kept, wrapped to the width a little at a time."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from operator import itemgetter

from rich.style import Style
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from zeroclaw_tui.backends.text_search import Span
from zeroclaw_tui.memory.text import display_text
from zeroclaw_tui.tui.format import next_line as next_line
from zeroclaw_tui.tui.highlights import NO_HIGHLIGHTS, Highlights, cleaned, segments
from zeroclaw_tui.tui.themes import score_colours

MOST_SHOWN = 200_000
_AT_ONCE = 10_000
_TAB = 4
_LIT_AT_ONCE = 20_000
_SECONDS = 1.0
"""How long a pattern may be matched against one content, in a thread."""
_LIGHTING = "lighting"


class PlainContent(Widget):
    """Plain text of any length. Only a first piece is wrapped before it is painted; the rest follows between frames."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    PlainContent {
        width: 1fr;
        height: auto;
    }
    """

    class MatchReached(Message):
        """The first match stands on this line, counted from 0."""

        def __init__(self, line: int) -> None:
            super().__init__()
            self.line = line

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = ""
        self._spans: Sequence[Span] = ()
        self._colour = NO_HIGHLIGHTS.colour
        self._is_first_told = False
        self._lines: list[str] = []
        self._starts: list[int] = []
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

    def show(self, content: str, lights: Highlights = NO_HIGHLIGHTS) -> None:
        """Show the first 200,000 characters of a memory's content, with what is looked for lit up.

        In a long one the matches are looked for in a thread, and are lit a moment later.
        """
        shown = content[:MOST_SHOWN]
        self._colour = lights.colour
        self.workers.cancel_group(self, _LIGHTING)
        is_long = len(shown) > _LIT_AT_ONCE
        self._take(*_laid_out(shown, () if is_long else lights.spans(shown)))
        if is_long and lights:
            # Not a coroutine: a worker cancelled before its first step would leave that behind, never awaited.
            lighting: Callable[[], Awaitable[None]] = partial(self._light_later, shown, lights)
            self.run_worker(lighting, group=_LIGHTING, exclusive=True)

    async def _light_later(self, content: str, lights: Highlights) -> None:
        def look() -> tuple[str, Sequence[Span]]:
            return _laid_out(content, lights.spans(content, _SECONDS))

        text, spans = await asyncio.to_thread(look)
        if spans:
            self._take(text, spans)

    def _take(self, text: str, spans: Sequence[Span]) -> None:
        self._text, self._spans = text, spans
        self._is_first_told = False
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
        line, start = self._lines[y], self._starts[y]
        lit = [(max(0, first - start), min(len(line), last - start)) for first, last in self._spans_in(start, line)]
        colour = score_colours(self.app)[self._colour].rich_color
        match = style + Style(color=colour, bold=True, underline=True)
        return Strip(segments(line, lit, style, match)).adjust_cell_length(self.size.width, style)

    def _spans_in(self, start: int, line: str) -> Sequence[Span]:
        first = bisect_right(self._spans, start, key=itemgetter(1))
        last = bisect_left(self._spans, start + len(line), key=itemgetter(0))
        return self._spans[first:last]

    def _restart(self, width: int) -> None:
        self._width = width
        self._lines = []
        self._starts = []
        self._start = 0
        self._wrap_more()

    def _wrap_more(self) -> None:
        until = min(self._start + _AT_ONCE, len(self._text))
        while self._width > 0 and self._start < until:
            self._starts.append(self._start)
            line, self._start = next_line(self._text, self._start, self._width)
            self._lines.append(line)
        self._tell_first()
        if self._width > 0 and self.is_wrapping and not self._is_waiting:
            self._is_waiting = self.call_after_refresh(self._go_on)

    def _tell_first(self) -> None:
        """Say where the first match stands, once that line is wrapped."""
        if self._spans and not self._is_first_told and self._start > self._spans[0][0]:
            self._is_first_told = True
            line = bisect_right(self._starts, self._spans[0][0]) - 1
            # The line is there for a scroll to it only when the new height is.
            self.call_after_refresh(self.post_message, self.MatchReached(line))

    def _go_on(self) -> None:
        self._is_waiting = False
        self._wrap_more()
        self.refresh(layout=True)


def _laid_out(content: str, spans: Sequence[Span]) -> tuple[str, Sequence[Span]]:
    """A content as it is shown, and where the spans stand in that."""
    text, shown = cleaned(content, spans, display_text)
    if not shown or "\t" not in text:
        return text.expandtabs(_TAB), shown
    # How wide a tab is depends on what stands before it on its line.
    pieces, edges, moved, at, column = text.split("\t"), [edge for span in shown for edge in span], list[int](), 0, 0
    place, number = 0, 0
    for piece in pieces:
        while number < len(edges) and edges[number] <= at + len(piece):
            moved.append(place + edges[number] - at)
            number += 1
        end = piece.rfind("\n")
        column = column + len(piece) if end < 0 else len(piece) - end - 1
        blanks = _TAB - column % _TAB
        place += len(piece) + blanks
        at += len(piece) + 1
        column += blanks
    return text.expandtabs(_TAB), list(zip(moved[::2], moved[1::2], strict=True))
