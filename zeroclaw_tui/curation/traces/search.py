"""Search the files of an install for texts, each as its entry in the table of places says."""

from __future__ import annotations

import fnmatch
import os
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from zeroclaw_tui.backends.cancellation import CancellableTask
from zeroclaw_tui.backends.factory import foreign_file, forwards_writes, known_backend
from zeroclaw_tui.config.locations import CORE_NAME, DAILY_FOLDER, notes_root
from zeroclaw_tui.config.memory_config import MemoryConfig, agent_folders
from zeroclaw_tui.config.toml import read_toml
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.traces.matcher import Form, TextMatcher
from zeroclaw_tui.curation.traces.places import PLACES, STORE_DATABASE, STORE_FILE, STORE_NOTES, Place, Under
from zeroclaw_tui.files import database as sqlite
from zeroclaw_tui.files.disk import file_size, names_in
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import one_line

Check = Callable[[], object]
"""Called often during a search; raises to cancel it."""
FoundRow = tuple[str, int, dict[str, Any]]
"""A row with a text: its table, its rowid and the values that have the text."""
_PACKED = "It is compressed, so its content was not searched: unpack it, or delete it."
_DAMAGED = "It should be a SQLite database, but it is not: delete it while ZeroClaw is stopped, or restore a backup."
_LINES = "Every line that contains it is deleted."
DELETED_WITH = {
    "memories": ("id", "key", "content"),
    "nodes": ("title", "content", "tags"),
    "response_cache": ("response",),
    "memory_audit": ("key", "metadata"),
}
"""A row of these tables is deleted if one of these columns has a text. Other rows lose only the text."""
_SIDECARS = ("-wal", "-journal", "-shm")
_PACKED_STARTS = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"PK\x03\x04", b"7z\xbc\xaf", b"\x28\xb5\x2f\xfd")
"""The first bytes of compressed files: gzip, bzip2, xz, zip, 7z and zstd."""


class PlacedFile(NamedTuple):
    """A file and its entry in the table of places."""

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
        """Whether it is a readable SQLite database other than this program's trash."""
        try:
            return self.form != "trash" and sqlite.is_database(self.path)
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class TextPlace:
    """A place that has texts. `count` is the number of rows, or of occurrences in bytes; None if not searched.

    `can_clean` says whether the texts can be cut out, `why` the effect or the reason; `matcher` found them in `file`.
    """

    kind: str
    place: str
    count: int | None = None
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


def unread_sentence(error: OSError | InspectorError) -> str:
    """Say in a sentence why a file was not searched."""
    return f"It cannot be read: {error.strerror or error}." if isinstance(error, OSError) else str(error)


class PlacedFiles:
    """The files of an install, each once, with the first place whose pattern matches. Reads folders; blocks.

    `everything` adds the store and the places that only `erase` searches. `unread` has the reasons by folder.
    """

    def __init__(self, config: MemoryConfig, backend: str, *, everything: bool) -> None:
        self.unread: dict[Path, str] = {}
        self._found: dict[str, PlacedFile] = {}
        self._config_dir = None if config.location is not None else config.install.config_dir
        root = _root(config)
        if everything:
            self._take(_store_files(config, backend))
        starts = self._starts(config, backend, root)
        document: Mapping[str, Any] = {}
        with suppress(InspectorError):
            document = (self._config_dir and read_toml(self._config_dir / "config.toml")) or {}
        own = os.path.realpath(config.database) if known_backend(backend).has_database else None
        for place in PLACES:
            # In a Markdown store the notes of agents belong to the store and are not copies.
            if not everything and (place.erase_only or (place.kind == "markdown" and known_backend(backend).has_notes)):
                continue
            paths = [path for start in starts[place.under] for path in self._matching(place, start)]
            if root is not None:
                paths += self._configured_paths(place, document, root)
            self._take((path, place) for path in paths if os.path.realpath(path) != own)
        self.files = list(self._found.values())

    def _take(self, found: Iterable[tuple[Path, Place]]) -> None:
        for path, place in found:
            with suppress(OSError):
                if stat.S_ISREG(path.stat().st_mode):
                    self._found.setdefault(os.path.realpath(path), PlacedFile(path, place))

    def _starts(self, config: MemoryConfig, backend: str, root: Path | None) -> Mapping[Under, Iterable[Path]]:
        """The start folders of the patterns of places."""
        roots = [] if root is None else [root]
        config_dirs = [] if self._config_dir is None else [self._config_dir]
        # ZeroClaw >= 0.8 stores notes of agents here, and its migration moved old files here.
        agents = [agent / "workspace" for folder in config_dirs for agent in self._paths(folder / "agents")]
        folders = [*roots, *filter(Path.is_dir, agents), *agent_folders(config).values()]
        databases = [config.database.parent] if known_backend(backend).has_database else []
        forwards = forwards_writes(backend, config.backend, config.zeroclaw_backend)
        return {
            "folder": dict.fromkeys(folders),
            "memory": dict.fromkeys([*databases, *(folder / "memory" for folder in folders)]),
            "root": roots,
            "config": config_dirs,
            "next to config": [folder.parent for folder in config_dirs],
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
        """Yield all files in this folder and its subfolders, by name, without following links."""
        for path in self._paths(folder):
            database = path.with_name(path.name.rpartition("-")[0] or path.name)
            if path.is_symlink() or (path.name.endswith(_SIDECARS) and database.exists()):
                continue
            if path.is_dir():
                yield from self._below(path)
            else:
                yield path

    def _configured_paths(self, place: Place, document: Mapping[str, Any], root: Path) -> Iterator[Path]:
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
        """List the paths in a folder by name, or note in `unread` why it cannot be read."""
        try:
            return [folder / name for name in names_in(folder)]
        except InspectorError as error:
            self.unread[folder] = unread_sentence(error)
            return []


def _store_files(config: MemoryConfig, backend: str) -> Iterator[tuple[Path, Place]]:
    """Yield the files of the store itself; the notes of agents are in separate folders."""
    if known_backend(backend).has_database:
        yield config.database, STORE_DATABASE
    elif known_backend(backend).has_notes:
        root = notes_root(Path(config.location).expanduser()) if config.location is not None else config.install.root
        daily = root / DAILY_FOLDER
        notes = [root / CORE_NAME, *(daily / name for name in names_in(daily) if name.endswith(".md"))]
        yield from ((path, STORE_NOTES) for path in notes)
    elif (foreign := foreign_file(config)) is not None:
        yield foreign, STORE_FILE


def _root(config: MemoryConfig) -> Path | None:
    """The workspace or data folder of the store; None for a file outside of one."""
    install, is_notes = config.install, known_backend(config.backend).has_notes
    if config.location is None and (is_notes or install.layout != "lone"):
        return install.root
    file = install.database if config.location is None else Path(config.location).expanduser()
    if is_notes and file.is_dir():
        return notes_root(file)
    if file.name == "memory.db":
        return file.parent
    return file.parent.parent if file.parent.name == "memory" else None


@dataclass(slots=True)
class Scan:
    """The result of a search: places that have a text or could not be read, and `skipped` ones, such as archives."""

    places: list[TextPlace] = field(default_factory=list)
    skipped: list[TextPlace] = field(default_factory=list)
    files: int = 0

    @property
    def hits(self) -> int:
        return sum(place.count or 0 for place in self.places)

    def as_json(self) -> dict[str, Any]:
        skipped = [place.as_json() for place in self.skipped]
        return {"not_looked_at": skipped, "scanned": {"files": self.files, "hits": self.hits}}


async def scan_files(library: Library, matcher: TextMatcher, *, everything: bool) -> Scan:
    """Search the rows of databases and the bytes of files, in a thread that stops soon after cancellation.

    `everything` adds the store itself, the places that only `erase` searches, and the free pages of databases.
    """
    task, scan = CancellableTask(), Scan()

    def search() -> None:
        found = PlacedFiles(library.config, library.memory.name, everything=everything)
        scan.files = len(found.files)
        for file in found.files:
            task.check()
            place, name = file.place, str(file.path)
            try:
                count, why = search_file(file, matcher, task.check, free_pages=everything)
            except (OSError, InspectorError) as error:
                count, why = 0, unread_sentence(error)
            if why == _PACKED:
                scan.skipped.append(TextPlace(place.kind, name, why=why))
            elif why:
                scan.places.append(TextPlace(place.kind, name, why=f"{why} It may contain the text."))
            elif count and everything:
                stays = place.stays or (place.kind == "store" and library.read_only_because) or ""
                why = stays or (_LINES if file.form == "notes" else "")
                scan.places.append(TextPlace(place.kind, name, count, not stays, why))
            elif count:
                remark = f"{place.remark} {matcher.remark}".rstrip()
                scan.places.append(TextPlace(place.kind, name, count, place.can_clean, remark, file, matcher))
        scan.places += [TextPlace("folder", str(folder), why=why) for folder, why in found.unread.items()]

    await task.run(search)
    return scan


def search_file(file: PlacedFile, matcher: TextMatcher, check: Check, *, free_pages: bool) -> tuple[int, str]:
    """Count the rows of a database, or the occurrences in the bytes of a file, that have a text; or say why not.

    With `free_pages` a database without such rows is searched by bytes. Blocks. Raises OSError and InspectorError.
    """
    if sqlite.raw_bytes(file.path, max(map(len, _PACKED_STARTS))).startswith(_PACKED_STARTS):
        return 0, _PACKED
    count, why, is_database = 0, "", file.is_database()
    if is_database:
        rows, notice = find_rows(file.path, matcher, check)
        count, why = len(rows), "" if free_pages else notice.strip()
    elif file.form == "rows" and file_size(file.path):
        why = _DAMAGED
    if not count and (free_pages or not is_database):
        sidecars = [file.path.with_name(file.path.name + end) for end in _SIDECARS[:2]]
        parts = [file.path, *filter(file_size, sidecars)]
        count = sum(matcher.count_matches(sqlite.iter_raw_chunks(part)) for part in parts)
    return count, "" if count else why


def find_rows(path: Path, matcher: TextMatcher, check: Check) -> tuple[list[FoundRow], str]:
    """Find the rows of all tables that have a text, and say what was not read. Creates no files; blocks."""
    with sqlite.open_immutable(path) as (connection, notice):
        tables = sqlite.tables_of_rows(connection)
        return [row for table in tables for row in matching_rows(connection, table, matcher, check)], notice


def matching_rows(connection: sqlite3.Connection, table: str, matcher: TextMatcher, check: Check) -> Iterator[FoundRow]:
    """Yield the rows of a table that have a text."""
    rows = connection.execute(f"SELECT rowid, * FROM {sqlite.quoted(table)}")
    names = [name for name, *_ in rows.description[1:]]
    # Only a person or the agent writes these columns.
    own = DELETED_WITH.get(table, ())
    for number, *values in rows:
        check()
        # Most rows have no text: one search over all values rules them out.
        if not matcher.matches("\0".join(as_text(value) for value in values if isinstance(value, str | bytes))):
            continue
        matching = {
            name: value
            for name, value in zip(names, values, strict=True)
            if name != "embedding"
            and (
                matcher.matches_field(name, value)
                or (name in own and isinstance(value, str) and matcher.matches(value))
            )
        }
        if matching:
            yield table, number, matching
