"""How a memory grew, as a curve as wide as there is room."""

from __future__ import annotations

from functools import partial

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Sparkline

from zeroclaw_tui.curation.stats import Growth, curve_of
from zeroclaw_tui.tui.screens.stats_words import growth_axis, growth_heading, growth_without_curve
from zeroclaw_tui.tui.widgets.lines_block import LinesBlock


class GrowthPlot(Vertical):
    """A heading, the curve, its first and last day; where no curve can be drawn, a sentence."""

    DEFAULT_CSS = """
    GrowthPlot { height: auto; width: 1fr; }
    GrowthPlot Sparkline { width: 1fr; height: 3; }
    GrowthPlot Sparkline > .sparkline--min-color { color: $primary 55%; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._growth = Growth((), 0)
        self._width = 0

    def compose(self) -> ComposeResult:
        """The three parts."""
        yield LinesBlock(id="growth-heading")
        yield Sparkline()
        yield LinesBlock(id="growth-axis")

    def show(self, growth: Growth) -> None:
        """Draw another growth."""
        self._growth = growth
        self._draw()

    def on_resize(self) -> None:
        """Coarser or finer, by the width there is."""
        if self.content_size.width != self._width:
            self._width = self.content_size.width
            self._draw()

    def _draw(self) -> None:
        growth = self._growth
        plot, heading, axis = self.query_one(Sparkline), *self.query(LinesBlock)
        curve = curve_of(growth, max(2, self._width - 1)) if len(growth.days) > 1 else None
        plot.display = axis.display = curve is not None
        if curve is None:
            heading.show(partial(growth_without_curve, growth))
            return
        heading.show(partial(growth_heading, curve, growth))
        axis.show(partial(growth_axis, curve, growth))
        # Nothing was stored before the first day: from that zero the heights of all bars count.
        plot.data = (0, *curve.counts)
