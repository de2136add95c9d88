"""The Asker of a real terminal, made of questionary; with `painting` the only module that knows how a prompt looks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.config.setting_names import DEFAULT_ALIAS, place_of
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.text import cells, cut, one_line, padded
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.asker import Asker, Line, Move, Result
from zeroclaw_tui.onboard.questions.catalogue import Choice, Question, shown_value
from zeroclaw_tui.onboard.terminal.keys import MOVES, line_bindings, list_bindings
from zeroclaw_tui.onboard.terminal.painting import NARROW, Painter, cut_at_word

if TYPE_CHECKING:
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.layout.processors import Processor

POINTER = "❯"
_LISTS = ("choice", "switch")
_LETTERS = {"yes": "y", "no": "n"}
_YES_OR_NO = (Choice("yes", "Yes"), Choice("no", "No"))
_URL_SETTINGS = ("storage.postgres.db_url",)
_LONGEST_ECHO = 60
_FEW_CELLS = 14


def terminal_asker() -> Asker:
    """Questions on the terminal: lists with "← back", "overview" and "accept the rest" at their end, lines with
    ctrl+b, ctrl+o and ctrl+r for the same; NO_COLOR and dumb terminals without colour; wraps from 40 columns on."""
    # A terminal that does not answer where its cursor stands would get a warning in the middle of a question.
    os.environ.setdefault("PROMPT_TOOLKIT_NO_CPR", "1")
    return TerminalAsker(Painter())


class TerminalAsker:
    """Asks with questionary, one prompt at a time, on the terminal that prompt_toolkit's session has."""

    def __init__(self, painter: Painter) -> None:
        self._painter = painter

    def ask(self, question: Question, answers: Answers, at: int, of: int) -> str | Move:
        """The text of a valid answer, or a move."""
        heading = self._heading(question, answers, at, of)
        told = self._told(question.choices(answers))
        # On a small screen a long list pushes what stands above it away, so the question comes last.
        self.say([*heading[:2], *heading[3:], *told, [], heading[2]] if told else heading)
        if question.kind in _LISTS:
            return self._ask_list(question, answers)
        return self._ask_line(question, answers)

    def choose(
        self, title: str, choices: Sequence[Choice], *, preset: str | None = None, back: bool = True
    ) -> str | Move:
        """The value of one choice of a menu; with `back` also Move.BACK."""
        told = self._told(choices)
        self.say([[], *told, *([[]] if told else []), [("title", title)]])
        return self._list(choices, preset, (Move.BACK,) if back else ())

    def ask_text(self, title: str, preset: str, check: Callable[[str], str | None]) -> str | Move:
        """A line of text outside the questions; `check` gives a complaint or None."""
        self.say([[], [("title", title)], [("dim", "ctrl+b back")]])
        while True:
            text = self._line(preset, (Move.BACK,))
            if isinstance(text, Move):
                return text
            complaint = check(text)
            if complaint is None:
                self._echo(text)
                return text
            self._complain(complaint)
            preset = text

    def say(self, lines: Sequence[Line]) -> None:
        """Show lines, cleaned and wrapped to the width."""
        self._painter.show(lines)

    def working(self, text: str, work: Callable[[], Result]) -> Result:
        """Show that something is going on while `work` runs; Ctrl-C stops it."""
        with self._painter.spinner(text):
            return work()

    def _heading(self, question: Question, answers: Answers, at: int, of: int) -> list[Line]:
        lines: list[Line] = [
            [],
            [("rule", f"{at} of {of} · {question.group}")],
            [("title", question.text(answers))],
            [("dim", question.about(answers))],
        ]
        present = self._shown(question, answers)
        default = question.default(answers)
        # A list marks the present value itself.
        word = _standing(question, answers)
        facts = [f"{word} {present}"] if present and word and question.kind not in _LISTS else []
        if default and default != present and question.kind != "choice":
            facts.append(f"default {default}")
        if facts:
            lines.append([("dim", "  ·  ".join(facts))])
        if question.kind not in _LISTS:
            lines += self._keys_lines(keeps=bool(present))
        return lines

    def _keys_lines(self, *, keeps: bool) -> list[Line]:
        """The keys of a line of text, none of them cut in two."""
        is_narrow = self._painter.width() < NARROW
        keys = ["ctrl+b back", "ctrl+o overview", f"ctrl+r accept {'rest' if is_narrow else 'the rest'}"]
        rows = [""]
        for key in ["enter keeps it", *keys] if keeps else keys:
            row = f"{rows[-1]}   {key}".strip()
            if cells(row) < self._painter.width() - 2:
                rows[-1] = row
            else:
                rows.append(key)
        return [[("dim", row)] for row in rows]

    @staticmethod
    def _shown(question: Question, answers: Answers) -> str:
        text = question.present(answers)
        if not text:
            return ""
        shown = shown_value(question.setting, text) if question.kind == "secret" else text
        return cut(one_line(shown), _LONGEST_ECHO)

    def _ask_list(self, question: Question, answers: Answers) -> str | Move:
        choices = question.choices(answers) or _YES_OR_NO
        present = question.present(answers)
        preset = present if present in [choice.value for choice in choices] else None
        while True:
            chosen = self._list(choices, preset, tuple(Move), now=(present, _standing(question, answers)))
            if isinstance(chosen, Move):
                return chosen
            complaint = _complaint(question, answers, chosen)
            if complaint is None:
                return chosen
            self._complain(complaint)
            preset = chosen

    def _ask_line(self, question: Question, answers: Answers) -> str | Move:
        is_secret = question.kind == "secret"
        is_hidden = is_secret and question.setting not in _URL_SETTINGS
        present = question.present(answers)
        typed = "" if is_hidden else present
        while True:
            text = self._line(typed, tuple(Move), hidden=is_hidden, masks_url=is_secret and not is_hidden)
            if isinstance(text, Move):
                return text
            text = text.strip()
            if is_hidden and not text:
                text = present
            complaint = _complaint(question, answers, text)
            if complaint is None:
                shown = shown_value(question.setting, question.read(answers, text)) if is_secret and text else text
                self._echo(shown or question.default(answers) or "nothing")
                return text
            self._complain(complaint)
            typed = "" if is_hidden else text

    def _echo(self, text: str) -> None:
        """What was answered, in place of the prompt that went from the screen."""
        self.say([[("accent", f"{POINTER} {cut(one_line(text), self._painter.width() - 4)}")]])

    def _complain(self, complaint: str) -> None:
        self.say([[("bad", f"✗ {complaint}")]])

    def _list(
        self,
        choices: Sequence[Choice],
        preset: str | None,
        moves: Sequence[Move],
        *,
        now: tuple[str, str] | None = None,
    ) -> str | Move:
        """`now` is the value that holds, with the word for how it does."""
        titles = {choice.value: choice.title for choice in choices}
        while True:
            chosen = self._pointed_at(choices, preset, moves, now)
            # A key that accepts the line behind the list leaves nothing chosen.
            if isinstance(chosen, Move) or chosen in titles:
                break
        self._echo(MOVES[chosen][1] if isinstance(chosen, Move) else titles[chosen])
        return chosen

    def _pointed_at(
        self, choices: Sequence[Choice], preset: str | None, moves: Sequence[Move], now: tuple[str, str] | None
    ) -> str | Move:
        import questionary

        rows: list[Any] = [
            questionary.Choice(row, value=choice.value)
            for row, choice in zip(self._rows(choices, now), choices, strict=True)
        ]
        # The whole text of a move, since "←" alone says nothing to a screen reader.
        rows += [questionary.Choice(self._painter.drawn(MOVES[move][1]), value=move) for move in moves]
        question = questionary.select(
            "",
            choices=rows,
            default=preset,
            qmark="",
            pointer=self._painter.drawn(POINTER),
            instruction=" ",
            style=self._painter.style,
            show_description=False,
            color_depth=self._painter.color_depth,
            erase_when_done=True,
        )
        letters = {_LETTERS[choice.value]: choice.value for choice in choices if choice.value in _LETTERS}
        chosen: str | Move = self._answer(question, list_bindings(moves, letters))
        return chosen

    def _rows(self, choices: Sequence[Choice], now: tuple[str, str] | None) -> list[str]:
        """The titles, in a wide terminal with what is said about each, aligned; no row is wider than the screen."""
        width = self._painter.width() - 4
        longest = max(cells(one_line(choice.title)) for choice in choices)
        beside = max((cells(one_line(choice.about)) for choice in choices if _is_beside(choice)), default=0)
        room = min(longest, width - beside - 2)
        rows = []
        for choice in choices:
            row = one_line(choice.title)
            if choice.about and self._painter.width() >= NARROW:
                row = f"{padded(row, longest)}  {one_line(choice.about)}"
            elif _is_beside(choice):
                row = f"{padded(cut_at_word(row, room), room)}  {one_line(choice.about)}"
            mark = f"  ({now[1]})" if now is not None and now[1] and choice.value == now[0] else ""
            rows.append(self._painter.drawn(cut(row, width - len(mark)) + mark))
        return rows

    def _told(self, choices: Sequence[Choice]) -> list[Line]:
        """What is said about each choice, for above a list that has no room for it."""
        if self._painter.width() >= NARROW:
            return []
        told = [choice for choice in choices if choice.about and not _is_beside(choice)]
        return [
            [("title", choice.title), ("dim", f"{' ' if choice.title.endswith('?') else ': '}{choice.about}")]
            for choice in told
        ]

    def _line(self, preset: str, moves: Sequence[Move], *, hidden: bool = False, masks_url: bool = False) -> str | Move:
        import questionary

        processors: list[Processor] = []
        if masks_url:
            from zeroclaw_tui.onboard.terminal.masked_input import HidePassword

            processors.append(HidePassword())
        question = questionary.text(
            self._painter.drawn(POINTER),
            default=preset,
            qmark="",
            style=self._painter.style,
            is_password=hidden,
            input_processors=processors,
            key_bindings=line_bindings(moves),
            color_depth=self._painter.color_depth,
            erase_when_done=True,
        )
        answer = self._answer(question, None)
        if isinstance(answer, Move):
            self._echo(MOVES[answer][1])
            return answer
        return str(answer)

    def _answer(self, question: Any, bindings: KeyBindings | None) -> Any:
        from prompt_toolkit.key_binding import merge_key_bindings

        application = question.application
        if bindings is not None:
            application.key_bindings = merge_key_bindings([application.key_bindings, bindings])
        return question.unsafe_ask()


def _standing(question: Question, answers: Answers) -> str:
    """The word for how the value shown holds: nothing holds "now" before there is a config."""
    source = answers.source(question.setting)
    if answers.situation.has_no_key:
        value = answers.value(question.setting)
        return "default" if source == "default" and value is not None else ""
    return "now" if source in ("config", "default") else ""


def _is_beside(choice: Choice) -> bool:
    """True for words so few that a narrow list has room for them too, as the values of the overview are."""
    return 0 < cells(one_line(choice.about)) <= _FEW_CELLS


def _complaint(question: Question, answers: Answers, text: str) -> str | None:
    """Why an answer cannot be taken, None when it can."""
    try:
        question.read(answers, text)
    except WrongUse as problem:
        return str(problem).replace(question.setting, _name_in_file(question, answers))
    return None


def _name_in_file(question: Question, answers: Answers) -> str:
    """The setting as this config.toml spells it."""
    situation = answers.situation
    alias = answers.alias() if question.setting.startswith("storage.") else DEFAULT_ALIAS
    return ".".join(place_of(question.setting, situation.document, situation.target, alias))
