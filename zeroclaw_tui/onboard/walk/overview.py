"""The overview: every question with the value that holds, to jump to one of them."""

from __future__ import annotations

from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.asker import Asker, Move
from zeroclaw_tui.onboard.questions.catalogue import Choice, Question, asked, shown_value
from zeroclaw_tui.onboard.walk.route import counting

TITLE = "Which one?"
_LONGEST_MARKED = 20


def choose_question(asker: Asker, answers: Answers, present: str | None = None) -> str | Move:
    """The id of the question to jump to, or Move.BACK; `present` is the id of the one that is preset."""
    questions = asked(answers)
    counted = counting(answers)
    choices = [_choice(question, answers, counted) for question in questions]
    preset = present if present in [choice.value for choice in choices] else None
    return asker.choose(TITLE, choices, preset=preset)


def _choice(question: Question, answers: Answers, counted: Answers) -> Choice:
    value = shown_value(question.setting, answers.value(question.setting))
    mark = _mark(question, counted)
    return Choice(
        question.id,
        # An example in brackets belongs to the question itself and would push the values off the screen.
        question.text(answers).partition(" (")[0],
        f"{_short(value)} {mark}" if mark else value,
    )


def _short(value: str) -> str:
    """A value with room left for its mark."""
    return value if len(value) <= _LONGEST_MARKED else f"{value[: _LONGEST_MARKED - 1]}…"


def _mark(question: Question, counted: Answers) -> str:
    """Who said so, in words, where it is not the config or a default."""
    given = counted.given.get(question.setting)
    if given is None:
        return ""
    return "(changed)" if given.source == "answered" else f"({given.told or given.source})"
