"""The answer to a recall as rows of a few lines: rank, memory, parts of the score as bars, reasons in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import NO_VALUE, bar, fit, score_text
from zeroclaw_tui.tui.lighting import NO_LIGHTS, Lights, lit_lines, segments
from zeroclaw_tui.tui.widgets.list_rows import EMPTY_CONTENT, FLOOR, Column, Layout, Pieces, RowStyles, key_pieces

BAR = 8
LUCID = "lucid"
FROM_LUCID = "◇ lucid"
_NUMBER = 5
_BARS = (BAR, 5, 1)
_LEAST_MEMORY = 22
"""Cells of the memory on its first line; it goes on below the scores."""
_LONGEST_REASON = 200
FELL_OUT = "edited: no longer among these"


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
    def of(cls, recall: RecallResult, edited: MemoryEntry | None = None) -> Ranking:
        """The results in order, then what the content scanner withholds, then `edited` where it is none of these."""
        if recall.is_for_people:
            return cls(tuple(RankedRow(result, False) for result in recall.results), None, recall.threshold, 1.0)
        line_at = threshold_line(recall.results, recall.threshold)
        rows = [
            RankedRow(result, not result.injected, _reason(result, line_at is not None and at >= line_at, recall))
            for at, result in enumerate(recall.results)
        ]
        rows += [RankedRow(result, True, f"withheld: {one_line(result.withheld or '')}") for result in recall.withheld]
        if edited is not None and all(row.result.entry.id != edited.id for row in rows):
            rows.append(RankedRow(ScoredEntry(edited, 0, None, stage=FELL_OUT), True, FELL_OUT))
        best = max((result.score or 0.0 for result in recall.results), default=1.0)
        return cls(tuple(rows), line_at, recall.threshold, max(1.0, best))

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
    """Rank, key, memory, final and a bar for each part there is; the bars are shorter in a narrow list."""
    rank = Column("rank", "", max(2, len(str(len(ranking.rows)))), 0, "right")
    key = Column("key", "key", min(28, max(12, width // 7)))
    parts = [name for name, part in (("vector", "vector_score"), ("keyword", "keyword_score")) if ranking.has(part)]
    final = [Column("final", "final", _NUMBER, align="right")] if ranking.has("score") else []
    if any(is_from_lucid(row.result) for row in ranking.rows):
        final = [Column("from", "from", cell_len(FROM_LUCID)), *final]

    def rest(columns: Sequence[Column]) -> int:
        return width - 4 - rank.width - key.lead - key.width - sum(one.lead + one.width for one in columns)

    tails = [[*final, *(Column(name, name, max(len(name), cells + _NUMBER)) for name in parts)] for cells in _BARS]
    tail = next((one for one in tails if rest(one) >= _LEAST_MEMORY), [*final, Column("bar", "", BAR)])
    if not parts:
        tail = final
    memory = Column("memory", "memory", max(1, rest(tail)))
    return Layout((rank, key, memory, *tail), width)


def ranked_lines(
    row: RankedRow,
    ranking: Ranking,
    layout: Layout,
    styles: RowStyles,
    lights: Lights = NO_LIGHTS,
    neighbours: Sequence[str] = (),
) -> list[Pieces]:
    """One result of a recall on two lines, on three in a narrow list; then why it stays out."""
    plain = styles.faint if row.is_dim else styles.text
    before, key, memory, *tail = layout.columns
    rank = "" if row.result.withheld or not row.result.rank else str(row.result.rank)
    indent = before.width + key.width + 4
    # Below the scores there is nothing, so that the lines after the first go on to the end.
    wide = max(memory.width, layout.width - indent - 2)
    widths = (memory.width, wide) if memory.width + wide >= 2 * FLOOR else (memory.width, wide, wide)
    content = row.result.entry.content
    texts = lit_lines(content, widths, lights) if content.strip() else []
    first: Pieces = [
        Segment(fit(rank, before.width, "right"), styles.faint if row.is_dim else styles.muted),
        Segment("  ", styles.blank),
        *key_pieces(row.result.entry.key, key.width, plain, styles, neighbours=neighbours),
        Segment("  ", styles.blank),
    ]
    if texts:
        first += _text(*texts[0], memory.width, plain, styles)
    else:
        first.append(Segment(fit(EMPTY_CONTENT, memory.width), styles.faint))
    lines = [[*first, *(piece for column in tail for piece in _part(column, row, ranking, styles))]]
    blank = Segment(" " * indent, styles.blank)
    lines += [[blank, *_text(*text, wide, plain, styles)] for text in texts[1:]]
    if row.reason is not None:
        lines.append([blank, Segment(fit(row.reason[:_LONGEST_REASON], wide), styles.faint)])
    return lines


def _text(text: str, spans: Sequence[tuple[int, int]], cells: int, plain: Style, styles: RowStyles) -> Pieces:
    return segments(fit(text, cells), spans, plain, styles.keyword_match)


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
        is_number = column.width < _NUMBER + _BARS[1]
        return [lead, Segment(fit(NO_VALUE, column.width, "right" if is_number else "left"), styles.faint)]
    if column.width < _NUMBER + _BARS[1]:
        return [lead, Segment(fit(score_text(value), column.width, "right"), styles.faint if row.is_dim else colour)]
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
