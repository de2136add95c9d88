"""Changes of some lines of one file, and what has to be known to take each of them back to the byte."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from zeroclaw_tui.backends.markdown.files import NoteFile, stem_of
from zeroclaw_tui.backends.markdown.lines import Line, around, digest, lines_of
from zeroclaw_tui.memory.change import RowChange, StoredRow, Value

CONTEXT = "file_context"
"""The value of a kept row that tells its place and the states of its file."""


@dataclass(frozen=True, slots=True)
class Source:
    """A notes file: what begins the ids of its lines, and `file`, how a row names it."""

    label: str
    note: NoteFile

    @property
    def file(self) -> str:
        """Relative to the folder of notes; an agent's file by its whole path."""
        return self.note.name if self.note.agent is None else str(self.note.path)

    def row(self, line: Line, context: str | None = None) -> StoredRow:
        """The row a line is."""
        id, stem = f"{self.label}:{line.entry}", stem_of(self.note.path)  # noqa: A001
        values: dict[str, Value] = {
            "id": id,
            "key": f"{stem}:{line.entry}",
            "content": line.content,
            "category": self.note.category,
            "created_at": stem,
            "file": self.file,
            "raw": line.raw,
            "alike": line.alike,
            "line": line.index,
        }
        return StoredRow(id, values | ({CONTEXT: context} if context else {}), id, self.note.agent)


@dataclass(frozen=True, slots=True)
class Edit:
    """At `start`, the line `old` becomes `new`; empty stands for no line. A lead goes with its line: what was put
    before it to set it apart."""

    start: int
    old: bytes = b""
    new: bytes = b""
    old_lead: bytes = b""
    new_lead: bytes = b""
    reverses: int | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """Where a change of one line was made. `before` and `after` are the file's states, None for no file.

    `old_at` and `new_at` are offsets in either, `at` the line's number afterwards, `above` and `below` its neighbours
    then; the line was `old_line` before, between `old_above` and `old_below`. `step` is the same for all changes that
    were written at once: a file may go from one state to another more than once.
    """

    before: str | None = None
    after: str | None = None
    old_at: int = 0
    new_at: int = 0
    old_lead: str = ""
    new_lead: str = ""
    at: int = 0
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    old_line: int = 0
    old_above: tuple[str, ...] = ()
    old_below: tuple[str, ...] = ()
    step: str = ""

    def as_json(self) -> str:
        """As a row keeps it."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__})


@dataclass(frozen=True, slots=True)
class Edited:
    """A file after some edits, and the rows they changed. `data` None means there is no file."""

    data: bytes | None
    changes: list[RowChange] = field(default_factory=list)


def context_of(row: StoredRow) -> Context | None:
    """What a kept row knows of its place."""
    text = row.values.get(CONTEXT)
    if not isinstance(text, str):
        return None
    parts = json.loads(text).items()
    named: dict[str, Any] = {name: tuple(part) if isinstance(part, list) else part for name, part in parts}
    return Context(**named)


def state_of(data: bytes | None) -> str | None:
    """A file's state as a context names it."""
    return None if data is None else digest(data)


def edited(source: Source, data: bytes | None, edits: Iterable[Edit], *, leaves_no_file: bool = False) -> Edited:
    """Make edits that do not overlap; a file that was not there before them may be none again afterwards."""
    held = data or b""
    ordered = sorted(edits, key=lambda edit: edit.start)
    pieces: list[bytes] = []
    starts: list[int] = []
    read = written = 0
    for edit in ordered:
        pieces += [held[read : edit.start], edit.new_lead + edit.new]
        starts.append(written + edit.start - read)
        written = starts[-1] + len(pieces[-1])
        read = edit.start + len(edit.old_lead) + len(edit.old)
    pieces.append(held[read:])
    result = b"".join(pieces)
    after = None if leaves_no_file and not result else result
    states, step = (state_of(data), state_of(after)), token_hex(8)
    old_lines, new_lines = _Lines(held), _Lines(result)
    changes = []
    for edit, start in zip(ordered, starts, strict=True):
        old_line = old_lines.at(edit.start + len(edit.old_lead)) if edit.old else None
        new_line = new_lines.at(start + len(edit.new_lead)) if edit.new else None
        leads = (edit.old_lead.decode(), edit.new_lead.decode())
        old_place, new_place = old_lines.place(edit.start, old_line), new_lines.place(start, new_line)
        places: tuple[Any, ...] = (*states, edit.start, start, *leads, *new_place, *old_place, step)
        context = Context(*places).as_json()
        before, then = (None if line is None else source.row(line, context) for line in (old_line, new_line))
        changes.append(RowChange(before, then, reverses=edit.reverses))
    return Edited(after, changes)


def taking_back(change: RowChange, context: Context) -> Edit:
    """The edit that undoes a change in a file that is exactly as the change left it."""
    return Edit(
        start=context.new_at,
        old=raw_of(change.after),
        new=raw_of(change.before),
        old_lead=context.new_lead.encode(),
        new_lead=context.old_lead.encode(),
        reverses=change.number,
    )


def raw_of(row: StoredRow | None) -> bytes:
    """The bytes of a row's line, nothing for no row."""
    raw = None if row is None else row.values["raw"]
    return raw if isinstance(raw, bytes) else b""


class _Lines:
    def __init__(self, data: bytes) -> None:
        self.lines: Sequence[Line] = lines_of(data)
        self.raw = [line.raw for line in self.lines]
        self._starts = [line.start for line in self.lines]
        self._size = len(data)

    def at(self, start: int) -> Line:
        return self.lines[self.index_of(start)]

    def place(self, start: int, line: Line | None) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
        """The number of a line, or of the one behind a gap, and the neighbours."""
        index = self.index_of(start) if line is None else line.index
        above, below = around(self.raw, index, index + (line is not None))
        return index, tuple(above), tuple(below)

    def index_of(self, start: int) -> int:
        return len(self.lines) if start >= self._size else bisect_right(self._starts, start) - 1
