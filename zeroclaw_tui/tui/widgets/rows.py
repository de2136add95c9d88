"""What the list of memories shows: the columns of a listing, and those of a recall with its scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from rich.cells import cell_len
from textual.content import Content

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import Sort, SortField
from zeroclaw_tui.memory.recall import SIMILAR, RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import one_line, size_shown
from zeroclaw_tui.tui.format import ELLIPSIS, NO_HIGHLIGHTS, NO_VALUE, Highlights, bar, fit, relative_age, score_text
from zeroclaw_tui.tui.themes import Look
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, EMPTY_KEY, Column, cut_key

LUCID = "lucid"
FELL_OUT = "edited: no longer in this list"
WIDE_WINDOW = 140
"""Columns of a window in which a listing has category, agent and size."""
MAX_TEXT = 4096
_CATEGORY = 12
_LEAST_FOR_KEY, _LEAST_FOR_PARTS, _LEAST_FOR_BARS = 46, 70, 86
"""Cells of a list from which it has these."""
_LEAST_FOR_LISTED_KEY = 30
_BAR, _NUMBER = 8, 5
_LEAD = 12
"""Characters shown before a match that is further on."""


@dataclass(frozen=True, slots=True)
class ListingLook:
    """What the rows of a listing depend on besides the rows."""

    sort: Sort
    now: datetime
    show_agent: bool = False
    lights: Highlights = NO_HIGHLIGHTS


def listing_columns(look: ListingLook, *, is_wide: bool) -> Sequence[Column[Any]]:
    """Key, first line and age; in a wide window category, agent and size too.

    Ordered by the last change, the age is that of the change.
    """
    key = Column[MemoryEntry](
        "key",
        lambda one: look.lights.lit(one_line(one.key)) if one.key else EMPTY_KEY,
        shortened=cut_key,
        hidden_below=_LEAST_FOR_LISTED_KEY,
    )
    flag = Column[MemoryEntry]("", width=1, lead=1, draw=_flag)
    memory = Column[MemoryEntry]("memory", flex=True, lead=1, draw=partial(_memory, look.lights))
    age = Column[MemoryEntry](
        "age", lambda one: relative_age(one.when, look.now), 6, right=True, look="muted", hidden_below=_LEAST_FOR_KEY
    )
    if look.sort.field is SortField.UPDATED:
        age = Column("updated", lambda one: relative_age(one.updated_at or one.when, look.now), 8, right=True)
    if not is_wide:
        return [key, flag, memory, age]
    category = Column[MemoryEntry]("category", lambda one: one.category, _CATEGORY, look="muted")
    agent = Column[MemoryEntry]("agent", lambda one: one.agent or "", _CATEGORY, look="muted")
    size = Column[MemoryEntry]("size", lambda one: size_shown(one.size), 6, right=True, look="muted")
    return [category, key, flag, memory, *([agent] if look.show_agent else []), size, age]


def _flag(entry: MemoryEntry, cells: int) -> Content:
    if entry.withheld:
        return Content.styled("✗", "bad")
    return Content("→" if entry.superseded_by is not None else "◆" if entry.pinned else " ")


def _memory(lights: Highlights, entry: MemoryEntry, cells: int) -> Content:
    """The beginning of a memory, or from shortly before its first match where that would be cut."""
    words = f"withheld: {one_line(entry.withheld)}  " if entry.withheld else ""
    text = words + (one_line(entry.content[:MAX_TEXT]) or EMPTY_CONTENT)
    matches = lights.spans(text)
    if matches and cell_len(text[: matches[0][1]]) > cells:
        text = ELLIPSIS + text[max(0, matches[0][0] - _LEAD) :]
    return lights.lit(fit(text, cells))


@dataclass(frozen=True, slots=True)
class RankedRow:
    """One result; `reason` is why it stays out where the threshold's line does not say it already.

    `threshold` is what it and those below it do not reach, None where there is no line above it.
    """

    result: ScoredEntry
    is_dim: bool
    reason: str | None = None
    threshold: float | None = None


def ranked_rows(recall: RecallResult, edited: MemoryEntry | None = None) -> list[RankedRow]:
    """The results in order, then what the content scanner withholds, then `edited` where it is none of these."""
    if recall.mode == SIMILAR or recall.not_read_because is not None:
        # No agent ever gets this ranking.
        return [RankedRow(result, False) for result in recall.results]
    line_at = threshold_line(recall.results, recall.threshold)
    rows = [
        RankedRow(
            result,
            not result.injected,
            _reason(result, line_at is not None and at >= line_at, recall),
            recall.threshold if at == line_at else None,
        )
        for at, result in enumerate(recall.results)
    ]
    rows += [RankedRow(result, True, f"withheld: {one_line(result.withheld or '')}") for result in recall.withheld]
    if edited is not None and all(row.result.entry.id != edited.id for row in rows):
        rows.append(RankedRow(ScoredEntry(edited, 0, None, stage=FELL_OUT), True, FELL_OUT))
    return rows


def is_from_lucid(result: ScoredEntry | None) -> bool:
    """Whether a result is what the lucid program answered, and no memory of the store itself."""
    return result is not None and result.stage == LUCID


def why_not_injected(result: ScoredEntry) -> str:
    """Why a result does not reach the prompt, in a few words."""
    return one_line(result.not_injected_because or "not injected").rstrip(".")


def threshold_line(results: Sequence[ScoredEntry], threshold: float) -> int | None:
    """The result after the threshold line: None unless all results that reach it come first."""
    reaches = [_reaches(result, threshold) for result in results]
    passing = sum(reaches)
    return None if passing == len(reaches) or not all(reaches[:passing]) else passing


def threshold_words(row: Any, cells: int) -> str | None:
    """The line of so many cells above the first row below the threshold; None above another row."""
    if not isinstance(row, RankedRow) or row.threshold is None:
        return None
    return f"───── threshold {score_text(row.threshold)}: below is not injected ".ljust(cells, "─")


def ranked_columns(
    width: int, recall: RecallResult, draw_memory: Callable[[Any, int], Content]
) -> Sequence[Column[Any]]:
    """Rank, key, memory, final and each part of the score there is, with a bar where there is room."""
    columns: list[Column[Any]] = [
        Column("", _rank, 2, right=True, look="muted", lead=0),
        Column("key", lambda row: row.result.entry.key or EMPTY_KEY, shortened=cut_key, hidden_below=_LEAST_FOR_KEY),
        Column("memory", flex=True, draw=draw_memory),
    ]
    results = (*recall.results, *recall.withheld)
    if any(result.score is not None for result in results):
        columns.append(Column("final", partial(_final, recall.threshold), right=True))
    cells = _BAR if width >= _LEAST_FOR_BARS else 0
    if width < _LEAST_FOR_PARTS:
        return columns
    if any(result.vector_score is not None for result in results):
        columns.append(_part_column("vector", lambda row: _part(row.result.vector_score, cells), cells))
    if any(result.keyword_score is not None for result in results):
        columns.append(_part_column("keyword", lambda row: _part(row.result.keyword_score, cells), cells))
    return columns


def _rank(row: RankedRow) -> str:
    return "" if row.result.withheld or not row.result.rank else str(row.result.rank)


def _part_column(name: Look, cell: Callable[[RankedRow], Content], bar_cells: int) -> Column[Any]:
    return Column(name, cell, max(len(name), bar_cells + _NUMBER), right=not bar_cells, look=name)


def _part(value: float | None, bar_cells: int) -> Content:
    """A bar with its number, or the number alone."""
    return Content(NO_VALUE if value is None else f"{bar(value, bar_cells)}{score_text(value):>{_NUMBER}}")


def _final(threshold: float, row: RankedRow) -> Content | str:
    """The number that is compared with the threshold, and in front of it what it was before decay or rerank."""
    result = row.result
    if is_from_lucid(result):
        return "◇ lucid"
    compared = result.compared_score
    shown = score_text(compared)
    before = "" if shown == score_text(result.score) else f"{score_text(result.score)} → "
    if compared is not None and compared < threshold and shown == score_text(threshold):
        # Cut and not rounded, so that it stays below.
        shown = f"{math.floor(compared * 10_000) / 10_000:.4f}"
    return Content.assemble((before, "muted"), (shown, "final"))


def _reaches(result: ScoredEntry, threshold: float) -> bool:
    score = result.compared_score
    return result.injected or score is None or score >= threshold


def _reason(result: ScoredEntry, is_below_line: bool, recall: RecallResult) -> str | None:
    if result.injected or (is_below_line and not _reaches(result, recall.threshold)):
        return None
    return why_not_injected(result)
