"""Taking changes of notes files back: the very bytes where the file is as they left it, else by the lines around."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from zeroclaw_tui.backends.markdown.edits import (
    Context,
    Edit,
    Source,
    context_of,
    edited,
    raw_of,
    state_of,
    taking_back,
)
from zeroclaw_tui.backends.markdown.lines import Line, best_gap, body_of, lines_of, place_of
from zeroclaw_tui.backends.markdown.writing import NoteWriter
from zeroclaw_tui.files.disk import read_bytes, replace_bytes, until_it_holds
from zeroclaw_tui.memory.change import (
    Advance,
    Batches,
    Clash,
    Clashes,
    ClashFound,
    Keep,
    Reversal,
    RowChange,
    StoredRow,
)

CLASHES_TOLD = 100


@dataclass(slots=True)
class Step:
    """Changes that were made to one file at once."""

    source: Source
    before: str | None
    after: str | None
    changes: list[tuple[RowChange, Context]] = field(default_factory=list)


@dataclass(slots=True)
class Back:
    """A file with a step taken back, and what was met on the way."""

    data: bytes | None
    changes: list[RowChange] = field(default_factory=list)
    clashes: list[ClashFound] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)


def revert(writer: NoteWriter, batches: Batches, keep: Keep, clash: Clash, advance: Advance | None) -> Reversal:
    """Bring lines back to what they were. Raises Clashes before anything is done, with "refuse"."""
    files = _steps(writer, batches)
    if clash == "refuse":
        _look_first(files)
    reverted = 0
    notes: dict[str, None] = {}
    for steps in files:
        path, left = steps[0].source.note.path, _Left(steps)
        while (step := left.next(state_of(read_bytes(path)))) is not None:
            done = reverted + left.already_back
            if done and advance is not None and not advance(done):
                return Reversal(done, cancelled=True, notes=tuple(notes))
            notes |= _take_back(step, keep, clash).notes
            reverted += len(step.changes)
        reverted += left.already_back
    if advance is not None:
        advance(reverted)
    return Reversal(reverted, notes=tuple(notes))


class _Left:
    """The steps of one file that are still to be taken back, the last first, in runs that nobody wrote between.

    Wherever in a run the file is, the steps from there on lead to the same bytes: where it was in one state more than
    once, the shortest way is taken.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self.already_back = 0
        """How many changes needed nothing."""
        self._runs: list[list[Step]] = []
        for step in steps:
            if self._runs and self._runs[-1][-1].before == step.after:
                self._runs[-1].append(step)
            else:
                self._runs.append([step])

    def next(self, state: str | None) -> Step | None:
        """Which one to take back in this state: of the last run that has been there, else the last of all."""
        while self._runs:
            been = (run for run in self._runs if state in (run[0].after, *(step.before for step in run)))
            run = next(been, self._runs[0])
            back = max((at for at, step in enumerate(run, 1) if step.before == state), default=0)
            self.already_back += sum(len(step.changes) for step in run[:back])
            del run[:back]
            step = run.pop(0) if run else None
            self._runs = [run for run in self._runs if run]
            if step is not None:
                return step
        return None


def _steps(writer: NoteWriter, batches: Batches) -> list[list[Step]]:
    by_file: dict[tuple[str, str | None], dict[tuple[str | None, ...], Step]] = defaultdict(dict)
    sources: dict[tuple[str, str | None], Source] = {}
    for batch in batches():
        for change in batch:
            row = change.row
            context = context_of(row) or Context(at=int(row.values.get("line") or 0))
            name = (str(row.values.get("file")), row.agent)
            if name not in sources:
                sources[name] = writer.source_of_row(row)
            step = by_file[name].setdefault(
                (context.step, context.before, context.after), Step(sources[name], context.before, context.after)
            )
            step.changes.append((change, context))
    return [list(steps.values()) for steps in by_file.values()]


def _look_first(files: Sequence[Sequence[Step]]) -> None:
    found: list[ClashFound] = []
    for steps in files:
        data = read_bytes(steps[0].source.note.path)
        left = _Left(steps)
        while (step := left.next(state_of(data))) is not None:
            back = _taken_back(step, data, "refuse")
            data = back.data
            found += back.clashes
    if found:
        raise Clashes(found[:CLASHES_TOLD], len(found))


def _take_back(step: Step, keep: Keep, clash: Clash) -> Back:
    path = step.source.note.path
    kept = False

    def attempt() -> Back:
        nonlocal kept
        data = read_bytes(path)
        # Once it is kept as taken back, what the agent wrote in between stays, and the old line comes beside it.
        back = _taken_back(step, data, "rename" if kept and clash == "refuse" else clash)
        if back.clashes:
            raise Clashes(back.clashes[:CLASHES_TOLD], len(back.clashes))
        if back.changes and not kept:
            keep(back.changes)
            kept = True
        if back.data != data:
            replace_bytes(path, data, back.data)
        return back

    return until_it_holds(attempt, path)


def _taken_back(step: Step, data: bytes | None, clash: Clash) -> Back:
    state = state_of(data)
    if state == step.after:
        ordered = sorted(step.changes, key=lambda pair: pair[1].old_at)
        edits = [taking_back(change, context) for change, context in ordered]
        done = edited(step.source, data, edits, leaves_no_file=step.before is None)
        return Back(done.data, done.changes)
    if state == step.before:
        return Back(data)
    back = Back(data)
    # From the end on: lines that lay side by side then come back in their order.
    for change, context in sorted(step.changes, key=lambda pair: pair[1].old_at, reverse=True):
        _One(step.source, back, change, context, clash).take_back()
    return back


class _One:
    """Taking one change back in a file that others have written since."""

    def __init__(self, source: Source, back: Back, change: RowChange, context: Context, clash: Clash) -> None:
        self._source, self._back, self._change, self._context, self._clash = source, back, change, context, clash
        self._lines = lines_of(back.data or b"")
        self._raw = [line.raw for line in self._lines]

    def take_back(self) -> None:
        """Do it, or note the clash."""
        change = self._change
        if change.before is None:
            self._take_away(change.row)
        elif change.after is None:
            self._bring_back(change.before)
        else:
            self._put_back(change.before, change.after)

    def _take_away(self, created: StoredRow) -> None:
        line = self._line(raw_of(created))
        changed = None if line is not None else self._in_place()
        if changed is not None and self._clash == "refuse":
            self._back.clashes.append(ClashFound(created, self._source.row(changed), "changed"))
        elif changed is not None and self._clash in ("rename", "skip"):
            self._note(f"A line of {self._source.note.name} changed since it was stored, so it stays as it is now.")
        elif (gone := line or changed) is not None:
            self._do(Edit(gone.start, old=gone.raw))

    def _bring_back(self, removed: StoredRow) -> None:
        context, body = self._context, body_of(raw_of(removed))
        there = place_of(self._raw, context.old_above, context.old_below, context.old_line, only=body)
        # Beside others of the same text it is there only when none of them is missing.
        if there is None or sum(body_of(raw) == body for raw in self._raw) < int(removed.values.get("alike") or 1):
            self._insert(raw_of(removed))

    def _put_back(self, before: StoredRow, after: StoredRow) -> None:
        line = self._line(raw_of(after))
        if line is not None:
            self._replace(line, raw_of(before))
            return
        there = self._in_place()
        if there is not None and body_of(there.raw) == body_of(raw_of(before)):
            return
        if self._clash == "refuse":
            present = None if there is None else self._source.row(there)
            self._back.clashes.append(ClashFound(before, present, "gone" if there is None else "changed"))
        elif there is not None and self._clash == "overwrite":
            self._replace(there, raw_of(before))
        elif self._clash != "skip":
            self._insert(raw_of(before), None if there is None else there.index + 1)

    def _line(self, raw: bytes) -> Line | None:
        """The line of exactly this text nearest to where it was."""
        alike = [line for line in self._lines if line.entry is not None and body_of(line.raw) == body_of(raw)]
        return min(alike, key=lambda line: abs(line.index - self._context.at), default=None)

    def _in_place(self) -> Line | None:
        """The entry that now lies between the neighbours."""
        context = self._context
        at = place_of(self._raw, context.above, context.below, context.at, on_both_sides=True)
        return None if at is None or self._lines[at].entry is None else self._lines[at]

    def _replace(self, line: Line, raw: bytes) -> None:
        end = line.raw[len(body_of(line.raw)) :]
        self._do(Edit(line.start, old=line.raw, new=body_of(raw) + end))

    def _insert(self, raw: bytes, at: int | None = None) -> None:
        context, lines = self._context, self._lines
        if at is None:
            at = best_gap(
                self._raw,
                (context.old_above, context.old_below, context.old_line),
                (context.above, context.below, context.at),
            )
        if at is None:
            at = len(lines)
            if lines:
                self._note(f"The lines beside it have gone from {self._source.note.name}, so it is at the end now.")
        is_last = at == len(lines)
        lead = b"\n" if is_last and lines and not lines[-1].raw.endswith(b"\n") else b""
        end = b"" if is_last or raw.endswith(b"\n") else b"\n"
        self._do(Edit(lines[-1].end if is_last and lines else lines[at].start if lines else 0,
                      new=raw + end, new_lead=lead))  # fmt: skip

    def _do(self, edit: Edit) -> None:
        edit = Edit(edit.start, edit.old, edit.new, edit.old_lead, edit.new_lead, self._change.number)
        done = edited(self._source, self._back.data, [edit])
        self._back.data = done.data
        self._back.changes += done.changes

    def _note(self, sentence: str) -> None:
        self._back.notes[sentence] = None
