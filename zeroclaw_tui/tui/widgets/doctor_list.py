"""What the doctor looked at as rows: how bad, and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment

from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.tui.format import fit
from zeroclaw_tui.tui.widgets.header import with_tilde
from zeroclaw_tui.tui.widgets.list_rows import Pieces, RowStyles
from zeroclaw_tui.tui.widgets.row_list import RowList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.doctor.database import DoctorFinding, RepairName, Risk

GLYPHS: dict[Risk, str] = {"serious": "✗", "worth knowing": "!", "fine": "✓"}
COLOURS: dict[Risk, str] = {"serious": "$text-error", "worth knowing": "$warning", "fine": "$text-success"}
_WORDS: dict[RepairName, str] = {
    "rebuild keyword index": "rebuild the index",
    "repair hydrated database": "repair the database",
    "fold in write-ahead log": "fold in the log",
}
_REPAIR = "repair"
_LEAST_REPAIR = 70
_LONGEST = 2000


class DoctorList(RowList):
    """Findings, the serious first."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._findings: Sequence[DoctorFinding] = ()

    @property
    def selected(self) -> DoctorFinding | None:
        """The finding under the cursor."""
        return self._findings[self.cursor] if self.cursor < len(self._findings) else None

    def show(self, findings: Sequence[DoctorFinding]) -> None:
        """Show these, the cursor on the one it stood on where that is still here."""
        before = self.selected
        self._findings = findings
        same = (at for at, finding in enumerate(findings) if before is not None and finding.id == before.id)
        self.set_row_count(len(findings), next(same, 0))

    def heading(self, styles: RowStyles) -> Pieces:
        """The names of the columns."""
        repair = f"  {fit(_REPAIR, self._repair_cells)}" if self._has_repair else ""
        return [Segment(f"  {fit('finding', self._rest)}{repair}", styles.muted)]

    def pieces(self, row: int, styles: RowStyles) -> Pieces:
        """One finding."""
        finding = self._findings[row]
        colour = {"serious": styles.bad, "worth knowing": styles.keyword}.get(finding.risk, styles.faint)
        title = one_line(mask_secrets(with_tilde(finding.title[:_LONGEST])))
        pieces = [
            Segment(f"{GLYPHS[finding.risk]} ", colour),
            Segment(fit(title, self._rest), styles.muted if finding.risk == "fine" else styles.text),
        ]
        if self._has_repair:
            pieces.append(Segment(f"  {fit(_short(finding), self._repair_cells)}", styles.muted))
        return pieces

    @property
    def _has_repair(self) -> bool:
        return self.row_width >= _LEAST_REPAIR and any(_short(finding) for finding in self._findings)

    @property
    def _repair_cells(self) -> int:
        """No more than the words there are need: the sentences want the room."""
        return max(len(_REPAIR), *(len(_short(finding)) for finding in self._findings), 0)

    @property
    def _rest(self) -> int:
        return max(1, self.row_width - 1 - 2 - (self._repair_cells + 2 if self._has_repair else 0) - 1)


def _short(finding: DoctorFinding) -> str:
    """What can be done, in few words."""
    if finding.repair is not None:
        return _WORDS.get(finding.repair, finding.repair)
    return "by hand" if finding.by_hand else ""
