"""Who asks: the contract of an asker, and that of a real terminal, made of questionary."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from zeroclaw_tui.config.real_binary import runnable, runnable_command
from zeroclaw_tui.config.setting_names import DEFAULT_ALIAS, place_of
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import cells, cut, display_text, mask_secrets, one_line, padded
from zeroclaw_tui.onboard.answers import DB_URL, Answers
from zeroclaw_tui.onboard.question import (
    Choice,
    Question,
    shown_value,
)

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.layout.processors import Processor
    from prompt_toolkit.output import ColorDepth
    from prompt_toolkit.styles import Style

Part = tuple[str, str]
"""A style name and a text. Names: "", title, added, removed, section, good, bad, warning, dim, accent; a line of one
part named rule is a heading across the width, one named command is never broken, since it is to be copied."""
Line = Sequence[Part]
Result = TypeVar("Result")
POINTER = "❯"
_LISTS = ("choice", "switch")
_LETTERS = {"yes": "y", "no": "n"}
_YES_OR_NO = (Choice("yes", "Yes"), Choice("no", "No"))
_LONGEST_ECHO = 60
_USER = re.compile(r"^\s*[A-Za-z][A-Za-z0-9+.\-]*://[^:/?#]*:")
_PORT = re.compile(r"\d{0,5}(?:[/?#]|$)")
_SECRET_PARAMETER = re.compile(r"(?i)[?&;](?:[a-z_\-]*pass[a-z]*|[a-z_\-]*(?:key|token|secret))=(?P<value>[^&;]*)")
_ESCAPES = re.compile(
    "\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])|[\x00-\x1f\x7f-\x9f\u2028\u2029]"
)
_LOCAL_FLAGS = 3
"""The place of the local modes in what `termios.tcgetattr` returns."""
DOT = "•"
NARROW = 76
"""Below this many columns a list shows its titles only."""
WIDEST = 100
MARGIN = " "
RULE = "rule"
COMMAND = "command"
_COLOURS = {
    "title": "bold",
    "section": "#8a817a",
    "dim": "#8a817a",
    "added": "#86b46f",
    "good": "#86b46f",
    "removed": "#e8625a",
    "bad": "#e8625a",
    "warning": "#e3b65f",
    "accent": "#f0834a",
    COMMAND: "#f0834a",
    "pointer": "#f0834a bold",
    "highlighted": "#f0834a",
    # The row of the present value, wherever the pointer is; questionary would reverse it.
    "selected": "noreverse bold",
    "question": "bold",
    "answer": "#f0834a",
    "text": "",
    "qmark": "",
    "instruction": "#8a817a",
    "validation-toolbar": "",
}
_PLAIN = dict.fromkeys(_COLOURS, "") | {"question": "bold", "title": "bold", "selected": "noreverse bold"}
_MARK = re.compile(r" *(?:[^\w\s] )?")
"""The blanks and the sign that a line begins with."""
_IN_ASCII = str.maketrans("❯←─–·•…✓✗", "><--.*~+!")
"""What stands for each of our own signs where the terminal's encoding lacks them, a character for a character."""


class Move(Enum):
    """What a person may choose instead of an answer."""

    BACK = "back"


class Asker(Protocol):
    """Asks a person. Everywhere Ctrl-C raises KeyboardInterrupt, and the end of input EOFError."""

    def ask(self, question: Question, answers: Answers, step: int | None) -> str | Move:
        """The text of a valid answer (`question.read` took it), or Move.BACK. `step` is the number to show."""
        ...

    def choose(
        self, title: str, choices: Sequence[Choice], *, preset: str | None = None, back: bool = True
    ) -> str | Move:
        """The value of one choice of a menu; with `back` also Move.BACK."""
        ...

    def say(self, lines: Sequence[Line]) -> None:
        """Show lines; every text is cleaned and wrapped to the width, and no meaning depends on colour alone."""
        ...

    def working(self, text: str, work: Callable[[], Result]) -> Result:
        """Show that something is going on while `work` runs; Ctrl-C stops it."""
        ...


def is_command(line: Line) -> bool:
    """True for a line that is to be copied."""
    return len(line) == 1 and line[0][0] == COMMAND


def with_runnable_commands(line: Line) -> Line:
    """The line with each of our commands spelled so that it can be run as printed."""
    if is_command(line):
        text = line[0][1]
        command = text.lstrip(" ")
        return [(COMMAND, " " * (len(text) - len(command)) + runnable_command(command))]
    return [(name, runnable(text)) for name, text in line]


def terminal_asker() -> Asker:
    """Questions on the terminal: lists with "← back" at their end, lines with ctrl+b for the same; NO_COLOR and dumb
    terminals without colour; wraps from 40 columns on."""
    # A terminal that does not answer where its cursor stands would get a warning in the middle of a question.
    os.environ.setdefault("PROMPT_TOOLKIT_NO_CPR", "1")
    return TerminalAsker()


@contextmanager
def without_echo() -> Iterator[None]:
    """While a test runs no prompt reads the keyboard: hide what is typed in the meantime from the screen.

    The next prompt still receives those keys, and Ctrl-C works as ever.
    """
    import termios

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    quiet = [*before]
    quiet[_LOCAL_FLAGS] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


class TerminalAsker:
    """Asks with questionary, one prompt at a time, on the terminal that prompt_toolkit's session has."""

    def ask(self, question: Question, answers: Answers, step: int | None) -> str | Move:
        """The text of a valid answer, or Move.BACK."""
        heading = self._heading(question, answers, step)
        described = self._descriptions(question.choices(answers))
        # On a small screen a long list scrolls the lines above it away, so the question comes last.
        self.say([*heading[:2], *heading[3:], *described, [], heading[2]] if described else heading)
        if question.kind in _LISTS:
            return self._ask_list(question, answers)
        return self._ask_line(question, answers)

    def choose(
        self, title: str, choices: Sequence[Choice], *, preset: str | None = None, back: bool = True
    ) -> str | Move:
        """The value of one choice of a menu; with `back` also Move.BACK."""
        described = self._descriptions(choices)
        self.say([[], *described, *([[]] if described else []), [("title", title)]])
        return self._list(choices, preset, back=back)

    def say(self, lines: Sequence[Line]) -> None:
        """Write lines, each cleaned and wrapped at blanks, what follows indented like its beginning."""
        from prompt_toolkit import print_formatted_text
        from prompt_toolkit.formatted_text import FormattedText

        for line in lines:
            for row in _rows_of(with_runnable_commands(line)):
                fragments = [("", MARGIN), *((f"class:{name}" if name else "", _drawn(text)) for name, text in row)]
                print_formatted_text(FormattedText(fragments), style=_style(), color_depth=_color_depth())

    def working(self, text: str, work: Callable[[], Result]) -> Result:
        """Show that something is going on while `work` runs; Ctrl-C stops it."""
        with _spinner(text):
            return work()

    def _heading(self, question: Question, answers: Answers, step: int | None) -> list[Line]:
        # Without a total: the answers decide how many steps follow.
        lines: list[Line] = [
            [],
            [("rule", question.group if step is None else f"Step {step} · {question.group}")],
            [("title", question.text(answers))],
            [("dim", question.about(answers))],
        ]
        present = self._shown(question, answers)
        default = question.default(answers)
        # A list marks the present value itself.
        word = _current_value(question, answers)
        facts = [f"{word} {present}"] if present and word and question.kind not in _LISTS else []
        if default and default != present and question.kind != "choice":
            facts.append(f"default {default}")
        if facts:
            lines.append([("dim", "  ·  ".join(facts))])
        if question.kind not in _LISTS:
            lines.append([("dim", f"{'enter keep   ' if present else ''}ctrl+b back")])
        return lines

    @staticmethod
    def _shown(question: Question, answers: Answers) -> str:
        text = question.present(answers)
        if not text:
            return ""
        shown = shown_value(question.setting, text) if question.kind == "secret" else mask_secrets(text)
        return cut(one_line(shown), _LONGEST_ECHO)

    def _ask_list(self, question: Question, answers: Answers) -> str | Move:
        choices = question.choices(answers) or _YES_OR_NO
        present = question.present(answers)
        preset = present if present in [choice.value for choice in choices] else None
        while True:
            chosen = self._list(choices, preset, back=True, now=(present, _current_value(question, answers)))
            if isinstance(chosen, Move):
                return chosen
            complaint = _complaint(question, answers, chosen)
            if complaint is None:
                return chosen
            self.say([[("bad", f"✗ {complaint}")]])
            preset = chosen

    def _ask_line(self, question: Question, answers: Answers) -> str | Move:
        is_secret = question.kind == "secret"
        is_hidden = is_secret and question.setting != DB_URL
        present = question.present(answers)
        typed = "" if is_hidden else present
        complaint: str | None = None
        while True:
            text = self._line(typed, complaint=complaint, hidden=is_hidden)
            if isinstance(text, Move):
                return text
            text = text.strip()
            typed = "" if is_hidden else text
            if is_hidden and not text:
                text = present
            complaint = _complaint(question, answers, text)
            if complaint is None:
                if is_secret and text:
                    shown = shown_value(question.setting, question.read(answers, text))
                else:
                    shown = mask_secrets(text)
                self._echo(shown or question.default(answers) or "none")
                return text

    def _echo(self, text: str) -> None:
        """The answer, shown instead of the prompt."""
        self.say([[("accent", f"{POINTER} {cut(one_line(text), _width() - 4)}")]])

    def _list(
        self,
        choices: Sequence[Choice],
        preset: str | None,
        *,
        back: bool,
        now: tuple[str, str] | None = None,
    ) -> str | Move:
        """`now` is the value that holds, with the word for how it does."""
        titles = {choice.value: choice.title for choice in choices}
        while True:
            chosen = self._pointed_at(choices, preset, back, now)
            # A key that accepts the line behind the list leaves nothing chosen.
            if isinstance(chosen, Move) or chosen in titles:
                break
        self._echo(_BACK_ROW if isinstance(chosen, Move) else titles[chosen])
        return chosen

    def _pointed_at(
        self, choices: Sequence[Choice], preset: str | None, back: bool, now: tuple[str, str] | None
    ) -> str | Move:
        import questionary

        rows: list[Any] = [
            questionary.Choice(row, value=choice.value)
            for row, choice in zip(self._rows(choices, now), choices, strict=True)
        ]
        if back:
            rows.append(questionary.Choice(_drawn(_BACK_ROW), value=Move.BACK))
        question = questionary.select(
            "",
            choices=rows,
            default=preset,
            qmark="",
            pointer=_drawn(POINTER),
            instruction=" ",
            style=_style(),
            show_description=False,
            color_depth=_color_depth(),
            erase_when_done=True,
        )
        letters = {_LETTERS[choice.value]: choice.value for choice in choices if choice.value in _LETTERS}
        chosen: str | Move = self._answer(question, _list_bindings(letters, back=back))
        return chosen

    def _rows(self, choices: Sequence[Choice], now: tuple[str, str] | None) -> list[str]:
        """The titles, in a wide terminal with the description of each, aligned; no row is wider than the screen."""
        width = _width() - 4
        longest = max(cells(one_line(choice.title)) for choice in choices)
        rows = []
        for choice in choices:
            row = one_line(choice.title)
            if choice.about and _width() >= NARROW:
                row = f"{padded(row, longest)}  {one_line(choice.about)}"
            mark = f"  ({now[1]})" if now is not None and now[1] and choice.value == now[0] else ""
            rows.append(_drawn(cut(row, width - len(mark)) + mark))
        return rows

    def _descriptions(self, choices: Sequence[Choice]) -> list[Line]:
        """The description of each choice, for above a list that has no room for it."""
        if _width() >= NARROW:
            return []
        return [
            [("title", choice.title), ("dim", f"{' ' if choice.title.endswith('?') else ': '}{choice.about}")]
            for choice in choices
            if choice.about
        ]

    def _line(
        self,
        preset: str,
        *,
        complaint: str | None = None,
        hidden: bool = False,
    ) -> str | Move:
        """`complaint` says what was wrong with the text before, and goes with the prompt, so that none pile up."""
        import questionary

        rows = _rows_of([("", f"✗ {complaint}")]) if complaint else []
        drawn_rows = "".join(f"{''.join(text for _, text in row)}\n{MARGIN}" for row in rows)
        question = questionary.text(
            _drawn(f"{drawn_rows}{POINTER}"),
            default=preset,
            qmark="",
            style=_style(question="bad") if complaint else _style(),
            is_password=hidden,
            input_processors=[] if hidden else [_hidden_secrets()],
            key_bindings=_line_bindings(),
            color_depth=_color_depth(),
            erase_when_done=True,
        )
        answer = self._answer(question, None)
        if isinstance(answer, Move):
            self._echo(_BACK_ROW)
            return answer
        return str(answer)

    def _answer(self, question: Any, bindings: KeyBindings | None) -> Any:
        from prompt_toolkit.key_binding import merge_key_bindings

        application = question.application
        if bindings is not None:
            application.key_bindings = merge_key_bindings([application.key_bindings, bindings])

        def fail(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            error = context.get("exception")
            # An answer that is being taken when an interrupt comes finds the prompt ended.
            if error is not None and not application.is_done:
                application.exit(exception=error)

        # Of the prompts only a line has a key for the signal; asyncio's own handler ends each of them.
        return application.run(
            pre_run=lambda: asyncio.get_running_loop().set_exception_handler(fail),
            set_exception_handler=False,
            handle_sigint=False,
        )


def _current_value(question: Question, answers: Answers) -> str:
    """The word for how the value shown holds: nothing holds "now" before there is a config."""
    source = answers.source(question.setting)
    if answers.situation.has_no_key:
        value = answers.value(question.setting)
        return "default" if source == "default" and value is not None else ""
    return "now" if source in ("config", "default") else ""


def _complaint(question: Question, answers: Answers, text: str) -> str | None:
    """Why an answer cannot be taken, None when it can."""
    try:
        question.read(answers, text)
    except UsageError as problem:
        return str(problem).replace(question.setting, _name_in_file(question, answers))
    return None


def _name_in_file(question: Question, answers: Answers) -> str:
    """The setting as this config.toml spells it."""
    situation = answers.situation
    alias = answers.alias() if question.setting.startswith("storage.") else DEFAULT_ALIAS
    return ".".join(place_of(question.setting, situation.document, situation.target, alias))


_BACK_ROW = "← back"
_BACK_KEY = "c-b"


def _list_bindings(letters: Mapping[str, str], *, back: bool) -> KeyBindings:
    """The key of "back", the letters, and enter after escape, which a terminal sends as one key, as enter."""
    from prompt_toolkit.key_binding.key_processor import KeyPress
    from prompt_toolkit.keys import Keys

    bindings = _bindings(letters, back=back)

    @bindings.add(Keys.Escape, Keys.ControlM, eager=True)
    def take(event: Any) -> None:
        event.key_processor.feed(KeyPress(Keys.ControlM), first=True)

    # Each would accept or search the line behind the list.
    for key in ("c-s", "c-o", "c-r"):

        @bindings.add(key, eager=True)
        def do_nothing(event: Any) -> None:
            pass

    return bindings


def _line_bindings() -> KeyBindings:
    """The key of "back", and typing and pasting into a line that stays one line, without control characters."""
    from prompt_toolkit.keys import Keys

    bindings = _bindings({}, back=True)

    @bindings.add(Keys.Any)
    @bindings.add(Keys.BracketedPaste, eager=True)
    def insert(event: Any) -> None:
        event.current_buffer.insert_text(_typed_text(event.data))

    # They search lines typed before, of which there are none, and type control characters.
    for key in ("c-s", "c-q", "c-z", "c-o", "c-r"):

        @bindings.add(key, eager=True)
        def do_nothing(event: Any) -> None:
            pass

    return bindings


def _bindings(letters: Mapping[str, str], *, back: bool) -> KeyBindings:
    """Keys that answer at once: that of "back", and y and n in a list of yes and no."""
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.keys import Keys

    bindings = KeyBindings()

    # What is pasted by a terminal that does not say so may look like the mouse, which nobody asked to be told of.
    @bindings.add(Keys.Vt100MouseEvent, eager=True)
    def do_nothing(event: Any) -> None:
        pass

    def answer_with(key: str, answer: str | Move) -> None:
        @bindings.add(key, eager=True)
        def leave(event: Any) -> None:
            event.app.exit(result=answer)

    if back:
        answer_with(_BACK_KEY, Move.BACK)
    for letter, value in letters.items():
        answer_with(letter, value)
    return bindings


def _typed_text(text: str) -> str:
    """A typed or pasted text as one line: without line ends, which a narrow window adds to what is copied from it, and
    without escape sequences and other control characters."""
    return _ESCAPES.sub("", text)


def password_span(text: str) -> tuple[int, int]:
    """From where to where the password of a URL reaches, also while its end is still to come; empty without one.

    It ends at the last "@" before the path, for a password may hold one itself; until the "@" is typed, at the end.
    """
    user = _USER.match(text)
    if user is None:
        return 0, 0
    start = user.end()
    authority_end = next((at for at in range(start, len(text)) if text[at] in "/?#"), len(text))
    at = text.rfind("@", start, authority_end)
    if at < 0:
        at = text.rfind("@", start)
    if at < 0 and _PORT.match(text, start):
        return 0, 0
    return start, at if at >= 0 else len(text)


def _hidden_secrets() -> Processor:
    """Shows a dot for each character of a URL's password and secret parameters; what is edited stays what was typed."""
    from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
    from prompt_toolkit.layout.utils import explode_text_fragments

    class HiddenSecrets(Processor):
        def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
            # Cell for cell, so that the cursor stays where it is.
            fragments = explode_text_fragments(transformation_input.fragments)
            text = "".join(fragment[1] for fragment in fragments)
            spans = [password_span(text), *(found.span("value") for found in _SECRET_PARAMETER.finditer(text))]

            def hides(at: int) -> bool:
                return any(start <= at < end for start, end in spans)

            hidden: StyleAndTextTuples = [
                (fragment[0], DOT if hides(at) and fragment[1] != "\n" else fragment[1])
                for at, fragment in enumerate(fragments)
            ]
            return Transformation(hidden)

    return HiddenSecrets()


def _style(question: str = "question") -> Style:
    """The style of every prompt and line; without colour where none is wanted."""
    from prompt_toolkit.styles import Style

    styles = _COLOURS if _wants_colour() else _PLAIN
    return Style.from_dict(styles | {"question": styles[question]})


def _color_depth() -> ColorDepth | None:
    """One bit where no colour is wanted, else what the terminal can."""
    from prompt_toolkit.output import ColorDepth

    return None if _wants_colour() else ColorDepth.DEPTH_1_BIT


def _width() -> int:
    """How many columns a line may take; very wide terminals are not filled, for the eye's sake."""
    from prompt_toolkit.application import get_app_session

    return max(20, min(get_app_session().output.get_size().columns, WIDEST))


def _drawn(text: str) -> str:
    """The text with our own signs in ASCII where the terminal's encoding lacks them."""
    return text if _knows_signs() else text.translate(_IN_ASCII)


def _rule(text: str) -> Line:
    rest = _width() - 3 - cells(text) - 5
    return [("section", "── "), ("accent", text), ("section", " " + "─" * max(0, rest))]


@contextmanager
def _spinner(text: str) -> Iterator[None]:
    """An animation next to a text, removed afterwards; in a pipe nothing is written."""
    from rich.console import Console

    console = Console(file=sys.stdout, no_color=not _wants_colour(), highlight=False)
    if not console.is_terminal:
        yield
        return
    from rich.text import Text

    moving = ("dots" if _knows_signs() else "line") if not os.environ.get("NO_MOTION") else "simpleDots"
    with console.status(Text(_drawn(one_line(text))), spinner=moving):
        yield


def _rows_of(line: Line) -> list[Line]:
    """A line as rows of the screen; the terminal itself breaks a command, and copies it as the one line it is."""
    if is_command(line):
        return [[(COMMAND, display_text(line[0][1]).replace("\n", " "))]]
    is_heading = len(line) == 1 and line[0][0] == RULE
    return _wrapped(_rule(line[0][1]) if is_heading else line, _width() - 1 - len(MARGIN))


def _wrapped(line: Line, width: int) -> list[Line]:
    """One line as rows of at most `width` cells, what follows indented below the text behind a mark or a label."""
    from rich.console import Console
    from rich.text import Text

    parts = [(name or "text", display_text(text).replace("\n", " ")) for name, text in line]
    mark = _mark_of(parts)
    body = Text.assemble(*((text, name) for name, text in parts), overflow="fold")[len(mark) :]
    indent = min(cells(mark), width // 2)
    rows = body.wrap(Console(width=width), width - indent)
    starts = [(parts[0][0] if parts else "", mark), *[("", " " * indent)] * (len(rows) - 1)]
    return [
        [start, *((str(span.style), row.plain[span.start : span.end]) for span in row.spans)]
        for start, row in zip(starts, rows, strict=True)
    ]


def _mark_of(parts: Sequence[Part]) -> str:
    """What a line begins with in front of its text: a label of its own, or blanks and a sign such as "✓ "."""
    if len(parts) > 1 and parts[0][1].endswith(" "):
        return parts[0][1]
    found = _MARK.match(parts[0][1]) if parts else None
    return found.group() if found else ""


def _knows_signs() -> bool:
    from prompt_toolkit.application import get_app_session

    try:
        "❯─✓".encode(get_app_session().output.encoding() or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _wants_colour() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
