"""Why a memory reaches the agent for a message or not: one message, one scoring and one rule for three tabs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.memory.errors import InspectorError, NotFound, SearchInterrupted
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.text import shell_word
from zeroclaw_tui.tui.actions import re_embed, written_words
from zeroclaw_tui.tui.commands import Command, changing, common_commands, inform, saying, start_work, warn
from zeroclaw_tui.tui.dialogs import choose_profile, review_question
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import shown_words
from zeroclaw_tui.tui.rooms.browser import why_dimmed
from zeroclaw_tui.tui.rooms.why.pane import Pane, PromptPane, StagesPane, Tab
from zeroclaw_tui.tui.rooms.why.trial import Inquiry
from zeroclaw_tui.tui.rooms.why.what_if import WhatIfPane
from zeroclaw_tui.tui.store_room import StoreRoom
from zeroclaw_tui.tui.view import Pace, View
from zeroclaw_tui.tui.widgets.lines import Banner, KeyLine, PromptLine, StatusBar, TabLine, TabName

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.memory.entry import MemoryEntry

_ASKING = "why"
_TABS = (TabName("stages", "x", "stages"), TabName("what_if", "w", "what-if"), TabName("prompt", "P", "prompt"))

COMMANDS = (
    # With priority they are done before the next key is looked at, so that fast typing goes where it is meant to.
    Command("message", "slash", "message", "Type a message", True, priority=True, synonyms="search query"),
    Command("leave_message", "enter,down", "to the answer", "From the message to the answer", True, priority=True,
            listed=False),
    Command("less", "left,minus", "less", "The chosen setting a step down", True),
    Command("more", "right,plus,equals_sign", "more", "The chosen setting a step up", True),
    Command("reset", "backspace", "reset", "Reset the chosen setting"),
    Command("reset_all", "backslash", "reset all", "Reset every setting"),
    Command("write", "W", "write", "Save the modified settings …", True, writes=True, synonyms="save config"),
    Command("choose", "enter", "choose", "Choose a value or type a number; in the list: its stages", True),
    Command("explain", "x", "stages", "Explain why this memory is in the prompt or not",
            synonyms="explain why reason miss score", shell="explain {key} --query {query}"),
    Command("what_if", "w", "what-if", "Try other settings", synonyms="weights threshold tune try",
            shell="recall {query} --set memory.vector_weight={number}"),
    Command("prompt", "P", "prompt", "The text ZeroClaw puts before this message", synonyms="injected context block",
            shell="prompt {query}"),
    Command("scoring", "p", "scoring", "Choose the ZeroClaw version for scoring", True,
            synonyms="profile version rules", shell="recall {query} --profile {version}"),
    Command("other_pane", "tab,shift+tab", "pane", "From the settings to the list, and back"),
    Command("re_embed", "R", "re-embed", "Re-embed this memory", writes=True, synonyms="vector embedding reindex",
            shell="reindex"),
    Command("edit", "e", "edit", "Edit this memory", True, writes=True, synonyms="change fix correct",
            shell="edit {key}"),
    Command("copy", "y", "copy", "Copy the prompt as it is", True, synonyms="clipboard", shell="prompt {query}"),
    Command("reload", "r", "reload", "Reload; after a failure: retry", synonyms="refresh retry"),
    *common_commands(out="One step out; modified settings are not saved"),
)  # fmt: skip
_ONLY_IN: dict[str, tuple[Tab, ...]] = {
    **dict.fromkeys(("less", "more", "reset", "choose", "other_pane"), ("what_if",)),
    **dict.fromkeys(("re_embed", "edit"), ("stages",)),
    "copy": ("prompt",),
}
"""The commands that are offered in some tabs only."""
_WHILE_TYPING = frozenset({"leave_message", "step_out", "keys"})
"""The commands whose keys are no characters of the message."""


class WhyRoom(StoreRoom):
    """Stages, what-if and prompt, about one message and one memory. Opens on `tab`.

    The settings modified in what-if also apply in stages and prompt. Gives True when memories or settings changed.
    `as_of` names the moment that `clock` gives where that is not now.
    """

    CSS_PATH = "why.tcss"
    AUTO_FOCUS = ""
    PLACE = "why"
    KEYS = COMMANDS
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
        super().__init__(library, clock, pace)
        self._as_of = as_of
        self.inquiry = Inquiry(library, entry, request, clock)
        self.tab = tab
        self._line = PromptLine(pace.debounce, request.query, "what would you say to the agent?", id="message")
        self._stages, self._what_if, self._prompt = (
            StagesPane(self.inquiry), WhatIfPane(self.inquiry), PromptPane(self.inquiry)
        )  # fmt: skip

    def compose(self) -> ComposeResult:
        yield self._line
        yield TabLine(_TABS)
        yield Banner(id="failure")
        yield StatusBar(id="as-of")
        yield from (self._stages, self._what_if, self._prompt)
        yield StatusBar(id="status")
        yield KeyLine()

    def on_mount(self) -> None:
        """Ask, or wait for a message to be typed."""
        self.query_one("#as-of", StatusBar).say(self._as_of)
        self._show_tab(self.tab)
        entry, query = self.inquiry.entry, self.inquiry.request.query.strip().casefold()
        # A search for the key of the memory is no message to an agent, so one is typed next.
        if not query or (entry is not None and entry.key.casefold() == query):
            self.action_message()

    @property
    def pane(self) -> Pane:
        """The tab that is shown."""
        return self.query_one(f"#{self.tab}", Pane)

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
        return why_dimmed(action, self.library, View()) if action in ("re_embed", "edit") else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What means nothing in this tab is not offered; while the message is typed, keys are letters."""
        if not self.is_mounted:
            return True
        if action == "leave_message":
            return self._is_typing
        is_command = any(command.id == action for command in COMMANDS)
        if self._is_typing and is_command and action not in _WHILE_TYPING:
            return False
        if self.tab not in _ONLY_IN.get(action, (self.tab,)):
            return False
        if action in ("write", "reset_all") and self.tab != "what_if" and not self.inquiry.tried.changed:
            return False
        return super().check_action(action, parameters)

    def on_prompt_line_asked(self, event: PromptLine.Asked) -> None:
        if event.text != self.inquiry.request.query:
            self.inquiry.ask_about(query=event.text)
            self.load()

    def on_tab_line_wanted(self, event: TabLine.Wanted) -> None:
        command = "explain" if event.tab == "stages" else event.tab
        start_work(self, "why-click", self.run_command, command)

    def on_table_list_row_opened(self) -> None:
        self.action_choose()

    def on_pane_changed(self) -> None:
        self._paint_facts()
        if self.pane.answered is not None and not self.pane.is_answered:
            self.load()
        else:
            self.say(*self.pane.notes)

    def load(self) -> None:
        """Ask what the tab does not know yet; an answer to what was asked before is dropped."""
        self.stop()
        pane = self.pane
        self._paint_facts()
        pane.paint()
        if pane.missing is None and not pane.is_answered:
            start_work(self, _ASKING, self._ask, pane)
        else:
            self.query_one("#failure", Banner).hide()
            self.say(*pane.notes)

    def stop(self) -> None:
        """Stop waiting for answers."""
        self.workers.cancel_group(self, _ASKING)

    def action_reload(self) -> None:
        self.inquiry.reload()
        self.load()

    def action_message(self) -> None:
        """Type the message; it is selected, so that another one can be typed at once."""
        self._line.focus_to_replace()

    def action_leave_message(self) -> None:
        self.set_focus(self.pane.reader)
        self._line.finish()

    def action_explain(self) -> None:
        """Why the memory under the cursor is in the prompt or not; in the stages the one that replaced it."""
        entry = self.inquiry.entry
        if self.tab == "stages" and entry is not None and entry.superseded_by is not None:
            self.begin(self._explain_newer)
        else:
            self._show_tab("stages")

    def action_what_if(self) -> None:
        """What this message would recall with other settings, those of the advice first."""
        advice = self._stages.advice if self.tab == "stages" else None
        if advice is not None:
            self.inquiry.tried = self.inquiry.tried._replace(now=advice.trial)
        self._show_tab("what_if")
        if advice is not None:
            self._what_if.go_to_first()

    def action_prompt(self) -> None:
        self._show_tab("prompt")

    def action_other_pane(self) -> None:
        self._what_if.other_pane()

    def action_choose(self) -> None:
        """Choose a value of the setting, or show the stages of the memory under the cursor."""
        if self._what_if.is_in_list:
            self._show_tab("stages")
        else:
            self._what_if.choose()

    def action_less(self) -> None:
        self._what_if.step(-1)

    def action_more(self) -> None:
        self._what_if.step(1)

    def action_reset(self) -> None:
        self._what_if.reset()

    def action_reset_all(self) -> None:
        """Reset every setting."""
        tried = self.inquiry.tried
        self.inquiry.tried = tried._replace(now=tried.before)
        if self.tab == "what_if":
            self._what_if.judge()
        else:
            self.load()

    def action_scoring(self) -> None:
        start_work(self, "change", self._choose_profile, exclusive=False)

    async def _choose_profile(self) -> None:
        if await choose_profile(self.app, self.library):
            self.has_changed = True
            tried = self.inquiry.tried
            # The version is no longer a trial.
            self.inquiry.tried = tried._replace(now=tried.now._replace(profile=tried.before.profile))
            self.inquiry.ask_about()
            self.load()

    async def action_copy(self) -> None:
        """Copy the prompt as it is, control characters and all."""
        prompt = self._prompt.prompt
        if prompt is None or not prompt.text:
            warn(self, "Nothing to copy here yet.")
        else:
            inform(self, await copy_text(self.app, prompt.text))

    def action_step_out(self) -> None:
        """From the message to the answer, from the list to the settings, from there out."""
        if self._is_typing and self.pane.reader is not None:
            self.set_focus(self.pane.reader)
        elif self.tab == "what_if" and self._what_if.is_in_list and not self._is_typing:
            self._what_if.other_pane()
        else:
            self.action_leave()

    @changing
    async def action_write(self, library: Library) -> None:
        """Show what changes in config.toml, and save it once confirmed; the library scores by it from then on."""
        from zeroclaw_tui.curation.setting_change import plan_settings_change, save_settings_change, way_back

        change = await asyncio.to_thread(plan_settings_change, library, self.inquiry.trial)
        effect = self._what_if.effect
        words = f"For this message, with the modified settings: {effect}." if effect else ""
        if await self.app.push_screen_wait(review_question(change, words)):
            await save_settings_change(library, change, self.clock())
            self.has_changed = True
            inform(self, f"Saved config.toml; {way_back(library.config)}")
            self.action_reload()

    @changing
    async def action_re_embed(self, library: Library) -> None:
        is_done, sentence = await re_embed(library, self._entry_here())
        (inform if is_done else warn)(self, sentence)
        if is_done:
            self.has_changed = True
            self.action_reload()

    @changing
    async def action_edit(self, library: Library) -> None:
        from zeroclaw_tui.tui.rooms.editor import EditorScreen

        row = await row_with_id(library.memory, self._entry_here().id)
        if row is None:
            raise NotFound("This memory no longer exists.", hint="Press esc to return to the list.")
        outcome = await self.app.push_screen_wait(EditorScreen(library, row))
        if outcome is not None:
            self.has_changed = True
            inform(self, written_words(outcome))
            self.action_reload()

    async def after_change(self, outcome: Outcome | None) -> None:
        """A change failed: part of it may be done."""
        self.action_reload()

    async def _explain_newer(self, library: Library) -> None:
        entry = self.inquiry.entry
        newer = None if entry is None else await library.superseding_entry(entry)
        if newer is not None:
            self.inquiry.entry = newer
            self.load()
        else:
            warn(self, "The memory that replaced this one is not in the store.")

    def _entry_here(self) -> MemoryEntry:
        """The memory that a change is about. Raises NotFound where none is chosen."""
        if self.inquiry.entry is None:
            raise NotFound("There is no memory under the cursor.", hint="Choose one in the list first.")
        return self.inquiry.entry

    def say(self, *facts: str) -> None:
        """Fill the line over the keys."""
        if self.is_running:
            self.query_one("#status", StatusBar).say(*map(shown_words, facts))

    @property
    def _is_typing(self) -> bool:
        # The widget itself learns of its focus later than the next key comes.
        return self.focused is self._line.input

    def _show_tab(self, tab: Tab) -> None:
        """Show a tab with the memory of the one before, and ask what it does not know yet."""
        if self.tab == "what_if" and tab != self.tab and (self._what_if.is_in_list or self.inquiry.entry is None):
            self.inquiry.entry = self._what_if.entry or self.inquiry.entry
        is_typing = self._is_typing
        self.tab = tab
        for pane in self.query(Pane):
            pane.display = pane.id == tab
        self.query_one(TabLine).chosen = tab
        self.load()
        if not is_typing:
            self.set_focus(self.pane.reader)
        self.refresh_bindings()

    def _paint_facts(self) -> None:
        """The scoring version for the message, and the modified settings."""
        choice, trial, tried = self.library.profile, self.inquiry.trial, self.inquiry.tried
        source = choice.source if trial.profile == choice.profile else "tried"
        self._line.show_facts(f"scoring {trial.profile.version} ({source})")
        modified = f"modified: {tried.changed_words}" if tried.changed else ""
        self.query_one(TabLine).note = "not saved. Press W to save" if self.tab == "what_if" else modified

    async def _ask(self, pane: Pane) -> None:
        try:
            with saying(self, self.pace.patience, lambda: self.say("Reading the store …")):
                await pane.ask()
        except SearchInterrupted:
            # The store is being closed.
            return
        except InspectorError as error:
            self.say()
            self._fail(error)
            return
        self.query_one("#failure", Banner).hide()
        self._paint_facts()
        self.say(*pane.notes)
        if self.focused is None:
            self.set_focus(pane.reader)
        self.refresh_bindings()

    def _fail(self, error: InspectorError) -> None:
        self.query_one("#failure", Banner).fail(error)
        if self.pane.answered is None:
            keys = (("r", "try again"), ("/", "another message"), ("esc", "out"))
            self.pane.show_empty(("The store did not answer.", "", keys))
