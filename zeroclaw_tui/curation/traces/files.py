"""The files of an install, each with its line of the table of places."""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.factory import foreign_file, forwards_writes, has_database, has_notes
from zeroclaw_tui.config.locations import CORE_NAME, DAILY_FOLDER, notes_root
from zeroclaw_tui.config.memory_config import MemoryConfig, agent_folders
from zeroclaw_tui.config.toml import read_toml
from zeroclaw_tui.curation.traces.matcher import TextMatcher
from zeroclaw_tui.curation.traces.places import PLACES, STORE_DATABASE, STORE_FILE, STORE_NOTES, Form, Place, Under
from zeroclaw_tui.files.database import is_database, raw_bytes
from zeroclaw_tui.files.disk import file_size, names_in
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import one_line

_SIDECARS = ("-wal", "-journal", "-shm")
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"PK\x03\x04", b"7z\xbc\xaf", b"\x28\xb5\x2f\xfd")
"""How files begin that are packed: by gzip, bzip2, xz, zip, 7z and zstd."""


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """One file, and its line of the table of places."""

    path: Path
    place: Place

    @property
    def form(self) -> Form:
        if self.place.form != "anything":
            return self.place.form
        if self.path.suffix == ".md":
            return "notes"
        return "lines" if self.path.suffix in (".jsonl", ".ndjson", ".migrated", ".log") else "anything"

    def is_database(self) -> bool:
        """Whether it is a SQLite database that can be read, other than this program's trash."""
        try:
            return self.form != "trash" and is_database(self.path)
        except OSError:
            return False

    def parts(self) -> list[Path]:
        """The file, and the log and the journal of a database, if they are there."""
        sidecars = [self.path.with_name(self.path.name + end) for end in _SIDECARS[:2]]
        return [self.path, *filter(file_size, sidecars)]

    def is_packed(self) -> bool:
        """Whether its bytes say nothing. Raises OSError."""
        return raw_bytes(self.path, max(map(len, _PACKED))).startswith(_PACKED)


@dataclass(frozen=True, slots=True)
class TextPlace:
    """A place that has texts: how many rows, or how often in its bytes; None where it could not be searched.

    `can_clean` says whether the texts can be taken out of it, `why` what that means or why not. What `matcher` finds is
    in `file`.
    """

    kind: str
    place: str
    count: int | None
    can_clean: bool = False
    why: str = ""
    file: PlacedFile | None = None
    matcher: TextMatcher | None = None

    @property
    def sentence(self) -> str:
        return one_line(f"{self.kind}, {self.place}: {self.why}")

    def as_json(self) -> dict[str, Any]:
        about = {"kind": self.kind, "place": self.place, "count": self.count}
        return {**about, "can_clean": self.can_clean, "remark": self.why}


def not_read(error: OSError | InspectorError) -> str:
    """Why a file was not searched, in a sentence."""
    return f"It cannot be read: {error.strerror or error}." if isinstance(error, OSError) else str(error)


class PlacedFiles:
    """The files of an install, each once: the first place that names a file is its place. Reads folders; blocks.

    `everything` includes the store itself and what only `erase` looks at. `unread` are the folders that could not be
    read, each with the reason.
    """

    def __init__(self, config: MemoryConfig, backend: str, *, everything: bool) -> None:
        self.unread: dict[Path, str] = {}
        self._files: dict[str, PlacedFile] = {}
        self._config_dir = None if config.location is not None else config.install.config_dir
        root = _root(config)
        if everything:
            self._take(_store_files(config, backend))
        starts = self._starts(config, backend, root)
        document: Mapping[str, Any] = {}
        with suppress(InspectorError):
            document = (self._config_dir and read_toml(self._config_dir / "config.toml")) or {}
        own = os.path.realpath(config.database) if has_database(backend) else None
        for place in PLACES:
            # Where the store is notes, those of agents are the store too, and no copies.
            if not everything and (place.erase_only or (place.kind == "markdown" and has_notes(backend))):
                continue
            paths = [path for start in starts[place.under] for path in self._matching(place, start)]
            if root is not None:
                paths += self._configured(place, document, root)
            self._take((path, place) for path in paths if os.path.realpath(path) != own)

    @property
    def files(self) -> list[PlacedFile]:
        return list(self._files.values())

    def _take(self, found: Iterable[tuple[Path, Place]]) -> None:
        for path, place in found:
            with suppress(OSError):
                if stat.S_ISREG(path.stat().st_mode):
                    self._files.setdefault(os.path.realpath(path), PlacedFile(path, place))

    def _starts(self, config: MemoryConfig, backend: str, root: Path | None) -> Mapping[Under, Iterable[Path]]:
        """The folders in which the patterns of places begin."""
        roots = [] if root is None else [root]
        config_dirs = [] if self._config_dir is None else [self._config_dir]
        # Where ZeroClaw >= 0.8 keeps notes of agents, and where its migration moved old files to.
        agents = [agent / "workspace" for folder in config_dirs for agent in self._paths(folder / "agents")]
        folders = [*roots, *filter(Path.is_dir, agents), *agent_folders(config).values()]
        databases = [config.database.parent] if has_database(backend) else []
        forwards = forwards_writes(backend, config.backend, config.zeroclaw_backend)
        return {
            "folder": dict.fromkeys(folders),
            "memory": dict.fromkeys([*databases, *(folder / "memory" for folder in folders)]),
            "root": roots,
            "config": config_dirs,
            "beside config": [folder.parent for folder in config_dirs],
            "own": [config.install.own_dir],
            "lucid": [Path("~/.lucid").expanduser()] if forwards else [],
        }

    def _matching(self, place: Place, start: Path) -> Iterator[Path]:
        for name in place.names:
            pattern = name.format(config=self._config_dir.name if self._config_dir else "")
            *inner, last = pattern.rstrip("/").split("/")
            folder = start.joinpath(*inner)
            if "*" in last:
                paths = [path for path in self._paths(folder) if fnmatch.fnmatch(path.name, last)]
            else:
                paths = [folder / last]
            for path in paths:
                if pattern.endswith("/"):
                    yield from self._below(path)
                elif not path.name.endswith(_SIDECARS):
                    yield path

    def _below(self, folder: Path) -> Iterator[Path]:
        """All files in this folder and below, by name; links are not followed."""
        for path in self._paths(folder):
            database = path.with_name(path.name.rpartition("-")[0] or path.name)
            if path.is_symlink() or (path.name.endswith(_SIDECARS) and database.exists()):
                continue
            if path.is_dir():
                yield from self._below(path)
            else:
                yield path

    def _configured(self, place: Place, document: Mapping[str, Any], root: Path) -> Iterator[Path]:
        for setting in place.settings:
            section, _, key = setting.partition(".")
            table = document.get(section)
            named = table.get(key) if isinstance(table, dict) else None
            if not isinstance(named, str) or not named.strip():
                continue
            path = root / Path(named.strip()).expanduser()
            if path.is_dir():
                path /= Path(place.names[0]).name
            yield path
            if place.form == "lines":
                pattern = f"{path.stem}.*{path.suffix}"
                yield from (older for older in self._paths(path.parent) if fnmatch.fnmatch(older.name, pattern))

    def _paths(self, folder: Path) -> list[Path]:
        """What is in a folder, by name."""
        try:
            return [folder / name for name in names_in(folder)]
        except InspectorError as error:
            self.unread[folder] = not_read(error)
            return []


def _store_files(config: MemoryConfig, backend: str) -> Iterator[tuple[Path, Place]]:
    """The files of the store itself; the notes of agents are in folders of their own."""
    if has_database(backend):
        yield config.database, STORE_DATABASE
    elif has_notes(backend):
        root = notes_root(Path(config.location).expanduser()) if config.location is not None else config.install.root
        daily = root / DAILY_FOLDER
        notes = [root / CORE_NAME, *(daily / name for name in names_in(daily) if name.endswith(".md"))]
        yield from ((path, STORE_NOTES) for path in notes)
    elif (foreign := foreign_file(config)) is not None:
        yield foreign, STORE_FILE


def _root(config: MemoryConfig) -> Path | None:
    """The workspace or data folder of the store; None for a file that is somewhere else."""
    install, is_notes = config.install, has_notes(config.backend)
    if config.location is None and (is_notes or install.layout != "lone"):
        return install.root
    file = install.database if config.location is None else Path(config.location).expanduser()
    if is_notes and file.is_dir():
        return notes_root(file)
    if file.name == "memory.db":
        return file.parent
    return file.parent.parent if file.parent.name == "memory" else None
