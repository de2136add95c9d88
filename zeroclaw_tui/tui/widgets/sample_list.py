"""The memories of a finding, each a line; those that are alike stand together under one bracket."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.cells import cell_len
from rich.segment import Segment

from zeroclaw_tui.curation.audit.findings import Finding, Sample
from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.tui.format import count_text, fit, relative_age, size_text
from zeroclaw_tui.tui.screens.audit_marks import AuditMarks
from zeroclaw_tui.tui.widgets.list_rows import EMPTY_CONTENT, EMPTY_KEY, Pieces, RowStyles
from zeroclaw_tui.tui.widgets.row_list import RowList

_LEAST_MEMORY = 16
_AGE = 6
_SIZE = 7
_CATEGORY = 12
_WIDEST_REMARK = 24
_LONGEST_LOOKED_AT = 2000
_REMARKS_MEASURED = 200


class SampleList(RowList):
    """Memories in the order of storing, or group by group. Rows hold indexes only: a finding may have 100,000."""

    def __init__(self, marks: AuditMarks, now: datetime, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._marks = marks
        self._now = now
        self._finding: Finding | None = None
        self._order: Sequence[int] = ()
        self._groups: Sequence[int] = ()
        self._remark = 0

    @property
    def finding(self) -> Finding | None:
        """Whose memories are shown."""
        return self._finding

    @property
    def selected(self) -> Sample | None:
        """The memory under the cursor."""
        if self._finding is None or self.cursor >= len(self._order):
            return None
        return self._finding.samples[self._order[self.cursor]]

    @property
    def selected_group(self) -> int | None:
        """The index of the group that the row under the cursor is in."""
        return self._groups[self.cursor] if self.cursor < len(self._groups) else None

    def show(self, finding: Finding | None, now: datetime, *, keeps_place: bool) -> None:
        """Show the memories of a finding."""
        self._finding, self._now = finding, now
        groups = finding.groups if finding is not None else ()
        self._order = [at for group in groups for at in group] if groups else range(finding.count if finding else 0)
        self._groups = [number for number, group in enumerate(groups) for _ in group]
        samples = finding.samples[:_REMARKS_MEASURED] if finding is not None else ()
        self._remark = min(_WIDEST_REMARK, max((cell_len(_line(one.remark)) for one in samples), default=0))
        if not keeps_place:
            self.scroll_to(y=0, animate=False, force=True)
        self.set_row_count(len(self._order), self.cursor if keeps_place else 0)

    def heading(self, styles: RowStyles) -> Pieces:
        """The names of the columns, and which row the cursor is on."""
        key, memory, remark, category = self._cells
        parts = [" " * self._bracket_cells, fit("key", key), "  ", fit("memory", memory)]
        parts += ["  ", fit("found", remark)] if remark else []
        parts += ["  ", fit("category", category)] if category else []
        parts += [fit("size", _SIZE + 1, "right"), fit("age", _AGE + 1, "right")]
        return [Segment("".join(parts), styles.muted)]

    def pieces(self, row: int, styles: RowStyles) -> Pieces:
        """One memory."""
        if self._finding is None:
            return []
        sample = self._finding.samples[self._order[row]]
        key, memory, remark, category = self._cells
        name, text = _line(sample.stamp.key), _line(sample.excerpt)
        age = relative_age(sample.stamp.when, self._now)
        pieces = [
            Segment(self._bracket(row), styles.faint),
            Segment(fit(name or EMPTY_KEY, key), styles.text if name else styles.faint),
            Segment("  " + fit(text or EMPTY_CONTENT, memory), styles.text if text else styles.faint),
        ]
        if remark:
            pieces.append(Segment("  " + fit(_line(sample.remark), remark), styles.keyword))
        if category:
            pieces.append(Segment("  " + fit(_line(sample.stamp.category), category), styles.muted))
        figures = fit(size_text(sample.stamp.size), _SIZE + 1, "right")
        shown_age = fit("now" if age == "just now" else age, _AGE + 1, "right")
        return [*pieces, Segment(figures + shown_age, styles.muted)]

    def is_marked(self, row: int) -> bool:
        """Whether the memory is marked, here or in another finding."""
        return self._finding is not None and self._finding.samples[self._order[row]].stamp in self._marks

    @property
    def position(self) -> str:
        """Where the cursor is, in words."""
        return f"{count_text(self.cursor + 1)} of {count_text(self.row_count)}" if self.row_count else ""

    @property
    def _bracket_cells(self) -> int:
        return 2 if self._groups else 0

    def _bracket(self, row: int) -> str:
        groups = self._groups
        if not groups:
            return ""
        is_first = row == 0 or groups[row - 1] != groups[row]
        is_last = row + 1 == len(groups) or groups[row + 1] != groups[row]
        return "┌ " if is_first else "└ " if is_last else "│ "

    @property
    def _cells(self) -> tuple[int, int, int, int]:
        """Cells for key, memory, remark and category; a narrow list does without category, then remark."""
        width = self.row_width - 1 - self._bracket_cells - _SIZE - _AGE - 2 - 2 - 1
        key = min(26, max(12, width * 2 // 7))
        remark, category = self._remark, _CATEGORY

        def left() -> int:
            return width - key - (remark + 2 if remark else 0) - (category + 2 if category else 0)

        if left() < _LEAST_MEMORY:
            category = 0
        if left() < _LEAST_MEMORY:
            remark = min(remark, 12)
        if left() < _LEAST_MEMORY:
            remark = 0
        return key, max(1, left()), remark, category


def _line(text: str) -> str:
    return one_line(mask_secrets(text[:_LONGEST_LOOKED_AT]))
