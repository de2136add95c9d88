"""The physical lines of a notes file, byte for byte: where a line belongs, and changes that can be taken back."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from zeroclaw_tui.backends.markdown.files import NoteFile, stem_of
from zeroclaw_tui.memory.change import RowChange, StoredRow, Value
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import WHITE_SPACE

NEIGHBOURS = 3
"""How many lines on each side tell a line's place again."""

Rank = tuple[int, int, int]
"""How well a place fits: neighbours found on both sides, those of them above, and how near it is, as a negative."""

_BULLET = "- "
_LONGEST_NEIGHBOUR = 12
_BYTE_ORDER_MARK = "\ufeff"
CONTEXT = "file_context"
"""The value of a kept row that tells its place and the states of its file."""


@dataclass(frozen=True, slots=True)
class Line:
    """One physical line with its end. `start` is its offset in bytes, `entry` the number ZeroClaw gives it, if any.

    `alike` is how many lines of the file have exactly these bytes: after one of them went, the number under which it
    was may lead to another, which must not pass for the one that is gone.
    """

    index: int
    start: int
    raw: bytes
    entry: int | None
    alike: int

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.start + len(self.raw)

    @property
    def content(self) -> str:
        """What ZeroClaw reads of it."""
        return text_of(self.raw).strip(WHITE_SPACE).removeprefix(_BULLET)


def lines_of(data: bytes) -> list[Line]:
    """Every physical line of a file; a file that ends in a line feed has none behind it."""
    found: list[Line] = []
    start = entries = 0
    raws = raw_lines(data)
    alike = Counter(raws)
    for index, raw in enumerate(raws):
        is_entry = _is_entry(raw)
        found.append(Line(index, start, raw, entries if is_entry else None, alike[raw]))
        start += len(raw)
        entries += is_entry
    return found


def raw_lines(data: bytes) -> list[bytes]:
    """The lines with their ends."""
    found = [line + b"\n" for line in data.split(b"\n")]
    last = found.pop()[:-1]
    return [*found, last] if last else found


def text_of(raw: bytes) -> str:
    """Bytes of a file as text; what is no UTF-8 becomes surrogate escapes."""
    return raw.decode("utf-8", "surrogateescape")


def digest(data: bytes) -> str:
    """What tells whether a file is as it was: SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def with_content(raw: bytes, content: str) -> bytes:
    """The same line with another content: its bullet, the blanks around and its end stay."""
    text = text_of(raw)
    body = text.strip(WHITE_SPACE)
    lead = text[: len(text) - len(text.lstrip(WHITE_SPACE))]
    trail = text[len(lead) + len(body) :]
    bullet = _BULLET if body.startswith(_BULLET) or content.startswith(_BULLET) else ""
    # The mark at the start of a file reads as part of its first line, and belongs to the file.
    mark = _BYTE_ORDER_MARK if body.startswith(_BYTE_ORDER_MARK) and not content.startswith(_BYTE_ORDER_MARK) else ""
    return f"{lead}{bullet}{mark}{content}{trail}".encode("utf-8", "surrogateescape")


def checked_content(content: str, before: str = "") -> str:
    """The content of a new line, without blanks around. Raises Refused for what no line of a notes file can be."""
    line = content.strip(WHITE_SPACE)
    if not line:
        raise Refused("A memory needs content.", hint="To remove one, delete it: the trash keeps it.")
    if "\n" in line or "\r" in line:
        raise Refused(
            "In Markdown memory each line is a memory of its own, so a content cannot have a line break.",
            hint="Write it as one line, or store each line by itself.",
        )
    if line.startswith("#"):
        raise Refused(
            "ZeroClaw takes a line that begins with # for a heading and does not remember it.",
            hint="Begin the content with another character.",
        )
    if not _is_text(line) and _is_text(before):
        raise Refused(
            "This content is not UTF-8, and ZeroClaw fails to read any note while such a line is there.",
            hint="Replace the characters that are shown as �.",
        )
    return line


def around(lines: Sequence[bytes], first: int, behind: int) -> tuple[list[str], list[str]]:
    """Short hashes of the lines before `first`, the nearest first, and of those from `behind` on.

    The start and the end of the file count as a line, which is the empty text.
    """
    before = [*(_short(line) for line in reversed(lines[max(0, first - NEIGHBOURS) : first])), ""]
    after = [*(_short(line) for line in lines[behind : behind + NEIGHBOURS]), ""]
    return before[:NEIGHBOURS], after[:NEIGHBOURS]


def place_of(
    lines: Sequence[bytes],
    before: Sequence[str],
    after: Sequence[str],
    near: int,
    *,
    on_both_sides: bool = False,
    only: bytes | None = None,
) -> int | None:
    """The line that has these neighbours: as many as can be, then nearest to `near`; None without any.

    With `only`, just lines of this text count, whatever their ends.
    """
    found = _places(lines, before, after, near, 1)
    fitting = [(rank, at) for rank, at in found if only is None or body_of(lines[at]) == only]
    if on_both_sides:
        fitting = [(rank, at) for rank, at in fitting if 0 < rank[1] < rank[0]]
    return max(fitting)[1] if fitting else None


def best_gap(lines: Sequence[bytes], *places: tuple[Sequence[str], Sequence[str], int]) -> int | None:
    """Before which line the neighbours of one of these places lie, where the most of them do; None without any.

    A place is the neighbours before and after, and the number of the line behind; of equals the first counts.
    """
    best: tuple[Rank, int] | None = None
    for before, after, near in places:
        found = max(_places(lines, before, after, near, 0), default=None)
        if found is not None and (best is None or found[0][0] > best[0][0]):
            best = found
    return None if best is None else best[1]


def _places(
    lines: Sequence[bytes], before: Sequence[str], after: Sequence[str], near: int, span: int
) -> Iterator[tuple[Rank, int]]:
    hashes = ["", *map(_short, lines), ""]
    blank = {_short(b"")}
    for at in range(len(lines) - span + 1):
        above = _alike(before, reversed(hashes[max(0, at + 1 - NEIGHBOURS) : at + 1]))
        below = _alike(after, hashes[at + 1 + span : at + 1 + span + NEIGHBOURS])
        if {*before[:above], *after[:below]} - blank:
            yield (above + below, above, -abs(at - near)), at


def body_of(raw: bytes) -> bytes:
    """A line without its end."""
    return raw.rstrip(b"\r\n")


def _alike(wanted: Sequence[str], found: Iterable[str]) -> int:
    count = 0
    for one, other in zip(wanted, found, strict=False):
        if one != other:
            break
        count += 1
    return count


def _short(raw: bytes) -> str:
    # Without its end: a last line that gets a line feed is still the same neighbour.
    return digest(body_of(raw))[:_LONGEST_NEIGHBOUR]


def _is_entry(raw: bytes) -> bool:
    line = text_of(raw).strip(WHITE_SPACE)
    return bool(line) and not line.startswith("#")


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


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
