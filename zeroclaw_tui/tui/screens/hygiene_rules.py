"""What changes in config.toml, what it means, and whether to save it."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static

from zeroclaw_tui.curation.hygiene.rules import RuleChange
from zeroclaw_tui.memory.text import display_text
from zeroclaw_tui.tui.looks import MUTED, WARNING
from zeroclaw_tui.tui.screens.confirm import Answer, options_of

Decision = Literal["save", "back", "leave"]
_SIGN_LOOKS = {"+": "$success", "-": "$error", " ": MUTED}


class RuleReviewScreen(ModalScreen[Decision]):
    """What changes in config.toml, what it means, and whether to save it. Escape goes back to the settings."""

    CSS_PATH = "hygiene.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,b", "dismiss('back')", "back"),
        Binding("n,q", "dismiss('leave')", "leave it"),
        Binding("y", "dismiss('save')", "save"),
        Binding("j", "cursor('down')", "down", show=False),
        Binding("k", "cursor('up')", "up", show=False),
        Binding("pageup", "scroll('up')", "up", show=False),
        Binding("pagedown", "scroll('down')", "down", show=False),
    ]
    _ANSWERS: ClassVar[tuple[tuple[Decision, Answer], ...]] = (
        ("leave", Answer("n", "Leave config.toml as it is")),
        ("save", Answer("y", "Save it", "the file of before is kept as a backup")),
        ("back", Answer("b", "Change something")),
    )

    def __init__(self, change: RuleChange, effect: str) -> None:
        super().__init__()
        self._change = change
        self._effect = effect

    holds_text = True

    def compose(self) -> ComposeResult:
        """The difference, the warnings, the answers, the keys."""
        with Vertical(id="asking"):
            yield Static("This changes in config.toml", id="sentence", markup=False)
            with VerticalScroll(id="review", can_focus=False):
                yield Static(self._lines(), id="lines")
            yield OptionList(
                *options_of([answer for _, answer in self._ANSWERS]), id="answers", markup=False, compact=True
            )
            yield Static("enter choose   n y b answer   esc back", id="keys", markup=False)

    def on_mount(self) -> None:
        """Nothing happens by accident."""
        options = self.query_one(OptionList)
        options.highlighted = 0
        options.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Give the answer."""
        self.dismiss(self._ANSWERS[event.option_index][0])

    def action_cursor(self, way: str) -> None:
        """Move like in a list."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if way == "down" else options.action_cursor_up()

    def action_scroll(self, way: str) -> None:
        """Read on in a long difference."""
        review = self.query_one(VerticalScroll)
        review.scroll_page_down() if way == "down" else review.scroll_page_up()

    def _lines(self) -> Content:
        parts: list[str | tuple[str, str]] = []
        for sign, text in self._change.lines:
            parts.append((f"{sign} {display_text(text)}\n", _SIGN_LOOKS[sign]))
        if not self._change.lines:
            parts.append(("Nothing: the file says so already.\n", MUTED))
        for warning in self._change.warnings:
            parts.append((f"\n▲ {display_text(warning)}", WARNING))
        if self._effect:
            parts.append(
                f"\n\n{display_text(self._effect)}" if self._change.warnings else f"\n{display_text(self._effect)}"
            )
        return Content.assemble(*parts)
