"""One prompt block: how much it is and by whose rule, then the text itself, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical

from zeroclaw_tui.tui.widgets.diff_content import ReadingPane as StepPane
from zeroclaw_tui.tui.widgets.empty import Empty, KeyHint
from zeroclaw_tui.tui.widgets.packed_facts import PackedFacts
from zeroclaw_tui.tui.widgets.plain_content import PlainContent


class PromptPane(Vertical):
    """The text scrolls, control characters in it are made visible."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    PromptPane { width: 1fr; height: 1fr; }
    PromptPane PackedFacts { padding: 0 1; color: $foreground-muted; }
    PromptPane PackedFacts.-chosen { color: $primary; text-style: bold; }
    PromptPane StepPane {
        height: 1fr; margin-top: 1; padding: 0 1; scrollbar-size-vertical: 1; scrollbar-gutter: stable;
    }
    PromptPane Empty { display: none; padding: 1 1; }
    PromptPane.-empty StepPane { display: none; }
    PromptPane.-empty Empty { display: block; }
    """

    def compose(self) -> ComposeResult:
        """Facts, text, why there is none."""
        yield PackedFacts()
        with StepPane():
            yield PlainContent()
        yield Empty()

    @property
    def scrolls(self) -> StepPane:
        """What takes the focus to be read."""
        return self.query_one(StepPane)

    def show_text(self, text: str) -> None:
        """The text as ZeroClaw puts it."""
        self.remove_class("-empty")
        self.query_one(PlainContent).show(text)
        self.scrolls.scroll_home(animate=False)

    def show_empty(self, fact: str, sentence: str, keys: Sequence[KeyHint]) -> None:
        """Why there is no text."""
        if self.scrolls.has_focus:
            # Hidden with the focus on it, it would hand that on to the line, and never get it back.
            self.screen.set_focus(None)
        self.add_class("-empty")
        self.query_one(Empty).show(fact, sentence, keys)

    def show_facts(self, facts: Sequence[str], *, is_chosen: bool | None) -> None:
        """How much it is, and by whose rule; `is_chosen` tells it from another beside it, None where there is none."""
        packed = self.query_one(PackedFacts)
        lead = "" if is_chosen is None else "● " if is_chosen else "  "
        packed.facts = (lead + facts[0], *facts[1:]) if facts else ()
        packed.set_class(bool(is_chosen), "-chosen")
