"""Which notes file a memory is in, or goes to, and the row that a line of it is."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path

from zeroclaw_tui.backends.markdown.files import NoteFile, NoteFolder, find_files, labels_of, note_in, stem_of
from zeroclaw_tui.backends.markdown.lines import CONTEXT, Line, Place, digest, lines_of
from zeroclaw_tui.config.locations import CORE_NAME, DAILY_FOLDER
from zeroclaw_tui.files.disk import read_bytes
from zeroclaw_tui.memory.change import Change, Draft, Row, RowVersion, Value
from zeroclaw_tui.memory.days import date_of_note
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Refused

_CORE = "core"


@dataclass(frozen=True, slots=True)
class Source:
    """A notes file: what begins the ids of its lines, and `file`, how a row names it."""

    label: str
    note: NoteFile

    @property
    def file(self) -> str:
        """Relative to the folder of notes; an agent's file by its whole path."""
        return self.note.name if self.note.agent is None else str(self.note.path)

    @property
    def heading(self) -> bytes:
        """What ZeroClaw begins a new file with."""
        title = "Long-Term Memory" if self.note.category == _CORE else f"Daily Log — {self.note.path.stem}"
        return f"# {title}\n\n".encode("utf-8", "surrogateescape")

    def row(self, line: Line, place: Place | None = None) -> Row:
        """The row that a line is, with the place that it leaves, if it is deleted."""
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
        if place is not None:
            values[CONTEXT] = place.as_json()
        return Row(id, values, id, self.note.agent)

    def state(self, content: str) -> str:
        """The state of a line as versions have it."""
        return _state(self.label, content)


def stamp_of(entry: MemoryEntry) -> RowVersion:
    """The version of a line; its state is a hash of file and content, and found under another number too."""
    label = str(entry.handle).rpartition(":")[0]
    return RowVersion(
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


def _state(label: str, content: str) -> str:
    return digest(f"{label}\0{content}".encode("utf-8", "surrogatepass"))


def number_of(id: str) -> int:
    """The number of a line in its file, -1 for an id without one."""
    number = id.rpartition(":")[2]
    return int(number) if number.isascii() and number.isdigit() else -1


def is_new(change: Change) -> bool:
    """Whether a change appends a memory that was no line of notes before."""
    after = change.after
    return isinstance(after, Draft) or (isinstance(after, Row) and "raw" not in after.values)


class Sources:
    """The files of some folders of notes, as they are when they are first asked for."""

    def __init__(self, folders: Sequence[NoteFolder], clock: Callable[[], datetime]) -> None:
        self._folders, self._clock = folders, clock
        self.for_new = cache(self._for_new)
        """The file that takes new memories of an agent and a category, today's unless a stem is given. Raises Refused
        for an agent without notes."""
        self.of_file = cache(self._of_file)
        """The file of an agent that a row calls so, even if it is gone. Raises Refused for one of another folder."""

    def stored(self, ids: Iterable[str]) -> dict[str, Row]:
        """The lines of these ids, as they are in their files."""
        by_label: dict[str, list[str]] = defaultdict(list)
        for id in ids:  # noqa: A001
            by_label[id.rpartition(":")[0]].append(id)
        found: dict[str, Row] = {}
        for source in (self.labelled[label] for label in by_label if label in self.labelled):
            lines = {line.entry: line for line in lines_of(read_bytes(source.note.path) or b"")}
            there = ((id, lines.get(number_of(id))) for id in by_label[source.label])  # noqa: A001
            found |= {id: source.row(line) for id, line in there if line is not None}  # noqa: A001
        return found

    @cached_property
    def labelled(self) -> dict[str, Source]:
        """Every notes file by its label."""
        files = [note for folder in self._folders for note in find_files(folder)]
        return {label: Source(label, note) for label, note in zip(labels_of(files), files, strict=True)}

    def at(self, path: str) -> Source:
        """The file of a path without links, even if it is gone. Raises Refused for one of another folder."""
        known = (source for source in self.labelled.values() if os.path.realpath(source.note.path) == path)
        return next(known, None) or self._gone(path, self._folders)

    def _of_file(self, file: str, agent: str | None) -> Source:
        known = (one for one in self.labelled.values() if (one.file, one.note.agent) == (file, agent))
        return next(known, None) or self._gone(file, [one for one in self._folders if one.agent == agent])

    def _gone(self, file: str, folders: Iterable[NoteFolder]) -> Source:
        for folder in folders:
            root = os.path.realpath(folder.root)
            path = Path(os.path.normpath(os.path.join(root, file)))
            if str(path.parent) in (root, os.path.join(root, DAILY_FOLDER)):
                return self._source(note_in(folder, os.path.relpath(path, root)))
        raise Refused(f"{file} is no file of these notes.", hint="Open the folder it was in.")

    def _for_new(self, agent: str | None, category: str, stem: str | None = None) -> Source:
        folder = next((folder for folder in self._folders if folder.agent == agent), None)
        if folder is None:
            raise Refused(f"Agent {agent!r} has no notes here.", hint="Name an agent that has notes.")
        day = stem or self._clock().astimezone().date().isoformat()
        name = folder.only or (CORE_NAME if category == _CORE else f"{DAILY_FOLDER}/{day}.md")
        return self._source(note_in(folder, name))

    def _source(self, note: NoteFile) -> Source:
        known = self.labelled
        label = next((label for label, source in known.items() if source.note == note), None)
        return Source(label or labels_of([*(source.note for source in known.values()), note])[-1], note)
