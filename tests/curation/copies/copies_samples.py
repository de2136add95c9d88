"""Whole installs with everything ZeroClaw leaves beside its store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

SECRET = "The door code is 4711, tell nobody"
OTHER = "Prefers Rust for tools and Python for plots"

_RESPONSES = """CREATE TABLE response_cache (prompt_hash TEXT PRIMARY KEY, model TEXT NOT NULL, response TEXT NOT NULL,
  token_count INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL, accessed_at TEXT NOT NULL,
  hit_count INTEGER NOT NULL DEFAULT 0)"""
_AUDIT = """CREATE TABLE memory_audit (id INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT NOT NULL, key TEXT,
  namespace TEXT, session_id TEXT, timestamp TEXT NOT NULL, metadata TEXT)"""


@dataclass(frozen=True)
class Place:
    """A config dir, its workspace or data folder, and the database in it."""

    config_dir: Path
    root: Path
    database: Path

    def write(self, name: str, text: str | bytes) -> Path:
        """A file under the root."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path


def make_side_databases(place: Place) -> None:
    """audit.db and response_cache.db, both in WAL mode and closed."""
    memory = place.database.parent
    with closing(sqlite3.connect(memory / "audit.db")) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(_AUDIT)
        for key in ("door", "door", "lang"):
            connection.execute("INSERT INTO memory_audit (operation, key, timestamp) VALUES ('store', ?, 'x')", (key,))
    with closing(sqlite3.connect(memory / "response_cache.db")) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(_RESPONSES)
        for name, answer in (("a", f"You told me: {SECRET}!"), ("b", "Nothing of the kind")):
            connection.execute("INSERT INTO response_cache VALUES (?, 'm', ?, 1, 'x', 'x', 0)", (name, answer))
