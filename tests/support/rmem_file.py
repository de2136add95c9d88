"""Databases of R-Mem, created with the statements of its versions and changed as R-Mem changes them.

The tables are those of R-Mem 0.3.0 (https://github.com/Adaimade/R-Mem, src/store.rs and src/graph.rs); 0.2.x has no
category. All texts are made up.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

BEES, BREAD = "0b0e7c1e-0000-4000-8000-000000000001", "1c1f8d2f-0000-4000-8000-000000000002"
WHITE_BREAD = f"{BREAD}:superseded:0b0e7c1e-0000-4000-8000-0000000000a1"
BEES_KEY, BREAD_KEY, WHITE_KEY = "rmem_0b0e7c1e0000", "rmem_1c1f8d2f0000", "rmem_1c1f8d2f0000_v1"

_MEMORIES = """
CREATE TABLE memories (id TEXT PRIMARY KEY, user_id TEXT NOT NULL, text TEXT NOT NULL, {category}embedding BLOB,
    created_at TEXT DEFAULT (datetime('now')), updated_at TEXT DEFAULT (datetime('now')));
CREATE INDEX idx_memories_user ON memories(user_id);
CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_id TEXT NOT NULL, action TEXT NOT NULL,
    old_text TEXT, new_text TEXT, created_at TEXT DEFAULT (datetime('now')));
CREATE TABLE entities (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL, name TEXT NOT NULL,
    entity_type TEXT DEFAULT '', mentions INTEGER DEFAULT 1, created_at TEXT DEFAULT (datetime('now')),
    UNIQUE(user_id, name));
CREATE TABLE relations (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL, source TEXT NOT NULL,
    relation TEXT NOT NULL, destination TEXT NOT NULL, mentions INTEGER DEFAULT 1, valid INTEGER DEFAULT 1,
    created_at TEXT DEFAULT (datetime('now')), updated_at TEXT DEFAULT (datetime('now')), invalidated_at TEXT,
    UNIQUE(user_id, source, relation, destination));
CREATE INDEX idx_relations_user ON relations(user_id);
"""
_INDEX = """
CREATE VIRTUAL TABLE memories_fts USING fts5(text, content='memories', content_rowid='rowid');
CREATE TABLE archive (id TEXT PRIMARY KEY, user_id TEXT NOT NULL, text TEXT NOT NULL, embedding BLOB,
    reason TEXT NOT NULL, superseded_by TEXT, archived_at TEXT DEFAULT (datetime('now')), original_created_at TEXT);
CREATE INDEX idx_archive_user ON archive(user_id);
"""
_CATEGORY = "CREATE INDEX idx_memories_category ON memories(user_id, category);"


def vector(*numbers: float) -> bytes:
    """Return a vector as R-Mem stores it."""
    return struct.pack(f"<{len(numbers)}f", *numbers)


class RMemFile:
    """A database, with R-Mem's own operations on it."""

    def __init__(self, path: Path, version: str = "0.3.0") -> None:
        self.path, self.version = path, version
        category = "category TEXT DEFAULT 'misc', " if version == "0.3.0" else ""
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_MEMORIES.format(category=category))
            connection.executescript(_INDEX)
            if version == "0.3.0":
                connection.executescript(_CATEGORY)

    def run(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """Run one statement and commit."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            return connection.execute(statement, values).fetchall()

    def add(
        self,
        id: str,
        user: str,
        text: str,
        embedding: bytes | None,
        *,
        category: str = "misc",
        at: str = "2026-04-10 09:00:00",
        indexed: bool = True,
    ) -> None:
        """Store a memory as R-Mem does; one that is not `indexed` is older than the keyword index."""
        self.run(
            "INSERT INTO memories (id, user_id, text, embedding, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)",
            id, user, text, embedding, at, at,
        )  # fmt: skip
        if self.version == "0.3.0":
            self.run("UPDATE memories SET category = ? WHERE id = ?", category, id)
        self.run("INSERT INTO history (memory_id, action, new_text, created_at) VALUES (?, 'ADD', ?, ?)", id, text, at)
        if indexed:
            self.run("INSERT INTO memories_fts(rowid, text) SELECT rowid, text FROM memories WHERE id = ?", id)

    def delete(self, id: str) -> None:
        """Delete a memory as R-Mem does: its words stay in the keyword index."""
        self.run(
            "INSERT OR IGNORE INTO archive (id, user_id, text, embedding, reason, original_created_at) "
            "SELECT id, user_id, text, embedding, 'DELETED', created_at FROM memories WHERE id = ?",
            id,
        )
        self.run(
            "INSERT INTO history (memory_id, action, old_text) SELECT id, 'DELETE', text FROM memories WHERE id = ?", id
        )
        self.run("DELETE FROM memories WHERE id = ?", id)

    def relate(
        self, user: str, source: str, relation: str, destination: str, *, valid: int = 1, mentions: int = 1
    ) -> None:
        """Add a relation to the graph."""
        self.run(
            "INSERT INTO relations (user_id, source, relation, destination, valid, mentions, created_at, updated_at) "
            "VALUES (?, ?, ?, ?, ?, ?, '2026-04-12 09:00:00', '2026-04-12 09:00:00')",
            user, source, relation, destination, valid, mentions,
        )  # fmt: skip

    def everything(self) -> dict[str, list[tuple[object, ...]]]:
        """Return every row of R-Mem's own tables, by table name."""
        tables = ["memories", "history", "relations", "archive"]
        return {table: self.run(f"SELECT rowid, * FROM {table} ORDER BY rowid") for table in tables}


def create_milas_store(path: Path, version: str = "0.3.0") -> RMemFile:
    """Create a database with Mila's two memories, an earlier text of one of them and a relation."""
    file = RMemFile(path, version)
    file.add(BEES, "mila", "Mila keeps bees on the roof", vector(1, 0, 0), category="personal")
    file.add(
        BREAD, "mila", "Mila prefers rye bread", vector(0, 1, 0), category="preference", at="2026-04-11 09:00:00"
    )  # fmt: skip
    file.run(
        "INSERT INTO archive (id, user_id, text, embedding, reason, superseded_by, archived_at, "
        "original_created_at) VALUES (?, 'mila', 'Mila prefers white bread', ?, 'SUPERSEDED', ?, "
        "'2026-04-11 09:00:00', '2026-04-09 09:00:00')",
        WHITE_BREAD, vector(0, 0.9, 0.1), BREAD,
    )  # fmt: skip
    file.relate("mila", "Mila", "sells", "Honey")
    return file


def create_with_contents(path: Path, contents: Sequence[tuple[str, str, str]], version: str = "0.3.0") -> RMemFile:
    """Create a database of one user's memories with these ids, contents and categories, each with its own vector."""
    file = RMemFile(path, version)
    for number, (id, content, category) in enumerate(contents):  # noqa: A001
        at = f"2026-10-{1 + number:02} 09:00:00"
        file.add(id, "mila", content, vector(1, number, 0), category=category, at=at)
    return file
