"""Asking the questions, forward and back, with the tests and the review at the end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from zeroclaw_tui.config.setting_names import BACKEND
from zeroclaw_tui.onboard import probes
from zeroclaw_tui.onboard.answers import BACKEND_TITLES, PROVIDER_SETTING, Answer, Answers
from zeroclaw_tui.onboard.plan import Plan
from zeroclaw_tui.onboard.probes import Finding
from zeroclaw_tui.onboard.prompts import Asker, Move
from zeroclaw_tui.onboard.question import Choice, Question, shown_value
from zeroclaw_tui.onboard.questions import QUESTIONS, questions_for
from zeroclaw_tui.onboard.review import SUBJECTS, finding_lines, review

_END = len(QUESTIONS)
"""The index after the last question."""
_PLACES = {question.setting: place for place, question in enumerate(QUESTIONS)}
_FIRST_OF = {**dict.fromkeys(BACKEND_TITLES, BACKEND), "embedding": PROVIDER_SETTING}
"""The question that selects the subject of a test."""


@dataclass(frozen=True, slots=True)
class FlowResult:
    """Whether the user writes, with the answers and the plan shown; `plan` is None if no plan was possible."""

    is_to_write: bool
    answers: Answers
    plan: Plan | None


def walk(asker: Asker, answers: Answers, *, tests: bool = True, dry_run: bool = False) -> FlowResult:
    """Ask one question after the other until the user writes or leaves.

    Questions answered by a flag or an answers file are skipped. Going back and forth gives the same answers as going
    straight through.
    """
    return _Walk(asker, answers, tests=tests, dry_run=dry_run).run()


class _Walk:
    """One walk through the questions; a place is the index of a question in QUESTIONS."""

    def __init__(self, asker: Asker, answers: Answers, *, tests: bool, dry_run: bool) -> None:
        self._asker = asker
        self._answers = answers
        self._tests = tests
        self._dry_run = dry_run
        self._found: dict[tuple[str, tuple[Any, ...]], Finding] = {}
        """The findings by tested subject and the answers it was tested with."""

    def run(self) -> FlowResult:
        place = self._after(-1)
        while True:
            while place < _END:
                place = self._ask_at(place)
            self._answers = _final_answers(self._answers)
            failed = self._test_all() if self._tests else None
            if failed is not None:
                place = self._what_next(failed)
                continue
            findings = [finding for _, finding in self._tested()]
            first = self._after(-1)
            reviewed = review(self._asker, self._answers, findings, dry_run=self._dry_run, can_change=first != _END)
            if reviewed.decision in ("write", "leave"):
                return FlowResult(reviewed.decision == "write", self._answers, reviewed.plan)
            place = first if reviewed.decision == "change" else self._before(_END)

    def _questions(self) -> list[Question]:
        """The questions of this walk, without those answered by a flag or an answers file."""
        given = self._answers.given
        return [
            question
            for question in questions_for(self._answers)
            if question.setting not in given or given[question.setting].source == "answered"
        ]

    def _after(self, place: int) -> int:
        """The next question to ask."""
        places = (_PLACES[question.setting] for question in self._questions())
        return next((other for other in places if other > place), _END)

    def _before(self, place: int) -> int:
        """The previous question to ask; the place itself if there is none."""
        places = (_PLACES[question.setting] for question in reversed(self._questions()))
        return next((other for other in places if other < place), place)

    def _ask_at(self, place: int) -> int:
        """Ask the question at a place, and return the next place."""
        question = QUESTIONS[place]
        step = sum(_PLACES[other.setting] < place for other in self._questions()) + 1
        if self._ask(question, step):
            return self._after(place)
        if self._before(place) == place:
            self._asker.say([[("dim", "This is the first question.")]])
        return self._before(place)

    def _ask(self, question: Question, step: int | None) -> bool:
        """Ask one question and record the answer; return False to go back."""
        reply = self._asker.ask(question, self._answers, step)
        if reply is Move.BACK:
            return False
        self._answers = _record(self._answers, question.setting, question.read(self._answers, str(reply)))
        return True

    def _tested(self) -> list[tuple[str, Finding]]:
        """The subjects that were tested with the current answers, and the findings."""
        found = [(subject, self._found.get(self._key(subject))) for subject in probes.subjects(self._answers)]
        return [(subject, finding) for subject, finding in found if finding is not None]

    def _key(self, subject: str) -> tuple[str, tuple[Any, ...]]:
        """A subject with the values of its relevant answers."""
        names = [name for name in _PLACES if subject in probes.subjects(self._answers, (name,))]
        return subject, tuple(self._answers.value(name) for name in names)

    def _test_all(self) -> Finding | None:
        """Run the outstanding tests, up to the first that fails."""
        tested = dict(self._tested())
        for subject in probes.subjects(self._answers):
            if subject in tested:
                continue
            finding = self._test(subject)
            if finding.verdict == "bad":
                return finding
        return None

    def _test(self, subject: str) -> Finding:
        finding = self._asker.working(
            f"Testing {SUBJECTS[subject]} …", lambda: asyncio.run(probes.run_probe(subject, self._answers))
        )
        self._found[self._key(subject)] = finding
        self._asker.say(finding_lines(finding))
        return finding

    def _what_next(self, finding: Finding) -> int:
        """Ask what to do about a failed test, the most helpful choice first, and return the next place."""
        wrong = [question for question in QUESTIONS if question.setting in finding.wrong]
        wrong = [question for question in wrong if question.is_asked(self._answers)]
        fixes = " and ".join(f"{name} = {shown_value(name, value)}" for name, value in finding.corrections.items())
        choices = [Choice("correct", f"Set {fixes}")] if fixes else []
        if finding.remedy or not wrong:
            choices.append(Choice("again", f"{finding.remedy} and test again" if finding.remedy else "Test again"))
        if wrong:
            choices.append(Choice("change", "Change the answer and test again"))
        subject = "embedding provider" if finding.subject == "embedding" else "backend"
        choices += [Choice("keep", "Keep it"), Choice("elsewhere", f"Choose another {subject}")]
        chosen = self._asker.choose("What now?", choices)
        if chosen == "keep":
            return _END
        # Forget the finding, so that the test runs again: the server may be up by then.
        del self._found[self._key(finding.subject)]
        if chosen == "elsewhere":
            return _PLACES[_FIRST_OF[finding.subject]]
        if chosen is Move.BACK:
            return self._before(_END)
        for name, value in finding.corrections.items() if chosen == "correct" else ():
            self._answers = _record(self._answers, name, value)
        for question in wrong if chosen == "change" else ():
            self._ask(question, None)
        return _END


def _record(answers: Answers, setting: str, value: Any) -> Answers:
    """Add an answer, unless the value is the effective one anyway."""
    without = answers.without(setting)
    if value is None or _matches(without, setting, value):
        return without
    return answers.with_given(setting, Answer(value, "answered", "answered"))


def _final_answers(answers: Answers) -> Answers:
    """The final answers in the order of the questions, so that new keys are always written in the same order.

    Answers to questions that are no longer asked are dropped, and so are those equal to the effective value.
    """
    while True:
        # A failed test may ask a question that is not among the basic ones.
        settings = {question.setting for question in questions_for(replace(answers, is_basic=False))}
        idle = [
            name
            for name, given in answers.given.items()
            if given.source == "answered"
            and (name not in settings or _matches(answers.without(name), name, given.value))
        ]
        if not idle:
            ordered = sorted(answers.given.items(), key=lambda item: (_PLACES.get(item[0], _END), item[0]))
            return replace(answers, given=dict(ordered))
        for name in idle:
            answers = answers.without(name)


def _matches(answers: Answers, name: str, value: Any) -> bool:
    """Whether a value is the effective one; the backend's alias in the file is ignored, as the choices are kinds."""
    effective = answers.value(name)
    return value in (effective, effective.partition(".")[0]) if name == BACKEND else bool(value == effective)
