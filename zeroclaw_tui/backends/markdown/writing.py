"""Storing, changing and removing lines of notes files. Everything here works on the thread it is called on."""

from __future__ import annotations

import os
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from zeroclaw_tui.backends.markdown.edits import Edit, Edited, Source, edited
from zeroclaw_tui.backends.markdown.files import NoteFile, NoteFolder, find_files, labels_of, note_in
from zeroclaw_tui.backends.markdown.lines import Line, checked_content, digest, lines_of, with_content
from zeroclaw_tui.config.layouts import CORE_NAME, DAILY_FOLDER
from zeroclaw_tui.files.disk import read_bytes, replace_bytes, until_it_holds
from zeroclaw_tui.memory.change import (
    Advance,
    Conflict,
    Draft,
    Keep,
    Removal,
    RowChange,
    Stamp,
    StoredRow,
    Value,
    Written,
)
from zeroclaw_tui.memory.change import Edit as Wish
from zeroclaw_tui.memory.days import date_of_note
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import NotThere, Refused
from zeroclaw_tui.memory.text import WHITE_SPACE

LINES_AT_ONCE = 250
_READS_BACK = "Every line of a daily file is read back as category daily."
_TRIMMED = "ZeroClaw reads a line without the blanks at its ends, so they are left out."
_GONE = "This line is no longer there."
_RELOAD = "r reloads the list."


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

        change = until_it_holds(attempt, source.note.path)
        return Written(change.changes[0], self._notes(draft, source.note))

    def update(self, id: str, wish: Wish, expected: str, keep: Keep) -> Written:
        """Write another content into one line. Raises NotThere, Conflict, Refused."""
        values = wish.checked().values
        source = self.source(id)
        if source is None:
            raise NotThere(_GONE, hint=_RELOAD)
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

        return Written(until_it_holds(attempt, source.note.path))

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

        count = until_it_holds(attempt, source.note.path)
        search.note_removed(source.label, stamps)
        return count

    def target(self, draft: Draft) -> tuple[Source, str]:
        """The file that takes a draft, and the heading it begins with where it is new. Raises Refused."""
        folder = next((folder for folder in self.folders if folder.agent == draft.agent), None)
        if folder is None:
            raise Refused(f"There are no notes of agent {draft.agent!r} here.", hint="Name one that has notes.")
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
        raise NotThere(_GONE, hint=_RELOAD)
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
