"""Set keys in the statements of a TOML text. tomlkit edits one statement at a time; all others are copied.

tomlkit gets single statements because it does not preserve every text with several tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import tomlkit
from tomlkit.items import InlineTable

from zeroclaw_tui.config.toml import KeyPath, Statement, StatementKind, key_text, value_text


def edited_text(statements: Iterable[Statement], changes: Mapping[KeyPath, Any]) -> str:
    """Set keys, and return the text of all statements."""
    lines = list(statements)
    for path, value in changes.items():
        at = _find(lines, path)
        if at is None:
            _add(lines, path, value_text(value))
        else:
            lines[at] = _set(lines[at], path, value)
    return "".join(line.text for line in lines)


def _find(lines: list[Statement], path: KeyPath) -> int | None:
    """Index of the statement that sets the key, or the inline table that would contain it."""
    matches = (at for at, line in enumerate(lines) if line.kind == "key" and line.path == path[: len(line.path)])
    return next(matches, None)


def _set(line: Statement, path: KeyPath, value: Any) -> Statement:
    """Set a key in its statement, preserving spacing, comment and line end."""
    document: Any = tomlkit.parse(line.text)
    names = path[len(line.table) :]
    table, outer, depth = document, document, 0
    for number, name in enumerate(names[:-1], 1):
        below = table.get(name) if table is not None else None
        if isinstance(below, InlineTable):
            outer, depth = table, number
        table = below
    if table is not None and names[-1] in table:
        table[names[-1]] = tomlkit.value(value_text(value))
    else:
        # tomlkit adds a key to an inline table without the spaces around it.
        before = outer[names[depth - 1]].as_string()
        added, inside = f"{key_text(names[depth:])} = {value_text(value)}", before[1:-1].rstrip()
        after = f"{{{inside}, {added}{before[1 + len(inside) :]}" if inside.strip() else f"{{ {added} }}"
        outer[names[depth - 1]] = tomlkit.value(after)
    return line._replace(text=tomlkit.dumps(document))


def _add(lines: list[Statement], path: KeyPath, value: str) -> None:
    """Add a key after the last one of its section or dotted group, or in a new section."""
    table = path[:-1]
    own = [at for at, line in enumerate(lines) if line.table == table and line.kind != "other"]
    if own:
        return _insert(lines, own[-1] + 1, f"{lines[own[-1]].indent}{key_text(path[-1:])} = {value}", path, table)
    if not table:
        return _insert(lines, _start_of_root(lines), f"{key_text(path)} = {value}", path, (), is_separate=True)
    group = _dotted_group(lines, table)
    if group is not None:
        line = lines[group]
        return _insert(
            lines, group + 1, f"{line.indent}{key_text(path[len(line.table) :])} = {value}", path, line.table
        )
    return _add_section(lines, path, value)


def _start_of_root(lines: list[Statement]) -> int:
    """The index for the first key before any header: after the comments at the start of the file."""
    at = next((at for at, line in enumerate(lines) if line.kind != "other"), len(lines))
    while 0 < at < len(lines) and lines[at - 1].text.lstrip().startswith("#"):
        at -= 1  # The comment right above the first section belongs to it.
    return at


def _dotted_group(lines: list[Statement], table: KeyPath) -> int | None:
    """Index of the last statement `a.b.c = …` of the table, or of its nearest parent table defined by dotted keys.

    TOML does not allow a header for such a table.
    """
    for depth in range(len(table), 0, -1):
        group = [
            at
            for at, line in enumerate(lines)
            if line.kind == "key" and len(line.table) < depth < len(line.path) and line.path[:depth] == table[:depth]
        ]
        if group:
            return group[-1]
        if any(line.is_header and line.path[:depth] == table[:depth] for line in lines):
            return None
    return None


def _add_section(lines: list[Statement], path: KeyPath, value: str) -> None:
    """Add a section with one key after the last section of its family, or at the end."""
    table = path[:-1]
    family = [at for at, line in enumerate(lines) if line.table[:1] == table[:1] and line.kind != "other"]
    at = family[-1] + 1 if family else len(lines)
    below = at
    while family and below < len(lines) and lines[below].text.lstrip().startswith("#"):
        below += 1
    if family and (below == len(lines) or not lines[below].text.strip()):
        at = below  # Comments right below the last key belong to it.
    _insert(lines, at, f"[{key_text(table)}]", table, table, "table", is_separate=True)
    header = next(at for at, line in enumerate(lines) if line.kind == "table" and line.path == table)
    _insert(lines, header + 1, f"{key_text(path[-1:])} = {value}", path, table)


def _insert(
    lines: list[Statement],
    at: int,
    text: str,
    path: KeyPath,
    table: KeyPath,
    kind: StatementKind = "key",
    *,
    is_separate: bool = False,
) -> None:
    """Insert a statement with the line end of its neighbour; `is_separate` puts blank lines around it."""
    end = _line_end(lines, at)
    new = [Statement(text + end, kind, path, table)]
    blank = Statement(end, "other", (), table)
    if is_separate and at < len(lines) and lines[at].text.strip():
        new.append(blank)
    if at:
        above = lines[at - 1]
        if is_separate and above.text.strip():
            new.insert(0, blank)
        if not above.text.endswith("\n"):
            # The last line of the file has no line end.
            lines[at - 1] = above._replace(text=above.text + end)
            new[-1] = new[-1]._replace(text=new[-1].text.removesuffix(end))
    lines[at:at] = new


def _line_end(lines: list[Statement], at: int) -> str:
    """The line end of the neighbour, or the most frequent one of the text."""
    neighbour = lines[at - 1 if at else 0].text if lines else "\n"
    found = re.search("\r?\n$", neighbour)
    if found:
        return found.group()
    windows = sum(line.text.count("\r\n") for line in lines)
    return "\r\n" if windows * 2 > sum(line.text.count("\n") for line in lines) else "\n"
