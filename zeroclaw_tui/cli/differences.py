"""What changed between two states of a memory, field by field."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from zeroclaw_tui.cli.output import DIM, GREEN, NOTHING, RED, Line, Styled, size_shown
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.text import one_line

MOST_COMPARED = 200_000
"""Characters; comparing longer texts line by line could take minutes."""
FIELDS = ("key", "category", "session_id", "agent", "namespace", "importance", "pinned", "superseded_by")


def changed_fields(before: StoredRow, after: StoredRow) -> list[str]:
    """The names of what differs for a person, content last."""
    old, new = before.entry(), after.entry()
    return [name for name in (*FIELDS, "content") if getattr(old, name) != getattr(new, name)]


def content_difference(before: StoredRow | None, after: StoredRow | None) -> list[str] | None:
    """The unified diff of two contents, a string a line; None where they are equal or too long to compare."""
    old, new = _content(before), _content(after)
    if old == new or len(old) + len(new) > MOST_COMPARED:
        return None
    lines = difflib.unified_diff(old.split("\n") if old else [], new.split("\n") if new else [], lineterm="", n=2)
    return [*lines][2:]


def difference_lines(before: StoredRow | None, after: StoredRow | None) -> Iterator[Line]:
    """What differs, for people: a line for each field, then the diff of the content."""
    if before is not None and after is not None:
        old, new = before.entry(), after.entry()
        for name in changed_fields(before, after):
            if name != "content":
                yield (f"  {name.removesuffix('_id')}: ", *_from_to(old, new, name))
    differing = content_difference(before, after)
    if differing is None and _content(before) != _content(after):
        yield (f"  content: {_size(before)} → {_size(after)}, too long to compare here",)
    for line in differing or ():
        yield ("  ", _styled(line))


def _from_to(old: MemoryEntry, new: MemoryEntry, name: str) -> Line:
    return (_shown(getattr(old, name)), " → ", _shown(getattr(new, name)))


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return NOTHING if value is None else one_line(str(value)) or '""'


def _styled(line: str) -> Styled:
    code = {"+": GREEN, "-": RED}.get(line[:1], DIM)
    return Styled(line, code)


def _content(row: StoredRow | None) -> str:
    return "" if row is None else row.entry().content


def _size(row: StoredRow | None) -> str:
    return NOTHING if row is None else size_shown(row.entry().size)
