"""Empty databases of each ZeroClaw generation and of its hydration, and a database opened by another process."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from zeroclaw_tui.backends.sqlite.schema import KEYWORD_INDEX, new_database

HYDRATED = "hydrated"
"""The database that ZeroClaw makes from MEMORY_SNAPSHOT.md and then cannot open."""
_HYDRATED = (
    "CREATE TABLE memories (id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT NULL, "
    "category TEXT NOT NULL DEFAULT 'core', embedding BLOB, created_at TEXT NOT NULL, updated_at TEXT NOT NULL)",
    "CREATE INDEX idx_mem_key ON memories(key)",
    "CREATE INDEX idx_mem_cat ON memories(category)",
    "CREATE INDEX idx_mem_updated ON memories(updated_at)",
    KEYWORD_INDEX,
    "CREATE TABLE embedding_cache (content_hash TEXT PRIMARY KEY, embedding BLOB NOT NULL, created_at TEXT NOT NULL)",
)


def create_database(
    path: Path, generation: str, *, now: str = "2026-01-01T00:00:00+00:00", default_agent_id: str | None = None
) -> None:
    """Create an empty database of a generation ("G1" to "G4"), or the hydrated one (HYDRATED)."""
    if generation != HYDRATED:
        with new_database(path, generation, now=now, default_agent_id=default_agent_id):
            return
    path.touch(mode=0o600, exist_ok=False)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        for statement in _HYDRATED:
            connection.execute(statement)


_HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
connection.execute(sys.argv[2])
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def opened_elsewhere(database: Path, statement: str = "SELECT 1") -> Iterator[int]:
    """Have another process run a statement and keep the database open; yield its process id."""
    command = [sys.executable, "-c", _HOLDER, str(database), statement]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process.pid
        finally:
            process.communicate()
