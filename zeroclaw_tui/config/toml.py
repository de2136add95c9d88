"""The text of a TOML file: parsing it with bounds, cutting it into statements, and saying what is wrong with it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from zeroclaw_tui.memory.text import one_line

KeyPath = tuple[str, ...]
StatementKind = Literal["key", "table", "list item", "other"]

MAX_LENGTH = 1 << 20
"""Characters of the longest text that is parsed: tomllib takes about a second for these."""
MAX_DEPTH = 100
"""Tables and lists within each other."""
_TOO_DEEP = "nests its values too deeply to be read"

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*|[\[\]{}\n]",
    re.DOTALL,
)
"""A string, a comment, a bracket or a line end."""
_KEY_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DEEP_KEY = re.compile(rf"^[ \t\[]*{_KEY_PART}(?:[ \t]*\.[ \t]*{_KEY_PART}){{{MAX_DEPTH}}}", re.MULTILINE)
"""A key of more than MAX_DEPTH parts, for which tomllib takes quadratic time."""
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]')
"""What TOML forbids in a quoted string, and what makes a line look like another in an editor: Unicode line ends and the
marks that change the direction of writing."""
_SHORT_ESCAPES = {"\b": r"\b", "\t": r"\t", "\n": r"\n", "\f": r"\f", "\r": r"\r", '"': r"\"", "\\": r"\\"}
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_SENTENCES = (
    (r"^Invalid value", "invalid value: a string needs quotes, a number only digits, a switch true or false."),
    (r"^Unterminated string|'\\n'|^Expected ['\"]$", "a string is not closed: its quote is missing."),
    (r"^Expected '\]+'|^Unclosed", "a header, list or table is not closed: a comma or a bracket is missing."),
    (r"^Cannot (mutate|redefine|overwrite|declare)|^Duplicate", "this key or table is set a second time here."),
    (r"^(Illegal|Found invalid|Invalid) character", "this control character is not allowed here."),
)


class TooLargeError(ValueError):
    """The text is longer, or nested deeper, than a TOML file that a person writes."""


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a text. Raises tomllib.TOMLDecodeError, and TooLargeError beyond MAX_LENGTH and MAX_DEPTH."""
    if len(text) > MAX_LENGTH:
        raise TooLargeError(f"has {len(text):,} characters; at most {MAX_LENGTH:,} are read")
    if _DEEP_KEY.search(text):
        raise TooLargeError(_TOO_DEEP)
    try:
        values = tomllib.loads(text)
    except RecursionError as error:
        raise TooLargeError(_TOO_DEEP) from error
    _require_depth(values)
    return values


def _require_depth(values: dict[str, Any]) -> None:
    level: list[Any] = [values]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise TooLargeError(_TOO_DEEP)


@dataclass(frozen=True, slots=True)
class Statement:
    """A key with its value, a header, or a blank line or comment (`kind` "other"), with its line ends.

    `path` is the full path of what it sets, and `table` the section that contains it; a header is in its own section.
    """

    text: str
    kind: StatementKind
    path: KeyPath
    table: KeyPath

    @property
    def is_header(self) -> bool:
        """Whether this is `[a]` or `[[a]]`."""
        return self.kind in ("table", "list item")

    @property
    def indent(self) -> str:
        """The blanks before its first character."""
        return self.text[: len(self.text) - len(self.text.lstrip(" \t"))]


def statements_of(text: str) -> list[Statement]:
    """Cut a text into statements; joined they are the text. Raises ValueError where one has no readable key.

    A statement ends at the first line end outside of strings and brackets.
    """
    found: list[Statement] = []
    table: KeyPath = ()
    for chunk in _chunks(text):
        start = chunk.lstrip(" \t\r\n")
        if start[:1] in ("", "#"):
            found.append(Statement(chunk, "other", (), table))
        elif start[0] == "[":
            table = _only_path(tomllib.loads(chunk))
            found.append(Statement(chunk, "list item" if start.startswith("[[") else "table", table, table))
        else:
            found.append(Statement(chunk, "key", table + _key_of(chunk), table))
    return found


def _chunks(text: str) -> Iterable[str]:
    depth = start = 0
    for token in TOKEN.finditer(text):
        first = token.group()[0]
        if first in "[{":
            depth += 1
        elif first in "]}":
            depth -= 1
        elif first == "\n" and depth <= 0:
            yield text[start : token.end()]
            start, depth = token.end(), 0
    if start < len(text):
        yield text[start:]


def _key_of(chunk: str) -> KeyPath:
    """The key of `a.b = …`: the text before the first = that is a key."""
    for equals in re.finditer("=", chunk):
        try:
            return _only_path(tomllib.loads(f"{chunk[: equals.start()]}= 0"))
        except tomllib.TOMLDecodeError:
            continue  # This = is part of a quoted key.
    raise ValueError("A statement has no key.")


def _only_path(values: Any) -> KeyPath:
    path: list[str] = []
    while values and isinstance(values, dict | list):
        if isinstance(values, dict):
            ((name, values),) = values.items()
            path.append(name)
        else:
            (values,) = values
    return tuple(path)


def value_text(value: Any) -> str:
    """The TOML text of a str, bool, int, float or a list of these, on one line. Raises TypeError for anything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_text, value))}]"
    raise TypeError(f"A config cannot hold a {type(value).__name__}.")


def key_text(path: Iterable[str]) -> str:
    """A key of one or several parts, quoted where it has to be."""
    return ".".join(part if _BARE_KEY.fullmatch(part) else _quoted(part) for part in path)


def shown_key(path: Iterable[str]) -> str:
    """A key in a sentence: as TOML writes it, on one line and without control characters."""
    return one_line(key_text(path))


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    return _SHORT_ESCAPES.get(character, f"\\u{ord(character):04X}")


def problem_of(text: str, message: str) -> tuple[int, int, str]:
    """Line and column, counted from 1, and a sentence about what is wrong with a text that tomllib refuses so.

    The sentence is our own: the parser's can contain a piece of the text, and changes with its version.
    """
    found = _PLACE.search(message)
    if found and found.group(1):
        line, column = int(found.group(1)), int(found.group(2))
    else:
        # The parser names no line when the text ends too early.
        lines = text.split("\n")
        line, column = len(lines), len(lines[-1]) + 1
    cause = _PLACE.sub("", message)
    sentences = (sentence for pattern, sentence in _SENTENCES if re.search(pattern, cause))
    return line, column, next(sentences, "this is not valid TOML.")
