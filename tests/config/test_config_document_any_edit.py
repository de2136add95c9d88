"""Property tests: an edit of any document has the intended values, keeps all other lines, and is idempotent."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memories import BrokenConfig

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.toml import KeyPath

NAMES = ("memory", "storage", "provider", "config", "backend", "a b", "x.y", 'q"', "é", "", "[z]", "#")
SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(["[memory]", "a = 1", '"""', "'''", "\\", "# no", "\r\n", "}"]),
)
VALUES = SCALARS | st.lists(st.text("ab]'\"#\n", max_size=3), max_size=3)
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(tuple)


@dataclass
class Statement:
    """The lines of one statement or comment, each with a unique text, and the keys it sets."""

    text: str
    mark: str
    line_end: str
    sets: set[KeyPath] = field(default_factory=set)
    inline_tables: set[KeyPath] = field(default_factory=set)


def leaves(values: Mapping[str, Any], above: KeyPath = ()) -> dict[KeyPath, Any]:
    found: dict[KeyPath, Any] = {}
    for name, value in values.items():
        found |= leaves(value, (*above, name)) if isinstance(value, dict) else {(*above, name): value}
    return found


def tables(values: Mapping[str, Any], above: KeyPath = ()) -> set[KeyPath]:
    inner = [
        tables(value, (*above, name)) | {(*above, name)} for name, value in values.items() if isinstance(value, dict)
    ]
    return set().union(*inner)


@st.composite
def written_names(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(NAMES))
    bare = bool(name) and name.isascii() and name.isalpha()
    ways = ['"' + name.replace('"', '\\"') + '"', f"'{name}'", '"' + "".join(f"\\u{ord(c):04x}" for c in name) + '"']
    return draw(st.sampled_from([*([name] * 6 if bare else []), *ways]))


@st.composite
def written_keys(draw: st.DrawFn, most: int = 3) -> str:
    return draw(st.sampled_from([".", " . ", "\t."])).join(draw(st.lists(written_names(), min_size=1, max_size=most)))


@st.composite
def written_values(draw: st.DrawFn, depth: int = 2) -> str:
    plain = ["1", "-0.5", "true", "nan", "1979-05-27 07:32:00", "'it # is'", '"\\"]}"', "''", '"""a"""""', "[]"]
    lists = ["[\n  1, # ]\n  '}',\n]", "[[1], {backend = 'no'}]", "['''\n]\n''', 2]"]
    texts = ['"""\n[memory]\nbackend = "no"\n# no\n"""', "'''\nmemory = {}\n\n[[storage]]\n'''", '"""\\\n  \\" """']
    kind = draw(st.sampled_from(["plain"] * 4 + ["list", "text"] + ["table"] * 2 * bool(depth)))
    if kind != "table":
        return draw(st.sampled_from({"plain": plain, "list": lists, "text": texts}[kind]))
    pairs = draw(st.lists(st.tuples(written_keys(2), written_values(depth - 1)), max_size=3))
    gap, spaced = draw(st.sampled_from(["", " "])), draw(st.sampled_from(["=", " = "]))
    return "{" + gap + ", ".join(f"{key}{spaced}{value}" for key, value in pairs) + gap + "}"


def note(number: int) -> str:
    return f"# {number} [memory] backend = 1"


@st.composite
def lines(draw: st.DrawFn, number: int) -> str:
    kind = draw(st.sampled_from(["key"] * 6 + ["header"] * 3 + ["item", "comment", "blank"]))
    indent = draw(st.sampled_from(["", "", "", "  ", "\t"]))
    if kind == "blank":
        return indent
    if kind == "comment":
        return indent + note(number)
    if kind == "key":
        equals = draw(st.sampled_from([" = ", "=", "\t=  "]))
        return f"{indent}{draw(written_keys())}{equals}{draw(written_values())} {note(number)}"
    brackets = ("[[", "]]") if kind == "item" else ("[", "]")
    return f"{indent}{brackets[0]}{draw(written_keys())}{brackets[1]}{draw(st.sampled_from([' ', '']))}{note(number)}"


def read(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


@st.composite
def documents(draw: st.DrawFn) -> list[Statement]:
    """Return statements that form a valid document; statements that would make it invalid are left out."""
    ends = draw(st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"]]))
    statements: list[Statement] = []
    text: str = ""
    values: dict[str, Any] = {}
    for number in range(draw(st.integers(0, 12))):
        end = draw(st.sampled_from(ends))
        line = draw(lines(number)).replace("\n", end)
        now = read(text + line + end)
        if now is None:
            continue
        statement = Statement(line, note(number), end, set(leaves(now)) - set(leaves(values)))
        if "{" in line and not line.lstrip().startswith("["):
            statement.inline_tables = tables(now) - tables(values)
        statements.append(statement)
        text, values = text + line + end, now
    if statements and statements[-1].text and draw(st.booleans()):
        statements[-1].line_end = ""
    return statements


@st.composite
def edits(draw: st.DrawFn) -> tuple[list[Statement], dict[KeyPath, Any]]:
    statements = draw(documents())
    values = tomllib.loads("".join(each.text + each.line_end for each in statements))
    present = [path for path, value in leaves(values).items() if not is_list_of_tables(value)]
    inner = [(*table, name) for table in tables(values) for name in NAMES[:4] if len(table) < 4]
    paths = st.one_of(PATHS, *(st.sampled_from(known) for known in (sorted(present), sorted(inner)) if known))
    changes = draw(st.dictionaries(paths, VALUES, min_size=1, max_size=4))
    lists = {path for path, value in leaves(values).items() if is_list_of_tables(value)}
    return statements, {path: value for path, value in changes.items() if path not in lists}


def is_list_of_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def serves(present: Any, wanted: Any) -> bool:
    if type(present) is int and type(wanted) is float:
        return present == wanted
    return type(present) is type(wanted) and repr(present) == repr(wanted)


def expected_values(values: Mapping[str, Any], changes: Mapping[KeyPath, Any]) -> dict[str, Any] | None:
    """Return the expected values, or None if the change must be refused."""
    expected = copy.deepcopy(dict(values))
    for path, value in changes.items():
        table: Any = expected
        for name in path[:-1]:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                return None
        if isinstance(table.get(path[-1]), dict):
            return None
        if path[-1] not in table or not serves(table[path[-1]], value):
            table[path[-1]] = value
    return expected


def plain(value: Any) -> str:
    """Return a text that is equal only for equal values, including types and nan, ignoring the order of keys."""
    if isinstance(value, dict):
        return repr(sorted((name, plain(inner)) for name, inner in value.items()))
    return repr(value)


def rest_of(after: str, statements: list[Statement], changed: set[KeyPath], new: set[KeyPath]) -> list[str]:
    """Return the lines that belong to no untouched statement, after checking that those are whole and in order."""
    rest, position = "", 0
    for statement in statements:
        if not statement.text.strip():
            continue
        touched = statement.sets & changed or any(
            path[:depth] in statement.inline_tables for path in new for depth in range(1, len(path))
        )
        needle = statement.mark if touched else statement.text
        found = after.find(needle, position)
        assert found >= 0, f"{statement.text!r} is missing or has moved"
        end = found + len(needle)
        assert touched or after[:found].endswith("\n") or found == 0
        assert after.startswith(("\n", "\r\n"), end) or end == len(after)
        if statement.line_end:
            assert after.startswith(statement.line_end, end)
        rest += after[position : found if not touched else end]
        position = end
    return [line for line in (rest + after[position:]).splitlines() if line.strip()]


@given(edits(), st.booleans())
def test_any_edit_of_any_document_keeps_other_lines(
    edit: tuple[list[Statement], dict[KeyPath, Any]], marked: bool
) -> None:
    statements, changes = edit
    text = "".join(each.text + each.line_end for each in statements)
    raw = (b"\xef\xbb\xbf" if marked else b"") + text.encode()
    before = ConfigDocument.from_bytes(raw, Path("config.toml"))
    expected = expected_values(before.values, changes)
    if expected is None:
        with pytest.raises(BrokenConfig):
            before.with_values(changes)
        return
    after = before.with_values(changes)
    assert plain(after.values) == plain(expected)
    assert plain(tomllib.loads(after.text)) == plain(expected)
    assert after.to_bytes().startswith(b"\xef\xbb\xbf") is marked
    assert after.with_values(changes).to_bytes() == after.to_bytes()
    changed = {path for path, value in changes.items() if before.has(path) and not serves(before.get(path), value)}
    new = {path for path in changes if not before.has(path)}
    rest = rest_of(after.text, statements, changed, new)
    touched = [each for each in statements if any(each.mark in line for line in rest)]
    assert len(rest) <= 2 * len(new) + sum(each.text.count("\n") + 1 for each in touched)
    if not changed and not new:
        assert after.to_bytes() == raw
    if text and "\n" not in text.replace("\r\n", ""):
        assert "\n" not in after.text.replace("\r\n", "") or "\r\n" not in text


@given(edits())
def test_setting_keys_one_by_one_equals_setting_them_at_once(edit: tuple[list[Statement], dict[KeyPath, Any]]) -> None:
    statements, changes = edit
    before = ConfigDocument.from_text("".join(each.text + each.line_end for each in statements))
    if expected_values(before.values, changes) is None:
        return
    one_by_one = before
    for path, value in changes.items():
        one_by_one = one_by_one.with_values({path: value})
    assert plain(one_by_one.values) == plain(before.with_values(changes).values)
