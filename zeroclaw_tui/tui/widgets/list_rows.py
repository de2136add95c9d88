"""Rows of the memory list as styled pieces of exact width: columns, headings, and what stands in them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.app import App

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.query import Sort, SortField
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import ELLIPSIS, fit, relative_age, size_text
from zeroclaw_tui.tui.lighting import NO_LIGHTS, Lights, lit_cell, same_beginning, segments
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
GONE = "(no longer there)"
WIDE = 100
_LONGEST_LOOKED_AT = 4096
_GENERATED = re.compile(r"\d{4}|[0-9a-f]{8}-[0-9a-f]{4}")
FLOOR = 40
"""The letters of a memory that a list of 80 columns has room for; other columns give way for them."""
_LEAST_MEMORY = 20
_LEAST_KEY = 14
_SHORTEST_KEY = 10
_CATEGORY = 12
_SHORT_CATEGORY = 8

Pieces = list[Segment]
RowState = Literal["plain", "cursor", "cursor-blurred", "glowing"]


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
            bad=on("bad"),
            match=on("final", bold=True, underline=True),
            keyword_match=on("keyword", bold=True, underline=True),
            mark=on("final" if row == "cursor" or is_marked else "good" if row == "glowing" else "faint"),
        )


def sign_of(row: RowState, is_marked: bool) -> str:
    """The sign at the left edge; the one cell of it tells a marked row under the cursor from either alone."""
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

    def column(self, name: str) -> Column | None:
        """The column of that name, where this layout has it."""
        return next((column for column in self.columns if column.name == name), None)

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


def browse_layout(width: int, show_agent: bool, sort: Sort) -> Layout:
    """Category, key, first line, size and age for a width in cells.

    Ordered by the last change, the age is that of the change. Until the memory has FLOOR cells there give way, in this
    order, the size, the agent, the category and cells of the key; in a still narrower list also flag, age and key.
    """
    by_update = sort.field is SortField.UPDATED
    age = SortField.UPDATED if by_update else SortField.AGE
    columns = [
        Column("category", "category", _SHORT_CATEGORY, lead=0, sort=SortField.CATEGORY),
        Column("key", "key", _LEAST_KEY, sort=SortField.KEY),
        Column("flag", "", 1, lead=1),
        Column("memory", "memory", 0, lead=1, sort=SortField.CONTENT),
        *([Column("agent", "agent", 12 if width >= WIDE else 8)] if show_agent else []),
        Column("size", "size", 6, align="right", sort=SortField.SIZE),
        Column("age", "updated" if by_update else "age", 8 if by_update else 6, 2, "right", age),
    ]
    for name in ("size", "agent", "category"):
        if _rest(width, columns) < FLOOR:
            columns = _without(columns, name)
    spare = _rest(width, columns) - FLOOR
    if spare >= _CATEGORY - _SHORT_CATEGORY + 2:
        columns = _widened(columns, "category", _CATEGORY)
        spare = _rest(width, columns) - FLOOR
    best_key = min(32, max(16, width * 2 // 9))
    columns = _widened(columns, "key", max(_SHORTEST_KEY, min(best_key, _LEAST_KEY + spare)))
    for name in ("flag", "age", "key"):
        if _rest(width, columns) < _LEAST_MEMORY:
            columns = _without(columns, name)
    return Layout(tuple(_widened(columns, "memory", max(1, _rest(width, columns)))), width)


@dataclass(frozen=True, slots=True)
class Look:
    """What the rows of a listing depend on beside themselves."""

    sort: Sort
    now: datetime
    show_agent: bool = False
    lights: Lights = NO_LIGHTS
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
                pieces += memory_pieces(part, room, plain, styles, look.lights)
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


def absent_row(layout: Layout, styles: RowStyles, words: str = ELLIPSIS) -> Pieces:
    """A row that is not here yet, or no longer."""
    return [Segment(fit(words, max(0, layout.width - 1)), styles.faint)]


def key_pieces(
    key: str,
    cells: int,
    plain: Style,
    styles: RowStyles,
    lights: Lights = NO_LIGHTS,
    neighbours: Sequence[str] = (),
) -> Pieces:
    """A key on one line; an empty one says so, and one too long is cut where it tells least."""
    looked_at = key[:_LONGEST_LOOKED_AT]
    if not lights.spans(looked_at):
        looked_at = cut_key(looked_at, cells, neighbours)
    return _lit(looked_at, cells, lights, plain, styles.match) or [Segment(fit(EMPTY_KEY, cells), styles.faint)]


def cut_key(key: str, cells: int, neighbours: Sequence[str] = ()) -> str:
    """A key in at most so many cells, cut where that tells it from its neighbours.

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


def memory_pieces(content: str, cells: int, plain: Style, styles: RowStyles, lights: Lights = NO_LIGHTS) -> Pieces:
    """The beginning of a memory on one line; from shortly before the match when that lies further on."""
    return _lit(content, cells, lights, plain, styles.match) or [Segment(fit(EMPTY_CONTENT, cells), styles.faint)]


def _quiet_text(name: str, entry: MemoryEntry, look: Look) -> str:
    match name:
        case "category":
            return one_line(entry.category[:200])
        case "agent":
            return one_line((entry.agent or "")[:200])
        case "size":
            return size_text(entry.size)
    shown = entry.updated_at if look.sort.field is SortField.UPDATED else entry.when
    age = relative_age(shown or entry.when, look.now)
    return "now" if age == "just now" else age


def _lit(text: str, cells: int, lights: Lights, plain: Style, match: Style) -> Pieces:
    """A text on one line with its matches lit; nothing for a text of blanks."""
    shown, spans = lit_cell(text[:_LONGEST_LOOKED_AT], cells, lights)
    return segments(shown, spans, plain, match) if shown.strip() else []


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
