"""The way through the questions, forward and back, with a test after each group and the review at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from zeroclaw_tui.config.schema import SETTINGS
from zeroclaw_tui.config.setting_names import BACKEND
from zeroclaw_tui.onboard import probes
from zeroclaw_tui.onboard.answers import Answers, Given
from zeroclaw_tui.onboard.plan import Plan
from zeroclaw_tui.onboard.probes import Finding
from zeroclaw_tui.onboard.prompts import Asker, Move
from zeroclaw_tui.onboard.question import Choice, Question, shown_value
from zeroclaw_tui.onboard.questions import QUESTIONS, asked, question_of
from zeroclaw_tui.onboard.review import SUBJECTS, finding_lines, review

_REVIEW = "review"
"""The position after the last question; no question has this id."""
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
"""The name of each answer that a failed test can be about, by question."""
_Relevant = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class FlowResult:
    """How the walk ended, with its answers and plan; `plan` is None where no plan was possible."""

    ending: Literal["write", "leave"]
    answers: Answers
    plan: Plan | None


def walk(
    asker: Asker, answers: Answers, *, tests: bool = True, at_review: bool = False, dry_run: bool = False
) -> FlowResult:
    """Ask one question after the other until the person writes or leaves; `at_review` begins with the review.

    Questions answered by a flag or an answers file are not asked. Going back and forth gives the same answers as going
    straight through.
    """
    return _Flow(asker, answers, tests=tests, dry_run=dry_run).run(at_review=at_review)


class _Flow:
    """One way through."""

    def __init__(self, asker: Asker, answers: Answers, *, tests: bool, dry_run: bool) -> None:
        self._asker = asker
        self._answers = answers
        self._tests = tests
        self._dry_run = dry_run
        self._position = _REVIEW
        """The id of the question to ask next."""
        self._repeated: list[str] = []
        """The questions that a failed test asks again first."""
        self._walked: set[str] = set()
        """The questions that "back" returns to."""
        self._found: dict[str, tuple[_Relevant, Finding]] = {}
        """What the test of a subject found, and for which answers."""

    def run(self, *, at_review: bool) -> FlowResult:
        """Ask, and review, until it is decided."""
        if at_review:
            self._walked.update(question.id for question in self._questions())
        else:
            self._position = self._after(-1)
        if self._position == _REVIEW:
            self._run_tests()
        while True:
            current = self._repeated[0] if self._repeated else self._position
            if current != _REVIEW:
                self._ask(_BY_ID[current])
                continue
            result = self._review()
            if result is not None:
                return result

    def _questions(self) -> list[Question]:
        """The questions of this walk, without those answered by a flag or an answers file."""
        return [question for question in asked(self._answers) if _is_to_ask(question, self._answers)]

    def _after(self, place: int) -> str:
        """The first question to ask behind a place."""
        return next((question.id for question in self._questions() if _place(question.id) > place), _REVIEW)

    def _before(self, place: int) -> str | None:
        """The nearest question further up that was asked already."""
        return next(
            (
                question.id
                for question in reversed(asked(self._answers))
                if question.id in self._walked and _place(question.id) < place
            ),
            None,
        )

    def _ask(self, question: Question) -> None:
        ids = [step.id for step in self._questions()]
        step = ids.index(question.id) + 1 if question.id in ids else None
        reply = self._asker.ask(question, self._answers, step)
        if reply is Move.BACK:
            self._repeated.clear()
            previous = self._before(_place(question.id))
            if previous is None:
                self._asker.say([[("dim", "This is the first question.")]])
            else:
                self._position = previous
            return
        self._answers = _recorded(self._answers, question.setting, question.read(self._answers, str(reply)))
        if self._repeated:
            self._repeated.pop(0)
        else:
            self._walked.add(question.id)
            self._position = self._after(_place(question.id))
        if not self._repeated:
            self._run_tests()

    def _review(self) -> FlowResult | None:
        answers = _counting(self._answers)
        findings = [self._found[subject][1] for subject in probes.subjects(answers) if self._is_tested(subject)]
        first = self._after(-1)
        reviewed = review(self._asker, answers, findings, dry_run=self._dry_run, can_change=first != _REVIEW)
        if reviewed.decision in ("write", "leave"):
            return FlowResult("write" if reviewed.decision == "write" else "leave", answers, reviewed.plan)
        last = self._before(_place(_REVIEW))
        self._position = first if reviewed.decision == "change" or last is None else last
        return None

    def _run_tests(self) -> None:
        """Run the tests that are due; a failed one may lead to another question."""
        while self._tests and not self._repeated:
            subject = self._next_due()
            if subject is None or not self._test(subject):
                return

    def _next_due(self) -> str | None:
        """The first subject to be tested for these answers, whose last question was asked."""
        counted = _counting(self._answers)
        for subject in probes.subjects(counted):
            questions = _questions_of(subject, counted)
            # A URL is tested as soon as it is typed, and again with what follows it.
            is_typed_first = subject == "postgres" and subject not in self._found
            last = questions[0 if is_typed_first else -1] if questions else None
            is_reached = last is None or _place(last.id) < _place(self._position)
            if is_reached and not self._is_tested(subject):
                return subject
        return None

    def _is_tested(self, subject: str) -> bool:
        """Whether the subject was tested with the answers as they are now."""
        found = self._found.get(subject)
        return found is not None and found[0] == _relevant(subject, _counting(self._answers))

    def _test(self, subject: str) -> bool:
        """Test a subject and ask what to do where it failed; False where the way leads elsewhere."""
        counted = _counting(self._answers)
        finding = self._asker.working(
            f"Testing {SUBJECTS.get(subject, subject)} …", lambda: asyncio.run(probes.run_probe(subject, counted))
        )
        self._found[subject] = (_relevant(subject, counted), finding)
        self._asker.say(finding_lines(finding))
        return finding.verdict != "bad" or self._ask_what_next(finding)

    def _ask_what_next(self, finding: Finding) -> bool:
        """Offer what can be done about a failed test, what helps most first; False where the way leads elsewhere."""
        wrong = _wrong_questions(finding, self._answers)
        names = " and ".join(_NAMES.get(question.id, question.id) for question in wrong)
        is_embedding = finding.subject == "embedding"
        choices = [Choice("correct", f"Set {_corrections(finding, 'to', ' and ')}")] if finding.corrections else []
        if finding.remedy or not wrong:
            choices.append(Choice("again", f"{finding.remedy} and test again" if finding.remedy else "Test again"))
        if wrong:
            choices.append(Choice("change", f"Change {names} and test again"))
        choices.append(Choice("keep", "Keep it"))
        choices.append(Choice("elsewhere", f"Choose another {'embedding provider' if is_embedding else 'backend'}"))
        chosen = self._asker.choose("What now?", choices)
        if chosen == "keep":
            return True
        if chosen == "correct":
            for setting, value in finding.corrections.items():
                self._answers = _recorded(self._answers, setting, value)
            sentence = _corrections(finding, "set to", ", ")
            corrected = replace(finding, verdict="good", sentence=sentence, hint="", corrections={})
            self._found[finding.subject] = (_relevant(finding.subject, _counting(self._answers)), corrected)
            return True
        # Asking again is another try: the server may be up by then.
        del self._found[finding.subject]
        if chosen == "again":
            return True
        if chosen == "change":
            self._repeated = [question.id for question in wrong]
        elif chosen == "elsewhere":
            self._position = "embedding_provider" if is_embedding else "backend"
        else:
            self._position = self._before(_place(self._position)) or self._after(-1)
        return False


def _place(question_id: str) -> int:
    """The place of a question among all there are; the review comes after them."""
    return _ORDER.get(question_id, len(_ORDER))


def _is_to_ask(question: Question, answers: Answers) -> bool:
    """Whether no flag or answers file has the answer, or that answer lacks something."""
    given = answers.given.get(question.setting)
    if given is None or given.source not in ("flag", "answers file"):
        return True
    # Of several questions for one setting, the last one asks for what is missing.
    same = [other.id for other in asked(answers) if other.setting == question.setting]
    return question.setting in answers.missing() and question.id == same[-1]


def _recorded(answers: Answers, setting: str, value: Any) -> Answers:
    """The answers with one more. What is so anyway is no answer of its own."""
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


def _counting(answers: Answers) -> Answers:
    """The answers that count in the end, in the order of the questions, so that new keys are written in one order.

    Answers to questions that are no longer asked do not count, nor those that say what is so anyway.
    """
    while True:
        # A failed test may ask for what the basics leave out.
        settings = {question.setting for question in asked(replace(answers, is_basic=False))}
        idle = [
            name
            for name, given in answers.given.items()
            if given.source == "answered" and (_is_left_behind(name, settings) or _is_so_anyway(answers, name))
        ]
        if not idle:
            return replace(answers, given=dict(sorted(answers.given.items(), key=_by_question)))
        for name in idle:
            answers = answers.without(name)


def _by_question(item: tuple[str, Given]) -> tuple[int, str]:
    question = question_of(item[0])
    return (_place(question.id if question else _REVIEW), item[0])


def _is_left_behind(name: str, settings: Collection[str]) -> bool:
    return name not in settings and question_of(name) is not None


def _is_so_anyway(answers: Answers, name: str) -> bool:
    return _is_same(name, answers.given[name].value, answers.without(name).value(name))


def _is_same(setting: str, value: Any, other: Any) -> bool:
    if setting == BACKEND and isinstance(value, str) and isinstance(other, str):
        # A list of backends offers kinds; the file may name kind and alias.
        return value in (other, other.partition(".")[0])
    return bool(value == other)


def _wrong_questions(finding: Finding, answers: Answers) -> Sequence[Question]:
    """The questions whose answers a test found to be wrong; of several for one setting the last, which was tested."""
    questions = (question for question in QUESTIONS if question.setting in finding.wrong)
    return [*{question.setting: question for question in questions if question.is_asked(answers)}.values()]


def _questions_of(subject: str, answers: Answers) -> Sequence[Question]:
    """The questions after which a subject is tested: the first group that concerns it, without the backend itself."""
    concerned = [question for question in asked(answers) if subject in probes.subjects(answers, (question.setting,))]
    own = [question for question in concerned if question.setting != BACKEND]
    return [question for question in own if question.group == own[0].group] or concerned


def _relevant(subject: str, counted: Answers) -> _Relevant:
    return tuple((name, counted.value(name)) for name in SETTINGS if subject in probes.subjects(counted, (name,)))


def _corrections(finding: Finding, verb: str, separator: str) -> str:
    """The corrections in words: "embedding dimensions to 768"."""
    parts: Iterable[str] = (
        f"{setting.rpartition('.')[2].replace('_', ' ')} {verb} {shown_value(setting, value)}"
        for setting, value in finding.corrections.items()
    )
    return separator.join(parts)
