"""Two recalls of one message as one list: what enters, leaves, or is recalled no more, beside ranks and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.scoring.what_if import ComparedRow, Comparison
from zeroclaw_tui.tui.format import bar, fit, score_text
from zeroclaw_tui.tui.widgets.list_rows import EMPTY_CONTENT, EMPTY_KEY, cut_key
from zeroclaw_tui.tui.widgets.ranked_rows import Ranking
from zeroclaw_tui.tui.widgets.table_list import Column, TableList

ENTERS, LEAVES, NEW, GONE, STAYS = "+ enters", "− leaves", "• new", "○ gone", "✓ stays"
_WORDS = {"enters": ENTERS, "leaves": LEAVES, "new": NEW, "gone": GONE}
_MOVE = 8
UP, DOWN = "↑", "↓"
NO_LONGER = "no longer recalled"
_SKIPPED = "skipped: "
_WIDE = 115
_LONGEST_REASON = 40
_NARROW_REASON = 18
_NARROW_KEY, _WIDE_KEY = 13, 28
_NUMBER = 5
_WIDE_BAR = 8
_BAR_GAP = 2
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class _Row:
    """One memory: its result, what becomes of it, and why it stays out where the threshold's line does not say so.

    `compared` is None for what is withheld from the agent before and after. The line of the threshold has no result.
    """

    result: ScoredEntry | None
    compared: ComparedRow | None = None
    is_dim: bool = False
    reason: str | None = None
    threshold: float = 0.0

    @property
    def entry(self) -> MemoryEntry | None:
        return None if self.result is None else self.result.entry


class ComparisonList(TableList[_Row]):
    """The later recall in its order, then what it withholds and what it recalls no more.

    The threshold stands between the rows as a line of its own, on which the cursor does not stop.
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__((), key=_id_of, divider=self._threshold_line, id=id)

    @property
    def entry(self) -> MemoryEntry | None:
        """The memory under the cursor."""
        row = self.selected
        return None if row is None else row.entry

    def show(self, comparison: Comparison, entry: MemoryEntry | None) -> None:
        """Show a comparison, the cursor on that memory where it is recalled, else on the first."""
        rows = _rows(comparison)
        at = next((at for at, row in enumerate(rows) if entry and row.entry and row.entry.id == entry.id), 0)
        self.set_rows(rows, cursor=at)
        self._lay_out()

    def on_resize(self) -> None:
        """Shorter bars for a narrow list."""
        super().on_resize()
        self._lay_out()

    def _threshold_line(self, row: _Row) -> str | None:
        """The line between what reaches the threshold and what does not; None for a memory."""
        if row.result is not None:
            return None
        words = f"{'─' * _MOVE}──  threshold {score_text(row.threshold)}: below is not injected  "
        return words + "─" * max(0, self.scrollable_content_region.width - 2 - cell_len(words))

    def _lay_out(self) -> None:
        self.set_columns(_columns([row for row in self.rows if row.result], is_wide=self.size.width >= _WIDE))


def _rows(comparison: Comparison) -> list[_Row]:
    """Every line of the list from top to bottom."""
    ranking = Ranking.of(comparison.after)
    after = {row.result.entry.id: row for row in comparison.rows if row.rank_after is not None}
    without = {row.result.entry.id: row for row in comparison.rows if row.rank_after is None}
    rows = []
    for ranked in ranking.rows:
        compared = (without if ranked.result.withheld else after).get(ranked.result.entry.id)
        rows.append(_Row(ranked.result, compared, ranked.is_dim, ranked.reason))
    if ranking.line_at is not None:
        rows.insert(ranking.line_at, _Row(None, threshold=ranking.threshold))
    withheld = {result.entry.id for result in comparison.after.withheld}
    rows += [_Row(row.result, row, True, NO_LONGER) for row in without.values() if row.result.entry.id not in withheld]
    return rows


def _columns(rows: Sequence[_Row], *, is_wide: bool) -> list[Column[_Row]]:
    """What becomes of it, rank, key, memory, final, and a bar for each part of a score there is.

    A narrow list has bars without their numbers. A reason stands in the place of the bars.
    """
    parts = [
        (name, part)
        for name, part in (("vector", "vector_score"), ("keyword", "keyword_score"))
        if any(getattr(row.result, part) is not None for row in rows)
    ]
    cells = [_WIDE_BAR + _NUMBER if is_wide else cell_len(name) for name, _ in parts]
    bars = sum(cells) + _BAR_GAP * max(0, len(parts) - 1)
    longest = _LONGEST_REASON if is_wide else _NARROW_REASON
    reasons = max((cell_len(_reason(row, is_wide)) for row in rows), default=0)
    last = max(bars, min(longest, reasons))

    def parts_of(row: _Row) -> Content | str:
        if row.reason is not None:
            return Content.styled(fit(_reason(row, is_wide), last).rstrip(), "faint")
        pieces: list[Content | str | tuple[str, str]] = []
        for (name, part), width in zip(parts, cells, strict=True):
            value = getattr(row.result, part)
            pieces += [" " * _BAR_GAP] if pieces else []
            look = "faint" if row.is_dim or value is None else name
            number = fit(score_text(value), _NUMBER, "right") if is_wide and value is not None else ""
            pieces.append((bar(value, width - len(number)), look))
            pieces.append((number, "faint" if row.is_dim else "muted"))
        return Content.assemble(*pieces)

    widest = max((cell_len(row.entry.key[:_WIDE_KEY]) for row in rows if row.entry is not None), default=0)
    keys = min(max(_NARROW_KEY, widest), _WIDE_KEY) if is_wide else _NARROW_KEY
    columns: list[Column[_Row]] = [
        Column("", _move, width=_MOVE),
        Column("", _rank, width=len(str(len(rows))) + 1, right=True, look="muted"),
        Column("key", lambda row: _key(row, keys), width=keys),
        Column("memory", _memory, flex=True),
    ]
    if any(row.result is not None and row.result.score is not None for row in rows):
        columns.append(Column("final", _final, width=_NUMBER, right=True))
    if last:
        gap = " " * _BAR_GAP
        title = gap.join(fit(name, width) for (name, _), width in zip(parts, cells, strict=True))
        columns.append(Column(title, parts_of, width=last))
    return columns


def _id_of(row: _Row) -> object:
    return None if row.entry is None else row.entry.id


def _move(row: _Row) -> Content:
    compared = row.compared
    if compared is None:
        return Content("")
    words = _WORDS.get(compared.move, STAYS if compared.is_injected else "")
    look = {"enters": "good", "leaves": "bad"}.get(compared.move, "muted" if compared.is_injected else "faint")
    return Content.styled(words, look)


def _rank(row: _Row) -> str:
    """Its place, and whether it rose or sank among what is recalled."""
    compared = row.compared
    if row.result is None or row.result.withheld or (compared is not None and compared.rank_after is None):
        return ""
    before = after = row.result.rank
    if compared is not None and compared.rank_before is not None:
        before = compared.rank_before
    return f"{row.result.rank}{' ' if before == after else UP if after < before else DOWN}"


def _key(row: _Row, cells: int) -> Content | str:
    key = row.entry.key if row.entry is not None else ""
    return _dimmed(cut_key(key, cells) if key else EMPTY_KEY, row, is_faint=not key)


def _memory(row: _Row) -> Content | str:
    content = row.entry.content if row.entry is not None else ""
    return _dimmed(content if content.strip() else EMPTY_CONTENT, row, is_faint=not content.strip())


def _dimmed(text: str, row: _Row, *, is_faint: bool) -> Content | str:
    # A styled text is not cleaned where it is drawn.
    return Content.styled(one_line(mask_secrets(text[:_LONGEST])), "faint") if row.is_dim or is_faint else text


def _final(row: _Row) -> Content | str:
    score = None if row.result is None else row.result.score
    return Content.styled(score_text(score), "faint" if row.is_dim else "final")


def _reason(row: _Row, is_wide: bool) -> str:
    reason = row.reason or ""
    return reason if is_wide else reason.removeprefix(_SKIPPED)
