"""The ways from the list to why: explain, what-if, the prompt, and similar memories."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from zeroclaw_tui.tui.commands import shown_sentence
from zeroclaw_tui.tui.screens.upkeep import UpkeepScreen
from zeroclaw_tui.tui.view import Mode
from zeroclaw_tui.tui.widgets.header import StoreHeader
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

if TYPE_CHECKING:
    from zeroclaw_tui.memory.recall import RecallRequest


class ScoresScreen(UpkeepScreen):
    """Opens the screens that explain scores, each imported when it is asked for."""

    def action_explain(self) -> None:
        """Why the memory under the cursor is recalled for the message of the search bar, or not."""
        from zeroclaw_tui.tui.screens.explain import ExplainScreen

        entry = self.query_one(MemoryList).selected_entry
        if entry is None or self.library is None:
            self.notify("There is no memory to explain.", severity="warning", markup=False)
            return
        screen = ExplainScreen(self.library, entry, self._asked(), self._clock, self.pace)
        self.app.push_screen(screen, lambda has_changed: self._after_explaining(has_changed, screen.leaves_for))

    def action_what_if(self) -> None:
        """What the message of the search bar would recall with other numbers."""
        from zeroclaw_tui.tui.screens.what_if import WhatIfScreen

        if self.library is not None:
            self.app.push_screen(WhatIfScreen(self.library, self._asked(), self._clock, self.pace), self._after_why)

    def action_show_prompt(self) -> None:
        """The text ZeroClaw puts before the message of the search bar."""
        from zeroclaw_tui.tui.screens.prompt import PromptScreen

        if self.library is not None:
            self.app.push_screen(PromptScreen(self.library, self._asked(), self._clock, self.pace), self._after_why)

    def action_similar(self) -> None:
        """Memories near the one under the cursor, in the list."""
        entry = self.query_one(MemoryList).selected_entry
        if entry is None:
            self.notify("There is no memory that others could be near to.", severity="warning", markup=False)
            return
        self.look(replace(self.view, mode=Mode.SIMILAR, similar_to=entry))

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
