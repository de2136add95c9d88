"""Rows of the memory list in exact cells, of a listing and of a recall, and the cursor that is on one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar, Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.query import Sort, SortField
from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import one_line, size_shown
from zeroclaw_tui.tui.format import (
    ELLIPSIS,
    NO_HIGHLIGHTS,
    NO_VALUE,
    Highlights,
    bar,
    fit,
    lit_cell,
    lit_lines,
    same_beginning,
    score_text,
    segments,
    short_age,
)
from zeroclaw_tui.tui.themes import score_colours

MARK = "▌"
NEWS = "•"
MARKED = "●"
MARKED_MARK = "◉"
PINNED = "◆"
SUPERSEDED = "→"
WITHHELD = "✗"
EMPTY_KEY = "(empty key)"
EMPTY_CONTENT = "(empty)"
_LONGEST_LOOKED_AT = 4096
_GENERATED = re.compile(r"\d{4}|[0-9a-f]{8}-[0-9a-f]{4}")
FLOOR = 40
"""The letters of a memory that a list of 80 columns has room for."""
_LEAST_MEMORY = 20
_LEAST_KEY = 14
_SHORTEST_KEY = 11
LONGEST_KEY = 32
_CATEGORY = 12
WIDE_WINDOW = 140
"""Columns of a window in which a listing has category, agent and size."""
Pieces = list[Segment]
RowState = Literal["plain", "cursor", "cursor-blurred", "glowing"]
BAR = 8
LUCID = "lucid"
FROM_LUCID = "◇ lucid"
_NUMBER = 5
_BARS = (BAR, 5, 1)
_LEAST_RANKED = 22
"""Cells of the memory on its first line; it goes on below the scores."""
_LONGEST_REASON = 200
FELL_OUT = "edited: no longer in this list"
HEADING_LINES = 1


@dataclass(frozen=True, slots=True)
class RowStyles:
    """The styles of one row on one background."""

    blank: Style
    text: Style
    muted: Style
    faint: Style
    final: Style
    vector: Style
    keyword: Style
    match: Style
    keyword_match: Style
    good: Style
    bad: Style
    mark: Style

    @classmethod
    def of(cls, app: App[Any], ground: Style, row: RowState, is_marked: bool = False) -> RowStyles:
        """Styles in the app's theme on the widget's own ground, for a row with or without the cursor or a mark."""
        colours = {name: colour.rich_color for name, colour in score_colours(app).items()}
        ground_name = "marked" if row == "plain" and is_marked else row
        if ground_name != "plain" and not app.native_ansi_color:
            ground = ground + Style(bgcolor=colours[ground_name])

        def on(name: str, bold: bool = False, underline: bool = False) -> Style:
            return ground + Style(color=colours[name], bold=bold, underline=underline)

        return cls(
            blank=ground,
            text=on("text", bold=row == "cursor"),
            muted=on("muted"),
            # On the cursor's ground the faintest would not be legible.
            faint=on("faint" if row == "plain" else "muted"),
            final=on("final", bold=True),
            vector=on("vector"),
            keyword=on("keyword"),
            good=ground + Style(color=colours["good"]),
            bad=on("bad"),
            match=on("final", bold=True, underline=True),
            keyword_match=on("keyword", bold=True, underline=True),
            mark=on("final" if row == "cursor" or is_marked else "good" if row == "glowing" else "faint"),
        )


def sign_of(row: RowState, is_marked: bool) -> str:
    """The sign at the left edge; it differs for a marked row, the cursor, and both."""
    if is_marked:
        return MARKED_MARK if row in ("cursor", "cursor-blurred") else MARKED
    return {"plain": " ", "glowing": NEWS}.get(row, MARK)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, the words above it, its width in cells, and the blank cells before it."""

    name: str
    label: str
    width: int
    lead: int = 2
    align: Literal["left", "right"] = "left"
    sort: SortField | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns for one width, the mark's cell before them not counted."""

    columns: tuple[Column, ...]
    width: int

    def sort_at(self, x: int) -> SortField | None:
        """What a click on the heading at that cell orders by."""
        end = 1
        for column in self.columns:
            end += column.lead + column.width
            if x < end:
                return column.sort
        return None

    def heading(self, styles: RowStyles, sort: Sort | None) -> Pieces:
        """The heading line; the column that orders the list carries ▾ or ▴."""
        pieces = [Segment(" ", styles.blank)]
        for at, column in enumerate(self.columns):
            is_sorted = sort is not None and column.sort is sort.field
            label = f"{column.label}{'▾' if sort and sort.descending else '▴'}" if is_sorted else column.label
            # A label as wide as its column takes the sign into the gap after it.
            spill = 1 if column.align == "left" and len(label) > column.width else 0
            taken = 1 if at and _spills(self.columns[at - 1], sort) else 0
            style = styles.text if is_sorted else styles.muted
            pieces.append(Segment(" " * (column.lead - taken), styles.blank))
            pieces.append(Segment(fit(label, column.width + spill, column.align), style))
        return pieces


def browse_layout(width: int, sort: Sort, key_cells: int, *, is_wide: bool = False, show_agent: bool = False) -> Layout:
    """Key, first line and age for a width in cells; in a wide window category, agent and size too.

    Ordered by the last change, the age is that of the change. The key is as wide as the longest one needs. In a narrow
    list flag, age and key give way to the memory.
    """
    by_update = sort.field is SortField.UPDATED
    age = SortField.UPDATED if by_update else SortField.AGE
    key = max(_SHORTEST_KEY, min(key_cells, LONGEST_KEY, max(_LEAST_KEY, width * 2 // 9)))
    columns = [
        *([Column("category", "category", _CATEGORY, lead=1, sort=SortField.CATEGORY)] if is_wide else []),
        Column("key", "key", key, lead=2 if is_wide else 1, sort=SortField.KEY),
        Column("flag", "", 1, lead=1),
        Column("memory", "memory", 0, lead=1, sort=SortField.CONTENT),
        *([Column("agent", "agent", _CATEGORY)] if is_wide and show_agent else []),
        *([Column("size", "size", 6, align="right", sort=SortField.SIZE)] if is_wide else []),
        Column("age", "updated" if by_update else "age", 8 if by_update else 6, 2, "right", age),
    ]
    for name in ("flag", "age", "key"):
        if _rest(width, columns) < _LEAST_MEMORY:
            columns = _without(columns, name)
    return Layout(tuple(_widened(columns, "memory", max(1, _rest(width, columns)))), width)


@dataclass(frozen=True, slots=True)
class Look:
    """What the rows of a listing depend on besides the rows."""

    sort: Sort
    now: datetime
    show_agent: bool = False
    lights: Highlights = NO_HIGHLIGHTS
    parts: Mapping[Handle, str] = field(default_factory=dict)
    """What to show of memories whose first match lies behind their beginning."""


def browse_row(
    entry: MemoryEntry, layout: Layout, look: Look, styles: RowStyles, neighbours: Sequence[str] = ()
) -> Pieces:
    """One memory of a listing; `neighbours` are the keys above and below it."""
    is_hidden = entry.superseded_by is not None or entry.withheld is not None
    plain = styles.faint if is_hidden else styles.text
    quiet = styles.faint if is_hidden else styles.muted
    pieces: Pieces = []
    for column in layout.columns:
        pieces.append(Segment(" " * column.lead, styles.blank))
        match column.name:
            case "key":
                pieces += key_pieces(entry.key, column.width, plain, styles, look.lights, neighbours)
            case "memory":
                words = _withheld_words(entry.withheld, column.width) if entry.withheld else ""
                pieces += [Segment(words, styles.bad)] if words else []
                room = column.width - cell_len(words)
                part = look.parts.get(entry.handle, entry.content)
                lit = _lit(part, room, look.lights, plain, styles)
                pieces += lit or [Segment(fit(EMPTY_CONTENT, room), styles.faint)]
            case "flag":
                pieces.append(_flag(entry, styles))
            case name:
                pieces.append(Segment(fit(_quiet_text(name, entry, look), column.width, column.align), quiet))
    return pieces


def _withheld_words(kind: str, cells: int) -> str:
    words = f"withheld: {one_line(kind)}"
    return f"{words}  " if cell_len(words) + 2 <= cells else fit(words, cells)


def _flag(entry: MemoryEntry, styles: RowStyles) -> Segment:
    if entry.withheld:
        return Segment(WITHHELD, styles.bad)
    if entry.superseded_by is not None:
        return Segment(SUPERSEDED, styles.faint)
    return Segment(PINNED, styles.final) if entry.pinned else Segment(" ", styles.faint)


def key_pieces(
    key: str,
    cells: int,
    plain: Style,
    styles: RowStyles,
    lights: Highlights = NO_HIGHLIGHTS,
    neighbours: Sequence[str] = (),
) -> Pieces:
    """A key on one line; an empty one says so, and a long one is cut at its least useful part."""
    looked_at = key[:_LONGEST_LOOKED_AT]
    if not lights.spans(looked_at):
        looked_at = cut_key(looked_at, cells, neighbours)
    return _lit(looked_at, cells, lights, plain, styles) or [Segment(fit(EMPTY_KEY, cells), styles.faint)]


def cut_key(key: str, cells: int, neighbours: Sequence[str] = ()) -> str:
    """A key in at most so many cells, cut so that it differs from its neighbours.

    One made by a program (`telegram_12345_499`, a UUID) is cut in the middle, for it differs from others at its end;
    so is one that the cut at the end would make look like the key above or below it, just before they part.
    """
    shown = one_line(key)
    if cell_len(shown) <= cells or cells < _SHORTEST_KEY:
        return shown
    tail = (cells - 1) // 2
    head = cells - 1 - tail
    if _GENERATED.search(shown):
        return _cells_of(shown, head) + ELLIPSIS + _cells_of(shown, tail, from_end=True)
    shared = max((same_beginning(shown, one_line(other)) for other in neighbours if other != key), default=0)
    if len(_cells_of(shown, cells - 1)) > shared:
        return shown
    parting = shown[max(head, shared - 1) :]
    if cell_len(parting) <= tail:
        return _cells_of(shown, head) + ELLIPSIS + _cells_of(shown, tail, from_end=True)
    return _cells_of(shown, head) + ELLIPSIS + _cells_of(parting, tail)


def _cells_of(text: str, cells: int, *, from_end: bool = False) -> str:
    """The beginning or the end of a text in at most so many cells."""
    part = text[-cells:] if from_end else text[:cells]
    while cell_len(part) > cells:
        part = part[1:] if from_end else part[:-1]
    return part


def _quiet_text(name: str, entry: MemoryEntry, look: Look) -> str:
    match name:
        case "category":
            return one_line(entry.category[:200])
        case "agent":
            return one_line((entry.agent or "")[:200])
        case "size":
            return size_shown(entry.size)
    shown = entry.updated_at if look.sort.field is SortField.UPDATED else entry.when
    return short_age(shown or entry.when, look.now)


def _lit(text: str, cells: int, lights: Highlights, plain: Style, styles: RowStyles) -> Pieces:
    """A text on one line with its matches lit, from shortly before the first one; nothing for a text of blanks."""
    shown, spans = lit_cell(text[:_LONGEST_LOOKED_AT], cells, lights)
    return segments(shown, spans, plain, styles.match) if shown.strip() else []


def _spills(column: Column, sort: Sort | None) -> bool:
    is_sorted = sort is not None and column.sort is sort.field
    return is_sorted and column.align == "left" and len(column.label) >= column.width


def _rest(width: int, columns: Sequence[Column]) -> int:
    """Cells left for the memory: the mark before and one cell after taken off."""
    return width - 2 - sum(column.lead + (0 if column.name == "memory" else column.width) for column in columns)


def _without(columns: Sequence[Column], name: str) -> list[Column]:
    return [column for column in columns if column.name != name]


def _widened(columns: Sequence[Column], name: str, width: int) -> list[Column]:
    return [replace(column, width=width) if column.name == name else column for column in columns]


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
    def final_width(self) -> int:
        """How many cells the final scores take."""
        return max(_NUMBER, *(len("".join(final_score(row.result, self.threshold))) for row in self.rows))

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
    if passing == len(reaches) or not all(reaches[:passing]):
        return None
    return passing


def ranked_layout(width: int, ranking: Ranking) -> Layout:
    """Rank, key, memory, final and a bar for each part there is, shorter in a narrow list.

    In a still narrower one the memory has the cells of these bars, then that of the one for the final score, then those
    of the key.
    """
    rank = Column("rank", "", max(2, len(str(len(ranking.rows)))), 0, "right")
    longest = max((cell_len(row.result.entry.key[:LONGEST_KEY]) for row in ranking.rows), default=0)
    key = Column("key", "key", max(_SHORTEST_KEY, min(longest, 28, max(12, width // 7))))
    parts = [name for name, part in (("vector", "vector_score"), ("keyword", "keyword_score")) if ranking.has(part)]
    final = [Column("final", "final", ranking.final_width, align="right")] if ranking.has("score") else []
    if any(is_from_lucid(row.result) for row in ranking.rows):
        final = [Column("from", "from", cell_len(FROM_LUCID)), *final]
    memory = Column("memory", "memory", 0)
    bars = [[Column(name, name, max(len(name), cells + _NUMBER)) for name in parts] for cells in _BARS]
    tails = [*bars, [Column("bar", "", BAR)], []] if parts else [[]]
    choices = [[rank, key, memory, *final, *tail] for tail in tails]
    narrowest = [rank, memory, *final]
    columns = next((one for one in choices if _rest(width, one) >= _LEAST_RANKED), narrowest)
    return Layout(tuple(_widened(columns, "memory", max(1, _rest(width, columns)))), width)


def ranked_lines(
    row: RankedRow,
    ranking: Ranking,
    layout: Layout,
    styles: RowStyles,
    lights: Highlights = NO_HIGHLIGHTS,
    neighbours: Sequence[str] = (),
) -> list[Pieces]:
    """One result of a recall on two lines, on three in a narrow list; then why it stays out."""
    plain = styles.faint if row.is_dim else styles.text
    at = next(at for at, column in enumerate(layout.columns) if column.name == "memory")
    (before, *keys), memory, tail = layout.columns[:at], layout.columns[at], layout.columns[at + 1 :]
    rank = "" if row.result.withheld or not row.result.rank else str(row.result.rank)
    indent = sum(column.lead + column.width for column in (before, *keys)) + memory.lead
    # Below the scores there is nothing, so that the lines after the first go on to the end.
    wide = max(memory.width, layout.width - indent - 2)
    widths = (memory.width, wide) if memory.width + wide >= 2 * FLOOR else (memory.width, wide, wide)
    content = row.result.entry.content
    texts = lit_lines(content, widths, lights) if content.strip() else []
    first: Pieces = [Segment(fit(rank, before.width, "right"), styles.faint if row.is_dim else styles.muted)]
    for key in keys:
        first.append(Segment(" " * key.lead, styles.blank))
        first += key_pieces(row.result.entry.key, key.width, plain, styles, neighbours=neighbours)
    first.append(Segment(" " * memory.lead, styles.blank))
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
        before, compared = final_score(result, ranking.threshold)
        return [
            lead,
            Segment(fit(before, column.width - len(compared), "right"), styles.faint if row.is_dim else styles.muted),
            Segment(compared, styles.faint if row.is_dim else styles.final),
        ]
    if column.name == "bar":
        share = None if result.compared_score is None else result.compared_score / ranking.best
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
    compared_score = result.compared_score
    return result.injected or compared_score is None or compared_score >= threshold


def _reason(result: ScoredEntry, is_below_line: bool, recall: RecallResult) -> str | None:
    if result.injected:
        return None
    if is_below_line and not _reaches(result, recall.threshold):
        return None
    return why_not_injected(result)


class CursorList(ScrollView, can_focus=True, inherit_bindings=False):
    """A scrolling view whose cursor is on one of `row_count` rows."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", id="list.down", show=False, tooltip="The next memory"),
        Binding("k,up", "move(-1)", "Up", id="list.up", show=False, tooltip="The memory before"),
        Binding("g,home", "top", "Top", id="list.top", show=False, tooltip="The first memory"),
        Binding("G,end", "bottom", "Bottom", id="list.bottom", show=False, tooltip="The last memory"),
        Binding("ctrl+d", "move_pages(0.5)", "Half down", id="list.half_down", show=False, tooltip="Half a page down"),
        Binding("ctrl+u", "move_pages(-0.5)", "Half up", id="list.half_up", show=False, tooltip="Half a page up"),
        Binding("pagedown", "move_pages(1)", "Page down", id="list.page_down", show=False, tooltip="A page on"),
        Binding("pageup", "move_pages(-1)", "Page up", id="list.page_up", show=False, tooltip="A page back"),
    ]

    DEFAULT_CSS = """
    CursorList {
        width: 1fr;
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
    }
    """

    cursor: reactive[int] = reactive(0, repaint=False)
    """The row that is selected, from 0."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._row_count = 0
        self._styles: dict[tuple[RowState, bool], RowStyles] = {}

    @property
    def row_count(self) -> int:
        """How many rows there are to select."""
        return self._row_count

    @property
    def lines_in_sight(self) -> int:
        """How many lines there are under the heading."""
        return max(1, self.size.height - HEADING_LINES)

    def styles_of(self, state: RowState, is_marked: bool = False) -> RowStyles:
        """The looks of a row on the list's own ground."""
        styles = self._styles.get((state, is_marked))
        if styles is None:
            ground = Style(bgcolor=self.rich_style.bgcolor)
            styles = self._styles[(state, is_marked)] = RowStyles.of(self.app, ground, state, is_marked)
        return styles

    def strip_of(self, pieces: Pieces, styles: RowStyles) -> Strip:
        """A whole line of these pieces."""
        return Strip(pieces).adjust_cell_length(self.size.width, styles.text)

    def notify_style_update(self) -> None:
        """Take other colours when the theme changes or the focus comes and goes."""
        super().notify_style_update()
        self._styles.clear()

    def validate_cursor(self, row: int) -> int:
        """Keep the cursor on a row."""
        return max(0, min(row, self._row_count - 1))

    def action_move(self, rows: int) -> None:
        self.cursor += rows

    def action_move_pages(self, pages: float) -> None:
        self.cursor += round(pages * max(1, self.lines_in_sight - 1))

    def action_top(self) -> None:
        """Move the cursor to the first row, and the heading's list back to its start."""
        self.cursor = 0
        self.scroll_to(y=0, animate=False, force=True)

    def action_bottom(self) -> None:
        self.cursor = self._row_count - 1

    def _lines_of(self, row: int) -> range:
        """The lines that a row takes, counted from the first below the heading."""
        return range(row, row + 1)

    def _refresh_row(self, row: int) -> None:
        if not 0 <= row < self._row_count:
            return
        lines = self._lines_of(row)
        y = lines.start - self.scroll_offset.y + HEADING_LINES
        top, bottom = max(HEADING_LINES, y), min(self.size.height, y + len(lines))
        if top < bottom:
            self.refresh(Region(0, top, self.size.width, bottom - top))

    def _bring_into_view(self) -> None:
        if not self._row_count or not self.size.height:
            return
        rows, top, lines = self._lines_of(self.cursor), self.scroll_offset.y, self.lines_in_sight
        if rows.start < top:
            self.scroll_to(y=rows.start, animate=False, force=True)
        elif rows.stop > top + lines:
            self.scroll_to(y=min(rows.start, rows.stop - lines), animate=False, force=True)
