"""The way through the questions: forward, back, jumping, accepting the rest, testing, and the review at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from zeroclaw_tui.memory.errors import Unreadable
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.asker import Asker, Move
from zeroclaw_tui.onboard.planning.plan import Plan
from zeroclaw_tui.onboard.questions.catalogue import Question, asked
from zeroclaw_tui.onboard.walk import resume
from zeroclaw_tui.onboard.walk.overview import choose_question
from zeroclaw_tui.onboard.walk.review import problem_lines, review
from zeroclaw_tui.onboard.walk.route import (
    REVIEW,
    counting,
    needs_answer,
    next_question,
    place_in_order,
    previous_question,
    recorded,
)
from zeroclaw_tui.onboard.walk.testing_answers import AnswerTests, question_to_fix

Ending = Literal["write", "leave"]


@dataclass(frozen=True, slots=True)
class Walked:
    """How it ended, with which answers and plan; `plan` is None only where it was left and no plan could be made."""

    ending: Ending
    answers: Answers
    plan: Plan | None


def walk(
    asker: Asker, answers: Answers, *, tests: bool = True, start: Sequence[str] = (), dry_run: bool = False
) -> Walked:
    """Ask until the person writes or leaves. Answers are kept for the next time after each question, without secrets
    (see resume), but not in a dry run; who writes or leaves forgets them, Ctrl-C leaves them kept and goes on up.

    Questions answered by a flag or an answers file are not asked, but can be reached from the overview. After the last
    question of a tested subject its test runs; bad: fix (asks that group again), keep anyway, back. A correction found
    (a wrong dimension) is offered. Going back and forth gives the same answers as going straight through. `start`
    are the ids of the questions to ask first, its last the one to go on from, or "review"; one that is not asked is as
    good as none.
    """
    return _Walk(asker, answers, AnswerTests(asker) if tests else None, start, dry_run=dry_run).to_the_end()


class _Walk:
    """One way through. `_walked` are the questions that back leads to; `_only_missing` that the rest was accepted;
    `_from_review` that one thing is being changed, after which the review comes again."""

    def __init__(
        self, asker: Asker, answers: Answers, tests: AnswerTests | None, start: Sequence[str], *, dry_run: bool
    ) -> None:
        self._asker = asker
        self._answers = answers
        self._tests = tests
        self._dry_run = dry_run
        self._walked: set[str] = set()
        self._only_missing = False
        self._from_review = False
        self._keeps = not dry_run
        self._first: list[str] = []
        self._position = self._beginning(start)

    def to_the_end(self) -> Walked:
        """Ask, and review, until it is decided."""
        if self._position == REVIEW:
            self._test_up_to(REVIEW, back_to=REVIEW)
        while True:
            if self._position != REVIEW:
                self._ask()
                continue
            ended = self._review()
            if ended is not None:
                return ended

    def _beginning(self, start: Sequence[str]) -> str:
        ids = [question.id for question in asked(self._answers)]
        self._first = [place for place in start if place in (*ids, REVIEW)]
        if REVIEW in self._first:
            self._only_missing = True
        if self._first:
            self._walked.update(ids[: len(ids) if self._first[-1] == REVIEW else ids.index(self._first[-1])])
            return self._first.pop(0)
        first = next_question(self._answers, -1, only_missing=False)
        return REVIEW if first is None else first.id

    def _ask(self) -> None:
        questions = asked(self._answers)
        number, question = next(
            (number, question) for number, question in enumerate(questions, 1) if question.id == self._position
        )
        reply = self._asker.ask(question, self._answers, number, len(questions))
        if reply is Move.BACK:
            self._go_back(question)
        elif reply is Move.OVERVIEW:
            self._jump(question.id)
        elif reply is Move.REST:
            self._accept_rest(question)
        else:
            value = question.read(self._answers, str(reply))
            self._answers = recorded(self._answers, question.setting, value)
            self._go_on(question)

    def _go_on(self, question: Question) -> None:
        self._walked.add(question.id)
        self._move_to(self._following(question))
        if self._position == REVIEW or not self._only_missing:
            self._test_up_to(self._position, back_to=question.id)

    def _following(self, question: Question) -> str:
        while self._first:
            first = self._first.pop(0)
            if first in (REVIEW, *(question.id for question in asked(self._answers))):
                return first
        here = place_in_order(question.id)
        following = next_question(self._answers, here, only_missing=self._only_missing)
        if following is None:
            return REVIEW
        # What is missing further up is asked last, and what lies between was answered already.
        self._only_missing = self._only_missing or place_in_order(following.id) <= here
        return following.id

    def _go_back(self, question: Question) -> None:
        if self._from_review:
            self._move_to(REVIEW)
            return
        previous = previous_question(self._answers, place_in_order(question.id), self._walked)
        if previous is None:
            self._asker.say([[("dim", "This is the first question; there is nothing to go back to.")]])
            return
        self._only_missing = False
        self._first.clear()
        self._move_to(previous.id)

    def _jump(self, present: str) -> None:
        chosen = choose_question(self._asker, self._answers, present)
        if isinstance(chosen, Move):
            return
        self._first.clear()
        if not self._from_review:
            self._only_missing = False
        self._move_to(chosen)

    def _accept_rest(self, question: Question) -> None:
        self._only_missing = True
        self._first.clear()
        if needs_answer(question, self._answers):
            self._asker.say([[("warning", "This one has no value yet, so it needs an answer; then the rest is kept.")]])
            return
        self._go_on(question)

    def _test_up_to(self, position: str, *, back_to: str) -> None:
        """Test what lies before a position; a bad test may lead elsewhere."""
        if self._tests is None:
            return
        while subject := self._tests.next_due(self._answers, place_in_order(position)):
            tested = self._tests.test(subject, self._answers)
            self._answers = tested.answers
            if tested.way == "on":
                self._move_to(position)
                continue
            if tested.way == "fix":
                # What is wrong may be what was not asked.
                self._answers = replace(self._answers, is_basic=False)
            self._only_missing = self._from_review
            self._first = [position] if tested.way == "address" else []
            self._move_to(self._last(back_to) if tested.way == "back" else question_to_fix(subject, self._answers))
            return

    def _last(self, question_id: str) -> str:
        """That question, or the last one walked where it is none (any more)."""
        if question_id in [question.id for question in asked(self._answers)]:
            return question_id
        last = previous_question(self._answers, place_in_order(REVIEW), self._walked)
        return asked(self._answers)[0].id if last is None else last.id

    def _review(self) -> Walked | None:
        answers = counting(self._answers)
        findings = self._tests.findings(answers) if self._tests else ()
        can_go_back = bool(self._walked)
        reviewed = review(self._asker, answers, findings, dry_run=self._dry_run, back=can_go_back)
        if reviewed.decision in ("write", "leave"):
            ending: Ending = "write" if reviewed.decision == "write" else "leave"
            return Walked(ending, answers, reviewed.plan)
        if reviewed.decision == "change":
            # Here everything can be changed, also what was not asked.
            self._answers = replace(self._answers, is_basic=False)
            self._from_review = self._only_missing = True
            self._jump("")
        else:
            self._from_review = self._only_missing = False
            self._move_to(self._last(REVIEW))
        return None

    def _move_to(self, position: str) -> None:
        self._position = position
        if not self._keeps:
            return
        try:
            resume.keep(self._answers, position)
        except Unreadable as problem:
            self._keeps = False
            self._asker.say(problem_lines(problem))
            self._asker.say([[("warning", "Your answers are not kept if you stop before the end; all else works.")]])
