"""The notes files of ZeroClaw's Markdown memory, and the memories in their lines."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.loaded import Loaded
from zeroclaw_tui.backends.markdown.lines import CONTEXT, Line, digest, entry_text, lines_of
from zeroclaw_tui.backends.matching import sort_key
from zeroclaw_tui.config.locations import CORE_NAME, DAILY_FOLDER
from zeroclaw_tui.files.disk import names_in, read_bytes
from zeroclaw_tui.memory.change import Change, Draft, Row, RowVersion, Value
from zeroclaw_tui.memory.days import date_of_note
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Refused, Unreadable
from zeroclaw_tui.memory.query import SortField
from zeroclaw_tui.memory.text import is_unicode

CORE = "core"
WHY_NOT = {
    "vectors": "Markdown memory has no vectors: ZeroClaw scores a line by the share of the query's words it contains.",
    "sessions": "Markdown files keep no session.",
    "agents": "These Markdown files belong to no agent.",
    "namespaces": "Markdown files keep no namespace.",
    "superseded": "Markdown files keep every version of a memory side by side.",
    "pinned": "Markdown files cannot pin a memory.",
    "importance": "Markdown files keep no importance.",
    "kind": "Markdown files keep no kind.",
    "key": "The key of a Markdown memory is its file and the number of its line.",
    "category": "The category of a Markdown memory is its file: MEMORY.md is core, every other is daily.",
    "zeroclaw_forget": "ZeroClaw itself never deletes Markdown memories; here the line is taken out of the file, and"
    " the trash keeps it.",
}


@dataclass(frozen=True, slots=True)
class NoteFolder:
    """A folder of notes: the install's own (`agent` None) or one agent's."""

    root: Path
    agent: str | None = None

    def names(self) -> list[str]:
        """List MEMORY.md and every memory/*.md. Raises Unreadable if a folder cannot be listed."""
        daily = [name for name in reversed(names_in(self.root / DAILY_FOLDER)) if Path(name).suffix == ".md"]
        core = [CORE_NAME] if os.path.lexists(self.root / CORE_NAME) else []
        return [*core, *(f"{DAILY_FOLDER}/{name}" for name in daily)]


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A notes file, existing or not, and the conversion of its lines to memories."""

    path: Path
    name: str
    """Its path in the folder."""
    agent: str | None
    label: str
    """The prefix of its lines' ids: its stem with the agent, or its path if another file has the same stem."""

    @property
    def category(self) -> str:
        """The category of its lines."""
        return CORE if self.name == CORE_NAME else "daily"

    @property
    def stem(self) -> str:
        """ZeroClaw's prefix of its lines' ids."""
        return _stem_of(self.path)

    @property
    def shown(self) -> str:
        """Its name for users."""
        return self.name if self.agent is None else f"agent {self.agent}: {self.name}"

    @property
    def heading(self) -> bytes:
        """The heading that ZeroClaw writes at the top of a new file."""
        title = "Long-Term Memory" if self.category == CORE else f"Daily Log — {self.path.stem}"
        return f"# {title}\n\n".encode("utf-8", "surrogateescape")

    def entries(self, contents: Iterable[str]) -> Iterator[MemoryEntry]:
        """Make the memories of its lines."""
        stem, category, dated = self.stem, self.category, date_of_note(self.path.name)
        for at, content in enumerate(contents):
            id = f"{self.label}:{at}"  # noqa: A001
            size = len(content.encode("utf-8", "surrogateescape"))
            yield MemoryEntry(
                id, f"{stem}:{at}", content, category, stem, agent=self.agent, handle=id, size=size, dated=dated
            )

    def row(self, line: Line, context: str | None = None) -> Row:
        """Make the row of a line; `context` records the lines above a deleted one."""
        id, stem = f"{self.label}:{line.entry}", self.stem  # noqa: A001
        values: dict[str, Value] = {
            "id": id,
            "key": f"{stem}:{line.entry}",
            "content": line.content,
            "category": self.category,
            "created_at": stem,
            "file": self.name if self.agent is None else str(self.path),
            "raw": line.raw,
            "alike": line.alike,
            "line": line.index,
        }
        if context is not None:
            values[CONTEXT] = context
        return Row(id, values, id, self.agent)


def version_of_line(entry: MemoryEntry) -> RowVersion:
    """Make the version of a line."""
    return replace(entry.version(state_of_line(entry.content)), dated=date_of_note(f"{entry.timestamp}.md"))


def state_of_line(content: str) -> str:
    """The state of a line in its file, whatever its number."""
    return digest(content.encode("utf-8", "surrogatepass"))


def number_of(id: str) -> int:
    """The number of a line in its file, -1 for an id without one."""
    number = id.rpartition(":")[2]
    return int(number) if number.isascii() and number.isdigit() else -1


def is_new(change: Change) -> bool:
    """Whether a change appends a memory that was not a line of notes before."""
    after = change.after
    return isinstance(after, Draft) or (isinstance(after, Row) and "raw" not in after.values)


def find_files(folders: Iterable[NoteFolder]) -> list[NoteFile]:
    """The notes files of some folders. Raises Unreadable."""
    found: dict[str, NoteFile] = {}
    for folder in folders:
        for name in folder.names():
            note = _note_in(folder, name, found)
            found[note.label] = note
    return [*found.values()]


def _note_in(folder: NoteFolder, name: str, taken: Iterable[str]) -> NoteFile:
    path, agent = folder.root / name, folder.agent
    label = _stem_of(path) if agent is None else f"{agent}/{_stem_of(path)}"
    return NoteFile(path, name, agent, str(path) if label in taken else label)


def _stem_of(path: Path) -> str:
    return path.stem if is_unicode(path.stem) else "unknown"


@dataclass(frozen=True)
class Notes(Loaded):
    """All entries as ZeroClaw lists them: newest file name first, each file's lines in order."""

    files: int = field(default=0, kw_only=True)
    problems: tuple[str, ...] = field(default=(), kw_only=True)


def read_notes(files: Sequence[NoteFile]) -> Notes:
    """Read files; each problem with a file becomes a sentence."""
    entries: list[MemoryEntry] = []
    problems: list[str] = []
    for note in files:
        contents, problem = _read_file(note)
        entries += note.entries(contents)
        problems += [problem] if problem else []
    entries.sort(key=lambda entry: entry.timestamp, reverse=True)
    places = {entry.handle: len(entries) - at for at, entry in enumerate(entries)}

    def sort_by_place(entry: MemoryEntry, field: SortField) -> tuple[Any, ...]:
        """Order lines by their position in the files, since they have no times. "x:10" comes after "x:9"."""
        place = (places[entry.handle],)
        return place if field in (SortField.STORED, SortField.UPDATED) else (sort_key(entry, field)[0], *place)

    return Notes(entries, backend="markdown", sort_key=sort_by_place, files=len(files), problems=tuple(problems))


def _read_file(note: NoteFile) -> tuple[Sequence[str], str | None]:
    """Read the contents of a file's lines, and the problem with the file, if any."""
    try:
        data = read_bytes(note.path) or b""
    except Unreadable as error:
        return (), f"{error.message} ZeroClaw fails to read any note while it is there."
    text = data.decode("utf-8", "surrogateescape")
    contents = [entry for line in text.split("\n") if (entry := entry_text(line)) is not None]
    if is_unicode(text):
        return contents, None
    return contents, f"{note.shown} is not UTF-8; ZeroClaw fails to read any note while it is there."


class NoteFiles:
    """The files of some folders of notes, listed on first use."""

    def __init__(self, folders: Sequence[NoteFolder], clock: Callable[[], datetime]) -> None:
        self._folders, self._clock = folders, clock

    @cached_property
    def by_label(self) -> dict[str, NoteFile]:
        """Every notes file by its label."""
        return {note.label: note for note in find_files(self._folders)}

    def stored(self, ids: Iterable[str]) -> dict[str, Row]:
        """Read the lines with these ids from their files."""
        numbers: dict[str, list[int]] = defaultdict(list)
        for id in ids:  # noqa: A001
            numbers[id.rpartition(":")[0]].append(number_of(id))
        rows: list[Row] = []
        for label in numbers.keys() & self.by_label.keys():
            note = self.by_label[label]
            lines = {line.entry: line for line in lines_of(read_bytes(note.path) or b"")}
            rows += [note.row(lines[number]) for number in numbers[label] if number in lines]
        return {row.id: row for row in rows}

    def at(self, path: str | Path) -> NoteFile:
        """Get the file at a path, even if it is missing. Raises Refused for a path outside these folders."""
        real = os.path.realpath(path)
        if real in self._by_path:
            return self._by_path[real]
        for folder in self._folders:
            root = os.path.realpath(folder.root)
            if os.path.dirname(real) in (root, os.path.join(root, DAILY_FOLDER)):
                return _note_in(folder, os.path.relpath(real, root), self.by_label)
        raise Refused(f"{path} is not a file of these notes.", hint="Open the folder it was in.")

    def of_file(self, file: str, agent: str | None) -> NoteFile:
        """Get an agent's file by name or path, even if it is missing. Raises Refused."""
        return self.at(next((folder.root for folder in self._folders if folder.agent == agent), Path()) / file)

    def for_new(self, agent: str | None, category: str, stem: str | None = None) -> NoteFile:
        """Get the file for new memories of an agent and a category, today's unless a stem is given.

        Raises Refused for an agent without notes.
        """
        folder = next((folder for folder in self._folders if folder.agent == agent), None)
        if folder is None:
            raise Refused(f"Agent {agent!r} has no notes here.", hint="Name an agent that has notes.")
        day = stem or self._clock().astimezone().date().isoformat()
        return self.at(folder.root / (CORE_NAME if category == CORE else f"{DAILY_FOLDER}/{day}.md"))

    @cached_property
    def _by_path(self) -> dict[str, NoteFile]:
        return {os.path.realpath(note.path): note for note in self.by_label.values()}
