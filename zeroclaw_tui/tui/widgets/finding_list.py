"""The kinds of pollution, each a line: what, how many, how many bytes, and their share of the whole."""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment

from zeroclaw_tui.curation.audit.findings import AuditReport, Finding, FindingKind
from zeroclaw_tui.tui.format import count_text, fit, size_text
from zeroclaw_tui.tui.widgets.list_rows import Pieces, RowStyles
from zeroclaw_tui.tui.widgets.row_list import RowList
from zeroclaw_tui.tui.widgets.score_bars import bar

_KIND = 18
_COUNT = 9
_SIZE = 7
_SHARE = 5
_WIDEST_BAR = 40


class FindingList(RowList):
    """Findings, the most bytes first."""

    def __init__(self, glyphs: Mapping[FindingKind, str], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._glyphs = glyphs
        self._report = AuditReport((), 0, 0)

    @property
    def selected(self) -> Finding | None:
        """The finding under the cursor."""
        findings = self._report.findings
        return findings[self.cursor] if self.cursor < len(findings) else None

    def show(self, report: AuditReport) -> None:
        """Show these findings; the cursor stays on its kind, where that is still found."""
        kind = self.selected.kind if self.selected is not None else None
        kinds = [finding.kind for finding in report.findings]
        self._report = report
        self.set_row_count(len(kinds), kinds.index(kind) if kind in kinds else self.cursor)

    def heading(self, styles: RowStyles) -> Pieces:
        """The names of the columns."""
        words = f"  {fit('what pollutes', _KIND)}{fit('memories', _COUNT, 'right')}{fit('bytes', _SIZE + 2, 'right')}"
        return [Segment(f"{words}  share", styles.muted)]

    def pieces(self, row: int, styles: RowStyles) -> Pieces:
        """One finding."""
        finding = self._report.findings[row]
        share = finding.size / self._report.size if self._report.size else 0.0
        is_danger = finding.kind in ("secrets", "hidden text")
        return [
            Segment(fit(self._glyphs.get(finding.kind, "•"), 1) + " ", styles.bad if is_danger else styles.muted),
            Segment(fit(finding.kind, _KIND), styles.text),
            Segment(fit(count_text(finding.count), _COUNT, "right"), styles.text),
            Segment(fit(size_text(finding.size), _SIZE + 2, "right"), styles.muted),
            Segment("  " + bar(share, self._bar_cells), styles.final),
            Segment(fit(_percent(share), _SHARE + 1, "right"), styles.muted),
        ]

    @property
    def _bar_cells(self) -> int:
        return max(4, min(_WIDEST_BAR, self.row_width - 1 - 2 - _KIND - _COUNT - _SIZE - 2 - 2 - _SHARE - 2))


def _percent(share: float) -> str:
    return "<1 %" if 0 < share < 0.005 else f"{share * 100:.0f} %"
