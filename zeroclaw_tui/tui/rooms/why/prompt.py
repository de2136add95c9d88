"""The text ZeroClaw puts before a message, exactly, by the chosen injection rule."""

from __future__ import annotations

from dataclasses import replace

from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget

from zeroclaw_tui.curation.prompt import Prompt, prompt_for
from zeroclaw_tui.memory.recall import Rule
from zeroclaw_tui.memory.text import are, counted
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.tui.format import fit, shown_line
from zeroclaw_tui.tui.rooms.why.pane import WAITING, Pane
from zeroclaw_tui.tui.rooms.why.trial import Inquiry
from zeroclaw_tui.tui.themes import STRONG
from zeroclaw_tui.tui.widgets.detail import PlainContent, ReadingPane
from zeroclaw_tui.tui.widgets.growing_text import GrowingText
from zeroclaw_tui.tui.widgets.header import Empty, KeyHint
from zeroclaw_tui.tui.widgets.lines import TitleLine
from zeroclaw_tui.tui.widgets.score_lines import DOT

RULES: dict[Rule, str] = {
    "cli": "rule of the CLI agent",
    "channel": "rule of the channels",
    "cron": "rule of cron and the heartbeat",
    "library": "rule of the embedded agent",
}


def other_rule(rule: Rule) -> Rule:
    """The rule of the channels, or for them the CLI agent's."""
    return "cli" if rule == "channel" else "channel"


class PromptPane(Pane):
    """How long the block is, then its text with control characters made visible."""

    tab = "prompt"
    no_message = (
        "Before which message?",
        "Type a message to see the exact text that ZeroClaw puts before it.",
        (("/", "type the message"), ("esc", "out")),
    )

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self.prompt: Prompt | None = None

    def compose(self) -> ComposeResult:
        yield TitleLine(id="before")
        yield GrowingText(id="facts")
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

    @property
    def copied(self) -> str | None:
        """The text as it is, control characters and all."""
        return self.prompt.text or None if self.prompt is not None else None

    async def ask(self) -> None:
        """The block, and whether the other rule makes the same."""
        library, trial, question = self.inquiry.library, self.inquiry.trial, self.question
        prompt = await prompt_for(library, trial)
        facts = [RULES[prompt.rule]]
        if prompt.entries:
            sizes = counted(prompt.entries, "entry"), counted(prompt.characters, "character")
            facts = [*sizes, f"about {counted(prompt.tokens, 'token')}", *facts]
        if trial.profile.one_injection_rule:
            facts[-1] = "from 0.8.3 the CLI agent and the channels inject the same"
        if prompt.differs_by_rule:
            rule = other_rule(trial.request.rule)
            other = await prompt_for(library, trial._replace(request=replace(trial.request, rule=rule)))
            same = "makes the same text" if other.text == prompt.text else "makes another text (tab)"
            facts.append(f"the {RULES[rule]} {same}")
        self.answered, self.prompt, self.notes = question, prompt, tuple(prompt.result.notes)
        self.query_one("#facts", GrowingText).update(Content(DOT.join(facts)))
        self.remove_class("-empty")
        self.query_one(PlainContent).show(prompt.text)
        self.query_one(ReadingPane).scroll_home(animate=False)
        if not prompt.text:
            keys: list[KeyHint] = [("w", "try other weights and thresholds"), ("p", "other scoring version")]
            if prompt.differs_by_rule:
                keys.append(("tab", f"the {RULES[other_rule(prompt.rule)]}"))
            keys.append(("x", "why a memory is missing"))
            self.show_empty(("ZeroClaw puts nothing before this message.", prompt.why_empty or "", keys))
        self.paint()

    def paint(self) -> None:
        """The title: what is put before the message, in one line."""
        if self.answered is None:
            self.prompt = None
            self.query_one("#facts", GrowingText).update("")
            self.show_empty(self.missing or WAITING)
        title = "What ZeroClaw puts before a message"
        if self.prompt is not None:
            lead = f"{are(self.prompt.entries) if self.prompt.entries else 'Nothing is'} put before "
            room = max(4, self.app.size.width - 4 - len(lead))
            title = f"{lead}“{fit(shown_line(self.inquiry.request.query), room).rstrip()}”"
        self.query_one("#before", TitleLine).update(Content.styled(title, STRONG))
