"""Choosing one of a few things, each a line with a remark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from zeroclaw_tui.tui.looks import MUTED

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Choice(Generic[Value]):
    """A value, its words, and what to say beside them."""

    value: Value
    words: str
    remark: str = ""


class ChoiceScreen(ModalScreen[Value | None]):
    """A sentence and the choices; the one that holds now is marked. Gives the value, or None when it was left."""

    CSS_PATH = "choice.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(None)", "leave", tooltip="Leave it as it is"),
        Binding("j", "cursor('down')", "down", show=False),
        Binding("k", "cursor('up')", "up", show=False),
    ]

    def __init__(self, sentence: str, choices: Sequence[Choice[Value]], current: Value | None = None) -> None:
        super().__init__()
        self._sentence = sentence
        self._choices = choices
        self._at = next((at for at, choice in enumerate(choices) if choice.value == current), None)

    def compose(self) -> ComposeResult:
        """The sentence over the list."""
        with Vertical(id="choice"):
            yield Static(Content(self._sentence), id="sentence", markup=False)
            yield OptionList(*self._options(), id="choices", markup=False, compact=True)
            yield Static("enter choose   esc leave it", id="keys", markup=False)

    def on_mount(self) -> None:
        """Start on the choice that holds now."""
        self.query_one(OptionList).highlighted = self._at or 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Give the value back."""
        self.dismiss(self._choices[event.option_index].value)

    def action_cursor(self, way: str) -> None:
        """Move like in the list."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if way == "down" else options.action_cursor_up()

    def _options(self) -> list[Option]:
        widest = max((cell_len(choice.words) for choice in self._choices), default=0)
        return [
            Option(
                Content.assemble(
                    ("● " if at == self._at else "  "),
                    choice.words + " " * (widest - cell_len(choice.words)),
                    (f"   {choice.remark}" if choice.remark else "", MUTED),
                )
            )
            for at, choice in enumerate(self._choices)
        ]
