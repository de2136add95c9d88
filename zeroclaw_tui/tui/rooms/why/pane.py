"""The tabs of Why: what all have in common, the stages of a memory, and the text put before a message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar, Literal

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget

from zeroclaw_tui.backends.lookup import row_with_id, whole_entry
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall import Prompt, explain, prompt_for, turn_limit, with_as_of
from zeroclaw_tui.curation.trial_settings import RULES, Tried
from zeroclaw_tui.memory.days import absolute_time
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import NotFound
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.text import are, counted
from zeroclaw_tui.scoring.explanation import Advice, Explanation, Look
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.tui.actions import re_embed, written_words
from zeroclaw_tui.tui.commands import Command, changing, inform, saying, warn
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import shown_line, wrapped
from zeroclaw_tui.tui.rooms.browser import why_dimmed
from zeroclaw_tui.tui.rooms.listing import RoomTab
from zeroclaw_tui.tui.themes import LOOKS, MUTED, STRONG, STRONG_ACCENT
from zeroclaw_tui.tui.view import View
from zeroclaw_tui.tui.widgets.detail import PlainContent, ReadingPane
from zeroclaw_tui.tui.widgets.header import Empty, KeyHint
from zeroclaw_tui.tui.widgets.lines import DOT, Banner, StatusBar, TabName, TitleLine

Tab = Literal["stages", "what_if", "prompt"]
EmptyWords = tuple[str, str, Sequence[KeyHint]]
"""A fact, a sentence, and the keys that help."""
_WAITING: EmptyWords = ("Reading the store …", "", ())
_FAILED: EmptyWords = (
    "The store did not answer.", "", (("r", "try again"), ("/", "another message"), ("esc", "out")),
)  # fmt: skip
_NO_MESSAGE: EmptyWords = (
    "For which message?",
    "Type a message to see why this memory is or is not in the prompt.",
    (("/", "type the message"), ("esc", "out")),
)
_NO_ENTRY: EmptyWords = (
    "Which memory?",
    "Choose one in a list of memories to see every stage on its way to the prompt.",
    (("w", "what is recalled for the message"), ("esc", "out")),
)
_MAX_PART = 400
_LOOKS: dict[Look, str] = {
    "": LOOKS["text"], "bold": STRONG, "good": LOOKS["good"], "bad": f"bold {LOOKS['bad']}", "quiet": MUTED,
    "key": STRONG_ACCENT,
}  # fmt: skip
"""How the parts of an explanation look."""


@dataclass(slots=True)
class Inquiry:
    """One message, one memory, one scoring, and the modified settings: the same in every tab.

    `entry` is None until a memory is chosen. `number` counts up whenever the store may have another answer.
    """

    library: Library
    entry: MemoryEntry | None
    request: RecallRequest
    clock: Callable[[], datetime]
    tried: Tried = field(init=False)
    number: int = 0

    def __post_init__(self) -> None:
        self.request = replace(self.request, as_of=self.clock().isoformat())
        before = with_as_of(self.library.trial(self.request))
        limit = turn_limit(self.library.config, before.profile, "library", self.request.agents)
        self.tried = Tried(before, before, limit)

    @property
    def trial(self) -> Trial:
        """The recall with the modified settings."""
        return self.tried.now

    @property
    def question(self) -> tuple[int, Handle | None, Tried]:
        """What every answer depends on."""
        return self.number, None if self.entry is None else self.entry.handle, self.tried

    def ask_about(self, **changes: Any) -> None:
        """Another request, with scoring and moment as they are now; the modified settings stay."""
        self.request = replace(self.request, as_of=self.clock().isoformat(), **changes)
        self.tried = self.tried.over(with_as_of(self.library.trial(self.request)))

    def reload(self) -> None:
        """The same of a store that may have changed."""
        self.number += 1
        self.ask_about()


class Pane(RoomTab, Container):
    """A tab of Why: the answer to a question about the message, which is asked again where the question is another.

    It has a title, a line of facts, and a text to read.
    """

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(id=self.NAME.id)
        self.inquiry = inquiry
        self.answered: tuple[int, Handle | None, Tried] | None = None
        """The question that the answer on the screen is to; None without one."""
        self.notes: tuple[str, ...] = ()
        """Remarks on the answer."""

    def compose(self) -> ComposeResult:
        yield Banner()
        yield TitleLine(id="title")
        yield TitleLine(id="facts")
        with ReadingPane():
            yield PlainContent()
        yield Empty()
        yield StatusBar()

    @property
    def missing(self) -> EmptyWords | None:
        """What has to be chosen or typed before anything can be asked; None when nothing has."""
        return None if self.inquiry.request.query.strip() else _NO_MESSAGE

    @property
    def is_answered(self) -> bool:
        """Whether what is shown answers what would be asked now."""
        return self.answered == self.inquiry.question

    @property
    def reader(self) -> Widget:
        """What takes the focus: the answer, or the tab itself while there is nothing to read."""
        return self if self.has_class("-empty") else self.query_one(ReadingPane)

    def status(self) -> Sequence[str]:
        """Remarks on the answer."""
        return self.notes

    def open(self) -> None:
        """Show what is known, and ask what is not; an answer to an older question is dropped."""
        self.stop_loading()
        self.show_loaded()
        if self.missing is None and not self.is_answered:
            self.reload()
        else:
            self.query_one(Banner).hide()

    async def load_now(self) -> None:
        status = self.query_one(StatusBar)
        with saying(self, self.room.pace.patience, lambda: status.say("Reading the store …")):
            await super().load_now()

    def show_loaded(self) -> None:
        """Show the answer; without one what is missing, awaited or failed."""
        if self.missing is not None:
            self.answered, self.notes = None, ()
        if self.answered is None:
            is_failed = self.query_one(Banner).has_class("-failed")
            self.show_empty(self.missing or (_FAILED if is_failed else _WAITING))
        else:
            self.can_focus = False
            self.remove_class("-empty")
        self.paint()
        super().show_loaded()
        self.room.show_trial()

    def paint(self) -> None:
        """Draw the answer, or what is known without one."""
        raise NotImplementedError

    def show_empty(self, words: EmptyWords) -> None:
        """Say why there is nothing to read."""
        self.query_one(Empty).show(*words)
        self.add_class("-empty")
        self.can_focus = True
        focused = self.screen.focused
        if focused is not None and focused in self.query("*"):
            # A widget that is hidden with the focus would pass it on to the message, and never get it back.
            self.screen.set_focus(self.reader)

    def show_facts(self, title: str, facts: Sequence[str]) -> None:
        """What the text is, and facts about it."""
        self.query_one("#title", TitleLine).say(title)
        self.query_one("#facts", TitleLine).update(Content.styled(DOT.join(facts), MUTED))


class StagesPane(Pane):
    """Why one memory is, or is not, in the prompt for a message: every stage on its way, and what helps."""

    NAME = TabName("stages", "x", "stages")
    KEYS: ClassVar[Sequence[Command]] = (
        Command("re_embed", "R", "re-embed", "Re-embed this memory", writes=True, synonyms="vector embedding reindex",
                shell="reindex"),
        Command("edit", "e", "edit", "Edit this memory", True, writes=True, synonyms="change fix correct",
                shell="edit {key}"),
    )  # fmt: skip
    explanation: Explanation | None = None

    @property
    def missing(self) -> EmptyWords | None:
        """Needs a memory and a message."""
        return _NO_ENTRY if self.inquiry.entry is None else super().missing

    @property
    def advice(self) -> Advice | None:
        """The settings that were proved to put this memory in the prompt."""
        advice = self.explanation.advice if self.explanation is not None and self.is_answered else None
        return advice if advice is not None and advice.key == "w" else None

    def why_dimmed(self, action: str) -> str | None:
        """Why a command cannot be done now, in a sentence; None when it can."""
        return why_dimmed(action, self.library, View())

    async def load(self) -> None:
        """The way of the memory as it is now."""
        question, entry = self.inquiry.question, await whole_entry(self.library.memory, self._entry_here().handle)
        self.explanation = await explain(self.library, entry, question[2].now)
        self.inquiry.entry, self.answered = entry, question

    def on_resize(self) -> None:
        self._show_stages()

    def show_loaded(self) -> None:
        """Never show the stages of another memory."""
        if self.answered is not None and self.answered[1] != self.inquiry.question[1]:
            self.answered = None
        super().show_loaded()

    def paint(self) -> None:
        """The verdict and the memory."""
        entry = self.inquiry.entry
        title, facts = "Why a memory is recalled, or not", list[str]()
        if entry is not None:
            title = f"Why “{shown_line(entry.key, _MAX_PART)}” is recalled, or not"
            content = shown_line(entry.content, _MAX_PART) or "(blank)"
            facts = [shown_line(entry.category, _MAX_PART), absolute_time(entry.when), content]
        if self.explanation is not None and self.answered is not None:
            title = self.explanation.title
            # How wide the text is shows when there is room for it.
            self.call_after_refresh(self._show_stages)
        self.show_facts(title, facts)

    def _show_stages(self) -> None:
        """Show every stage in its lines, wrapped for the width there is."""
        plain = self.query_one(PlainContent)
        if self.explanation is not None and plain.size.width:
            lines = self.explanation.lines(wrapped, plain.size.width)
            contents = [Content.assemble(*((text, _LOOKS[look]) for text, look in line)) for line in lines]
            plain.update(Content("\n").join(contents))

    @changing
    async def action_re_embed(self, library: Library) -> None:
        is_done, sentence = await re_embed(library, self._entry_here())
        (inform if is_done else warn)(self, sentence)
        if is_done:
            await self.room.after_change(None)

    @changing
    async def action_edit(self, library: Library) -> None:
        from zeroclaw_tui.tui.rooms.editor import EditorScreen

        row = await row_with_id(library.memory, self._entry_here().id)
        if row is None:
            raise NotFound("This memory no longer exists.", hint="Press esc to return to the list.")
        outcome = await self.app.push_screen_wait(EditorScreen(library, row))
        if outcome is not None:
            inform(self, written_words(outcome))
            await self.room.after_change(None)

    def _entry_here(self) -> MemoryEntry:
        """The memory that is explained. Raises NotFound where none is chosen."""
        if self.inquiry.entry is None:
            raise NotFound("There is no memory under the cursor.", hint="Choose one in the list first.")
        return self.inquiry.entry


class PromptPane(Pane):
    """The text ZeroClaw puts before a message, by the chosen injection rule; control characters are visible."""

    NAME = TabName("prompt", "P", "prompt")
    KEYS: ClassVar[Sequence[Command]] = (
        Command("copy", "y", "copy", "Copy the prompt as it is", True, synonyms="clipboard", shell="prompt {query}"),
    )
    prompt: Prompt | None = None

    async def load(self) -> None:
        """The block."""
        question = self.inquiry.question
        self.prompt = prompt = await prompt_for(self.library, question[2].now)
        self.answered, self.notes = question, tuple(prompt.result.notes)
        self.query_one(PlainContent).show(prompt.text)
        self.query_one(ReadingPane).scroll_home(animate=False)

    def paint(self) -> None:
        """What is put before the message, and how long it is."""
        prompt = self.prompt = self.prompt if self.answered is not None else None
        title, facts = "What ZeroClaw puts before a message", list[str]()
        if prompt is not None:
            lead = are(prompt.entries) if prompt.entries else "Nothing is"
            title = f"{lead} put before “{shown_line(self.inquiry.request.query)}”"
            facts = [counted(prompt.entries, "entry"), counted(prompt.characters, "character")]
            facts += [f"about {counted(prompt.tokens, 'token')}", f"rule: {RULES[prompt.rule]}"]
            if not prompt.text:
                keys = (("w", "try other weights and thresholds"), ("x", "why a memory is missing"))
                self.show_empty(("ZeroClaw puts nothing before this message.", prompt.why_empty or "", keys))
        self.show_facts(title, facts)

    async def action_copy(self) -> None:
        """Copy the prompt as it is, control characters and all."""
        if self.prompt is None or not self.prompt.text:
            warn(self, "Nothing to copy here yet.")
        else:
            inform(self, await copy_text(self.app, self.prompt.text))
