"""Which files ZeroClaw's Markdown memory reads, and what it makes of their lines."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.loaded import Loaded
from zeroclaw_tui.backends.matching import sort_key
from zeroclaw_tui.config.locations import CORE_NAME, DAILY_FOLDER
from zeroclaw_tui.files.disk import names_in
from zeroclaw_tui.memory.days import date_of_note
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.query import Sort, SortField
from zeroclaw_tui.memory.text import WHITE_SPACE

Signature = tuple[tuple[str, int, int, int], ...]
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
    "session_id": "Markdown files keep no session.",
    "namespace": "Markdown files keep no namespace.",
    "zeroclaw_forget": "ZeroClaw itself never deletes Markdown memories; here the line is taken out of the file, and"
    " the trash keeps it.",
}


@dataclass(frozen=True, slots=True)
class NoteFolder:
    """A folder of notes: the install's own (`agent` None) or one agent's.

    `only` names a single file in it. `is_loose` says that its own `*.md` are meant, which ZeroClaw does not read: no
    link in it is followed, and front matter is none of its memories.
    """

    root: Path
    agent: str | None = None
    only: str | None = None
    is_loose: bool = False


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A file to read, with what its lines become. `name` is it relative to the folder, for people."""

    path: Path
    name: str
    category: str
    agent: str | None
    is_loose: bool = False


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The entries of one file in order; `problem` says what is wrong with it."""

    contents: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True)
class Notes:
    """All entries as ZeroClaw lists them: newest file name first, each file's lines in order."""

    loaded: Loaded = field(default_factory=Loaded)
    files: int = 0
    problems: tuple[str, ...] = ()

    @property
    def entries(self) -> Sequence[MemoryEntry]:
        """The memories, those of the newest file first."""
        return self.loaded.entries


def find_files(folder: NoteFolder) -> list[NoteFile]:
    """MEMORY.md and every memory/*.md of one folder, or of a loose one every *.md directly in it. Missing: none.

    Links that lead nowhere and folders named `x.md` are among them, so that reading can say what is wrong.
    Raises Unreadable when a folder cannot be listed.
    """
    if folder.only is not None:
        return [note_in(folder, folder.only)]
    if folder.is_loose:
        return [note_in(folder, name) for name in _markdown_names(folder.root)]
    found = [note_in(folder, CORE_NAME)] if os.path.lexists(folder.root / CORE_NAME) else []
    daily = _markdown_names(folder.root / DAILY_FOLDER)
    return [*found, *(note_in(folder, f"{DAILY_FOLDER}/{name}") for name in daily)]


def signature(files: Iterable[NoteFile]) -> Signature:
    """What changes when a file does: name, time of writing in ns, size and inode of each."""
    return tuple((str(note.path), *_state(note.path)) for note in files)


def read_file(note: NoteFile) -> ParsedFile:
    """The entries of one file; whatever is wrong with it becomes `problem`, a sentence."""
    if note.is_loose and note.path.is_symlink():
        return ParsedFile(problem=f"{note.name} is a link, which is not followed.")
    behind = "" if note.is_loose else "; ZeroClaw fails to read any note while it is there"
    try:
        status = note.path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            return ParsedFile(problem=f"{note.name} is {kind}{behind}.")
        data = note.path.read_bytes()
    except OSError as error:
        return ParsedFile(problem=_unreadable(note, error, behind))
    problem = None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", "surrogateescape")
        problem = f"{note.name} is not UTF-8 (byte {error.start}){behind}."
    return ParsedFile(parse(_without_front_matter(text) if note.is_loose else text), problem)


def _without_front_matter(text: str) -> str:
    lines = [line.strip(WHITE_SPACE) for line in text.split("\n")]
    if len(lines) < 2 or lines[0] != "---" or not lines[1]:
        return text
    return "\n".join(lines[next((at + 1 for at, line in enumerate(lines) if at and line in ("---", "...")), 0) :])


def parse(text: str) -> tuple[str, ...]:
    """Every line that is neither blank nor begins with `#` is an entry, without its leading "- "."""
    trimmed = [line.strip(WHITE_SPACE) for line in text.split("\n")]
    return tuple(line.removeprefix("- ") for line in trimmed if line and not line.startswith("#"))


def collect(files: Iterable[tuple[NoteFile, ParsedFile]]) -> Notes:
    """One listing out of parsed files."""
    pairs = list(files)
    entries: list[MemoryEntry] = []
    labels = labels_of(note for note, _ in pairs)
    for label, (note, parsed) in zip(labels, pairs, strict=True):
        entries += _entries(note, parsed, label)
    entries.sort(key=lambda entry: entry.timestamp, reverse=True)
    return Notes(
        loaded=Loaded(entries, backend="markdown", order_value=partial(_order_value, _places(entries))),
        files=len(pairs),
        problems=tuple(parsed.problem for _, parsed in pairs if parsed.problem),
    )


def _places(entries: Sequence[MemoryEntry]) -> Mapping[Handle, int]:
    """The place of each line, the first line of the newest file highest."""
    return {entry.handle: len(entries) - at for at, entry in enumerate(entries)}


def _order_value(places: Mapping[Handle, int], entry: MemoryEntry, field: SortField) -> tuple[Any, ...]:
    """Lines have no times: they were stored in the order of the files. "x:10" comes after "x:9"."""
    if field in (SortField.STORED, SortField.UPDATED):
        return (places[entry.handle],)
    return (sort_key(entry, Sort(field))[0], places[entry.handle])


def labels_of(files: Iterable[NoteFile]) -> list[str]:
    """What begins the ids of each file's lines: its stem, or more where another file has that stem too."""
    taken: set[str] = set()
    return [_label(note, taken) for note in files]


def _entries(note: NoteFile, parsed: ParsedFile, label: str) -> Iterator[MemoryEntry]:
    stem, dated = stem_of(note.path), date_of_note(note.path.name)
    for at, content in enumerate(parsed.contents):
        yield MemoryEntry(
            id=f"{label}:{at}",
            key=f"{stem}:{at}",
            content=content,
            category=note.category,
            timestamp=stem,
            agent=note.agent,
            handle=f"{label}:{at}",
            size=len(content.encode("utf-8", "surrogateescape")),
            dated=dated,
        )


def _label(note: NoteFile, taken: set[str]) -> str:
    stem = stem_of(note.path)
    names = (stem if note.agent is None else f"{note.agent}/{stem}", f"{note.agent or ''}/{note.name}")
    label = next((name for name in names if name not in taken), str(note.path))
    taken.add(label)
    return label


def note_in(folder: NoteFolder, name: str) -> NoteFile:
    """The file of that name in a folder, whether it is there or not."""
    shown = name if folder.agent is None else f"agent {folder.agent}: {name}"
    category = "core" if name == CORE_NAME else "daily"
    return NoteFile(folder.root / name, shown, category, folder.agent, folder.is_loose)


def stem_of(path: Path) -> str:
    """What ZeroClaw begins the ids of a file's lines with."""
    try:
        path.stem.encode()
    except UnicodeEncodeError:
        return "unknown"
    return path.stem


def _markdown_names(folder: Path) -> list[str]:
    return [name for name in reversed(names_in(folder)) if Path(name).suffix == ".md"]


def _state(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, -1, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _unreadable(note: NoteFile, error: OSError, behind: str) -> str:
    if note.path.is_symlink() and isinstance(error, FileNotFoundError):
        return f"{note.name} is a link that leads nowhere{'' if note.category == 'core' else behind}."
    return f"{note.name} cannot be read ({error.strerror}){behind}."
