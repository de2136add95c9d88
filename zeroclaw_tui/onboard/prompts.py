"""Prompts: the protocol of an asker, and its implementation for a terminal with questionary."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from zeroclaw_tui.config.real_binary import runnable, runnable_command
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import cells, cut, display_text, one_line
from zeroclaw_tui.onboard.answers import DB_URL, Answers
from zeroclaw_tui.onboard.question import Choice, Question, shown_value

if TYPE_CHECKING:
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.layout.processors import Processor
    from prompt_toolkit.output import ColorDepth
    from prompt_toolkit.styles import Style

Part = tuple[str, str]
"""A style name and a text. A line with the single style "rule" is a heading across the width; one with "command" is
never wrapped, so that it can be copied."""
Line = Sequence[Part]
Result = TypeVar("Result")
RULE = "rule"
COMMAND = "command"
_POINTER = "❯"
_BACK_ROW = "← back"
_SIGNS = "❯←─–·•…✓✗"
_IN_ASCII = str.maketrans(_SIGNS, "><--.*~+!")
"""The replacements of our signs if the encoding of the terminal lacks them."""
_LETTERS = {"y": "yes", "n": "no"}
_UNUSED_KEYS = ("c-s", "c-o", "c-r", "c-q", "c-z")
"""Keys that would search the history or insert control characters in a prompt."""
_MAX_VALUE_WIDTH = 60
_MAX_WIDTH = 100
_PASSWORD = re.compile(
    r"^\s*(?:custom:)?[A-Za-z][\w+.\-]*://[^:/?#]*:(?P<secret>.*(?=@)|(?!\d{0,5}(?:[/?#]|$)).*)", re.DOTALL
)
"""The password of a URL, also while it is typed: up to the last "@", since a password may contain one."""
_SECRET_PARAMETER = re.compile(r"(?i)[?&;](?:[a-z_\-]*pass[a-z]*|[a-z_\-]*(?:key|token|secret))=(?P<secret>[^&;]*)")
_ESCAPES = re.compile(
    "\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])|[\x00-\x1f\x7f-\x9f\u2028\u2029]"
)
_GREY, _GREEN, _RED, _ORANGE = "#8a817a", "#86b46f", "#e8625a", "#f0834a"
_STYLES = {
    "title": "bold",
    "section": _GREY,
    "dim": _GREY,
    "added": _GREEN,
    "good": _GREEN,
    "removed": _RED,
    "bad": _RED,
    "warning": "#e3b65f",
    "accent": _ORANGE,
    COMMAND: _ORANGE,
    "pointer": f"{_ORANGE} bold",
    "highlighted": _ORANGE,
    # questionary would reverse the row of the current value.
    "selected": "noreverse bold",
    "question": "bold",
    "answer": _ORANGE,
    "text": "",
    "qmark": "",
    "instruction": _GREY,
    "validation-toolbar": f"bg:default {_RED}",
}
_PLAIN = dict.fromkeys(_STYLES, "") | {"question": "bold", "title": "bold", "selected": "noreverse bold"}


class Move(Enum):
    """What the user may choose instead of an answer."""

    BACK = "back"


class Asker(Protocol):
    """Asks the user. In every method Ctrl-C raises KeyboardInterrupt, and the end of input EOFError."""

    def ask(self, question: Question, answers: Answers, step: int | None) -> str | Move:
        """Ask for the text of an answer that `question.read` accepts, or Move.BACK. `step` is the number to show."""
        ...

    def choose(
        self, title: str, choices: Sequence[Choice], *, preset: str | None = None, back: bool = True
    ) -> str | Move:
        """Ask for one choice of a menu and return its value; with `back` also Move.BACK."""
        ...

    def say(self, lines: Sequence[Line]) -> None:
        """Show lines, cleaned and wrapped to the width; no meaning depends on colour alone."""
        ...

    def working(self, text: str, work: Callable[[], Result]) -> Result:
        """Show a spinner while `work` runs; Ctrl-C stops it."""
        ...


def is_command(line: Line) -> bool:
    """Whether a line is a command to copy."""
    return len(line) == 1 and line[0][0] == COMMAND


def with_runnable_commands(line: Line) -> Line:
    """Replace our commands in a line by commands that can be run as printed."""
    if is_command(line):
        command = line[0][1].lstrip(" ")
        indent = len(line[0][1]) - len(command)
        return [(COMMAND, " " * indent + runnable_command(command))]
    return [(name, runnable(text)) for name, text in line]


def terminal_asker() -> Asker:
    """Create the asker for a terminal: lists end with "← back", text prompts have ctrl+b for it."""
    # Prevents a warning in the middle of a question on terminals that do not report the cursor position.
    os.environ.setdefault("PROMPT_TOOLKIT_NO_CPR", "1")
    return _TerminalAsker()


@contextmanager
def without_echo() -> Iterator[None]:
    """Hide typed keys while a test runs and no prompt reads the keyboard; the next prompt still receives them."""
    import termios

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    local_flags = 3
    quiet = [*before]
    quiet[local_flags] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


class _TerminalAsker:
    """Asks with questionary, one prompt at a time."""

    def ask(self, question: Question, answers: Answers, step: int | None) -> str | Move:
        self.say(_heading(question, answers, step))
        choices, present = question.choices(answers), question.present(answers)
        if not choices:
            return self._ask_line(question, answers)
        return self._list(choices, present, back=True, mark=_label_of_current(question, answers))

    def choose(
        self, title: str, choices: Sequence[Choice], *, preset: str | None = None, back: bool = True
    ) -> str | Move:
        self.say([[], [("title", title)]])
        return self._list(choices, preset, back=back)

    def say(self, lines: Sequence[Line]) -> None:
        from prompt_toolkit import print_formatted_text
        from prompt_toolkit.formatted_text import FormattedText

        for line in lines:
            for row in _rows_of(with_runnable_commands(line)):
                fragments = [("", " "), *((f"class:{name}" if name else "", _drawn(text)) for name, text in row)]
                print_formatted_text(FormattedText(fragments), style=_style(), color_depth=_color_depth())

    def working(self, text: str, work: Callable[[], Result]) -> Result:
        from rich.console import Console

        console = Console(file=sys.stdout, no_color=not _wants_colour(), highlight=False)
        spinner = "dots" if _knows_signs() and not os.environ.get("NO_MOTION") else "simpleDots"
        with console.status(_drawn(one_line(text)), spinner=spinner) if console.is_terminal else nullcontext():
            return work()

    def _ask_line(self, question: Question, answers: Answers) -> str | Move:
        is_hidden = question.kind == "secret" and question.setting != DB_URL
        present = question.present(answers)

        def answer_of(typed: str) -> str:
            text = _ESCAPES.sub("", typed).strip()
            return present if is_hidden and not text else text

        typed = self._line(
            "" if is_hidden else present,
            lambda text: _validation_error(question, answers, answer_of(text)) or True,
            is_hidden=is_hidden,
        )
        if isinstance(typed, Move):
            self._echo(_BACK_ROW)
            return typed
        answer = answer_of(typed)
        shown = shown_value(question.setting, question.read(answers, answer)) if answer else ""
        self._echo(shown or question.default(answers) or "none")
        return answer

    def _echo(self, text: str) -> None:
        """Show the answer instead of the prompt."""
        self.say([[("accent", f"{_POINTER} {cut(one_line(text), _width() - 4)}")]])

    def _list(self, choices: Sequence[Choice], preset: str | None, *, back: bool, mark: str = "") -> str | Move:
        """Ask for one of some choices; `mark` is the word to show next to the current value."""
        import questionary

        titles = {choice.value: choice.title for choice in choices}
        chosen: Any = None
        # A key that accepts the hidden text input behind the list returns no choice.
        while chosen not in titles and chosen is not Move.BACK:
            rows: list[Any] = [
                questionary.Choice(
                    _drawn(one_line(choice.title) + (f"  ({mark})" if mark and choice.value == preset else "")),
                    value=choice.value,
                    description=_drawn(one_line(choice.about)) or None,
                )
                for choice in choices
            ]
            if back:
                rows.append(questionary.Choice(_drawn(_BACK_ROW), value=Move.BACK))
            prompt = questionary.select(
                "",
                choices=rows,
                default=preset if preset in titles else None,
                qmark="",
                pointer=_drawn(_POINTER),
                instruction=" ",
                style=_style(),
                color_depth=_color_depth(),
                erase_when_done=True,
            )
            letters = {letter: value for letter, value in _LETTERS.items() if value in titles}
            chosen = self._answer(prompt, {**letters, **({"c-b": Move.BACK} if back else {})})
        self._echo(_BACK_ROW if chosen is Move.BACK else titles[chosen])
        return chosen  # type: ignore[no-any-return]

    def _line(self, preset: str, check: Callable[[str], str | bool], *, is_hidden: bool) -> str | Move:
        import questionary

        prompt = questionary.text(
            _drawn(_POINTER),
            default=preset,
            qmark="",
            style=_style(),
            is_password=is_hidden,
            validate=check,
            validate_while_typing=False,
            input_processors=[] if is_hidden else [_hidden_secrets()],
            color_depth=_color_depth(),
            erase_when_done=True,
        )
        answer = self._answer(prompt, {"c-b": Move.BACK})
        return answer if isinstance(answer, Move) else str(answer)

    @staticmethod
    def _answer(prompt: Any, answers_by_key: Mapping[str, str | Move]) -> Any:
        from prompt_toolkit.filters import Always
        from prompt_toolkit.key_binding import merge_key_bindings

        application = prompt.application
        for window in application.layout.find_all_windows():
            # A narrow terminal would cut descriptions, and errors, which have one line.
            window.wrap_lines = Always()
            if window.height == 1:
                window.height, window.dont_extend_height = None, Always()
        application.key_bindings = merge_key_bindings([application.key_bindings, _bindings(answers_by_key)])
        # asyncio's own signal handler ends every kind of prompt.
        return application.run(set_exception_handler=False, handle_sigint=False)


def _heading(question: Question, answers: Answers, step: int | None) -> list[Line]:
    present, default = question.present(answers), question.default(answers)
    facts = []
    if not question.choices(answers):
        word = _label_of_current(question, answers)
        if present and word:
            facts.append(f"{word} {cut(shown_value(question.setting, present), _MAX_VALUE_WIDTH)}")
        if default and default != present:
            facts.append(f"default {default}")
        facts.append(f"{'enter keep   ' if present else ''}ctrl+b back")
    return [
        [],
        [(RULE, question.group if step is None else f"Step {step} · {question.group}")],
        [("title", question.text)],
        [("dim", question.about)],
        *([[("dim", "  ·  ".join(facts))]] if facts else []),
    ]


def _label_of_current(question: Question, answers: Answers) -> str:
    """The label of the current value: without a config no value is in use "now"."""
    source = answers.source(question.setting)
    if answers.situation.has_no_key:
        return "default" if source == "default" and answers.value(question.setting) is not None else ""
    return "now" if source in ("config", "default") else ""


def _validation_error(question: Question, answers: Answers, text: str) -> str | None:
    """Why an answer is invalid, as a sentence on one line; None if it is valid."""
    try:
        question.read(answers, text)
    except UsageError as problem:
        return _drawn(problem.message.replace(question.setting, "The answer"))
    return None


def _bindings(answers_by_key: Mapping[str, str | Move]) -> KeyBindings:
    """Bind keys that answer at once, and disable some of prompt_toolkit's bindings."""
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.keys import Keys

    bindings = KeyBindings()

    # In a second line, `_hidden_secrets` would not hide secrets.
    @bindings.add(Keys.BracketedPaste, eager=True)
    def insert_as_one_line(event: Any) -> None:
        event.current_buffer.insert_text(_ESCAPES.sub("", event.data))

    def answer_with(key: str, answer: str | Move) -> None:
        @bindings.add(key, eager=True)
        def leave(event: Any) -> None:
            event.app.exit(result=answer)

    for key, answer in answers_by_key.items():
        answer_with(key, answer)
    # A text pasted into a terminal without bracketed paste may contain mouse sequences.
    for key in (*_UNUSED_KEYS, Keys.Vt100MouseEvent):

        @bindings.add(key, eager=True)
        def do_nothing(event: Any) -> None:
            pass

    return bindings


def _hidden_secrets() -> Processor:
    """Create the processor that shows dots for a URL's password and secret parameters, also while they are typed."""
    from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
    from prompt_toolkit.layout.utils import explode_text_fragments

    class HiddenSecrets(Processor):
        def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
            # Replace one character by one, so that the cursor position is preserved.
            fragments = explode_text_fragments(transformation_input.fragments)
            text = "".join(fragment[1] for fragment in fragments)
            hidden = {
                index
                for pattern in (_PASSWORD, _SECRET_PARAMETER)
                for found in pattern.finditer(text)
                for index in range(*found.span("secret"))
                if text[index] != "\n"
            }
            return Transformation(
                [
                    (fragment[0], _drawn("•") if index in hidden else fragment[1])
                    for index, fragment in enumerate(fragments)
                ]
            )

    return HiddenSecrets()


def _style() -> Style:
    from prompt_toolkit.styles import Style

    return Style.from_dict(_STYLES if _wants_colour() else _PLAIN)


def _color_depth() -> ColorDepth | None:
    """One bit if no colour is wanted, else the terminal's default."""
    from prompt_toolkit.output import ColorDepth

    return None if _wants_colour() else ColorDepth.DEPTH_1_BIT


def _wants_colour() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _width() -> int:
    """The width of lines in columns, limited on very wide terminals so that lines are readable."""
    from prompt_toolkit.application import get_app_session

    return max(20, min(get_app_session().output.get_size().columns, _MAX_WIDTH))


def _knows_signs() -> bool:
    from prompt_toolkit.application import get_app_session

    try:
        _SIGNS.encode(get_app_session().output.encoding() or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _drawn(text: str) -> str:
    """Replace our signs by ASCII if the terminal lacks them."""
    return text if _knows_signs() else text.translate(_IN_ASCII)


def _rows_of(line: Line) -> list[Line]:
    """Split a line into rows; a command stays one line, so that the terminal wraps and copies it as one."""
    if is_command(line):
        return [[(COMMAND, display_text(line[0][1]).replace("\n", " "))]]
    if len(line) == 1 and line[0][0] == RULE:
        text = line[0][1]
        return [[("section", "── "), ("accent", text), ("section", " " + "─" * (_width() - 8 - cells(text)))]]
    return _wrap(line, _width() - 2)


def _wrap(line: Line, width: int) -> list[Line]:
    """Wrap one line into rows of at most `width` cells."""
    from rich.console import Console
    from rich.text import Text

    parts = [(display_text(text).replace("\n", " "), name or "text") for name, text in line]
    rows = Text.assemble(*parts, overflow="fold").wrap(Console(width=width), width)
    return [[(str(span.style), row.plain[span.start : span.end]) for span in row.spans] for row in rows]
