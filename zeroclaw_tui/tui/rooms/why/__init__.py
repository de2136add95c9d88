"""The Why room: explains the recall for one message, with the same settings in three tabs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.backends.lookup import whole_entry
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall import Prompt, explain, prompt_for, turn_limit, with_as_of
from zeroclaw_tui.curation.trial_settings import SETTINGS, TrialSetting, TriedSettings, complaints_of
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import NotFound
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.text import shell_word
from zeroclaw_tui.scoring.explanation import Explanation
from zeroclaw_tui.scoring.what_if import Comparison
from zeroclaw_tui.tui.commands import Command, changing, common_commands, inform, say_after, warn
from zeroclaw_tui.tui.dialogs import Answer, Field, Form, choice, choose_profile, review_question
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import safe_text
from zeroclaw_tui.tui.rooms.browser import why_dimmed
from zeroclaw_tui.tui.rooms.listing import Loaded
from zeroclaw_tui.tui.rooms.why.answers import (
    LOOKS_OF_STAGES,
    Tab,
    TriedEvidence,
    compared_columns,
    compared_rows,
    setting_value,
    tab_heading,
    why_nothing,
)
from zeroclaw_tui.tui.store_room import StoreRoom
from zeroclaw_tui.tui.themes import MUTED, WARNING
from zeroclaw_tui.tui.view import Pace
from zeroclaw_tui.tui.widgets.detail import ReadingPane, plain_content
from zeroclaw_tui.tui.widgets.lines import (
    DOT,
    Banner,
    Empty,
    GrowingText,
    PromptLine,
    StatusBar,
    TabLine,
    TabName,
    TitleLine,
)
from zeroclaw_tui.tui.widgets.memory_list import RankedRow, threshold_text
from zeroclaw_tui.tui.widgets.table_list import Column, TableList, wrap

WHY_COMMANDS = (
    # With priority they run before the next key is handled, so that fast typing reaches the right widget.
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
    Command("focus_next", "tab,shift+tab", "next pane", "Go to the next pane", listed=False, target="app"),
    *common_commands(out="One step out; modified settings are not saved"),
)  # fmt: skip
"""The commands of every tab; a command that opens a tab has the id of the tab."""
TAB_COMMANDS: Mapping[Tab, Sequence[Command]] = {
    "explain": (
        Command("re_embed", "R", "re-embed", "Re-embed this memory", writes=True, synonyms="vector embedding reindex",
                shell="reindex"),
        Command("edit", "e", "edit", "Edit this memory", True, writes=True, synonyms="change fix correct",
                shell="edit {key}"),
    ),
    "what_if": (
        Command("less", "left,minus", "less", "The chosen setting a step down", True),
        Command("more", "right,plus,equals_sign", "more", "The chosen setting a step up", True),
        Command("reset", "backspace", "reset", "Reset the chosen setting"),
        Command("choose", "enter", "choose", "Choose a value or type a number; in the list: its stages", True),
        Command("other_pane", "tab,shift+tab", "pane", "From the settings to the list, and back"),
    ),
    "prompt": (
        Command("copy", "y", "copy", "Copy the prompt as it is", True, synonyms="clipboard", shell="prompt {query}"),
    ),
}  # fmt: skip
_OF_TABS = {command.id: tab for tab, commands in TAB_COMMANDS.items() for command in commands}
_NAMES = [TabName(command.id, command.key, command.name) for command in WHY_COMMANDS if command.id in TAB_COMMANDS]


class WhyRoom(Loaded, StoreRoom):
    """Stages, what-if and prompt for one message and one memory; opens on `tab`.

    The settings modified in what-if also apply in stages and prompt. The result is True if something was changed.
    `as_of` describes the time of `clock` if that is not now.
    """

    CSS_PATH = "why.tcss"
    PLACE = "why"
    AUTO_FOCUS = ""
    KEYS = (*(command for commands in TAB_COMMANDS.values() for command in commands), *WHY_COMMANDS)
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
        self.chosen: Tab = tab
        """The tab that is shown."""
        self.entry = entry
        """The memory to explain; None until one is chosen."""
        self.request = replace(request, as_of=clock().isoformat())
        base = with_as_of(library.trial(self.request))
        self.tried = TriedSettings(base, base, turn_limit(library.config, base.profile, "library", request.agents))
        """The recall with the current and with the modified settings."""
        self._store_state = 0
        """Incremented whenever the store may have changed."""
        self._answers: dict[Tab, tuple[Any, Any]] = {}
        """The last question and answer of each tab."""
        self._evidence = TriedEvidence(library)
        self._as_of = as_of
        self._line = PromptLine(pace.debounce, request.query, "what would you say to the agent?", id="message")
        self._tab_line = TabLine(_NAMES)
        self.settings: TableList[TrialSetting] = TableList(
            (
                Column[TrialSetting]("setting", lambda setting: setting.name, width=15, look="muted"),
                Column[TrialSetting]("value", lambda setting: setting_value(setting, self.tried), flex=True),
            ),
            SETTINGS,
            id="settings",
        )
        self.rows = TableList[RankedRow](
            lambda width: compared_columns(width, self._comparison),
            heading=lambda row: threshold_text(row, self.rows.size.width - 3),
            is_left_out=lambda row: row.is_dim,
            id="comparison",
        )

    def compose(self) -> ComposeResult:
        yield self._line
        yield self._tab_line
        yield Banner()
        yield TitleLine(id="title")
        yield TitleLine(id="facts")
        with Container(id="body"):
            with Vertical(id="trial"):
                yield self.settings
                yield GrowingText(id="about")
                yield GrowingText(id="complaints")
            with Container(id="answer"):
                with ReadingPane():
                    yield GrowingText(id="text")
                yield self.rows
                yield Empty()
        yield StatusBar()

    def on_mount(self) -> None:
        """Focus the message line unless there is a message; the key of a memory does not count as one."""
        query = self.request.query.strip().casefold()
        self._go_to_first_setting()
        self.show_tab(self.chosen)
        if not query or (self.entry is not None and self.entry.key.casefold() == query):
            self.action_message()

    # Commands

    @property
    def commands(self) -> Sequence[Command]:
        """The commands of the current tab, then those of every tab."""
        return (*TAB_COMMANDS[self.chosen], *WHY_COMMANDS)

    def shell_facts(self) -> dict[str, str]:
        """The store, the message and the memory, for shell commands."""
        facts = super().shell_facts()
        if self.request.query.strip():
            facts["query"] = shell_word(self.request.query)
        if self.entry is not None:
            facts["key"] = shell_word(self.entry.key)
        return facts

    def why_dimmed(self, action: str) -> str | None:
        """Say why a command is not available now; None if it is."""
        if action == "write":
            # config.toml may be writable although the store is read-only.
            return self.library.read_only_because if self.library.config.read_only else None
        return why_dimmed(action, self.library) if action in _OF_TABS else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A slash typed into the message is a letter; only modified settings can be reset or written."""
        if action == "message":
            return not self._is_typing
        if action in ("write", "reset_all") and self.chosen != "what_if" and not self.tried.changed:
            return False
        if action in _OF_TABS and (self._is_typing or _OF_TABS[action] != self.chosen):
            return False
        return super().check_action(action, parameters)

    # Questions and answers

    @property
    def _question(self) -> tuple[int, Handle | None, TriedSettings]:
        """The input of the current tab's answer; only the stages depend on the memory."""
        handle = self.entry.handle if self.chosen == "explain" and self.entry is not None else None
        return self._store_state, handle, self.tried

    @property
    def _is_answered(self) -> bool:
        """Whether the last answer belongs to the current question."""
        return self._answers.get(self.chosen, (None,))[0] == self._question

    @property
    def _answer(self) -> Any:
        """The last answer of the tab for the memory: an Explanation, a Comparison or a Prompt; None without one."""
        question, answer = self._answers.get(self.chosen, (None, None))
        return answer if question is not None and question[1] == self._question[1] else None

    @property
    def _comparison(self) -> Comparison | None:
        _, answer = self._answers.get("what_if", (None, None))
        return answer if isinstance(answer, Comparison) else None

    @property
    def _missing(self) -> str:
        """The missing input: "entry", "message" or ""."""
        if self.chosen == "explain" and self.entry is None:
            return "entry"
        return "" if self.request.query.strip() else "message"

    def ask_about(self, **changes: Any) -> None:
        """Change the request, with the current scoring and time; the modified settings stay."""
        self.request = replace(self.request, as_of=self.clock().isoformat(), **changes)
        self.tried = self.tried.applied_to(with_as_of(self.library.trial(self.request)))
        self.open()

    def open(self) -> None:
        """Show the last answer, and load a new one if it is outdated."""
        self.stop_loading()
        self.show_loaded()
        if not self._missing and not self._is_answered:
            self.reload()
        else:
            self.query_one(Banner).hide()

    async def load_now(self) -> None:
        status = self.query_one(StatusBar)
        with say_after(self, self.pace.patience, lambda: status.say("Reading the store …")):
            await super().load_now()

    async def load(self) -> None:
        """Compute the answer of the tab."""
        tab, question, tried = self.chosen, self._question, self.tried
        answer: Explanation | Comparison | Prompt
        if tab == "explain":
            entry = await whole_entry(self.library.memory, self._entry_here().handle)
            answer = await explain(self.library, entry, tried.now)
            self.entry = entry
        elif tab == "prompt":
            answer = await prompt_for(self.library, tried.now)
            self.query_one(ReadingPane).scroll_home(animate=False)
        else:
            answer = await self._evidence.compare(self._store_state, tried)
        self._answers[tab] = question, answer
        if isinstance(answer, Comparison):
            rows, wanted = compared_rows(answer), None if self.entry is None else self.entry.id
            cursor = next((index for index, row in enumerate(rows) if row.result.entry.id == wanted), 0)
            self.rows.set_rows(rows, cursor=cursor)

    # Display

    def status(self) -> Sequence[str]:
        """The time, if it is not now, and remarks on the answer."""
        answer, notes = self._answer, list[str]()
        if isinstance(answer, Prompt):
            notes = list(answer.result.notes)
        elif isinstance(answer, Comparison):
            # The complaints already say that there are no vectors.
            notes = [note for note in answer.after.notes if note != self.library.why_no_vectors]
        return (self._as_of, *notes)

    def show_loaded(self) -> None:
        """Show the answer; without one, what is missing, being read or failed."""
        if self._missing:
            self._answers.pop(self.chosen, None)
        answer, tried = self._answer, self.tried
        title, facts = tab_heading(self.chosen, answer, self.entry, tried)
        is_what_if = self.chosen == "what_if"
        self.query_one("#title", TitleLine).say(title, *(facts if is_what_if else ()))
        self.query_one("#facts", TitleLine).update(Content.styled(DOT.join(facts), MUTED))
        failed = "failed" if self.query_one(Banner).has_class("-failed") else "waiting"
        empty = why_nothing(self._missing or ("" if answer is not None else failed), answer)
        self.set_class(empty is not None, "-empty")
        if empty is not None:
            self.query_one(Empty).show(*empty)
        if self.focused is None or (empty is not None and self.focused in self.query("#answer *")):
            # A focused widget that is hidden would pass the focus to the message for good.
            self.set_focus(self.reader)
        if isinstance(answer, Prompt):
            self.query_one("#text", Static).update(plain_content(answer.text))
        # The width of the text is known only after the layout.
        self.call_after_refresh(self._show_stages)
        self.settings.redraw()
        self._show_setting()
        complaints = () if self._missing or not is_what_if else complaints_of(self.library, tried.now)
        about = self.query_one("#complaints", Static)
        about.update(Content.styled("\n".join(f"▲ {safe_text(complaint)}" for complaint in complaints), WARNING))
        about.display = bool(complaints)
        super().show_loaded()
        version, choice = tried.now.profile.version, self.library.profile
        source = choice.source if tried.now.profile == choice.profile else "tried"
        self._line.show_facts(f"scoring {version} ({source})")
        modified = "not saved. Press W to save" if is_what_if else f"modified: {tried.changes_text}"
        self._tab_line.note = modified if tried.changed else ""

    def on_resize(self) -> None:
        self._show_stages()

    def _show_stages(self) -> None:
        """Show every stage, wrapped to the current width."""
        plain, explanation = self.query_one("#text", Static), self._answer
        if isinstance(explanation, Explanation) and plain.size.width:
            lines = explanation.lines(wrap, plain.size.width)
            contents = [Content.assemble(*((text, LOOKS_OF_STAGES[look]) for text, look in line)) for line in lines]
            plain.update(Content("\n").join(contents))

    def _show_setting(self) -> None:
        self.query_one("#about", Static).update(Content.styled(self.setting.about, MUTED))

    @property
    def reader(self) -> Widget | None:
        """The widget to focus: the settings, which also work without an answer, or the text, if there is one."""
        if self.chosen == "what_if":
            return self.settings
        return None if self.has_class("-empty") else self.query_one(ReadingPane)

    # Tabs and message

    def show_tab(self, tab: Tab) -> None:
        """Show another tab for the same memory, and load its answer if needed."""
        if self.chosen == "what_if" != tab and (self._is_in_list or self.entry is None):
            self.entry = self._listed or self.entry
        self.chosen = self._tab_line.chosen = tab
        for name in TAB_COMMANDS:
            self.set_class(name == tab, f"-{name}")
        self.query_one(ReadingPane).scroll_home(animate=False)
        self.open()
        if not self._is_typing:
            self.set_focus(self.reader)
        self.refresh_bindings()

    def on_prompt_line_entered(self, event: PromptLine.Entered) -> None:
        if event.text != self.request.query:
            self.ask_about(query=event.text)

    def action_message(self) -> None:
        """Focus the message, selected, so that typing replaces it."""
        self._line.focus_to_replace()

    def action_leave_line(self) -> None:
        self.set_focus(self.reader)
        self._line.enter()

    def step_out(self) -> bool:
        """Go from the message to the answer, or from the list to the settings."""
        if self._is_typing and not self.has_class("-empty"):
            self.set_focus(self.reader)
        elif self._is_in_list:
            self.action_other_pane()
        else:
            return False
        return True

    @property
    def _is_typing(self) -> bool:
        # A widget's has_focus is updated only after the next key.
        return self.focused is self._line.input

    def action_explain(self) -> None:
        """Explain the memory under the cursor; in the stages tab, explain the memory that superseded it."""
        if self.chosen == "explain" and self.entry is not None and self.entry.superseded_by is not None:
            self.begin(self._explain_newer)
        else:
            self.show_tab("explain")

    async def _explain_newer(self, library: Library) -> None:
        newer = await library.superseding_entry(self._entry_here())
        if newer is not None:
            self.entry = newer
            self.open()
        else:
            warn(self, "The memory that replaced this one is not in the store.")

    def action_what_if(self) -> None:
        """Show what-if, starting with the settings of the advice, if there is one."""
        advice = self._answer.advice if self.chosen == "explain" and self._is_answered else None
        if advice is not None and advice.key == "w":
            self.tried = self.tried._replace(now=advice.trial)
            self._go_to_first_setting()
        self.show_tab("what_if")

    def action_prompt(self) -> None:
        self.show_tab("prompt")

    # Changes

    def action_reload(self) -> None:
        self._store_state += 1
        self.ask_about()

    async def after_change(self) -> None:
        await super().after_change()
        self.action_reload()

    @changing
    async def action_scoring(self, library: Library) -> None:
        if await choose_profile(self.app, library):
            self.has_changed = True
            # The version is now the chosen one, no longer a trial.
            self.tried = self.tried._replace(now=self.tried.now._replace(profile=self.tried.before.profile))
            self.ask_about()

    @changing
    async def action_write(self, library: Library) -> None:
        """Show the change of config.toml, and save it after confirmation; scoring uses it from then on."""
        from zeroclaw_tui.curation.trial_settings import plan_settings_change, restore_hint, save_settings_change

        change = await asyncio.to_thread(plan_settings_change, library, self.tried.now)
        effect = self._comparison.words if self._comparison is not None and self.tried.changed else ""
        words = f"For this message, with the modified settings: {effect}." if effect else ""
        if await self.app.push_screen_wait(review_question(change, words)):
            await save_settings_change(library, change, self.clock())
            inform(self, f"Saved config.toml; {restore_hint(library.config)}")
            await self.after_change()

    @changing
    async def action_re_embed(self, library: Library) -> None:
        await self.re_embed(library, self._entry_here())

    @changing
    async def action_edit(self, library: Library) -> None:
        if await self.edit(library, self._entry_here().id) is not None:
            await self.after_change()

    def _entry_here(self) -> MemoryEntry:
        """The memory to explain. Raises NotFound if none is chosen."""
        if self.entry is None:
            raise NotFound("There is no memory under the cursor.", hint="Choose one in the list first.")
        return self.entry

    async def action_copy(self) -> None:
        """Copy the prompt unchanged, including control characters."""
        if self._answer is None or not self._answer.text:
            warn(self, "Nothing to copy here yet.")
        else:
            inform(self, await copy_text(self.app, self._answer.text))

    # What-if: the settings, and the list of memories next to them

    @property
    def setting(self) -> TrialSetting:
        """The setting under the cursor."""
        return SETTINGS[self.settings.cursor]

    @property
    def _is_in_list(self) -> bool:
        """Whether the list has the focus; its own has_focus is updated only after the next key."""
        return self.focused is self.rows

    @property
    def _listed(self) -> MemoryEntry | None:
        row = self.rows.selected
        return None if row is None else row.result.entry

    def _go_to_first_setting(self) -> None:
        """Put the cursor on the first modified setting, else on the first one."""
        self.settings.cursor = SETTINGS.index((*self.tried.changed, *SETTINGS)[0])

    def action_other_pane(self) -> None:
        """Move the focus between the settings and the list."""
        self.set_focus(self.settings if self._is_in_list or self.has_class("-empty") else self.rows)

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        if event.table is self.settings:
            self._show_setting()
        elif self._is_in_list:
            self.entry = self._listed

    def on_table_list_row_opened(self) -> None:
        self.action_choose()

    def action_choose(self) -> None:
        """Show the stages of the memory under the cursor; for a setting, ask for a number or a choice."""
        setting, tried = self.setting, self.tried
        if self._is_in_list:
            self.show_tab("explain")
        elif setting.range is not None:

            def below(typed: Mapping[str, str]) -> Content:
                setting.parse(typed["number"])
                return Content(setting.about)

            field = Field("number", setting.name, str(setting.get(tried.now)))
            form = Form(f"The {setting.name}: {setting.valid_range}", None, [field], below)
            self.app.push_screen(form, lambda typed: self._try(setting.parse(typed["number"])) if typed else None)
        else:
            values = list(setting.choices(tried, self._evidence.sessions))
            answers = [Answer("", setting.words(value), at) for at, value in enumerate(values)]
            question = choice(f"Which {setting.name}?", answers, values.index(setting.get(tried.now)))
            # By index, because None (no session) is a value too.
            self.app.push_screen(question, lambda at: None if at is None else self._try(values[at]))

    def action_less(self) -> None:
        self._apply(self.setting.stepped(self.tried, -1, self._evidence.sessions))

    def action_more(self) -> None:
        self._apply(self.setting.stepped(self.tried, 1, self._evidence.sessions))

    def action_reset(self) -> None:
        """Reset the chosen setting."""
        self._try(self.setting.get(self.tried.before))

    def action_reset_all(self) -> None:
        """Reset every setting."""
        self._apply(self.tried._replace(now=self.tried.before))

    def _try(self, value: Any) -> None:
        self._apply(self.setting.with_value(self.tried, value))

    def _apply(self, tried: TriedSettings) -> None:
        """Apply these settings."""
        self.tried = tried
        self.open()
