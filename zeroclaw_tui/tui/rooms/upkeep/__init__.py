"""The room of upkeep: clean up, hygiene, health and snapshot as tabs of one shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from textual.app import ComposeResult
from textual.dom import DOMNode

from zeroclaw_tui.backends.factory import has_database
from zeroclaw_tui.tui.commands import Command, common_commands
from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS, NO_SNAPSHOT
from zeroclaw_tui.tui.rooms.upkeep.clean_up import CleanUp
from zeroclaw_tui.tui.rooms.upkeep.health import Health
from zeroclaw_tui.tui.rooms.upkeep.hygiene import Hygiene
from zeroclaw_tui.tui.rooms.upkeep.snapshot import SnapshotTab
from zeroclaw_tui.tui.rooms.upkeep.tab import UpkeepTab
from zeroclaw_tui.tui.store_room import StoreRoom
from zeroclaw_tui.tui.view import Pace
from zeroclaw_tui.tui.widgets.lines import KeyLine, TabLine, TabName

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome

Tab = Literal["clean_up", "hygiene", "health", "snapshot"]
_CLASSES = {"clean_up": CleanUp, "hygiene": Hygiene, "health": Health, "snapshot": SnapshotTab}
_TABS = (
    TabName("clean_up", "A", "Clean up"),
    TabName("hygiene", "H", "Hygiene"),
    TabName("health", "D", "Health"),
    TabName("snapshot", "S", "Snapshot"),
)
_IN_LIST = {command.id: command for command in BROWSER_COMMANDS}
_KEYS = (
    _IN_LIST["undo"],
    _IN_LIST["redo"],
    replace(_IN_LIST["reload"], footer=True),
    *(replace(_IN_LIST[tab.id], key=tab.key) for tab in _TABS),
    *common_commands(out="Cancel a check, one pane back, or back to the list"),
)
_NEEDS_MEMORIES = frozenset({"clean_up", "snapshot"})
"""The commands that do nothing where nothing is ever stored."""


class UpkeepRoom(StoreRoom):
    """Four tabs that look after one store."""

    CSS_PATH = "upkeep.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (34, "-high")]  # noqa: RUF012
    AUTO_FOCUS = None
    PLACE = "upkeep"
    KEYS = _KEYS

    def __init__(self, library: Library, tab: Tab, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__(library, clock, pace)
        self._current: Tab = tab
        self._tabs: dict[Tab, UpkeepTab] = {}
        self._stale: set[Tab] = set()

    def compose(self) -> ComposeResult:
        yield TabLine(_TABS, id="tabs")
        yield KeyLine()

    async def on_mount(self) -> None:
        await self.show_tab(self._current)

    @property
    def tab(self) -> UpkeepTab | None:
        """The tab that is shown; None before the first."""
        return self._tabs.get(self._current)

    async def action_open_tab(self, tab: Tab) -> None:
        await self.show_tab(tab)

    async def show_tab(self, name: Tab) -> None:
        """Show another tab, as it was left, or reloaded if memories have changed."""
        self._current = name
        tab = self._tabs.get(name)
        if tab is None:
            tab = self._tabs[name] = _CLASSES[name](self)
            await self.mount(tab, before=self.query_one(KeyLine))
        elif name in self._stale:
            tab.reload()
        self._stale.discard(name)
        for other in self._tabs.values():
            other.display = other is tab
        self.query_one(TabLine).chosen = name
        tab.table.focus()
        self.refresh_bindings()

    async def on_tab_line_wanted(self, event: TabLine.Wanted) -> None:
        await self.run_command(event.tab)

    def why_dimmed(self, action: str) -> str | None:
        """Why a command cannot be done now, in a sentence; None when it can."""
        memory = self.library.memory
        if action in ("undo", "redo") or (memory.about.keeps_nothing and action in _NEEDS_MEMORIES):
            return self.library.read_only_because
        if action == "snapshot" and not has_database(memory.name):
            return NO_SNAPSHOT
        return self.tab.why_dimmed(action) if self.tab is not None else None

    @property
    def commands(self) -> Sequence[Command]:
        """The commands of the tab that is shown, then those of every tab."""
        return (*(self.tab.KEYS if self.tab is not None else ()), *_KEYS)

    def shell_facts(self) -> dict[str, str]:
        """What is under the cursor of the tab as well, for the lines of a shell."""
        return super().shell_facts() | ({} if self.tab is None else self.tab.shell_facts())

    def node_of(self, command: Command) -> DOMNode:
        """The tab that is shown, for its own commands."""
        return self.tab if self.tab is not None and command in self.tab.KEYS else self

    def action_reload(self) -> None:
        if self.tab is not None and not self.is_writing:
            self.tab.reload()

    def action_step_out(self) -> None:
        """Cancel a check of the tab, go one pane back in it, or leave the room."""
        if self.tab is None or not self.tab.step_out():
            self.action_leave()

    def stop(self) -> None:
        """Cancel the checks of all tabs."""
        for tab in self._tabs.values():
            tab.stop_loading()

    async def after_change(self, outcome: Outcome | None) -> None:
        """Something was changed, which shows in every tab; None when it is unknown what."""
        if outcome is None or outcome.count or outcome.turned is not None:
            self.has_changed = True
        if self.tab is not None:
            self.tab.reload()
        self._stale = {name for name in self._tabs if name != self._current}
