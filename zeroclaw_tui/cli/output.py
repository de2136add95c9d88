"""The output of commands: one JSON document, or cleaned lines for people; notes and errors go to stderr."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from zeroclaw_tui.cli.options import columns
from zeroclaw_tui.memory.errors import DONE
from zeroclaw_tui.memory.text import cells, cut, display_text, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

BOLD, DIM, GREEN, YELLOW, RED, CYAN = "1", "2", "32", "33", "31", "36"
NOTHING = "–"
WIDTH_IN_A_PIPE = 120
_LEAST_ROOM = 10
_IN_ONE_LINE = str.maketrans({"\n": "␊", "\t": "␉"})
_NAMES_STORE = r"[^`]*--(?:help|location|config-dir|workspace|backend)\b"
_COMMAND_ON_STORE = rf"`(zeroclaw (?:memory (?!help )|onboard\b)(?!{_NAMES_STORE})[^`]*)`"
_options_of_store: Callable[[], str] = str
_CONTROLS_IN_JSON = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}
"""Escapes of control characters that are valid in JSON but may control a terminal."""
_NAMED_STYLES = {
    "title": BOLD, "section": DIM, "dim": DIM, "added": GREEN, "good": GREEN, "removed": RED, "bad": RED,
    "warning": YELLOW, "accent": CYAN, "command": CYAN,
}  # fmt: skip


class Styled(NamedTuple):
    """A text with an SGR code, which is written only to a terminal."""

    text: str
    code: str


Part = str | Styled
Line = Part | Sequence[Part]


def done(sentence: str) -> Line:
    """A line that says what was done."""
    return (Styled("✓", GREEN), f" {sentence}")


def print_document(value: Any, *, compact: bool = False) -> None:
    """Print a JSON document and a newline to stdout, always as UTF-8.

    Lone surrogates, terminal controls and hidden characters are escaped, so that the text is exact and visible; NaN and
    infinity, which JSON does not have, become null.
    """
    import json

    from zeroclaw_tui.memory.hidden_text import escaped

    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=None if compact else 2)
    try:
        text = encoder.encode(value)
    except ValueError:
        text = encoder.encode(_finite(value))
    data = escaped(text).translate(_CONTROLS_IN_JSON).encode("utf-8", "backslashreplace")
    sys.stdout.flush()
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def print_result(args: argparse.Namespace, value: Any, lines: Iterable[Line]) -> int:
    """Print a result as a document or for people; return the exit code."""
    if args.json:
        print_document(value)
    else:
        write_lines(lines)
    return DONE


def place_of(library: Library) -> dict[str, str]:
    """The store, with the field names of documents."""
    return {"backend": library.memory.name, "location": library.memory.about.location}


def error_as_json(title: str, message: str, hint: str, exit_code: int, **details: Any) -> dict[str, Any]:
    """The value of "error" in a document; stderr has the same text."""
    return {"title": title, "message": runnable(message), "hint": runnable(hint), "exit_code": exit_code, **details}


def name_store(options: Callable[[], str]) -> None:
    """Set the options that commands in later sentences need to open the same store."""
    global _options_of_store
    _options_of_store = options


def runnable(text: str) -> str:
    """Make our commands in backquotes in a sentence run as printed, on the store that this command opened."""
    from zeroclaw_tui.config import real_binary

    return real_binary.runnable(re.sub(_COMMAND_ON_STORE, _on_store, text))


def _on_store(found: re.Match[str]) -> str:
    """Add the options to a command; `onboard` takes only those of an install."""
    options = _options_of_store()
    if found[1].startswith("zeroclaw onboard"):
        options = re.sub(r"--(?:location|backend) (?:'[^']*'|\S+)", "", options).strip()
    return f"`{found[1]} {options}`" if options else found[0]


def write_lines(lines: Iterable[Line], to: TextIO | None = None) -> None:
    """Write lines for people to stdout or `to`; every part is cleaned here, so that callers cannot forget it."""
    stream = sys.stdout if to is None else to
    coloured = has_colour(stream)
    for line in lines:
        parts = [(display_text(part.text), part.code) for part in _style(line)]
        stream.write(
            "".join(f"\x1b[{code}m{text}\x1b[0m" if coloured and code and text else text for text, code in parts)
        )
        stream.write("\n")


def styled_by_name(lines: Iterable[Sequence[tuple[str, str]]]) -> list[Line]:
    """Convert the wizard's lines, whose parts have named styles, into lines of a command."""
    return [[Styled(text, _NAMED_STYLES.get(name, "")) for name, text in line] for line in lines]


def note(text: str) -> None:
    """Print a note on stderr."""
    sys.stdout.flush()
    write_lines(runnable(text).split("\n"), sys.stderr)


def notes(sentences: Iterable[str]) -> None:
    """Print sentences about the result on stderr."""
    for sentence in sentences:
        note(f"zeroclaw: {sentence}")


def table(
    rows: Iterable[Sequence[Line]],
    heads: Sequence[str] = (),
    *,
    right: Collection[int] = (),
    longest: int = WIDTH_IN_A_PIPE,
    indent: str = "",
) -> Iterator[Line]:
    """Lay out the heads and the rows in columns; those in `right` are right-aligned, and empty ones are left out.

    Every text becomes one line. A column is as wide as its widest text, at most `longest` cells; the last column is
    limited to the remaining width.
    """
    lines = [[_in_cell(cell) for cell in row] for row in rows]
    if not lines:
        return
    if heads:
        lines.insert(0, [[Styled(head, DIM)] for head in heads])
    sizes = [[cells(_text(cell)) for cell in column] for column in zip(*lines, strict=True)]
    first = 1 if heads else 0
    widths = [min(longest, max(column)) if any(column[first:]) else 0 for column in sizes]
    room = width() - len(indent) - sum(wide + 2 for wide in widths[:-1] if wide)
    widths[-1] = max(_LEAST_ROOM, min(room, widths[-1]))
    for line in lines:
        shown: list[Part] = [indent]
        for index, (cell, wide) in enumerate(zip(line, widths, strict=True)):
            if wide:
                shown += [*_padded(cell, wide, is_right=index in right), "  "]
        while shown and not _text(_style(shown[-1])).strip():
            shown.pop()
        yield shown


def _padded(cell: Sequence[Styled], wide: int, *, is_right: bool) -> list[Part]:
    """Cut or pad a cell to a width."""
    text = _text(cell)
    if cells(text) > wide:
        cell = [Styled(cut(text, wide), cell[0].code)]
    blank = " " * (wide - cells(_text(cell)))
    return [blank, *cell] if is_right else [*cell, blank]


def _text(parts: Iterable[Styled]) -> str:
    return "".join(part.text for part in parts)


def has_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal that is not dumb, and NO_COLOR is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int:
    """The width of a line in cells."""
    return columns(WIDTH_IN_A_PIPE)


def in_one_line(text: str) -> str:
    """Clean a text for one line, with its blanks; newlines and tabs become visible symbols."""
    return display_text(text).translate(_IN_ONE_LINE)


def masked_line(text: str) -> str:
    """A text of a memory on one line, secrets masked."""
    from zeroclaw_tui.memory.secret_text import masked

    return one_line(masked(text))


def _style(line: Line) -> Sequence[Styled]:
    parts: Sequence[Part] = [line] if isinstance(line, str | Styled) else line
    return [part if isinstance(part, Styled) else Styled(part, "") for part in parts]


def _in_cell(cell: Line) -> list[Styled]:
    most = 4 * width()
    return [Styled(text if text.isspace() else one_line(text[:most]), code) for text, code in _style(cell)]


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
