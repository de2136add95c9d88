"""The Upkeep room: the tabs Clean up, Hygiene, Health and Snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal

from textual.app import ComposeResult
from textual.dom import DOMNode

from zeroclaw_tui.backends.factory import known_backend
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.tui.commands import Command, common_commands
from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS, NO_SNAPSHOT
from zeroclaw_tui.tui.rooms.listing import UpkeepTab
from zeroclaw_tui.tui.rooms.upkeep.clean_up import CleanUp
from zeroclaw_tui.tui.rooms.upkeep.health import Health
from zeroclaw_tui.tui.rooms.upkeep.hygiene import Hygiene
from zeroclaw_tui.tui.rooms.upkeep.snapshot import SnapshotTab
from zeroclaw_tui.tui.store_room import StoreRoom
from zeroclaw_tui.tui.view import Pace
from zeroclaw_tui.tui.widgets.lines import TabLine

Tab = Literal["clean_up", "hygiene", "health", "snapshot"]
_TABS: tuple[type[UpkeepTab], ...] = (CleanUp, Hygiene, Health, SnapshotTab)
_IN_LIST = {command.id: command for command in BROWSER_COMMANDS}


class UpkeepRoom(StoreRoom):
    """The room with four tabs to maintain a store. `chosen` is the id of the current tab."""

    CSS_PATH = "upkeep.tcss"
    AUTO_FOCUS = ""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (34, "-high")]  # noqa: RUF012
    PLACE = "upkeep"
    TABS = _TABS
    KEYS = (
        _IN_LIST["undo"],
        _IN_LIST["redo"],
        replace(_IN_LIST["reload"], footer=True),
        *(replace(_IN_LIST[tab.NAME.id], key=tab.NAME.key) for tab in _TABS),
        *common_commands(out="Cancel a check, one pane back, or back to the list"),
    )

    def __init__(self, library: Library, tab: Tab, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__(library, clock, pace)
        self.chosen: str = tab
        tabs: list[UpkeepTab] = [CleanUp(), Hygiene(), Health(), SnapshotTab()]
        self.tabs = {tab.NAME.id: tab for tab in tabs}
        self.tab_line = TabLine([tab.NAME for tab in _TABS])
        self._show_chosen()

    def compose(self) -> ComposeResult:
        yield self.tab_line
        yield from self.tabs.values()

    def on_mount(self) -> None:
        self.action_open_tab(self.chosen)

    @property
    def tab(self) -> UpkeepTab:
        """The current tab."""
        return self.tabs[self.chosen]

    def action_open_tab(self, tab: str) -> None:
        """Show another tab in its last state."""
        self.chosen = tab
        self._show_chosen()
        if self.tab.is_stale:
            self.tab.reload()
        self.set_focus(self.tab.table)
        self.refresh_bindings()

    def _show_chosen(self) -> None:
        self.tab_line.chosen = self.chosen
        for tab in self.tabs.values():
            tab.display = tab is self.tab

    @property
    def commands(self) -> Sequence[Command]:
        """The commands of the current tab, then those of every tab."""
        return (*self.tab.KEYS, *self.KEYS)

    def node_of(self, command: Command) -> DOMNode:
        """The current tab for its own commands, else this room."""
        return self.tab if command in self.tab.KEYS else self

    def why_dimmed(self, action: str) -> str | None:
        """Say why a command is not available now; None if it is."""
        memory = self.library.memory
        if action in ("undo", "redo") or (memory.about.keeps_nothing and action in ("clean_up", "snapshot")):
            return self.library.read_only_because
        if action == "snapshot" and not known_backend(memory.name).has_database:
            return NO_SNAPSHOT
        return self.tab.why_dimmed(action) if self.is_mounted else None

    def shell_facts(self) -> dict[str, str]:
        """The store, and the item under the cursor of the tab, for shell commands."""
        return super().shell_facts() | self.tab.shell_facts()

    def step_out(self) -> bool:
        """Go one step back in the tab; False if there is none."""
        return self.tab.step_out()

    def action_reload(self) -> None:
        if not self.is_changing:
            self.tab.reload()

    async def after_change(self) -> None:
        """Reload the current tab, and the others when they are shown."""
        await super().after_change()
        for tab in self.tabs.values():
            tab.is_stale = True
        self.tab.reload()
