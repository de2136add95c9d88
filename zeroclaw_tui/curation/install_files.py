"""Every file of an install: what ZeroClaw and this program leave there, where, and what each file is.

The places were read in the sources of ZeroClaw 0.1.7, 0.7.5 and 0.8.0 to 0.8.4.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
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
from zeroclaw_tui.curation.trash.trash import LOCK
from zeroclaw_tui.curation.trash.trash import NAME as TRASH
from zeroclaw_tui.files.database import DATABASE_HEADER, columns_of, is_database, open_immutable, raw_bytes
from zeroclaw_tui.files.disk import file_size, is_unfinished, names_in
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import one_line

Kind = Literal[
    "memories", "embedding cache", "snapshot", "archive", "markdown", "prompt file", "chat", "trace", "knowledge",
    "schedule", "tasks", "security log", "service log", "backup", "deleted agent",
    "trash", "audit", "response cache", "other database", "lucid", "store", "own copy", "config", "config backup",
    "workspace file", "other file",
]  # fmt: skip

Holds = Literal["snapshot", "notes", "lines", "rows", "memories", "anything", "memory lines", "toml", "config", "trash"]
"""How a file is looked into: as a snapshot; as notes in Markdown; line by line, where a line may be JSON; every value
of every table of a database; a database with ZeroClaw's memories table, by key too; as bytes. Files of our own: a
memory on each line; TOML; a config that is never cut; the trash."""
Under = Literal["folder", "memory", "root", "config", "beside config"]
"""Where its patterns start: the workspace or data folder and each agent's own; the folder of the database and memory/
in each of those; the workspace or data folder alone; the config dir; the folder that one is in."""

_FOLDERS_AROUND = 3
"""The config dir is at most so many folders above a database of ZeroClaw's."""
_MOST_FILES = 20_000
"""In one folder of the table that is looked through with all that is below it."""
SIDES = ("-wal", "-journal")
_UNSEEN = "-shm"
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
_LUCID_FOLDER = "~/.lucid"
"""Where lucid-memory 0.6.5 keeps what ZeroClaw gave it: memory.db, and one for each client or profile."""
_GIT = "Git stores older versions of these files. Search them with `git log -S`."


@dataclass(frozen=True)
class Place:
    """One kind of file ZeroClaw writes. `names` are patterns; one that ends in `/` means all that is below.

    `settings` are keys of config.toml that name the file elsewhere, from the workspace or data folder. `remark` is one
    sentence: what it means that a text is there, or what to do where it cannot be cleaned here. `columns` are those of
    a database in which a text can be replaced without harm, by table.
    """

    kind: Kind
    under: Under
    names: tuple[str, ...]
    holds: Holds
    remark: str = ""
    can_clean: bool = False
    settings: tuple[str, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


_CUT = "cleaning puts [removed] in its place."
_RAM = f"A running ZeroClaw keeps using its copy of this chat. Stop ZeroClaw; {_CUT}"
_NOTES = "These are Markdown notes next to the store; cleaning removes whole lines that contain a text."
_BACKUP = "This is a backup: delete it if you do not need it."
_ANSWERS = (
    "These are cached answers of the model. ZeroClaw deletes them after response_cache_ttl_minutes; to delete them "
    "now, delete the file while ZeroClaw is stopped."
)
_OTHER = "This is another database: open it by its path to delete the rows."
HYDRATED = (
    "If brain.db is lost, ZeroClaw creates core memories from this file. It rewrites the file only while there are "
    "core memories."
)
AUDITED_KEYS = "The keys are in ZeroClaw's audit log, which ZeroClaw prunes after audit_retention_days."
AUDITED = (
    "ZeroClaw's audit log contains the whole message of each recall (0.8.4 and later). Cleaning replaces the text with "
    "[removed]."
)
_PROMPT_FILES = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "BOOTSTRAP.md", "HEARTBEAT.md")
_DATABASES = ("brain.db", "memory.db", "discord.db")

PLACES: tuple[Place, ...] = (
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
    Place("backup", "memory", ("*.db.backup-*",), "memories", _BACKUP),
    Place("backup", "root", ("memory/migrations/",), "anything", _BACKUP),
    Place("backup", "folder", ("backups/",), "anything", _BACKUP),
    Place("backup", "config", ("backup-*/",), "anything", _BACKUP),
    Place("backup", "beside config", ("{config}.backup.*/",), "anything", _BACKUP),
    Place("deleted agent", "root", ("agents/_deleted/",), "anything",
          "ZeroClaw never deletes this directory of a deleted agent: delete it if you do not need it."),
    Place("deleted agent", "config", ("agents/_deleted/",), "anything",
          "ZeroClaw never deletes this directory of a deleted agent: delete it if you do not need it."),
    Place("security log", "config", ("audit.log*", "audit.*.log"), "lines",
          "Each line of ZeroClaw's security log vouches for the one before, so cutting one out breaks the chain: "
          "delete the files as a whole while ZeroClaw is stopped."),
    Place("service log", "config", ("logs/*.log",), "anything",
          "This is what the service printed: empty the file while ZeroClaw is stopped."),
    Place("audit", "memory", ("audit.db",), "rows", AUDITED, can_clean=True, columns={"memory_audit": ("metadata",)}),
    Place("response cache", "memory", ("response_cache.db",), "rows", _ANSWERS),
    Place("other database", "memory", _DATABASES, "memories", _OTHER),
    Place("other database", "folder", _DATABASES, "memories", _OTHER),
    Place("other database", "config", ("workspace/memory/brain.db", "data/memory/brain.db"), "memories", _OTHER),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SkippedPlace:
    """A place that could not be looked into, and why in a sentence. `may_hold` says that texts may lie there."""

    place: str
    why: str
    may_hold: bool = True
    kind: Kind = "other file"


@dataclass(frozen=True, slots=True)
class InstallFile:
    """One file, and its line of the table of places; what no line names has one of its own."""

    path: Path
    where: Place
    name: str
    """Its path from the folder that was searched, which tells whether its name holds a text."""

    @property
    def kind(self) -> Kind:
        """What it is to ZeroClaw or to this program."""
        return self.where.kind

    @property
    def holds(self) -> Holds:
        """How it is read and rewritten."""
        return self.where.holds

    def start(self) -> bytes:
        """Its first 16 bytes. Raises OSError."""
        return raw_bytes(self.path, len(DATABASE_HEADER))

    def is_database(self) -> bool:
        """Whether it is a SQLite database, other than this program's trash. Raises OSError."""
        return self.holds != "trash" and is_database(self.path)

    def parts(self) -> list[Path]:
        """The file, and of a database its log and its journal, as far as they are there."""
        beside = [self.path.with_name(self.path.name + side) for side in SIDES]
        return [self.path, *(part for part in beside if file_size(part))]

    def is_packed(self) -> bool:
        """Whether it is an archive, whose content is not searched. Raises OSError."""
        return self.start().startswith(_PACKED)

    def is_damaged(self) -> bool:
        """Whether it should be a database, and is none. Raises OSError."""
        return self.holds in ("rows", "memories") and file_size(self.path) > 0 and not self.is_database()


@dataclass(frozen=True, slots=True)
class InstallFiles:
    """The files of an install, each once, and what could not be looked into.

    `database` is the store's own SQLite file, None where the store is something else. `live_snapshot` is the one that
    ZeroClaw would read. Of empty folders only the name can hold a text.
    """

    files: tuple[InstallFile, ...]
    unseen: tuple[SkippedPlace, ...]
    database: Path | None
    live_snapshot: Path | None
    empty_folders: tuple[InstallFile, ...] = ()

    def holding(self, *holds: Holds) -> list[InstallFile]:
        """Those that are looked into in these ways."""
        return [file for file in self.files if file.holds in holds]


def files_of_zeroclaw(config: MemoryConfig, backend: str) -> InstallFiles:
    """The files of the table of places that are there, but for the store itself. Reads folders and the config."""
    unseen: list[SkippedPlace] = []
    database = config.database if has_database(backend) else None
    root = _root(config)
    folders = ([] if root is None else [root]) + _agents(config, unseen)
    config_dir = None if config.location is not None else config.install.config_dir
    starts: dict[Under, Iterable[Path]] = {
        "folder": folders,
        "memory": dict.fromkeys([*([database.parent] if database else []), *(folder / "memory" for folder in folders)]),
        "root": folders[:1] if root is not None else (),
        "config": () if config_dir is None else (config_dir,),
        "beside config": () if config_dir is None else (config_dir.parent,),
    }
    own = None if database is None else os.path.realpath(database)
    found: dict[Path, InstallFile] = {}
    document = _document(config_dir, unseen)
    for place in PLACES:
        if place.kind == "markdown" and has_notes(backend):
            continue
        there = [path for start in starts[place.under] for path in _files(place, start, config_dir, unseen)]
        if root is not None:
            there += _configured(place, document, root, unseen)
        for path in there:
            if path not in found and (place.holds != "memories" or os.path.realpath(path) != own):
                found[path] = InstallFile(path, _as_what_it_is(place, path), path.name)
    return InstallFiles(tuple(found.values()), tuple(unseen), database, None if root is None else root / SNAPSHOT)


def all_files(config: MemoryConfig, backend: str) -> InstallFiles:
    """Every regular file that ZeroClaw or this program wrote for an install, or that lies in a workspace of it.

    Links are followed where ZeroClaw itself reads there; others that lead out of it are left alone, and named. Of a
    store that is named by itself only copies of it and the files whose place is known are looked for. Reads folders and
    the config. Blocks.
    """
    of_zeroclaw = files_of_zeroclaw(config, backend)
    unseen = list(of_zeroclaw.unseen)
    found: dict[str, InstallFile] = {}

    def take(path: Path, where: Place, name: str) -> None:
        found.setdefault(os.path.realpath(path), InstallFile(path, where, name))

    if of_zeroclaw.database is not None:
        take(of_zeroclaw.database, _place("store", "memories"), of_zeroclaw.database.name)
    elif has_notes(backend):
        for path in _notes(config):
            take(path, _place("store", "notes"), path.name)
    elif (foreign := foreign_file(config)) is not None:
        take(foreign, _place("store", "anything"), foreign.name)
    elif config.install.layout == "lone":
        take(config.database, _place("other file", "anything"), config.database.name)
    take(config.install.own_dir / TRASH, _place("trash", "trash"), TRASH)
    if forwards_writes(backend, config.backend, config.zeroclaw_backend):
        for path in _below(Path(_LUCID_FOLDER).expanduser(), "lucid", unseen):
            if ".db" in path.name and not _is_beside(path):
                take(path, _place("lucid", "anything"), path.name)
    for file in of_zeroclaw.files:
        take(file.path, file.where, file.name)
    if config.location is not None:
        for path in _beside_store(config, of_zeroclaw, unseen):
            take(path, _by_place(path, config, backend, ()), path.name)
    workspaces = _workspaces(config)
    roots = _roots(config)
    for folder in roots:
        for path in _below(folder, "other file", unseen):
            is_new_link = path.is_symlink() and os.path.realpath(path) not in found
            if not _is_beside(path) and not (is_new_link and _leads_out(path, roots, "other file", unseen)):
                take(path, _by_place(path, config, backend, workspaces), str(path.relative_to(folder)))
    there = tuple(file for file in found.values() if _is_file(file.path))
    empty = tuple(file for file in found.values() if file.path.is_dir())
    return replace(of_zeroclaw, files=there, unseen=tuple(unseen), empty_folders=empty)


def _beside_store(config: MemoryConfig, known: InstallFiles, unseen: list[SkippedPlace]) -> Iterator[Path]:
    """Of a store that is named by itself the copies that lie beside it: who knows whose the other files are."""
    given = Path(config.location or "").expanduser()
    if not given.exists():
        # A server's store.
        return
    folder = given if given.is_dir() else given.parent
    beside = folder if known.live_snapshot is None else known.live_snapshot.parent
    for place in dict.fromkeys((beside, folder)):
        for name in _names(place, "other file", unseen):
            path = place / name
            is_copy = name.startswith(f"{given.name}.") and not path.samefile(given)
            if (name == SIDE_CAR or is_copy) and not _is_beside(path) and _is_file(path):
                yield path
    why = "Only ZeroClaw's own files were searched here, because the store was named by its path."
    unseen.append(SkippedPlace(str(beside), why, False))
    for around in given.parents[:_FOLDERS_AROUND]:
        trash = around / OWN_FOLDER / TRASH
        if trash.is_file() and _real(trash) != _real(config.install.own_dir / TRASH):
            why = (
                f"It is the trash of another install around the store: --config-dir {one_line(str(around))} opens that."
            )
            unseen.append(SkippedPlace(str(trash), why, kind="trash"))


def not_read(error: OSError | InspectorError) -> str:
    """Why a file was not looked into, in a sentence."""
    return f"It cannot be read: {error.strerror or error}." if isinstance(error, OSError) else str(error)


def _notes(config: MemoryConfig) -> list[Path]:
    """The notes of a store in Markdown; those of agents lie in folders of their own."""
    root = notes_root(Path(config.location).expanduser()) if config.location is not None else config.install.root
    if root.is_file():
        return [root]
    if holds_loose_notes(root):
        return [root / name for name in names_in(root) if name.endswith(".md")]
    daily = root / DAILY_FOLDER
    return [root / CORE_NAME, *(daily / name for name in names_in(daily) if name.endswith(".md"))]


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


def _agents(config: MemoryConfig, unseen: list[SkippedPlace]) -> list[Path]:
    """Every agent's own folder, where ZeroClaw >= 0.8 keeps notes, and where its migration moved old files to."""
    folder = config.install.config_dir
    if folder is None or config.location is not None:
        return []
    names = _names(folder / "agents", "markdown", unseen)
    usual = [path for name in names if (path := folder / "agents" / name / "workspace").is_dir()]
    return [*dict.fromkeys([*usual, *agent_folders(config).values()])]


def _document(config_dir: Path | None, unseen: list[SkippedPlace]) -> Mapping[str, Any]:
    """The whole config.toml, empty where there is none."""
    if config_dir is None:
        return {}
    path = config_dir / "config.toml"
    try:
        return read_toml(path) or {} if path.is_file() else {}
    except InspectorError as error:
        unseen.append(_unread("trace", path, error))
        return {}


def _configured(place: Place, document: Mapping[str, Any], root: Path, unseen: list[SkippedPlace]) -> Iterator[Path]:
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
        patterns = [path.name]
        if place.holds == "lines":
            patterns.append(f"{path.stem}.*{path.suffix}")
        for name in _names(path.parent, place.kind, unseen):
            if (
                any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)
                and (there := path.parent / name).is_file()
            ):
                yield there
    # The default of ZeroClaw <= 0.7.5 is the home folder, wherever the config dir is.
    knowledge = document.get("knowledge")
    if place.kind == "knowledge" and isinstance(knowledge, dict) and knowledge.get("enabled") is True:
        usual = Path("~/.zeroclaw/knowledge.db").expanduser()
        if "db_path" not in knowledge and document.get("schema_version", 1) in (1, 2) and usual.is_file():
            yield usual


def _files(place: Place, start: Path, config_dir: Path | None, unseen: list[SkippedPlace]) -> Iterator[Path]:
    """The files of a place below one folder."""
    for name in place.names:
        pattern = name.format(config=config_dir.name if config_dir else "") if "{" in name else name
        everything = pattern.endswith("/")
        *inner, last = pattern.rstrip("/").split("/")
        folder = start.joinpath(*inner)
        if not any(sign in last for sign in "*?["):
            matching = [folder / last]
        else:
            matching = [folder / one for one in _names(folder, place.kind, unseen) if fnmatchcase(one, last)]
        for path in matching:
            if everything:
                yield from _first_below(path, place.kind, unseen)
            elif path.is_file() and not path.name.endswith((*SIDES, _UNSEEN)):
                yield path


def _as_what_it_is(place: Place, path: Path) -> Place:
    """Among files of any form, notes and databases of memories are looked into as such."""
    if place.holds != "anything":
        return place
    if path.suffix == ".md":
        return replace(place, holds="notes")
    if path.name in _DATABASES or (".db.backup-" in path.name and not path.name.endswith(SIDES)):
        return replace(place, holds="memories")
    return place


def _names(folder: Path, kind: Kind, unseen: list[SkippedPlace]) -> list[str]:
    try:
        return names_in(folder)
    except InspectorError as error:
        unseen.append(_unread(kind, folder, error))
        return []


def _unread(kind: Kind, place: object, error: OSError | InspectorError) -> SkippedPlace:
    why = not_read(error)
    return SkippedPlace(str(place), why, kind=kind)


def _below(folder: Path, kind: Kind, unseen: list[SkippedPlace]) -> Iterator[Path]:
    """All in this folder and below that holds nothing else, empty folders too, by name; links to folders are not
    followed, and those that lead out of it are named."""

    def tell(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            unseen.append(_unread(kind, error.filename, error))

    for base, inner, names in os.walk(folder, onerror=tell):
        inner.sort()
        for name in inner:
            _leads_out(Path(base, name), [_real(folder)], kind, unseen)
        if ".git" in inner:
            unseen.append(SkippedPlace(str(Path(base, ".git")), _GIT, False))
        yield from (Path(base, name) for name in sorted(names) if not name.endswith(_UNSEEN))
        if not inner and not names:
            yield Path(base)


def _leads_out(path: Path, inside: Iterable[Path], kind: Kind, unseen: list[SkippedPlace]) -> bool:
    """Whether a path is a link to what lies in none of these folders; then it is named as not looked into."""
    if not (path.is_symlink() and path.exists()):
        return False
    target = _real(path)
    if any(target.is_relative_to(folder) for folder in inside):
        return False
    why = f"It is a link to {one_line(str(target))}, outside of the install: that was left alone."
    if not any(skipped.place == str(path) for skipped in unseen):
        unseen.append(SkippedPlace(str(path), why, False, kind))
    return True


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _first_below(folder: Path, kind: Kind, unseen: list[SkippedPlace]) -> Iterator[Path]:
    count = 0
    for path in _below(folder, kind, unseen):
        if not path.is_file():
            continue
        count += 1
        if count > _MOST_FILES:
            why = f"Only the first {_MOST_FILES:,} files were searched."
            unseen.append(SkippedPlace(str(folder), why, kind=kind))
            return
        yield path


def _roots(config: MemoryConfig) -> list[Path]:
    """The folders of which everything is looked at: each once, none within another."""
    install = config.install
    folders = [install.own_dir]
    if config.location is None and install.config_dir is not None:
        folders += [install.config_dir, install.root, *agent_folders(config).values()]
    real = list(dict.fromkeys(map(_real, folders)))
    return [folder for folder in real if not any(folder != other and folder.is_relative_to(other) for other in real)]


def _workspaces(config: MemoryConfig) -> tuple[Path, ...]:
    """The folders in which the agent and its user write files of their own."""
    install = config.install
    folders = [install.root, *agent_folders(config).values()]
    if install.config_dir is not None:
        folders += [install.config_dir / "agents", install.config_dir / "shared"]
    return tuple(map(_real, folders))


def _by_place(path: Path, config: MemoryConfig, backend: str, workspaces: Sequence[Path]) -> Place:
    """What a file is that no line of the table of places names."""
    install = config.install
    name = path.name
    if path.is_relative_to(_real(install.own_dir)):
        if name.startswith((TRASH, LOCK)):
            return _place("trash", "trash")
        is_config = name.startswith("config") and name.endswith(".toml")
        return _place("config backup" if is_config else "own copy", _form_of(path))
    if is_unfinished(name):
        return _place("own copy", _form_of(path))
    if name == SIDE_CAR:
        return _place("own copy", "memory lines")
    if install.config_dir is not None and path.parent == _real(install.config_dir):
        # Cutting anything out of the key file would lose every secret of the config.
        if name in ("config.toml", ".secret_key"):
            return _place("config", "config")
        if name.startswith(("config.toml.", ".config.toml.")):
            return _place("config backup", "toml")
    if has_notes(backend) and path.suffix == ".md" and (name == "MEMORY.md" or path.parent.name == "memory"):
        return _place("store", "notes")
    inside = any(path.is_relative_to(folder) for folder in workspaces)
    kind: Kind = "workspace file" if inside else "other file"
    if not _has_memories(path):
        return _place(kind, _form_of(path))
    # One that lies elsewhere, by whatever name, may be the store of another install.
    return _place("backup" if path.parent == _real(config.database.parent) else kind, "memories")


def _has_memories(path: Path) -> bool:
    """Whether it is a database with ZeroClaw's table of memories, whatever its name."""
    try:
        if not _is_file(path) or not is_database(path):
            return False
        with open_immutable(path) as (connection, _):
            return set(columns_of(connection, "memories")) >= {"key", "content", "category"}
    except (OSError, InspectorError):
        # What cannot be opened is told when it is looked into.
        return False


def _place(kind: Kind, holds: Holds) -> Place:
    """Of what no line of the table names."""
    return Place(kind, "root", (), holds)


def _form_of(path: Path) -> Holds:
    if path.suffix == ".toml":
        return "toml"
    if path.suffix in (".jsonl", ".ndjson"):
        return "lines"
    return "notes" if path.suffix == ".md" else "anything"


def _is_beside(path: Path) -> bool:
    """Whether it is what SQLite keeps beside a database that is there."""
    return path.name.endswith(SIDES) and path.with_name(path.name.rpartition("-")[0]).exists()


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
