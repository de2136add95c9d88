"""What rooms share: they are loaded in the background, a list shows all about its row, and tabs of upkeep."""

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
from zeroclaw_tui.tui.commands import Change, Command, bindings, start_work, warn
from zeroclaw_tui.tui.format import shown_words
from zeroclaw_tui.tui.widgets.detail import ListAndDetail, ReadingPane
from zeroclaw_tui.tui.widgets.lines import Banner, GrowingText, StatusBar, TabName, TitleLine
from zeroclaw_tui.tui.widgets.table_list import MARKED, TableList

if TYPE_CHECKING:
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
    nothing = Content("")
    """What is shown of no row."""

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
        """Everything about the row under the cursor. Raises InspectorError."""
        raise NotImplementedError

    def show_loaded(self) -> None:
        """Show everything about the row under the cursor, and the line below the list."""
        super().show_loaded()
        start_work(self, "about", self._show_about)

    async def _show_about(self) -> None:
        row, about = self.table.selected, self.nothing
        try:
            if row is not None:
                about = await self.about(row)
        except InspectorError as error:
            about = Content(shown_words(str(error)))
        self.query_one("#about", Static).update(about)
        self.query_one(ReadingPane).scroll_home(animate=False)

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
            self.query_one(ReadingPane).focus()


class UpkeepTab(Listing, Vertical):
    """One tab. It loads when it is first shown, and its keys work while the focus is in it."""

    NAME: ClassVar[TabName]
    KEYS: ClassVar[Sequence[Command]] = ()

    def __init_subclass__(cls) -> None:
        """Its bindings are those of its commands."""
        cls.BINDINGS = bindings(cls.KEYS)
        super().__init_subclass__()

    def __init__(self, table: TableList[Any]) -> None:
        super().__init__(id=self.NAME.id)
        self.table = table
        self.is_stale = True
        """Whether it has to load when it is shown: never loaded, or memories have changed since."""

    @property
    def room(self) -> Any:
        """The room it is a tab of."""
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
        """Why an action cannot be done now, in a sentence; None when it can."""
        writes = any(command.id == action and command.writes for command in self.KEYS)
        return self.library.read_only_because if writes else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return None if self.is_mounted and self.why_dimmed(action) is not None else True

    def shell_facts(self) -> dict[str, str]:
        """What is under the cursor, for the lines of a shell."""
        return {}

    def status(self) -> Sequence[str]:
        """The line below the list."""
        marked = len(self.table.marked)
        return (f"{MARKED} {marked:,} marked" if marked else "", self.library.read_only_because or "")

    def begin(self, change: Change) -> None:
        """Make a change, unless another one or a check is under way."""
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
        """Cancel a check, else go one pane back; False in the first one."""
        if not self.is_loading:
            return super().step_out()
        self.stop_loading()
        self.query_one(TitleLine).say("Check cancelled. Press r to check again.")
        return True
