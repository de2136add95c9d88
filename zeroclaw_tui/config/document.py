"""A config.toml as found, and as it becomes when some keys change and every other byte stays; why a text is no TOML.

tomlkit is no help here: what it writes is not always what it read (an array of tables with another table between its
items, a date with a space before its time), and a new key lands behind the comment of the next section.
"""

from __future__ import annotations

import copy
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from zeroclaw_tui.config.locations import BYTE_ORDER_MARK, decoded, parsed
from zeroclaw_tui.memory.errors import BrokenConfig, InspectorError, UsageError
from zeroclaw_tui.memory.text import one_line

KeyPath = tuple[str, ...]

_ABSENT = object()
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]')
"""What TOML forbids in a quoted text, and what would make a line look like another in an editor: the line ends of
Unicode and the marks that turn the direction of writing."""
_SHORT = {"\b": r"\b", "\t": r"\t", "\n": r"\n", "\f": r"\f", "\r": r"\r", '"': r"\"", "\\": r"\\"}
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
_AT = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_PLACEHOLDER = re.compile(
    r"[^\s=,\[\]]*?"
    r"(\{\{[^{}\n]*\}\}|\{%[^\n]*?%\}|<[^<>=\n]+>|\$\{[^{}\n]*\}|\$[A-Za-z_][A-Za-z0-9_]*|@@[^@\n]+@@)"
)
"""With the word it stands in."""
_SENTENCES = (
    (r"^Illegal character '\\n'|^Invalid character '\\n'", "the line ends inside a text or a value."),
    (r"^Invalid statement", "this is neither a [section], a key nor a # comment."),
    (r"^Invalid value", "invalid value: a text needs quotes, a number only digits, a switch true or false."),
    (r"^Expected '=' after a key", "the key has no = behind it."),
    (r"^Invalid initial character for a key part", "a key is expected here."),
    (r"^Expected newline or end of document", "something follows here that does not belong to the value."),
    (r"^Expected '\]+'", "the header is not closed."),
    (r"^Unterminated string|^Expected ['\"]", "unterminated string: the closing quote is missing."),
    (r"^Unclosed array", "the list is not closed: a comma or its ] is missing."),
    (r"^Unclosed inline table", "the inline table is not closed: a comma or its } is missing."),
    (r"^Unescaped '\\+' in a string", "a \\ within double quotes stands for itself only when written twice."),
    (r"^Invalid hex value|^Escaped character is not", "the \\u escape stands for no character."),
    (r"^Invalid date or datetime", "there is no such date or time."),
    (r"^(Illegal|Found invalid|Invalid) character", "this control character may not stand here."),
    (r"^Cannot (mutate|redefine|overwrite)|^Duplicate", "this adds to something that is set already."),
    (r"^Cannot declare", "this table is declared already."),
    (r"^Exceeds the limit", "a number has too many digits."),
)


@dataclass(frozen=True)
class ConfigDocument:
    """`text` is the file without its byte order mark, line ends untouched; `values` what TOML reads in it."""

    text: str = field(default="", repr=False)
    has_byte_order_mark: bool = False
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_bytes(cls, raw: bytes, path: Path) -> ConfigDocument:
        """The document of a file's bytes; `path` is only named. Raises BrokenConfig with line and column."""
        text = decoded(raw, path)
        return cls(text, raw.startswith(BYTE_ORDER_MARK), parsed(text, path))

    @classmethod
    def from_text(cls, text: str) -> ConfigDocument:
        """The document of a text of our own."""
        return cls(text, False, parsed(text, Path("config.toml")))

    @cached_property
    def sections(self) -> list[Section]:
        """The sections of the text in their order, the root first. Raises NotUnderstood as sections_of does."""
        return sections_of(self.text)

    def to_bytes(self) -> bytes:
        """What belongs into the file."""
        return (BYTE_ORDER_MARK if self.has_byte_order_mark else b"") + self.text.encode("utf-8")

    def has(self, path: KeyPath) -> bool:
        """True when the key is there."""
        return self.get(path, _ABSENT) is not _ABSENT

    def get(self, path: KeyPath, default: Any = None) -> Any:
        """The value at a path, the default where there is none (or where the way leads through no table)."""
        value: Any = self.values
        for name in path:
            if not isinstance(value, Mapping) or name not in value:
                return default
            value = value[name]
        return value

    def with_values(self, changes: Mapping[KeyPath, Any]) -> ConfigDocument:
        """The document in which exactly these keys have these values (str, bool, int, float, list of these).

        A value that equals the present one (type too, but an int may stand for a float) is not rewritten. A present
        value is replaced where it stands, its spacing and comment kept, however the table is written (header, dotted,
        inline). A new key goes behind the last key of its own section, before the blank lines and comments that
        follow, with the section's indentation and line end; a new table goes behind the last section of its family,
        else to the end. The result is read back and compared with what was meant, and every line that sets none of
        these keys with what it was, so that a slip is an InspectorError here and never a damaged file. Raises
        BrokenConfig where the way to a key leads through something that is no table, UsageError for a value that no
        file can hold.
        """
        try:
            return _edited(self, changes)
        except RecursionError as error:
            raise BrokenConfig(
                "This config nests its tables too deeply to be changed.", hint="Look at its longest keys and lists."
            ) from error


def _edited(before: ConfigDocument, changes: Mapping[KeyPath, Any]) -> ConfigDocument:
    text, meant, written = before.text, copy.deepcopy(dict(before.values)), set[KeyPath]()
    try:
        for table, wanted in _by_table(changes).items():
            present = _table_at(meant, table, wanted)
            differing = {name: value for name, value in wanted.items() if not _serves(present, name, value)}
            if differing:
                _check(present, table, differing)
                sections = sections_of(text) if written else before.sections
                text = _with_keys(text, sections, table, present, differing)
                _made_table(meant, table).update({name: _as_read(value) for name, value in differing.items()})
                written |= {(*table, name) for name in differing}
        after = ConfigDocument(text, before.has_byte_order_mark, tomllib.loads(text))
        is_right = is_same_value(after.values, meant) and _keeps_other_lines(before, after, written)
    except (tomllib.TOMLDecodeError, NotUnderstood) as error:
        raise _slip(changes) from error
    if not is_right:
        raise _slip(changes)
    return after


def _by_table(changes: Mapping[KeyPath, Any]) -> dict[KeyPath, dict[str, Any]]:
    by_table: dict[KeyPath, dict[str, Any]] = {}
    for path, value in changes.items():
        by_table.setdefault(tuple(path[:-1]), {})[path[-1]] = value
    return by_table


def _table_at(values: dict[str, Any], table: KeyPath, wanted: Mapping[str, Any]) -> dict[str, Any] | None:
    """The table as it is, None when there is none. Raises BrokenConfig when the way leads through no table."""
    found: Any = values
    for depth, name in enumerate(table, start=1):
        if name not in found:
            return None
        found = found[name]
        if not isinstance(found, dict):
            what = "a list" if isinstance(found, list) else "a single value"
            where, key = shown_key(table[:depth]), shown_key((*table, *list(wanted)[:1]))
            raise BrokenConfig(
                f"{where} is {what} in this config and not a table, so {key} cannot be set.",
                hint=f"Make {where} a table, or take it out.",
            )
    return dict(found)


def _serves(present: Mapping[str, Any] | None, name: str, value: Any) -> bool:
    return present is not None and name in present and serves_as(present[name], value)


def _check(present: Mapping[str, Any] | None, table: KeyPath, wanted: Mapping[str, Any]) -> None:
    for name, value in wanted.items():
        if isinstance((present or {}).get(name), dict):
            key = shown_key((*table, name))
            raise BrokenConfig(
                f"{key} is a table in this config where a single value belongs.",
                hint=f"Take the table {key} out, or rename it.",
            )
        try:
            (name + value_text(value)).encode("utf-8")
        except UnicodeEncodeError as error:
            raise UsageError(
                f"The value given for {shown_key((*table, name))} holds bytes that are not text.",
                hint="Give it as UTF-8.",
            ) from error


def _with_keys(
    text: str,
    sections: list[Section],
    table: KeyPath,
    present: Mapping[str, Any] | None,
    wanted: Mapping[str, Any],
) -> str:
    splices: list[Splice] = []
    missing: list[str] = []
    for name, value in wanted.items():
        if present is not None and name in present:
            splices.append(_replaced(sections, (*table, name), value_text(value)))
        else:
            missing.append(name)
    if missing:
        splices.append(new_keys(text, sections, table, {name: value_text(wanted[name]) for name in missing}))
    for splice in sorted(splices, key=lambda each: each.start, reverse=True):
        text = text[: splice.start] + splice.text + text[splice.end :]
    return text


def _replaced(sections: list[Section], path: KeyPath, written: str) -> Splice:
    for section in sections:
        for statement, _line in section.pairs:
            for pair in statement.all_pairs():
                if pair.path == path:
                    return Splice(pair.value_start, pair.value_end, written)
    raise BrokenConfig(
        f"{shown_key(path)} is a list of tables in this config where a single value belongs.",
        hint=f"Take the sections [[{shown_key(path)}]] out, or rename them.",
    )


def _made_table(values: dict[str, Any], table: KeyPath) -> dict[str, Any]:
    for name in table:
        values = values.setdefault(name, {})
    return values


def _as_read(value: Any) -> Any:
    return [_as_read(item) for item in value] if isinstance(value, list | tuple) else value


def _keeps_other_lines(before: ConfigDocument, after: ConfigDocument, written: set[KeyPath]) -> bool:
    """True when every line but those of the keys written is still there, in its order and with its line end.

    Blank lines may have come, as may the headers of new tables, and a line end behind what was the last line.
    """
    old, headers = _other_lines(before, written, frozenset())
    new, _ = _other_lines(after, written, {path[:-1] for path in written} - headers)
    at = 0
    for line in new:
        if at < len(old) and (line == old[at] or (at == len(old) - 1 and line.rstrip("\r\n") == old[at])):
            at += 1
        elif line.strip():
            return False
    return at == len(old)


def _other_lines(document: ConfigDocument, written: set[KeyPath], new: Set[KeyPath]) -> tuple[list[str], set[KeyPath]]:
    """The lines without those that set one of the keys or begin one of the new tables, and the tables with a header."""
    text, kept, position, headers = document.text, "", 0, set()
    for section in document.sections:
        statements = [
            line for pair, line in section.pairs if any(path[: len(pair.path)] == pair.path for path in written)
        ]
        if section.header is not None:
            headers.add(section.path)
            statements[:0] = [section.header] if section.path in new else []
        for line in statements:
            kept += text[position : line.start]
            position = _after_line_end(text, line.end)
    return (kept + text[position:]).splitlines(keepends=True), headers


def _slip(changes: Mapping[KeyPath, Any]) -> InspectorError:
    keys = ", ".join(shown_key(path) for path in changes)
    return InspectorError(
        f"This config is written in a way in which {keys} could not be changed safely, so nothing was written.",
        hint="Change it by hand, and report the way the sections around it are written.",
    )


@dataclass(frozen=True, slots=True)
class Splice:
    """`text` takes the place of the characters from `start` to before `end`."""

    start: int
    end: int
    text: str


def new_keys(text: str, sections: list[Section], table: KeyPath, written: Mapping[str, str]) -> Splice:
    """What puts keys, none of which is there, into a table that may not be there; `written` are the values' texts."""
    if (inline := _inline_table_around(sections, table)) is not None:
        return _into_inline_table(inline, table, written)
    if (header := _section(sections, table)) is not None:
        line = header.last_line()
        return _behind(text, line, _key_lines(line.indent, (), written)) if line else _first_root_keys(text, written)
    if (dotted := _last_of_dotted_group(sections, table)) is not None:
        section, line = dotted
        return _behind(text, line, _key_lines(line.indent, table[len(section.path) :], written))
    return _new_table(text, sections, table, written)


def _inline_table_around(sections: list[Section], table: KeyPath) -> Pair | None:
    """The innermost inline table that the table is, or lies or would lie in."""
    found = None
    for section in sections:
        for statement, _line in section.pairs:
            for pair in statement.all_pairs():
                if pair.is_inline_table and pair.path == table[: len(pair.path)]:
                    found = pair
    return found


def _into_inline_table(inline: Pair, table: KeyPath, written: Mapping[str, str]) -> Splice:
    within = table[len(inline.path) :]
    added = ", ".join(f"{key_text((*within, name))} = {value}" for name, value in written.items())
    if not inline.members:
        return Splice(inline.value_start, inline.value_end, f"{{ {added} }}")
    end = inline.members[-1].value_end
    return Splice(end, end, f", {added}")


def _section(sections: list[Section], table: KeyPath) -> Section | None:
    return next((section for section in sections if section.path == table), None)


def _last_of_dotted_group(sections: list[Section], table: KeyPath) -> tuple[Section, Line] | None:
    """The last statement `a.b.c = …` of the table, or of the innermost table above it, if dotted keys made that one.

    Such a table belongs to the section it was made in: no header may open it again.
    """
    for depth in range(len(table), 0, -1):
        group = table[:depth]
        for section in sections:
            if len(section.path) < depth:
                lines = [line for pair, line in section.pairs if len(pair.path) > depth and pair.path[:depth] == group]
                if lines:
                    return section, lines[-1]
        if any(section.path[:depth] == group for section in sections):
            return None
    return None


def _key_lines(indent: str, prefix: KeyPath, written: Mapping[str, str]) -> list[str]:
    return [f"{indent}{key_text((*prefix, name))} = {value}" for name, value in written.items()]


def _behind(text: str, line: Line, lines: list[str]) -> Splice:
    # Put in before the line end, so that a last line without one is kept too.
    end = _line_end_at(text, line.end)
    return Splice(line.end, line.end, "".join(end + each for each in lines))


def _line_end_at(text: str, position: int) -> str:
    """The line end at a position; the file's more frequent one where the text ends."""
    for end in ("\r\n", "\n"):
        if text.startswith(end, position):
            return end
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"


def _lines_of(text: str, start: int) -> list[Line]:
    """The lines from a position at the start of one, none for a text that ends there."""
    lines = []
    while start < len(text):
        after = text.find("\n", start)
        end = len(text) if after < 0 else after
        content = text[start:end].removesuffix("\r") if after >= 0 else text[start:end]
        lines.append(Line(start, "", start + len(content)))
        start = end + 1
    return lines


def _is_blank(text: str, line: Line) -> bool:
    return not text[line.start : line.end].strip()


def _is_comment(text: str, line: Line) -> bool:
    return text[line.start : line.end].lstrip().startswith("#")


def _first_root_keys(text: str, written: Mapping[str, str]) -> Splice:
    """Keys before any header: below the comments the file begins with, above those of the first section."""
    lines = _lines_of(text, 0)
    is_header = [not (_is_blank(text, line) or _is_comment(text, line)) for line in lines]
    before = is_header.index(True) if True in is_header else len(lines)
    has_header = before < len(lines)
    while has_header and before and _is_comment(text, lines[before - 1]):
        before -= 1
    added = _key_lines("", (), written)
    if before:
        return _behind(text, lines[before - 1], _set_apart(text, lines[before - 1], added, has_header))
    end = _line_end_at(text, lines[0].end) if lines else "\n"
    return Splice(0, 0, "".join(each + end for each in (*added, *([""] if has_header else []))))


def _set_apart(text: str, above: Line, added: list[str], has_below: bool) -> list[str]:
    return [*([] if _is_blank(text, above) else [""]), *added, *([""] if has_below else [])]


def _new_table(text: str, sections: list[Section], table: KeyPath, written: Mapping[str, str]) -> Splice:
    family = [section for section in sections[1:] if section.path[0] == table[0]]
    like = family[-1] if family else sections[-1]
    indent = like.header.indent if like.header else ""
    key_indent = like.pairs[-1][1].indent if like.header and like.pairs else indent
    added = [f"{indent}[{key_text(table)}]", *_key_lines(key_indent, (), written)]
    if not text:
        return Splice(0, 0, "".join(f"{each}\n" for each in added))
    last = like.last_line() if family else None
    above = _with_own_comments(text, last) if last else _lines_of(text, 0)[-1]
    below = _lines_of(text, _next_start(text, above))
    return _behind(text, above, _set_apart(text, above, added, bool(below) and not _is_blank(text, below[0])))


def _next_start(text: str, line: Line) -> int:
    after = text.find("\n", line.end)
    return len(text) if after < 0 else after + 1


def _with_own_comments(text: str, last: Line) -> Line:
    """The last of the comment lines right below a statement; the statement where they lead to the next header."""
    above = last
    for line in _lines_of(text, _next_start(text, last)):
        if _is_blank(text, line):
            return above
        if not _is_comment(text, line):
            return last
        above = line
    return above


def value_text(value: Any) -> str:
    """The TOML text of a str, bool, int, float or a list of these, on one line. Raises TypeError for anything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(value_text(item) for item in value)}]"
    raise TypeError(f"A {type(value).__name__} is no value of a config.")


def key_text(path: Iterable[str]) -> str:
    """A key of one or several parts, quoted where it has to be."""
    return ".".join(part if _BARE.fullmatch(part) else _quoted(part) for part in path)


def shown_key(path: Iterable[str]) -> str:
    """A key in a sentence: as TOML writes it, on one line and without control characters."""
    return one_line(key_text(path))


def is_same_value(one: Any, other: Any) -> bool:
    """True when two values read from TOML are the same, type included; nan is the same as nan."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same_value(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(is_same_value, one, other))
    return bool(one == other or (one != one and other != other))


def serves_as(present: Any, wanted: Any) -> bool:
    """True when a present value need not be rewritten for a wanted one: the same, or a whole number for a float."""
    if isinstance(wanted, list | tuple) and isinstance(present, list):
        return len(present) == len(wanted) and all(map(serves_as, present, wanted))
    if isinstance(wanted, float) and type(present) is int:
        return present == wanted
    return is_same_value(present, wanted)


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    return _SHORT.get(character, f"\\u{ord(character):04X}")


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


@dataclass(frozen=True, slots=True)
class Problem:
    """`line` and `column` count from 1; `sentence` begins in lower case and shows no value."""

    line: int
    column: int
    sentence: str
    hint: str


def problem_of(text: str, message: str) -> Problem:
    """What is wrong in a text that the TOML parser refuses with this message."""
    line, column = _place(text, message)
    return (
        _placeholder(text, line, column, message)
        or _set_twice(text, line)
        or Problem(line, column, _sentence(_AT.sub("", message)), "Mend that line.")
    )


def _place(text: str, message: str) -> tuple[int, int]:
    found = _AT.search(message)
    if found and found.group(1):
        return int(found.group(1)), int(found.group(2))
    # The parser names no line when the text ends too early.
    lines = text.split("\n")
    return len(lines), len(lines[-1]) + 1


def _sentence(message: str) -> str:
    """Only words of our own: the parser's might hold a piece of the text, and differ from version to version."""
    for pattern, sentence in _SENTENCES:
        if re.search(pattern, message):
            return sentence
    return "this is no valid TOML."


def _placeholder(text: str, line: int, column: int, message: str) -> Problem | None:
    """The placeholder that the place blamed is in, if nothing is said to be complete before it."""
    if message.startswith("Expected newline"):
        return None
    for found in _PLACEHOLDER.finditer(text.split("\n")[line - 1]):
        if found.start() < column <= found.end():
            return Problem(
                line,
                found.start(1) + 1,
                "this looks like a template placeholder that nobody has filled in.",
                "Put the real value in its place, or switch the line off with a # in front.",
            )
    return None


def _set_twice(text: str, number: int) -> Problem | None:
    """The statement in the blamed line, if an earlier one has set the same table or key."""
    line_ends = [found.end() for found in re.finditer("\n", text)]
    end = line_ends[number - 1] if number <= len(line_ends) else len(text)
    try:
        sections = sections_of(text, end)
    except (NotUnderstood, tomllib.TOMLDecodeError, RecursionError):
        return None
    last = sections[-1]
    if last.pairs:
        pair, line = last.pairs[-1]
        return _pair_twice(text, sections, pair, line)
    return _header_twice(text, sections[:-1], last) if last.header else None


def _at(text: str, position: int, sentence: str, hint: str) -> Problem:
    column = position - text.rfind("\n", 0, position)
    return Problem(_number(text, position), column, sentence, hint)


def _number(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _header_twice(text: str, earlier: list[Section], section: Section) -> Problem | None:
    assert section.header is not None
    name = shown_key(section.path)
    place = section.header.start + len(section.header.indent)
    for other in reversed(_since_same_item(earlier, section)):
        if other.header and other.path == section.path and not (other.is_list_item and section.is_list_item):
            line = _number(text, other.header.start)
            if other.is_list_item == section.is_list_item:
                sentence = f"[{name}] is declared a second time here; the first time is in line {line}."
                return _at(text, place, sentence, "Put the keys of both into one, and take the other out.")
            return _at(
                text,
                place,
                f"{name} is declared as a table [{name}] and as a list of tables [[{name}]]; the other is in line "
                f"{line}.",
                "Keep one of the two ways.",
            )
    written = "[[{}]]" if section.is_list_item else "[{}]"
    for pair, statement in _pairs(earlier):
        if section.path[: len(pair.path)] == pair.path or pair.path[: len(section.path)] == section.path:
            line = _number(text, statement.start)
            sentence = f"{written.format(name)} adds to {shown_key(pair.path)}, which is set already in line {line}."
            return _at(text, place, sentence, f"Take out line {line}, or write everything there.")
    return None


def _since_same_item(earlier: list[Section], section: Section) -> list[Section]:
    """The sections from the last `[[list]]` item on that the section lies in: each item has tables of its own."""
    for index in range(len(earlier) - 1, -1, -1):
        other = earlier[index]
        if other.is_list_item and len(other.path) < len(section.path) and section.path[: len(other.path)] == other.path:
            return earlier[index:]
    return earlier


def _pair_twice(text: str, sections: list[Section], pair: Pair, statement: Line) -> Problem | None:
    doubled = _doubled_member(pair)
    if doubled is not None:
        first, second = doubled
        return _given_twice(text, second, first.key_start)
    inside_lists = {section.path for section in sections if section.is_list_item}
    in_list = any(sections[-1].path[:depth] in inside_lists for depth in range(1, len(sections[-1].path) + 1))
    reachable = sections[-1:] if in_list else sections
    for other, line in _pairs(reachable):
        if other is pair:
            continue
        if other.path == pair.path:
            return _given_twice(text, pair, line.start)
        if other.path[: len(pair.path)] == pair.path or pair.path[: len(other.path)] == other.path:
            sentence = f"{shown_key(pair.path)} and {shown_key(other.path)} of line {_number(text, line.start)} cannot "
            return _at(text, pair.key_start, sentence + "both be set: one lies within the other.", "Keep one of them.")
    for section in [] if in_list else sections:
        if section.header and section.path[: len(pair.path)] == pair.path:
            sentence = (
                f"{shown_key(pair.path)} is set here, but also a table in line {_number(text, section.header.start)}."
            )
            return _at(text, pair.key_start, sentence, "Keep one of the two.")
    return None


def _given_twice(text: str, pair: Pair, first: int) -> Problem:
    sentence = f"{shown_key(pair.path)} is given a second time here; the first time is in line {_number(text, first)}."
    return _at(text, pair.key_start, sentence, "Keep one of the two.")


def _doubled_member(pair: Pair) -> tuple[Pair, Pair] | None:
    seen: dict[KeyPath, Pair] = {}
    for member in pair.all_pairs():
        if member.path in seen:
            return seen[member.path], member
        seen[member.path] = member
    return None


def _pairs(sections: list[Section]) -> list[tuple[Pair, Line]]:
    return [each for section in sections for each in section.pairs]
