"""What the four tabs of upkeep share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.containers import Vertical

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.tui.commands import Change, Command, bindings, warn
from zeroclaw_tui.tui.rooms.listing import Listing
from zeroclaw_tui.tui.widgets.lines import TabName, TitleLine
from zeroclaw_tui.tui.widgets.table_list import MARKED, TableList


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
