"""Why one memory is, or is not, in the prompt for a message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Key
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.curation import prompt
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.explanation import Explanation
from zeroclaw_tui.scoring.settings import Trial
from zeroclaw_tui.tui.commands import Command, bindings, say_why_not
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.rooms.browser import why_dimmed
from zeroclaw_tui.tui.screens import explain_words as words
from zeroclaw_tui.tui.screens.doctor_words import endpoint_host
from zeroclaw_tui.tui.screens.explain_keys import EXPLAIN_COMMANDS
from zeroclaw_tui.tui.screens.message_screen import MessageScreen
from zeroclaw_tui.tui.screens.re_embedding import re_embed
from zeroclaw_tui.tui.view import View
from zeroclaw_tui.tui.widgets.diff_content import ReadingPane as StepPane
from zeroclaw_tui.tui.widgets.empty import Empty, KeyHint
from zeroclaw_tui.tui.widgets.explanation_block import ExplanationBlock
from zeroclaw_tui.tui.widgets.key_line import KeyLine
from zeroclaw_tui.tui.widgets.status_bar import Banner, StatusBar

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.entry import MemoryEntry

_BY_THE_LIST = frozenset({"edit", "choose_filters"})


class ExplainScreen(MessageScreen[Explanation]):
    """The way of a memory to the prompt, stage by stage. Gives True when what the browser shows has to follow."""

    CSS_PATH = "explain.tcss"
    AUTO_FOCUS = "#answer"
    COMMANDS_HERE = EXPLAIN_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = bindings(EXPLAIN_COMMANDS)

    def __init__(
        self,
        library: Library,
        entry: MemoryEntry,
        request: RecallRequest,
        clock: Callable[[], datetime],
        pace: Pace,
        *,
        is_from_list: bool = True,
    ) -> None:
        super().__init__(library, request, clock, pace)
        self.entry = entry
        self.explanation: Explanation | None = None
        self.leaves_for: str | None = None
        """The action that the list is to do once this screen is left."""
        self._is_from_list = is_from_list

    def compose(self) -> ComposeResult:
        """Title, memory, message, what went wrong, the stages, what is under way, keys."""
        yield Static("", id="title", markup=False)
        yield Static("", id="memory", markup=False)
        yield self.message_line()
        yield Banner(id="failure")
        yield Empty(id="empty")
        with StepPane(id="answer"):
            yield ExplanationBlock(id="way")
        yield StatusBar(id="status")
        yield KeyLine(show_command_palette=False)

    def panes(self) -> Sequence[tuple[str, Widget]]:
        """The one pane."""
        return (("In the explanation", self.query_one(StepPane)),)

    @property
    def read_only_because(self) -> str | None:
        """Why this memory cannot be changed, in a sentence; None when it can."""
        return self.library.cannot_write_because

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what was replaced has a newer one; what the list does can be done where one came from there."""
        if action == "explain_newer":
            return self.entry.superseded_by is not None
        if action in _BY_THE_LIST and not self._is_from_list:
            return False
        return None if self._why_dimmed(action) is not None else super().check_action(action, parameters)

    def why_not(self, command: Command) -> str | None:
        """Why a command is dimmed, in a sentence; None when it works."""
        return self._why_dimmed(command.action)

    def on_key(self, event: Key) -> None:
        """A dimmed key says why it is dimmed."""
        say_why_not(self, event, self._why_dimmed)

    @property
    def answer_pane(self) -> Widget | None:
        """The stages, once they are there."""
        return None if self.has_class("-empty") else self.query_one(StepPane)

    def on_resize(self) -> None:
        """As much of key and message as fits."""
        self._paint_title()

    def on_explanation_block_help_wanted(self, event: ExplanationBlock.HelpWanted) -> None:
        """Do what the key does."""
        self.run_worker(self._press(event.key), group="explain-click")

    def reload(self) -> None:
        """Explain again; what was said stays until the new answer is there."""
        if self.has_message and self.explanation is None:
            self._show_empty(*words.waiting_words())
        super().reload()
        self._paint_title()

    async def answer_to(self, trial: Trial) -> Explanation:
        """The way of the memory as it is now. Raises InspectorError kinds."""
        self.entry = await self.library.memory.whole(self.entry.handle)
        return await prompt.explain(self.library, self.entry, trial)

    def show_answer(self, answer: Explanation) -> None:
        """Show its stages from the first."""
        self.explanation = answer
        self.remove_class("-empty")
        self.query_one(ExplanationBlock).show(answer)
        self.query_one(StepPane).scroll_home(animate=False)
        self._paint_title()
        if self.focused is None:
            self.query_one(StepPane).focus()

    def show_wanting(self) -> None:
        """Say what is wanted."""
        self.explanation = None
        self._show_empty(*words.wanting_words(self.entry))
        self._paint_title()

    def action_what_if(self) -> None:
        """What this message would recall with other numbers; what would put the memory in is set already."""
        from zeroclaw_tui.tui.screens.what_if import WhatIfScreen

        advice = self.explanation.advice if self.explanation is not None else None
        tried = advice.trial if advice is not None and advice.key == "w" else None
        screen = WhatIfScreen(self.library, self.request, self.clock, self.pace, tried=tried)
        self.app.push_screen(screen, self.follow)

    def action_show_prompt(self) -> None:
        """The text before this message."""
        from zeroclaw_tui.tui.screens.prompt import PromptScreen

        self.app.push_screen(PromptScreen(self.library, self.request, self.clock, self.pace), self.follow)

    def action_re_embed(self) -> None:
        """Make the vector of this memory anew, and explain again."""
        self.begin(self._re_embed(), "explain-write")

    def action_edit(self) -> None:
        """Leave, and edit this memory."""
        self._leave_for("edit")

    def action_choose_filters(self) -> None:
        """Leave, and narrow the recall otherwise."""
        self._leave_for("choose_filters")

    def action_explain_newer(self) -> None:
        """The same for the memory that replaced this one."""
        self.begin(self._explain_newer(), "explain-newer")

    async def action_copy_explanation(self) -> None:
        """Copy everything that is said."""
        if self.explanation is not None:
            self.tell(await copy_text(self.app, words.explanation_text(self.explanation)))
        else:
            self.warn("There is no explanation to copy yet.")

    async def _re_embed(self) -> None:
        embedder = self.library.embedder
        if embedder is not None and embedder.is_remote:
            self.say(f"The text of this memory goes to {endpoint_host(self.library.config.embedding)} …")
        try:
            done = await re_embed(self.library, self.entry)
        finally:
            self.say()
        if done.is_done:
            self.has_changed = True
            self.tell(done.words)
            self.reload()
        else:
            self.warn(done.words)

    async def _explain_newer(self) -> None:
        newer = await self.library.memory.with_id(self.entry.superseded_by or "")
        if newer is None:
            self.warn("The newer memory is no longer there.")
            return
        screen = ExplainScreen(self.library, newer, self.request, self.clock, self.pace, is_from_list=False)
        self.app.push_screen(screen, self.follow)

    def _leave_for(self, action: str) -> None:
        self.leaves_for = action
        self.action_leave()

    def _why_dimmed(self, action: str) -> str | None:
        return why_dimmed(action, self.library, View()) if action in ("re_embed", "edit") else None

    async def _press(self, key: str) -> None:
        bound = self.active_bindings.get(key)
        if bound is None:
            return
        because = self._why_dimmed(bound.binding.action)
        if because is None:
            await self.run_action(bound.binding.action)
        else:
            self.warn(because)

    def _fail(self, error: InspectorError) -> None:
        super()._fail(error)
        if self.explanation is None:
            self._show_empty(*words.failed_words())

    def _show_empty(self, fact: str, sentence: str, keys: Sequence[KeyHint]) -> None:
        if self.query_one(StepPane).has_focus:
            # Hidden with the focus on it, the pane would hand that on to the line, and never get it back.
            self.set_focus(None)
        self.add_class("-empty")
        self.query_one(ExplanationBlock).show(None)
        self.query_one(Empty).show(fact, sentence, keys)

    def _paint_title(self) -> None:
        width = self.size.width - 2
        title = words.title_words(self.entry, self.explanation, self.request.query, width)
        self.query_one("#title", Static).update(words.title_content(title))
        self.query_one("#memory", Static).update(words.memory_content(self.entry, width))
