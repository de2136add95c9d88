"""What the wizard's way through its questions needs of whoever asks them: a terminal, or a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Protocol, TypeVar

from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.questions.catalogue import Choice, Question

Part = tuple[str, str]
"""A style name and a text. Names: "", title, added, removed, section, good, bad, warning, dim, accent; a line of one
part named rule is a heading across the width."""
Line = Sequence[Part]
Result = TypeVar("Result")


class Move(Enum):
    """What may be said in place of an answer."""

    BACK = "back"
    OVERVIEW = "overview"
    REST = "accept the rest"


class Asker(Protocol):
    """Asks a person. Ctrl-C is KeyboardInterrupt, an input that ended EOFError, everywhere."""

    def ask(self, question: Question, answers: Answers, at: int, of: int) -> str | Move:
        """The text of a valid answer (`question.read` took it), or a move. `at` of `of` is shown."""
        ...

    def choose(
        self, title: str, choices: Sequence[Choice], *, preset: str | None = None, back: bool = True
    ) -> str | Move:
        """The value of one choice of a menu; with `back` also Move.BACK."""
        ...

    def ask_text(self, title: str, preset: str, check: Callable[[str], str | None]) -> str | Move:
        """A line of text outside the questions (a file name); `check` gives a complaint or None."""
        ...

    def say(self, lines: Sequence[Line]) -> None:
        """Show lines; every text is cleaned, wrapped to the width, and never colour alone carries a meaning."""
        ...

    def working(self, text: str, work: Callable[[], Result]) -> Result:
        """Show that something is going on while `work` runs; Ctrl-C stops it."""
        ...
