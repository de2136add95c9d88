"""Which files ZeroClaw's Markdown memory reads, and what it makes of their lines; the blocks a person sees in them.

Blocks are bullets with what hangs on them, paragraphs, tables, fences, front matter. They are read much as CommonMark
and GitHub's tables have it, but kinder to what people type: whatever is indented by two columns more than a bullet
belongs to it. One pass over the lines, whatever is in them.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from zeroclaw_tui.config.locations import CORE_NAME, DAILY_FOLDER
from zeroclaw_tui.files.disk import names_in
from zeroclaw_tui.memory.days import date_of_note
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.text import WHITE_SPACE

HEADINGS_BETWEEN = " › "
"""What stands between the headings a block lies under, in its key."""

_BLOCK_LINES = re.compile(r"\d+-\d+", re.ASCII)
Signature = tuple[tuple[str, int, int, int], ...]
LONGEST_NAME = 100
"""How many characters of a heading or of a bold word name a block."""

_BYTE_ORDER_MARK = "\ufeff"
_TAB = 4
_NESTED = 2
_HEADING = re.compile(r"(#{1,6})(?=[ \t]|$)")
_BULLET = re.compile(r"(?:[-*+]|(\d{1,9})[.)])(?:[ \t]+|$)")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_CELL = re.compile(r":?-+:?")
_BOLD = re.compile(rf"(?:\[[ xX]\][ \t]+)?\*\*([^*\n]{{1,{LONGEST_NAME}}})\*\*")
_CLOSING = re.compile(r"(?:^|[ \t])#+$")


@dataclass(frozen=True, slots=True)
class Block:
    """The lines from `first` up to and without `behind`.

    `headings` are those it lies under, the outermost first. `name` is the bold text a bullet begins with.
    `open_fence` is the line of a code fence in it that nothing closes.
    """

    first: int
    behind: int
    headings: tuple[str, ...] = ()
    name: str | None = None
    open_fence: int | None = None


@dataclass(frozen=True, slots=True)
class NoteFolder:
    """A folder of notes: the install's own (`agent` None) or one agent's.

    `only` names a single file in it. `is_loose` says that its own `*.md` are meant, which ZeroClaw does not read.
    `is_foreign` says that no agent of ZeroClaw's reads any of it: no link in it is followed, and front matter is none
    of its memories.
    """

    root: Path
    agent: str | None = None
    only: str | None = None
    is_loose: bool = False
    is_foreign: bool = False


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A file to read, with what its lines become. `name` is it relative to the folder, for people."""

    path: Path
    name: str
    category: str
    agent: str | None
    is_foreign: bool = False


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The entries of one file in order. `problem` says what is wrong with it; `headings` counts `#` lines left out.

    `blocks` are those a person sees; in `before`, how many entries lie above each line, and above the end.
    """

    contents: tuple[str, ...] = ()
    headings: int = 0
    size: int = 0
    problem: str | None = None
    lines: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    before: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Notes:
    """All entries as ZeroClaw lists them: newest file name first, each file's lines in order."""

    entries: tuple[MemoryEntry, ...] = ()
    by_handle: dict[str, MemoryEntry] = field(default_factory=dict)
    sources: tuple[tuple[str, NoteFile, ParsedFile], ...] = ()
    files: int = 0
    size: int = 0
    headings: int = 0
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @cached_property
    def blocks(self) -> tuple[MemoryEntry, ...]:
        """The blocks a person sees, in the order of their lines; making them takes as long as listing the lines."""
        found = [block for label, note, parsed in self.sources for block in _blocks(note, parsed, label)]
        return tuple(sorted(found, key=lambda entry: entry.timestamp, reverse=True))

    @cached_property
    def by_block(self) -> dict[str, MemoryEntry]:
        """The blocks by their handles."""
        return {str(block.handle): block for block in self.blocks}

    def of_handle(self, handle: str) -> MemoryEntry | None:
        """The line or the block of a handle."""
        return self.by_block.get(handle) if is_block(handle) else self.by_handle.get(handle)

    def lines_of(self, handle: str) -> list[MemoryEntry]:
        """The entries that a handle means: of one line, or of all lines of a block; none when it has gone."""
        if handle in self.by_handle:
            return [self.by_handle[handle]]
        if not is_block(handle) or handle not in self.by_block:
            return []
        label, _, lines = handle.rpartition(":")
        first, last = map(int, lines.split("-"))
        return [self.by_handle[f"{label}:{number}"] for number in range(first, last + 1)]


def is_block(id: str) -> bool:
    """Whether an id is that of a block, "<label>:<first>-<last>", and not of a line."""
    return _BLOCK_LINES.fullmatch(id.rpartition(":")[2]) is not None


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
    place = folder.root / DAILY_FOLDER
    daily = [] if folder.is_foreign and place.is_symlink() else _markdown_names(place)
    return [*found, *(note_in(folder, f"{DAILY_FOLDER}/{name}") for name in daily)]


def signature(files: Iterable[NoteFile]) -> Signature:
    """What changes when a file does: name, time of writing in ns, size and inode of each."""
    return tuple((str(note.path), *_state(note.path)) for note in files)


def read_file(note: NoteFile) -> ParsedFile:
    """The entries of one file; whatever is wrong with it becomes `problem`, a sentence."""
    if note.is_foreign and note.path.is_symlink():
        return ParsedFile(problem=f"{note.name} is a link, which is not followed.")
    behind = "" if note.is_foreign else "; ZeroClaw fails to read any note while it is there"
    try:
        status = note.path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
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
    return replace(parse(_without_front_matter(text) if note.is_foreign else text, len(data)), problem=problem)


def _without_front_matter(text: str) -> str:
    """Blank lines in its place."""
    lines = text.split("\n")
    behind = _behind_front_matter([line.strip(WHITE_SPACE) for line in lines])
    return "\n".join([*[""] * behind, *lines[behind:]])


def _behind_front_matter(lines: Sequence[str]) -> int:
    if len(lines) < 2 or lines[0] != "---" or not lines[1]:
        return 0
    return next((at + 1 for at in range(1, len(lines)) if lines[at] in ("---", "...")), 0)


def parse(text: str, size: int = 0) -> ParsedFile:
    """Every line that is neither blank nor begins with `#` is an entry, without its leading "- "."""
    lines = tuple(text.split("\n"))
    trimmed = [line.strip(WHITE_SPACE) for line in lines]
    kept = [bool(line) and not line.startswith("#") for line in trimmed]
    return ParsedFile(
        contents=tuple(line.removeprefix("- ") for line, is_kept in zip(trimmed, kept, strict=True) if is_kept),
        headings=sum(line.startswith("#") for line in trimmed),
        size=size,
        lines=lines,
        blocks=tuple(split(lines)),
        before=tuple(accumulate(kept, initial=0)),
    )


def collect(files: Iterable[tuple[NoteFile, ParsedFile]]) -> Notes:
    """One listing out of parsed files."""
    pairs = list(files)
    entries: list[MemoryEntry] = []
    labels = labels_of(note for note, _ in pairs)
    for label, (note, parsed) in zip(labels, pairs, strict=True):
        entries += _entries(note, parsed, label)
    entries.sort(key=lambda entry: entry.timestamp, reverse=True)
    return Notes(
        entries=tuple(entries),
        by_handle={str(entry.handle): entry for entry in entries},
        sources=tuple((label, *pair) for label, pair in zip(labels, pairs, strict=True)),
        files=len(pairs),
        size=sum(parsed.size for _, parsed in pairs),
        headings=sum(parsed.headings for _, parsed in pairs),
        problems=tuple(parsed.problem for _, parsed in pairs if parsed.problem),
        remarks=tuple(remark for note, parsed in pairs for remark in _open_fences(note, parsed)),
    )


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


def _blocks(note: NoteFile, parsed: ParsedFile, label: str) -> Iterator[MemoryEntry]:
    stem, dated = stem_of(note.path), date_of_note(note.path.name)
    for block in parsed.blocks:
        first, behind = parsed.before[block.first], parsed.before[block.behind]
        if first == behind:
            continue
        id = f"{label}:{first}-{behind - 1}"  # noqa: A001
        content = "\n".join(line.removesuffix("\r") for line in parsed.lines[block.first : block.behind])
        yield MemoryEntry(
            id=id,
            key=block.name or HEADINGS_BETWEEN.join(block.headings) or id,
            content=content,
            category=note.category,
            timestamp=stem,
            agent=note.agent,
            handle=id,
            size=len(content.encode("utf-8", "surrogateescape")),
            dated=dated,
        )


def _open_fences(note: NoteFile, parsed: ParsedFile) -> Iterator[str]:
    for block in parsed.blocks:
        if block.open_fence is not None:
            goes_on = any(line.strip(WHITE_SPACE) for line in parsed.lines[block.behind :])
            end = f"line {block.behind}" if goes_on else "the end of the file"
            place = f"line {block.open_fence + 1} of {note.name}"
            yield f"Nothing closes the code fence in {place}: as a block it goes on to {end}."


def _label(note: NoteFile, taken: set[str]) -> str:
    stem = stem_of(note.path)
    names = (stem if note.agent is None else f"{note.agent}/{stem}", f"{note.agent or ''}/{note.name}")
    label = next((name for name in names if name not in taken), str(note.path))
    taken.add(label)
    return label


def note_in(folder: NoteFolder, name: str) -> NoteFile:
    """The file of that name in a folder, whether it is there or not."""
    shown = name if folder.agent is None else f"agent {folder.agent}: {name}"
    return NoteFile(
        folder.root / name, shown, "core" if name == CORE_NAME else "daily", folder.agent, folder.is_foreign
    )


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


def split(lines: Sequence[str]) -> list[Block]:
    """The blocks of a file's lines in order, every line that is neither blank nor a heading in exactly one."""
    return _Splitter(lines).blocks()


class _Splitter:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = list(lines)
        self._marked = bool(lines) and lines[0].startswith(_BYTE_ORDER_MARK)
        if self._marked:
            self._lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
        self._texts = [line.strip(WHITE_SPACE) for line in self._lines]
        self._found: list[Block] = []
        self._path: list[tuple[int, str]] = []

    def blocks(self) -> list[Block]:
        at = self._front_matter()
        while at < len(self._texts):
            at = self._next(at)
        return self._found

    def _next(self, at: int) -> int:
        text = self._texts[at]
        heading = _HEADING.match(text)
        if not text or heading:
            if heading:
                self._enter(len(heading[1]), text[heading.end() :].strip(" \t"))
            # The mark at the start of a file makes an entry of a line that is none without it.
            return self._add(at, at + 1) if at == 0 and self._marked else at + 1
        if (fence := _fence(text)) is not None:
            return self._fenced(at, fence)
        if _is_rule(text):
            return self._add(at, at + 1)
        if _BULLET.match(text):
            return self._item(at)
        return self._table(at) if self._is_table(at) else self._paragraph(at)

    def _add(self, first: int, behind: int, name: str | None = None, open_fence: int | None = None) -> int:
        path = tuple(text for _, text in self._path)
        self._found.append(Block(first, behind, path, name, open_fence))
        return behind

    def _enter(self, level: int, text: str) -> None:
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        named = _CLOSING.sub("", text[:LONGEST_NAME]).strip(WHITE_SPACE)
        if named:
            self._path.append((level, named))

    def _front_matter(self) -> int:
        behind = _behind_front_matter(self._texts)
        return self._add(0, behind) if behind else 0

    def _fenced(self, at: int, fence: str) -> int:
        end = next((line for line in range(at + 1, len(self._texts)) if _closes(self._texts[line], fence)), None)
        if end is not None:
            return self._add(at, end + 1)
        last = next(line for line in range(len(self._texts) - 1, at - 1, -1) if self._texts[line])
        return self._add(at, last + 1, open_fence=at)

    def _item(self, at: int) -> int:
        """A bullet with everything indented below it, and lines that go on with its text."""
        inner = self._indent(at) + _NESTED
        marker = _BULLET.match(self._texts[at])
        rest = self._texts[at][marker.end() :] if marker else ""
        fence = _fence(rest)
        fence_at, behind = at, at + 1
        for line in range(at + 1, len(self._texts)):
            text = self._texts[line]
            if not text:
                continue
            is_inside = self._indent(line) >= inner
            if not is_inside and (behind < line or fence is not None or self._begins(line)):
                break
            behind = line + 1
            if fence is not None:
                fence = None if _closes(text, fence) else fence
            elif is_inside:
                fence, fence_at = _fence(_without_bullet(text)), line
        bold = _BOLD.match(rest)
        name = bold[1].strip(WHITE_SPACE).removesuffix(":") if bold else ""
        return self._add(at, behind, name or None, fence_at if fence is not None else None)

    def _table(self, at: int) -> int:
        behind = at + 2
        while behind < len(self._texts) and self._texts[behind] and not self._begins(behind):
            behind += 1
        return self._add(at, behind)

    def _paragraph(self, at: int) -> int:
        is_quote = self._texts[at].startswith(">")
        for line in range(at + 1, len(self._texts)):
            text = self._texts[line]
            if not is_quote and (level := _underline(text)):
                self._enter(level, " ".join(self._texts[at:line]))
                return self._add(at, line + 1)
            if not text or self._begins(line, in_quote=is_quote, in_text=True):
                return self._add(at, line)
        return self._add(at, len(self._texts))

    def _begins(self, at: int, *, in_quote: bool = False, in_text: bool = False) -> bool:
        """Whether a block begins here although there is no blank line before."""
        text = self._texts[at]
        if _HEADING.match(text) or _fence(text) is not None or _is_rule(text):
            return True
        if text.startswith(">") and not in_quote:
            return True
        bullet = _BULLET.match(text)
        if bullet:
            # A year at the start of a line is no list.
            return not in_text or (bullet.end() < len(text) and bullet[1] in (None, "1"))
        return self._is_table(at)

    def _is_table(self, at: int) -> bool:
        return "|" in self._texts[at] and at + 1 < len(self._texts) and _is_delimiter(self._texts[at + 1])

    def _indent(self, at: int) -> int:
        line = self._lines[at]
        if line[:1] not in (" ", "\t"):
            return 0
        return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(_TAB))


def _fence(text: str) -> str | None:
    """What opens a code fence here."""
    found = _FENCE.match(text)
    return found[1] if found and not (text[0] == "`" and "`" in text[found.end() :]) else None


def _closes(text: str, fence: str) -> bool:
    return text.startswith(fence) and not text.strip(fence[0])


def _without_bullet(text: str) -> str:
    marker = _BULLET.match(text)
    return text[marker.end() :] if marker else text


def _is_rule(text: str) -> bool:
    mark = text[:1]
    return mark in ("-", "*", "_") and not text.strip(f"{mark} \t") and text.count(mark) >= 3


def _is_delimiter(text: str) -> bool:
    if text.strip("|:- \t") or "|" not in text or "-" not in text:
        return False
    return all(_CELL.fullmatch(cell.strip(" \t")) for cell in text.strip("|").split("|"))


def _underline(text: str) -> int | None:
    """The level of the heading that this line makes of the paragraph above."""
    if text and not text.strip("="):
        return 1
    return 2 if text and not text.strip("-") else None
