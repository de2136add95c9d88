"""Asking for one of a few answers, and for the path of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static

from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.tui.screens.confirm import Answer, options_of
from zeroclaw_tui.tui.widgets.writing import LineInput

Value = TypeVar("Value")


class AnswersScreen(ModalScreen[Value | None], Generic[Value]):
    """A title, what it is about, and the answers, each with a key and what it gives.

    The first answer changes nothing and has the focus; it and escape give None.
    """

    CSS_PATH = "asking.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(None)", "leave it"),
        Binding("j", "cursor('down')", "down", show=False),
        Binding("k", "cursor('up')", "up", show=False),
    ]

    def __init__(self, title: str, body: Content, keep: str, answers: Sequence[tuple[Answer, Value]]) -> None:
        super().__init__()
        self._title = title
        self._body = body
        self._answers: list[tuple[Answer, Value | None]] = [(Answer("n", keep), None), *answers]

    def compose(self) -> ComposeResult:
        """Title, what it is about, the answers, the keys."""
        with Vertical(id="asking"):
            yield Static(Content(self._title), id="title")
            yield Static(self._body, id="body")
            options = options_of([answer for answer, _ in self._answers])
            yield OptionList(*options, id="answers", markup=False, compact=True)
            keys = " ".join(answer.key for answer, _ in self._answers)
            yield Static(f"enter choose   {keys} answer   esc leave it", id="keys", markup=False)

    def on_mount(self) -> None:
        """Nothing happens by accident."""
        self.query_one(OptionList).highlighted = 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Give the answer."""
        self.dismiss(self._answers[event.option_index][1])

    def on_key(self, event: Key) -> None:
        """The key of an answer gives it."""
        for answer, value in self._answers:
            if event.character == answer.key:
                event.stop()
                self.dismiss(value)
                return

    def action_cursor(self, way: str) -> None:
        """Move like in a list."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if way == "down" else options.action_cursor_up()


class PathScreen(ModalScreen[Path | None]):
    """Asks for a path. Gives it with the home folder in the place of a tilde, or None when it was left."""

    CSS_PATH = "asking.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "leave it")]

    def __init__(self, title: str, remark: str, value: str = "") -> None:
        super().__init__()
        self._title = title
        self._remark = remark
        self._value = value

    def compose(self) -> ComposeResult:
        """Title, a line to type, what can be typed, the keys."""
        with Vertical(id="asking", classes="-typed"):
            yield Static(Content(self._title), id="title")
            yield LineInput(self._value, placeholder="~/…", id="path")
            yield Static(Content(self._remark), id="remark")
            yield Static("enter go on   esc leave it", id="keys", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Give the path, or say why it is none."""
        event.stop()
        try:
            self.dismiss(path_typed(self.query_one(LineInput).meant))
        except WrongUse as error:
            self.query_one("#remark", Static).update(Content.styled(error.message, "$text-error"))


def path_typed(typed: str) -> Path:
    """The path a person means. Raises WrongUse for what is none."""
    meant = typed.strip()
    if not meant:
        raise WrongUse("No path was typed.")
    if "\0" in meant:
        raise WrongUse("A path cannot hold the character NUL.")
    try:
        return Path(meant).expanduser().absolute()
    except RuntimeError as error:
        raise WrongUse("There is no such home folder.") from error
