"""Apply changes to notes files, writing each file once.

The journal records every file before and after, so that undo restores it byte for byte, and each of its memories, so
that a single one can be restored. All functions block.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from zeroclaw_tui.backends.about import why_not_field
from zeroclaw_tui.backends.markdown.files import WHY_NOT, NoteFile, NoteFiles, is_new, number_of, state_of_line
from zeroclaw_tui.backends.markdown.lines import (
    Line,
    checked_content,
    insertion_index,
    line_context,
    lines_of,
    raw_lines,
    with_content,
)
from zeroclaw_tui.backends.markdown.merge import undo_change
from zeroclaw_tui.files.disk import FileChangedError, read_bytes, replace_bytes, retry_if_changed
from zeroclaw_tui.memory.change import (
    AGENTS,
    MAX_CONFLICTS,
    NOTES_FILE,
    ApplyResult,
    Change,
    Draft,
    Edit,
    Journal,
    OnConflict,
    ProgressCallback,
    Row,
    RowChange,
    RowConflict,
    RowVersion,
)
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import WHITE_SPACE


@dataclass(slots=True)
class _Step:
    """Changes of lines that are applied together; `file` is the change of the whole file that includes them."""

    file: Change | None
    lines: list[Change] = field(default_factory=list)


class NoteChanges:
    """Changes to apply. Each file is written once, atomically; the run can be cancelled between two files."""

    def __init__(
        self,
        note_files: NoteFiles,
        journal: Journal | None,
        *,
        on_conflict: OnConflict,
        dry_run: bool,
        on_progress: ProgressCallback,
    ) -> None:
        self._note_files, self._journal, self._on_progress = note_files, journal, on_progress
        self._on_conflict, self._dry_run = on_conflict, dry_run

    def apply(self, changes: Iterable[Change]) -> ApplyResult:
        """Apply them; see `Memory.apply`."""
        total, processed = FileResult(), 0
        checked = [_checked(change) for change in changes]
        steps_by_file = self._steps_by_file(checked, total.tally)
        if self._on_conflict == "refuse" and not self._dry_run:
            refused = ApplyResult()
            for note, steps in steps_by_file:
                refused.add(self._planned(note, steps, read_bytes(note.path)).tally.refused())
            if refused.conflicts:
                return refused
        for note, steps in steps_by_file:
            if processed and not self._on_progress(processed):
                total.tally.cancelled = True
                break
            total.add(self._write(note, steps))
            processed += sum(len(step.lines) for step in steps)
        else:
            self._on_progress(processed)
        if self._dry_run and self._on_conflict == "refuse" and total.tally.conflicts:
            total.tally.written = 0
        order = {id(change): at for at, change in enumerate(checked)}
        total.rows.sort(key=lambda pair: order[id(pair[0])])
        total.tally.rows = [row for _, row in total.rows[:MAX_CONFLICTS]]
        return total.tally

    def _steps_by_file(self, changes: Sequence[Change], total: ApplyResult) -> list[tuple[NoteFile, list[_Step]]]:
        """Group the changes into steps by file; changes that need no write are noted in `total`."""
        steps_by_file: dict[Path, tuple[NoteFile, list[_Step]]] = {}
        for change in changes:
            note = self._note_of(change, total)
            if note is None:
                continue
            _, steps = steps_by_file.setdefault(note.path, (note, []))
            if change.table == NOTES_FILE:
                if not steps or steps[-1].file is not None:
                    steps.append(_Step(None))
                # In a redo it comes after its lines.
                steps[-1].file = change
                continue
            is_undo = isinstance(change.target, Row) and not isinstance(change.after, Edit) and not is_new(change)
            if not steps or (steps[-1].file is not None and not is_undo):
                steps.append(_Step(None))
            steps[-1].lines.append(change)
        return [*steps_by_file.values()]

    def _note_of(self, change: Change, total: ApplyResult) -> NoteFile | None:
        """Find the file of a change; None if there is nothing to do."""
        row, after = change.target, change.after
        if change.table == AGENTS:
            return None
        if isinstance(after, Draft):
            note = self._note_files.for_new(after.agent, after.category)
            total.note(*_losses(after, note.category))
            return note
        if isinstance(after, Row) and is_new(change) and change.table != NOTES_FILE:
            entry = after.entry()
            return self._note_files.for_new(entry.agent, entry.category, entry.timestamp)
        assert row is not None
        if change.table == NOTES_FILE:
            return self._note_files.at(row.id)
        if isinstance(row, Row):
            return self._note_files.of_file(str(row.values.get("file")), row.agent)
        label = row.id.rpartition(":")[0]
        if label not in self._note_files.by_label:
            total.already.append(row.id)
        return self._note_files.by_label.get(label)

    def _write(self, note: NoteFile, steps: Sequence[_Step]) -> FileResult:
        """Write one file; if the agent writes it at the same time, compare and write again."""
        path, journal = note.path, self._journal

        def attempt() -> FileResult:
            data = read_bytes(path)
            result = self._planned(note, steps, data)
            if self._dry_run:
                return result
            if self._on_conflict == "refuse" and result.tally.conflicts:
                return FileResult(tally=result.tally.refused())
            if journal is not None and result.changes:
                journal.record(result.changes)
            try:
                if result.data != data:
                    replace_bytes(path, data, result.data)
            except FileChangedError:
                if journal is not None:
                    journal.withdraw()
                raise
            return result

        return retry_if_changed(attempt, path)

    def _planned(self, note: NoteFile, steps: Sequence[_Step], data: bytes | None) -> FileResult:
        """Compute the file after all steps."""
        total, path = FileResult(data), os.path.realpath(note.path)
        for step in steps:
            before = total.data
            if step.file is not None:
                result = self._undo_file(note, step.file, step.lines, before)
            else:
                result = LineEditor(note, before).run(step.lines, self._on_conflict)
            if result.data != before:
                reverses = None if step.file is None else step.file.reverses
                old, new = _file_row(path, before), _file_row(path, result.data)
                result.changes.append(RowChange(old, new, reverses=reverses))
            total.data = result.data
            total.add(result)
        return total

    def _undo_file(self, note: NoteFile, change: Change, lines: Sequence[Change], now: bytes | None) -> FileResult:
        """Undo the change of a whole file, and with it those of its lines."""
        versions = (_bytes_of(change, "after"), _bytes_of(change, "before"), now)
        merged = undo_change(*versions, self._on_conflict)
        result = FileResult(merged.data)
        if merged.is_moved:
            sentence = f"Its neighbouring lines are no longer in {note.shown}, so it is at the end now."
            result.tally.note(sentence)
        left: set[object] = set()
        for hunk in merged.conflicts:
            before, after, present = (_memories(*pair) for pair in zip(versions, hunk, strict=True))
            is_skipped = self._on_conflict in ("refuse", "skip")
            left |= {line.content for line in (*before, *after)} if is_skipped else set()
            for missed in (before or after)[:1]:
                existing = note.row(present[0]) if present else None
                result.add_conflict(note.row(missed), existing, skipped=is_skipped)
            if self._on_conflict == "rename" and not before:
                sentence = f"A line of {note.shown} changed since it was stored, so it stays as it is now."
                result.tally.note(sentence)
        for line in lines:
            row, old, new = line.target, line.before, line.after
            assert isinstance(row, Row)
            assert isinstance(old, Row | None)
            assert isinstance(new, Row | None)
            if row.values["content"] not in left:
                result.record(line, old, new)
        return result


def _checked(change: Change) -> Change:
    after = change.after
    return replace(change, after=after.checked()) if isinstance(after, Draft | Edit) else change


def _losses(draft: Draft, category: str) -> list[str]:
    """List sentences about fields of a new memory that a line cannot have."""
    names = ("session_id", "importance", "pinned", "namespace")
    reasons = (why_not_field(WHY_NOT, name) for name in names if getattr(draft, name) is not None)
    losses = [*filter(None, reasons)]
    if draft.category != category:
        losses.append("Every line of a daily file is read back as category daily.")
    if draft.content != draft.content.strip(WHITE_SPACE):
        losses.append("ZeroClaw reads a line without the blanks at its ends, so they are left out.")
    return losses


def _memories(data: bytes | None, numbers: Sequence[int]) -> list[Line]:
    """Select those of some lines of a file that are memories."""
    lines = lines_of(data or b"")
    return [lines[number] for number in numbers if lines[number].entry is not None]


def _file_row(path: str, data: bytes | None) -> Row | None:
    """Make the journal's row of a notes file."""
    return None if data is None else Row(path, {"path": path, "bytes": data}, table=NOTES_FILE)


def _bytes_of(change: Change | None, version: str) -> bytes | None:
    """The bytes of a journaled notes file before or after a change."""
    row = getattr(change, version)
    data = row.values["bytes"] if isinstance(row, Row) else None
    return data if isinstance(data, bytes) else None


@dataclass(slots=True)
class FileResult:
    """A file after some changes, and the results of these."""

    data: bytes | None = None
    tally: ApplyResult = field(default_factory=ApplyResult)
    changes: list[RowChange] = field(default_factory=list)
    """For the journal: the memories and then the file of each step."""
    rows: list[tuple[Change, Row]] = field(default_factory=list)
    """New rows, each with its change."""

    def add(self, other: FileResult) -> None:
        """Add the results of other changes; the caller sets `data`."""
        self.tally.add(other.tally)
        self.changes += other.changes
        self.rows += other.rows

    def add_conflict(self, wanted: Row, existing: Row | None, *, skipped: bool) -> None:
        """Record a line that differs from the expected one, or is missing."""
        conflict = RowConflict(wanted, existing, "deleted" if existing is None else "changed")
        self.tally.add_conflict(conflict, skipped=wanted.id if skipped else None)

    def record(self, change: Change, before: Row | None, after: Row | None) -> None:
        """Count a written memory, and record it for the journal."""
        self.changes.append(RowChange(before, after, reverses=change.reverses))
        self.tally.written += 1
        self.rows += [] if after is None else [(change, after)]


@dataclass(slots=True, eq=False)
class _LineEdit:
    """The replacement of a line: without `old` it is inserted before the line `gap`, without `new` it is deleted."""

    change: Change
    old: Line | None
    new: bytes
    gap: int = -1
    index: int = -1
    """Its line number in the new file."""


class LineEditor:
    """Changes lines of a file."""

    def __init__(self, note: NoteFile, data: bytes | None) -> None:
        self._note = note
        self._lines = lines_of(data or b"")
        self._entries = [line for line in self._lines if line.entry is not None]
        self._by_state: dict[str, list[Line]] = defaultdict(list)
        for line in self._entries:
            self._by_state[state_of_line(line.content)].append(line)
        self._edits: list[_LineEdit] = []
        self._result = FileResult(data)

    def run(self, changes: Sequence[Change], on_conflict: OnConflict) -> FileResult:
        """Apply changes."""
        for change in changes:
            if change.before is not None and not is_new(change):
                self._change(change, change.before, on_conflict)
        # Restore from the top down, so that the lines above each one are already in place.
        for change in sorted(changes, key=_line_number):
            if isinstance(change.after, Row) and change.before is None and not is_new(change):
                self._restore(change, change.after)
        appended = [_LineEdit(change, None, _new_line(change.after)) for change in changes if is_new(change)]
        if self._edits or appended:
            self._write(appended)
        return self._result

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
            self._result.tally.already.append(expected.id)
            self._result.rows.append((change, self._note.row(line)))
        else:
            self._edits.append(_LineEdit(change, line, new))

    def _find(self, expected: RowVersion | Row) -> Line | None:
        """Find the line with the same content that is closest to its old position; each line is found once."""
        state = state_of_line(str(expected.values["content"])) if isinstance(expected, Row) else expected.state
        candidates, near = self._by_state[state], number_of(expected.id)
        line = min(candidates, key=lambda line: abs((line.entry or 0) - near), default=None)
        if line is not None:
            candidates.remove(line)
        return line

    def _miss(self, change: Change, expected: RowVersion | Row, on_conflict: OnConflict) -> None:
        """Handle a line that differs: it is missing if no other line has its number, else it has changed."""
        after, number = change.after, number_of(expected.id)
        existing = self._note.row(self._entries[number]) if 0 <= number < len(self._entries) else None
        is_there = isinstance(after, Row) and self._by_state[state_of_line(after.entry().content)]
        if is_there or (after is None and existing is None):
            self._result.tally.already.append(expected.id)
            return
        wanted = expected if isinstance(expected, Row) else Row.from_entry(expected)
        can_restore = isinstance(after, Row) and on_conflict in ("overwrite", "rename")
        self._result.add_conflict(wanted, existing, skipped=not can_restore)
        if isinstance(after, Row) and can_restore:
            self._restore(change, after)

    def _edited(self, line: Line, edit: Edit) -> bytes:
        row = self._note.row(line)
        for name, value in edit.values.items():
            if name != "content" and value != row.values.get(name):
                raise Refused(why_not_field(WHY_NOT, name) or "", hint="Only the content of a line can be changed.")
        wanted = str(edit.values.get("content", line.content))
        return line.raw if wanted == line.content else with_content(line.raw, checked_content(wanted, line.content))

    def _restore(self, change: Change, row: Row) -> None:
        """Insert a deleted line below the line that was above it."""
        raw, lines = _raw_of(row), [line.raw for line in self._lines]
        inserted = [edit.new for edit in self._edits if edit.old is None]
        if [*lines, *inserted].count(raw) >= int(row.values.get("alike") or 1):
            self._result.tally.already.append(row.id)
            return
        gap = insertion_index(row, lines, _line_number(change) - len(inserted))
        self._edits.append(_LineEdit(change, None, raw, gap))

    def _write(self, appended: Sequence[_LineEdit]) -> None:
        """Assemble the new file, and record each change with its rows in the old and the new file."""
        by_gap: dict[int, list[_LineEdit]] = defaultdict(list)
        for edit in self._edits:
            by_gap[edit.gap if edit.old is None else edit.old.index].append(edit)
        new: list[bytes] = []
        for index in range(len(self._lines) + 1):
            # Inserted lines come before the line at their position.
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
        # Only the last line may have no line ending.
        ended = [line if line.endswith(b"\n") else line + b"\n" for line in new[:-1] if line]
        self._result.data = b"".join([*ended, *new[-1:]])
        lines = lines_of(self._result.data)
        leaving = {edit.old.index for edit in self._edits if edit.old is not None and not edit.new}
        for edit in (*self._edits, *appended):
            context = None if edit.old is None or edit.new else line_context(self._lines, edit.old.index, leaving)
            before = None if edit.old is None else self._note.row(edit.old, context)
            after = self._note.row(lines[edit.index]) if edit.new else None
            self._result.record(edit.change, before, after)


def _new_line(memory: object) -> bytes:
    """Format a new memory as ZeroClaw does. Raises Refused for a memory that cannot be a line."""
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
