"""ZeroClaw's SQLite schema: detecting its generation by the columns, its limits, and creating a database."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import aiosqlite

from zeroclaw_tui.files.database import columns_of, translate_sqlite_errors
from zeroclaw_tui.files.disk import new_file
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.errors import Unreadable
from zeroclaw_tui.memory.text import first_names, is_unicode
from zeroclaw_tui.scoring.profiles import COLUMNS, NEWEST_VERSION

_NEEDED = frozenset(COLUMNS["G1"]) - {"session_id"}
"""The columns of every ZeroClaw version; sessions were added later, and hydration leaves them out."""
_NEVER_OPENED = (
    "ZeroClaw's hydration made this database out of MEMORY_SNAPSHOT.md, and no ZeroClaw version can open it: "
    "its embedding_cache lacks the column accessed_at."
)
_CAPABILITIES = {
    "superseded": ("superseded_by", "mark for superseded memories"), "agents": ("agent_id", "agents"),
    "namespaces": ("namespace", "namespaces"), "sessions": ("session_id", "sessions"), "pinned": ("pinned", "pins"),
    "importance": ("importance", "importance"), "kind": ("kind", "kinds"),
}  # fmt: skip
"""The column that each capability needs, and the word for it."""
_OLDEST = """
  id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT NULL, category TEXT NOT NULL DEFAULT 'core',
  embedding BLOB, created_at TEXT NOT NULL, updated_at TEXT NOT NULL
"""
_G1_TABLE = f"CREATE TABLE memories ({_OLDEST}, session_id TEXT)"
_G2_TABLE = f"""CREATE TABLE memories ({_OLDEST}, session_id TEXT,
  namespace TEXT DEFAULT 'default', importance REAL DEFAULT 0.5, superseded_by TEXT)"""
_AGENTS = "CREATE TABLE agents (id TEXT PRIMARY KEY, alias TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL)"
_OWNED = """CREATE TABLE memories (
  id TEXT PRIMARY KEY, key TEXT NOT NULL, content TEXT NOT NULL, category TEXT NOT NULL DEFAULT 'core',
  embedding BLOB, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, session_id TEXT,
  namespace TEXT DEFAULT 'default', importance REAL DEFAULT 0.5, superseded_by TEXT,
  agent_id TEXT NOT NULL REFERENCES agents(id){further}, UNIQUE (agent_id, key))"""
_G4_COLUMNS = ", kind TEXT, pinned INTEGER NOT NULL DEFAULT 0, tenant_id TEXT"
_SCHEMA_VERSION = (
    "CREATE TABLE schema_version (component TEXT PRIMARY KEY, version INTEGER NOT NULL, applied_at TEXT NOT NULL)"
)
_META = "CREATE TABLE memory_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
_TABLES: Mapping[str, tuple[str, ...]] = {
    "G1": (_G1_TABLE,),
    "G2": (_G2_TABLE,),
    "G3": (_AGENTS, _OWNED.format(further=""), _SCHEMA_VERSION),
    "G4": (_AGENTS, _OWNED.format(further=_G4_COLUMNS), _SCHEMA_VERSION, _META),
}
KEYWORD_INDEX = "CREATE VIRTUAL TABLE memories_fts USING fts5(key, content, content=memories, content_rowid=rowid)"
INDEX_TABLES = frozenset(f"memories_fts_{part}" for part in ("data", "idx", "docsize", "config"))
"""The tables that SQLite creates for the keyword index."""
_UNINDEX = (
    "INSERT INTO memories_fts(memories_fts, rowid, key, content) VALUES ('delete', old.rowid, old.key, old.content);"
)
_INDEX = "INSERT INTO memories_fts(rowid, key, content) VALUES (new.rowid, new.key, new.content);"
TRIGGERS = {
    "memories_ai": f"CREATE TRIGGER memories_ai AFTER INSERT ON memories BEGIN {_INDEX} END",
    "memories_ad": f"CREATE TRIGGER memories_ad AFTER DELETE ON memories BEGIN {_UNINDEX} END",
    "memories_au": f"CREATE TRIGGER memories_au AFTER UPDATE ON memories BEGIN {_UNINDEX} {_INDEX} END",
}
"""The triggers that update the keyword index, by name."""
_CACHE = (
    "CREATE TABLE embedding_cache (content_hash TEXT PRIMARY KEY, embedding BLOB NOT NULL, created_at TEXT NOT NULL, "
    "accessed_at TEXT NOT NULL)",
    "CREATE INDEX idx_cache_accessed ON embedding_cache(accessed_at)",
)
_INDEXED = {
    "category": "category", "key": "key", "session_id": "session", "namespace": "namespace", "agent_id": "agent_id",
}  # fmt: skip
"""The indexed columns, each with its part of the index name."""
_FIRST_COLUMN = {"G4": "pinned", "G3": "agent_id", "G2": "namespace", "G1": "key"}
"""The first column that each generation added, newest first."""


class Schema(NamedTuple):
    """The schema of a database. `generation` is "G1" to "G4".

    `hydrate_made` means a database that ZeroClaw rebuilt from its snapshot file, and that no ZeroClaw can open.
    `read_only_because` is a sentence if the schema is not one of ZeroClaw's own.
    """

    generation: str
    columns: frozenset[str]
    """The columns of the memories table, in lower case."""
    tables: frozenset[str]
    has_fts: bool
    has_agents: bool
    has_triggers: bool
    hydrate_made: bool
    read_only_because: str | None = None

    @property
    def newest_version(self) -> str:
        """The newest ZeroClaw version that has this schema."""
        return NEWEST_VERSION[self.generation]


async def read_schema(connection: aiosqlite.Connection, path: Path) -> Schema:
    """Inspect an open database.

    Raises Unreadable if it has no memories table, or one that is not ZeroClaw's, and other subclasses of
    InspectorError for errors of reading.
    """
    objects: dict[str, dict[str, str]] = {"table": {}, "index": {}, "trigger": {}, "view": {}}
    with translate_sqlite_errors(path):
        for kind, name, sql in await connection.execute_fetchall("SELECT type, name, sql FROM sqlite_master"):
            objects[kind][as_text(name).lower()] = as_text(sql).lower()
        tables = objects["table"]
        if "memories" not in tables:
            raise _no_memories(path, sorted(tables))
        columns = await _columns(connection, "memories")
        cache = await _columns(connection, "embedding_cache")
        agents = await _columns(connection, "agents")
    _check_readable(path, columns, tables["memories"])
    generation = next(name for name, column in _FIRST_COLUMN.items() if column in columns)
    hydrate_made = "embedding_cache" in tables and "accessed_at" not in cache
    has_agents = "agent_id" in columns and {"id", "alias"} <= agents
    because = _NEVER_OPENED if hydrate_made else _because(generation, columns, has_agents)
    return Schema(
        generation=generation,
        columns=columns,
        tables=frozenset(tables),
        has_fts="fts5" in tables.get("memories_fts", ""),
        has_agents=has_agents,
        has_triggers=objects["trigger"].keys() >= TRIGGERS.keys(),
        hydrate_made=hydrate_made,
        read_only_because=because,
    )


async def _columns(connection: aiosqlite.Connection, table: str) -> frozenset[str]:
    """Read the column names in lower case; none for a missing table."""
    rows = await connection.execute_fetchall("SELECT name FROM pragma_table_info(?)", (table,))
    return frozenset(as_text(name).lower() for (name,) in rows)


def _because(generation: str, columns: frozenset[str], has_agents: bool) -> str | None:
    """Explain why this is not one of ZeroClaw's own schemas; None if it is."""
    known = frozenset(COLUMNS[generation])
    lacking = [name for name in COLUMNS[generation] if name not in columns]
    unknown = sorted(columns - known)
    parts = [f"lacks {first_names(lacking)}"] if lacking else []
    if unknown:
        parts.append(f"has {first_names(unknown)}, which ZeroClaw does not know")
    # A column named rowid hides the rowids, and a column name that is not valid Unicode cannot be written.
    if lacking or "rowid" in unknown or not all(map(is_unicode, unknown)):
        return f"The memories table {' and '.join(parts)}, so it is opened for reading only."
    if "agent_id" in known and not has_agents:
        return "There is no agents table to name the owners of its memories, so it is opened for reading only."
    return None


def _check_readable(path: Path, columns: frozenset[str], create_sql: str) -> None:
    lacking = sorted(_NEEDED - columns)
    if lacking:
        raise Unreadable(
            f"The memories table of {path} is not ZeroClaw's: it lacks {first_names(lacking)}.",
            hint="ZeroClaw's own tables have had these columns from the first version on.",
        )
    if "without rowid" in " ".join(create_sql.rpartition(")")[2].split()):
        raise Unreadable(
            f"The memories table of {path} has no rowids, so it is not ZeroClaw's.",
            hint="Copy it into a plain table to look at it here.",
        )


def _no_memories(path: Path, tables: Sequence[str]) -> Unreadable:
    own = [name for name in tables if not name.startswith("sqlite_")]
    has = f"it has {first_names(own)}" if own else "it has no tables at all"
    return Unreadable(
        f"{path} has no memories table: {has}.",
        hint="ZeroClaw keeps its memories in memory/brain.db of its workspace or data folder. If a copy lacks them, "
        "copy the -wal file next to it too.",
    )


def missing_capabilities(schema: Schema) -> dict[str, str]:
    """The missing capabilities of a database, with a reason for each."""
    why_not = {
        name: f"This generation of ZeroClaw's schema has no {word}."
        for name, (column, word) in _CAPABILITIES.items()
        if column not in schema.columns
    }
    if not schema.has_fts:
        why_not["keyword"] = "This database has no keyword index."
    return why_not


def schema_sql(generation: str) -> tuple[str, ...]:
    """The statements that create an empty database of a generation ("G1" to "G4")."""
    indexes = [
        f"CREATE INDEX idx_memories_{name} ON memories({column})"
        for column, name in _INDEXED.items()
        if column in COLUMNS[generation]
    ]
    if generation == "G4":
        indexes.append("CREATE INDEX idx_memories_namespace_category ON memories(namespace, category)")
    return (*_TABLES[generation], *indexes, KEYWORD_INDEX, *TRIGGERS.values(), *_CACHE)


@contextmanager
def new_database(
    path: Path, generation: str, *, now: str, default_agent_id: str | None = None
) -> Iterator[sqlite3.Connection]:
    """Create a database in WAL mode as ZeroClaw does, with mode 0600; `path` must not exist. The body inserts rows.

    From G3 on it has the agent `default`, whose id is a new UUID unless one is given, and the schema's version. At the
    end everything is in the one file and on the disk, and checked by SQLite. Raises FileExistsError, sqlite3.Error and
    OSError, also if the disk is full; the file at `path` is then unusable.
    """
    # SQLite would create it, its -wal and its -shm readable by all users.
    os.close(new_file(path))
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("BEGIN IMMEDIATE")
        for statement in schema_sql(generation):
            connection.execute(statement)
        if generation in ("G3", "G4"):
            import uuid

            agent = (default_agent_id or str(uuid.uuid4()), "default", now)
            connection.execute("INSERT INTO agents (id, alias, created_at) VALUES (?, ?, ?)", agent)
            connection.execute("INSERT INTO schema_version VALUES ('memories', 1, ?)", (now,))
        yield connection
        connection.execute("COMMIT")
        # Checkpoint here, because SQLite does not report errors when it closes a database.
        ((is_busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if is_busy:
            raise sqlite3.OperationalError("another program has it open")
        ((found, *_), *_) = connection.execute("PRAGMA quick_check(1)").fetchall()
        if found != "ok":
            raise sqlite3.DatabaseError(f"its pages are not whole: {found}")


def aliases_of(connection: sqlite3.Connection) -> dict[str, str]:
    """Read the agents' aliases by id; empty if there is no such table."""
    if not {"id", "alias"} <= {name.lower() for name in columns_of(connection, "agents")}:
        return {}
    return {as_text(agent): as_text(alias) for agent, alias in connection.execute("SELECT id, alias FROM agents")}
