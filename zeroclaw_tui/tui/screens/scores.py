"""The ways from the list to why: stages, what-if, the prompt, and what is near."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from zeroclaw_tui.tui.commands import shown_sentence
from zeroclaw_tui.tui.screens.upkeep import UpkeepScreen
from zeroclaw_tui.tui.view import Mode
from zeroclaw_tui.tui.widgets.header import StoreHeader
from zeroclaw_tui.tui.widgets.memory_list import MemoryList
from zeroclaw_tui.tui.widgets.ranked_rows import is_from_lucid

if TYPE_CHECKING:
    from zeroclaw_tui.memory.recall import RecallRequest
    from zeroclaw_tui.tui.rooms.why.pane import Tab


class ScoresScreen(UpkeepScreen):
    """Opens the screens that explain scores, each imported when it is asked for."""

    def action_explain(self) -> None:
        """Why the memory under the cursor is recalled for the message of the search bar, or not."""
        self._show_why("stages")

    def action_what_if(self) -> None:
        """What the message of the search bar would recall with other numbers."""
        self._show_why("what_if")

    def action_show_prompt(self) -> None:
        """The text ZeroClaw puts before the message of the search bar."""
        self._show_why("prompt")

    def action_similar(self) -> None:
        """Memories near the one under the cursor."""
        self._show_why("near")

    def _show_why(self, tab: Tab) -> None:
        from zeroclaw_tui.tui.rooms.why.room import WhyRoom

        rows = self.query_one(MemoryList)
        # What the lucid program answers is no memory of the store, which nothing could be asked about.
        entry = None if is_from_lucid(rows.selected_result) else rows.selected_entry
        if self.library is None:
            return
        if entry is None and tab in ("stages", "near"):
            self.notify("There is no memory under the cursor to ask about.", severity="warning", markup=False)
            return
        room = WhyRoom(self.library, tab, entry, self._asked(), self._clock, self.pace)
        self.app.push_screen(room, lambda has_changed: self._after_explaining(has_changed, room.leaves_for))

    def _asked(self) -> RecallRequest:
        """The agent's recall of the view; its query is blank while nothing is searched for, or not by a message."""
        assert self.library is not None
        asked = self.view.request(self._clock(), self.library.config, self.library.memory.recall_limit)
        is_message = self.view.mode not in (Mode.REGEX, Mode.SIMILAR)
        return replace(asked, query=asked.query if is_message else "", own_fusion=False)

    def _after_explaining(self, has_changed: bool | None, action: str | None) -> None:
        """What is shown follows, and what a person left the explanation for is done."""
        self._after_why(has_changed)
        because = self.why_action_dimmed(action) if action else None
        if because is not None:
            self.notify(shown_sentence(because), title="Not here", severity="warning", markup=False)
        elif action is not None:
            self.call_later(self.run_action, action)

    def _after_why(self, has_changed: bool | None) -> None:
        """Settings were written, or a vector was made: what is shown follows."""
        if has_changed and self.library is not None:
            self.query_one(StoreHeader).show(self.library)
            self.look_again()
