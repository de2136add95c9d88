"""Every place beside the store where ZeroClaw leaves the text of a memory: one table, and which of its files are there.

Read in the sources of ZeroClaw 0.1.7, 0.7.5 and 0.8.0 to 0.8.4.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.backends.factory import has_database, has_notes
from zeroclaw_tui.config.locations import names_in, notes_root
from zeroclaw_tui.config.memory_config import MemoryConfig, agent_folders
from zeroclaw_tui.config.toml_file import read_toml
from zeroclaw_tui.curation.copies.texts import Text
from zeroclaw_tui.curation.snapshot.text import NAME as SNAPSHOT
from zeroclaw_tui.memory.errors import InspectorError

Kind = Literal[
    "memories", "embedding cache", "snapshot", "archive", "markdown", "prompt file", "chat", "trace", "knowledge",
    "schedule", "tasks", "security log", "service log", "write-ahead log", "free pages", "backup", "deleted agent",
    "trash", "audit", "response cache", "other database", "lucid",
]  # fmt: skip

LARGEST_SEARCHED = 1_000_000_000
"""Files of more bytes are not searched."""
LARGEST_CLEANED = 64_000_000
"""Files of more bytes are not cleaned: an undo keeps them whole."""
_MOST_FILES = 20_000
"""In one folder that is searched with all that is below it."""

Holds = Literal["snapshot", "notes", "lines", "rows", "memories", "anything"]
"""How a place is looked into: as a snapshot; as notes in Markdown; line by line, where a line may be JSON; every value
of every table of a database; a database with ZeroClaw's memories table, by key too; as bytes."""
Under = Literal["folder", "memory", "root", "config", "beside config"]
"""Where its patterns start: the workspace or data folder and each agent's own; the folder of the database and memory/
in each of those; the workspace or data folder alone; the config dir; the folder that one is in."""


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
    remark: str
    can_clean: bool = False
    settings: tuple[str, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


_CUT = "cleaning puts [removed] in its place."
_RAM = f"A running ZeroClaw keeps this chat in memory and goes on using it: stop it; {_CUT}"
_NOTES = "These are notes in Markdown beside the store; cleaning removes the whole lines that hold a text."
_BACKUP = "A backup is yours to delete."
_ANSWERS = (
    "These are answers of the model; ZeroClaw drops them itself (response_cache_ttl_minutes), or delete the file while "
    "it is stopped."
)
_OTHER = "This database is not the one that is open; open it by its path to delete the rows."
HYDRATED = (
    "ZeroClaw would make core memories out of it again if brain.db were lost, and writes it anew only while there are "
    "core memories."
)
AUDITED_KEYS = "The keys are in ZeroClaw's audit log; it prunes old lines itself (audit_retention_days)."
AUDITED = (
    "ZeroClaw's audit log holds the whole question of each recall (0.8.4 and later); cleaning puts [removed] in place "
    "of the text."
)
_PROMPT_FILES = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "BOOTSTRAP.md", "HEARTBEAT.md")
_DATABASES = ("brain.db", "memory.db", "discord.db")

PLACES: tuple[Place, ...] = (
    Place("snapshot", "folder", (SNAPSHOT, f"memory/{SNAPSHOT}"), "snapshot",
          "ZeroClaw does not read this snapshot by itself.", can_clean=True),
    Place("archive", "root", ("memory/archive/*.md", "sessions/archive/*.md"), "notes",
          "ZeroClaw's hygiene moved these notes here; cleaning removes the whole lines that hold a text.",
          can_clean=True),
    # Up to 0.8.1 hygiene moves sessions.db here as well.
    Place("archive", "root", ("sessions/archive/*.db",), "rows",
          "ZeroClaw's hygiene moved this database of chats here and reads it no more: it is yours to delete."),
    Place("archive", "root", ("sessions/archive/*.jsonl", "sessions/archive/*.jsonl.migrated"), "lines",
          f"This is the archive of a conversation, which ZeroClaw deletes in time; {_CUT}",
          can_clean=True),
    Place("archive", "root", ("sessions/archive/*", "memory/archive/*"), "anything",
          "ZeroClaw's hygiene moved this file here and deletes it in time; it is yours to delete sooner."),
    Place("markdown", "folder", ("MEMORY.md", "memory/*.md"), "notes", _NOTES, can_clean=True),
    # They go into the system prompt whatever the backend is.
    Place("prompt file", "folder", _PROMPT_FILES, "notes",
          "ZeroClaw puts this file into the prompt; cleaning removes the whole lines that hold a text.",
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
          f"ZeroClaw took this chat over into sessions.db and left the file; {_CUT}",
          can_clean=True),
    Place("trace", "root", ("state/runtime-trace.jsonl", "state/runtime-trace.*.jsonl"), "lines",
          "ZeroClaw traces what it does here ([observability] log_persistence, up to 0.7.5 runtime_trace_mode); "
          f"{_CUT}",
          can_clean=True,
          settings=("observability.log_persistence_path", "observability.runtime_trace_path")),
    Place("trace", "root", ("state/runtime-trace.tmp.*", "state/runtime-trace.migrate.*"), "lines",
          "A ZeroClaw that was rewriting its trace left this file, or is writing it now: delete it while ZeroClaw is "
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
          "ZeroClaw keeps what its tasks gave out here for good: delete the file while it is stopped, which ends those "
          "tasks."),
    Place("tasks", "root", ("sop/runs.db",), "rows",
          "ZeroClaw keeps the runs of its procedures here for good: delete the file while it is stopped, which ends "
          "those runs.", settings=("sop.run_state_dir",)),
    Place("backup", "memory", ("*.db.backup-*",), "memories", _BACKUP),
    Place("backup", "root", ("memory/migrations/",), "anything", _BACKUP),
    Place("backup", "folder", ("backups/",), "anything", _BACKUP),
    Place("backup", "config", ("backup-*/",), "anything", _BACKUP),
    Place("backup", "beside config", ("{config}.backup.*/",), "anything", _BACKUP),
    Place("deleted agent", "root", ("agents/_deleted/",), "anything",
          "ZeroClaw keeps all of a deleted agent here, for good; this folder is yours to delete."),
    Place("deleted agent", "config", ("agents/_deleted/",), "anything",
          "ZeroClaw keeps all of a deleted agent here, for good; this folder is yours to delete."),
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
class Copy:
    """A place where texts still lie. `place` is a path or a name for people, `count` how many of the texts.

    `count` None means it cannot be counted, only that they may lie there. `remark` is one sentence: what that means,
    or why it cannot be cleaned here. `texts` are those found there. `where` is the place's line in the table.
    """

    kind: Kind
    place: str
    count: int | None
    can_clean: bool
    remark: str
    texts: tuple[Text, ...] = ()
    where: Place | None = None


@dataclass(frozen=True, slots=True)
class Places:
    """The files that are there, each with its line of the table; `problems` are folders that could not be listed.

    `database` is the store's own SQLite file, None where the store is something else. `live_snapshot` is the one that
    ZeroClaw would read.
    """

    database: Path | None
    live_snapshot: Path | None
    files: tuple[tuple[Place, Path], ...]
    problems: tuple[Copy, ...] = ()

    def holding(self, *holds: Holds) -> list[tuple[Place, Path]]:
        """Those that are looked into in these ways."""
        return [(place, path) for place, path in self.files if place.holds in holds]


def find_places(config: MemoryConfig, backend: str) -> Places:
    """Every place ZeroClaw itself may have written a copy to, as far as it is there. Reads folders and the config."""
    problems: list[Copy] = []
    database = config.database if has_database(backend) else None
    root = _root(config)
    folders = ([] if root is None else [root]) + _agents(config, problems)
    config_dir = None if config.location is not None else config.install.config_dir
    starts: dict[Under, Iterable[Path]] = {
        "folder": folders,
        "memory": dict.fromkeys([*([database.parent] if database else []), *(folder / "memory" for folder in folders)]),
        "root": folders[:1] if root is not None else (),
        "config": () if config_dir is None else (config_dir,),
        "beside config": () if config_dir is None else (config_dir.parent,),
    }
    own = None if database is None else os.path.realpath(database)
    found: dict[Path, Place] = {}
    document = _document(config_dir, problems)
    for place in PLACES:
        if place.kind == "markdown" and has_notes(backend):
            continue
        there = [path for start in starts[place.under] for path in _files(place, start, config_dir, problems)]
        if root is not None:
            there += _configured(place, document, root, problems)
        for path in there:
            if path not in found and (place.holds != "memories" or os.path.realpath(path) != own):
                found[path] = _as_what_it_is(place, path)
    return Places(
        database=database,
        live_snapshot=None if root is None else root / SNAPSHOT,
        files=tuple((place, path) for path, place in found.items()),
        problems=tuple(problems),
    )


def found(kind: Kind, place: object, texts: tuple[Text, ...], remark: str, where: Place | None = None) -> list[Copy]:
    """The copy these texts make, none when there are none; it can be cleaned where its line of the table says so."""
    can_clean = where is not None and where.can_clean
    return [Copy(kind, str(place), len(texts), can_clean, remark, texts, where)] if texts else []


def not_looked_at(kind: Kind, place: object, error: OSError | InspectorError) -> Copy:
    """A place that could not be read, with the reason."""
    reason = str(error) if isinstance(error, InspectorError) else f"It cannot be read: {error.strerror or error}."
    return Copy(kind, str(place), None, False, f"{reason} Texts may lie there.")


def too_large(kind: Kind, place: object, largest: int) -> Copy:
    """A file that is too large to be read."""
    remark = f"It is larger than {largest // 1_000_000} MB and was not read; texts may be in it."
    return Copy(kind, str(place), None, False, remark)


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


def _agents(config: MemoryConfig, problems: list[Copy]) -> list[Path]:
    """Every agent's own folder, where ZeroClaw >= 0.8 keeps notes, and where its migration moved old files to."""
    folder = config.install.config_dir
    if folder is None or config.location is not None:
        return []
    names = _names(folder / "agents", "markdown", problems)
    usual = [path for name in names if (path := folder / "agents" / name / "workspace").is_dir()]
    return [*dict.fromkeys([*usual, *agent_folders(config).values()])]


def _document(config_dir: Path | None, problems: list[Copy]) -> Mapping[str, Any]:
    """The whole config.toml, empty where there is none."""
    if config_dir is None:
        return {}
    path = config_dir / "config.toml"
    try:
        return read_toml(path) or {} if path.is_file() else {}
    except InspectorError as error:
        problems.append(not_looked_at("trace", path, error))
        return {}


def _configured(place: Place, document: Mapping[str, Any], root: Path, problems: list[Copy]) -> Iterator[Path]:
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
        for name in _names(path.parent, place.kind, problems):
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


def _files(place: Place, start: Path, config_dir: Path | None, problems: list[Copy]) -> Iterator[Path]:
    """The files of a place below one folder."""
    for name in place.names:
        pattern = name.format(config=config_dir.name if config_dir else "") if "{" in name else name
        everything = pattern.endswith("/")
        *inner, last = pattern.rstrip("/").split("/")
        folder = start.joinpath(*inner)
        if not any(sign in last for sign in "*?["):
            matching = [folder / last]
        else:
            matching = [folder / one for one in _names(folder, place.kind, problems) if fnmatchcase(one, last)]
        for path in matching:
            if everything:
                yield from _files_below(path, place.kind, problems)
            elif path.is_file() and not path.name.endswith(("-wal", "-shm", "-journal")):
                yield path


def _as_what_it_is(place: Place, path: Path) -> Place:
    """Among files of any form, notes and databases of memories are looked into as such."""
    if place.holds != "anything":
        return place
    if path.suffix == ".md":
        return Place(place.kind, place.under, place.names, "notes", place.remark)
    if path.name in _DATABASES or (".db.backup-" in path.name and not path.name.endswith(("-wal", "-journal"))):
        return Place(place.kind, place.under, place.names, "memories", place.remark)
    return place


def _names(folder: Path, kind: Kind, problems: list[Copy]) -> list[str]:
    try:
        return names_in(folder)
    except InspectorError as error:
        problems.append(not_looked_at(kind, folder, error))
        return []


def _files_below(folder: Path, kind: Kind, problems: list[Copy]) -> Iterator[Path]:
    """All files in this folder and below; links to folders are not followed."""

    def tell(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            problems.append(not_looked_at(kind, error.filename, error))

    count = 0
    for base, inner, names in os.walk(folder, onerror=tell):
        inner.sort()
        for name in sorted(names):
            path = Path(base, name)
            if name.endswith("-shm") or not path.is_file():
                continue
            count += 1
            if count > _MOST_FILES:
                remark = f"Only the first {_MOST_FILES:,} files were looked into; texts may be in the others."
                problems.append(Copy(kind, str(folder), None, False, remark))
                return
            yield path
