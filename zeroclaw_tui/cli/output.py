"""Everything a command writes: one JSON document, or cleaned lines for people; notes and errors go to stderr."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from zeroclaw_tui.cli.options import columns
from zeroclaw_tui.config.real_binary import runnable
from zeroclaw_tui.memory.text import cells, display_text

if TYPE_CHECKING:
    from asyncio import TimerHandle

BOLD, DIM, GREEN, YELLOW, RED, CYAN = "1", "2", "32", "33", "31", "36"
NOTHING = "–"
WIDTH_IN_A_PIPE = 120
_A_WHILE = 0.7
_WAITING = "Reading memories …"
_IN_ONE_LINE = str.maketrans({"\n": "␊", "\t": "␉"})

_CONTROLS_IN_JSON = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}
"""The control characters that JSON allows, and that may steer a terminal."""
_NAMED_STYLES = {
    "title": BOLD,
    "section": DIM,
    "dim": DIM,
    "added": GREEN,
    "good": GREEN,
    "removed": RED,
    "bad": RED,
    "warning": YELLOW,
    "accent": CYAN,
    "command": CYAN,
}


class Styled(NamedTuple):
    """A text with one SGR code, which only a terminal gets."""

    text: str
    code: str


Part = str | Styled
Line = Sequence[Part]


class Waiting:
    """What stands on a terminal while a command that has said nothing for a while is at work.

    Whatever is said next takes its place.
    """

    def __init__(self) -> None:
        self._timer: TimerHandle | None = None
        self._is_shown = False

    def begin(self) -> None:
        """From now on a while counts; inside of an event loop. Nothing is ever shown where stderr is no terminal."""
        if sys.stderr.isatty():
            import asyncio

            self._timer = asyncio.get_running_loop().call_later(_A_WHILE, self._show)

    @property
    def is_on(self) -> bool:
        """Whether a while counts, or has passed."""
        return self._timer is not None

    def end(self) -> None:
        """Something is about to be said, or nothing more will be."""
        if self._timer is not None:
            self._timer.cancel()
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        self._timer, self._is_shown = None, False

    def _show(self) -> None:
        sys.stderr.write(_WAITING)
        sys.stderr.flush()
        self._is_shown = True


waiting = Waiting()


def document(value: Any, *, compact: bool = False) -> None:
    """Write one JSON document and a line end to stdout as UTF-8, whatever the locale.

    Lone surrogates, terminal controls and all that cannot be seen are escaped, so that the text is exact and visible;
    numbers JSON does not have (NaN, infinity) become null.
    """
    import json

    from zeroclaw_tui.memory.hidden_text import escaped

    waiting.end()
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, indent=None if compact else 2)
    data = escaped(text).translate(_CONTROLS_IN_JSON).encode("utf-8", "backslashreplace")
    sys.stdout.flush()
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def error_as_json(title: str, message: str, hint: str, exit_code: int, **details: Any) -> dict[str, Any]:
    """What a document tells of an error under "error"; words on stderr say the same."""
    return {"title": title, "message": runnable(message), "hint": runnable(hint), "exit_code": exit_code, **details}


def write_lines(lines: Iterable[Line], to: TextIO | None = None, *, verbatim: bool = False) -> None:
    """Write lines for people to stdout or `to`; every part is cleaned here, so that no caller can forget it.

    On a terminal a line that is too long goes on below its first word, unless it is a text to be copied, `verbatim`.
    """
    waiting.end()
    stream = sys.stdout if to is None else to
    coloured = has_colour(stream)
    room = width() if stream.isatty() and not verbatim else None
    for line in lines:
        parts = [(display_text(part if isinstance(part, str) else part.text), part) for part in line]
        if room is not None:
            parts = _broken(parts, room)
        stream.write("".join(_coloured(text, part) if coloured else text for text, part in parts) + "\n")


def styled_by_name(lines: Iterable[Sequence[tuple[str, str]]]) -> list[Line]:
    """The wizard's lines, whose parts name their style, as lines of a command."""
    return [
        [Styled(text, _NAMED_STYLES[name]) if name in _NAMED_STYLES else text for name, text in line] for line in lines
    ]


def note(text: str) -> None:
    """Say something on stderr that is not the answer, for which one waits on."""
    sys.stdout.flush()
    is_waiting = waiting.is_on
    write_lines([(line,) for line in runnable(text).split("\n")], sys.stderr)
    if is_waiting:
        waiting.begin()


def has_colour(stream: TextIO) -> bool:
    """True on a terminal that is not dumb, unless NO_COLOR is set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int:
    """How many cells a line may take."""
    return columns(WIDTH_IN_A_PIPE)


def in_one_line(text: str) -> str:
    """A text cleaned for one line with its blanks kept; line ends and tabs become their pictures."""
    return display_text(text).translate(_IN_ONE_LINE)


def _coloured(text: str, part: Part) -> str:
    return f"\x1b[{part.code}m{text}\x1b[0m" if isinstance(part, Styled) and text else text


def _broken(parts: Sequence[tuple[str, Part]], room: int) -> list[tuple[str, Part]]:
    """The same parts with line ends in place of blanks, so that no line has more cells than there is room."""
    whole = "".join(text for text, _ in parts)
    if cells(whole) <= room:
        return list(parts)
    indent = len(whole) - len(whole.lstrip(" "))
    breaks: set[int] = set()
    used, blank = 0, None
    for at, sign in enumerate(whole):
        used += cells(sign)
        if sign == "\n":
            used, blank = 0, None
        elif sign == " " and at > indent:
            blank = at
        if used > room and blank is not None:
            breaks.add(blank)
            used, blank = indent + cells(whole[blank + 1 : at + 1]), None
    begin, broken = 0, []
    for text, part in parts:
        signs = (f"\n{' ' * indent}" if begin + at in breaks else sign for at, sign in enumerate(text))
        broken.append(("".join(signs), part))
        begin += len(text)
    return broken


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
