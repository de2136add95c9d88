"""The text ZeroClaw puts before a message, letter for letter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.events import Click
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.curation import prompt as gathered_prompt
from zeroclaw_tui.curation.prompt import Prompt
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.recall import RecallRequest, Rule
from zeroclaw_tui.scoring.settings import Trial
from zeroclaw_tui.tui.commands import bindings
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.looks import STRONG
from zeroclaw_tui.tui.screens import prompt_words as words
from zeroclaw_tui.tui.screens.message_screen import MessageScreen
from zeroclaw_tui.tui.screens.prompt_keys import PROMPT_COMMANDS
from zeroclaw_tui.tui.widgets.key_line import KeyLine
from zeroclaw_tui.tui.widgets.prompt_pane import PromptPane
from zeroclaw_tui.tui.widgets.status_bar import Banner, StatusBar

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_OTHER: dict[Rule, Rule] = {"cli": "channel", "channel": "cli"}


class PromptScreen(MessageScreen[tuple[Prompt, ...]]):
    """The prompt block by the CLI agent's rule or the channels', both where they differ and there is room.

    Gives True when what the browser shows has to follow.
    """

    CSS_PATH = "prompt.tcss"
    AUTO_FOCUS = ""
    COMMANDS_HERE = PROMPT_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = bindings(PROMPT_COMMANDS)

    def __init__(self, library: Library, request: RecallRequest, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__(library, request, clock, pace)
        self.prompts: dict[Rule, Prompt] = {}

    def compose(self) -> ComposeResult:
        """Title, message, what went wrong, a pane for each rule, what is under way, keys."""
        yield Static("", id="title", markup=False)
        yield self.message_line()
        yield Banner(id="failure")
        with Container(id="panes"):
            yield PromptPane(id="cli")
            yield PromptPane(id="channel")
        yield StatusBar(id="status")
        yield KeyLine(show_command_palette=False)

    def panes(self) -> Sequence[tuple[str, Widget]]:
        """Both panes scroll alike."""
        return (("In the text", self._pane(self.request.rule).scrolls),)

    @property
    def answer_pane(self) -> Widget | None:
        """The text by the rule chosen; None where it is empty."""
        pane = self._pane(self.request.rule)
        return None if pane.has_class("-empty") else pane.scrolls

    def on_resize(self) -> None:
        """As much of the message as fits, and both rules where there is room."""
        self._paint()

    def on_click(self, event: Click) -> None:
        """Choose the rule that was clicked."""
        for rule in _OTHER:
            if self._pane(rule).region.contains(event.screen_x, event.screen_y) and rule != self.request.rule:
                self.action_toggle_rule()
                return

    def reload(self) -> None:
        """Ask again; what was shown stays until the new answer is there."""
        if self.has_message and not self.prompts:
            self._show_empty(words.waiting_words())
        super().reload()

    def on_mount(self) -> None:
        """Ask, then read, or wait for a message to be typed."""
        super().on_mount()
        self._paint()

    async def answer_to(self, trial: Trial) -> tuple[Prompt, ...]:
        """The block by the rule chosen, and by the other where that is another. Raises InspectorError kinds."""
        first = await gathered_prompt.prompt_for(self.library, trial)
        if not first.differs_by_rule:
            return (first,)
        other = replace(trial, request=replace(trial.request, rule=_OTHER[trial.request.rule]))
        return (first, await gathered_prompt.prompt_for(self.library, other))

    def show_answer(self, answer: tuple[Prompt, ...]) -> None:
        """Show the text from its beginning."""
        self.prompts = {prompt.rule: prompt for prompt in answer}
        for rule, prompt in self.prompts.items():
            if prompt.text:
                self._pane(rule).show_text(prompt.text)
            else:
                self._pane(rule).show_empty(*words.empty_words(prompt))
        self.say(*answer[0].result.notes)
        self._paint()
        if self.focused is None:
            self._read()

    def show_wanting(self) -> None:
        """Say what is wanted."""
        self.prompts = {}
        self._show_empty(words.wanting_words())
        self._paint()

    def action_toggle_rule(self) -> None:
        """The rule of the CLI agent, or that of the channels; both are there already."""
        other = _OTHER[self.request.rule]
        if other not in self.prompts:
            super().action_toggle_rule()
            return
        was_read = self._pane(self.request.rule).scrolls.has_focus
        self.request = replace(self.request, rule=other)
        self._paint()
        if was_read or self.focused is None:
            self.set_focus(None)
            self._read()

    async def action_copy_prompt(self) -> None:
        """Copy the text as it is, control characters and all."""
        prompt = self.prompts.get(self.request.rule)
        if prompt is None or not prompt.text:
            self.warn("There is no text to copy: nothing is put before this message.")
        else:
            self.tell(await copy_text(self.app, prompt.text))

    def _pane(self, rule: Rule) -> PromptPane:
        return self.query_one(f"#{rule}", PromptPane)

    def _fail(self, error: InspectorError) -> None:
        super()._fail(error)
        if not self.prompts:
            self._show_empty(words.failed_words())

    def _show_empty(self, said: words.EmptyWords) -> None:
        pane = self._pane(self.request.rule)
        pane.show_empty(*said)
        pane.show_facts((), is_chosen=None)

    def _paint(self) -> None:
        """Title and facts, and the panes that are to be seen."""
        chosen, profile = self.request.rule, self.library.profile.profile
        prompt = self.prompts.get(chosen)
        title = words.title_words(prompt, self.request.query, self.size.width - 2)
        self.query_one("#title", Static).update(Content.styled(title, STRONG))
        texts = {shown.text for shown in self.prompts.values()}
        has_both = len(texts) > 1 and self.has_class("-wide")
        for rule, other in _OTHER.items():
            pane, shown = self._pane(rule), self.prompts.get(rule)
            pane.display = rule == chosen or has_both
            if shown is None:
                continue
            if has_both:
                pane.show_facts(words.column_parts(shown), is_chosen=rule == chosen)
            else:
                pane.show_facts(words.fact_parts(shown, profile, self.prompts.get(other)), is_chosen=None)
        self.paint_facts()
