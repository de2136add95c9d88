"""Why a memory reaches the agent for a message or not: one message, one scoring and one rule for three tabs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.memory.errors import InspectorError, NotFound, SearchInterrupted
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.text import shell_word
from zeroclaw_tui.scoring.phrases import quoted
from zeroclaw_tui.tui.actions import StoreRoom
from zeroclaw_tui.tui.commands import Command, changing, common_commands, inform, saying, start_work, warn
from zeroclaw_tui.tui.dialogs import profile_question
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import shown_words
from zeroclaw_tui.tui.rooms.browser import BrowserRoom, why_dimmed
from zeroclaw_tui.tui.rooms.panes import GOES_BY
from zeroclaw_tui.tui.rooms.why.pane import Pane, Tab
from zeroclaw_tui.tui.rooms.why.prompt import RULES, PromptPane, other_rule
from zeroclaw_tui.tui.rooms.why.stages import ExplanationBlock, StagesPane
from zeroclaw_tui.tui.rooms.why.trial import Inquiry
from zeroclaw_tui.tui.rooms.why.what_if import MANY, WhatIfPane, write_settings
from zeroclaw_tui.tui.view import Pace, View
from zeroclaw_tui.tui.widgets.lines import Banner, KeyLine, PromptLine, StatusBar, TabLine, TabName
from zeroclaw_tui.tui.widgets.table_list import TableList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.memory.entry import MemoryEntry

PLACEHOLDER = "what would you say to the agent?"
_ASKING, _POLL = "why", "why-poll"
_ALIKE = "In this version the CLI agent and the channels inject the same."
_NAMES: dict[Tab, str] = {"stages": "stages", "what_if": "what-if", "prompt": "prompt"}
_KEYS: dict[Tab, str] = {"stages": "x", "what_if": "w", "prompt": "P"}

COMMANDS = (
    # With priority they are done before the next key is looked at, so that fast typing goes where it is meant to.
    Command("message", "slash", "message", "Type a message", True, priority=True, synonyms="search query"),
    Command("leave_message", "enter,down", "to the answer", "From the message to the answer", True, priority=True,
            listed=False),
    Command("less", "left,minus", "less", "The chosen setting a step down", True),
    Command("more", "right,plus,equals_sign", "more", "The chosen setting a step up", True),
    Command("much_less", "shift+left,less_than_sign", "much less", "A bigger step down"),
    Command("much_more", "shift+right,greater_than_sign", "much more", "A bigger step up"),
    Command("reset", "backspace", "reset", "Reset the chosen setting"),
    Command("reset_all", "backslash", "reset all", "Reset every setting"),
    Command("write", "W", "write", "Save the modified settings …", True, writes=True, synonyms="save config"),
    Command("choose", "enter", "pick", "Choose a value, or type a number", True),
    Command("open", "enter", "open", "Show the stages of this memory", True),
    Command("explain", "x", "stages", "Explain why this memory is in the prompt or not",
            synonyms="explain why reason miss score", shell="explain {key} --query {query}"),
    Command("what_if", "w", "what-if", "Try other settings", synonyms="weights threshold tune try",
            shell="recall {query} --set memory.vector_weight={number}"),
    Command("prompt", "P", "prompt", "The text ZeroClaw puts before this message", synonyms="injected context block",
            shell="prompt {query}"),
    Command("similar", "s", "similar", "Leave for the list, and find similar memories",
            synonyms="near neighbours related vector", shell="similar {key}"),
    Command("scoring", "p", "scoring", "Choose the ZeroClaw version for scoring", True,
            synonyms="profile version rules", shell="recall {query} --profile {version}"),
    Command("rule", "", "rule", "Inject by the rule of the CLI agent, or of the channels"),
    Command("other_pane", "tab,shift+tab", "pane", "From settings to list, or to the other rule"),
    Command("re_embed", "R", "re-embed", "Re-embed this memory", writes=True, synonyms="vector embedding reindex",
            shell="reindex"),
    Command("edit", "e", "edit", "Edit this memory", True, writes=True, synonyms="change fix correct",
            shell="edit {key}"),
    Command("filter", "F", "filter", "Leave for the list, and recall for others", shell="list {filter}"),
    Command("copy", "y", "copy", "Copy what is shown: stages, prompt, content, or the command", True,
            synonyms="clipboard", shell="get {key}"),
    Command("reload", "r", "reload", "Reload; after a failure: retry", synonyms="refresh retry"),
    *common_commands(out="One step out; modified settings are not saved"),
)  # fmt: skip

_ONLY_IN: dict[str, frozenset[Tab]] = {
    **dict.fromkeys(("less", "more", "much_less", "much_more", "reset", "choose", "open"), frozenset[Tab]({"what_if"})),
    "other_pane": frozenset({"what_if", "prompt"}),
    **dict.fromkeys(("re_embed", "edit", "filter", "similar"), frozenset[Tab]({"stages"})),
}
"""The commands that are offered in some tabs only."""
_COMMANDS = frozenset(command.id for command in COMMANDS)
_WHILE_TYPING = frozenset({"leave_message", "step_out", "keys"})
"""What the keys that are no characters do while the message is typed."""


class WhyRoom(StoreRoom):
    """Stages, what-if and prompt, about one message and one memory. Opens on `tab`.

    The settings modified in what-if also apply in stages and prompt. Gives True when memories or settings changed.
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
        """`as_of` says of which moment before now it is asked, where `clock` gives such a one."""
        super().__init__(library, clock, pace)
        self._as_of = as_of
        self.inquiry = Inquiry(library, entry, request, clock)
        self.tab = tab
        self._line = PromptLine(pace.debounce, request.query, PLACEHOLDER, id="message")
        self._stages, self._what_if = StagesPane(self.inquiry), WhatIfPane(self.inquiry)
        self._number = 0
        self._is_asking = False
        self._version: int | None = None
        self._is_polling = False
        self._is_away = False

    def compose(self) -> ComposeResult:
        yield self._line
        yield TabLine([TabName(tab, key, _NAMES[tab]) for tab, key in _KEYS.items()])
        yield Banner(id="failure")
        yield StatusBar(id="as-of")
        yield from (self._stages, self._what_if, PromptPane(self.inquiry))
        yield StatusBar(id="status")
        yield KeyLine()

    def on_mount(self) -> None:
        """Ask, or wait for a message to be typed; look for what other programs write from then on."""
        self.query_one("#as-of", StatusBar).say(self._as_of)
        self._show_tab(self.tab)
        entry, asked = self.inquiry.entry, self.inquiry.request.query.strip().casefold()
        # What was searched for may be the key of the memory: no message to an agent, so that one is typed next.
        is_by_name = entry is not None and entry.key.casefold() == asked
        if is_by_name or not asked:
            self.action_message()
        if self.pace.poll is not None:
            self.set_interval(self.pace.poll, self._look_for_changes)

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

    @property
    def read_only_because(self) -> str | None:
        """In what-if config.toml is written: a store that is only read does not keep it from that."""
        if self.tab != "what_if" or self.library.config.read_only:
            return self.library.read_only_because
        return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What means nothing in this tab is not offered; while the message is typed, keys are letters."""
        if not self.is_mounted:
            return True
        is_typing = self._is_typing
        if action == "leave_message":
            return is_typing
        if is_typing and action not in _WHILE_TYPING and action in _COMMANDS:
            return False
        if self.tab not in _ONLY_IN.get(action, (self.tab,)):
            return False
        if action in ("filter", "similar") and self._list_below is None:
            return False
        if self.tab == "what_if" and action == ("choose" if self._what_if.is_in_list else "open"):
            return False
        if action in ("write", "reset_all") and self.tab != "what_if" and not self.inquiry.tried.changed:
            return False
        return super().check_action(action, parameters)

    def on_resize(self) -> None:
        self.pane.paint()

    def on_prompt_line_asked(self, event: PromptLine.Asked) -> None:
        if event.text != self.inquiry.request.query:
            self.inquiry.ask_about(query=event.text)
            self.look()

    def on_tab_line_wanted(self, event: TabLine.Wanted) -> None:
        self.run_worker(self.run_action("explain" if event.tab == "stages" else event.tab), group="why-click")

    def on_explanation_block_help_wanted(self, event: ExplanationBlock.HelpWanted) -> None:
        self.run_worker(self._press(event.key), group="why-click")

    def on_table_list_row_opened(self, event: TableList.RowOpened) -> None:
        if event.table is self._what_if.settings:
            self.action_choose()
        else:
            self.action_open()

    def on_pane_changed(self) -> None:
        self._paint_facts()
        if not self._is_asking:
            self._say_notes()

    def on_pane_more_wanted(self) -> None:
        self.look()

    def look(self) -> None:
        """Ask what the tab does not know yet; an answer to what was asked before is dropped."""
        self.stop()
        pane = self.pane
        self._paint_facts()
        if pane.missing is not None:
            self.query_one("#failure", Banner).hide()
            self.say()
            pane.show_missing(pane.missing)
            return
        pane.paint()
        if pane.is_answered:
            self.query_one("#failure", Banner).hide()
            self._say_notes()
            return
        start_work(self, _ASKING, self._ask, self._number, pane)

    def reload(self) -> None:
        """Ask again, for the store may have changed."""
        self.inquiry.reload()
        self.look()

    def action_message(self) -> None:
        """Type the message; it is selected, so that another one can be typed at once."""
        self._line.type_anew()

    def action_leave_message(self) -> None:
        self.set_focus(self.pane.reader)
        self._line.finish()

    def action_explain(self) -> None:
        """Why the memory under the cursor is in the prompt or not; in the stages the one that replaced it."""
        entry = self.inquiry.entry
        if self.tab == "stages" and entry is not None and entry.superseded_by is not None:
            self.begin(self._explain_newer)
            return
        self._show_tab("stages")

    def action_what_if(self) -> None:
        """What this message would recall with other numbers; what would put the memory in is tried already."""
        advice = self._stages.advice if self.tab == "stages" else None
        if advice is not None:
            self.inquiry.tried = self.inquiry.tried._replace(now=advice.trial)
        self._show_tab("what_if")
        if advice is not None:
            self._what_if.go_to_first()

    def action_prompt(self) -> None:
        self._show_tab("prompt")

    def action_other_pane(self) -> None:
        if self.tab == "prompt":
            self.action_rule()
        else:
            self._what_if.other_pane()

    def action_open(self) -> None:
        """Show the stages of the memory under the cursor."""
        self._show_tab("stages")

    def action_choose(self) -> None:
        self._what_if.choose()

    def action_less(self) -> None:
        self._what_if.step(-1)

    def action_more(self) -> None:
        self._what_if.step(1)

    def action_much_less(self) -> None:
        self._what_if.step(-1, is_big=True)

    def action_much_more(self) -> None:
        self._what_if.step(1, is_big=True)

    def action_reset(self) -> None:
        self._what_if.reset()

    def action_reset_all(self) -> None:
        """Reset every setting."""
        tried = self.inquiry.tried
        self.inquiry.tried = tried._replace(now=tried.before)
        if self.tab == "what_if":
            self._what_if.decide()
            self._paint_facts()
        else:
            self.look()

    def action_filter(self) -> None:
        below = self._list_below
        if below is not None and not self.changes.is_under_way:
            self.action_leave()
            below.call_later(below.run_action, "filter")

    def action_similar(self) -> None:
        below, entry = self._list_below, self.inquiry.entry
        if below is not None and entry is not None and not self.changes.is_under_way:
            self.action_leave()
            below.call_later(below.panes.find_similar, entry)

    def action_rule(self) -> None:
        """The rule of the CLI agent, or that of the channels."""
        if self.inquiry.trial.profile.one_injection_rule:
            inform(self, _ALIKE)
            return
        was_read = self.focused is not None and self.focused is self.pane.reader
        rule = other_rule(self.inquiry.trial.request.rule)
        self.inquiry.drop("injection rule")
        self.inquiry.ask_about(rule=rule)
        self.look()
        if was_read or self.focused is None:
            self.set_focus(None)
            self.set_focus(self.pane.reader)

    def action_scoring(self) -> None:
        start_work(self, "change", self._choose_profile, exclusive=False)

    async def _choose_profile(self) -> None:
        version = await self.app.push_screen_wait(profile_question(self.library.profile.profile.version))
        if version is not None:
            self.library.with_profile(version)
            self.has_changed = True
            self.post_message(BrowserRoom.ProfileChosen(version))
            self.inquiry.drop("scoring profile")
            self.inquiry.ask_about()
            self.look()

    def action_reload(self) -> None:
        self.reload()

    async def action_copy(self) -> None:
        """Copy what the tab shows."""
        text = self.pane.copied
        if text is None:
            warn(self, "Nothing to copy here yet.")
        else:
            inform(self, await copy_text(self.app, text))

    def action_step_out(self) -> None:
        """From the message to the answer, from there out."""
        reader = self.pane.reader
        if self._is_typing:
            if reader is not None:
                self.set_focus(reader)
                return
        elif self.tab == "what_if" and self._what_if.is_in_list:
            self._what_if.other_pane()
            return
        self.action_leave()

    def say(self, *facts: str) -> None:
        """The line over the keys."""
        if self.is_running:
            self.query_one("#status", StatusBar).say(*map(shown_words, facts))

    @property
    def _list_below(self) -> BrowserRoom | None:
        """The list that this room was opened from; None where that was another room."""
        stack = self.app.screen_stack
        # A key may still come to a room that was just left.
        below = stack[stack.index(self) - 1] if self in stack else None
        return below if isinstance(below, BrowserRoom) else None

    @property
    def _is_typing(self) -> bool:
        # The widget itself learns of its focus later than the next key comes.
        return self.focused is self._line.input

    def _show_tab(self, tab: Tab) -> None:
        """Show a tab with the memory of the one before, and ask what it does not know yet."""
        is_in_list = self.tab == "what_if" and self._what_if.is_in_list
        if self.tab == "what_if" and tab != self.tab and (is_in_list or self.inquiry.entry is None):
            self.inquiry.entry = self._what_if.rows.entry or self.inquiry.entry
        is_typing = self._is_typing
        self.tab = tab
        for pane in self.query(Pane):
            pane.display = pane.id == tab
        self.query_one(TabLine).chosen = tab
        self.look()
        if not is_typing:
            self.set_focus(self.pane.reader)
        self.refresh_bindings()

    def _paint_facts(self) -> None:
        """The scoring version for the message, and the modified settings."""
        choice, trial, tried = self.library.profile, self.inquiry.trial, self.inquiry.tried
        is_own = trial.profile == choice.profile
        rule = () if trial.profile.one_injection_rule else (RULES[trial.request.rule],)
        scoring = f"scoring {trial.profile.version} ({choice.source if is_own else 'tried'})"
        self._line.show_facts(scoring, *rule)
        notes: tuple[str, ...] = ("not saved. Press W to save",)
        if self.tab != "what_if":
            count = len(tried.changed)
            settings = "1 modified setting" if count == 1 else f"{count} modified settings"
            notes = (f"modified: {tried.changed_words}", settings, "modified") if count else ()
        self.query_one(TabLine).notes = notes

    def _say_notes(self) -> None:
        self.say(*self.pane.notes)

    def stop(self) -> None:
        """Stop waiting for answers."""
        self._number += 1
        self.workers.cancel_group(self, _ASKING)
        self._is_asking = False

    async def _ask(self, number: int, pane: Pane) -> None:
        self._is_asking = True
        try:
            with saying(self, self.pace.patience, self._say_asking):
                if self.pace.poll is not None:
                    self._version = await self.library.memory.version()
                show = await pane.ask()
        except SearchInterrupted:
            # The store is being closed.
            return
        except InspectorError as error:
            if number == self._number and self.is_running:
                self.say()
                self._fail(error)
        else:
            if number == self._number and self.is_running:
                self._answered(show)
        finally:
            if number == self._number:
                self._is_asking = False

    def _answered(self, show: Callable[[], None]) -> None:
        self._is_asking = self._is_away = False
        self.query_one("#failure", Banner).hide()
        show()
        self._paint_facts()
        self._say_notes()
        if self.focused is None:
            self.set_focus(self.pane.reader)
        self.refresh_bindings()

    def _fail(self, error: InspectorError) -> None:
        self.query_one("#failure", Banner).fail(error)
        if self.pane.answered is None:
            keys = (("r", "try again"), ("/", "another message"), ("esc", "out"))
            self.pane.show_empty((self.pane.failed_fact, "", keys))

    def _say_asking(self) -> None:
        library, memories = self.library, self._what_if.memories
        embedder = library.embedder
        asks_endpoint = embedder is not None and library.why_no_vectors is None
        if asks_endpoint and embedder is not None:
            asks_endpoint = embedder.is_remote or library.waits_for(self.inquiry.request.query)
        if asks_endpoint:
            # If the vector is not cached, the message names the host that is asked.
            self.say(f"Reading the store and getting the query vector from {library.embedding_host} …")
        elif self.tab == "what_if" and memories is not None and memories >= MANY:
            self.say(f"Reading {memories:,} memories …")
        else:
            self.say("Reading the store …")

    def why_dimmed(self, action: str) -> str | None:
        """Why a command cannot be done now, in a sentence; None when it can."""
        if action == "write":
            return self.library.read_only_because if self.library.config.read_only else None
        return why_dimmed(action, self.library, View()) if action in ("re_embed", "edit", "filter") else None

    def _entry_here(self) -> MemoryEntry:
        """The memory that a change is about. Raises NotFound where none is chosen."""
        entry = self.inquiry.entry
        if entry is None:
            raise NotFound("There is no memory under the cursor.", hint="Choose one in the list first.")
        return entry

    async def after_change(self, outcome: Outcome | None) -> None:
        """A change failed: part of it may be done."""
        self.reload()

    @changing
    async def action_write(self, library: Library) -> None:
        from zeroclaw_tui.curation.setting_change import way_back

        effect = self._what_if.effect
        if await write_settings(self.app, library, self.inquiry.trial, self.clock(), effect):
            self.has_changed = True
            inform(self, f"Saved config.toml; {way_back(library.config)}")
            self.reload()

    @changing
    async def action_re_embed(self, library: Library) -> None:
        from zeroclaw_tui.tui.actions import re_embed

        entry, embedder = self._entry_here(), library.embedder
        if embedder is not None and embedder.is_remote:
            self.say(f"Sending the text of this memory to {library.embedding_host} …")
        try:
            is_done, sentence = await re_embed(library, entry)
        finally:
            self.say()
        (inform if is_done else warn)(self, sentence)
        if is_done:
            self.has_changed = True
            self.reload()

    @changing
    async def action_edit(self, library: Library) -> None:
        from zeroclaw_tui.tui.actions import written_words
        from zeroclaw_tui.tui.rooms.editor import EditorScreen

        row = await row_with_id(library.memory, self._entry_here().id)
        if row is None:
            raise NotFound("This memory no longer exists.", hint="Press esc to return to the list.")
        outcome = await self.app.push_screen_wait(EditorScreen(library, row))
        if outcome is not None:
            self.has_changed = True
            inform(self, written_words(outcome))
            self.reload()

    async def _explain_newer(self, library: Library) -> None:
        entry = self.inquiry.entry
        if entry is None:
            return
        newer = await library.superseding_entry(entry)
        if newer is not None:
            self.inquiry.entry = newer
            self.look()
        elif entry.superseded_by:
            warn(self, f"The memory that replaced this one, {quoted(entry.superseded_by)}, no longer exists.")
        else:
            warn(self, "The store does not record which memory replaced this one.")

    async def _press(self, key: str) -> None:
        if self._is_typing:
            self.set_focus(self.pane.reader)
        bound = self.active_bindings.get(key)
        if bound is None:
            return
        because = self.why_dimmed(bound.binding.id or "")
        if because is None:
            await self.run_action(bound.binding.action)
        else:
            warn(self, because)

    def _look_for_changes(self) -> None:
        if not self._is_polling and self.pane.answered is not None:
            self._is_polling = True
            start_work(self, _POLL, self._poll, exclusive=False)

    async def _poll(self) -> None:
        try:
            if self._is_away and not await self.library.memory.health_check():
                return
            version = await self.library.memory.version()
            if self._is_away or (self._version is not None and version != self._version):
                self._version, self._is_away = version, False
                self.reload()
        except SearchInterrupted:
            return
        except InspectorError as error:
            self._is_away = isinstance(error, GOES_BY)
            self._fail(error)
        finally:
            self._is_polling = False
