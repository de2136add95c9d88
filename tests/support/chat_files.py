"""Create a sessions.db as ZeroClaw 0.8.4 does, filled with made-up chat.

The tables are those of session_sqlite.rs at v0.8.4.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

_SESSIONS = """
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_key TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX idx_sessions_key ON sessions(session_key);
CREATE INDEX idx_sessions_key_id ON sessions(session_key, id);
CREATE VIRTUAL TABLE sessions_fts USING fts5(session_key, content, content=sessions, content_rowid=id);
CREATE TRIGGER sessions_ai AFTER INSERT ON sessions BEGIN
    INSERT INTO sessions_fts(rowid, session_key, content) VALUES (new.id, new.session_key, new.content);
END;
"""
Said = tuple[str, str, str]
"""Role, content, time."""


def write_chat(root: Path, key: str, said: Iterable[Said]) -> Path:
    """Add messages of one session to the sessions.db of a workspace or data folder."""
    file = _create(root / "sessions" / "sessions.db", _SESSIONS)
    with closing(sqlite3.connect(file)) as connection, connection:
        for role, content, at in said:
            connection.execute(
                "INSERT INTO sessions (session_key, role, content, created_at) VALUES (?, ?, ?, ?)",
                (key, role, content, at),
            )
    return file


def _create(file: Path, schema: str) -> Path:
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            connection.executescript(schema)
    return file
