"""Two recalls of one message as one list: what enters, leaves, or is recalled no more, beside ranks and scores."""

from __future__ import annotations

from dataclasses import replace

from rich.segment import Segment
from rich.style import Style
from textual import events

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.scoring.what_if import ComparedRow, Comparison
from zeroclaw_tui.tui.format import fit
from zeroclaw_tui.tui.themes import score_colours
from zeroclaw_tui.tui.widgets.cursor_list import HEADING_LINES
from zeroclaw_tui.tui.widgets.list_rows import Layout, Pieces, RowStyles
from zeroclaw_tui.tui.widgets.ranked_rows import (
    RankedRow,
    Ranking,
    ranked_layout,
    ranked_lines,
    threshold_row,
)
from zeroclaw_tui.tui.widgets.row_list import RowList

ENTERS, LEAVES, NEW, GONE, STAYS = "+ enters", "− leaves", "• new", "○ gone", "✓ stays"
_WORDS = {"enters": ENTERS, "leaves": LEAVES, "new": NEW, "gone": GONE}
_MOVE = 9
"""The cells of the words above and of the blank before them."""
UP, DOWN = "↑", "↓"
NO_LONGER = "no longer recalled"


class ComparedRows(RowList):
    """The later recall in its order, then what it withholds and what it recalls no more.

    The threshold stands between the rows as a line of its own, on which the cursor does not stop.
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: tuple[ComparedRow | None, ...] = ()
        self._ranking = Ranking((), None, 0.0, 1.0)
        self._layout: Layout | None = None

    @property
    def selected(self) -> MemoryEntry | None:
        """The memory under the cursor."""
        row = self._row_at(self.cursor)
        return None if row is None else self._ranking.rows[row].result.entry

    def show(self, comparison: Comparison) -> None:
        """Show a comparison; the cursor stays on its memory, or at the top where it was there."""
        kept = self.selected if self.cursor > self._first else None
        rows, self._ranking = _ranked(comparison)
        self._rows = rows
        self._layout = None
        ids = [row.result.entry.id for row in self._ranking.rows]
        at = ids.index(kept.id) if kept is not None and kept.id in ids else None
        lines = len(ids) + (self._ranking.line_at is not None)
        self.set_row_count(lines, self._first if at is None else self._line_of(at))

    def validate_cursor(self, row: int) -> int:
        """Keep the cursor on a row, and off the threshold's line."""
        row = super().validate_cursor(row)
        if row != self._ranking.line_at:
            return row
        return row - 1 if 0 < row < self.cursor else row + 1

    def action_top(self) -> None:
        """Move the cursor to the first memory."""
        self.cursor = self._first
        self.scroll_to(y=0, animate=False, force=True)

    def on_click(self, event: events.Click) -> None:
        """Select a row; the threshold's line is none."""
        place = event.get_content_offset(self)
        if place is not None and place.y - HEADING_LINES + self.scroll_offset.y == self._ranking.line_at:
            event.stop()
            event.prevent_default()

    def notify_style_update(self) -> None:
        """Take other colours when the theme changes."""
        super().notify_style_update()
        self._layout = None

    def heading(self, styles: RowStyles) -> Pieces:
        """The names of the columns."""
        return [Segment(" " * _MOVE, styles.blank), *self._columns.heading(styles, None)[1:]]

    def pieces(self, row: int, styles: RowStyles) -> Pieces:
        """One memory, or the threshold's line."""
        at = self._row_at(row)
        if at is None:
            return [Segment(" " * _MOVE, styles.blank), *threshold_row(self._ranking, self._columns, styles)]
        ranked = self._ranking.rows[at]
        rank, gap, *rest = ranked_lines(ranked, self._ranking, self._columns, styles)[0]
        compared = self._rows[at]
        if compared is None:
            return [Segment(" " * _MOVE, styles.blank), rank, gap, *rest]
        if compared.rank_after is None:
            rank = Segment(" " * len(rank.text), styles.blank)
        return [*self._move(compared, styles), rank, Segment(_way(compared) + " ", styles.muted), *rest]

    def on_resize(self) -> None:
        """Other columns for another width."""
        self._layout = None

    def _move(self, row: ComparedRow, styles: RowStyles) -> Pieces:
        words = _WORDS.get(row.move, STAYS if row.is_injected else "")
        if row.move == "enters":
            style = styles.blank + Style(color=score_colours(self.app)["good"].rich_color, bold=True)
        elif row.move == "leaves":
            style = styles.bad + Style(bold=True)
        else:
            style = styles.muted if row.is_injected else styles.faint
        return [Segment(fit(words, _MOVE), style)]

    def _row_at(self, line: int) -> int | None:
        line_at = self._ranking.line_at
        if line == line_at:
            return None
        row = line if line_at is None or line < line_at else line - 1
        return row if 0 <= row < len(self._ranking.rows) else None

    def _line_of(self, row: int) -> int:
        line_at = self._ranking.line_at
        return row if line_at is None or row < line_at else row + 1

    @property
    def _first(self) -> int:
        return 1 if self._ranking.line_at == 0 else 0

    @property
    def _columns(self) -> Layout:
        if self._layout is None:
            self._layout = ranked_layout(self.row_width - _MOVE, self._ranking)
        return self._layout


def _ranked(comparison: Comparison) -> tuple[tuple[ComparedRow | None, ...], Ranking]:
    """Each row to paint with what becomes of it; None for what is kept from the agent before and after."""
    ranking = Ranking.of(comparison.after)
    withheld = [result.entry.id for result in comparison.after.withheld]
    after = [row for row in comparison.rows if row.rank_after is not None]
    without = {row.result.entry.id: row for row in comparison.rows if row.rank_after is None}
    gone = [row for row in without.values() if row.result.entry.id not in withheld]
    rows = (*after, *(without.get(kept_back) for kept_back in withheld), *gone)
    shown = [*ranking.rows, *(RankedRow(row.result, True, NO_LONGER) for row in gone)]
    best = max((row.result.score or 0.0 for row in shown), default=1.0)
    return rows, replace(ranking, rows=tuple(shown), best=max(ranking.best, best))


def _way(row: ComparedRow) -> str:
    """Whether it rose or sank among what is recalled."""
    if row.rank_before is None or row.rank_after is None or row.rank_before == row.rank_after:
        return " "
    return UP if row.rank_after < row.rank_before else DOWN
