"""Applying changes to notes files, each file written once.

The journal has every file before and after, so that it comes back to the byte, and each of its memories, so that one of
them can be restored. Everything here works on the thread it is called on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from zeroclaw_tui.backends.markdown.edit import MOVED, LineEditor, Outcome
from zeroclaw_tui.backends.markdown.files import WHY_NOT, NoteFile, Sources, is_new
from zeroclaw_tui.backends.markdown.lines import Line, lines_of
from zeroclaw_tui.backends.markdown.merge import undone
from zeroclaw_tui.files.disk import FileChangedError, read_bytes, replace_bytes, retry_if_changed
from zeroclaw_tui.memory.change import (
    CONFLICTS_LISTED,
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
)
from zeroclaw_tui.memory.text import WHITE_SPACE


@dataclass(slots=True)
class _Step:
    """Changes of lines that are made at once; with `file`, the change of the whole file that they come with."""

    file: Change | None
    lines: list[Change] = field(default_factory=list)


class NoteChanges:
    """A set of changes to apply. Each file is written once, in one step; the set can be stopped between two files."""

    def __init__(
        self,
        sources: Sources,
        journal: Journal | None,
        *,
        on_conflict: OnConflict,
        dry_run: bool,
        goes_on: ProgressCallback,
    ) -> None:
        self._sources, self._journal, self._goes_on = sources, journal, goes_on
        self._on_conflict, self._dry_run = on_conflict, dry_run

    def apply(self, changes: Iterable[Change]) -> ApplyResult:
        """Apply them; see `Memory.apply`."""
        total, processed = Outcome(), 0
        checked = [_checked(change) for change in changes]
        works = self._works(checked, total.tally)
        if self._on_conflict == "refuse" and not self._dry_run:
            refused = ApplyResult()
            for note, steps in works:
                refused.add(self._planned(note, steps, read_bytes(note.path)).tally.refused())
            if refused.conflicts:
                return refused
        for note, steps in works:
            if processed and not self._goes_on(processed):
                total.tally.cancelled = True
                break
            total.add(self._write(note, steps))
            processed += sum(len(step.lines) for step in steps)
        else:
            self._goes_on(processed)
        if self._dry_run and self._on_conflict == "refuse" and total.tally.conflicts:
            total.tally.written = 0
        order = {id(change): at for at, change in enumerate(checked)}
        total.rows.sort(key=lambda pair: order[id(pair[0])])
        total.tally.rows = [row for _, row in total.rows[:CONFLICTS_LISTED]]
        return total.tally

    def _works(self, changes: Sequence[Change], total: ApplyResult) -> list[tuple[NoteFile, list[_Step]]]:
        """What is to be done to each file; what needs nothing is noted in `total`."""
        works: dict[Path, tuple[NoteFile, list[_Step]]] = {}
        for change in changes:
            note = self._note_of(change, total)
            if note is None:
                continue
            _, steps = works.setdefault(note.path, (note, []))
            if change.table == NOTES_FILE:
                steps.append(_Step(change))
                continue
            is_undo = isinstance(change.target, Row) and not isinstance(change.after, Edit) and not is_new(change)
            if not steps or (steps[-1].file is not None and not is_undo):
                steps.append(_Step(None))
            steps[-1].lines.append(change)
        return [*works.values()]

    def _note_of(self, change: Change, total: ApplyResult) -> NoteFile | None:
        """The file that a change is about; None if there is nothing to do."""
        row, after = change.target, change.after
        if isinstance(after, Draft):
            note = self._sources.for_new(after.agent, after.category)
            total.note(*_losses(after, note.category))
            return note
        if isinstance(after, Row) and is_new(change) and change.table != NOTES_FILE:
            entry = after.entry()
            return self._sources.for_new(entry.agent, entry.category, entry.timestamp)
        assert row is not None
        if change.table == NOTES_FILE:
            return self._sources.at(row.id)
        if isinstance(row, Row):
            return self._sources.of_file(str(row.values.get("file")), row.agent)
        label = row.id.rpartition(":")[0]
        if label not in self._sources.labelled:
            total.already.append(row.id)
        return self._sources.labelled.get(label)

    def _write(self, note: NoteFile, steps: Sequence[_Step]) -> Outcome:
        """Write one file, once more if the agent has written it in the meantime: then everything is compared again."""
        path, journal = note.path, self._journal

        def attempt() -> Outcome:
            data = read_bytes(path)
            outcome = self._planned(note, steps, data)
            if self._dry_run:
                return outcome
            if self._on_conflict == "refuse" and outcome.tally.conflicts:
                return Outcome(tally=outcome.tally.refused())
            if journal is not None and outcome.changes:
                journal.record(outcome.changes)
            try:
                if outcome.data != data:
                    replace_bytes(path, data, outcome.data)
            except FileChangedError:
                if journal is not None:
                    journal.withdraw()
                raise
            return outcome

        return retry_if_changed(attempt, path)

    def _planned(self, note: NoteFile, steps: Sequence[_Step], data: bytes | None) -> Outcome:
        """The file after all steps."""
        total, path = Outcome(data), os.path.realpath(note.path)
        # The file may be as it was before some of the changes that are to be undone: these are undone already.
        first = next((at for at, step in enumerate(steps) if step.file is None), len(steps))
        done = max((at + 1 for at in range(first) if _bytes_of(steps[at].file, "after") == data), default=0)
        for step in steps[:done]:
            total.tally.already += [change.target.id for change in step.lines if change.target is not None]
        for step in steps[done:]:
            before = total.data
            if step.file is not None:
                outcome = self._file_undone(note, step.file, step.lines, before)
            else:
                outcome = LineEditor(note, before).run(step.lines, self._on_conflict)
            if outcome.data != before:
                reverses = None if step.file is None else step.file.reverses
                old, new = _file_row(path, before), _file_row(path, outcome.data)
                outcome.changes.append(RowChange(old, new, reverses=reverses))
            total.data = outcome.data
            total.add(outcome)
        return total

    def _file_undone(self, note: NoteFile, change: Change, lines: Sequence[Change], now: bytes | None) -> Outcome:
        """Undo the change of a whole file, and with it those of its lines."""
        versions = (_bytes_of(change, "after"), _bytes_of(change, "before"), now)
        merged = undone(*versions, self._on_conflict)
        outcome = Outcome(merged.data)
        if merged.is_moved:
            outcome.tally.note(MOVED.format(note.shown))
        left: set[object] = set()
        for hunk in merged.conflicts:
            before, after, present = (_memories(*pair) for pair in zip(versions, hunk, strict=True))
            is_skipped = self._on_conflict in ("refuse", "skip")
            left |= {line.content for line in (*before, *after)} if is_skipped else set()
            for missed in (before or after)[:1]:
                existing = note.row(present[0]) if present else None
                outcome.add_conflict(note.row(missed), existing, skipped=is_skipped)
            if self._on_conflict == "rename" and not before:
                sentence = f"A line of {note.shown} changed since it was stored, so it stays as it is now."
                outcome.tally.note(sentence)
        for line in lines:
            row, old, new = line.target, line.before, line.after
            assert isinstance(row, Row)
            assert isinstance(old, Row | None)
            assert isinstance(new, Row | None)
            if row.values["content"] not in left:
                outcome.record(line, old, new)
        return outcome


def _checked(change: Change) -> Change:
    after = change.after
    return replace(change, after=after.checked()) if isinstance(after, Draft | Edit) else change


def _losses(draft: Draft, category: str) -> list[str]:
    """Sentences about what the line of a new memory cannot have."""
    names = ("session_id", "importance", "pinned", "namespace")
    losses = [WHY_NOT[name] for name in names if getattr(draft, name) is not None]
    if draft.category != category:
        losses.append("Every line of a daily file is read back as category daily.")
    if draft.content != draft.content.strip(WHITE_SPACE):
        losses.append("ZeroClaw reads a line without the blanks at its ends, so they are left out.")
    return losses


def _memories(data: bytes | None, numbers: Sequence[int]) -> list[Line]:
    """Those of some lines of a file that are memories."""
    lines = lines_of(data or b"")
    return [lines[number] for number in numbers if lines[number].entry is not None]


def _file_row(path: str, data: bytes | None) -> Row | None:
    """A notes file as the journal has it."""
    return None if data is None else Row(path, {"path": path, "bytes": data}, table=NOTES_FILE)


def _bytes_of(change: Change | None, version: str) -> bytes | None:
    """What a journaled notes file held before a change, or after it."""
    row = getattr(change, version)
    data = row.values["bytes"] if isinstance(row, Row) else None
    return data if isinstance(data, bytes) else None
