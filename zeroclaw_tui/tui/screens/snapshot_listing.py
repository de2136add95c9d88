"""What the snapshot screen shows: title, kinds, list and difference, and how the comparison gets onto them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.curation.snapshot import snapshot as snapshots
from zeroclaw_tui.curation.snapshot.snapshot import Difference, Where
from zeroclaw_tui.curation.snapshot.text import NAME
from zeroclaw_tui.memory.errors import InspectorError, NotThere, Refused
from zeroclaw_tui.memory.text import mask_secrets
from zeroclaw_tui.tui.format import count_text
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.looks import MUTED, STRONG, WARNING
from zeroclaw_tui.tui.screens.history import StepPane
from zeroclaw_tui.tui.screens.snapshot_words import (
    Compared,
    empty_part_words,
    lost_words,
    title_words,
    where_words,
)
from zeroclaw_tui.tui.screens.trash_words import key_words
from zeroclaw_tui.tui.screens.working import WorkingScreen, shown_words
from zeroclaw_tui.tui.widgets.diff_content import DiffContent
from zeroclaw_tui.tui.widgets.difference_list import DifferenceList
from zeroclaw_tui.tui.widgets.empty import Empty, KeyHint
from zeroclaw_tui.tui.widgets.key_line import KeyLine
from zeroclaw_tui.tui.widgets.line_diff import DiffLine, diff_lines
from zeroclaw_tui.tui.widgets.parts_line import PartsLine
from zeroclaw_tui.tui.widgets.plain_content import PlainContent
from zeroclaw_tui.tui.widgets.status_bar import Banner, StatusBar

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_LOAD = "snapshot-load"
_PARTS: tuple[tuple[Where | None, str], ...] = ((None, "differences"), *((where, where) for where in get_args(Where)))


class SnapshotListing(WorkingScreen):
    """List and difference of one comparison."""

    CSS_PATH = "snapshot.tcss"
    AUTO_FOCUS = "#list"

    def __init__(self, library: Library, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__(library, clock, pace)
        self.picked: set[str] = set()
        self.compared: Compared | None = None
        self._path: Path | None = None
        self._part = 0
        self._read = 0
        self._shown: Difference | None = None

    def compose(self) -> ComposeResult:
        """Title, kinds, list and difference, keys."""
        yield Static("", id="title", markup=False)
        yield PartsLine(id="parts")
        yield Banner(id="failure")
        with Container(id="panes"):
            yield DifferenceList(id="list")
            with StepPane(id="difference"):
                yield Static("", id="about", markup=False)
                yield DiffContent(id="diff")
                yield PlainContent(id="content")
        yield Empty(id="empty")
        yield StatusBar(id="status")
        yield KeyLine(show_command_palette=False)

    def on_mount(self) -> None:
        """Compare."""
        self._show_empty("Reading the snapshot …")
        self.reload()

    def panes(self) -> Sequence[tuple[str, Widget]]:
        """List and difference."""
        return (("In the list", self.query_one(DifferenceList)), ("In the difference", self.query_one(StepPane)))

    def reload(self) -> None:
        """Read file and store again."""
        self.run_worker(self._load(), group=_LOAD, exclusive=True)

    def open_path(self, path: Path) -> None:
        """Compare with this file from now on."""
        self._path, self._part, self.compared = path, 0, None
        self.picked.clear()
        self.reload()

    def on_resize(self) -> None:
        """As many facts as fit."""
        self._paint_title()

    def on_row_list_cursor_moved(self) -> None:
        """Show the difference under the cursor."""
        difference = self.query_one(DifferenceList).selected
        if difference is not None and difference is not self._shown:
            self._shown = difference
            self.run_worker(self._show(difference), group="snapshot-diff", exclusive=True)

    def on_row_list_row_opened(self) -> None:
        """Read on in the difference."""
        self.query_one(StepPane).focus()

    def on_parts_line_chosen(self, event: PartsLine.Chosen) -> None:
        """Show this kind."""
        self.show_part(event.at)

    def show_part(self, at: int) -> None:
        """Show one kind of difference."""
        if self.compared is not None:
            self._part = at
            self._paint_list(0)

    def step_part(self, step: int) -> None:
        """Show the next kind of which there are any, or the one before."""
        if self.compared is not None:
            others = [(self._part + step * ahead) % len(_PARTS) for ahead in range(1, len(_PARTS))]
            filled = (at for at in others if self.compared.having(_PARTS[at][0]))
            self.show_part(next(filled, self._part))

    @property
    def path(self) -> Path | None:
        """The file that is compared with, as far as it is known."""
        return self._path

    def paint_status(self) -> None:
        """The line under the list."""
        picked = f"{count_text(len(self.picked))} picked · h brings them in" if self.picked else ""
        notes = self.compared.snapshot.notes if self.compared is not None else ()
        self.query_one(StatusBar).say(picked, self.library.read_only_because or "", " ".join(map(shown_words, notes)))

    async def _load(self) -> None:
        self._read = 0
        try:
            with self.saying(self._tell_reading, over_and_over=True):
                compared = await self._compared()
        except InspectorError as error:
            self._say_why_none(error)
            return
        first = self.compared is None
        self.compared = compared
        self.picked &= {one.key for one in compared.differences if can_bring(one)}
        self._paint_list(0 if first else self.query_one(DifferenceList).cursor)

    async def _compared(self) -> Compared:
        path = self._path
        if path is None:
            path = self._path = await asyncio.to_thread(snapshots.snapshot_file, self.library)
        snapshot, entries = await asyncio.to_thread(snapshots.load_snapshot, path)
        differences = await snapshots.compare(self.library, path, self._advance)
        return Compared(path, snapshot, len(entries), differences)

    def _advance(self, done: int) -> bool:
        self._read = done
        return True

    def _tell_reading(self) -> None:
        self.query_one(StatusBar).say("Comparing …", f"{count_text(self._read)} read" if self._read else "")

    def _say_why_none(self, error: InspectorError) -> None:
        if self.compared is not None:
            self.query_one("#failure", Banner).show("error", shown_words(str(error)), "r", "tries again", "reload")
            self.paint_status()
            return
        is_own = self._path is not None and self._path.name == NAME
        can_write = self.library.read_only_because is None and is_own
        write = (
            (("w", "write it from the core memories"),) if can_write and isinstance(error, NotThere | Refused) else ()
        )
        keys: tuple[KeyHint, ...] = (*write, ("o", "open another file"), ("r", "look again"), ("esc", "back"))
        hint = error.hint
        if isinstance(error, NotThere) and is_own:
            hint = (
                "ZeroClaw writes one of all core memories at its start when memory.snapshot_enabled and "
                "memory.snapshot_on_hygiene are on."
            )
        self._show_empty(shown_words(error.message), shown_words(hint), keys)
        self.query_one("#title", Static).update(Content.styled("Snapshot", STRONG))
        self.paint_status()

    def _show_empty(self, fact: str, sentence: str = "", keys: Sequence[KeyHint] = ()) -> None:
        self.set_class(True, "-empty")
        self.set_class(self.compared is None, "-none")
        self.query_one(Empty).show(fact, sentence, keys)
        self.refresh_bindings()

    def _paint_list(self, cursor: int) -> None:
        compared = self.compared
        if compared is None:
            return
        self.query_one("#failure", Banner).hide()
        self.query_one(PartsLine).show([(name, len(compared.having(where))) for where, name in _PARTS], self._part)
        where = _PARTS[self._part][0]
        rows = compared.having(where)
        self._shown = None
        listed = self.query_one(DifferenceList)
        if rows:
            self.remove_class("-empty", "-none")
            listed.show(rows, cursor)
            listed.pick(self.picked)
            if self.focused is None:
                listed.focus()
        else:
            self.set_focus(None)
            listed.show((), 0)
            self._show_empty(*empty_part_words(where, compared))
        self._paint_title()
        self.paint_status()
        self.refresh_bindings()

    def _paint_title(self) -> None:
        if self.compared is None:
            return
        names, differs = title_words(self.compared)
        has_room = cell_len(names) + cell_len(differs) + 2 <= self.size.width - 2
        rest = f"; {differs}" if has_room else ""
        self.query_one("#title", Static).update(Content.assemble((names, STRONG), (rest, MUTED)))

    async def _show(self, difference: Difference) -> None:
        here, there = difference.here, difference.there
        parts: list[str | tuple[str, str]] = [
            (key_words(difference.key), STRONG),
            "\n",
            (where_words(difference), MUTED),
        ]
        if difference.lost:
            parts += ["\n", (f"! {lost_words(difference.lost)}", WARNING)]
        lines: list[DiffLine] = []
        if here is not None and there is not None and difference.where == "changed":
            parts += ["\n", ("- in the store   + in the snapshot", MUTED)]
            found = await asyncio.to_thread(diff_lines, here.content, there.content)
            # Masked once they are compared: two secrets may differ in what is hidden.
            lines = [DiffLine(line.sign, mask_secrets(line.text)) for line in found]
        if difference is not self._shown:
            return
        self.query_one("#about", Static).update(Content.assemble(*parts))
        entry = there or here
        self.query_one(DiffContent).show(lines)
        self.query_one(PlainContent).show("" if lines or entry is None else mask_secrets(entry.content))
        self.query_one("#difference", VerticalScroll).scroll_home(animate=False)


def can_bring(difference: Difference) -> bool:
    """Whether there is something to bring into the store."""
    return difference.there is not None and difference.where != "same"
