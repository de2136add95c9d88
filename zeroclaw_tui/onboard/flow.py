"""The way through the questions, forward and back, with a test after each group and the review at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from zeroclaw_tui.config.schema import (
    SETTINGS,
)
from zeroclaw_tui.config.setting_names import (
    BACKEND,
)
from zeroclaw_tui.onboard import probes
from zeroclaw_tui.onboard.answers import Answers, Given
from zeroclaw_tui.onboard.plan import (
    Plan,
)
from zeroclaw_tui.onboard.probes import Finding
from zeroclaw_tui.onboard.prompts import Asker, Move
from zeroclaw_tui.onboard.question import (
    Choice,
    Question,
    shown_value,
)
from zeroclaw_tui.onboard.questions import (
    QUESTIONS,
    asked,
    question_of,
)
from zeroclaw_tui.onboard.review import SUBJECTS, finding_lines, review

Ending = Literal["write", "leave"]
REVIEW = "review"
"""The position after the last question; no question has this id."""
_ANSWERED_OUTSIDE = ("flag", "answers file")
_ORDER = {question.id: number for number, question in enumerate(QUESTIONS)}
_BY_ID = {question.id: question for question in QUESTIONS}
_NAMES = {
    "postgres.db_url": "the URL",
    "qdrant.url": "the URL",
    "qdrant.api_key": "the API key",
    "qdrant.collection": "the collection",
    "lucid.binary_path": "the path of Lucid",
    "embedding_provider": "the provider",
    "embedding_address": "the URL",
    "embedding_model": "the model",
    "embedding_api_key": "the API key",
}
"""What a failed test calls the answers that it found to be wrong, by question."""
_Relevant = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class FlowResult:
    """How the walk ended, with its answers and plan; `plan` is None where the person left and no plan was possible."""

    ending: Ending
    answers: Answers
    plan: Plan | None


def walk(
    asker: Asker, answers: Answers, *, tests: bool = True, at_review: bool = False, dry_run: bool = False
) -> FlowResult:
    """Ask one question after the other until the person writes or leaves.

    Questions answered by a flag or an answers file are not asked. After the last question of a tested subject its test
    runs. Where it fails, the person asks some questions again, continues anyway or goes back. Going back and forth
    gives the same answers as going straight through. `at_review` begins with the review.
    """
    return _Flow(asker, answers, AnswerTests(asker) if tests else None, dry_run=dry_run).run(at_review=at_review)


class _Flow:
    """One way through. `_position` is the id of the question to ask next, or REVIEW; `_repeated` are the ids of
    questions that a failed test asks again first; `_walked` are the questions that "back" returns to."""

    def __init__(self, asker: Asker, answers: Answers, tests: AnswerTests | None, *, dry_run: bool) -> None:
        self._asker = asker
        self._answers = answers
        self._tests = tests
        self._dry_run = dry_run
        self._walked: set[str] = set()
        self._repeated: list[str] = []
        self._position = REVIEW

    def run(self, *, at_review: bool) -> FlowResult:
        """Ask, and review, until it is decided."""
        if at_review:
            self._walked.update(question.id for question in self._questions())
        else:
            self._position = self._first()
        if self._position == REVIEW:
            self._run_tests()
        while True:
            if self._repeated or self._position != REVIEW:
                self._ask(_BY_ID[self._repeated[0] if self._repeated else self._position])
                continue
            result = self._review()
            if result is not None:
                return result

    def _questions(self) -> list[Question]:
        """The questions of this walk, without those answered by a flag or an answers file."""
        return [question for question in asked(self._answers) if is_to_ask(question, self._answers)]

    def _first(self) -> str:
        questions = self._questions()
        return questions[0].id if questions else REVIEW

    def _ask(self, question: Question) -> None:
        ids = [step.id for step in self._questions()]
        step = ids.index(question.id) + 1 if question.id in ids else None
        reply = self._asker.ask(question, self._answers, step)
        if reply is Move.BACK:
            self._go_back(question)
            return
        self._answers = recorded(self._answers, question.setting, question.read(self._answers, str(reply)))
        if self._repeated:
            self._repeated.pop(0)
        else:
            self._walked.add(question.id)
            following = next_question(self._answers, place_in_order(question.id))
            self._position = REVIEW if following is None else following.id
        if not self._repeated:
            self._run_tests()

    def _go_back(self, question: Question) -> None:
        self._repeated.clear()
        previous = previous_question(self._answers, place_in_order(question.id), self._walked)
        if previous is None:
            self._asker.say([[("dim", "This is the first question.")]])
        else:
            self._position = previous.id

    def _run_tests(self) -> None:
        """Run the tests before the position; a failed test may lead elsewhere."""
        reached = place_in_order(self._position)
        while self._tests and (subject := self._tests.next_due(self._answers, reached)):
            tested = self._tests.test(subject, self._answers, reached)
            self._answers = tested.answers
            if tested.is_back:
                self._position = self._last()
                return
            if tested.go_to:
                self._position = tested.go_to
                return
            if tested.repeat:
                self._repeated = list(tested.repeat)
                return

    def _last(self) -> str:
        """The last question asked so far; the first one where none was."""
        last = previous_question(self._answers, place_in_order(self._position), self._walked)
        return self._first() if last is None else last.id

    def _review(self) -> FlowResult | None:
        answers = counting(self._answers)
        findings = self._tests.findings(answers) if self._tests else ()
        can_change = self._first() != REVIEW
        reviewed = review(self._asker, answers, findings, dry_run=self._dry_run, can_change=can_change)
        if reviewed.decision in ("write", "leave"):
            ending: Ending = "write" if reviewed.decision == "write" else "leave"
            return FlowResult(ending, answers, reviewed.plan)
        self._position = self._first() if reviewed.decision == "change" else self._last()
        return None


def place_in_order(question_id: str) -> int:
    """The place of a question among all there are; the review comes after them."""
    return _ORDER.get(question_id, len(_ORDER))


def next_question(answers: Answers, after: int) -> Question | None:
    """The first question to ask behind a place; None when the review comes next."""
    later = (question for question in asked(answers) if place_in_order(question.id) > after)
    return next((question for question in later if is_to_ask(question, answers)), None)


def previous_question(answers: Answers, before: int, walked: Collection[str]) -> Question | None:
    """The nearest question further up that was asked already."""
    earlier = [
        question for question in asked(answers) if question.id in walked and place_in_order(question.id) < before
    ]
    return earlier[-1] if earlier else None


def is_to_ask(question: Question, answers: Answers) -> bool:
    """False where a flag or an answers file has the answer, unless that answer lacks something."""
    given = answers.given.get(question.setting)
    is_answered_outside = given is not None and given.source in _ANSWERED_OUTSIDE
    return not is_answered_outside or needs_answer(question, answers)


def needs_answer(question: Question, answers: Answers) -> bool:
    """True where nothing can be written before this is answered; of several questions for one setting, the last."""
    if question.setting not in answers.missing():
        return False
    same = [other.id for other in asked(answers) if other.setting == question.setting]
    return question.id == same[-1]


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
        # A failed test may ask for what the basics leave out.
        settings = {question.setting for question in asked(replace(answers, is_basic=False))}
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


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """How to continue after a test: the answers, which a correction may have changed, the ids of the questions to ask
    again before the test runs again, the id of the question to continue from, and whether the person went back."""

    answers: Answers
    repeat: tuple[str, ...] = ()
    go_to: str = ""
    is_back: bool = False


class AnswerTests:
    """Runs each test once for the same answers, and remembers what it found."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._found: dict[str, tuple[_Relevant, Finding]] = {}

    def next_due(self, answers: Answers, before: int) -> str | None:
        """The first subject that is still to be tested for these answers and whose last question lies before a place
        in the order; None when there is none."""
        counted = counting(answers)
        for subject in probes.subjects(counted):
            if self._is_tested(subject, counted):
                continue
            questions = _questions_of(subject, counted)
            # An address is tried as soon as it is typed, and again with what follows it.
            is_typed_first = subject == "postgres" and subject not in self._found
            last = questions[0 if is_typed_first else -1] if questions else None
            if last is None or place_in_order(last.id) < before:
                return subject
        return None

    def test(self, subject: str, answers: Answers, before: int) -> TestOutcome:
        """Test a subject, show the result, and ask what to do where it failed. `before` is the place in the order that
        the questions have reached."""
        counted = counting(answers)
        finding = self._asker.working(
            f"Testing {SUBJECTS.get(subject, subject)} …", lambda: asyncio.run(probes.run_probe(subject, counted))
        )
        self._found[subject] = (_relevant(subject, counted), finding)
        self._asker.say(finding_lines(finding))
        if finding.verdict != "bad":
            return TestOutcome(answers)
        return self._ask_what_next(finding, answers, before)

    def findings(self, answers: Answers) -> tuple[Finding, ...]:
        """What the tests found for exactly these answers."""
        return tuple(
            self._found[subject][1] for subject in probes.subjects(answers) if self._is_tested(subject, answers)
        )

    def _ask_what_next(self, finding: Finding, answers: Answers, before: int) -> TestOutcome:
        """Offer what can be done about a failed test, the answer that helps first, and do what is chosen."""
        wrong = _wrong_questions(finding, answers)
        names = _join(_NAMES.get(question.id, question.id) for question in wrong)
        group = _questions_of(finding.subject, counting(answers))
        others = [step for step in group if step not in wrong and place_in_order(step.id) < before]
        is_embedding = finding.subject == "embedding"
        again = Choice("again", f"{finding.remedy} and test again" if finding.remedy else "Test again")
        change = Choice("change", f"Change {names} and test again")
        other = Choice("other", f"Change other {SUBJECTS[finding.subject]} settings and test again")
        choices = [Choice("correct", _correction_text(finding))] if finding.corrections else []
        choices += [again] if finding.remedy or not wrong else []
        choices += [change] if wrong else []
        choices += [other] if others and not answers.is_basic and others[0].setting != BACKEND else []
        choices += [Choice("keep", "Keep it")]
        choices += [Choice("elsewhere", f"Choose another {'embedding provider' if is_embedding else 'backend'}")]
        chosen = self._asker.choose("What now?", choices)
        if chosen == "correct":
            return self._corrected(finding, answers)
        if chosen == "keep":
            return TestOutcome(answers)
        # Asking again is another try: the server may be up by then.
        del self._found[finding.subject]
        if isinstance(chosen, Move):
            return TestOutcome(answers, is_back=True)
        if chosen == "elsewhere":
            return TestOutcome(answers, go_to="embedding_provider" if is_embedding else "backend")
        repeated = {"again": (), "change": wrong, "other": others}[chosen]
        return TestOutcome(answers, tuple(question.id for question in repeated))

    def _corrected(self, finding: Finding, answers: Answers) -> TestOutcome:
        for setting, value in finding.corrections.items():
            answers = recorded(answers, setting, value)
        corrected = replace(finding, verdict="good", sentence=_corrected_text(finding), hint="", corrections={})
        self._found[finding.subject] = (_relevant(finding.subject, counting(answers)), corrected)
        return TestOutcome(answers)

    def _is_tested(self, subject: str, counted: Answers) -> bool:
        found = self._found.get(subject)
        return found is not None and found[0] == _relevant(subject, counted)


def _wrong_questions(finding: Finding, answers: Answers) -> list[Question]:
    """The questions whose answers a test found to be wrong, as far as they can be asked here."""
    found: dict[str, Question] = {}
    for question in QUESTIONS:
        if question.setting in finding.wrong and question.is_asked(answers):
            # Of several questions for one setting the last one asks for the part that was tested.
            found[question.setting] = question
    return list(found.values())


def _join(names: Iterable[str]) -> str:
    return " and ".join(names)


def _questions_of(subject: str, answers: Answers) -> tuple[Question, ...]:
    """The subject's own group: what concerns it and is next to the first such question but the backend itself.

    Others concern it too, such as the length of a vector a vector store: another answer there tests it again.
    """
    concerned = [question for question in asked(answers) if subject in probes.subjects(answers, (question.setting,))]
    own = [question for question in concerned if question.setting != BACKEND]
    return tuple(question for question in own if question.group == own[0].group) or tuple(concerned)


def _relevant(subject: str, counted: Answers) -> _Relevant:
    return tuple((name, counted.value(name)) for name in SETTINGS if subject in probes.subjects(counted, (name,)))


def _correction_text(finding: Finding) -> str:
    return "Set " + _join(
        f"{_name(setting)} to {shown_value(setting, value)}" for setting, value in finding.corrections.items()
    )


def _corrected_text(finding: Finding) -> str:
    return ", ".join(
        f"{_name(setting)} set to {shown_value(setting, value)}" for setting, value in finding.corrections.items()
    )


def _name(setting: str) -> str:
    return setting.rpartition(".")[2].replace("_", " ")
