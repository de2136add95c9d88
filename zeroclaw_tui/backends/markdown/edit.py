"""Changing lines of one notes file in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from zeroclaw_tui.backends.markdown.files import WHY_NOT, NoteFile, is_new, number_of
from zeroclaw_tui.backends.markdown.lines import (
    Line,
    checked_content,
    gap_of,
    joined,
    lines_of,
    neighbours,
    raw_lines,
    with_content,
)
from zeroclaw_tui.memory.change import (
    ApplyResult,
    Change,
    Draft,
    Edit,
    OnConflict,
    Row,
    RowChange,
    RowConflict,
    RowVersion,
)
from zeroclaw_tui.memory.errors import Refused

MOVED = "Its neighbouring lines are no longer in {}, so it is at the end now."


@dataclass(slots=True)
class Outcome:
    """A file after some changes, and what these came to."""

    data: bytes | None = None
    tally: ApplyResult = field(default_factory=ApplyResult)
    changes: list[RowChange] = field(default_factory=list)
    """For the journal: of each step the memories, then the file."""
    rows: list[tuple[Change, Row]] = field(default_factory=list)
    """New rows, each with its change."""

    def add(self, other: Outcome) -> None:
        """Add what other changes came to; `data` is left to the caller."""
        self.tally.add(other.tally)
        self.changes += other.changes
        self.rows += other.rows

    def add_conflict(self, wanted: Row, existing: Row | None, *, skipped: bool) -> None:
        """Note a line that is not as it was expected, or is missing."""
        conflict = RowConflict(wanted, existing, "deleted" if existing is None else "changed")
        self.tally.add_conflict(conflict, skipped=wanted.id if skipped else None)

    def record(self, change: Change, before: Row | None, after: Row | None) -> None:
        """Count a memory that was written, and note it for the journal."""
        self.changes.append(RowChange(before, after, reverses=change.reverses))
        self.tally.written += 1
        self.rows += [] if after is None else [(change, after)]


@dataclass(slots=True, eq=False)
class _LineEdit:
    """A line that becomes another one: no `old` inserts it before the line `gap`, no `new` deletes it."""

    change: Change
    old: Line | None
    new: bytes
    gap: int = -1
    index: int = -1
    """Which line of the new file it is."""


class LineEditor:
    """Changes lines of a file."""

    def __init__(self, note: NoteFile, data: bytes | None) -> None:
        self._note = note
        self._lines = lines_of(data or b"")
        self._entries = [line for line in self._lines if line.entry is not None]
        self._by_state: dict[str, list[Line]] = defaultdict(list)
        for line in self._entries:
            self._by_state[note.state(line.content)].append(line)
        self._edits: list[_LineEdit] = []
        self._outcome = Outcome(data)

    def run(self, changes: Sequence[Change], on_conflict: OnConflict) -> Outcome:
        """Apply changes."""
        for change in changes:
            if change.before is not None and not is_new(change):
                self._change(change, change.before, on_conflict)
        # From the first line on: each then finds the lines above it in place.
        for change in sorted(changes, key=_line_number):
            if isinstance(change.after, Row) and change.before is None and not is_new(change):
                self._restore(change, change.after)
        appended = [_LineEdit(change, None, _new_line(change.after)) for change in changes if is_new(change)]
        if self._edits or appended:
            self._write(appended)
        return self._outcome

    def _change(self, change: Change, expected: RowVersion | Row, on_conflict: OnConflict) -> None:
        line, after = self._find(expected), change.after
        if line is None:
            self._miss(change, expected, on_conflict)
            return
        new = b""
        if isinstance(after, Edit):
            new = self._edited(line, after)
        elif isinstance(after, Row):
            end = line.raw[len(line.raw.rstrip(b"\r\n")) :]
            new = _raw_of(after).rstrip(b"\r\n") + end
        if new == line.raw:
            self._outcome.tally.already.append(expected.id)
            self._outcome.rows.append((change, self._note.row(line)))
        else:
            self._edits.append(_LineEdit(change, line, new))

    def _find(self, expected: RowVersion | Row) -> Line | None:
        """The line of the same content that is nearest to where it was; each line is found once."""
        if isinstance(expected, RowVersion):
            state = expected.state
        else:
            state = self._note.state(str(expected.values["content"]))
        candidates, near = self._by_state[state], number_of(expected.id)
        line = min(candidates, key=lambda line: abs((line.entry or 0) - near), default=None)
        if line is not None:
            candidates.remove(line)
        return line

    def _miss(self, change: Change, expected: RowVersion | Row, on_conflict: OnConflict) -> None:
        """The line is not as it was expected; whether another one has its number shows whether it is missing."""
        after, number = change.after, number_of(expected.id)
        existing = self._note.row(self._entries[number]) if 0 <= number < len(self._entries) else None
        is_there = isinstance(after, Row) and self._by_state[self._note.state(after.entry().content)]
        if is_there or (after is None and existing is None):
            self._outcome.tally.already.append(expected.id)
            return
        wanted = expected if isinstance(expected, Row) else expected.as_row()
        can_restore = isinstance(after, Row) and on_conflict in ("overwrite", "rename")
        self._outcome.add_conflict(wanted, existing, skipped=not can_restore)
        if isinstance(after, Row) and can_restore:
            self._restore(change, after)

    def _edited(self, line: Line, edit: Edit) -> bytes:
        row = self._note.row(line)
        for name, value in edit.values.items():
            if name != "content" and value != row.values.get(name):
                raise Refused(WHY_NOT[name], hint="Only the content of a line can be changed.")
        wanted = str(edit.values.get("content", line.content))
        return line.raw if wanted == line.content else with_content(line.raw, checked_content(wanted, line.content))

    def _restore(self, change: Change, row: Row) -> None:
        """Put a deleted line back between its neighbours."""
        raw, lines = _raw_of(row), [line.raw for line in self._lines]
        inserted = [edit.new for edit in self._edits if edit.old is None]
        if [*lines, *inserted].count(raw) >= int(row.values.get("alike") or 1):
            self._outcome.tally.already.append(row.id)
            return
        gap = gap_of(row, lines, _line_number(change) - len(inserted))
        if gap is None:
            gap = len(lines)
            self._outcome.tally.note(MOVED.format(self._note.shown))
        self._edits.append(_LineEdit(change, None, raw, gap))

    def _write(self, appended: Sequence[_LineEdit]) -> None:
        """Put the new file together, and note each change with its rows in the old and the new file."""
        by_gap: dict[int, list[_LineEdit]] = defaultdict(list)
        for edit in self._edits:
            by_gap[edit.gap if edit.old is None else edit.old.index].append(edit)
        new: list[bytes] = []
        for index in range(len(self._lines) + 1):
            # Lines come before the one whose place they take.
            for edit in sorted(by_gap[index], key=lambda edit: edit.old is not None):
                edit.index = len(new)
                new += [edit.new] if edit.new else []
            if index < len(self._lines) and all(edit.old is None for edit in by_gap[index]):
                new.append(self._lines[index].raw)
        for edit in appended:
            # ZeroClaw puts a blank line between memories.
            new += raw_lines(self._note.heading) if not new else [b"\n"] if new[-1].endswith(b"\n") else []
            edit.index = len(new)
            new.append(edit.new)
        self._outcome.data = joined(new)
        lines = lines_of(self._outcome.data)
        leaving = {edit.old.index for edit in self._edits if edit.old is not None and not edit.new}
        for edit in (*self._edits, *appended):
            context = None if edit.old is None or edit.new else neighbours(self._lines, edit.old.index, leaving)
            before = None if edit.old is None else self._note.row(edit.old, context)
            after = self._note.row(lines[edit.index]) if edit.new else None
            self._outcome.record(edit.change, before, after)


def _new_line(memory: object) -> bytes:
    """The line that ZeroClaw writes for a new memory. Raises Refused for what no line can be."""
    if isinstance(memory, Draft):
        content = checked_content(memory.content)
        if "\n" in memory.key or "\r" in memory.key:
            raise Refused("A key in Markdown memory cannot have a line break.", hint="Choose another key.")
        text = f"- **{memory.key}**: {content}\n"
    else:
        assert isinstance(memory, Row)
        text = f"- {memory.entry().content}\n"
    return text.encode("utf-8", "surrogateescape")


def _raw_of(row: Row) -> bytes:
    raw = row.values["raw"]
    assert isinstance(raw, bytes)
    return raw


def _line_number(change: Change) -> int:
    number = change.after.values.get("line") if isinstance(change.after, Row) else None
    return number if isinstance(number, int) else 0
