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
from zeroclaw_tui.curation.traces.places import PLACES, Form, Kind, Place, Under
from zeroclaw_tui.files.database import is_database, raw_bytes
from zeroclaw_tui.files.disk import file_size, names_in
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import one_line

_SIDECARS = ("-wal", "-journal", "-shm")
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"PK\x03\x04", b"7z\xbc\xaf", b"\x28\xb5\x2f\xfd")
"""How files begin that are packed: by gzip, bzip2, xz, zip, 7z and zstd."""

_STORE_DATABASE = Place("store", "memory", (), "rows")
_STORE_NOTES = Place("store", "folder", (), "notes")
_FOREIGN_STORE = Place("store", "folder", (), "anything")


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """One file, and its line of the table of places."""

    path: Path
    place: Place

    @property
    def kind(self) -> Kind:
        return self.place.kind

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
    read.
    """

    def __init__(self, config: MemoryConfig, backend: str, *, everything: bool) -> None:
        self._config, self._backend, self._install = config, backend, config.install
        self._files: dict[str, PlacedFile] = {}
        self.unread: list[TextPlace] = []
        self._database = config.database if has_database(backend) else None
        self._root = _root(config)
        self._config_dir = None if config.location is not None else config.install.config_dir
        if everything:
            self._take_store()
        self._take_table(everything=everything)

    @property
    def files(self) -> list[PlacedFile]:
        return list(self._files.values())

    def _take_store(self) -> None:
        if self._database is not None:
            self._take(self._database, _STORE_DATABASE)
        elif has_notes(self._backend):
            for path in _notes(self._config):
                self._take(path, _STORE_NOTES)
        elif (foreign := foreign_file(self._config)) is not None:
            self._take(foreign, _FOREIGN_STORE)

    def _take_table(self, *, everything: bool) -> None:
        """The files of the table of places."""
        folders = ([] if self._root is None else [self._root]) + self._agents()
        in_memory = [*([self._database.parent] if self._database else []), *(folder / "memory" for folder in folders)]
        config_dirs = [] if self._config_dir is None else [self._config_dir]
        forwards = forwards_writes(self._backend, self._config.backend, self._config.zeroclaw_backend)
        starts: dict[Under, Iterable[Path]] = {
            "folder": folders,
            "memory": dict.fromkeys(in_memory),
            "root": folders[:1] if self._root is not None else (),
            "config": config_dirs,
            "beside config": [folder.parent for folder in config_dirs],
            "own": (self._install.own_dir,),
            "lucid": (Path("~/.lucid").expanduser(),) if forwards else (),
        }
        document: Mapping[str, Any] = {}
        with suppress(InspectorError):
            document = (self._config_dir and read_toml(self._config_dir / "config.toml")) or {}
        own = None if self._database is None else os.path.realpath(self._database)
        for place in PLACES:
            # Where the store is notes, those of agents are the store too, and no copies.
            if not everything and (place.erase_only or (place.kind == "markdown" and has_notes(self._backend))):
                continue
            paths = [path for start in starts[place.under] for path in self._matching(place, start)]
            if self._root is not None:
                paths += self._configured(place, document, self._root)
            for path in paths:
                if os.path.realpath(path) != own:
                    self._take(path, place)

    def _take(self, path: Path, place: Place) -> None:
        with suppress(OSError):
            if stat.S_ISREG(path.stat().st_mode):
                self._files.setdefault(os.path.realpath(path), PlacedFile(path, place))

    def _matching(self, place: Place, start: Path) -> Iterator[Path]:
        for name in place.names:
            pattern = name.format(config=self._config_dir.name if self._config_dir else "")
            *inner, last = pattern.rstrip("/").split("/")
            folder = start.joinpath(*inner)
            is_pattern = any(sign in last for sign in "*?[")
            names = fnmatch.filter(self._names(folder, place.kind), last) if is_pattern else [last]
            for path in (folder / one for one in names):
                if pattern.endswith("/"):
                    yield from self._below(path, place.kind)
                elif not path.name.endswith(_SIDECARS):
                    yield path

    def _below(self, folder: Path, kind: Kind) -> Iterator[Path]:
        """All files in this folder and below, by name; links are not followed."""

        def note(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError):
                self.unread.append(TextPlace(kind, str(error.filename), None, why=not_read(error)))

        for base, inner, names in os.walk(folder, onerror=note):
            inner.sort()
            for path in (Path(base, name) for name in sorted(names)):
                database = path.with_name(path.name.rpartition("-")[0] or path.name)
                is_sidecar = path.name.endswith(_SIDECARS) and database.exists()
                if not path.is_symlink() and not is_sidecar:
                    yield path

    def _agents(self) -> list[Path]:
        """Every agent's own folder, where ZeroClaw >= 0.8 keeps notes, and where its migration moved old files to."""
        if self._config_dir is None:
            return []
        folder = self._config_dir / "agents"
        usual = [path for name in self._names(folder, "markdown") if (path := folder / name / "workspace").is_dir()]
        return [*dict.fromkeys([*usual, *agent_folders(self._config).values()])]

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
                older = fnmatch.filter(self._names(path.parent, place.kind), f"{path.stem}.*{path.suffix}")
                yield from (path.with_name(name) for name in older)

    def _names(self, folder: Path, kind: Kind) -> list[str]:
        try:
            return names_in(folder)
        except InspectorError as error:
            self.unread.append(TextPlace(kind, str(folder), None, why=not_read(error)))
            return []


def _notes(config: MemoryConfig) -> list[Path]:
    """The notes of a store in Markdown; those of agents are in folders of their own."""
    root = notes_root(Path(config.location).expanduser()) if config.location is not None else config.install.root
    daily = root / DAILY_FOLDER
    return [root / CORE_NAME, *(daily / name for name in names_in(daily) if name.endswith(".md"))]


def _root(config: MemoryConfig) -> Path | None:
    """The workspace or data folder of the store; None for a file that is somewhere else."""
    if config.location is not None:
        location = Path(config.location).expanduser()
        return notes_root(location) if has_notes(config.backend) and location.is_dir() else _around(location)
    install = config.install
    return install.root if install.layout != "lone" or has_notes(config.backend) else _around(install.database)


def _around(database: Path) -> Path | None:
    if database.name == "memory.db":
        return database.parent
    return database.parent.parent if database.parent.name == "memory" else None
