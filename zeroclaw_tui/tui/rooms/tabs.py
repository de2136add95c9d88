"""A room of tabs: one of them is shown, and its commands are offered together with those of the room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from textual.dom import DOMNode
from textual.widget import Widget

from zeroclaw_tui.tui.commands import Command, bindings
from zeroclaw_tui.tui.rooms.listing import Loaded
from zeroclaw_tui.tui.store_room import StoreRoom
from zeroclaw_tui.tui.view import Pace
from zeroclaw_tui.tui.widgets.lines import TabLine, TabName

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.tui.commands import Change


class RoomTab(Loaded):
    """One tab of a room. Its keys work while the focus is in it."""

    NAME: ClassVar[TabName]
    KEYS: ClassVar[Sequence[Command]] = ()

    def __init_subclass__(cls) -> None:
        """Its bindings are those of its commands."""
        cls.BINDINGS = bindings(cls.KEYS)
        super().__init_subclass__()

    @property
    def room(self) -> Any:
        """The room it is a tab of."""
        return self.screen

    @property
    def library(self) -> Library:
        """The store of the room."""
        library: Library = self.room.library
        return library

    @property
    def reader(self) -> Widget:
        """What takes the focus when the tab is shown."""
        raise NotImplementedError

    def open(self) -> None:
        """Load what is not known yet, because the tab is shown from now on."""
        raise NotImplementedError

    def step_out(self) -> bool:
        """Go one step back within the tab; False where there is none."""
        return False

    def why_dimmed(self, action: str) -> str | None:
        """Why an action cannot be done now, in a sentence; None when it can."""
        writes = any(command.id == action and command.writes for command in self.KEYS)
        return self.library.read_only_because if writes else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return None if self.is_mounted and self.why_dimmed(action) is not None else True

    def shell_facts(self) -> dict[str, str]:
        """What is under the cursor, for the lines of a shell."""
        return {}

    def begin(self, change: Change) -> None:
        """Make a change, unless another one is under way."""
        self.room.begin(change)


class TabbedRoom(StoreRoom):
    """A room of tabs. `chosen` is the id of the tab that is shown."""

    AUTO_FOCUS = ""
    TABS: ClassVar[Sequence[type[RoomTab]]]

    def __init__(
        self, library: Library, clock: Callable[[], datetime], pace: Pace, tabs: Sequence[RoomTab], chosen: str
    ) -> None:
        super().__init__(library, clock, pace)
        self.chosen = chosen
        self.tabs = {tab.NAME.id: tab for tab in tabs}
        self.tab_line = TabLine([tab.NAME for tab in tabs])
        for tab in tabs:
            tab.display = tab.NAME.id == chosen

    def on_mount(self) -> None:
        self.show_tab(self.chosen)

    @property
    def tab(self) -> RoomTab:
        """The tab that is shown."""
        return self.tabs[self.chosen]

    def show_tab(self, name: str) -> None:
        """Show another tab, as it was left."""
        self.chosen = self.tab_line.chosen = name
        for tab in self.tabs.values():
            tab.display = tab is self.tab
        self.tab.open()
        self.focus_tab()
        self.refresh_bindings()

    def focus_tab(self) -> None:
        """Give the focus to the tab that is shown."""
        self.set_focus(self.tab.reader)

    async def action_click_tab(self, key: str) -> None:
        """A click does what the key of the tab does."""
        await self.run_command(next(command.id for command in self.KEYS if command.key == key))

    @property
    def commands(self) -> Sequence[Command]:
        """The commands of the tab that is shown, then those of every tab."""
        return (*self.tab.KEYS, *self.KEYS)

    def node_of(self, command: Command) -> DOMNode:
        """The tab that is shown, for its own commands."""
        return self.tab if command in self.tab.KEYS else self

    def why_dimmed(self, action: str) -> str | None:
        """Why a command cannot be done now, in a sentence; None when it can."""
        return self.tab.why_dimmed(action) if self.is_mounted else None

    def shell_facts(self) -> dict[str, str]:
        """What is under the cursor of the tab as well, for the lines of a shell."""
        return super().shell_facts() | self.tab.shell_facts()

    def step_out(self) -> bool:
        """Go one step back in the tab; False where there is none."""
        return self.tab.step_out()

    def stop(self) -> None:
        """Cancel what loads in any tab."""
        for tab in self.tabs.values():
            tab.stop_loading()

    async def after_change(self, outcome: Outcome | None) -> None:
        """Something was changed, or nobody knows what: None. Every tab loads again when it is shown."""
        if outcome is None or outcome.count or outcome.turned is not None:
            self.has_changed = True
        self.reload_all()

    def reload_all(self) -> None:
        """Load the tab that is shown again, and the others when they are shown."""
        raise NotImplementedError
