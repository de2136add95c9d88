"""Where the statements of a TOML text stand: headers, keys and values with their character spans.

The text is one that a TOML parser has accepted already, so only what delimits a statement is looked at: strings,
comments, brackets.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field

KeyPath = tuple[str, ...]

_STRING = (
    r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
)
_SKIPPED_LINES = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*")
_BLANKS = re.compile(r"[ \t]*")
_BLANKS_AND_LINES = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_KEY_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_KEY = re.compile(rf"{_KEY_PART}(?:[ \t]*\.[ \t]*{_KEY_PART})*")
_TEXT = re.compile(_STRING, re.DOTALL)
_SCALAR = re.compile(r"[^,\]}#\r\n]+")
_MARK = re.compile(rf"{_STRING}|#[^\n]*|[\[\]{{}}]", re.DOTALL)
_REST_OF_LINE = re.compile(r"[^\n]*")


class NotUnderstood(ValueError):
    """A place where no statement can be made out; the text is no valid TOML."""


@dataclass(frozen=True, slots=True)
class Line:
    """The lines of one statement: `start` of the first, its `indent`, `end` of the last before its line end."""

    start: int
    indent: str
    end: int


@dataclass(frozen=True, slots=True)
class Pair:
    """A key with its value. `path` counts from the root; `members` are those of an inline table, else empty."""

    path: KeyPath
    key_start: int
    value_start: int
    value_end: int
    is_inline_table: bool
    members: tuple[Pair, ...]

    def all_pairs(self) -> Iterator[Pair]:
        """This pair, then the members of its inline table and theirs."""
        yield self
        for member in self.members:
            yield from member.all_pairs()


@dataclass(slots=True)
class Section:
    """A header with the statements below it; the first section of a text has the path () and no header line."""

    path: KeyPath
    header: Line | None
    is_list_item: bool
    pairs: list[tuple[Pair, Line]] = field(default_factory=list)

    def last_line(self) -> Line | None:
        """The line of the last statement, the header when there is none."""
        return self.pairs[-1][1] if self.pairs else self.header


def sections_of(text: str, end: int | None = None) -> list[Section]:
    """The sections of a text (of its first `end` characters) in their order, the root first.

    Raises NotUnderstood where a statement cannot be made out.
    """
    end = len(text) if end is None else end
    sections = [Section((), None, is_list_item=False)]
    position = 0
    while (start := _match(_SKIPPED_LINES, text, position).end()) < end:
        first = _match(_BLANKS, text, start).end()
        indent = text[start:first]
        if first >= end or text[first] == "#":
            break
        if text[first] == "[":
            path, is_list_item, after = _header(text, first)
            line = Line(start, indent, _line_end(text, after))
            sections.append(Section(path, line, is_list_item))
        else:
            pair = _pair(text, first, sections[-1].path)
            line = Line(start, indent, _line_end(text, pair.value_end))
            sections[-1].pairs.append((pair, line))
        position = _after_line_end(text, line.end)
    return sections


def _match(pattern: re.Pattern[str], text: str, position: int) -> re.Match[str]:
    found = pattern.match(text, position)
    if found is None:
        raise NotUnderstood(f"Nothing known stands at character {position}.")
    return found


def _line_end(text: str, position: int) -> int:
    end = _match(_REST_OF_LINE, text, position).end()
    return end - 1 if end > position and text[end - 1] == "\r" else end


def _after_line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _header(text: str, position: int) -> tuple[KeyPath, bool, int]:
    is_list_item = text.startswith("[[", position)
    brackets = "]]" if is_list_item else "]"
    path, position = _key(text, _match(_BLANKS, text, position + len(brackets)).end())
    position = _match(_BLANKS, text, position).end()
    if not text.startswith(brackets, position):
        raise NotUnderstood(f"A header is not closed at character {position}.")
    return path, is_list_item, position + len(brackets)


def _key(text: str, position: int) -> tuple[KeyPath, int]:
    found = _match(_KEY, text, position)
    written = found.group()
    if '"' not in written and "'" not in written:
        return tuple(part.strip(" \t") for part in written.split(".")), found.end()
    # Escapes and dots within quotes are the parser's own business.
    path: list[str] = []
    table: object = tomllib.loads(f"{written} = 0")
    while isinstance(table, dict):
        ((name, table),) = table.items()
        path.append(name)
    return tuple(path), found.end()


def _pair(text: str, position: int, table: KeyPath) -> Pair:
    path, after = _key(text, position)
    after = _match(_BLANKS, text, after).end()
    if not text.startswith("=", after):
        raise NotUnderstood(f"A key has no value at character {after}.")
    start = _match(_BLANKS, text, after + 1).end()
    path = table + path
    if text.startswith("{", start):
        members, end = _inline_table(text, start, path)
        return Pair(path, position, start, end, is_inline_table=True, members=members)
    return Pair(path, position, start, _value_end(text, start), is_inline_table=False, members=())


def _value_end(text: str, start: int) -> int:
    if text.startswith(('"', "'"), start):
        return _match(_TEXT, text, start).end()
    if text.startswith("[", start):
        return _list_end(text, start)
    return start + len(_match(_SCALAR, text, start).group().rstrip(" \t"))


def _list_end(text: str, start: int) -> int:
    depth = 0
    for mark in _MARK.finditer(text, start):
        if mark.group() in ("[", "{"):
            depth += 1
        elif mark.group() in ("]", "}"):
            depth -= 1
            if depth == 0:
                return mark.end()
    raise NotUnderstood(f"A list is not closed that starts at character {start}.")


def _inline_table(text: str, start: int, path: KeyPath) -> tuple[tuple[Pair, ...], int]:
    members: list[Pair] = []
    position = _match(_BLANKS_AND_LINES, text, start + 1).end()
    while not text.startswith("}", position):
        member = _pair(text, position, path)
        members.append(member)
        position = _match(_BLANKS_AND_LINES, text, member.value_end).end()
        if text.startswith(",", position):
            position = _match(_BLANKS_AND_LINES, text, position + 1).end()
        elif not text.startswith("}", position):
            raise NotUnderstood(f"An inline table is not closed at character {position}.")
    return tuple(members), position + 1
