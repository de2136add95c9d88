"""The room of upkeep: clean up, hygiene, health and snapshot as tabs of one shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from textual.app import ComposeResult

from zeroclaw_tui.backends.factory import has_database
from zeroclaw_tui.tui.commands import common_commands
from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS, NO_SNAPSHOT
from zeroclaw_tui.tui.rooms.listing import TabbedRoom
from zeroclaw_tui.tui.rooms.upkeep.clean_up import CleanUp
from zeroclaw_tui.tui.rooms.upkeep.health import Health
from zeroclaw_tui.tui.rooms.upkeep.hygiene import Hygiene
from zeroclaw_tui.tui.rooms.upkeep.snapshot import SnapshotTab
from zeroclaw_tui.tui.rooms.upkeep.tab import UpkeepTab
from zeroclaw_tui.tui.view import Pace

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

Tab = Literal["clean_up", "hygiene", "health", "snapshot"]
_TABS: tuple[type[UpkeepTab], ...] = (CleanUp, Hygiene, Health, SnapshotTab)
_IN_LIST = {command.id: command for command in BROWSER_COMMANDS}
_NEEDS_MEMORIES = frozenset({"clean_up", "snapshot"})
"""The commands that do nothing where nothing is ever stored."""


class UpkeepRoom(TabbedRoom):
    """Four tabs that look after one store."""

    CSS_PATH = "upkeep.tcss"
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
        self._parts: list[UpkeepTab] = [CleanUp(), Hygiene(), Health(), SnapshotTab()]
        super().__init__(library, clock, pace, self._parts, tab)

    def compose(self) -> ComposeResult:
        yield self.tab_line
        yield from self.tabs.values()

    def action_open_tab(self, tab: Tab) -> None:
        self.show_tab(tab)

    def why_dimmed(self, action: str) -> str | None:
        """Why a command cannot be done now, in a sentence; None when it can."""
        memory = self.library.memory
        if action in ("undo", "redo") or (memory.about.keeps_nothing and action in _NEEDS_MEMORIES):
            return self.library.read_only_because
        if action == "snapshot" and not has_database(memory.name):
            return NO_SNAPSHOT
        return super().why_dimmed(action)

    def action_reload(self) -> None:
        if not self.is_changing:
            self.tab.reload()

    def reload_all(self) -> None:
        """Load the tab that is shown again, and the others when they are shown."""
        for tab in self._parts:
            tab.is_stale = True
        self.tab.reload()
