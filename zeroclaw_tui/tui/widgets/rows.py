"""What the list of memories shows: the columns of a listing, and those of a recall with its scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.query import Sort, SortField
from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import one_line, size_shown
from zeroclaw_tui.tui.format import (
    NO_HIGHLIGHTS,
    NO_VALUE,
    Highlights,
    bar,
    fit,
    lit_cell,
    lit_lines,
    score_text,
    segments,
    short_age,
)
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, EMPTY_KEY, Column, Draw, Pieces, Styles, cut_key

PINNED, SUPERSEDED, WITHHELD = "◆", "→", "✗"
LUCID = "lucid"
FELL_OUT = "edited: no longer in this list"
MAX_KEY = 32
WIDE_WINDOW = 140
"""Columns of a window in which a listing has category, agent and size."""
_FROM_LUCID = "◇ lucid"
_MAX_LENGTH = 4096
_MIN_KEY = 11
_MIN_MEMORY = 20
_CATEGORY = 12
_NUMBER = 5
_BARS = (8, 5, 1)
"""Cells of a bar before its number; of the last there is only the number."""
_MIN_RANKED = 22
"""Cells of the memory on its first line; it goes on below the scores."""
MAX_REASON = 200


@dataclass(frozen=True, slots=True)
class Look:
    """What the rows of a listing depend on besides the rows."""

    sort: Sort
    now: datetime
    show_agent: bool = False
    lights: Highlights = NO_HIGHLIGHTS
    parts: Mapping[Handle, str] = field(default_factory=dict)
    """What to show of memories whose first match is behind their beginning."""


def listing_columns(width: int, look: Look, key_cells: int, *, is_wide: bool) -> Sequence[Column[Any]]:
    """Key, first line and age; in a wide window category, agent and size too.

    Ordered by the last change, the age is that of the change. In a narrow list the flag, the age and then the key give
    way to the memory.
    """
    key = max(_MIN_KEY, min(key_cells, MAX_KEY, max(14, width * 2 // 9)))
    columns: list[Column[Any]] = [
        Column("key", width=key, lead=2 if is_wide else 1, sort=SortField.KEY, draw=partial(_key, look)),
        Column("", width=1, lead=1, draw=_flag),
        Column("memory", flex=True, lead=1, sort=SortField.CONTENT, draw=partial(_memory, look)),
    ]
    muted = partial(Column[MemoryEntry], look="muted")
    if is_wide:
        columns.insert(0, muted("category", lambda one: one.category, _CATEGORY, lead=1, sort=SortField.CATEGORY))
        columns += [muted("agent", lambda one: one.agent or "", _CATEGORY)] if look.show_agent else []
        columns.append(muted("size", lambda one: size_shown(one.size), 6, right=True, sort=SortField.SIZE))
    if look.sort.field is SortField.UPDATED:
        updated = muted("updated", lambda one: short_age(one.updated_at or one.when, look.now), 8)
        columns.append(replace(updated, right=True, sort=SortField.UPDATED))
    else:
        columns.append(muted("age", lambda one: short_age(one.when, look.now), 6, right=True, sort=SortField.AGE))
    for title in ("", columns[-1].title, "key"):
        if _room(width, columns) < _MIN_MEMORY:
            columns = [column for column in columns if column.title != title]
    return columns


def _plain(entry: MemoryEntry, styles: Styles, name: str = "text") -> Style:
    return styles["faint" if entry.superseded_by is not None or entry.withheld is not None else name]


def _key(look: Look, entry: MemoryEntry, cells: int, styles: Styles) -> Pieces:
    return key_pieces(entry.key, cells, _plain(entry, styles), styles, look.lights)


def _flag(entry: MemoryEntry, cells: int, styles: Styles) -> Pieces:
    if entry.withheld:
        return [Segment(WITHHELD, styles["bad"])]
    if entry.superseded_by is not None:
        return [Segment(SUPERSEDED, styles["faint"])]
    return [Segment(PINNED if entry.pinned else " ", styles["final"])]


def _memory(look: Look, entry: MemoryEntry, cells: int, styles: Styles) -> Pieces:
    words = fit(f"withheld: {one_line(entry.withheld)}  ", cells).rstrip() + "  " if entry.withheld else ""
    pieces = [Segment(words[:cells], styles["bad"])] if words else []
    room = max(0, cells - cell_len(words))
    part = look.parts.get(entry.handle, entry.content)
    lit = _lit(part, room, look.lights, _plain(entry, styles), styles)
    return [*pieces, *(lit or [Segment(fit(EMPTY_CONTENT, room), styles["faint"])])]


def key_pieces(key: str, cells: int, plain: Style, styles: Styles, lights: Highlights = NO_HIGHLIGHTS) -> Pieces:
    """A key on one line; an empty one says so, and a long one is cut in its middle."""
    shown = key[:_MAX_LENGTH]
    if not lights.spans(shown):
        shown = cut_key(shown, cells)
    return _lit(shown, cells, lights, plain, styles) or [Segment(fit(EMPTY_KEY, cells), styles["faint"])]


def _lit(text: str, cells: int, lights: Highlights, plain: Style, styles: Styles) -> Pieces:
    """A text on one line with its matches lit, from shortly before the first one; nothing for a text of blanks."""
    shown, spans = lit_cell(text[:_MAX_LENGTH], cells, lights)
    return segments(shown, spans, plain, styles["match"]) if shown.strip() else []


def _room(width: int, columns: Sequence[Column[Any]]) -> int:
    """Cells left for the memory: the sign before and one cell after taken off."""
    return width - 2 - sum((2 if column.lead is None else column.lead) + (column.width or 0) for column in columns)


@dataclass(frozen=True, slots=True)
class RankedRow:
    """One result; `reason` is why it stays out where the threshold's line does not say it already."""

    result: ScoredEntry
    is_dim: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """All rows of a recall; the threshold's line is before the row `line_at`, None when there is no line."""

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
        best = max((result.compared_score or 0.0 for result in recall.results), default=1.0)
        return cls(tuple(rows), line_at, recall.threshold, max(1.0, best))

    @property
    def lines(self) -> list[RankedRow | float]:
        """The rows, and the threshold between those that reach it and those that do not."""
        lines: list[RankedRow | float] = list(self.rows)
        if self.line_at is not None:
            lines.insert(self.line_at, self.threshold)
        return lines

    def has(self, part: str) -> bool:
        """Whether any result has that part of the score."""
        return any(getattr(row.result, part) is not None for row in self.rows)


def is_from_lucid(result: ScoredEntry | None) -> bool:
    """Whether a result is what the lucid program answered, and no memory of the store itself."""
    return result is not None and result.stage == LUCID


def why_not_injected(result: ScoredEntry) -> str:
    """Why a result does not reach the prompt, in a few words."""
    return one_line(result.not_injected_because or "not injected").rstrip(".")


def final_score(result: ScoredEntry, threshold: float) -> tuple[str, str]:
    """The number that is compared with the threshold, and in front of it what it was before decay or rerank."""
    if is_from_lucid(result):
        return "", _FROM_LUCID
    compared = result.compared_score
    shown = score_text(compared)
    before = "" if shown == score_text(result.score) else f"{score_text(result.score)} → "
    if compared is not None and compared < threshold and shown == score_text(threshold):
        # Cut and not rounded, so that it stays below.
        shown = f"{math.floor(compared * 10_000) / 10_000:.4f}"
    return before, shown


def threshold_line(results: Sequence[ScoredEntry], threshold: float) -> int | None:
    """The result after the threshold line: None unless all results that reach it come first."""
    reaches = [_reaches(result, threshold) for result in results]
    passing = sum(reaches)
    return None if passing == len(reaches) or not all(reaches[:passing]) else passing


def threshold_row(threshold: float, start: int, key_cells: int, width: int, styles: Styles) -> Pieces:
    """The line between what reaches the threshold and what does not, from the key column to the end."""
    words = f"  threshold {score_text(threshold)}: below is not injected  "
    left = min(key_cells, max(0, width - start - 2 - len(words)))
    right = max(0, width - 2 - start - left - len(words))
    return [
        Segment(" " * start, styles["blank"]),
        Segment("─" * left, styles["faint"]),
        Segment(fit(words, width - 2 - start - left - right), styles["muted"]),
        Segment("─" * right, styles["faint"]),
    ]


def ranked_columns(width: int, ranking: Ranking, draw_memory: Draw) -> Sequence[Column[Any]]:
    """Rank, key, memory, final and a bar for each part there is, shorter in a narrow list.

    In a still narrower one the memory has the cells of these bars, then that of the one for the final score, then those
    of the key.
    """
    longest = max((cell_len(row.result.entry.key[:MAX_KEY]) for row in ranking.rows), default=0)
    finals = [cell_len("".join(final_score(row.result, ranking.threshold))) for row in ranking.rows]
    rank = Column[Any]("", width=max(2, len(str(len(ranking.rows)))), lead=0, draw=_rank)
    key = Column[Any]("key", width=max(_MIN_KEY, min(longest, 28, max(12, width // 7))), draw=_ranked_key)
    memory = Column[Any]("memory", flex=True, draw=draw_memory)
    final: list[Column[Any]] = []
    if ranking.has("score"):
        draw = partial(_final, ranking.threshold)
        final = [Column("final", width=max(_NUMBER, *finals), right=True, draw=draw)]
    parts = [name for name in ("vector", "keyword") if ranking.has(f"{name}_score")]
    tails: list[list[Column[Any]]] = [[]]
    if parts:
        bars = [
            [Column[Any](name, width=max(len(name), cells + _NUMBER), draw=partial(_part, name)) for name in parts]
            for cells in _BARS
        ]
        tails = [*bars, [Column("", width=_BARS[0], draw=partial(_short_bar, ranking.best))], []]
    choices = [[rank, key, memory, *final, *tail] for tail in tails]
    return next((one for one in choices if _room(width, one) >= _MIN_RANKED), [rank, memory, *final])


def ranked_texts(row: RankedRow, widths: Sequence[int], lights: Highlights, styles: Styles) -> list[Pieces]:
    """The memory of a result on at most as many lines as there are widths."""
    content = row.result.entry.content
    if not content.strip():
        return [[Segment(fit(EMPTY_CONTENT, widths[0]), styles["faint"])]]
    plain, lines = styles["faint" if row.is_dim else "text"], lit_lines(content, widths, lights)
    return [
        segments(fit(text, cells), spans, plain, styles["keyword_match"])
        for (text, spans), cells in zip(lines, widths, strict=False)
    ]


def _rank(row: RankedRow, cells: int, styles: Styles) -> Pieces:
    rank = "" if row.result.withheld or not row.result.rank else str(row.result.rank)
    return [Segment(fit(rank, cells, "right"), styles["faint" if row.is_dim else "muted"])]


def _ranked_key(row: RankedRow, cells: int, styles: Styles) -> Pieces:
    return key_pieces(row.result.entry.key, cells, styles["faint" if row.is_dim else "text"], styles)


def _final(threshold: float, row: RankedRow, cells: int, styles: Styles) -> Pieces:
    before, compared = final_score(row.result, threshold)
    return [
        Segment(fit(before, cells - cell_len(compared), "right"), styles["faint" if row.is_dim else "muted"]),
        Segment(compared, styles["faint" if row.is_dim else "final"]),
    ]


def _short_bar(best: float, row: RankedRow, cells: int, styles: Styles) -> Pieces:
    score = row.result.compared_score
    shown = bar(None if score is None else score / best, cells)
    return [Segment(shown, styles["faint" if row.is_dim else "final"])]


def _part(name: str, row: RankedRow, cells: int, styles: Styles) -> Pieces:
    """A bar with its number, or the number alone where there is no room for a bar."""
    value = row.result.vector_score if name == "vector" else row.result.keyword_score
    colour, is_number = styles["faint" if row.is_dim else name], cells < _NUMBER + _BARS[1]
    if value is None:
        return [Segment(fit(NO_VALUE, cells, "right" if is_number else "left"), styles["faint"])]
    if is_number:
        return [Segment(fit(score_text(value), cells, "right"), colour)]
    number = fit(score_text(value), _NUMBER, "right")
    return [Segment(bar(value, cells - _NUMBER), colour), Segment(number, styles["faint" if row.is_dim else "muted"])]


def _reaches(result: ScoredEntry, threshold: float) -> bool:
    score = result.compared_score
    return result.injected or score is None or score >= threshold


def _reason(result: ScoredEntry, is_below_line: bool, recall: RecallResult) -> str | None:
    if result.injected or (is_below_line and not _reaches(result, recall.threshold)):
        return None
    return why_not_injected(result)
