"""The tabs of Why: what all have in common, the stages of a memory, and the text put before a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from textual.app import ComposeResult, RenderResult
from textual.containers import Container
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from zeroclaw_tui.backends.lookup import whole_entry
from zeroclaw_tui.curation.recall import Prompt, explain, prompt_for
from zeroclaw_tui.memory.days import absolute_time
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.text import are, counted
from zeroclaw_tui.scoring.explain_lines import ExplanationLine, Look, explanation_lines, title_of
from zeroclaw_tui.scoring.explanation import Advice, Explanation
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.tui.format import shown_line, wrapped
from zeroclaw_tui.tui.rooms.why.trial import RULES, Inquiry
from zeroclaw_tui.tui.themes import LOOKS, MUTED, STRONG, STRONG_ACCENT
from zeroclaw_tui.tui.widgets.detail import PlainContent, ReadingPane
from zeroclaw_tui.tui.widgets.header import Empty, KeyHint
from zeroclaw_tui.tui.widgets.lines import TitleLine
from zeroclaw_tui.tui.widgets.score_lines import DOT

Tab = Literal["stages", "what_if", "prompt"]
EmptyWords = tuple[str, str, Sequence[KeyHint]]
"""A fact, a sentence, and the keys that help."""
_WAITING: EmptyWords = ("Reading the store …", "", ())
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


class Pane(Container):
    """A tab. It is hidden while another one is shown."""

    tab: ClassVar[Tab]

    class Changed(Message):
        """The modified settings or their results have changed."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(id=self.tab)
        self.inquiry = inquiry
        self.answered: Any = None
        """The question that the answer on the screen is to; None without one."""
        self.notes: tuple[str, ...] = ()
        """Remarks on the answer."""

    @property
    def missing(self) -> EmptyWords | None:
        """What has to be chosen or typed before anything can be asked; None when nothing has."""
        return None if self.inquiry.request.query.strip() else _NO_MESSAGE

    @property
    def question(self) -> Any:
        """What the answer depends on; None where nothing can be asked."""
        raise NotImplementedError

    @property
    def is_answered(self) -> bool:
        """Whether what is shown answers what would be asked now."""
        return self.answered is not None and self.answered == self.question

    async def ask(self) -> None:
        """Ask the store and show the answer. Raises InspectorError kinds, SearchInterrupted."""
        raise NotImplementedError

    def paint(self) -> None:
        """Show what is known without asking, or what is missing."""
        if self.missing is not None:
            self.answered, self.notes = None, ()
            self.show_empty(self.missing)

    @property
    def reader(self) -> Widget | None:
        """What takes the focus when the message is typed; None while there is nothing to read."""
        raise NotImplementedError

    def show_empty(self, words: EmptyWords) -> None:
        """Say why there is nothing to read."""
        self.add_class("-empty")
        focused = self.screen.focused
        if focused is not None and focused in self.query("*"):
            # A widget that is hidden with the focus would pass it on to the message, and never get it back.
            self.screen.set_focus(self.reader)
        self.query_one(Empty).show(*words)


class TextPane(Pane):
    """A title, a line of facts, and a text to read."""

    def compose(self) -> ComposeResult:
        yield TitleLine(id=f"{self.tab}-title")
        yield TitleLine(id=f"{self.tab}-facts")
        with ReadingPane():
            yield self.compose_text()
        yield Empty()

    def compose_text(self) -> Widget:
        """What shows the text."""
        raise NotImplementedError

    @property
    def reader(self) -> Widget | None:
        """The text; None where there is none."""
        return None if self.has_class("-empty") else self.query_one(ReadingPane)

    def paint(self) -> None:
        super().paint()
        if self.answered is None and self.missing is None:
            self.show_empty(_WAITING)

    def show_facts(self, title: str, facts: Sequence[str]) -> None:
        """What the text is, and facts about it."""
        self.query_one(f"#{self.tab}-title", TitleLine).say(title)
        self.query_one(f"#{self.tab}-facts", TitleLine).update(Content.styled(DOT.join(facts), MUTED))


class StagesPane(TextPane):
    """Why one memory is, or is not, in the prompt for a message: every stage on its way, and what helps."""

    tab = "stages"
    explanation: Explanation | None = None

    def compose_text(self) -> Widget:
        return ExplanationBlock()

    @property
    def missing(self) -> EmptyWords | None:
        """Needs a memory and a message."""
        return _NO_ENTRY if self.inquiry.entry is None else super().missing

    @property
    def question(self) -> tuple[int, Handle, Trial] | None:
        """What the explanation depends on."""
        entry = self.inquiry.entry
        return None if entry is None else (self.inquiry.number, entry.handle, self.inquiry.trial)

    @property
    def advice(self) -> Advice | None:
        """The settings that were proved to put this memory in the prompt."""
        advice = self.explanation.advice if self.explanation is not None and self.is_answered else None
        return advice if advice is not None and advice.key == "w" else None

    async def ask(self) -> None:
        """The way of the memory as it is now."""
        inquiry, question = self.inquiry, self.question
        assert inquiry.entry is not None
        entry = await whole_entry(inquiry.library.memory, inquiry.entry.handle)
        self.explanation = await explain(inquiry.library, entry, inquiry.trial)
        inquiry.entry, self.answered = entry, question
        self.remove_class("-empty")
        self.query_one(ExplanationBlock).show(self.explanation)
        self.paint()

    def paint(self) -> None:
        """The verdict and the memory."""
        entry = self.inquiry.entry
        if self.answered is not None and (entry is None or self.answered[1] != entry.handle):
            self.answered = None
        super().paint()
        title, facts = "Why a memory is recalled, or not", list[str]()
        if entry is not None:
            title = f"Why “{shown_line(entry.key, _MAX_PART)}” is recalled, or not"
            content = shown_line(entry.content, _MAX_PART) or "(blank)"
            facts = [shown_line(entry.category, _MAX_PART), absolute_time(entry.when), content]
        if self.explanation is not None and self.answered is not None:
            title = title_of(self.explanation)
        self.show_facts(title, facts)


class ExplanationBlock(Widget):
    """As high as its lines need at its width."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ExplanationBlock { width: 1fr; height: auto; text-wrap: nowrap; text-overflow: clip; }
    """
    explanation: Explanation | None = None

    def show(self, explanation: Explanation) -> None:
        """Show another explanation."""
        self.explanation = explanation
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(width))

    def render(self) -> RenderResult:
        bad = f"bold {LOOKS['bad']}"
        styles: dict[Look, str] = {
            "": LOOKS["text"], "bold": STRONG, "good": LOOKS["good"], "bad": bad, "quiet": MUTED,
            "key": STRONG_ACCENT,
        }  # fmt: skip
        lines = self._lines(self.content_size.width)
        return Content("\n").join(Content.assemble(*((text, styles[look]) for text, look in line)) for line in lines)

    def _lines(self, width: int) -> list[ExplanationLine]:
        return [] if self.explanation is None else list(explanation_lines(self.explanation, wrapped, width))


class PromptPane(TextPane):
    """The text ZeroClaw puts before a message, by the chosen injection rule; control characters are visible."""

    tab = "prompt"
    prompt: Prompt | None = None

    def compose_text(self) -> Widget:
        return PlainContent()

    @property
    def question(self) -> tuple[int, Trial]:
        """What the text depends on."""
        return self.inquiry.number, self.inquiry.trial

    async def ask(self) -> None:
        """The block."""
        question = self.question
        self.prompt = prompt = await prompt_for(self.inquiry.library, self.inquiry.trial)
        self.answered, self.notes = question, tuple(prompt.result.notes)
        self.remove_class("-empty")
        self.query_one(PlainContent).show(prompt.text)
        self.query_one(ReadingPane).scroll_home(animate=False)
        if not prompt.text:
            keys = (("w", "try other weights and thresholds"), ("x", "why a memory is missing"))
            self.show_empty(("ZeroClaw puts nothing before this message.", prompt.why_empty or "", keys))
        self.paint()

    def paint(self) -> None:
        """What is put before the message, and how long it is."""
        super().paint()
        prompt = self.prompt = self.prompt if self.answered is not None else None
        title, facts = "What ZeroClaw puts before a message", list[str]()
        if prompt is not None:
            lead = are(prompt.entries) if prompt.entries else "Nothing is"
            title = f"{lead} put before “{shown_line(self.inquiry.request.query)}”"
            facts = [counted(prompt.entries, "entry"), counted(prompt.characters, "character")]
            facts += [f"about {counted(prompt.tokens, 'token')}", f"rule: {RULES[prompt.rule]}"]
        self.show_facts(title, facts)
