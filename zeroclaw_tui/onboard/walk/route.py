"""Which question comes when, and what an answer amounts to: pure rules, nothing is asked or shown here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from zeroclaw_tui.config.setting_names import BACKEND
from zeroclaw_tui.onboard.answers.answers import Answers, Given
from zeroclaw_tui.onboard.questions.catalogue import QUESTIONS, Question, asked, question_of

REVIEW = "review"
"""The place after the last question; no question has this id."""
_ANSWERED_OUTSIDE = ("flag", "answers file")
_ORDER = {question.id: number for number, question in enumerate(QUESTIONS)}


def place_in_order(question_id: str) -> int:
    """The place of a question among all there are; the review, and what is no question, comes after them."""
    return _ORDER.get(question_id, len(_ORDER))


def next_question(answers: Answers, after: int, *, only_missing: bool) -> Question | None:
    """The question to go on with behind a place; None when the review comes next.

    What a flag or an answers file says is not asked. With `only_missing` only what the backend cannot do without is,
    and what is missing is asked even when it lies further up.
    """
    questions = asked(answers)
    missing = [question for question in questions if needs_answer(question, answers, questions)]
    for question in questions:
        if place_in_order(question.id) <= after:
            continue
        if question in missing or not (only_missing or is_answered_outside(question, answers)):
            return question
    return missing[0] if missing else None


def previous_question(answers: Answers, before: int, walked: Collection[str]) -> Question | None:
    """The nearest question further up that was asked already."""
    earlier = [
        question for question in asked(answers) if question.id in walked and place_in_order(question.id) < before
    ]
    return earlier[-1] if earlier else None


def needs_answer(question: Question, answers: Answers, questions: Collection[Question] | None = None) -> bool:
    """True where nothing can be written before this is answered; of several questions for one setting, the last."""
    if question.setting not in answers.missing():
        return False
    same = [other.id for other in questions or asked(answers) if other.setting == question.setting]
    return question.id == same[-1]


def is_answered_outside(question: Question, answers: Answers) -> bool:
    """True when a flag or an answers file says it."""
    given = answers.given.get(question.setting)
    return given is not None and given.source in _ANSWERED_OUTSIDE


def recorded(answers: Answers, setting: str, value: Any) -> Answers:
    """The answers with one more. What holds anyway, without anybody's saying so, is no answer of its own."""
    before = answers.given.get(setting)
    if before is not None and _is_same(setting, value, before.value):
        return answers
    if value is None:
        return answers.without(setting)
    if before is None or before.source == "answered":
        without = answers.without(setting)
        if _is_same(setting, value, without.value(setting)):
            return without
    return answers.with_given(setting, Given(value, "answered", "answered"))


def counting(answers: Answers) -> Answers:
    """The answers that count in the end: without those to questions that are no longer asked, since another backend
    was chosen after them, and without those that say what holds anyway. They are in the order of the questions, so that
    new keys are written in one order whatever way was taken.
    """
    while True:
        settings = {question.setting for question in asked(answers)}
        idle = [
            name
            for name, given in answers.given.items()
            if given.source == "answered" and (_is_left_behind(name, settings) or _holds_anyway(answers, name))
        ]
        if not idle:
            return replace(answers, given=dict(sorted(answers.given.items(), key=_by_question)))
        for name in idle:
            answers = answers.without(name)


def _by_question(item: tuple[str, Given]) -> tuple[int, str]:
    question = question_of(item[0])
    return (place_in_order(question.id if question else REVIEW), item[0])


def _is_left_behind(name: str, settings: Collection[str]) -> bool:
    return name not in settings and question_of(name) is not None


def _holds_anyway(answers: Answers, name: str) -> bool:
    return _is_same(name, answers.given[name].value, answers.without(name).value(name))


def _is_same(setting: str, value: Any, other: Any) -> bool:
    if setting == BACKEND and isinstance(value, str) and isinstance(other, str):
        # A list of backends offers kinds; the file may name kind and alias.
        return value in (other, other.partition(".")[0])
    return bool(value == other)
