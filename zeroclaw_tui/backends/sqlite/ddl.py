"""The tables ZeroClaw itself makes, generation by generation."""

from __future__ import annotations

import math
import os
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from zeroclaw_tui.config.document.replacing import new_file
from zeroclaw_tui.files.whole_database import put_on_disk

GENERATIONS = ("G1", "G2", "G3", "G4")

HYDRATED = "hydrated"
"""The database ZeroClaw makes from MEMORY_SNAPSHOT.md, and can no longer open."""

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

KEYWORD_INDEX = "CREATE VIRTUAL TABLE memories_fts USING fts5(key, content, content=memories, content_rowid=rowid)"
_FORGET = (
    "INSERT INTO memories_fts(memories_fts, rowid, key, content) VALUES ('delete', old.rowid, old.key, old.content);"
)
_LEARN = "INSERT INTO memories_fts(rowid, key, content) VALUES (new.rowid, new.key, new.content);"
TRIGGERS = {
    "memories_ai": f"CREATE TRIGGER memories_ai AFTER INSERT ON memories BEGIN {_LEARN} END",
    "memories_ad": f"CREATE TRIGGER memories_ad AFTER DELETE ON memories BEGIN {_FORGET} END",
    "memories_au": f"CREATE TRIGGER memories_au AFTER UPDATE ON memories BEGIN {_FORGET} {_LEARN} END",
}
"""What keeps the keyword index, by name."""
_CACHE = (
    "CREATE TABLE embedding_cache (content_hash TEXT PRIMARY KEY, embedding BLOB NOT NULL, created_at TEXT NOT NULL, "
    "accessed_at TEXT NOT NULL)",
    "CREATE INDEX idx_cache_accessed ON embedding_cache(accessed_at)",
)
_INDEXES = {
    "G1": ("category", "key", "session_id"),
    "G2": ("category", "key", "session_id", "namespace"),
    "G3": ("category", "key", "session_id", "namespace", "agent_id"),
    "G4": ("category", "key", "session_id", "namespace", "agent_id"),
}
_HYDRATED = (
    f"CREATE TABLE memories ({_OLDEST})",
    "CREATE INDEX idx_mem_key ON memories(key)",
    "CREATE INDEX idx_mem_cat ON memories(category)",
    "CREATE INDEX idx_mem_updated ON memories(updated_at)",
    KEYWORD_INDEX,
    "CREATE TABLE embedding_cache (content_hash TEXT PRIMARY KEY, embedding BLOB NOT NULL, created_at TEXT NOT NULL)",
)


def statements(generation: str) -> tuple[str, ...]:
    """What makes an empty database of a generation ("G1" to "G4"), or the hydrated one (HYDRATED)."""
    if generation == HYDRATED:
        return _HYDRATED
    return (*_tables(generation), *_indexes(generation), KEYWORD_INDEX, *TRIGGERS.values(), *_CACHE)


def create_database(
    path: Path, generation: str, *, now: str = "2026-01-01T00:00:00+00:00", default_agent_id: str | None = None
) -> None:
    """Make an empty database as `new_database` does."""
    with new_database(path, generation, now=now, default_agent_id=default_agent_id):
        pass


@contextmanager
def new_database(
    path: Path, generation: str, *, now: str = "2026-01-01T00:00:00+00:00", default_agent_id: str | None = None
) -> Iterator[sqlite3.Connection]:
    """Make a database in WAL mode as ZeroClaw leaves it, 0600; `path` must not exist. What is to be in it is written
    within.

    From G3 on it holds the agent `default`, whose id is a new UUID unless one is given, and the schema's version.
    At the end all of it is in the one file and on the disk, and SQLite finds every page whole. Raises FileExistsError,
    sqlite3.Error and OSError, also where the disk did not take all of it; what is at `path` is then of no use.
    """
    # SQLite would make it readable by all, and its -wal and -shm like it.
    os.close(new_file(path))
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("BEGIN IMMEDIATE")
        for statement in statements(generation):
            connection.execute(statement)
        if generation in ("G3", "G4"):
            agent = (default_agent_id or str(uuid.uuid4()), "default", now)
            connection.execute("INSERT INTO agents (id, alias, created_at) VALUES (?, ?, ?)", agent)
            connection.execute("INSERT INTO schema_version VALUES ('memories', 1, ?)", (now,))
        yield connection
        connection.execute("COMMIT")
        size = _finish(connection)
    put_on_disk(path, size)


def _finish(connection: sqlite3.Connection) -> int:
    """Fold in the log while its failures are still told: SQLite keeps them to itself when it closes a database.

    Gives the bytes that the file must have.
    """
    ((is_busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if is_busy:
        raise sqlite3.OperationalError("another program has it open")
    ((found, *_), *_) = connection.execute("PRAGMA quick_check(1)").fetchall()
    if found != "ok":
        raise sqlite3.DatabaseError(f"its pages are not whole: {found}")
    return math.prod(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))


def _tables(generation: str) -> Sequence[str]:
    match generation:
        case "G1":
            return (_G1_TABLE,)
        case "G2":
            return (_G2_TABLE,)
        case "G3":
            return (_AGENTS, _OWNED.format(further=""), _SCHEMA_VERSION)
        case "G4":
            return (_AGENTS, _OWNED.format(further=_G4_COLUMNS), _SCHEMA_VERSION, _META)
    raise ValueError(f"{generation!r} is none of {', '.join(GENERATIONS)}")


def _indexes(generation: str) -> list[str]:
    made = [
        f"CREATE INDEX idx_memories_{column.removesuffix('_id') if column == 'session_id' else column} "
        f"ON memories({column})"
        for column in _INDEXES[generation]
    ]
    if generation == "G4":
        made.append("CREATE INDEX idx_memories_namespace_category ON memories(namespace, category)")
    return made
