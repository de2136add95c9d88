"""What the four tabs of upkeep share: a title, a list, all about the row under the cursor, and one way to act on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.worker import Worker

from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text_difference import DiffLine
from zeroclaw_tui.tui.actions import StoreRoom
from zeroclaw_tui.tui.commands import Command, bindings, inform, start_work, warn
from zeroclaw_tui.tui.widgets.detail import AboutPane, ListAndDetail
from zeroclaw_tui.tui.widgets.lines import Banner, StatusBar, TitleLine
from zeroclaw_tui.tui.widgets.table_list import TableList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.tui.commands import Change
    from zeroclaw_tui.tui.dialogs import Work

About = tuple[Content, Sequence[DiffLine], str]
"""Words about a row, then a difference, else a text."""


class UpkeepTab(Vertical):
    """One tab. It is created and loads when it is first shown."""

    KEYS: ClassVar[Sequence[Command]] = ()
    TITLES: ClassVar[tuple[str, str]] = ("Findings", "Finding")
    """The titles of the list and of the detail."""

    def __init_subclass__(cls) -> None:
        """The keys of its commands work while the focus is in it."""
        cls.BINDINGS = bindings(cls.KEYS)
        super().__init_subclass__()

    def __init__(self, room: StoreRoom, table: TableList[Any], *, id: str) -> None:
        super().__init__(id=id)
        self.room = room
        self.library = room.library
        self.table = table
        """The list that has the focus first."""
        self._loading: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        yield TitleLine()
        yield Banner()
        with ListAndDetail(*self.TITLES):
            with Vertical(classes="lists"):
                yield from self.compose_lists()
            yield AboutPane()
        yield StatusBar()

    def compose_lists(self) -> ComposeResult:
        yield self.table

    def on_mount(self) -> None:
        self.reload()

    async def load(self) -> None:
        """Read the store and show the result. Raises InspectorError."""
        raise NotImplementedError

    async def about(self) -> About:
        """Everything about the row under the cursor. Raises InspectorError."""
        raise NotImplementedError

    def status(self) -> Sequence[str]:
        """The line below the list."""
        return (self.table.marks_words, self.library.read_only_because or "")

    def reload(self) -> None:
        """Load again; what is shown stays until then."""
        self._loading = start_work(self, f"{self.id}-load", self._load)

    async def _load(self) -> None:
        try:
            await self.load()
        except InspectorError as error:
            self.query_one(Banner).fail(error)
        else:
            self.query_one(Banner).hide()
        self.show_row()
        self.screen.refresh_bindings()

    def show_row(self) -> None:
        """Show everything about the row under the cursor, and the line below the list."""
        self.query_one(StatusBar).say(*self.status())
        start_work(self, f"{self.id}-about", self._show_about)

    async def _show_about(self) -> None:
        try:
            about = await self.about()
        except InspectorError as error:
            about = (Content(str(error)), (), "")
        self.query_one(AboutPane).show(*about)

    @property
    def is_loading(self) -> bool:
        """Whether it loads now."""
        return self._loading is not None and not self._loading.is_finished

    def stop_loading(self) -> None:
        """Cancel what loads now."""
        if self._loading is not None:
            self._loading.cancel()

    def shell_facts(self) -> dict[str, str]:
        """What is under the cursor, for the lines of a shell."""
        return {}

    def why_dimmed(self, action: str) -> str | None:
        """Why an action cannot be done now, in a sentence; None when it can."""
        writes = any(command.id == action and command.writes for command in self.KEYS)
        return self.library.read_only_because if writes else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return None if self.is_mounted and self.why_dimmed(action) is not None else True

    def begin(self, change: Change) -> None:
        """Make a change, unless another one or a check is under way."""
        if self.is_loading:
            warn(self, "Wait: a check is still running.")
        else:
            self.room.begin(change)

    async def carry_out(self, sentence: str, total: int, work: Work[Outcome], report: Callable[[Outcome], str]) -> None:
        """Do what a person has agreed to, say what was done, and reload."""
        outcome = await self.room.changes.run_change(sentence, total, work)
        (inform if outcome.count == total else warn)(self, report(outcome))
        await self.room.after_change(outcome)

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        event.stop()
        self.show_row()
        self.screen.refresh_bindings()

    def on_table_list_row_opened(self, event: TableList.RowOpened) -> None:
        event.stop()
        self.go(1)

    def on_table_list_marks_changed(self, event: TableList.MarksChanged) -> None:
        self.show_row()

    def action_mark(self) -> None:
        self.table.toggle_mark()

    def action_mark_all(self) -> None:
        self.table.mark_all()

    def go(self, step: int) -> bool:
        """Go one pane further or back, from the lists to the text; False where there is none."""
        panes = (*self.query(TableList), self.query_one(AboutPane))
        at = step + next((at for at, pane in enumerate(panes) if pane.has_focus), 0)
        if not self.table.rows or not 0 <= at < len(panes):
            return False
        self.set_class(panes[at] is panes[-1], "-reading")
        panes[at].focus()
        return True

    def step_out(self) -> bool:
        """Cancel a check, else go one pane back; False in the first one."""
        if not self.is_loading:
            return self.go(-1)
        self.stop_loading()
        self.query_one(TitleLine).say("Check cancelled. Press r to check again.")
        return True
