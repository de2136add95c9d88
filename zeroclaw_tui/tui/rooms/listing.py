"""Base classes of rooms: background loading, a list with the detail of its row, and the tabs of Upkeep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.errors import InspectorError, SearchInterrupted
from zeroclaw_tui.tui.commands import Command, RunChange, bindings, start_work, warn
from zeroclaw_tui.tui.format import safe_text
from zeroclaw_tui.tui.widgets.detail import ListAndDetail, ReadingPane
from zeroclaw_tui.tui.widgets.lines import Banner, GrowingText, StatusBar, TabName, TitleLine
from zeroclaw_tui.tui.widgets.table_list import MARKED, TableList

if TYPE_CHECKING:
    Base = Widget
else:
    # Not a widget, because Textual uses the styles of the first base class that is one.
    Base = object


class Loaded(Base):
    """A widget that loads in the background. Its banner shows a failure, its status bar remarks on the content."""

    _loading: Worker[None] | None = None

    async def load(self) -> None:
        """Read the store and show the result. Raises InspectorError."""
        raise NotImplementedError

    def status(self) -> Sequence[str]:
        """The facts in the status bar."""
        return ()

    def show_loaded(self) -> None:
        """Show the result of `load`, or the previous one if it failed."""
        self.query_one(StatusBar).say(*map(safe_text, self.status()))

    @property
    def is_loading(self) -> bool:
        """Whether it is loading."""
        return self._loading is not None and not self._loading.is_finished

    def stop_loading(self) -> None:
        """Cancel loading."""
        if self._loading is not None:
            self._loading.cancel()

    def reload(self) -> None:
        """Load again; the current content stays until then."""
        self._loading = start_work(self, "load", self.load_now)

    async def load_now(self) -> None:
        """Load, or show why that failed."""
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
    """A title, a list, the detail of the row under the cursor, and a status bar; a banner shows failures."""

    TITLES: ClassVar[tuple[str, str]] = ("Findings", "Finding")
    """The titles of the list and of the detail."""
    table: TableList[Any]
    nothing = Content("")
    """The detail without a row."""

    def compose(self) -> ComposeResult:
        pane = ReadingPane(GrowingText(id="about"))
        self.table.border_title, pane.border_title = self.TITLES
        yield TitleLine()
        yield Banner()
        yield ListAndDetail(self.table, pane)
        yield StatusBar()

    def on_mount(self) -> None:
        if self.display:
            self.reload()

    async def about(self, row: Any) -> Content:
        """The detail of the row under the cursor. Raises InspectorError."""
        raise NotImplementedError

    def show_loaded(self) -> None:
        """Show the detail of the row under the cursor, and the status bar."""
        super().show_loaded()
        start_work(self, "about", self._show_about)

    async def _show_about(self) -> None:
        row, about = self.table.selected, self.nothing
        try:
            if row is not None:
                about = await self.about(row)
        except InspectorError as error:
            about = Content(safe_text(str(error)))
        self.query_one("#about", Static).update(about)
        self.query_one(ReadingPane).scroll_home(animate=False)

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        event.stop()
        self.show_loaded()
        self.screen.refresh_bindings()

    def action_reload(self) -> None:
        self.reload()

    def step_out(self) -> bool:
        """Go from the detail to the list; False if in the list."""
        if self.table.has_focus or not self.table.rows:
            return False
        self.table.focus()
        return True

    def read(self) -> None:
        """Go from the list to the detail."""
        if self.table.rows:
            self.query_one(ReadingPane).focus()


class UpkeepTab(Listing, Vertical):
    """A tab of Upkeep. It loads when first shown, and its keys work while it has the focus."""

    NAME: ClassVar[TabName]
    KEYS: ClassVar[Sequence[Command]] = ()

    def __init_subclass__(cls) -> None:
        """Set the bindings of the commands."""
        cls.BINDINGS = bindings(cls.KEYS)
        super().__init_subclass__()

    def __init__(self, table: TableList[Any]) -> None:
        super().__init__(id=self.NAME.id)
        self.table = table
        self.is_stale = True
        """Whether it must load when shown: never loaded, or memories have changed since."""

    @property
    def room(self) -> Any:
        """The room that has this tab."""
        return self.screen

    @property
    def library(self) -> Library:
        """The store of the room."""
        library: Library = self.room.library
        return library

    def reload(self) -> None:
        self.is_stale = False
        super().reload()

    def why_dimmed(self, action: str) -> str | None:
        """Say why an action is not available now; None if it is."""
        writes = any(command.id == action and command.writes for command in self.KEYS)
        return self.library.read_only_because if writes else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return None if self.is_mounted and self.why_dimmed(action) is not None else True

    def shell_facts(self) -> dict[str, str]:
        """The item under the cursor, for shell commands."""
        return {}

    def status(self) -> Sequence[str]:
        """The number of marks, and why the store is read-only."""
        marked = len(self.table.marked)
        return (f"{MARKED} {marked:,} marked" if marked else "", self.library.read_only_because or "")

    def begin(self, change: RunChange) -> None:
        """Start a change, unless another one or a check is running."""
        if self.is_loading:
            warn(self, "Wait: a check is still running.")
        else:
            self.room.begin(change)

    def on_table_list_row_opened(self, event: TableList.RowOpened) -> None:
        event.stop()
        self.read()

    def on_table_list_marks_changed(self, event: TableList.MarksChanged) -> None:
        self.show_loaded()

    def action_mark(self) -> None:
        self.table.toggle_mark()

    def action_mark_all(self) -> None:
        self.table.mark_all()

    def step_out(self) -> bool:
        """Cancel a check, else go one pane back; False in the first pane."""
        if not self.is_loading:
            return super().step_out()
        self.stop_loading()
        self.query_one(TitleLine).say("Check cancelled. Press r to check again.")
        return True
