"""Which notes file a memory is in, or goes to, and the row that a line of it is."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property

from zeroclaw_tui.backends.markdown.files import NoteFile, NoteFolder, find_files, labels_of, note_in, stem_of
from zeroclaw_tui.backends.markdown.lines import CONTEXT, Line, digest, lines_of
from zeroclaw_tui.config.locations import CORE_NAME, DAILY_FOLDER
from zeroclaw_tui.files.disk import read_bytes
from zeroclaw_tui.memory.change import Change, Draft, Row, RowVersion, Value
from zeroclaw_tui.memory.days import date_of_note
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Refused

CORE = "core"


@dataclass(frozen=True, slots=True)
class Source:
    """A notes file, and what begins the ids of its lines."""

    label: str
    note: NoteFile

    @property
    def heading(self) -> bytes:
        """What ZeroClaw begins a new file with."""
        title = "Long-Term Memory" if self.note.category == CORE else f"Daily Log — {self.note.path.stem}"
        return f"# {title}\n\n".encode("utf-8", "surrogateescape")

    def row(self, line: Line, context: str | None = None) -> Row:
        """The row that a line is; `context` has the neighbours of one that is deleted."""
        id, stem = f"{self.label}:{line.entry}", stem_of(self.note.path)  # noqa: A001
        values: dict[str, Value] = {
            "id": id,
            "key": f"{stem}:{line.entry}",
            "content": line.content,
            "category": self.note.category,
            "created_at": stem,
            "file": self.note.name if self.note.agent is None else str(self.note.path),
            "raw": line.raw,
            "alike": line.alike,
            "line": line.index,
        }
        if context is not None:
            values[CONTEXT] = context
        return Row(id, values, id, self.note.agent)

    def state(self, content: str) -> str:
        """The state of a line as versions have it."""
        return _state(self.label, content)


def version_of_line(entry: MemoryEntry) -> RowVersion:
    """The version of a line; its state is a hash of file and content, and found under another number too."""
    return RowVersion(
        id=entry.id,
        state=_state(str(entry.handle).rpartition(":")[0], entry.content),
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
        """The file of that name, or path, of an agent, even if it is gone. Raises Refused for one of another folder."""

    def stored(self, ids: Iterable[str]) -> dict[str, Row]:
        """The lines of these ids, as they are in their files."""
        by_label: dict[str, list[str]] = defaultdict(list)
        for id in ids:  # noqa: A001
            by_label[id.rpartition(":")[0]].append(id)
        found: dict[str, Row] = {}
        for label in by_label.keys() & self.labelled.keys():
            source = self.labelled[label]
            lines = {line.entry: line for line in lines_of(read_bytes(source.note.path) or b"")}
            for id in by_label[label]:  # noqa: A001
                if (line := lines.get(number_of(id))) is not None:
                    found[id] = source.row(line)
        return found

    @cached_property
    def labelled(self) -> dict[str, Source]:
        """Every notes file by its label."""
        files = [note for folder in self._folders for note in find_files(folder)]
        return {label: Source(label, note) for label, note in zip(labels_of(files), files, strict=True)}

    def at(self, path: str) -> Source:
        """The file of a path without links, even if it is gone. Raises Refused for one of another folder."""
        return self._find(path, self._folders)

    def _of_file(self, file: str, agent: str | None) -> Source:
        own = [folder for folder in self._folders if folder.agent == agent]
        return self._find(os.path.realpath(own[0].root / file) if own else file, own)

    def _find(self, path: str, folders: Iterable[NoteFolder]) -> Source:
        for source in self.labelled.values():
            if os.path.realpath(source.note.path) == path:
                return source
        for folder in folders:
            root = os.path.realpath(folder.root)
            if os.path.dirname(path) in (root, os.path.join(root, DAILY_FOLDER)):
                return self._source(note_in(folder, os.path.relpath(path, root)))
        raise Refused(f"{path} is no file of these notes.", hint="Open the folder it was in.")

    def _for_new(self, agent: str | None, category: str, stem: str | None = None) -> Source:
        folder = next((folder for folder in self._folders if folder.agent == agent), None)
        if folder is None:
            raise Refused(f"Agent {agent!r} has no notes here.", hint="Name an agent that has notes.")
        day = stem or self._clock().astimezone().date().isoformat()
        name = folder.only or (CORE_NAME if category == CORE else f"{DAILY_FOLDER}/{day}.md")
        return self._source(note_in(folder, name))

    def _source(self, note: NoteFile) -> Source:
        known = self.labelled
        label = next((label for label, source in known.items() if source.note == note), None)
        return Source(label or labels_of([*(source.note for source in known.values()), note])[-1], note)
