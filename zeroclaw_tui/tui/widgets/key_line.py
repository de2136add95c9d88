"""Lines of keys: the last line of a room with those that work now, and the tabs with the key that opens each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.app import RenderResult
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget

from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import fit
from zeroclaw_tui.tui.themes import ACCENT, MUTED

_LAST = frozenset({"show_help", "app.quit", "screen.step_out", "leave", "step_out"})
"""What always stands at the end: help, and the way out."""
_GAP = "  "
_TAB_GAP = 3
_CHOSEN = "bold underline $primary"


@dataclass(frozen=True, slots=True)
class _Shown:
    key: str
    name: str
    action: str
    is_enabled: bool
    is_first: bool

    @property
    def cells(self) -> int:
        return cell_len(self.key) + 1 + cell_len(self.name) + len(_GAP)


class KeyLine(Widget):
    """The keys of the room: first those it declares for here, then, page by page, its others.

    A click does what the key does. `turn` shows the next page, and gives whether there is more than one.
    """

    DEFAULT_CSS = """
    KeyLine { dock: bottom; height: 1; padding: 0 1; pointer: pointer; }
    """
    page: reactive[int] = reactive(0)

    def __init__(self, more: str = "more ▸") -> None:
        """`more` stands at the end where there are more pages; a click on it turns, and so does a key it may name."""
        super().__init__()
        self._more = more

    def on_mount(self) -> None:
        """Follow what works and what does not."""
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_updated)

    def turn(self) -> bool:
        """Show the next keys, and after the last ones the first."""
        pages = self._pages()
        self.page = (self.page + 1) % len(pages)
        return len(pages) > 1

    def render(self) -> RenderResult:
        """The keys of the page, help and the way out behind them."""
        pages = self._pages()
        shown = pages[self.page % len(pages)]
        parts: list[str | tuple[str, str]] = []
        for key in shown:
            look = MUTED if not key.is_enabled else ""
            parts += [(key.key, MUTED if not key.is_enabled else ACCENT), (f" {key.name}", look or MUTED), _GAP]
        if len(pages) > 1:
            used = sum(key.cells for key in shown)
            parts += [" " * max(0, self.content_size.width - used - len(self._more)), (self._more, MUTED)]
        return Content.assemble(*parts)

    async def on_click(self, event: Click) -> None:
        """Do what stands there, or turn."""
        place = event.get_content_offset_capture(self).x
        pages = self._pages()
        at = 0
        for key in pages[self.page % len(pages)]:
            if at <= place < at + key.cells - len(_GAP):
                await self.screen.run_action(key.action)
                return
            at += key.cells
        if place >= self.content_size.width - len(self._more):
            self.turn()

    def _bindings_updated(self, _screen: Screen[object]) -> None:
        self.refresh()

    def _pages(self) -> list[list[_Shown]]:
        """The keys that fit, page by page; each page ends with help and the way out."""
        found = self._found()
        last = [key for key in found if key.action in _LAST and key.is_first]
        wide = self.content_size.width
        room = wide - sum(key.cells for key in last)
        first = [key for key in found if key.is_first and key not in last]
        others = [key for key in found if not key.is_first and key.action not in _LAST]
        if sum(key.cells for key in first) <= room and not others:
            return [[*first, *last]]
        pages: list[list[_Shown]] = [[]]
        left = room - len(self._more)
        for key in [*first, *others]:
            if key.cells > left and pages[-1]:
                pages.append([])
                left = room - len(self._more)
            pages[-1].append(key)
            left -= key.cells
        return [[*page, *last] for page in pages]

    def _found(self) -> list[_Shown]:
        found: dict[str, _Shown] = {}
        for active in self.screen.active_bindings.values():
            binding = active.binding
            # What Textual's own screen binds, such as tab, is no key of the room.
            if (active.node is self.screen and binding.id) or binding.show:
                key = self.app.get_key_display(binding)
                shown = _Shown(key, binding.description, binding.action, active.enabled, binding.show)
                if binding.description and binding.action not in found:
                    found[binding.action] = shown
        return list(found.values())


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
            parts.append(" " * _TAB_GAP)
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
        return cell_len(tab.key) + 1 + cell_len(tab.words) + _TAB_GAP
