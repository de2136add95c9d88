"""Why one memory is, or is not, in the prompt for a message: every stage on its way, and what helps."""

from __future__ import annotations

from textual.app import ComposeResult, RenderResult
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from zeroclaw_tui.backends.lookup import whole_entry
from zeroclaw_tui.curation.recall import explain
from zeroclaw_tui.memory.days import absolute_time
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.scoring.explain_lines import ExplanationLine, Look, explanation_lines, title_of
from zeroclaw_tui.scoring.explanation import Advice, Explanation
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.tui.format import shown_line, wrapped
from zeroclaw_tui.tui.rooms.why.pane import WAITING, EmptyWords, Pane
from zeroclaw_tui.tui.rooms.why.trial import Inquiry
from zeroclaw_tui.tui.themes import LOOKS, MUTED, STRONG, STRONG_ACCENT
from zeroclaw_tui.tui.widgets.detail import ReadingPane
from zeroclaw_tui.tui.widgets.header import Empty
from zeroclaw_tui.tui.widgets.lines import TitleLine
from zeroclaw_tui.tui.widgets.score_lines import DOT

_MAX_PART = 400
_NO_ENTRY: EmptyWords = (
    "Which memory?",
    "Choose one in a list of memories to see every stage on its way to the prompt.",
    (("w", "what is recalled for the message"), ("esc", "out")),
)


class StagesPane(Pane):
    """The way of a memory to the prompt, stage by stage."""

    tab = "stages"

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self.explanation: Explanation | None = None

    def compose(self) -> ComposeResult:
        yield TitleLine(id="verdict")
        yield TitleLine(id="memory")
        yield Empty()
        with ReadingPane():
            yield ExplanationBlock()

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
    def reader(self) -> Widget | None:
        """The stages, once they are there."""
        return None if self.has_class("-empty") else self.query_one(ReadingPane)

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
        if self.answered is None and self.missing is None:
            self.show_empty(WAITING)
        title, facts = "Why a memory is recalled, or not", list[str]()
        if entry is not None:
            title = f"Why “{shown_line(entry.key, _MAX_PART)}” is recalled, or not"
            content = shown_line(entry.content, _MAX_PART) or "(blank)"
            facts = [shown_line(entry.category, _MAX_PART), absolute_time(entry.when), content]
        if self.explanation is not None and self.answered is not None:
            title = title_of(self.explanation)
        self.query_one("#verdict", TitleLine).say(title)
        self.query_one("#memory", TitleLine).update(Content.styled(DOT.join(facts), MUTED))


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
