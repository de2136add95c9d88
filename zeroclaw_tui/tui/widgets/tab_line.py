"""One line of tabs, each with the key that opens it, and at its end what holds for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.app import RenderResult
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import fit
from zeroclaw_tui.tui.themes import ACCENT, MUTED

_GAP = 3
_CHOSEN = "bold underline $primary"


@dataclass(frozen=True, slots=True)
class TabName:
    """A tab by its id, the key that opens it as a person knows it, and its name."""

    id: str
    key: str
    words: str


class TabLine(Widget):
    """The tabs, the one that is shown underlined; a click opens one. A note gives way where there is no room."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    TabLine { width: 1fr; height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: clip; }
    """

    chosen: reactive[str] = reactive("")
    """The id of the tab that is shown."""
    notes: reactive[tuple[str, ...]] = reactive(())
    """What may stand at the end of the line: the first that has room, the fullest first."""

    class Wanted(Message):
        """A tab was clicked."""

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self, tabs: Sequence[TabName], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tabs = tabs

    def render(self) -> RenderResult:
        """Keys and names, then the note."""
        parts: list[str | tuple[str, str]] = []
        for tab in self._tabs:
            is_chosen = tab.id == self.chosen
            parts += [(tab.key, MUTED if is_chosen else ACCENT), " ", (tab.words, _CHOSEN if is_chosen else MUTED)]
            parts.append(" " * _GAP)
        room = self.content_size.width - sum(map(self._cells, self._tabs))
        fitting = (note for note in map(one_line, self.notes) if cell_len(note) <= room)
        parts.append((fit(next(fitting, ""), room, "right"), ACCENT))
        return Content.assemble(*parts)

    def on_click(self, event: Click) -> None:
        """Open the tab under the mouse."""
        end = 0
        place = event.get_content_offset(self)
        for tab in self._tabs:
            end += self._cells(tab)
            if place is not None and place.x < end:
                event.stop()
                self.post_message(self.Wanted(tab.id))
                return

    def _cells(self, tab: TabName) -> int:
        return cell_len(tab.key) + 1 + cell_len(tab.words) + _GAP
