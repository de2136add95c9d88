"""The differences between store and snapshot as rows: where, key, how it begins."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment

from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.tui.format import fit
from zeroclaw_tui.tui.widgets.list_rows import EMPTY_CONTENT, EMPTY_KEY, Pieces, RowStyles
from zeroclaw_tui.tui.widgets.row_list import RowList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.snapshot.snapshot import Difference, Where

GLYPHS: dict[Where, str] = {"only here": "◂", "only there": "▸", "changed": "≠", "same": "="}
_WHERE = 10
_LEAST_LOST, _LOST = 100, 30
_LOOKED_AT = 2000


class DifferenceList(RowList):
    """Rows, some of them picked."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: Sequence[Difference] = ()
        self._picked: Collection[str] = ()

    @property
    def selected(self) -> Difference | None:
        """The difference under the cursor."""
        return self._rows[self.cursor] if self.cursor < len(self._rows) else None

    @property
    def rows(self) -> Sequence[Difference]:
        """All that are shown."""
        return self._rows

    def show(self, rows: Sequence[Difference], cursor: int) -> None:
        """Show these."""
        self._rows = rows
        self.set_row_count(len(rows), cursor)

    def pick(self, keys: Collection[str]) -> None:
        """Draw a mark at these keys."""
        self._picked = keys
        self.refresh()

    def is_marked(self, row: int) -> bool:
        """Whether it is picked."""
        return self._rows[row].key in self._picked

    def heading(self, styles: RowStyles) -> Pieces:
        """The names of the columns."""
        key, memory, lost = self._widths
        words = f"  {fit('where', _WHERE)}  {fit('key', key)}   {fit('memory', memory)}"
        return [Segment(words + (f"  {fit('lost in the file', lost)}" if lost else ""), styles.muted)]

    def pieces(self, row: int, styles: RowStyles) -> Pieces:
        """One difference."""
        difference = self._rows[row]
        key, memory, lost = self._widths
        entry = difference.there or difference.here
        name = one_line(mask_secrets(difference.key[:_LOOKED_AT]))
        begins = one_line(mask_secrets(entry.content[:_LOOKED_AT])) if entry is not None else ""
        colour = {"only here": styles.bad, "only there": styles.final, "changed": styles.keyword}
        pieces = [
            Segment(f"{GLYPHS[difference.where]} ", colour.get(difference.where, styles.faint)),
            Segment(f"{fit(difference.where, _WHERE)}  ", styles.muted),
            Segment(fit(name or EMPTY_KEY, key), styles.text if name else styles.faint),
            Segment(" ! " if difference.lost else "   ", styles.keyword),
            Segment(fit(begins or EMPTY_CONTENT, memory), styles.text if begins else styles.faint),
        ]
        if lost:
            pieces.append(Segment(f"  {fit('; '.join(map(one_line, difference.lost)), lost)}", styles.muted))
        return pieces

    @property
    def _widths(self) -> tuple[int, int, int]:
        """The cells of key, memory, and what is lost, which only a wide list shows."""
        rest = self.row_width - 1 - 2 - _WHERE - 2 - 3 - 1
        lost = _LOST if self.row_width >= _LEAST_LOST else 0
        rest -= lost + 2 if lost else 0
        key = min(28, max(14, self.row_width * 2 // 9))
        return key, max(1, rest - key), lost
