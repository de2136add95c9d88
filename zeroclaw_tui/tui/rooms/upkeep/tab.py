"""What the four tabs of upkeep share: marks, and one way to act on what is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from textual.containers import Vertical
from textual.widget import Widget

from zeroclaw_tui.tui.commands import inform, warn
from zeroclaw_tui.tui.rooms.listing import Listing, RoomTab
from zeroclaw_tui.tui.widgets.lines import TitleLine
from zeroclaw_tui.tui.widgets.table_list import TableList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.tui.commands import Change
    from zeroclaw_tui.tui.dialogs import Work


class UpkeepTab(Listing, RoomTab, Vertical):
    """One tab. It loads when it is first shown."""

    def __init__(self, table: TableList[Any]) -> None:
        super().__init__(id=self.NAME.id)
        self.table = table
        self.is_stale = True
        """Whether it has to load when it is shown: never loaded, or memories have changed since."""

    @property
    def reader(self) -> Widget:
        return self.table

    def open(self) -> None:
        if self.is_stale:
            self.reload()

    def reload(self) -> None:
        self.is_stale = False
        super().reload()

    def status(self) -> Sequence[str]:
        """The line below the list."""
        return (self.table.marks_words, self.library.read_only_because or "")

    def begin(self, change: Change) -> None:
        """Make a change, unless another one or a check is under way."""
        if self.is_loading:
            warn(self, "Wait: a check is still running.")
        else:
            super().begin(change)

    async def carry_out(self, sentence: str, total: int, work: Work[Outcome], report: Callable[[Outcome], str]) -> None:
        """Do what a person has agreed to, say what was done, and reload."""
        outcome = await self.room.run_change(sentence, total, work)
        (inform if outcome.count == total else warn)(self, report(outcome))
        await self.room.after_change(outcome)

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
