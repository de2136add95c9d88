"""Draws the rows of the memory list as strips, and keeps the ones it drew."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.strip import Strip
from textual.widget import Widget

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.query import NEWEST_STORED, Sort
from zeroclaw_tui.tui.lighting import NO_LIGHTS, Lights
from zeroclaw_tui.tui.widgets.list_rows import (
    GONE,
    Layout,
    Look,
    Pieces,
    RowState,
    RowStyles,
    absent_row,
    browse_layout,
    browse_row,
    sign_of,
)
from zeroclaw_tui.tui.widgets.ranked_rows import Ranking, ranked_layout, ranked_lines, threshold_row

_STRIPS_KEPT = 512


class RowPainter:
    """Columns, colours and finished strips of one list widget; `ranking` is None while it shows a listing."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._look = Look(NEWEST_STORED, datetime(1970, 1, 1, tzinfo=UTC))
        self._ranking: Ranking | None = None
        self._ranked_lights = NO_LIGHTS
        self._starts: list[int] | None = None
        self._layout: Layout | None = None
        self._styles: dict[tuple[RowState, bool], RowStyles] = {}
        self._strips: LRUCache[tuple[int | None, int, RowState], Strip] = LRUCache(_STRIPS_KEPT)

    @property
    def ranking(self) -> Ranking | None:
        """The recall that is drawn."""
        return self._ranking

    def rank(self, ranking: Ranking | None, lights: Lights = NO_LIGHTS) -> None:
        """Draw a recall with these words of its memories lit; None for a listing."""
        self._ranking, self._ranked_lights = ranking, lights
        self.forget_layout()

    def set_look(self, sort: Sort, now: datetime, show_agent: bool) -> None:
        """Draw by another order, moment or choice of columns."""
        self._look = replace(self._look, sort=sort, now=now, show_agent=show_agent)
        self.forget_layout()

    def light(self, lights: Lights) -> None:
        """Light up these matches, and show no parts of memories any more."""
        self._look = replace(self._look, lights=lights, parts={})
        self.forget_rows()

    def show_parts(self, parts: Mapping[Handle, str]) -> None:
        """Of these memories show a part further on, where their first match is."""
        self._look = replace(self._look, parts={**self._look.parts, **parts})
        self.forget_rows()

    def forget_rows(self) -> None:
        """Draw every row anew."""
        self._strips.clear()

    def forget_layout(self) -> None:
        """Lay out the columns anew."""
        self._layout = self._starts = None
        self._strips.clear()

    def forget_colours(self) -> None:
        """Take the colours of the theme anew."""
        self._styles.clear()
        self._strips.clear()

    @property
    def layout(self) -> Layout:
        """The columns at the widget's width."""
        if self._layout is None:
            width = self._widget.scrollable_content_region.width
            if self._ranking is not None:
                self._layout = ranked_layout(width, self._ranking)
            else:
                self._layout = browse_layout(width, self._look.show_agent, self._look.sort)
        return self._layout

    def heading(self) -> Strip:
        """The line above the rows."""
        styles = self._styles_of("plain")
        return self._strip(self.layout.heading(styles, self._look.sort if self._ranking is None else None), styles)

    def blank(self) -> Strip:
        """A line with nothing on it."""
        return Strip.blank(self._widget.size.width, self._widget.rich_style)

    def line_of(self, row: int) -> int:
        """The first line of a row, the threshold's own line counted."""
        if self._ranking is None:
            return row
        line_at = self._ranking.line_at
        return self._line_starts[row] + (line_at is not None and row >= line_at)

    def row_of(self, line: int) -> tuple[int | None, int]:
        """Which row stands on a line, and which of its lines that is; no row on the threshold's."""
        if self._ranking is None:
            return line, 0
        starts, line_at = self._line_starts, self._ranking.line_at
        if line_at is not None and line >= starts[line_at]:
            if line == starts[line_at]:
                return None, 0
            line -= 1
        row = bisect_right(starts, line) - 1
        return row, line - starts[row]

    def height_of(self, row: int) -> int:
        """How many lines a row of the recall takes."""
        return self._line_starts[row + 1] - self._line_starts[row]

    @property
    def _line_starts(self) -> list[int]:
        """The line that each row of the recall begins on, and behind them the count of lines."""
        if self._starts is None:
            self._starts = [0]
            for row in range(len(self._ranking.rows) if self._ranking else 0):
                self._starts.append(self._starts[-1] + len(self._ranked(row, "plain")))
        return self._starts

    def _ranked(self, row: int, state: RowState, is_marked: bool = False) -> list[Pieces]:
        assert self._ranking is not None
        rows = self._ranking.rows
        keys = [rows[at].result.entry.key for at in (row - 1, row + 1) if 0 <= at < len(rows)]
        styles = self._styles_of(state, is_marked)
        return ranked_lines(rows[row], self._ranking, self.layout, styles, self._ranked_lights, keys)

    def kept(self, row: int | None, part: int, state: RowState) -> Strip | None:
        """A line of a row that was drawn before."""
        return self._strips.get((row, part, state))

    def ranked(self, row: int | None, part: int, state: RowState, is_marked: bool = False) -> Strip:
        """A line of a row of a recall; None is the threshold's line."""
        assert self._ranking is not None
        styles = self._styles_of(state, is_marked)
        if row is None:
            return self._keep(None, 0, state, threshold_row(self._ranking, self.layout, styles), styles, is_marked)
        for number, pieces in enumerate(self._ranked(row, state, is_marked)):
            self._keep(row, number, state, pieces, styles, is_marked)
        return self._strips[(row, part, state)]

    def listed(
        self,
        row: int,
        state: RowState,
        entry: MemoryEntry | None,
        has_gone: bool,
        is_marked: bool = False,
        neighbours: Sequence[str] = (),
    ) -> Strip:
        """A row of a listing, also one that is not here; `neighbours` are the keys above and below it."""
        styles = self._styles_of(state, is_marked)
        if entry is not None:
            pieces = browse_row(entry, self.layout, self._look, styles, neighbours)
        else:
            pieces = absent_row(self.layout, styles, *([GONE] if has_gone else []))
        return self._keep(row, 0, state, pieces, styles, is_marked)

    def _keep(
        self, row: int | None, part: int, state: RowState, pieces: Pieces, styles: RowStyles, is_marked: bool
    ) -> Strip:
        # The sign of a mark stands on the first line alone; that of the cursor runs along all of its lines.
        sign = Segment(sign_of(state, is_marked and part == 0), styles.mark)
        strip = self._strips[(row, part, state)] = self._strip([sign, *pieces], styles)
        return strip

    def _strip(self, pieces: Pieces, styles: RowStyles) -> Strip:
        return Strip(pieces).adjust_cell_length(self._widget.size.width, styles.text)

    def _styles_of(self, state: RowState, is_marked: bool = False) -> RowStyles:
        styles = self._styles.get((state, is_marked))
        if styles is None:
            ground = Style(bgcolor=self._widget.rich_style.bgcolor)
            styles = self._styles[(state, is_marked)] = RowStyles.of(self._widget.app, ground, state, is_marked)
        return styles
