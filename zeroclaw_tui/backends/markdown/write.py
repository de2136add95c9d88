"""Storing, changing and removing lines of notes files, and taking that back: the very bytes where a file is as that
left it, else by the lines around. Everything here works on the thread it is called on.
"""

from __future__ import annotations

import os
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from zeroclaw_tui.backends.markdown.files import NoteFile, NoteFolder, find_files, labels_of, note_in
from zeroclaw_tui.backends.markdown.lines import (
    Context,
    Edit,
    Edited,
    Line,
    Source,
    best_gap,
    body_of,
    checked_content,
    context_of,
    digest,
    edited,
    lines_of,
    place_of,
    raw_of,
    state_of,
    taking_back,
    with_content,
)
from zeroclaw_tui.config.locations import CORE_NAME, DAILY_FOLDER
from zeroclaw_tui.files.disk import read_bytes, replace_bytes, retry_if_changed
from zeroclaw_tui.memory.change import (
    CLASHES_TOLD,
    Advance,
    Batches,
    Clash,
    Clashes,
    ClashFound,
    Conflict,
    Draft,
    Keep,
    Removal,
    Reversal,
    RowChange,
    Stamp,
    StoredRow,
    Value,
    Written,
)
from zeroclaw_tui.memory.change import (
    Edit as RowEdit,
)
from zeroclaw_tui.memory.days import date_of_note
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import NotFound, Refused
from zeroclaw_tui.memory.text import WHITE_SPACE

LINES_AT_ONCE = 250
_READS_BACK = "Every line of a daily file is read back as category daily."
_TRIMMED = "ZeroClaw reads a line without the blanks at its ends, so they are left out."
_GONE = "This line no longer exists."
_RELOAD = "Press r to reload the list."
_CORE = "core"
_BULLET = "- "


def stamp_of(entry: MemoryEntry) -> Stamp:
    """The stamp of a line; its state is a hash of file and content, so that it is found again under another number."""
    label = str(entry.handle).rpartition(":")[0]
    return Stamp(
        id=entry.id,
        state=_state(label, entry.content),
        key=entry.key,
        category=entry.category,
        size=entry.size,
        timestamp=entry.timestamp,
        agent=entry.agent,
        handle=entry.handle,
        dated=date_of_note(f"{entry.timestamp}.md"),
    )


@dataclass(frozen=True, slots=True)
class NoteWriter:
    """Writes what a person changes. `why_not` has a sentence for each field that a line cannot hold."""

    folders: Sequence[NoteFolder]
    why_not: dict[str, str]
    clock: Callable[[], datetime]

    def sources(self) -> list[Source]:
        """Every notes file there is now."""
        files = [note for folder in self.folders for note in find_files(folder)]
        return [Source(label, note) for label, note in zip(labels_of(files), files, strict=True)]

    def source(self, id: str) -> Source | None:
        """The file a row of this id would lie in."""
        label = id.rpartition(":")[0]
        return next((source for source in self.sources() if source.label == label), None)

    def source_of_row(self, row: StoredRow) -> Source:
        """The file a kept row came from, whether it is there now or not. Raises Refused for one of another folder."""
        file = str(row.values.get("file"))
        known = next((one for one in self.sources() if one.file == file and one.note.agent == row.agent), None)
        if known is not None:
            return known
        for folder in self.folders:
            path = Path(os.path.normpath(folder.root / file))
            if folder.agent == row.agent and path.parent in (folder.root, folder.root / DAILY_FOLDER):
                return self.source_of(note_in(folder, str(path.relative_to(folder.root))))
        raise Refused(f"{file} is no file of these notes.", hint="Open the folder it was in.")

    def stored(self, ids: Iterable[str]) -> dict[str, StoredRow]:
        """Lines as they lie in their files, by id; those that are not there are left out."""
        by_label: dict[str, list[str]] = defaultdict(list)
        for id in ids:  # noqa: A001
            by_label[id.rpartition(":")[0]].append(id)
        found: dict[str, StoredRow] = {}
        for source in self.sources():
            wanted = by_label.get(source.label, [])
            lines = lines_of(read_bytes(source.note.path) or b"") if wanted else []
            numbered = {line.entry: line for line in lines if line.entry is not None}
            there = [(id, numbered.get(_number(id))) for id in wanted]  # noqa: A001
            found |= {id: source.row(line) for id, line in there if line is not None}  # noqa: A001
        return found

    def create(self, draft: Draft, keep: Keep) -> Written:
        """Append a line as ZeroClaw does, under a heading where the file is new."""
        draft = draft.checked()
        entry = line_of(draft)
        source, heading = self.target(draft)
        kept: list[RowChange] = []

        def attempt() -> Edited:
            data = read_bytes(source.note.path)
            lead = "\n" if data else heading
            change = edited(source, data, [Edit(len(data or b""), new=entry, new_lead=lead.encode())])
            _keep_once(keep, kept, change.changes)
            replace_bytes(source.note.path, data, change.data)
            return change

        change = retry_if_changed(attempt, source.note.path)
        return Written(change.changes[0], self._notes(draft, source.note))

    def update(self, id: str, edit: RowEdit, expected: str, keep: Keep) -> Written:
        """Write another content into one line. Raises NotFound, Conflict, Refused."""
        values = edit.checked().values
        source = self.source(id)
        if source is None:
            raise NotFound(_GONE, hint=_RELOAD)
        kept: list[RowChange] = []

        def attempt() -> RowChange:
            data = read_bytes(source.note.path) or b""
            line = _line_still(source, id, expected, lines_of(data))
            row = source.row(line)
            self._refuse_other_fields(row, values)
            wanted = str(values.get("content", line.content))
            if wanted == line.content:
                return RowChange(row, row)
            new = with_content(line.raw, checked_content(wanted, line.content))
            if new == line.raw:
                return RowChange(row, row)
            change = edited(source, data, [Edit(line.start, old=line.raw, new=new)])
            _keep_once(keep, kept, change.changes)
            replace_bytes(source.note.path, data, change.data)
            return change.changes[0]

        return Written(retry_if_changed(attempt, source.note.path))

    def remove(self, stamps: Sequence[Stamp], keep: Keep, advance: Advance | None) -> Removal:
        """Take lines out of their files, those that still are what was shown."""
        search = _Search()
        removed = 0
        for start in range(0, len(stamps), LINES_AT_ONCE):
            if start and advance is not None and not advance(removed):
                return Removal(removed, tuple(search.changed), tuple(search.gone), cancelled=True)
            removed += self._remove_batch(stamps[start : start + LINES_AT_ONCE], keep, search)
        if advance is not None:
            advance(removed)
        return Removal(removed, tuple(search.changed), tuple(search.gone))

    def _remove_batch(self, stamps: Sequence[Stamp], keep: Keep, search: _Search) -> int:
        sources = {source.label: source for source in self.sources()}
        by_label: dict[str, list[Stamp]] = defaultdict(list)
        for stamp in search.new(stamps):
            by_label[stamp.id.rpartition(":")[0]].append(stamp)
        planned: list[tuple[Source, list[Stamp], bytes, Edited]] = []
        for label, wanted in by_label.items():
            if label not in sources:
                search.gone += [stamp.id for stamp in wanted]
                continue
            data = read_bytes(sources[label].note.path) or b""
            found = search.found(label, wanted, lines_of(data))
            if found:
                planned.append((sources[label], list(found), data, _without(sources[label], data, found.values())))
        changes = [change for *_, edit in planned for change in edit.changes]
        if changes:
            keep(changes)
        return sum(self._take_out(search, *parts) for parts in planned)

    def _take_out(self, search: _Search, source: Source, stamps: list[Stamp], data: bytes, edit: Edited) -> int:
        first = [(data, edit, len(edit.changes))]

        def attempt() -> int:
            # What was kept stays true when the agent wrote in between: the lines are looked up again.
            if first:
                read, change, count = first.pop()
            else:
                read = read_bytes(source.note.path) or b""
                found = search.found(source.label, stamps, lines_of(read))
                change, count = _without(source, read, found.values()), len(found)
            if count:
                replace_bytes(source.note.path, read, change.data)
            return count

        count = retry_if_changed(attempt, source.note.path)
        search.note_removed(source.label, stamps)
        return count

    def target(self, draft: Draft) -> tuple[Source, str]:
        """The file that takes a draft, and the heading it begins with where it is new. Raises Refused."""
        folder = next((folder for folder in self.folders if folder.agent == draft.agent), None)
        if folder is None:
            raise Refused(f"Agent {draft.agent!r} has no notes here.", hint="Name an agent that has notes.")
        day = self.clock().astimezone().date().isoformat()
        heading = "# Long-Term Memory\n\n" if draft.category == "core" else f"# Daily Log — {day}\n\n"
        if folder.only is not None:
            return self.source_of(note_in(folder, folder.only)), heading
        name = CORE_NAME if draft.category == "core" else f"{DAILY_FOLDER}/{day}.md"
        return self.source_of(note_in(folder, name)), heading

    def source_of(self, note: NoteFile) -> Source:
        """A file of these notes, whether it is there now or not."""
        known = self.sources()
        label = next((source.label for source in known if source.note == note), None)
        return Source(label or labels_of([*(source.note for source in known), note])[-1], note)

    def _notes(self, draft: Draft, note: NoteFile) -> tuple[str, ...]:
        told = [self.why_not[name] for name in ("session_id", "importance", "pinned", "namespace")
                if getattr(draft, name) is not None]  # fmt: skip
        told += [_READS_BACK] if draft.category != note.category else []
        return (*told, *([_TRIMMED] if draft.content != draft.content.strip(WHITE_SPACE) else []))

    def _refuse_other_fields(self, row: StoredRow, values: Mapping[str, Value]) -> None:
        for name, value in values.items():
            if name != "content" and value != row.values.get(name):
                raise Refused(self.why_not[name], hint="Only the content of a line can be changed.")


@dataclass(slots=True)
class _Search:
    """Looks stamped lines up by their content, each line once, near the number it had."""

    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _removed: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def new(self, stamps: Sequence[Stamp]) -> list[Stamp]:
        """Those not asked for yet."""
        fresh = {stamp.id: stamp for stamp in stamps if stamp.id not in self._seen}
        self._seen.update(fresh)
        return list(fresh.values())

    def found(self, label: str, stamps: Sequence[Stamp], lines: Sequence[Line]) -> dict[Stamp, Line]:
        """The line of each stamp; those without one are noted as changed or gone."""
        by_state: dict[str, list[Line]] = defaultdict(list)
        for line in lines:
            if line.entry is not None:
                by_state[_state(label, line.content)].append(line)
        there = sum(line.entry is not None for line in lines)
        found: dict[Stamp, Line] = {}
        for stamp in stamps:
            number = _number(stamp.id)
            near = number - bisect_left(self._removed[label], number)
            candidates = by_state[stamp.state]
            if candidates:
                line = min(candidates, key=lambda one: abs((one.entry or 0) - near))
                candidates.remove(line)
                found[stamp] = line
            else:
                (self.changed if near < there else self.gone).append(stamp.id)
        return found

    def note_removed(self, label: str, stamps: Sequence[Stamp]) -> None:
        """From now on the lines behind these have smaller numbers."""
        for stamp in stamps:
            insort(self._removed[label], _number(stamp.id))


def line_of(draft: Draft) -> bytes:
    """The line that ZeroClaw writes for a checked draft, with its end. Raises Refused for what no line can be."""
    content = checked_content(draft.content)
    if "\n" in draft.key or "\r" in draft.key:
        raise Refused("A key in Markdown memory cannot have a line break.", hint="Choose another key.")
    return f"- **{draft.key}**: {content}\n".encode("utf-8", "surrogateescape")


def _without(source: Source, data: bytes, lines: Iterable[Line]) -> Edited:
    return edited(source, data, [Edit(line.start, old=line.raw) for line in lines])


def _line_of(id: str, lines: Sequence[Line]) -> Line | None:
    number = _number(id)
    return next((line for line in lines if line.entry == number), None)


def _line_still(source: Source, id: str, expected: str, lines: Sequence[Line]) -> Line:
    """The line that was opened, under whatever number it has now."""
    number = _number(id)
    entries = [line for line in lines if line.entry is not None]
    for line in sorted(entries, key=lambda one: abs((one.entry or 0) - number)):
        row = source.row(replace(line, entry=number))
        if row.fingerprint == expected:
            return line
    there = _line_of(id, lines)
    if there is None:
        raise NotFound(_GONE, hint=_RELOAD)
    raise Conflict(source.row(there))


def _keep_once(keep: Keep, kept: list[RowChange], changes: Sequence[RowChange]) -> None:
    # Written anew after the agent was quicker, it is the same line: its bytes are kept already.
    if not kept:
        keep(changes)
        kept.extend(changes)


def _number(id: str) -> int:
    number = id.rpartition(":")[2]
    return int(number) if number.isascii() and number.isdigit() else -1


def _state(label: str, content: str) -> str:
    return digest(f"{label}\0{content}".encode("utf-8", "surrogatepass"))


@dataclass(slots=True)
class Step:
    """Changes that were made to one file at once."""

    source: Source
    before: str | None
    after: str | None
    changes: list[tuple[RowChange, Context]] = field(default_factory=list)


@dataclass(slots=True)
class RevertedFile:
    """A file with a step taken back, and what was met on the way."""

    data: bytes | None
    changes: list[RowChange] = field(default_factory=list)
    clashes: list[ClashFound] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)


def revert(writer: NoteWriter, batches: Batches, keep: Keep, clash: Clash, advance: Advance | None) -> Reversal:
    """Bring lines back to what they were. Raises Clashes before anything is done, with "refuse"."""
    files = _steps(writer, batches)
    if clash == "refuse":
        foreseen = _looked_at(files, clash)
        if foreseen.clashes:
            raise Clashes(foreseen.clashes, foreseen.clashing)
    reverted = 0
    notes: dict[str, None] = {}
    for steps in files:
        path, left = steps[0].source.note.path, _OpenSteps(steps)
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


class _OpenSteps:
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


def foresee(writer: NoteWriter, batches: Batches, clash: Clash) -> Reversal:
    """What `revert` would do with the files as they are now."""
    return _looked_at(_steps(writer, batches), clash)


def _looked_at(files: Sequence[Sequence[Step]], clash: Clash) -> Reversal:
    count = 0
    found: list[ClashFound] = []
    notes: dict[str, None] = {}
    for steps in files:
        data = read_bytes(steps[0].source.note.path)
        count += sum(len(step.changes) for step in steps)
        left = _OpenSteps(steps)
        while (step := left.next(state_of(data))) is not None:
            back = _taken_back(step, data, clash)
            data = back.data
            found += back.clashes
            notes |= back.notes
    stay = len(found) if clash in ("refuse", "skip") else 0
    return Reversal(count - stay, {}, False, tuple(notes), tuple(found[:CLASHES_TOLD]), len(found))


def _take_back(step: Step, keep: Keep, clash: Clash) -> RevertedFile:
    path = step.source.note.path
    kept = False

    def attempt() -> RevertedFile:
        nonlocal kept
        data = read_bytes(path)
        # Once it is kept as taken back, what the agent wrote in between stays, and the old line comes beside it.
        back = _taken_back(step, data, "rename" if kept and clash == "refuse" else clash)
        if back.clashes and clash == "refuse" and not kept:
            raise Clashes(back.clashes[:CLASHES_TOLD], len(back.clashes))
        if back.changes and not kept:
            keep(back.changes)
            kept = True
        if back.data != data:
            replace_bytes(path, data, back.data)
        return back

    return retry_if_changed(attempt, path)


def _taken_back(step: Step, data: bytes | None, clash: Clash) -> RevertedFile:
    state = state_of(data)
    if state == step.after:
        ordered = sorted(step.changes, key=lambda pair: pair[1].old_at)
        edits = [taking_back(change, context) for change, context in ordered]
        done = edited(step.source, data, edits, leaves_no_file=step.before is None)
        return RevertedFile(done.data, done.changes)
    if state == step.before:
        return RevertedFile(data)
    back = RevertedFile(data)
    # From the end on: lines that lay side by side then come back in their order.
    for change, context in sorted(step.changes, key=lambda pair: pair[1].old_at, reverse=True):
        _LineRevert(step.source, back, change, context, clash).take_back()
    return back


class _LineRevert:
    """Taking one change back in a file that others have written since."""

    def __init__(self, source: Source, back: RevertedFile, change: RowChange, context: Context, clash: Clash) -> None:
        self._source, self._back, self._change, self._context, self._clash = source, back, change, context, clash
        self._lines = lines_of(back.data or b"")
        self._raw = [line.raw for line in self._lines]

    def take_back(self) -> None:
        """Revert the change, or record the clash."""
        change = self._change
        if change.before is None:
            self._take_away(change.row)
        elif change.after is None:
            self._bring_back(change.before)
        else:
            self._put_back(change.before, change.after)

    def _take_away(self, created: StoredRow) -> None:
        gone = self._line(raw_of(created))
        changed = None if gone is not None else self._in_place()
        if changed is not None:
            self._back.clashes.append(ClashFound(created, self._source.row(changed), "changed"))
            if self._clash in ("rename", "skip"):
                self._note(f"A line of {self._source.note.name} changed since it was stored, so it stays as it is now.")
            elif self._clash == "overwrite":
                gone = changed
        if gone is not None:
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
        present = None if there is None else self._source.row(there)
        self._back.clashes.append(ClashFound(before, present, "gone" if there is None else "changed"))
        if there is not None and self._clash == "overwrite":
            self._replace(there, raw_of(before))
        elif self._clash not in ("refuse", "skip"):
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


def append(writer: NoteWriter, wanted: Batches, keep: Keep, advance: Advance | None) -> Reversal:
    """Append the line of each `before`: its content is the text, its category and `created_at` (a stem) the file.

    Each file is written once, in one step. Every line of it is kept before. Raises Refused for an agent without a
    folder.
    """
    appended = 0
    for source, heading, lines in _lines_of_files(writer, wanted):
        if advance is not None and not advance(appended):
            return Reversal(appended, cancelled=True)
        _append_to(source, heading, lines, keep)
        appended += len(lines)
    if advance is not None:
        advance(appended)
    return Reversal(appended)


def _lines_of_files(writer: NoteWriter, wanted: Batches) -> Sequence[tuple[Source, str, list[bytes]]]:
    places: dict[tuple[str | None, str, bool], list[bytes]] = defaultdict(list)
    for batch in wanted():
        for change in batch:
            entry = change.row.entry()
            line = f"{_BULLET}{entry.content}\n".encode("utf-8", "surrogateescape")
            places[entry.agent, entry.timestamp, entry.category == _CORE].append(line)
    return [(*_target(writer, *place), lines) for place, lines in places.items()]


def _target(writer: NoteWriter, agent: str | None, stem: str, is_core: bool) -> tuple[Source, str]:
    folder = next((folder for folder in writer.folders if folder.agent == agent), None)
    if folder is None:
        raise Refused(f"Agent {agent!r} has no notes here.", hint="Name an agent that has notes.")
    heading = "# Long-Term Memory\n\n" if is_core else f"# Daily Log — {stem}\n\n"
    if folder.only is not None:
        return writer.source_of(note_in(folder, folder.only)), heading
    name = CORE_NAME if is_core else f"{DAILY_FOLDER}/{stem}.md"
    return writer.source_of(note_in(folder, name)), heading


def _append_to(source: Source, heading: str, lines: Sequence[bytes], keep: Keep) -> None:
    kept = False

    def attempt() -> None:
        nonlocal kept
        data = read_bytes(source.note.path)
        change = edited(source, data, _edits(data, heading, lines))
        if not kept:
            for batch in _batches(change.changes):
                keep(batch)
            # Written anew after the agent was quicker, they are the same lines: their bytes are kept already.
            kept = True
        replace_bytes(source.note.path, data, change.data)

    retry_if_changed(attempt, source.note.path)


def _edits(data: bytes | None, heading: str, lines: Sequence[bytes]) -> Iterator[Edit]:
    """ZeroClaw sets each entry apart by a blank line."""
    end = len(data or b"")
    for at, line in enumerate(lines):
        lead = "\n" if data or at else heading
        yield Edit(end, new=line, new_lead=lead.encode())


def _batches(changes: Sequence[RowChange]) -> Iterator[Sequence[RowChange]]:
    for start in range(0, len(changes), LINES_AT_ONCE):
        yield changes[start : start + LINES_AT_ONCE]


def store_all(writer: NoteWriter, drafts: Sequence[Draft]) -> None:
    """Append the lines of these drafts in order. Raises Refused before anything is written."""
    targets: dict[tuple[str | None, bool], tuple[Source, str]] = {}
    lines: dict[tuple[str | None, bool], list[bytes]] = {}
    for given in drafts:
        draft = given.checked()
        place = (draft.agent, draft.category == "core")
        if place not in targets:
            targets[place] = writer.target(draft)
        lines.setdefault(place, []).append(line_of(draft))
    for place, (source, heading) in targets.items():
        _append_bytes(source, heading.encode(), b"\n".join(lines[place]))


def _append_bytes(source: Source, heading: bytes, lines: bytes) -> None:
    path = source.note.path

    def attempt() -> None:
        data = read_bytes(path)
        replace_bytes(path, data, (data + b"\n" if data else heading) + lines)

    retry_if_changed(attempt, path)
