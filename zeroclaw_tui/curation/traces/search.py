"""The places where a text of the memory may be, every kind of file of ZeroClaw and this program, and searching them.

The places were read in the sources of ZeroClaw 0.1.7, 0.7.5 and 0.8.0 to 0.8.4.
"""

from __future__ import annotations

import fnmatch
import os
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from zeroclaw_tui.backends.cancellation import CancellableTask
from zeroclaw_tui.backends.factory import foreign_file, forwards_writes, has_database, has_notes
from zeroclaw_tui.config.locations import CORE_NAME, DAILY_FOLDER, notes_root
from zeroclaw_tui.config.memory_config import MemoryConfig, agent_folders
from zeroclaw_tui.config.toml import read_toml
from zeroclaw_tui.curation.formats.snapshot import NAME as SNAPSHOT
from zeroclaw_tui.curation.formats.snapshot import SIDE_CAR
from zeroclaw_tui.curation.journal_file import BACKUP as OLD_TRASH
from zeroclaw_tui.curation.journal_file import NAME as TRASH
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.traces.matcher import Form, TextMatcher
from zeroclaw_tui.files import database as sqlite
from zeroclaw_tui.files.disk import file_size, names_in
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import one_line

Under = Literal["folder", "memory", "root", "config", "next to config", "own", "lucid"]
"""Where the patterns start: the workspace or data folder and each agent's own; the folder of the database and memory/
in each of those; the workspace or data folder alone; the config dir; the folder of the config dir; this program's own
folder; lucid's."""


class Place(NamedTuple):
    """A kind of file. `names` are patterns with `*`; one that ends in `/` means all that is below.

    `settings` are keys of config.toml that name the file elsewhere, from the workspace or data folder. `remark` is one
    sentence: what it means that a text is there, or what to do where it cannot be cleaned with undo. `columns` are
    those of a database in which a text can be replaced without harm, by table. `stays` says why `erase` leaves the file
    as it is; "" where it does not. `erase_only` places are no copies that ZeroClaw or its user would read.
    """

    kind: str
    under: Under
    names: tuple[str, ...]
    form: Form
    remark: str = ""
    can_clean: bool = False
    settings: tuple[str, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    stays: str = ""
    erase_only: bool = False


_CUT = "cleaning puts [removed] in its place."
_RAM = f"A running ZeroClaw keeps using its copy of this chat. Stop ZeroClaw; {_CUT}"
_NOTES = "These are Markdown notes next to the store; cleaning removes whole lines that contain a text."
_BACKUP = "This is a backup: delete it if you do not need it."
_ANSWERS = (
    "These are cached answers of the model. ZeroClaw deletes them after response_cache_ttl_minutes; to delete them "
    "now, delete the file while ZeroClaw is stopped."
)
_OTHER = "This is another database: open it by its path to delete the rows."
_HYDRATED = (
    "If brain.db is lost, ZeroClaw creates core memories from this file. It rewrites the file only while there are "
    "core memories."
)
_AUDITED = (
    "ZeroClaw's audit log contains the whole message of each recall (0.8.4 and later). Cleaning replaces the text with "
    "[removed]."
)
_CHAIN = (
    "Each line of ZeroClaw's security log vouches for the one before, so cutting one out breaks the chain: delete the "
    "files as a whole while ZeroClaw is stopped."
)
_CONFIG = "It is ZeroClaw's configuration: change it by hand."
_PROMPT_FILES = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "BOOTSTRAP.md", "HEARTBEAT.md")
_DATABASES = ("brain.db", "memory.db", "discord.db")

STORE_DATABASE = Place("store", "memory", (), "rows")
STORE_NOTES = Place("store", "folder", (), "notes")
STORE_FILE = Place("store", "folder", (), "anything")
"""The store that is open; its path is known."""

PLACES: tuple[Place, ...] = (
    Place("snapshot", "root", (SNAPSHOT,), "snapshot", _HYDRATED, can_clean=True),
    Place("snapshot", "folder", (SNAPSHOT, f"memory/{SNAPSHOT}"), "snapshot",
          "ZeroClaw does not read this snapshot by itself.", can_clean=True),
    Place("archive", "root", ("memory/archive/*.md", "sessions/archive/*.md"), "notes",
          "ZeroClaw's hygiene moved these notes here; cleaning removes whole lines that contain a text.",
          can_clean=True),
    # Up to 0.8.1 hygiene moves sessions.db here as well.
    Place("archive", "root", ("sessions/archive/*.db",), "rows",
          "ZeroClaw's hygiene moved this database of chats here and no longer reads it: delete it if you want."),
    Place("archive", "root", ("sessions/archive/*.jsonl", "sessions/archive/*.jsonl.migrated"), "lines",
          f"This is the archive of a conversation, which ZeroClaw deletes in time; {_CUT}",
          can_clean=True),
    Place("archive", "root", ("sessions/archive/*", "memory/archive/*"), "anything",
          "ZeroClaw's hygiene moved this file here and deletes it later; you can delete it sooner."),
    Place("markdown", "folder", ("MEMORY.md", "memory/*.md"), "notes", _NOTES, can_clean=True),
    # They go into the system prompt whatever the backend is.
    Place("prompt file", "folder", _PROMPT_FILES, "notes",
          "ZeroClaw puts this file into the prompt; cleaning removes whole lines that contain a text.",
          can_clean=True),
    # Since 0.4.3, in place of the files below.
    Place("chat", "folder", ("sessions/sessions.db",), "rows", _RAM, can_clean=True,
          columns={"sessions": ("content",)}),
    # Since 0.8.0.
    Place("chat", "folder", ("sessions/acp-sessions.db",), "rows", _RAM, can_clean=True,
          columns={"acp_messages": ("content", "reasoning_content"), "acp_tool_calls": ("payload",),
                   "acp_session_events": ("payload",), "acp_sessions": ("plan_json",)}),
    Place("chat", "folder", ("sessions/*.jsonl",), "lines", _RAM, can_clean=True),
    Place("chat", "folder", ("sessions/*.jsonl.migrated",), "lines",
          f"ZeroClaw moved this chat to sessions.db and left the file; {_CUT}",
          can_clean=True),
    Place("trace", "root", ("state/runtime-trace.jsonl", "state/runtime-trace.*.jsonl"), "lines",
          "ZeroClaw traces what it does here ([observability] log_persistence, up to 0.7.5 runtime_trace_mode); "
          f"{_CUT}",
          can_clean=True,
          settings=("observability.log_persistence_path", "observability.runtime_trace_path")),
    Place("trace", "root", ("state/runtime-trace.tmp.*", "state/runtime-trace.migrate.*"), "lines",
          "ZeroClaw left this file while rewriting its trace, or is writing it now: delete it while ZeroClaw is "
          "stopped."),
    # Since 0.5.0; the agent has no tool that edits it.
    Place("knowledge", "config", ("knowledge.db",), "rows",
          f"This is ZeroClaw's knowledge graph; {_CUT}", can_clean=True,
          settings=("knowledge.db_path",), columns={"nodes": ("title", "content", "tags")}),
    Place("schedule", "folder", ("cron/jobs.db",), "rows",
          "These are scheduled jobs and what they gave out: `zeroclaw cron` lists, changes and removes them."),
    Place("schedule", "folder", ("heartbeat/history.db",), "rows",
          "ZeroClaw drops old runs of its heartbeat itself ([heartbeat] max_run_history), or delete the file while it "
          "is stopped."),
    Place("tasks", "root", ("control_plane.db",), "rows",
          "ZeroClaw never deletes the output of its tasks here. Stop ZeroClaw, then delete the file; that ends those "
          "tasks."),
    Place("tasks", "root", ("sop/runs.db",), "rows",
          "ZeroClaw never deletes the runs of its procedures here. Stop ZeroClaw, then delete the file; that ends "
          "those runs.", settings=("sop.run_state_dir",)),
    Place("backup", "memory", ("*.db.backup-*",), "rows", _BACKUP),
    # Copies that a person made.
    Place("backup", "memory", ("brain.db.*",), "anything", _BACKUP),
    Place("backup", "root", ("memory/migrations/",), "anything", _BACKUP),
    Place("backup", "folder", ("backups/",), "anything", _BACKUP),
    Place("backup", "config", ("backup-*/",), "anything", _BACKUP),
    Place("backup", "next to config", ("{config}.backup.*/",), "anything", _BACKUP),
    Place("deleted agent", "root", ("agents/_deleted/",), "anything",
          "ZeroClaw never deletes this directory of a deleted agent: delete it if you do not need it."),
    Place("deleted agent", "config", ("agents/_deleted/",), "anything",
          "ZeroClaw never deletes this directory of a deleted agent: delete it if you do not need it."),
    Place("security log", "config", ("audit.log*", "audit.*.log"), "lines",
          _CHAIN, stays=_CHAIN),
    Place("service log", "config", ("logs/*.log",), "anything",
          "This is what the service printed: empty the file while ZeroClaw is stopped."),
    Place("audit", "memory", ("audit.db",), "rows", _AUDITED, can_clean=True, columns={"memory_audit": ("metadata",)}),
    Place("response cache", "memory", ("response_cache.db",), "rows", _ANSWERS),
    Place("other database", "memory", _DATABASES, "rows", _OTHER),
    Place("other database", "folder", _DATABASES, "rows", _OTHER),
    Place("other database", "config", ("workspace/memory/brain.db", "data/memory/brain.db"), "rows", _OTHER),
    Place("own copy", "folder", (SIDE_CAR, f"memory/{SIDE_CAR}"), "memory lines",
          "This is this program's lossless copy of the snapshot.", erase_only=True),
    # The second one is the backup of a trash that was converted.
    Place("trash", "own", (TRASH, OLD_TRASH), "trash", erase_only=True),
    # Before its backups, which may be links to it. Cutting anything out of the key file would lose every secret.
    Place("config", "config", ("config.toml", ".secret_key"), "anything", stays=_CONFIG, erase_only=True),
    Place("config backup", "own", ("backups/*.toml",), "anything", erase_only=True),
    Place("own copy", "own", ("/",), "anything", erase_only=True),
    Place("config backup", "config", ("config.toml.*", ".config.toml.*"), "anything", erase_only=True),
    # Where lucid-memory 0.6.5 keeps what ZeroClaw gave it: memory.db, and one for each client or profile.
    Place("lucid", "lucid", ("/",), "anything", stays="lucid has no delete command: stop lucid, then edit this file.",
          erase_only=True),
)  # fmt: skip


# Searching them

_PACKED = "It is packed, so its content was not searched: unpack it, or delete it."
_DAMAGED = "It should be a SQLite database, but it is none: delete it while ZeroClaw is stopped, or restore a backup."
_LINES = "Every line that contains it is deleted."
DELETED_WITH = {
    "memories": ("id", "key", "content"),
    "nodes": ("title", "content", "tags"),
    "response_cache": ("response",),
    "memory_audit": ("key", "metadata"),
}
"""The tables whose rows are deleted if one of these columns has a text. Other rows lose only the text."""
_SIDECARS = ("-wal", "-journal", "-shm")
_PACKED_STARTS = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"PK\x03\x04", b"7z\xbc\xaf", b"\x28\xb5\x2f\xfd")
"""How files begin that are packed: by gzip, bzip2, xz, zip, 7z and zstd."""


class PlacedFile(NamedTuple):
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
            return self.form != "trash" and sqlite.is_database(self.path)
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class TextPlace:
    """A place that has texts: how many rows, or how often in its bytes; None where it could not be searched.

    `can_clean` says whether the texts can be cut out, `why` what that means or why not; `matcher` found them in `file`.
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

    `everything` includes the store and what only `erase` looks at. `unread` has the reasons by folder.
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
        own = os.path.realpath(config.database) if has_database(backend) else None
        for place in PLACES:
            # Where the store is notes, those of agents are the store too, and no copies.
            if not everything and (place.erase_only or (place.kind == "markdown" and has_notes(backend))):
                continue
            paths = [path for start in starts[place.under] for path in self._matching(place, start)]
            if root is not None:
                paths += self._configured(place, document, root)
            self._take((path, place) for path in paths if os.path.realpath(path) != own)
        self.files = list(self._found.values())

    def _take(self, found: Iterable[tuple[Path, Place]]) -> None:
        for path, place in found:
            with suppress(OSError):
                if stat.S_ISREG(path.stat().st_mode):
                    self._found.setdefault(os.path.realpath(path), PlacedFile(path, place))

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


Check = Callable[[], object]
"""Ends a search by raising."""


FoundRow = tuple[str, int, dict[str, Any]]
"""A row with a text: its table, its number and the values that have it."""


@dataclass(slots=True)
class Scan:
    """What a search of the known places of an install found or could not read, and which places say nothing."""

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
    """Search the rows of databases and the bytes of files, in a thread that ends soon when this is cancelled.

    `everything` includes the store itself, what only `erase` looks at, and the free pages of databases.
    """
    task, scan = CancellableTask(), Scan()

    def look() -> None:
        found = PlacedFiles(library.config, library.memory.name, everything=everything)
        scan.files = len(found.files)
        for file in found.files:
            task.check()
            place, name = file.place, str(file.path)
            try:
                count, why = look_into(file, matcher, task.check, free_pages=everything)
            except (OSError, InspectorError) as error:
                count, why = 0, not_read(error)
            if why == _PACKED:
                scan.skipped.append(TextPlace(place.kind, name, None, why=why))
            elif why:
                scan.places.append(TextPlace(place.kind, name, None, why=f"{why} It may contain the text."))
            elif count and everything:
                stays = place.stays or (place.kind == "store" and library.read_only_because) or ""
                why = stays or (_LINES if file.form == "notes" else "")
                scan.places.append(TextPlace(place.kind, name, count, not stays, why))
            elif count:
                remark = f"{place.remark} {matcher.remark}".rstrip()
                scan.places.append(TextPlace(place.kind, name, count, place.can_clean, remark, file, matcher))
        scan.places += [TextPlace("folder", str(folder), None, why=why) for folder, why in found.unread.items()]

    await task.run(look)
    return scan


def look_into(file: PlacedFile, matcher: TextMatcher, check: Check, *, free_pages: bool) -> tuple[int, str]:
    """How many rows of a database have a text, or how often a file has one in its bytes; or why that is unknown.

    With `free_pages` bytes of a database count too, if no row has one. Blocks. Raises OSError and InspectorError kinds.
    """
    if sqlite.raw_bytes(file.path, max(map(len, _PACKED_STARTS))).startswith(_PACKED_STARTS):
        return 0, _PACKED
    count, why, is_database = 0, "", file.is_database()
    if is_database:
        rows, notice = rows_with_texts(file.path, matcher, check)
        count, why = len(rows), "" if free_pages else notice.strip()
    elif file.form == "rows" and file_size(file.path):
        why = _DAMAGED
    if not count and (free_pages or not is_database):
        sidecars = [file.path.with_name(file.path.name + end) for end in _SIDECARS[:2]]
        parts = [file.path, *filter(file_size, sidecars)]
        count = sum(matcher.count_in(sqlite.iter_raw_chunks(part)) for part in parts)
    return count, "" if count else why


def rows_with_texts(path: Path, matcher: TextMatcher, check: Check) -> tuple[list[FoundRow], str]:
    """The rows of all tables that have a text, and what was not read. Makes no files; blocks."""
    with sqlite.open_immutable(path) as (connection, notice):
        tables = sqlite.tables_of_rows(connection)
        return [row for table in tables for row in rows_of_table(connection, table, matcher, check)], notice


def rows_of_table(connection: sqlite3.Connection, table: str, matcher: TextMatcher, check: Check) -> Iterator[FoundRow]:
    """The rows of a table that have a text."""
    rows = connection.execute(f"SELECT rowid, * FROM {sqlite.quoted(table)}")
    names = [name for name, *_ in rows.description[1:]]
    # These columns have only what a person or the agent wrote.
    own = DELETED_WITH.get(table, ())
    for number, *values in rows:
        check()
        # Most rows have no text, which one look at all their values tells.
        if not matcher.found_in("\0".join(as_text(value) for value in values if isinstance(value, str | bytes))):
            continue
        found = {
            name: value
            for name, value in zip(names, values, strict=True)
            if name != "embedding"
            and (
                matcher.found_in_field(name, value)
                or (name in own and isinstance(value, str) and matcher.found_in(value))
            )
        }
        if found:
            yield table, number, found
