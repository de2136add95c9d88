"""Why a text is no TOML, in words a person who edits it can act on."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass

from zeroclaw_tui.config.document import KeyPath, Line, NotUnderstood, Pair, Section, sections_of, shown_key

_AT = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_PLACEHOLDER = re.compile(
    r"[^\s=,\[\]]*?"
    r"(\{\{[^{}\n]*\}\}|\{%[^\n]*?%\}|<[^<>=\n]+>|\$\{[^{}\n]*\}|\$[A-Za-z_][A-Za-z0-9_]*|@@[^@\n]+@@)"
)
"""With the word it stands in."""
_MEND = "Mend that line, or see `zeroclaw onboard --restore`."
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
        or Problem(line, column, _sentence(_AT.sub("", message)), _MEND)
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
