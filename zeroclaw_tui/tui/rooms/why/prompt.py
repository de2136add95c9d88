"""The text ZeroClaw puts before a message, exactly, by the rule of one turn and of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widget import Widget

from zeroclaw_tui.curation.prompt import Prompt, prompt_for
from zeroclaw_tui.memory.recall import Rule
from zeroclaw_tui.memory.text import are, counted, one_line
from zeroclaw_tui.scoring.profiles import ScoringProfile, Trial
from zeroclaw_tui.tui.format import fit
from zeroclaw_tui.tui.rooms.why.trial import WAITING, EmptyWords, Inquiry, Pane
from zeroclaw_tui.tui.themes import STRONG
from zeroclaw_tui.tui.widgets.detail import PackedFacts, PlainContent, ReadingPane
from zeroclaw_tui.tui.widgets.header import Empty, KeyHint
from zeroclaw_tui.tui.widgets.lines import TitleLine

RULES: dict[Rule, str] = {
    "cli": "rule of the CLI agent",
    "channel": "rule of the channels",
    "cron": "rule of cron and the heartbeat",
    "library": "rule of the embedded agent",
}
_NAMES: dict[Rule, str] = {"cli": "CLI agent", "channel": "channels", "cron": "cron", "library": "embedded agent"}
_GETS: dict[Rule, str] = {
    "cli": "the CLI agent gets",
    "channel": "the channels get",
    "cron": "cron gets",
    "library": "the embedded agent gets",
}
_LONGEST = 400
_BOTH_FROM = 120
"""The width from which both texts fit: that of the screen's class -wide, which the screen may not have yet."""


def other_rule(rule: Rule) -> Rule:
    """The other rule: that of the channels, and for them the CLI agent's."""
    return "cli" if rule == "channel" else "channel"


class PromptPane(Pane):
    """The block by the rule that is chosen, and by the other next to it where they differ and there is room."""

    tab = "prompt"
    heading = "In the text"
    no_message = (
        "Before which message?",
        "Type a message to see the exact text that ZeroClaw puts before it.",
        (("/", "type the message"), ("esc", "out")),
    )
    failed_words = (
        "The prompt could not be created.",
        "",
        (("r", "try again"), ("/", "another message"), ("esc", "out")),
    )

    class RuleWanted(Message):
        """The other rule should be chosen."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self.prompts: dict[Rule, Prompt] = {}
        self.answered: tuple[int, Trial] | None = None

    def compose(self) -> ComposeResult:
        yield TitleLine(id="before")
        with Container(id="texts"):
            yield PromptText(id="own")
            yield PromptText(id="channels")

    @property
    def is_answered(self) -> bool:
        """Whether both rules are answered, with what is tried now."""
        return super().is_answered and self._rule in self.prompts

    @property
    def has_answer(self) -> bool:
        """Whether a text, or why there is none, is on the screen."""
        return bool(self.prompts)

    @property
    def reader(self) -> Widget | None:
        """The text by the rule chosen; None where it is empty."""
        text = self._text(self._rule)
        return None if text.has_class("-empty") else text.scrolls

    @property
    def copied(self) -> str | None:
        """The text as it is, control characters and all."""
        prompt = self.prompts.get(self._rule)
        return prompt.text or None if prompt is not None else None

    async def ask(self) -> Callable[[], None]:
        """The block by the rule chosen, and by the other where that is another."""
        library, trial, question = self.inquiry.library, self.inquiry.trial, self.question
        prompts = [await prompt_for(library, trial)]
        if prompts[0].differs_by_rule:
            other = trial._replace(request=replace(trial.request, rule=other_rule(trial.request.rule)))
            prompts.append(await prompt_for(library, other))

        def show() -> None:
            self.answered = question
            self._show(prompts)

        return show

    def forget(self) -> None:
        """No message, no text."""
        self.prompts, self.answered, self.notes = {}, None, ()
        self.paint()

    def show_empty(self, words: EmptyWords) -> None:
        """Say why there is nothing to read, instead of the text."""
        text = self._text(self._rule)
        text.show_empty(*words)
        text.show_facts((), is_chosen=None)

    def paint(self) -> None:
        """Title and facts, and the texts that are to be seen."""
        if not self.prompts and self.missing is None:
            self.show_empty(WAITING)
        chosen, profile = self._rule, self.inquiry.trial.profile
        title = _title_words(self.prompts.get(chosen), self.inquiry.request.query, self.app.size.width - 2)
        self.query_one("#before", TitleLine).update(Content.styled(title, STRONG))
        has_both = len({shown.text for shown in self.prompts.values()}) > 1 and self.app.size.width >= _BOTH_FROM
        for rule, other in ((chosen, other_rule(chosen)), (other_rule(chosen), chosen)):
            text, shown = self._text(rule), self.prompts.get(rule)
            text.display = rule == chosen or has_both
            if shown is None:
                continue
            if has_both:
                text.show_facts((_NAMES[rule], *(_amounts(shown) or ("nothing",))), is_chosen=rule == chosen)
            else:
                text.show_facts(_fact_parts(shown, profile, self.prompts.get(other)), is_chosen=None)

    def other_pane(self) -> None:
        """To the text by the other rule."""
        self.post_message(self.RuleWanted())

    def on_click(self, event: Click) -> None:
        other = self._text(other_rule(self._rule))
        if other.display and other.region.contains(event.screen_x, event.screen_y):
            self.post_message(self.RuleWanted())

    @property
    def _rule(self) -> Rule:
        return self.inquiry.trial.request.rule

    @property
    def question(self) -> tuple[int, Trial]:
        """What the texts depend on; cli and channel are answered together."""
        trial = self.inquiry.trial
        rule: Rule = "cli" if self._rule == "channel" else self._rule
        return self.inquiry.number, trial._replace(request=replace(trial.request, rule=rule))

    def _text(self, rule: Rule) -> PromptText:
        return self.query_one("#channels" if rule == "channel" else "#own", PromptText)

    def _show(self, prompts: Sequence[Prompt]) -> None:
        self.prompts = {prompt.rule: prompt for prompt in prompts}
        for rule, prompt in self.prompts.items():
            if prompt.text:
                self._text(rule).show_text(prompt.text)
            else:
                self._text(rule).show_empty(*_empty_words(prompt))
        self.notes = tuple(prompts[0].result.notes)
        self.paint()


class PromptText(Vertical):
    """How much it is and by whose rule, then the text itself, with control characters made visible, or why there is
    none."""

    ALLOW_SELECT = False

    def compose(self) -> ComposeResult:
        yield PackedFacts()
        with ReadingPane():
            yield PlainContent()
        yield Empty()

    @property
    def scrolls(self) -> ReadingPane:
        """What takes the focus to be read."""
        return self.query_one(ReadingPane)

    def show_text(self, text: str) -> None:
        """The text as ZeroClaw puts it."""
        self.remove_class("-empty")
        self.query_one(PlainContent).show(text)
        self.scrolls.scroll_home(animate=False)

    def show_empty(self, fact: str, sentence: str, keys: Sequence[KeyHint]) -> None:
        """Why there is no text."""
        if self.screen.focused is self.scrolls:
            # Hidden with the focus on it, it would hand that on to the line, and never get it back.
            self.screen.set_focus(None)
        self.add_class("-empty")
        self.query_one(Empty).show(fact, sentence, keys)

    def show_facts(self, facts: Sequence[str], *, is_chosen: bool | None) -> None:
        """The size and the rule; `is_chosen` marks one of two blocks, None for a single block."""
        packed = self.query_one(PackedFacts)
        lead = "" if is_chosen is None else "● " if is_chosen else "  "
        packed.facts = (lead + facts[0], *facts[1:]) if facts else ()
        packed.set_class(bool(is_chosen), "-chosen")


def _title_words(prompt: Prompt | None, query: str, width: int) -> str:
    """The title: what is put before the message, in one line."""
    if not query.strip():
        return "What ZeroClaw puts before a message"
    if prompt is None:
        return "Building the text that ZeroClaw puts before this message …"
    lead = f"{are(prompt.entries) if prompt.entries else 'Nothing is'} put before "
    return f"{lead}“{fit(one_line(query[:_LONGEST]), max(4, width - len(lead) - 2)).rstrip()}”"


def _fact_parts(prompt: Prompt, profile: ScoringProfile, other: Prompt | None) -> tuple[str, ...]:
    """Entries, characters, tokens, the rule, and what there is to know about the other one."""
    if profile.one_injection_rule:
        return (*_amounts(prompt), "from 0.8.3 the CLI agent and the channels inject the same")
    same = (f"{_GETS[other.rule]} the same",) if other is not None and other.text == prompt.text else ()
    hint = () if other is None or same else (f"{_GETS[other.rule]} different text (tab)",)
    return (*_amounts(prompt), RULES[prompt.rule], *same, *hint)


def _amounts(prompt: Prompt) -> tuple[str, ...]:
    if not prompt.entries:
        return ()
    return (
        counted(prompt.entries, "entry"),
        counted(prompt.characters, "character"),
        f"about {counted(prompt.tokens, 'token')}",
    )


def _empty_words(prompt: Prompt) -> EmptyWords:
    """Why nothing is put before the message, and what helps."""
    keys: list[KeyHint] = [("w", "try other weights and thresholds"), ("p", "other scoring version")]
    if prompt.differs_by_rule:
        keys.append(("tab", f"the {RULES[other_rule(prompt.rule)]}"))
    keys.append(("x", "why a memory is missing"))
    return "ZeroClaw puts nothing before this message.", prompt.why_empty or "", tuple(keys)
