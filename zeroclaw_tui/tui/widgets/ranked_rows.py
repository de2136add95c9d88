"""The answer to a recall as rows: rank, parts of the score as bars, the threshold as a line, reasons in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment

from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import fit, score_text
from zeroclaw_tui.tui.widgets.list_rows import Column, Layout, Pieces, RowStyles, key_pieces, memory_pieces
from zeroclaw_tui.tui.widgets.score_bars import bar

BAR = 8
LUCID = "lucid"
FROM_LUCID = "◇ lucid"
_NAMED = ("final", "from")
_NUMBER = 5
_BARS = (BAR, 5)
_LEAST_MEMORY = 16
_LONGEST_REASON = 60


@dataclass(frozen=True, slots=True)
class RankedRow:
    """One result; `reason` is why it stays out where the threshold's line does not say it already."""

    result: ScoredEntry
    is_dim: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """All rows of a recall; the threshold's line stands before the row `line_at`, None when there is no line."""

    rows: tuple[RankedRow, ...]
    line_at: int | None
    threshold: float
    best: float
    """The highest score, at least 1: what the short bar of a narrow list is measured against."""

    @classmethod
    def of(cls, recall: RecallResult) -> Ranking:
        """The results in order, then what the content scanner withholds."""
        if recall.is_for_people:
            return cls(tuple(RankedRow(result, False) for result in recall.results), None, recall.threshold, 1.0)
        line_at = threshold_line(recall.results, recall.threshold)
        rows = [
            RankedRow(result, not result.injected, _reason(result, line_at is not None and at >= line_at, recall))
            for at, result in enumerate(recall.results)
        ]
        rows += [RankedRow(result, True, f"withheld: {one_line(result.withheld or '')}") for result in recall.withheld]
        best = max((result.score or 0.0 for result in recall.results), default=1.0)
        return cls(tuple(rows), line_at, recall.threshold, max(1.0, best))

    def line_of(self, row: int) -> int:
        """On which line a row stands, the threshold's own line counted."""
        return row if self.line_at is None or row < self.line_at else row + 1

    def row_of(self, line: int) -> int | None:
        """Which row stands on a line; None on the threshold's."""
        if self.line_at is None or line < self.line_at:
            return line
        return None if line == self.line_at else line - 1

    def has(self, part: str) -> bool:
        """Whether any result has that part of the score."""
        return any(getattr(row.result, part) is not None for row in self.rows)


def is_from_lucid(result: ScoredEntry | None) -> bool:
    """Whether a result is what the lucid program answered, and no memory of the store itself."""
    return result is not None and result.stage == LUCID


def why_not_injected(result: ScoredEntry) -> str:
    """Why a result does not reach the prompt, in a few words that stand alone."""
    words = one_line(result.not_injected_because or "not injected").rstrip(".")
    is_skip_rule = ":" not in words and not words.startswith(("threshold", "not "))
    return f"skipped: {words}" if is_skip_rule else words


def threshold_line(results: Sequence[ScoredEntry], threshold: float) -> int | None:
    """Before which result the threshold falls: None unless all that reach it stand above all that do not."""
    reaches = [_reaches(result, threshold) for result in results]
    passing = sum(reaches)
    if passing == len(reaches) or not all(reaches[:passing]):
        return None
    return passing


def ranked_layout(width: int, ranking: Ranking) -> Layout:
    """Rank, key, memory, final and a bar for each part there is.

    In a narrow list the bars are shorter, in a still narrower one there is a single one, of the final score.
    """
    rank = Column("rank", "", max(2, len(str(len(ranking.rows)))), 0, "right")
    key = Column("key", "key", min(28, max(14, width // 6)))
    parts = [name for name, part in (("vector", "vector_score"), ("keyword", "keyword_score")) if ranking.has(part)]
    final = [Column("final", "final", _NUMBER, align="right")] if ranking.has("score") else []
    if any(is_from_lucid(row.result) for row in ranking.rows):
        final = [Column("from", "from", cell_len(FROM_LUCID)), *final]

    def rest(columns: Sequence[Column]) -> int:
        return width - 4 - rank.width - key.lead - key.width - sum(one.lead + one.width for one in columns)

    tails = [[*final, *(Column(name, name, cells + _NUMBER) for name in parts)] for cells in _BARS]
    single = [*final, Column("bar", "", BAR)] if parts else final
    tail = next((one for one in tails if rest(one) >= _LEAST_MEMORY), single)
    memory = Column("memory", "memory", max(1, rest(tail)))
    return Layout((rank, key, memory, *tail), width)


def ranked_row(row: RankedRow, ranking: Ranking, layout: Layout, styles: RowStyles) -> Pieces:
    """One result of a recall."""
    plain = styles.faint if row.is_dim else styles.text
    tail = layout.columns[3:]
    memory = layout.columns[2].width
    shown, spare = _tail(row, ranking, tail, memory, styles)
    rank = "" if row.result.withheld else str(row.result.rank)
    pieces = [Segment(fit(rank, layout.columns[0].width, "right"), styles.faint if row.is_dim else styles.muted)]
    pieces.append(Segment("  ", styles.blank))
    pieces += key_pieces(row.result.entry.key, layout.columns[1].width, plain, styles)
    pieces.append(Segment("  ", styles.blank))
    pieces += memory_pieces(row.result.entry.content, memory - spare, plain, styles)
    return pieces + shown


def threshold_row(ranking: Ranking, layout: Layout, styles: RowStyles) -> Pieces:
    """The line between what reaches the threshold and what does not, from the key column to the end."""
    start = layout.columns[0].width + 2
    words = f"  threshold {score_text(ranking.threshold)}: below is not injected  "
    left = min(layout.columns[1].width, max(0, layout.width - start - 2 - len(words)))
    right = max(0, layout.width - 2 - start - left - len(words))
    return [
        Segment(" " * start, styles.blank),
        Segment("─" * left, styles.faint),
        Segment(fit(words, layout.width - 2 - start - left - right), styles.muted),
        Segment("─" * right, styles.faint),
    ]


def _tail(
    row: RankedRow, ranking: Ranking, columns: Sequence[Column], memory: int, styles: RowStyles
) -> tuple[Pieces, int]:
    """What stands right of the memory, and how many cells of the memory it takes."""
    if row.reason is None:
        return [piece for column in columns for piece in _part(column, row, ranking, styles)], 0
    reason = row.reason if cell_len(row.reason) <= _LONGEST_REASON else fit(row.reason, _LONGEST_REASON)
    bars = [column for column in columns if column.name not in _NAMED]
    room = sum(column.lead + column.width for column in bars) - 2
    if cell_len(reason) <= room:
        final = [piece for column in columns if column.name in _NAMED for piece in _part(column, row, ranking, styles)]
        return [*final, Segment("  ", styles.blank), Segment(fit(reason, room), styles.faint)], 0
    room = sum(column.lead + column.width for column in columns)
    spare = min(max(0, cell_len(reason) + 2 - room), max(0, memory - _LEAST_MEMORY // 2))
    cells = max(0, room + spare - 2)
    return [Segment("  ", styles.blank), Segment(fit(reason, cells, "right"), styles.faint)], spare


def _part(column: Column, row: RankedRow, ranking: Ranking, styles: RowStyles) -> Pieces:
    result = row.result
    lead = Segment(" " * column.lead, styles.blank)
    if column.name == "from":
        words = FROM_LUCID if is_from_lucid(result) else ""
        return [lead, Segment(fit(words, column.width), styles.faint if row.is_dim else styles.muted)]
    if column.name == "final":
        style = styles.faint if row.is_dim else styles.final
        return [lead, Segment(fit(score_text(result.score), column.width, "right"), style)]
    if column.name == "bar":
        share = None if result.score is None else result.score / ranking.best
        return [lead, Segment(bar(share, column.width), styles.faint if row.is_dim else styles.final)]
    value, colour = (
        (result.vector_score, styles.vector) if column.name == "vector" else (result.keyword_score, styles.keyword)
    )
    if value is None:
        return [lead, Segment(bar(None, column.width), styles.faint)]
    return [
        lead,
        Segment(bar(value, column.width - _NUMBER), styles.faint if row.is_dim else colour),
        Segment(fit(score_text(value), _NUMBER, "right"), styles.faint if row.is_dim else styles.muted),
    ]


def _reaches(result: ScoredEntry, threshold: float) -> bool:
    held = result.held
    return result.injected or held is None or held >= threshold


def _looks_enough(result: ScoredEntry, threshold: float) -> bool:
    """Whether the final score, as it is shown, seems to reach the threshold: below its line that needs a word."""
    if result.score is None:
        return False
    return result.score >= threshold or score_text(result.score) == score_text(threshold)


def _reason(result: ScoredEntry, is_below_line: bool, recall: RecallResult) -> str | None:
    if result.injected:
        return None
    if is_below_line and not _reaches(result, recall.threshold) and not _looks_enough(result, recall.threshold):
        return None
    if result.reranked is not None and result.score is not None and result.reranked < recall.threshold <= result.score:
        return f"reranked to {score_text(result.reranked)}"
    if result.decayed is not None and result.score is not None and result.decayed < recall.threshold <= result.score:
        return f"decayed to {score_text(result.decayed)}"
    return why_not_injected(result)
