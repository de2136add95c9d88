"""Why a memory reaches the agent for a message or not: one message, one scoring and one rule for three tabs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.text import shell_word
from zeroclaw_tui.tui.commands import Command, changing, common_commands, inform, warn
from zeroclaw_tui.tui.dialogs import choose_profile, review_question
from zeroclaw_tui.tui.rooms.listing import TabbedRoom
from zeroclaw_tui.tui.rooms.why.pane import Inquiry, PromptPane, StagesPane, Tab
from zeroclaw_tui.tui.rooms.why.what_if import WhatIfPane
from zeroclaw_tui.tui.view import Pace
from zeroclaw_tui.tui.widgets.lines import PromptLine, StatusBar

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.entry import MemoryEntry


class WhyRoom(TabbedRoom):
    """Stages, what-if and prompt, about one message and one memory. Opens on `tab`.

    The settings modified in what-if also apply in stages and prompt. Gives True when memories or settings changed.
    `as_of` names the moment that `clock` gives where that is not now.
    """

    CSS_PATH = "why.tcss"
    PLACE = "why"
    TABS = (StagesPane, WhatIfPane, PromptPane)
    KEYS = (
        # With priority they are done before the next key is looked at, so that fast typing goes where it is meant to.
        Command("message", "slash", "message", "Type a message", True, priority=True, synonyms="search query"),
        Command("reset_all", "backslash", "reset all", "Reset every setting"),
        Command("write", "W", "write", "Save the modified settings …", True, writes=True, synonyms="save config"),
        Command("explain", "x", "stages", "Explain why this memory is in the prompt or not",
                synonyms="explain why reason miss score", shell="explain {key} --query {query}"),
        Command("what_if", "w", "what-if", "Try other settings", synonyms="weights threshold tune try",
                shell="recall {query} --set memory.vector_weight={number}"),
        Command("prompt", "P", "prompt", "The text ZeroClaw puts before this message",
                synonyms="injected context block", shell="prompt {query}"),
        Command("scoring", "p", "scoring", "Choose the ZeroClaw version for scoring", True,
                synonyms="profile version rules", shell="recall {query} --profile {version}"),
        Command("reload", "r", "reload", "Reload; after a failure: retry", synonyms="refresh retry"),
        *common_commands(out="One step out; modified settings are not saved"),
    )  # fmt: skip
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide"), (150, "-broad")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-middle"), (30, "-high")]  # noqa: RUF012

    def __init__(
        self,
        library: Library,
        tab: Tab,
        entry: MemoryEntry | None,
        request: RecallRequest,
        clock: Callable[[], datetime],
        pace: Pace,
        *,
        as_of: str = "",
    ) -> None:
        self.inquiry = Inquiry(library, entry, request, clock)
        self._as_of = as_of
        self._line = PromptLine(pace.debounce, request.query, "what would you say to the agent?", id="message")
        self._stages, self._what_if = StagesPane(self.inquiry), WhatIfPane(self.inquiry)
        super().__init__(library, clock, pace, [self._stages, self._what_if, PromptPane(self.inquiry)], tab)

    def compose(self) -> ComposeResult:
        yield self._line
        yield self.tab_line
        yield StatusBar(id="as-of")
        yield from self.tabs.values()

    def on_mount(self) -> None:
        """Wait for a message to be typed, unless one is given; the key of a memory is no message."""
        self.query_one("#as-of", StatusBar).say(self._as_of)
        entry, query = self.inquiry.entry, self.inquiry.request.query.strip().casefold()
        if not query or (entry is not None and entry.key.casefold() == query):
            self.action_message()

    def shell_facts(self) -> dict[str, str]:
        """The message and the memory as well, for the lines of a shell."""
        facts, inquiry = super().shell_facts(), self.inquiry
        if inquiry.request.query.strip():
            facts["query"] = shell_word(inquiry.request.query)
        if inquiry.entry is not None:
            facts["key"] = shell_word(inquiry.entry.key)
        return facts

    def why_dimmed(self, action: str) -> str | None:
        """Why a command cannot be done now, in a sentence; None when it can."""
        if action == "write":
            # config.toml may be written although the store is only read.
            return self.library.read_only_because if self.library.config.read_only else None
        return super().why_dimmed(action)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the message is typed, a slash is a letter; only modified settings can be reset or written."""
        if action == "message":
            return not self._is_typing
        if action in ("write", "reset_all") and self.chosen != "what_if" and not self.inquiry.tried.changed:
            return False
        return super().check_action(action, parameters)

    def on_prompt_line_asked(self, event: PromptLine.Asked) -> None:
        if event.text != self.inquiry.request.query:
            self.inquiry.ask_about(query=event.text)
            self.tab.open()

    def show_trial(self) -> None:
        """Show the scoring version for the message, and the modified settings."""
        choice, trial, tried = self.library.profile, self.inquiry.trial, self.inquiry.tried
        source = choice.source if trial.profile == choice.profile else "tried"
        self._line.show_facts(f"scoring {trial.profile.version} ({source})")
        modified = f"modified: {tried.changed_words}" if tried.changed else ""
        self.tab_line.note = "not saved. Press W to save" if self.chosen == "what_if" else modified

    def show_tab(self, name: str) -> None:
        """Show a tab with the memory of the one before, and ask what it does not know yet."""
        what_if = self._what_if
        if self.chosen == "what_if" != name and (what_if.is_in_list or self.inquiry.entry is None):
            self.inquiry.entry = what_if.entry or self.inquiry.entry
        self.tab.stop_loading()
        super().show_tab(name)

    def focus_tab(self) -> None:
        """Give the focus to the tab, unless the message is being typed."""
        if not self._is_typing:
            super().focus_tab()

    def reload_all(self) -> None:
        """Ask again: memories or settings may have changed."""
        self.inquiry.reload()
        self.tab.open()

    def action_reload(self) -> None:
        self.reload_all()

    def action_message(self) -> None:
        """Type the message; it is selected, so that another one can be typed at once."""
        self._line.focus_to_replace()

    def action_leave_line(self) -> None:
        self.set_focus(self.tab.reader)
        self._line.finish()

    def action_explain(self) -> None:
        """Why the memory under the cursor is in the prompt or not; in the stages the one that replaced it."""
        entry = self.inquiry.entry
        if self.chosen == "stages" and entry is not None and entry.superseded_by is not None:
            self.begin(self._explain_newer)
        else:
            self.show_tab("stages")

    async def _explain_newer(self, library: Library) -> None:
        entry = self.inquiry.entry
        newer = None if entry is None else await library.superseding_entry(entry)
        if newer is not None:
            self.inquiry.entry = newer
            self.tab.open()
        else:
            warn(self, "The memory that replaced this one is not in the store.")

    def action_what_if(self) -> None:
        """What this message would recall with other settings, those of the advice first."""
        advice = self._stages.advice if self.chosen == "stages" else None
        if advice is not None:
            self.inquiry.tried = self.inquiry.tried._replace(now=advice.trial)
        self.show_tab("what_if")
        if advice is not None:
            self._what_if.go_to_first()

    def action_prompt(self) -> None:
        self.show_tab("prompt")

    def action_reset_all(self) -> None:
        """Reset every setting."""
        tried = self.inquiry.tried
        self.inquiry.tried = tried._replace(now=tried.before)
        self.tab.open()

    @changing
    async def action_scoring(self, library: Library) -> None:
        if await choose_profile(self.app, library):
            self.has_changed = True
            tried = self.inquiry.tried
            # The version is no longer a trial.
            self.inquiry.tried = tried._replace(now=tried.now._replace(profile=tried.before.profile))
            self.inquiry.ask_about()
            self.tab.open()

    def step_out(self) -> bool:
        """From the message to the answer, from the list to the settings."""
        if not self._is_typing:
            return super().step_out()
        is_answered = not self.tab.has_class("-empty")
        if is_answered:
            self.set_focus(self.tab.reader)
        return is_answered

    @changing
    async def action_write(self, library: Library) -> None:
        """Show what changes in config.toml, and save it once confirmed; the library scores by it from then on."""
        from zeroclaw_tui.curation.setting_change import plan_settings_change, save_settings_change, way_back

        change = await asyncio.to_thread(plan_settings_change, library, self.inquiry.trial)
        effect = self._what_if.effect
        words = f"For this message, with the modified settings: {effect}." if effect else ""
        if await self.app.push_screen_wait(review_question(change, words)):
            await save_settings_change(library, change, self.clock())
            inform(self, f"Saved config.toml; {way_back(library.config)}")
            await self.after_change(None)

    @property
    def _is_typing(self) -> bool:
        # The widget itself learns of its focus later than the next key comes.
        return self.focused is self._line.input
