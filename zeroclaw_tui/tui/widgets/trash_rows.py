"""A deleted memory as one line: when, what, how big, until when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from rich.cells import cell_len
from rich.segment import Segment

from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.curation.trash.trash import TrashRow
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.tui.format import ELLIPSIS, fit, relative_age, size_text
from zeroclaw_tui.tui.lighting import lights_for
from zeroclaw_tui.tui.widgets.list_rows import Column, Layout, Pieces, RowStyles, key_pieces, memory_pieces

_LEAST_MEMORY = 24
_LONGEST_PATH = 400


@dataclass(frozen=True, slots=True)
class TrashLook:
    """What the rows depend on beside themselves; `store` is the one that is open."""

    now: datetime
    store: str
    every_store: bool = False
    lit: str = ""


def trash_layout(width: int, every_store: bool) -> Layout:
    """When, key, memory, where from or category, size, and until when; the narrow list does without some."""
    before = [
        Column("deleted", "deleted", 7, lead=0),
        Column("key", "key", min(28, max(16, width * 2 // 9))),
    ]
    after = [
        Column("store", "from", 18) if every_store else Column("category", "category", 12),
        Column("size", "size", 6, align="right"),
        Column("goes", "goes", 7, align="right"),
    ]
    for name in ("category", "size", "store"):
        if _rest(width, [*before, *after]) >= _LEAST_MEMORY:
            break
        after = [column for column in after if column.name != name]
    memory = Column("memory", "memory", max(1, _rest(width, [*before, *after])))
    return Layout((*before, memory, *after), width)


def trash_pieces(row: TrashRow, entry: MemoryEntry, layout: Layout, look: TrashLook, styles: RowStyles) -> Pieces:
    """One deleted memory; those of other stores are dim, since they cannot come back into this one."""
    is_own = row.store == look.store
    plain, quiet = (styles.text, styles.muted) if is_own else (styles.faint, styles.faint)
    pieces: Pieces = []
    for column in layout.columns:
        pieces.append(Segment(" " * column.lead, styles.blank))
        match column.name:
            case "key":
                pieces += key_pieces(entry.key, column.width, plain, styles, lights_for(look.lit))
            case "memory":
                pieces += memory_pieces(entry.content, column.width, plain, styles, lights_for(look.lit))
            case "store":
                words = "here" if is_own else tail(store_words(row.store), column.width)
                pieces.append(Segment(fit(words, column.width), quiet))
            case name:
                pieces.append(Segment(fit(_words(name, row, entry, look.now), column.width, column.align), quiet))
    return pieces


def gone_words(until: str, now: datetime) -> str:
    """When the trash lets go of it; it does so only while something new is kept, so perhaps a little later."""
    then = moment(until)
    if then is None:
        return "?"
    return relative_age(until, now) if then - now >= timedelta(hours=1) else "soon"


def store_words(store: str) -> str:
    """Where another store lies, for people."""
    _, _, location = store.partition(":")
    return one_line(mask_secrets((location or store)[:_LONGEST_PATH]))


def tail(text: str, cells: int) -> str:
    """The end of a text in so many cells: of paths it tells the most."""
    if cell_len(text) <= cells:
        return text
    end = text[1 - cells :]
    while cell_len(end) > cells - 1:
        end = end[1:]
    return ELLIPSIS + end


def _words(name: str, row: TrashRow, entry: MemoryEntry, now: datetime) -> str:
    match name:
        case "deleted":
            age = relative_age(row.deleted_at, now)
            return "now" if age == "just now" else age
        case "category":
            return one_line(entry.category[:200])
        case "size":
            return size_text(row.size)
    return gone_words(row.until, now)


def _rest(width: int, columns: list[Column]) -> int:
    """Cells left for the memory: the cursor's mark, one cell after, and its own lead taken off."""
    return width - 3 - sum(column.lead + column.width for column in columns)
