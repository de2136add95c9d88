"""Where new keys and new tables go in a TOML text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from zeroclaw_tui.config.document.statements import KeyPath, Line, Pair, Section
from zeroclaw_tui.config.document.values import key_text


@dataclass(frozen=True, slots=True)
class Splice:
    """`text` takes the place of the characters from `start` to before `end`."""

    start: int
    end: int
    text: str


def new_keys(text: str, sections: list[Section], table: KeyPath, written: Mapping[str, str]) -> Splice:
    """What puts keys, none of which is there, into a table that may not be there; `written` are the values' texts."""
    if (inline := _inline_table(sections, table)) is not None:
        return _into_inline_table(inline, table, written)
    if (header := _section(sections, table)) is not None:
        line = header.last_line()
        return _behind(text, line, _key_lines(line.indent, (), written)) if line else _first_root_keys(text, written)
    if (dotted := _last_of_dotted_group(sections, table)) is not None:
        section, line = dotted
        return _behind(text, line, _key_lines(line.indent, table[len(section.path) :], written))
    return _new_table(text, sections, table, written)


def _inline_table(sections: list[Section], table: KeyPath) -> Pair | None:
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
