"""The steps in the history of one memory, each a line: when, and what was done."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.segment import Segment

from zeroclaw_tui.curation.trash.trash import Version
from zeroclaw_tui.tui.format import fit, relative_age
from zeroclaw_tui.tui.widgets.list_rows import Pieces, RowStyles
from zeroclaw_tui.tui.widgets.row_list import RowList
from zeroclaw_tui.tui.widgets.version_words import step_glyph, step_words, what_changed

_WHEN = 8
_DONE = 14


class StepList(RowList):
    """Steps, the newest first."""

    def __init__(self, now: datetime, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self._steps: Sequence[Version] = ()

    @property
    def selected(self) -> Version | None:
        """The step under the cursor."""
        return self._steps[self.cursor] if self.cursor < len(self._steps) else None

    def show(self, steps: Sequence[Version], now: datetime) -> None:
        """Show these steps."""
        self._steps, self._now = steps, now
        self.set_row_count(len(steps), self.cursor)

    def heading(self, styles: RowStyles) -> Pieces:
        """The names of the columns."""
        words = f"{fit('when', _WHEN)}    {fit('what', _DONE)}  {fit('changed', self._rest)}"
        return [Segment(words, styles.muted)]

    def pieces(self, row: int, styles: RowStyles) -> Pieces:
        """One step."""
        step = self._steps[row]
        glyph = step_glyph(step)
        colour = {"+": styles.final, "-": styles.bad}.get(glyph, styles.muted)
        return [
            Segment(f"{fit(relative_age(step.at, self._now), _WHEN)}  ", styles.muted),
            Segment(f"{glyph} ", colour),
            Segment(f"{fit(step_words(step), _DONE)}  ", styles.text),
            Segment(fit(", ".join(what_changed(step)), self._rest), styles.muted),
        ]

    @property
    def _rest(self) -> int:
        return max(1, self.row_width - 1 - _WHEN - 4 - _DONE - 2 - 1)
