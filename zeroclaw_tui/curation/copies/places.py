"""Every place beside the store where ZeroClaw leaves the text of a memory, which of its files are there, and looking
into those that are databases.

Read in the sources of ZeroClaw 0.1.7, 0.7.5 and 0.8.0 to 0.8.4.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.backends.factory import has_database, has_notes
from zeroclaw_tui.config.locations import file_size, names_in, notes_root
from zeroclaw_tui.config.memory_config import MemoryConfig, agent_folders
from zeroclaw_tui.config.whole_file import read_toml
from zeroclaw_tui.curation.copies.texts import (
    COMPARED,
    FRAGMENT,
    NEVER_TEXT,
    SHORT,
    Needles,
    Phrase,
    Phrases,
    Text,
    Wanted,
    fragments_of,
    raw,
)
from zeroclaw_tui.curation.side_files import LARGEST, columns_of
from zeroclaw_tui.curation.snapshot.snapshot import NAME as SNAPSHOT
from zeroclaw_tui.files.database import (
    any_text,
    as_text,
    check_file,
    connect_read_only_blocking,
    quoted,
    raw_bytes,
    translated,
    wal_file,
)
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


_READ_AT_ONCE = 16_000_000
_MANY = 20
"""Of more texts the rows are looked at without a look at the bytes first."""
_VALUES_AT_ONCE = 4_000_000
"""Characters of rows that are compared with the texts at once."""
Pieces = Callable[[Path], Iterator[bytes]]
_BETWEEN = b"\xff"
"""Stands between two texts that are searched as one: no UTF-8 has this byte."""
_LEFT = (
    "No row has it any more, but its bytes are still in the file or its log. SQLite overwrites them in time; sooner "
    "only a VACUUM with ZeroClaw stopped does."
)


class Fragments:
    """What of the texts is looked for in the bytes of a file, and where it was found.

    A content of up to FRAGMENT bytes is looked for whole, a longer one by its beginning, middle and end.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._texts: dict[bytes, list[Text]] = {}
        for text in wanted.texts:
            if len(text.content) >= SHORT:
                for fragment in fragments_of(raw(text.content)):
                    self._texts.setdefault(fragment, []).append(text)
        self.found: dict[Path, set[bytes]] = {}
        self.left_out: dict[Path, int] = {}

    def look_in(self, path: Path, pieces: Iterable[bytes]) -> None:
        """Search the pieces of a file for as many fragments as can be compared in short time. Raises OSError."""
        most = max(1, COMPARED // max(1, path.stat().st_size))
        looked_for = list(self._texts)[:most]
        self.left_out[path] = len(self._texts) - len(looked_for)
        seen = self.found[path] = set[bytes]()
        before = b""
        for more in pieces:
            piece = before + more
            seen.update(fragment for fragment in looked_for if fragment not in seen and fragment in piece)
            before = piece[-FRAGMENT:]

    @property
    def unexplained(self) -> set[bytes]:
        """Everything found anywhere."""
        return set().union(*self.found.values())

    def explain(self, held: Iterable[bytes]) -> None:
        """Leave out what rows of the store hold: that is found because it is stored."""
        gone = set(held)
        for fragments in self.found.values():
            fragments -= gone

    def texts_in(self, path: Path, wanted: Wanted) -> tuple[Text, ...]:
        """The texts of which something was found there."""
        return wanted.in_order(text for fragment in self.found.get(path, ()) for text in self._texts[fragment])

    def remark(self, path: Path) -> str:
        """A sentence where not everything could be looked for."""
        left = self.left_out.get(path, 0)
        return (
            f" The file is large: {left:,} of {len(self._texts):,} pieces of text were not looked for." if left else ""
        )


class Stored:
    """What the store holds now that matters to copies of the texts.

    `same` are the other memories with the content of one of them, as key and content; `living` has the contents
    stored under each of `keys`; `hashes` are those of ZeroClaw's embedding cache. `is_whole` is False where not every
    memory was looked at.
    """

    def __init__(self, wanted: Wanted, keys: Iterable[str], fragments: Fragments | None = None) -> None:
        self._wanted, self.keys = wanted, frozenset((*keys, *wanted.by_key))
        self.is_whole = True
        self._left = fragments.unexplained if fragments else set()
        self._held: set[bytes] = set()
        self._pending: list[bytes] = []
        self._size = 0
        self.same: list[tuple[str, str]] = []
        self.living: dict[str, set[str]] = {}
        self.hashes: set[str] = set()

    def add(self, id: str, key: str, content: str) -> None:
        """One memory of the store."""
        if not self._wanted.is_row(id, content):
            if content in self._wanted.by_content:
                self.same.append((key, content))
            if key in self.keys:
                self.living.setdefault(key, set()).add(content)
        if self._left:
            self._pending += (raw(key), raw(content))
            self._size += len(key) + len(content)
            if self._size > _READ_AT_ONCE:
                self.held()

    def held(self) -> set[bytes]:
        """The fragments that memories hold, so far."""
        together = _BETWEEN.join(self._pending)
        self._pending, self._size = [], 0
        now = {fragment for fragment in self._left if fragment in together}
        self._left -= now
        self._held |= now
        return self._held

    def gone_keys(self) -> dict[str, list[Text]]:
        """The keys of texts under which nothing is stored any more, with the texts."""
        return {key: texts for key, texts in self._wanted.by_key.items() if key not in self.living}


def read_store(database: Path, stored: Stored) -> None:
    """Take in every row of the store's memories table and embedding cache. Raises InspectorError kinds."""
    with closing(connect_read_only_blocking(database)) as connection, translated(database):
        id_column = "id" if "id" in _columns(connection, "memories") else "NULL"
        for row in connection.execute(f"SELECT {id_column}, key, content FROM memories"):
            stored.add(*map(as_text, row))
        if "content_hash" in _columns(connection, "embedding_cache"):
            stored.hashes |= {
                as_text(name) for (name,) in connection.execute("SELECT content_hash FROM embedding_cache")
            }


def cache_hash(content: str) -> str:
    """The name of a content in ZeroClaw's embedding cache: 8 bytes of its SHA-256 in hexadecimal."""
    return hashlib.sha256(raw(content)).hexdigest()[:16]


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {as_text(name).lower() for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def in_own_bytes(database: Path, fragments: Fragments) -> list[Copy]:
    """Search the database file and its log for fragments; gives only what could not be searched."""
    unread: list[Copy] = []
    places: tuple[tuple[Kind, Path, Pieces], ...] = (
        ("write-ahead log", wal_file(database), _pieces_of_log),
        ("free pages", database, _pieces_of_database),
    )
    for kind, path, pieces in places:
        try:
            if file_size(path) > LARGEST:
                unread.append(too_large(kind, path, LARGEST))
            elif file_size(path):
                fragments.look_in(path, pieces(path))
        except OSError as error:
            unread.append(not_looked_at(kind, path, error))
    return unread


def _pieces_of_log(path: Path) -> Iterator[bytes]:
    if not path.exists():
        return
    with path.open("rb") as file:
        while piece := file.read(_READ_AT_ONCE):
            yield piece


def _pieces_of_database(path: Path) -> Iterator[bytes]:
    offset = 0
    while piece := raw_bytes(path, _READ_AT_ONCE, offset):
        offset += len(piece)
        yield piece


def own_leftovers(database: Path, fragments: Fragments, wanted: Wanted) -> list[Copy]:
    """The log and the free pages of the store's database, once what rows hold is explained."""
    sooner = (
        "in time; sooner only a VACUUM with the agent stopped does, and another program may have the database open."
    )
    log = wal_file(database)
    in_log = f"SQLite overwrites the log {sooner}{fragments.remark(log)}"
    in_file = f"SQLite overwrites what is no longer in use {sooner}{fragments.remark(database)}"
    return [
        *found("write-ahead log", log, fragments.texts_in(log, wanted), in_log),
        *found("free pages", database, fragments.texts_in(database, wanted), in_file),
    ]


def in_memories_table(place: Place, path: Path, wanted: Wanted, gone_keys: dict[str, list[Text]]) -> list[Copy]:
    """Another database with ZeroClaw's memories table: its rows with the content, or the key of one that is gone."""
    try:
        if file_size(path) == 0:
            return []
        with opened_as_it_lies(path) as (connection, notice):
            held: set[Text] = set()
            for row in connection.execute("SELECT key, content FROM memories"):
                key, content = map(as_text, row)
                held.update(wanted.by_content.get(content, ()))
                held.update(gone_keys.get(key, ()))
        return found(place.kind, path, wanted.in_order(held), f"{place.remark}{notice}", place) or _maybe(
            place.kind, path, notice
        )
    except (OSError, InspectorError) as error:
        return [not_looked_at(place.kind, path, error)]


def in_any_table(
    place: Place, path: Path, phrases: Phrases, gone_keys: dict[str, list[Text]], stop: threading.Event
) -> list[Copy]:
    """A database of any schema: every value that holds a text, the keys in an audit log, and what is in no row.

    Its rows are only read where its bytes may hold one of the texts.
    """
    try:
        size = file_size(path)
        if size == 0:
            return []
        if size > LARGEST_SEARCHED:
            return [too_large(place.kind, path, LARGEST_SEARCHED)]
        with opened_as_it_lies(path) as (connection, _):
            # Opening is lazy: only the first read tells what is wrong with the file.
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            is_utf8 = connection.execute("PRAGMA encoding").fetchone()[0] == "UTF-8"
            maybe, whole = _in_bytes(path, phrases, stop)
            held = _in_tables(connection, phrases, stop) if maybe or not is_utf8 else set()
            keys = _audited_keys(connection, gone_keys) if place.kind == "audit" else set()
    except (OSError, InspectorError) as error:
        return [not_looked_at(place.kind, path, error)]
    if keys and not held:
        copies = [Copy(place.kind, str(path), len(keys), False, AUDITED_KEYS, phrases.wanted.in_order(keys))]
    else:
        remark = place.remark + (f" {AUDITED_KEYS}" if keys else "")
        copies = found(place.kind, path, phrases.wanted.in_order(held | keys), remark, place)
    left = phrases.wanted.in_order(whole - held)
    return [*copies, *found(place.kind, path, left, _LEFT)]


def _audited_keys(connection: sqlite3.Connection, gone_keys: dict[str, list[Text]]) -> set[Text]:
    if "key" not in _columns(connection, "memory_audit"):
        return set()
    named = connection.execute("SELECT DISTINCT key FROM memory_audit WHERE key IS NOT NULL")
    return {text for (key,) in named for text in gone_keys.get(as_text(key), ())}


def _in_bytes(path: Path, phrases: Phrases, stop: threading.Event) -> tuple[bool, set[Text]]:
    """Whether a row may hold any of the phrases, and the texts of which the bytes of the file and its log are there.

    Where a page ends a text may be cut in two, so a half of it is enough to look at the rows, and of many texts some
    half is always there.
    """
    needles = Needles((piece, phrase) for phrase in phrases.all for piece in phrase.pieces)
    maybe = len(phrases.all) > _MANY
    halves = {half for phrase in phrases.all[:_MANY] for piece in phrase.pieces for half in _halves(piece)}
    whole: dict[Phrase, None] = {}
    for source in (_pieces_of_database(path), _pieces_of_log(wal_file(path))) if phrases.all else ():
        before = b""
        for more in source:
            if stop.is_set():
                break
            together = before + more
            whole |= dict.fromkeys(phrase for _, phrase in needles.hits(together))
            maybe = maybe or any(half in together for half in halves)
            before = together[-FRAGMENT:]
    return maybe, {text for phrase in whole for text in phrase.texts}


def _halves(piece: bytes) -> tuple[bytes, bytes]:
    middle = (len(piece) + 1) // 2
    return piece[:middle], piece[middle:] or piece


def _in_tables(connection: sqlite3.Connection, phrases: Phrases, stop: threading.Event) -> set[Text]:
    """The texts that any value of any table holds; tables of an index are none."""
    tables = [
        (as_text(name), as_text(sql).upper().startswith("CREATE VIRTUAL"))
        for name, sql in connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    ]
    indexes = tuple(f"{name}_" for name, is_index in tables if is_index)
    held: set[Text] = set()
    for table, is_index in tables:
        if is_index or table.startswith(("sqlite_", *indexes)):
            continue
        values: list[str] = []
        size = 0
        columns = [name for name in _columns(connection, table) if name not in NEVER_TEXT]
        selected = ", ".join(map(quoted, columns)) or "NULL"
        for row in connection.execute(f"SELECT {selected} FROM {quoted(table)}"):
            some = [value for value in row if isinstance(value, str)]
            values += some
            size += sum(map(len, some))
            if size > _VALUES_AT_ONCE:
                held |= phrases.in_values(values)
                values, size = [], 0
                if stop.is_set():
                    return held
        held |= phrases.in_values(values)
    return held


def _maybe(kind: Kind, path: Path, notice: str) -> list[Copy]:
    return [Copy(kind, str(path), None, False, notice.strip())] if notice else []


@contextmanager
def opened_as_it_lies(path: Path) -> Iterator[tuple[sqlite3.Connection, str]]:
    """A database that is not the store, opened so that no file appears beside it; with a sentence on what is not read.

    Only where its log and the index of it both lie there can the log be read without making one of them.
    """
    check_file(path)
    has_log = file_size(wal_file(path)) > 0
    if has_log and path.with_name(f"{path.name}-shm").exists():
        with closing(connect_read_only_blocking(path)) as connection, translated(path):
            yield connection, ""
        return
    notice = f" What is only in {wal_file(path).name} was not read." if has_log else ""
    with translated(path), closing(_immutable(path)) as connection:
        yield connection, notice


def _immutable(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    connection.text_factory = any_text
    for setting in ("query_only = ON", "mmap_size = 0", "trusted_schema = OFF"):
        connection.execute(f"PRAGMA {setting}")
    return connection


def rows_holding(place: Place, path: Path, phrases: Phrases) -> Iterator[tuple[str, list[str], list[int]]]:
    """By table, the columns that may be changed and the rows in which one of them holds a text."""
    with closing(connect_read_only_blocking(path)) as connection, translated(path):
        for table, named in place.columns.items():
            there = columns_of(connection, table)
            columns = [name for name in named if name in there]
            if not columns:
                continue
            rows = connection.execute(f"SELECT rowid, {', '.join(map(quoted, columns))} FROM {quoted(table)}")
            numbers = [
                number
                for number, *values in rows
                if phrases.in_values([value for value in values if isinstance(value, str)])
            ]
            if numbers:
                yield table, columns, numbers
