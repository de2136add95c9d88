"""Testing what was answered, and the three ways on when a test is bad: fix it, keep it anyway, back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any, Literal

from zeroclaw_tui.config.setting_names import BACKEND, SETTINGS
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.asker import Asker, Move
from zeroclaw_tui.onboard.probes import run
from zeroclaw_tui.onboard.probes.finding import Finding
from zeroclaw_tui.onboard.questions.catalogue import Choice, Question, asked, shown_value
from zeroclaw_tui.onboard.summary import SUBJECTS, finding_lines
from zeroclaw_tui.onboard.walk.route import counting, place_in_order, recorded

TITLE = "What now?"
_WITH_ADDRESS = ("postgres", "qdrant")
"""Where the first question of the group is an address, which is what is wrong most often."""
_Relevant = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Tested:
    """How a test went on, and the answers, which a correction may have changed. `way` is "on", "address" (ask for that
    alone and test again), "fix" (ask the whole group again) or "back"."""

    way: Literal["on", "address", "fix", "back"]
    answers: Answers


class AnswerTests:
    """Runs each test once for the same answers, and remembers what it found."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._found: dict[str, tuple[_Relevant, Finding]] = {}

    def next_due(self, answers: Answers, before: int) -> str | None:
        """The first subject that is still to be tested for these answers and whose last question lies before a place
        in the order; None when there is none."""
        counted = counting(answers)
        for subject in run.subjects(counted):
            if self._is_tested(subject, counted):
                continue
            questions = _questions_of(subject, counted)
            # An address is tried as soon as it is typed, and again with what follows it.
            is_typed_first = subject == "postgres" and subject not in self._found
            last = questions[0 if is_typed_first else -1] if questions else None
            if last is None or place_in_order(last.id) < before:
                return subject
        return None

    def test(self, subject: str, answers: Answers) -> Tested:
        """Test a subject, say what was found, and ask how to go on where it is bad."""
        counted = counting(answers)
        finding = self._asker.working(
            f"Testing {SUBJECTS.get(subject, subject)} …", lambda: asyncio.run(run.run_probe(subject, counted))
        )
        self._found[subject] = (_relevant(subject, counted), finding)
        self._asker.say(finding_lines(finding))
        if finding.verdict != "bad":
            return Tested("on", answers)
        return self._way_on(finding, answers)

    def findings(self, answers: Answers) -> tuple[Finding, ...]:
        """What the tests found for exactly these answers."""
        return tuple(self._found[subject][1] for subject in run.subjects(answers) if self._is_tested(subject, answers))

    def _way_on(self, finding: Finding, answers: Answers) -> Tested:
        choices = [Choice("fix", "Fix it"), Choice("keep", "Keep it anyway")]
        if finding.subject in _WITH_ADDRESS:
            choices[0] = Choice("fix", "Fix something else")
            choices.insert(0, Choice("address", "Fix the address, and test again"))
        if finding.corrections:
            choices.insert(0, Choice("correct", _correction_words(finding)))
        chosen = self._asker.choose(TITLE, choices)
        if chosen == "correct":
            return self._corrected(finding, answers)
        if chosen == "keep":
            return Tested("on", answers)
        # Going the same way again is asking for another try: the server may be up by then.
        del self._found[finding.subject]
        if isinstance(chosen, Move):
            return Tested("back", answers)
        return Tested("address" if chosen == "address" else "fix", answers)

    def _corrected(self, finding: Finding, answers: Answers) -> Tested:
        for setting, value in finding.corrections.items():
            answers = recorded(answers, setting, value)
        told = replace(
            finding, verdict="good", sentence=f"{_corrected_words(finding)}, as found", hint="", corrections={}
        )
        self._found[finding.subject] = (_relevant(finding.subject, counting(answers)), told)
        return Tested("on", answers)

    def _is_tested(self, subject: str, counted: Answers) -> bool:
        found = self._found.get(subject)
        return found is not None and found[0] == _relevant(subject, counted)


def question_to_fix(subject: str, answers: Answers) -> str:
    """The id of the first question of the subject's own group; that of the backend where it has none of its own."""
    questions = _questions_of(subject, answers)
    return questions[0].id if questions else asked(answers)[0].id


def _questions_of(subject: str, answers: Answers) -> tuple[Question, ...]:
    """The subject's own group: what concerns it and stands beside the first such question but the backend itself.

    Others concern it too, such as the length of a vector a vector store: another answer there tests it again.
    """
    concerned = [question for question in asked(answers) if subject in run.subjects(answers, (question.setting,))]
    own = [question for question in concerned if question.setting != BACKEND]
    return tuple(question for question in own if question.group == own[0].group) or tuple(concerned)


def _relevant(subject: str, counted: Answers) -> _Relevant:
    return tuple((name, counted.value(name)) for name in SETTINGS if subject in run.subjects(counted, (name,)))


def _correction_words(finding: Finding) -> str:
    return "Set " + " and ".join(
        f"{_words(setting)} to {shown_value(setting, value)}" for setting, value in finding.corrections.items()
    )


def _corrected_words(finding: Finding) -> str:
    return ", ".join(
        f"{_words(setting)} set to {shown_value(setting, value)}" for setting, value in finding.corrections.items()
    )


def _words(setting: str) -> str:
    return setting.rpartition(".")[2].replace("_", " ")
