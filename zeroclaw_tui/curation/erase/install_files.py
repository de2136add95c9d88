"""Every file of an install: what it is, whether erasing takes it unasked, its bytes, and taking texts out of it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import tomllib
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, Literal

from zeroclaw_tui.backends.factory import has_notes, tells_program
from zeroclaw_tui.config.locations import file_size
from zeroclaw_tui.config.memory_config import MemoryConfig, agent_folders
from zeroclaw_tui.config.whole_file import is_unfinished
from zeroclaw_tui.curation.copies.places import Holds, Kind, Place, find_places
from zeroclaw_tui.curation.copies.texts import Span, bytes_of, lines_of, without, without_entries
from zeroclaw_tui.curation.erase.spellings import Form, Spellings
from zeroclaw_tui.curation.snapshot.snapshot import SIDE_CAR, parts_in
from zeroclaw_tui.curation.trash.trash import LOCK, NAME
from zeroclaw_tui.files.database import DATABASE_HEADER, raw_bytes
from zeroclaw_tui.files.disk import read_bytes, replace_bytes

FileKind = Literal[Kind, "store", "own copy", "config", "config backup", "workspace file", "other file"]
Holding = Literal[Holds, "memory lines", "toml", "config", "trash"]

ASKED_FOR: frozenset[FileKind] = frozenset(
    {"markdown", "prompt file", "knowledge", "security log", "workspace file", "other file", "config"}
)
"""Only taken with `also_files`: what a person or the agent wrote by hand, and what ZeroClaw itself never cleans."""
SIDES = ("-wal", "-journal")
_UNSEEN = ("-shm",)
_AT_ONCE = 16_000_000
_MOST_UNPACKED = 1_000_000_000
_PACKED: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
_ZIP = b"PK\x03\x04"
_SEALED = {b"7z\xbc\xaf": "7z", b"\x28\xb5\x2f\xfd": "zstd", b"Rar!": "rar", b"\x04\x22\x4d\x18": "lz4"}
"""Packed forms that are not unpacked here."""
_DAMAGED = (EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError)
"""What unpacking raises for what is damaged, locked by a password, or packed in a way Python does not know."""
_LUCID_FOLDER = "~/.lucid"
"""Where lucid-memory 0.6.5 keeps what ZeroClaw gave it: memory.db, and one for each client or profile."""
_GIT = "Git keeps older forms of these files packed; look with `git log -S`."


@dataclass(frozen=True, slots=True)
class InstallFile:
    """One file; `holds` says how it is read and rewritten."""

    path: Path
    kind: FileKind
    holds: Holding
    name: str
    """Its path from the folder that was searched, which tells whether its name holds a text."""

    @property
    def is_asked(self) -> bool:
        """Whether it is only taken when asked for."""
        return self.kind in ASKED_FOR

    def start(self) -> bytes:
        """Its first 16 bytes. Raises OSError."""
        if self._may_be_open:
            return raw_bytes(self.path, len(DATABASE_HEADER))
        with self.path.open("rb") as file:
            return file.read(len(DATABASE_HEADER))

    def is_database(self) -> bool:
        """Whether it is a SQLite database, other than this program's trash. Raises OSError."""
        return self.holds != "trash" and self._may_be_open and self.start() == DATABASE_HEADER

    def parts(self) -> list[Path]:
        """The file, and of a database its log and its journal, as far as they are there."""
        beside = [self.path.with_name(self.path.name + side) for side in SIDES]
        return [self.path, *(part for part in beside if file_size(part))]

    def hits(self, spellings: Spellings) -> Iterator[Hit]:
        """Where the texts stand in its bytes, and in those of its log; also in what gzip, bzip2, xz and zip packed.

        Reads in pieces, whatever the size; of what is packed the first gigabyte. Blocks. Raises OSError.
        """
        for part in self.parts():
            pieces = self._pieces() if part == self.path else _pieces_of(part)
            for start, form in _hits_in(pieces, spellings):
                yield Hit(part, start, form)
        try:
            yield from (
                Hit(self.path, at, "packed") for pieces in self._members() for at, _ in _hits_in(pieces, spellings)
            )
        except _DAMAGED as error:
            raise OSError(f"it is packed, and cannot be unpacked ({error})") from error

    def sealed_as(self) -> str | None:
        """The name of a packed form that is not unpacked here, None for any other. Raises OSError."""
        start = self.start()
        return next((name for sign, name in _SEALED.items() if start.startswith(sign)), None)

    def is_packed(self) -> bool:
        """Whether nothing can be cut out of it because it is packed. Raises OSError."""
        start = self.start()
        return any(start.startswith(sign) for sign in (*_PACKED, *_SEALED, _ZIP))

    @property
    def _may_be_open(self) -> bool:
        """Whether this process may have it open as a database; closing any descriptor of it would drop its locks."""
        return self.kind in ("store", "trash") or ".db" in self.path.name or self.path.suffix in (".sqlite", ".sqlite3")

    def _members(self) -> Iterator[Iterator[bytes]]:
        """What is packed in it."""
        start = self.start()
        for sign, opened in _PACKED.items():
            if start.startswith(sign):
                with opened(self.path, "rb") as file:
                    yield _unpacked(file)
        if start.startswith(_ZIP):
            with zipfile.ZipFile(self.path) as archive:
                for name in archive.namelist():
                    with archive.open(name) as member:
                        yield _unpacked(member)

    def _pieces(self) -> Iterator[bytes]:
        if not self._may_be_open:
            yield from _pieces_of(self.path)
            return
        offset = 0
        while piece := raw_bytes(self.path, _AT_ONCE, offset):
            offset += len(piece)
            yield piece


@dataclass(frozen=True, slots=True)
class NotLookedAt:
    """A place that could not be looked into, and why in a sentence. `may_hold` says that the text may lie there."""

    place: str
    why: str
    may_hold: bool


@dataclass(frozen=True, slots=True)
class InstallFiles:
    """The files of an install, each once, and what could not be looked into."""

    files: tuple[InstallFile, ...]
    unseen: tuple[NotLookedAt, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a text stands: the file or its log, the place of its first byte (of what is unpacked), and its form."""

    path: Path
    start: int
    form: Form | Literal["packed"]


def install_files(config: MemoryConfig, backend: str) -> InstallFiles:
    """Every regular file that ZeroClaw or this program wrote for an install, or that lies in a workspace of it.

    Links to folders are not followed but where ZeroClaw itself reads there. Of a store that is named by itself only
    the files whose place is known are looked for. Reads folders and the config. Blocks.
    """
    places = find_places(config, backend)
    unseen = [NotLookedAt(copy.place, copy.remark, True) for copy in places.problems]
    found: dict[str, InstallFile] = {}

    def take(file: InstallFile) -> None:
        found.setdefault(os.path.realpath(file.path), file)

    if places.database is not None:
        take(InstallFile(places.database, "store", "memories", places.database.name))
    elif config.install.layout == "lone":
        # Another tool's store is looked at like any file, and left to that tool.
        take(InstallFile(config.database, "other file", "anything", config.database.name))
    take(InstallFile(config.install.own_dir / NAME, "trash", "trash", NAME))
    if tells_program(backend, config.backend, config.zeroclaw_backend):
        for path in _below(Path(_LUCID_FOLDER).expanduser(), unseen):
            if ".db" in path.name and not (path.name.endswith(SIDES) and _main_of(path).exists()):
                take(InstallFile(path, "lucid", "anything", path.name))
    for place, path in places.files:
        take(_known(place, path))
    workspaces = _workspaces(config)
    for folder in _roots(config):
        for path in _below(folder, unseen):
            if path.name.endswith(SIDES) and _main_of(path).exists():
                continue
            take(InstallFile(path, *_by_place(path, config, backend, workspaces), str(path.relative_to(folder))))
    there = [file for file in found.values() if _is_file(file.path)]
    return InstallFiles(tuple(there), tuple(unseen))


def take_out(file: InstallFile, spellings: Spellings) -> bool:
    """Put in place of a file what stays of it without the texts; False where nothing can be cut out of it. Blocks.

    A snapshot and our copy of it lose whole memories, notes whole lines, all else the text alone. Raises Rewritten
    where another program wrote it meanwhile, Unreadable, Refused.
    """
    data = read_bytes(file.path)
    if data is None:
        return True
    new = _without(file, data, spellings)
    if new is None:
        return False
    if new != data:
        replace_bytes(file.path, data, new)
    return True


def _without(file: InstallFile, data: bytes, spellings: Spellings) -> bytes | None:
    """The bytes of a file without the texts, None for what is no text."""
    for codec, sign in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
        if data.startswith(sign):
            return sign + spellings.out_of(data[2:].decode(codec, "surrogatepass")).encode(codec, "surrogatepass")
    if b"\0" in data:
        return None
    lines = lines_of(data)
    if file.holds == "snapshot":
        spans: list[Span] = [
            (part.start, part.end, [])
            for part in parts_in(lines)
            if spellings.found_in("".join(lines[part.start : part.end]))
        ]
        return bytes_of(_without_lines(without_entries(lines, spans), spellings))
    if file.holds == "notes":
        return bytes_of(_without_lines(lines, spellings))
    if file.holds == "memory lines":
        return bytes_of([line for line in lines if not spellings.found_in(line)])
    if file.holds == "toml":
        return _without_in_toml(data, spellings)
    whole = "".join(lines)
    if file.holds == "lines" or file.path.suffix in (".jsonl", ".migrated", ".log"):
        ends = [line[len(line.rstrip("\r\n")) :] for line in lines]
        whole = "".join(spellings.out_of(line.removesuffix(end)) + end for line, end in zip(lines, ends, strict=True))
        over_lines = spellings.over_lines()
        return bytes_of([whole if over_lines is None else over_lines.out_of(whole)])
    return bytes_of([spellings.out_of(whole)])


def _without_lines(lines: Sequence[str], spellings: Spellings) -> list[str]:
    """The lines that hold none of the texts, nor a part of one that reaches over several."""
    starts = list(accumulate(map(len, lines[:-1]), initial=0))
    gone: list[Span] = [
        (bisect_right(starts, start) - 1, bisect_right(starts, end - 1), [])
        for start, end in spellings.spans_in("".join(lines))
    ]
    return without(lines, gone)


def _without_in_toml(data: bytes, spellings: Spellings) -> bytes | None:
    """TOML that can be read stays so; None where it would not."""
    new = spellings.out_of(data.decode("utf-8", "surrogateescape"), spellings.name_mark)
    for text in (data.decode("utf-8", "surrogateescape"), new):
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            if text is new:
                return None
            break
    return new.encode("utf-8", "surrogateescape")


def _hits_in(pieces: Iterator[bytes], spellings: Spellings) -> Iterator[tuple[int, Form]]:
    before, offset = b"", 0
    for more in pieces:
        piece = before + more
        for start, end, form in spellings.hits_in(piece):
            # What ends before this piece was seen with the one before.
            if end > len(before):
                yield offset - len(before) + start, form
        offset += len(more)
        before = piece[-spellings.longest :]


def _pieces_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_AT_ONCE):
            yield piece


def _unpacked(file: IO[bytes]) -> Iterator[bytes]:
    left = _MOST_UNPACKED
    while left > 0 and (piece := file.read(_AT_ONCE)):
        left -= len(piece)
        yield piece


def _known(place: Place, path: Path) -> InstallFile:
    holds: Holding = place.holds
    if path.suffix == ".md" and holds == "anything":
        holds = "notes"
    return InstallFile(path, place.kind, holds, path.name)


def _roots(config: MemoryConfig) -> list[Path]:
    """The folders of which everything is looked at: each once, none within another."""
    install = config.install
    folders = [install.own_dir]
    if config.location is None and install.config_dir is not None:
        folders += [install.config_dir, install.root, *agent_folders(config).values()]
    real = list(dict.fromkeys(Path(os.path.realpath(folder)) for folder in folders))
    return [folder for folder in real if not any(folder != other and folder.is_relative_to(other) for other in real)]


def _workspaces(config: MemoryConfig) -> tuple[Path, ...]:
    """The folders in which the agent and its user write files of their own."""
    install = config.install
    folders = [install.root, *agent_folders(config).values()]
    if install.config_dir is not None:
        folders += [install.config_dir / "agents", install.config_dir / "shared"]
    return tuple(Path(os.path.realpath(folder)) for folder in folders)


def _by_place(path: Path, config: MemoryConfig, backend: str, workspaces: Sequence[Path]) -> tuple[FileKind, Holding]:
    """What a file is that no line of the table of places names."""
    install = config.install
    name = path.name
    if path.is_relative_to(os.path.realpath(install.own_dir)):
        if name.startswith((NAME, LOCK)):
            return "trash", "trash"
        is_config = name.startswith("config") and name.endswith(".toml")
        return ("config backup" if is_config else "own copy"), _form_of(path)
    if is_unfinished(name):
        return "own copy", _form_of(path)
    if name == SIDE_CAR:
        return "own copy", "memory lines"
    if install.config_dir is not None and path.parent == Path(os.path.realpath(install.config_dir)):
        # Cutting anything out of the key file would lose every secret of the config.
        if name in ("config.toml", ".secret_key"):
            return "config", "config"
        if name.startswith(("config.toml.", ".config.toml.")):
            return "config backup", "toml"
    if has_notes(backend) and path.suffix == ".md" and (name == "MEMORY.md" or path.parent.name == "memory"):
        return "store", "notes"
    inside = any(path.is_relative_to(folder) for folder in workspaces)
    return ("workspace file" if inside else "other file"), _form_of(path)


def _form_of(path: Path) -> Holding:
    if path.suffix == ".toml":
        return "toml"
    if path.suffix in (".jsonl", ".ndjson"):
        return "lines"
    return "notes" if path.suffix == ".md" else "anything"


def _below(folder: Path, unseen: list[NotLookedAt]) -> Iterator[Path]:
    def tell(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            unseen.append(NotLookedAt(str(error.filename), f"It cannot be read: {error.strerror}.", True))

    for base, inner, names in os.walk(folder, onerror=tell):
        inner.sort()
        if ".git" in inner:
            unseen.append(NotLookedAt(str(Path(base, ".git")), _GIT, False))
        for name in sorted(names):
            if not name.endswith(_UNSEEN):
                yield Path(base, name)


def _main_of(path: Path) -> Path:
    return path.with_name(path.name.rpartition("-")[0])


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
