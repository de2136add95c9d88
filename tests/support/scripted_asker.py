"""An Asker for tests: each question or menu goes to a function, which answers as a user would."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from zeroclaw_tui.onboard.answers import Answers
from zeroclaw_tui.onboard.prompts import Line, Move
from zeroclaw_tui.onboard.question import Choice, Question

Result = TypeVar("Result")


class Enter:
    """Pressing enter: accept the offered value."""


ENTER = Enter()
Reply = str | Move | Enter | type[BaseException]


@dataclass(frozen=True)
class Moment:
    """One question or menu shown to the user. `name` is the id of the question or the name of the menu, `values` are
    the offered values and `titles` the rows of a menu."""

    kind: Literal["question", "menu"]
    name: str
    title: str
    values: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    preset: str | None = None
    answers: Answers | None = field(default=None, repr=False)
    question: Question | None = field(default=None, repr=False)
    back: bool = True
    step: int | None = None


Script = Callable[[Moment], Reply]


def menu_name(values: Sequence[str]) -> str:
    """Return the name of the menu that offers these values."""
    offered = set(values)
    known = {"bad test": {"keep"}, "review": {"leave"}, "what next": {"nothing"}}
    for name, needed in known.items():
        if needed <= offered:
            return name
    return "places"


class ScriptedAsker:
    """Answers each moment with `script`; records all moments in `moments` and all output in `said`.

    A list of replies is used up one by one, then `ENTER`. An answer that no terminal would accept is an error of the
    test, and so are endless questions.
    """

    def __init__(
        self, script: Script | Sequence[Reply] = (), *, most: int = 600, extent: Literal["all", "basic"] = "all"
    ) -> None:
        """`extent` answers the wizard's question of how much to ask."""
        self._extent = extent
        self._script = script if callable(script) else _from_list(script)
        self._most = most
        self.moments: list[Moment] = []
        self.said: list[str] = []
        self.worked: list[str] = []

    @property
    def all_said(self) -> str:
        """Everything shown, one line each."""
        return "\n".join(self.said)

    def names(self, kind: str = "question") -> list[str]:
        """Return the names of the moments of one kind, in order."""
        return [moment.name for moment in self.moments if moment.kind == kind]

    def ask(self, question: Question, answers: Answers, step: int | None) -> str | Move:
        values = tuple(choice.value for choice in question.choices(answers))
        # A prompt shows all of these, so each must work with these answers.
        assert question.text
        question.default(answers)
        present = question.present(answers)
        moment = Moment("question", question.id, question.text, values, (), present, answers, question, step=step)
        reply = self._reply(moment)
        if isinstance(reply, Move):
            return reply
        if values:
            assert reply in values, f"{question.id} does not offer {reply!r}"
        question.read(answers, reply)
        return reply

    def choose(
        self, title: str, choices: Sequence[Choice], *, preset: str | None = None, back: bool = True
    ) -> str | Move:
        values, titles = tuple(choice.value for choice in choices), tuple(choice.title for choice in choices)
        assert len(set(values)) == len(values) > 0
        assert preset is None or preset in values
        if values == ("basic", "all"):
            return self._extent
        moment = Moment("menu", menu_name(values), title, values, titles, preset or values[0], back=back)
        reply = self._reply(moment)
        if isinstance(reply, Move):
            assert back, f"{title} has no way back"
            assert reply is Move.BACK
            return reply
        assert reply in values, f"{title} does not offer {reply!r}"
        return reply

    def say(self, lines: Sequence[Line]) -> None:
        self.said += ["".join(text for _, text in line) for line in lines]

    def working(self, text: str, work: Callable[[], Result]) -> Result:
        self.worked.append(text)
        return work()

    def _reply(self, moment: Moment) -> str | Move:
        self.moments.append(moment)
        assert len(self.moments) <= self._most, f"too many questions, last {self.moments[-5:]}"
        reply = self._script(moment)
        if isinstance(reply, type):
            raise reply
        if isinstance(reply, Enter):
            return moment.preset or ""
        return reply


def _from_list(replies: Sequence[Reply]) -> Script:
    left = list(replies)
    return lambda moment: left.pop(0) if left else ENTER


def answering(answers: Mapping[str, Reply | Sequence[Reply]], otherwise: Script = lambda moment: ENTER) -> Script:
    """Return a script that answers by name; a list is used up one by one, and its last reply is repeated."""
    left = {name: [*reply] if isinstance(reply, list | tuple) else [reply] for name, reply in answers.items()}

    def script(moment: Moment) -> Reply:
        replies = left.get(moment.name)
        if replies is None:
            return otherwise(moment)
        return replies.pop(0) if len(replies) > 1 else replies[0]

    return script
