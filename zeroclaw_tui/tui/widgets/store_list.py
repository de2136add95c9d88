"""The stores one config knows, each a line: name, how it stands, how many memories, what it can do, where it lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.tui.format import NO_VALUE, count_text, fit
from zeroclaw_tui.tui.widgets.header import shorten_path, with_tilde
from zeroclaw_tui.tui.widgets.list_rows import Pieces, RowStyles
from zeroclaw_tui.tui.widgets.row_list import RowList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.switching import Candidate, Standing

_NAME, _STATE, _COUNT, _WHY = 16, 12, 9, 22
_MARKS = ("keyword", "vectors", "sessions", "agents", "write")
_MARK_CELLS = sum(len(mark) + 1 for mark in _MARKS)
_LEAST_WHERE = 30
_FIXED = 1 + 2 + _NAME + _STATE + _COUNT + 2
_CURRENT = "● "


class StoreList(RowList):
    """Candidates with what each has answered so far."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: Sequence[Candidate] = ()
        self._standings: Sequence[Standing | None] = ()

    @property
    def selected(self) -> Candidate | None:
        """The store under the cursor."""
        return self._rows[self.cursor] if self.cursor < len(self._rows) else None

    @property
    def standing(self) -> Standing | None:
        """What the store under the cursor answered; None while it is asked."""
        return self._standings[self.cursor] if self.cursor < len(self._standings) else None

    def show(self, rows: Sequence[Candidate], standings: Sequence[Standing | None]) -> None:
        """Show these; the cursor stays on its line."""
        self._rows, self._standings = rows, standings
        self.set_row_count(len(rows), self.cursor)

    def heading(self, styles: RowStyles) -> Pieces:
        """The names of the columns."""
        words = f"  {fit('store', _NAME)}{fit('', _STATE)}{fit('memories', _COUNT, 'right')}  "
        if self._has_marks:
            words += f"{fit('can', _MARK_CELLS)}  "
        words += fit("where", self._where)
        if self._has_why:
            words += f"  {fit('known by', _WHY)}"
        return [Segment(words, styles.muted)]

    def pieces(self, row: int, styles: RowStyles) -> Pieces:
        """One store."""
        candidate, standing = self._rows[row], self._standings[row]
        is_silent = standing is not None and not standing.ok
        words, style = self._state(standing, styles)
        count = "…" if standing is None else NO_VALUE if standing.count is None else count_text(standing.count)
        pieces = [
            Segment(_CURRENT if candidate.is_current else "  ", styles.final),
            Segment(fit(_clean(candidate.name), _NAME - 1) + " ", styles.muted if is_silent else styles.text),
            Segment(fit(words, _STATE), style),
            Segment(fit(count, _COUNT, "right") + "  ", styles.text),
        ]
        if self._has_marks:
            pieces += [*self._marks(standing, styles), Segment("  ", styles.blank)]
        where = shorten_path(_clean(candidate.location), self._where)
        pieces.append(Segment(fit(where, self._where), styles.muted))
        if self._has_why:
            pieces.append(Segment("  " + fit(_clean(candidate.why), _WHY), styles.faint))
        return pieces

    @staticmethod
    def _state(standing: Standing | None, styles: RowStyles) -> tuple[str, Style]:
        if standing is None:
            return "… asking", styles.muted
        if standing.ok:
            return "✓ answers", styles.text
        return ("– not yet", styles.muted) if standing.is_not_there_yet else ("✗ fails", styles.bad)

    @staticmethod
    def _marks(standing: Standing | None, styles: RowStyles) -> Pieces:
        if standing is None or not standing.ok:
            return [Segment(" " * _MARK_CELLS, styles.blank)]
        return [
            Segment(
                fit(mark if mark in standing.marks else NO_VALUE, len(mark) + 1),
                styles.text if mark in standing.marks else styles.faint,
            )
            for mark in _MARKS
        ]

    @property
    def _has_marks(self) -> bool:
        return self.row_width - _FIXED - _MARK_CELLS - 2 >= _LEAST_WHERE

    @property
    def _has_why(self) -> bool:
        # The pane below tells it too, so that no address is cut for it.
        wanted = max((cell_len(_clean(candidate.location)) for candidate in self._rows), default=0)
        left = self.row_width - _FIXED - _MARK_CELLS - 4 - _WHY
        return self._has_marks and left >= max(_LEAST_WHERE, wanted)

    @property
    def _where(self) -> int:
        """The cells that are left for where a store lies."""
        marks = _MARK_CELLS + 2 if self._has_marks else 0
        why = _WHY + 2 if self._has_why else 0
        return max(8, self.row_width - _FIXED - marks - why)


def _clean(text: str) -> str:
    return one_line(mask_secrets(with_tilde(text)))
