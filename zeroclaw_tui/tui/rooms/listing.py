"""What rooms share: they are loaded in the background; a list shows all about its row; some have tabs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.content import Content
from textual.dom import DOMNode
from textual.widget import Widget
from textual.worker import Worker

from zeroclaw_tui.memory.errors import InspectorError, SearchInterrupted
from zeroclaw_tui.memory.text_difference import DiffLine
from zeroclaw_tui.tui.commands import Command, bindings, start_work
from zeroclaw_tui.tui.format import shown_words
from zeroclaw_tui.tui.store_room import StoreRoom
from zeroclaw_tui.tui.view import Pace
from zeroclaw_tui.tui.widgets.detail import AboutPane, ListAndDetail
from zeroclaw_tui.tui.widgets.lines import Banner, StatusBar, TabLine, TabName, TitleLine
from zeroclaw_tui.tui.widgets.table_list import TableList

About = tuple[Content, Sequence[DiffLine], str]
"""Words about a row, then a difference, else a text."""
if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.tui.commands import Change

    Base = Widget
else:
    # Not a widget, because Textual takes the styles of the first base that is one.
    Base = object


class Loaded(Base):
    """Is loaded in the background. A failure is in its banner, remarks on what is shown are in its status bar."""

    _loading: Worker[None] | None = None

    async def load(self) -> None:
        """Read the store and show the result. Raises InspectorError."""
        raise NotImplementedError

    def status(self) -> Sequence[str]:
        """The line below what is shown."""
        return ()

    def show_loaded(self) -> None:
        """Show what `load` has found, or what was there before it failed."""
        self.query_one(StatusBar).say(*map(shown_words, self.status()))

    @property
    def is_loading(self) -> bool:
        """Whether it loads now."""
        return self._loading is not None and not self._loading.is_finished

    def stop_loading(self) -> None:
        """Cancel what loads now."""
        if self._loading is not None:
            self._loading.cancel()

    def reload(self) -> None:
        """Load again; what is shown stays until then."""
        self._loading = start_work(self, "load", self.load_now)

    async def load_now(self) -> None:
        """Load, and show why where that fails."""
        banner = self.query_one(Banner)
        try:
            await self.load()
        except SearchInterrupted:
            # The store is being closed.
            return
        except InspectorError as error:
            banner.fail(error)
        else:
            banner.hide()
        self.show_loaded()
        self.screen.refresh_bindings()


class Listing(Loaded):
    """A title, a list, all about the row under the cursor, and a line below; a failure is in a banner."""

    TITLES: ClassVar[tuple[str, str]] = ("Findings", "Finding")
    """The titles of the list and of the detail."""
    table: TableList[Any]

    def compose(self) -> ComposeResult:
        yield TitleLine()
        yield Banner()
        with ListAndDetail(*self.TITLES):
            yield self.table
            yield AboutPane()
        yield StatusBar()

    def on_mount(self) -> None:
        if self.display:
            self.reload()

    async def about(self) -> About:
        """Everything about the row under the cursor. Raises InspectorError."""
        raise NotImplementedError

    def show_loaded(self) -> None:
        """Show everything about the row under the cursor, and the line below the list."""
        super().show_loaded()
        start_work(self, "about", self._show_about)

    async def _show_about(self) -> None:
        try:
            about = await self.about()
        except InspectorError as error:
            about = (Content(shown_words(str(error))), (), "")
        self.query_one(AboutPane).show(*about)

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        event.stop()
        self.show_loaded()
        self.screen.refresh_bindings()

    def action_reload(self) -> None:
        self.reload()

    def step_out(self) -> bool:
        """Go from the detail to the list; False in the list."""
        if self.table.has_focus or not self.table.rows:
            return False
        self.table.focus()
        return True

    def read(self) -> None:
        """Go from the list to the detail."""
        if self.table.rows:
            self.query_one(AboutPane).focus()


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
