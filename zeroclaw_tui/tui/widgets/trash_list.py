"""The list of deleted memories, loaded a page at a time as it comes into sight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual.message import Message

from zeroclaw_tui.curation.trash.trash import TrashRow
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.tui.widgets.list_rows import Layout, Pieces, RowStyles, absent_row
from zeroclaw_tui.tui.widgets.row_list import RowList
from zeroclaw_tui.tui.widgets.trash_rows import TrashLook, trash_layout, trash_pieces

PAGE_ROWS = 100
PAGES_KEPT = 12


@dataclass(frozen=True, slots=True)
class _Loaded:
    row: TrashRow
    entry: MemoryEntry
    """The beginning of it, for drawing."""


class TrashList(RowList):
    """Rows by their place in the listing; a page that is in sight and not here is asked for once."""

    class PageWanted(Message):
        """Rows in sight are not loaded; `put_page` brings them."""

        def __init__(self, offset: int) -> None:
            super().__init__()
            self.offset = offset

    def __init__(self, look: TrashLook, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._look = look
        self._pages: dict[int, list[_Loaded]] = {}
        self._asked: set[int] = set()
        self._is_asking = False
        self._marked: frozenset[int] = frozenset()

    @property
    def page_offset(self) -> int:
        """Where the page begins that the cursor is on."""
        return self.cursor // PAGE_ROWS * PAGE_ROWS

    @property
    def selected(self) -> TrashRow | None:
        """What is under the cursor; None when nothing is, or it is not here yet."""
        loaded = self._at(self.cursor)
        return loaded.row if loaded else None

    def show(self, look: TrashLook, total: int, offset: int, rows: Sequence[TrashRow]) -> None:
        """Show a listing of so many rows, of which these begin at `offset`; the cursor stays on its place."""
        self._look = look
        self._pages.clear()
        self._asked.clear()
        self._take(offset, rows)
        self.set_row_count(total, self.cursor)
        self.ask_soon()

    def put_page(self, offset: int, rows: Sequence[TrashRow]) -> None:
        """Take a page in; the one that came longest ago makes room."""
        self._take(offset, rows)
        self.refresh()
        if offset == self.page_offset:
            self.post_message(self.CursorMoved())
        self.ask_soon()

    def forget_question(self, offset: int) -> None:
        """A page could not be had; it may be asked for again."""
        self._asked.discard(offset // PAGE_ROWS)

    def mark(self, numbers: Iterable[int]) -> None:
        """Draw a mark at the memories of these numbers."""
        self._marked = frozenset(numbers)
        self.refresh()

    def heading(self, styles: RowStyles) -> Pieces:
        """The names of the columns."""
        return self._layout.heading(styles, None)[1:]

    def pieces(self, row: int, styles: RowStyles) -> Pieces:
        """One deleted memory, or the sign that it is on its way."""
        loaded = self._at(row)
        if loaded is None:
            return absent_row(self._layout, styles)
        return trash_pieces(loaded.row, loaded.entry, self._layout, self._look, styles)

    def is_marked(self, row: int) -> bool:
        """Whether a deleted memory carries a mark."""
        loaded = self._at(row)
        return loaded is not None and loaded.row.number in self._marked

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other rows come into sight."""
        super().watch_scroll_y(old_value, new_value)
        self.ask_soon()

    def on_mount(self) -> None:
        """Ask for what is in sight."""
        self.ask_soon()

    def ask_soon(self) -> None:
        """Ask for the pages in sight after the next frame, once for any number of calls."""
        if not self._is_asking and self.is_mounted:
            self._is_asking = self.call_after_refresh(self._ask)

    @property
    def _layout(self) -> Layout:
        return trash_layout(self.row_width, self._look.every_store)

    def _at(self, row: int) -> _Loaded | None:
        page = self._pages.get(row // PAGE_ROWS, [])
        place = row % PAGE_ROWS
        return page[place] if place < len(page) else None

    def _take(self, offset: int, rows: Sequence[TrashRow]) -> None:
        page = offset // PAGE_ROWS
        self._asked.discard(page)
        self._pages.pop(page, None)
        self._pages[page] = [_Loaded(row, row.row.entry().excerpt()) for row in rows]
        while len(self._pages) > PAGES_KEPT:
            self._pages.pop(next(iter(self._pages)))

    def _ask(self) -> None:
        self._is_asking = False
        top = self.scroll_offset.y
        last = min(top + self.lines_in_sight, self.row_count) - 1
        for page in range(top // PAGE_ROWS, last // PAGE_ROWS + 1):
            if last >= 0 and page not in self._pages and page not in self._asked:
                self._asked.add(page)
                self.post_message(self.PageWanted(page * PAGE_ROWS))
