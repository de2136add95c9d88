"""TOML files: reading, error messages, and splitting a text into statements."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from zeroclaw_tui.files.disk import read_regular
from zeroclaw_tui.memory.errors import BrokenConfig
from zeroclaw_tui.memory.text import one_line

KeyPath = tuple[str, ...]
StatementKind = Literal["key", "table", "list item", "other"]
BOM = b"\xef\xbb\xbf"

# `re` compiles them on first use, because reading a config does not need them.
_BARE_KEY = r"[A-Za-z0-9_-]+"
TOKEN = (
    r'(?s)"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*|[\[\]{}\n]"
)
"""A string, a comment, a bracket or a line end."""
_ESCAPED = r'["\\\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]'
"""Characters that TOML forbids in a quoted string, and those that make a line look different in an editor: Unicode line
ends and marks that change the direction of writing."""
_SHORT_ESCAPES = {"\b": r"\b", "\t": r"\t", "\n": r"\n", "\f": r"\f", "\r": r"\r", '"': r"\"", "\\": r"\\"}
_PLACE = r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$"
_SENTENCES = (
    (r"^Invalid value", "invalid value: a string needs quotes, a number only digits, a switch true or false."),
    (r"^Unterminated string|'\\n'|^Expected ['\"]$", "a string is not closed: its quote is missing."),
    (r"^Expected '\]+'|^Unclosed", "a header, list or table is not closed: a comma or a bracket is missing."),
    (r"^Cannot (mutate|redefine|overwrite|declare)|^Duplicate", "this key or table is set a second time here."),
    (r"^(Illegal|Found invalid|Invalid) character", "this control character is not allowed here."),
)


def read_config(path: Path) -> bytes | None:
    """Read the bytes of a config, or None if there is no such file. Raises BrokenConfig if it cannot be read."""
    try:
        return read_regular(path)
    except FileNotFoundError as error:
        if not os.path.islink(path):
            return None
        raise BrokenConfig(
            f"{path} is a link to {os.path.realpath(path)}, which is not there.",
            hint="Fix the link, or remove it to start with a new file.",
        ) from error
    except OSError as error:
        reason = error.strerror or "it is not a regular file"
        raise BrokenConfig(f"{path} cannot be read: {reason}.", hint="Check the path and its permissions.") from error


def read_toml(path: Path) -> dict[str, Any] | None:
    """Read a TOML file; None if there is no such file. Raises BrokenConfig with line and column."""
    raw = read_config(path)
    return None if raw is None else parse_toml(decode_toml(raw, path), path)


def decode_toml(raw: bytes, path: Path) -> str:
    """Decode a file without its byte order mark. Raises BrokenConfig if it is not UTF-8."""
    body = raw.removeprefix(BOM)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        start = body.rfind(b"\n", 0, error.start) + 1
        column = len(body[start : error.start].decode("utf-8")) + 1
        raise BrokenConfig(
            f"{path}, line {line}, column {column}: this byte is not UTF-8 text.", hint="Save the file as UTF-8."
        ) from error


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Parse a TOML text. Raises BrokenConfig with line, column and a hint, but never a value.

    The message is our own, because the parser's can contain parts of the text, and changes with its version.
    """
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        hint = "Check that this is a config of ZeroClaw."
        raise BrokenConfig(f"{path} nests its values too deeply to be read.", hint=hint) from error
    except tomllib.TOMLDecodeError as error:
        found = re.search(_PLACE, str(error))
        # The parser's message has no line number if the text ends too early.
        line, column = (
            found.groups() if found and found[1] else (text.count("\n") + 1, len(text.rpartition("\n")[2]) + 1)
        )
        cause = re.sub(_PLACE, "", str(error))
        sentences = (sentence for pattern, sentence in _SENTENCES if re.search(pattern, cause))
        raise BrokenConfig(
            f"{path}, line {line}, column {column}: {next(sentences, 'this is not valid TOML.')}",
            hint="Fix that line and try again.",
        ) from error


class Statement(NamedTuple):
    """A key with its value, a header, or a blank line or comment (`kind` "other"), with its line ends.

    `path` is the full path of its key or table, and `table` the section that contains it, for a header itself.
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
    """Split a text into statements; joined they are the text. Raises ValueError if one has no valid key.

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
    for token in re.finditer(TOKEN, text):
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
    """Format a key of one or several parts, quoted if necessary."""
    return ".".join(part if re.fullmatch(_BARE_KEY, part) else _quoted(part) for part in path)


def shown_key(path: Iterable[str]) -> str:
    """Format a key for a sentence, on one line and without control characters."""
    return one_line(key_text(path))


def _quoted(text: str) -> str:
    return f'"{re.sub(_ESCAPED, _escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    return _SHORT_ESCAPES.get(character, f"\\u{ord(character):04X}")
