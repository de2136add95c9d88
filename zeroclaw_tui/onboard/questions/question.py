"""What a question is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from zeroclaw_tui.onboard.answers.answers import Answers

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
    value to show and offer (a secret as plain text: the prompt masks it), `default` what the default is, written as
    `present` is, or in words where it is no value. `read` turns the typed text (or the choice's value, "yes"/"no" for
    a switch) into the setting's value; it raises WrongUse with one clear sentence, which the prompt shows below the
    line and asks on. An empty text stands for the default, which is None for a setting that may have no value.
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
