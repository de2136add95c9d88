"""The questions, as a pure list: what is asked, when, with which words, and how an answer becomes settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from zeroclaw_tui.onboard.answers import Answers

QuestionKind = Literal["choice", "switch", "text", "secret"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One row of a list: what it stands for, its title, and a few words beside it."""

    value: str
    title: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `id` is unique and stable; `setting` the setting it writes; `group` a heading of the overview.

    `text` is short, `about` one sentence on what it does and what follows, both for these answers. `present` gives the
    value to show and offer (a secret as plain text: the prompt masks it), `default` what the default is in words.
    `read` turns the typed text (or the choice's value, "yes"/"no" for a switch) into the setting's value; it raises
    WrongUse with one clear sentence, which the prompt shows below the line and asks on.
    """

    id: str
    group: str
    setting: str
    kind: QuestionKind
    text: Callable[[Answers], str]
    about: Callable[[Answers], str]
    is_asked: Callable[[Answers], bool]
    present: Callable[[Answers], str]
    default: Callable[[Answers], str]
    read: Callable[[Answers, str], Any]
    choices: Callable[[Answers], tuple[Choice, ...]] = lambda answers: ()


QUESTIONS: tuple[Question, ...] = ()
"""All questions in their order."""


def asked(answers: Answers) -> tuple[Question, ...]:
    """The questions these answers lead to, in order."""
    raise NotImplementedError


def question_of(setting: str) -> Question | None:
    """The question that writes a setting, None where none is asked for it."""
    raise NotImplementedError


def shown_value(setting: str, value: Any) -> str:
    """A value in words for the overview and the review: "on", "never", "7 days", "••••" for a secret."""
    raise NotImplementedError
