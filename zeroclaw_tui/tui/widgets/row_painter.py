"""Draws the rows of the memory list as strips, and keeps the ones it drew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.strip import Strip
from textual.widget import Widget

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.query import NEWEST_STORED, Sort
from zeroclaw_tui.tui.lighting import Lights
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
from zeroclaw_tui.tui.widgets.ranked_rows import Ranking, ranked_layout, ranked_row, threshold_row

_STRIPS_KEPT = 512


class RowPainter:
    """Columns, colours and finished strips of one list widget; `ranking` is None while it shows a listing."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._look = Look(NEWEST_STORED, datetime(1970, 1, 1, tzinfo=UTC))
        self._ranking: Ranking | None = None
        self._layout: Layout | None = None
        self._styles: dict[tuple[RowState, bool], RowStyles] = {}
        self._strips: LRUCache[tuple[int | None, RowState], Strip] = LRUCache(_STRIPS_KEPT)

    @property
    def ranking(self) -> Ranking | None:
        """The recall that is drawn."""
        return self._ranking

    @ranking.setter
    def ranking(self, ranking: Ranking | None) -> None:
        self._ranking = ranking
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
        self._layout = None
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

    def kept(self, row: int | None, state: RowState) -> Strip | None:
        """A row that was drawn before."""
        return self._strips.get((row, state))

    def ranked(self, row: int | None, state: RowState, is_marked: bool = False) -> Strip:
        """A row of a recall; None is the threshold's line."""
        assert self._ranking is not None
        styles = self._styles_of(state, is_marked)
        if row is None:
            pieces = threshold_row(self._ranking, self.layout, styles)
        else:
            pieces = ranked_row(self._ranking.rows[row], self._ranking, self.layout, styles)
        return self._keep(row, state, pieces, styles, is_marked)

    def listed(
        self, row: int, state: RowState, entry: MemoryEntry | None, has_gone: bool, is_marked: bool = False
    ) -> Strip:
        """A row of a listing, also one that is not here."""
        styles = self._styles_of(state, is_marked)
        if entry is not None:
            pieces = browse_row(entry, self.layout, self._look, styles)
        else:
            pieces = absent_row(self.layout, styles, *([GONE] if has_gone else []))
        return self._keep(row, state, pieces, styles, is_marked)

    def _keep(self, row: int | None, state: RowState, pieces: Pieces, styles: RowStyles, is_marked: bool) -> Strip:
        sign = Segment(sign_of(state, is_marked), styles.mark)
        strip = self._strips[(row, state)] = self._strip([sign, *pieces], styles)
        return strip

    def _strip(self, pieces: Pieces, styles: RowStyles) -> Strip:
        return Strip(pieces).adjust_cell_length(self._widget.size.width, styles.text)

    def _styles_of(self, state: RowState, is_marked: bool = False) -> RowStyles:
        styles = self._styles.get((state, is_marked))
        if styles is None:
            ground = Style(bgcolor=self._widget.rich_style.bgcolor)
            styles = self._styles[(state, is_marked)] = RowStyles.of(self._widget.app, ground, state, is_marked)
        return styles
