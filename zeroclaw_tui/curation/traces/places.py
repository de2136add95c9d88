"""The places where a text of the memory may lie: every file that ZeroClaw and this program write, and what it is.

The places were read in the sources of ZeroClaw 0.1.7, 0.7.5 and 0.8.0 to 0.8.4.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.backends.factory import foreign_file, forwards_writes, has_database, has_notes
from zeroclaw_tui.config.locations import (
    CORE_NAME,
    DAILY_FOLDER,
    OWN_FOLDER,
    holds_loose_notes,
    notes_root,
    read_toml,
)
from zeroclaw_tui.config.memory_config import MemoryConfig, agent_folders
from zeroclaw_tui.curation.formats.snapshot import NAME as SNAPSHOT
from zeroclaw_tui.curation.formats.snapshot import SIDE_CAR
from zeroclaw_tui.curation.journal_file import NAME as TRASH
from zeroclaw_tui.curation.old_trash import BACKUP as OLD_TRASH
from zeroclaw_tui.files.database import DATABASE_HEADER, is_database, raw_bytes
from zeroclaw_tui.files.disk import file_size, is_unfinished, names_in
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import one_line

Kind = Literal[
    "memories", "snapshot", "archive", "markdown", "prompt file", "chat", "trace", "knowledge",
    "schedule", "tasks", "security log", "service log", "backup", "deleted agent",
    "trash", "audit", "response cache", "other database", "lucid", "store", "own copy", "config", "config backup",
    "workspace file", "other file",
]  # fmt: skip

Form = Literal["snapshot", "notes", "lines", "rows", "memory lines", "toml", "anything", "trash"]
"""How a file is read: as a snapshot; as notes in Markdown; line by line, where a line may be JSON; as a database; as
our JSONL with a memory on each line; as TOML; as text of any form; the trash, which the journal itself reads."""
Under = Literal["folder", "memory", "root", "config", "beside config", "own", "lucid"]
"""Where the patterns start: the workspace or data folder and each agent's own; the folder of the database and memory/
in each of those; the workspace or data folder alone; the config dir; the folder of the config dir; this program's own
folder; lucid's."""

_FOLDERS_AROUND = 3
"""The config dir is at most so many folders above a database of ZeroClaw's."""
_MOST_FILES = 20_000
"""How many files are searched in one folder of the table."""
_SIDES = ("-wal", "-journal", "-shm")
_PACKED = (
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\0",
    b"PK\x03\x04",
    b"7z\xbc\xaf",
    b"\x28\xb5\x2f\xfd",
    b"Rar!",
    b"\x04\x22\x4d\x18",
)
"""How files begin that are packed: by gzip, bzip2, xz, zip, 7z, zstd, rar and lz4."""


@dataclass(frozen=True)
class Place:
    """One kind of file. `names` are patterns; one that ends in `/` means all that is below.

    `settings` are keys of config.toml that name the file elsewhere, from the workspace or data folder. `remark` is one
    sentence: what it means that a text is there, or what to do where it cannot be cleaned with undo. `columns` are
    those of a database in which a text can be replaced without harm, by table. `stays` says why `erase` leaves the file
    as it is; "" where it does not. `erase_only` places are no copies that ZeroClaw or its user would read.
    """

    kind: Kind
    under: Under
    names: tuple[str, ...]
    form: Form
    remark: str = ""
    can_clean: bool = False
    settings: tuple[str, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
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
_NOT_OURS = "It is a file of your own: remove the text by hand, or delete the file."
_PROMPT_FILES = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "BOOTSTRAP.md", "HEARTBEAT.md")
_DATABASES = ("brain.db", "memory.db", "discord.db")

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
    Place("backup", "beside config", ("{config}.backup.*/",), "anything", _BACKUP),
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
    # The backup of a trash that was converted, and this program's backups of databases and configs.
    Place("trash", "own", (TRASH, OLD_TRASH), "trash", erase_only=True),
    # Before its backups, which may be links to it. Cutting anything out of the key file would lose every secret.
    Place("config", "config", ("config.toml", ".secret_key"), "anything", stays=_CONFIG, erase_only=True),
    Place("config backup", "own", ("backups/*.toml",), "toml", erase_only=True),
    Place("own copy", "own", ("backups/",), "anything", erase_only=True),
    Place("config backup", "config", ("config.toml.*", ".config.toml.*"), "toml", erase_only=True),
    # Where lucid-memory 0.6.5 keeps what ZeroClaw gave it: memory.db, and one for each client or profile.
    Place("lucid", "lucid", ("/",), "anything", stays="lucid has no delete command: stop lucid, then edit this file.",
          erase_only=True),
)  # fmt: skip


_STORE_DATABASE = Place("store", "memory", (), "rows")
_STORE_NOTES = Place("store", "folder", (), "notes")
_FOREIGN_STORE = Place("store", "folder", (), "anything")
_OWN_FILE = Place("own copy", "own", (), "anything")
_WORKSPACE_FILE = Place("workspace file", "folder", (), "anything", stays=_NOT_OURS)
_OTHER_FILE = Place("other file", "config", (), "anything", stays=_NOT_OURS)
_GIT = "Git stores older versions of these files. Search them with `git log -S`."
_IN_GIT = "Git stores it: rewrite the history, or delete the repository."
_IS_PACKED = "It is packed, so its content was not searched: unpack it, or delete it."
_DAMAGED = "It should be a SQLite database, but it is none: delete it while ZeroClaw is stopped, or restore a backup."


@dataclass(frozen=True, slots=True)
class SkippedPlace:
    """A place that could not be searched, and why in a sentence. `may_hold` says that texts may lie there."""

    place: str
    why: str
    may_hold: bool = True
    kind: Kind = "other file"


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """One file, and its line of the table of places."""

    path: Path
    place: Place

    @property
    def kind(self) -> Kind:
        """What it is to ZeroClaw or to this program."""
        return self.place.kind

    @property
    def form(self) -> Form:
        """How it is read: a file of any form by its ending."""
        if self.place.form != "anything":
            return self.place.form
        if self.path.suffix == ".md":
            return "notes"
        return "lines" if self.path.suffix in (".jsonl", ".ndjson", ".migrated", ".log") else "anything"

    def is_database(self) -> bool:
        """Whether it is a SQLite database, other than this program's trash. Raises OSError."""
        return self.form != "trash" and is_database(self.path)

    def parts(self) -> list[Path]:
        """The file, and the log and the journal of a database, if they are there."""
        beside = [self.path.with_name(self.path.name + side) for side in _SIDES[:2]]
        return [self.path, *(part for part in beside if file_size(part))]

    def why_not_searched(self) -> SkippedPlace | None:
        """Why a search of it says little or nothing. Raises OSError."""
        start = raw_bytes(self.path, len(DATABASE_HEADER))
        if start.startswith(_PACKED):
            return SkippedPlace(str(self.path), _IS_PACKED, may_hold=False, kind=self.kind)
        if self.form == "rows" and start and start != DATABASE_HEADER:
            return SkippedPlace(str(self.path), _DAMAGED, kind=self.kind)
        return None

    def why_it_stays(self) -> str:
        """Why `erase` leaves it as it is; "" where it does not."""
        return _IN_GIT if ".git" in self.path.parts else self.place.stays


@dataclass(frozen=True, slots=True)
class PlacedFiles:
    """The files of an install, each once, and what could not be searched."""

    files: tuple[PlacedFile, ...]
    skipped: tuple[SkippedPlace, ...]


def not_read(error: OSError | InspectorError) -> str:
    """Why a file was not searched, in a sentence."""
    return f"It cannot be read: {error.strerror or error}." if isinstance(error, OSError) else str(error)


def files_with_copies(config: MemoryConfig, backend: str) -> PlacedFiles:
    """The files of the table of places, except the store itself. Reads folders and the config; blocks."""
    walk = _Walk(config, backend)
    walk.take_table(with_own=False)
    return walk.found()


def all_files(config: MemoryConfig, backend: str) -> PlacedFiles:
    """Every regular file that ZeroClaw or this program wrote for an install, or that lies in a workspace of it.

    Links are followed where ZeroClaw itself reads there; others that lead out of the install are left alone, and named.
    Of a store that is named by its path only copies of it and the files of the table are searched. Reads folders and
    the config; blocks.
    """
    walk = _Walk(config, backend)
    walk.take_store()
    walk.take_table(with_own=True)
    if config.location is not None:
        walk.take_beside_store(Path(config.location).expanduser())
    walk.take_the_rest()
    return walk.found()


class _Walk:
    """Collects the files of an install; the first place that names a file is its place."""

    def __init__(self, config: MemoryConfig, backend: str) -> None:
        self._config, self._backend, self._install = config, backend, config.install
        self._files: dict[str, PlacedFile] = {}
        self._skipped: list[SkippedPlace] = []
        self._database = config.database if has_database(backend) else None
        self._root = _root(config)
        self._config_dir = None if config.location is not None else config.install.config_dir

    def found(self) -> PlacedFiles:
        """Everything that was taken."""
        return PlacedFiles(tuple(self._files.values()), tuple(self._skipped))

    def take_store(self) -> None:
        """The files of the store itself."""
        if self._database is not None:
            self._take(self._database, _STORE_DATABASE)
        elif has_notes(self._backend):
            for path in _notes(self._config):
                self._take(path, _STORE_NOTES)
        elif (foreign := foreign_file(self._config)) is not None:
            self._take(foreign, _FOREIGN_STORE)
        elif self._install.layout == "lone":
            self._take(self._config.database, _OTHER_FILE)

    def take_table(self, *, with_own: bool) -> None:
        """The files of the table of places; `with_own` also those that only `erase` looks at."""
        folders = ([] if self._root is None else [self._root]) + self._agents()
        in_memory = [*([self._database.parent] if self._database else []), *(folder / "memory" for folder in folders)]
        config_dir = self._config_dir
        forwards = forwards_writes(self._backend, self._config.backend, self._config.zeroclaw_backend)
        starts: dict[Under, Iterable[Path]] = {
            "folder": folders,
            "memory": dict.fromkeys(in_memory),
            "root": folders[:1] if self._root is not None else (),
            "config": () if config_dir is None else (config_dir,),
            "beside config": () if config_dir is None else (config_dir.parent,),
            "own": (self._install.own_dir,),
            "lucid": (Path("~/.lucid").expanduser(),) if forwards else (),
        }
        document = self._document()
        own = None if self._database is None else os.path.realpath(self._database)
        for place in PLACES:
            if (place.erase_only and not with_own) or (place.kind == "markdown" and has_notes(self._backend)):
                continue
            paths = [path for start in starts[place.under] for path in self._matching(place, start)]
            if self._root is not None:
                paths += self._configured(place, document, self._root)
            for path in paths:
                if os.path.realpath(path) != own:
                    self._take(path, place)

    def take_beside_store(self, store: Path) -> None:
        """The copies beside a store that is named by its path: nobody knows whose the other files are."""
        if not store.exists():
            return  # It is on a server.
        folder = store if store.is_dir() else store.parent
        for name in self._names(folder, "other file"):
            if name.startswith(f"{store.name}.") and not name.endswith(_SIDES):
                self._take(folder / name, Place("backup", "memory", (), "anything"))
        why = "Only ZeroClaw's own files were searched here, because the store was named by its path."
        self._skipped.append(SkippedPlace(str(folder if self._root is None else self._root), why, may_hold=False))
        for around in store.parents[:_FOLDERS_AROUND]:
            trash = around / OWN_FOLDER / TRASH
            if trash.is_file() and _real(trash) != _real(self._install.own_dir / TRASH):
                why = f"It is the trash of the install around the store: --config-dir {one_line(str(around))} opens it."
                self._skipped.append(SkippedPlace(str(trash), why, kind="trash"))

    def take_the_rest(self) -> None:
        """Everything else below this program's folder, the config dir and the folders of agents."""
        own_dir, workspaces = _real(self._install.own_dir), self._workspaces()
        folders = [own_dir]
        if self._config_dir is not None:
            folders += map(_real, [self._config_dir, self._install.root, *agent_folders(self._config).values()])
        roots = [
            folder
            for folder in dict.fromkeys(folders)
            if not any(folder != other and folder.is_relative_to(other) for other in folders)
        ]
        for root in roots:
            for path in self._below(root, "other file", roots):
                if path.is_relative_to(own_dir) or is_unfinished(path.name):
                    self._take(path, _OWN_FILE)
                elif has_notes(self._backend) and path.suffix == ".md" and _is_note(path):
                    self._take(path, _STORE_NOTES)
                elif any(path.is_relative_to(folder) for folder in workspaces):
                    self._take(path, _WORKSPACE_FILE)
                else:
                    self._take(path, _OTHER_FILE)

    def _take(self, path: Path, place: Place) -> None:
        if _is_file(path):
            self._files.setdefault(os.path.realpath(path), PlacedFile(path, place))

    def _matching(self, place: Place, start: Path) -> Iterator[Path]:
        """The files of a place below one folder."""
        for name in place.names:
            pattern = name.format(config=self._config_dir.name if self._config_dir else "") if "{" in name else name
            *inner, last = pattern.rstrip("/").split("/")
            folder = start.joinpath(*inner)
            is_pattern = any(sign in last for sign in "*?[")
            names = fnmatch.filter(self._names(folder, place.kind), last) if is_pattern else [last]
            for path in (folder / one for one in names):
                if pattern.endswith("/"):
                    yield from self._first_below(path, place.kind)
                elif not path.name.endswith(_SIDES):
                    yield path

    def _first_below(self, folder: Path, kind: Kind) -> Iterator[Path]:
        files = self._below(folder, kind, [_real(folder)])
        yield from islice(files, _MOST_FILES)
        if next(files, None) is not None:
            why = f"Only the first {_MOST_FILES:,} files were searched."
            self._skipped.append(SkippedPlace(str(folder), why, kind=kind))

    def _below(self, folder: Path, kind: Kind, inside: Iterable[Path]) -> Iterator[Path]:
        """All files in this folder and below, by name. Links out of the folders `inside` are named, not followed."""

        def note(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError):
                self._skipped.append(SkippedPlace(str(error.filename), not_read(error), kind=kind))

        for base, inner, names in os.walk(folder, onerror=note):
            inner.sort()
            if ".git" in inner:
                self._skipped.append(SkippedPlace(str(Path(base, ".git")), _GIT, may_hold=False))
            for name in inner:
                self._leads_out(Path(base, name), kind, inside)
            for path in (Path(base, name) for name in sorted(names)):
                if not _is_beside_database(path) and not self._leads_out(path, kind, inside):
                    yield path

    def _leads_out(self, path: Path, kind: Kind, inside: Iterable[Path]) -> bool:
        """Whether a path is a link out of these folders that no place has; then it is named."""
        if not (path.is_symlink() and path.exists()) or os.path.realpath(path) in self._files:
            return False
        target = _real(path)
        if any(target.is_relative_to(folder) for folder in inside):
            return False
        why = f"It is a link to {one_line(str(target))}, outside of the install: that was left alone."
        self._skipped.append(SkippedPlace(str(path), why, may_hold=False, kind=kind))
        return True

    def _agents(self) -> list[Path]:
        """Every agent's own folder, where ZeroClaw >= 0.8 keeps notes, and where its migration moved old files to."""
        if self._config_dir is None:
            return []
        folder = self._config_dir / "agents"
        usual = [path for name in self._names(folder, "markdown") if (path := folder / name / "workspace").is_dir()]
        return [*dict.fromkeys([*usual, *agent_folders(self._config).values()])]

    def _document(self) -> Mapping[str, Any]:
        """The whole config.toml, empty where there is none."""
        if self._config_dir is None:
            return {}
        path = self._config_dir / "config.toml"
        try:
            return read_toml(path) or {}
        except InspectorError as error:
            self._skipped.append(SkippedPlace(str(path), not_read(error), kind="trace"))
            return {}

    def _configured(self, place: Place, document: Mapping[str, Any], root: Path) -> Iterator[Path]:
        """The files of a place that the config puts somewhere else."""
        for setting in place.settings:
            section, _, key = setting.partition(".")
            table = document.get(section)
            given = table.get(key) if isinstance(table, dict) else None
            if not isinstance(given, str) or not given.strip():
                continue
            path = root / Path(given.strip()).expanduser()
            if path.is_dir():
                path /= Path(place.names[0]).name
            yield path
            if place.form == "lines":
                pattern = f"{path.stem}.*{path.suffix}"
                yield from (
                    path.parent / name for name in fnmatch.filter(self._names(path.parent, place.kind), pattern)
                )
        if place.kind == "knowledge" and _has_old_graph(document):
            yield Path("~/.zeroclaw/knowledge.db").expanduser()

    def _names(self, folder: Path, kind: Kind) -> list[str]:
        try:
            return names_in(folder)
        except InspectorError as error:
            self._skipped.append(SkippedPlace(str(folder), not_read(error), kind=kind))
            return []

    def _workspaces(self) -> list[Path]:
        """The folders in which the agent and its user write files of their own."""
        folders = [self._install.root, *agent_folders(self._config).values()]
        if self._install.config_dir is not None:
            folders += [self._install.config_dir / "agents", self._install.config_dir / "shared"]
        return list(map(_real, folders))


def _has_old_graph(document: Mapping[str, Any]) -> bool:
    """Whether the knowledge graph lies where ZeroClaw <= 0.7.5 puts it: in the home folder, whatever the config dir."""
    knowledge = document.get("knowledge")
    if not isinstance(knowledge, dict) or document.get("schema_version", 1) not in (1, 2):
        return False
    return knowledge.get("enabled") is True and "db_path" not in knowledge


def _notes(config: MemoryConfig) -> list[Path]:
    """The notes of a store in Markdown; those of agents lie in folders of their own."""
    root = notes_root(Path(config.location).expanduser()) if config.location is not None else config.install.root
    if root.is_file():
        return [root]
    if holds_loose_notes(root):
        return [root / name for name in names_in(root) if name.endswith(".md")]
    daily = root / DAILY_FOLDER
    return [root / CORE_NAME, *(daily / name for name in names_in(daily) if name.endswith(".md"))]


def _is_note(path: Path) -> bool:
    return path.name == CORE_NAME or path.parent.name == DAILY_FOLDER


def _root(config: MemoryConfig) -> Path | None:
    """The workspace or data folder of the store; None for a file that lies somewhere else."""
    if config.location is not None:
        given = Path(config.location).expanduser()
        return notes_root(given) if has_notes(config.backend) and given.is_dir() else _around(given)
    install = config.install
    return install.root if install.layout != "lone" or has_notes(config.backend) else _around(install.database)


def _around(database: Path) -> Path | None:
    if database.name == "memory.db":
        return database.parent
    return database.parent.parent if database.parent.name == "memory" else None


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _is_beside_database(path: Path) -> bool:
    """Whether it is what SQLite keeps beside a database that is there."""
    return path.name.endswith(_SIDES) and path.with_name(path.name.rpartition("-")[0]).exists()


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
