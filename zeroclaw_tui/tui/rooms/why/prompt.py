"""The text ZeroClaw puts before a message, exactly, by the chosen injection rule."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widget import Widget

from zeroclaw_tui.curation.recall import Prompt, prompt_for
from zeroclaw_tui.memory.text import are, counted
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.tui.format import shown_line
from zeroclaw_tui.tui.rooms.why.pane import WAITING, Pane
from zeroclaw_tui.tui.rooms.why.trial import RULES, Inquiry
from zeroclaw_tui.tui.widgets.detail import PlainContent, ReadingPane
from zeroclaw_tui.tui.widgets.header import Empty
from zeroclaw_tui.tui.widgets.lines import StatusBar, TitleLine


class PromptPane(Pane):
    """How long the block is, then its text with control characters made visible."""

    tab = "prompt"

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self.prompt: Prompt | None = None

    def compose(self) -> ComposeResult:
        yield TitleLine()
        yield StatusBar()
        with ReadingPane():
            yield PlainContent()
        yield Empty()

    @property
    def question(self) -> tuple[int, Trial]:
        """What the text depends on."""
        return self.inquiry.number, self.inquiry.trial

    @property
    def reader(self) -> Widget | None:
        """The text; None where it is empty."""
        return None if self.has_class("-empty") else self.query_one(ReadingPane)

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
        if self.answered is None:
            self.prompt = None
            self.show_empty(self.missing or WAITING)
        title, facts = "What ZeroClaw puts before a message", list[str]()
        if self.prompt is not None:
            prompt = self.prompt
            lead = are(prompt.entries) if prompt.entries else "Nothing is"
            title = f"{lead} put before “{shown_line(self.inquiry.request.query)}”"
            facts = [counted(prompt.entries, "entry"), counted(prompt.characters, "character")]
            facts += [f"about {counted(prompt.tokens, 'token')}", f"rule: {RULES[prompt.rule]}"]
        self.query_one(TitleLine).say(title)
        self.query_one(StatusBar).say(*facts)
