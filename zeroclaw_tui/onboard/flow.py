"""The way through the questions: forward, back, jumping, accepting the rest, testing, and the review at its end."""

from __future__ import annotations

import asyncio
import hashlib
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.config.document import ConfigDocument, KeyPath
from zeroclaw_tui.config.save import write_private
from zeroclaw_tui.config.setting_names import BACKEND, SETTINGS, checked_value
from zeroclaw_tui.files.disk import read_regular
from zeroclaw_tui.memory.errors import Unreadable, UsageError
from zeroclaw_tui.memory.text import mask_secrets
from zeroclaw_tui.onboard import probes
from zeroclaw_tui.onboard.answers import Answers, Given, Source
from zeroclaw_tui.onboard.plan import Plan
from zeroclaw_tui.onboard.probes import Finding
from zeroclaw_tui.onboard.prompts import Asker, Move
from zeroclaw_tui.onboard.questions import QUESTIONS, Choice, Question, asked, question_of, shown_value
from zeroclaw_tui.onboard.review import SUBJECTS, finding_lines, problem_lines, review
from zeroclaw_tui.onboard.situation import Situation

Ending = Literal["write", "leave"]
REVIEW = "review"
"""The place after the last question; no question has this id."""
_ANSWERED_OUTSIDE = ("flag", "answers file")
_ORDER = {question.id: number for number, question in enumerate(QUESTIONS)}
_LONGEST_MARKED = 20
_WITH_ADDRESS = ("postgres", "qdrant")
"""Where the first question of the group is an address, which is what is wrong most often."""
_ON_THE_DISK = ("sqlite", "markdown")
"""Where no answer is wrong but the folder, which is mended elsewhere."""
_Way = Literal["on", "address", "fix", "again", "back"]
_Relevant = tuple[tuple[str, Any], ...]
NAME = "onboard.toml"
_FORMAT = 1
_NEW = "new"
_HEAD = "Answers given to `zeroclaw onboard` before it was stopped; it offers to go on with them. No secrets in here."


@dataclass(frozen=True, slots=True)
class FlowResult:
    """How it ended, with which answers and plan; `plan` is None only where it was left and no plan could be made."""

    ending: Ending
    answers: Answers
    plan: Plan | None


def walk(
    asker: Asker, answers: Answers, *, tests: bool = True, start: Sequence[str] = (), dry_run: bool = False
) -> FlowResult:
    """Ask until the person writes or leaves. Answers are kept for the next time after each question, without secrets
    (`keep_progress`), but not in a dry run; who writes or leaves forgets them, Ctrl-C leaves them kept and goes on up.

    Questions answered by a flag or an answers file are not asked, but can be reached from the overview. After the last
    question of a tested subject its test runs; bad: fix (asks that group again), keep anyway, back. A correction found
    (a wrong dimension) is offered. Going back and forth gives the same answers as going straight through. `start`
    are the ids of the questions to ask first, its last the one to go on from, or "review"; one that is not asked is as
    good as none.
    """
    return _Flow(asker, answers, AnswerTests(asker) if tests else None, start, dry_run=dry_run).to_the_end()


class _Flow:
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

    def to_the_end(self) -> FlowResult:
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
            if tested.way in ("on", "again"):
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

    def _review(self) -> FlowResult | None:
        answers = counting(self._answers)
        findings = self._tests.findings(answers) if self._tests else ()
        can_go_back = bool(self._walked)
        reviewed = review(self._asker, answers, findings, dry_run=self._dry_run, back=can_go_back)
        if reviewed.decision in ("write", "leave"):
            ending: Ending = "write" if reviewed.decision == "write" else "leave"
            return FlowResult(ending, answers, reviewed.plan)
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
            keep_progress(self._answers, position)
        except Unreadable as problem:
            self._keeps = False
            self._asker.say(problem_lines(problem))
            self._asker.say([[("warning", "Your answers are not kept if you stop before the end.")]])


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


def choose_question(asker: Asker, answers: Answers, present: str | None = None) -> str | Move:
    """The id of the question to jump to, or Move.BACK; `present` is the id of the one that is preset."""
    questions = asked(answers)
    counted = counting(answers)
    choices = [_choice(question, answers, counted) for question in questions]
    preset = present if present in [choice.value for choice in choices] else None
    return asker.choose("Which one?", choices, preset=preset)


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


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """How a test went on, and the answers, which a correction may have changed. `way` is "on", "address" (ask for that
    alone and test again), "fix" (ask the whole group again), "again" (only test again) or "back"."""

    way: _Way
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

    def test(self, subject: str, answers: Answers) -> TestOutcome:
        """Test a subject, say what was found, and ask how to go on where it is bad."""
        counted = counting(answers)
        finding = self._asker.working(
            f"Testing {SUBJECTS.get(subject, subject)} …", lambda: asyncio.run(probes.run_probe(subject, counted))
        )
        self._found[subject] = (_relevant(subject, counted), finding)
        self._asker.say(finding_lines(finding))
        if finding.verdict != "bad":
            return TestOutcome("on", answers)
        return self._way_on(finding, answers)

    def findings(self, answers: Answers) -> tuple[Finding, ...]:
        """What the tests found for exactly these answers."""
        return tuple(
            self._found[subject][1] for subject in probes.subjects(answers) if self._is_tested(subject, answers)
        )

    def _way_on(self, finding: Finding, answers: Answers) -> TestOutcome:
        choices = [Choice("fix", "Fix it"), Choice("keep", "Keep it anyway")]
        if finding.subject in _WITH_ADDRESS:
            choices[0] = Choice("fix", "Fix something else")
            choices.insert(0, Choice("address", "Fix the address, and test again"))
        elif finding.subject in _ON_THE_DISK:
            choices[0] = Choice("again", "Test it again")
        if finding.corrections:
            choices.insert(0, Choice("correct", _correction_words(finding)))
        chosen = self._asker.choose("What now?", choices)
        if chosen == "correct":
            return self._corrected(finding, answers)
        if chosen == "keep":
            return TestOutcome("on", answers)
        # Going the same way again is asking for another try: the server may be up by then.
        del self._found[finding.subject]
        if isinstance(chosen, Move):
            return TestOutcome("back", answers)
        ways: dict[str, _Way] = {"address": "address", "fix": "fix", "again": "again"}
        return TestOutcome(ways[chosen], answers)

    def _corrected(self, finding: Finding, answers: Answers) -> TestOutcome:
        for setting, value in finding.corrections.items():
            answers = recorded(answers, setting, value)
        told = replace(
            finding, verdict="good", sentence=f"{_corrected_words(finding)}, as found", hint="", corrections={}
        )
        self._found[finding.subject] = (_relevant(finding.subject, counting(answers)), told)
        return TestOutcome("on", answers)

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
    concerned = [question for question in asked(answers) if subject in probes.subjects(answers, (question.setting,))]
    own = [question for question in concerned if question.setting != BACKEND]
    return tuple(question for question in own if question.group == own[0].group) or tuple(concerned)


def _relevant(subject: str, counted: Answers) -> _Relevant:
    return tuple((name, counted.value(name)) for name in SETTINGS if subject in probes.subjects(counted, (name,)))


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


@dataclass(frozen=True, slots=True)
class Progress:
    """What was kept: the answers, the id of the question to go on with, the settings whose answers are to be given
    again, since they were secrets, those of all that flags or an answers file said, and whether they were given for a
    config that has changed since."""

    answers: Answers
    question_id: str
    secrets: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    has_config_changed: bool = False


def keep_progress(answers: Answers, question_id: str) -> None:
    """Keep what somebody said, and where it stopped, in `<own dir>/onboard.toml`. Raises Unreadable."""
    said = {name: given for name, given in answers.given.items() if given.source != "environment"}
    open_ones = {name: given.value for name, given in said.items() if not _is_secret(name, given.value)}
    document: dict[KeyPath, Any] = {
        ("format",): _FORMAT,
        ("question",): question_id,
        ("config",): _fingerprint(answers.situation),
        ("basic",): answers.is_basic,
        ("secrets",): [name for name in said if name not in open_ones],
        ("outside",): [name for name, given in said.items() if given.source in _ANSWERED_OUTSIDE],
    }
    document |= {("answers", name): value for name, value in open_ones.items()}
    text = ConfigDocument.from_text(f"# {_HEAD}\n\n[answers]\n").with_values(document)
    write_private(_file(answers.situation), text.to_bytes())


def kept_progress(situation: Situation) -> Progress | None:
    """The kept answers put on top of the situation, and the question to go on with; None when there are none, or when
    the file cannot be used (it is then as if there were none)."""
    try:
        document = tomllib.loads(read_regular(_file(situation)).decode("utf-8"))
    except (OSError, ValueError):
        return None
    values, question, secrets = (document.get(name) for name in ("answers", "question", "secrets"))
    outside = document.get("outside", [])
    is_ours = document.get("format") == _FORMAT and isinstance(outside, list)
    if not (isinstance(values, dict) and isinstance(question, str) and isinstance(secrets, list) and is_ours):
        return None
    try:
        before = _put_on(Answers(situation, is_basic=document.get("basic") is True), values, outside)
        has_changed = document.get("config") != _fingerprint(situation)
        return Progress(before, question, tuple(map(str, secrets)), tuple(map(str, outside)), has_changed)
    except UsageError:
        return None


def put_below(answers: Answers, before: Answers) -> Answers:
    """The answers with those kept from before, where no flag and no answers file says otherwise."""
    for name, given in before.given.items():
        present = answers.given.get(name)
        if given.source != "environment" and (present is None or present.source == "environment"):
            answers = answers.with_given(name, given)
    return replace(answers, is_basic=before.is_basic)


def forget_progress(situation: Situation) -> None:
    """Remove the file. Raises Unreadable when it is there and cannot be removed."""
    path = _file(situation)
    try:
        path.unlink(missing_ok=True)
    except NotADirectoryError:
        return
    except OSError as error:
        raise Unreadable(f"{path} cannot be removed: {error.strerror}.", hint="Remove it by hand.") from error


def _put_on(answers: Answers, values: Mapping[str, Any], outside: Collection[str]) -> Answers:
    # Which settings a backend has follows from the backend.
    for name in sorted(values, key=lambda name: name != BACKEND):
        if name not in SETTINGS:
            raise UsageError(f"No setting is called {name}.")
        source: Source = "flag" if name in outside else "answered"
        answers = answers.with_given(name, Given(checked_value(name, values[name]), source, "given before"))
    return answers


def _is_secret(name: str, value: Any) -> bool:
    """True for a secret, and for what has one in it or cannot be written down."""
    text = str(value)
    return SETTINGS[name].is_secret or mask_secrets(text) != text or text.encode("utf-8", "replace").decode() != text


def _fingerprint(situation: Situation) -> str:
    return _NEW if situation.raw is None else hashlib.sha256(situation.raw).hexdigest()


def _file(situation: Situation) -> Path:
    return situation.own_dir / NAME
