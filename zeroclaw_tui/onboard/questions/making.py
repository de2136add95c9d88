"""Building a question from what is particular about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zeroclaw_tui.config.setting_names import SETTINGS, is_read
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.questions.question import Choice, Question, QuestionKind
from zeroclaw_tui.onboard.questions.values import Check, Empty, as_text, default_value, reader

Words = str | Callable[[Answers], str]
When = Callable[[Answers], bool]


def make_question(
    setting: str,
    group: str,
    text: Words,
    about: Words,
    *,
    when: When,
    id: str = "",
    kind: QuestionKind | None = None,
    empty: Empty = "default",
    no_default: str = "",
    check: Check | None = None,
    present: Callable[[Answers], str] | None = None,
    default: Callable[[Answers], str] | None = None,
    read: Callable[[Answers, str], Any] | None = None,
    choices: Callable[[Answers], tuple[Choice, ...]] = lambda answers: (),
) -> Question:
    """A question about one setting, asked `when` it makes sense and this ZeroClaw reads it from config.toml.

    The id is the setting's name without `memory.` or `storage.`, the kind follows from its type, unless given;
    `no_default` says in words what no value means.
    """
    return Question(
        id=id or setting.partition(".")[2],
        group=group,
        setting=setting,
        kind=kind or _kind_of(setting),
        text=_words(text),
        about=_words(about),
        is_asked=lambda answers: is_read(setting, answers.situation.target) and when(answers),
        present=present or (lambda answers: as_text(answers.value(setting))),
        default=default or (lambda answers: as_text(default_value(answers, setting)) or no_default),
        read=read or reader(setting, empty=empty, check=check),
        choices=choices,
    )


def for_backends(*kinds: str) -> When:
    """Asked for these backends."""
    return lambda answers: answers.backend() in kinds


def while_on(setting: str, when: When) -> When:
    """Asked where a switch is on as well."""
    return lambda answers: when(answers) and bool(answers.value(setting))


def _kind_of(setting: str) -> QuestionKind:
    key = SETTINGS[setting]
    if key.is_secret:
        return "secret"
    return "switch" if key.kind == "switch" else "choice" if key.choices else "text"


def _words(words: Words) -> Callable[[Answers], str]:
    return words if callable(words) else lambda answers: words
