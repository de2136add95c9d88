"""Real snapshots, and texts that ZeroClaw's format handles badly."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from support import golden
from support.memories import MemoryEntry

VERSIONS = [version for version in ("0.1.7", "0.7.5", "0.8.3", "0.8.4") if golden.has(version, "MEMORY_SNAPSHOT.md")]
FOREIGN_FILE = "# Notes\n\nWhat another program keeps under this name.\n"

PIECES = (
    "plain words", "---", " --- ", "*Created: x*", "*Created: a | Updated: b*", "### 🔑 `key 1`", "### 🔑 `other`",
    "### 🔑 ``", "### 🔑 `", "", "  indented", "# heading", "`", "\x00", "日本語", "\r", "two\r", "\x85", "\u2028",
    "\x1c", "{brace}", "# 🧠 ZeroClaw Memory Snapshot",
)  # fmt: skip


def _recorded(version: str, name: str) -> bytes:
    source = golden.FOLDER / version / name
    return source.read_bytes() if source.exists() else gzip.decompress(Path(f"{source}.gz").read_bytes())


def real_snapshot(version: str) -> str:
    """Return MEMORY_SNAPSHOT.md as that version exported it from its brain.db."""
    return _recorded(version, "MEMORY_SNAPSHOT.md").decode()


def recorded_hydration(version: str, folder: Path) -> list[tuple[str, str]]:
    """Return the keys and contents that this version's hydration read from the snapshot, in the order of storing."""
    if golden.has(version, "hydrated.json"):
        return [(key, content) for key, content in golden.runs(version, "hydrated")]
    database = folder / "hydrated.db"
    database.write_bytes(_recorded(version, "hydrated_brain.db"))
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute("SELECT key, content FROM memories ORDER BY rowid").fetchall()


def rows_in(database: Path, columns: Sequence[str] = ("*",)) -> list[tuple[Any, ...]]:
    """Return the rows of a database, after SQLite's checks of the file and the keyword index."""
    with closing(sqlite3.connect(database)) as connection:
        connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.execute("INSERT INTO memories_fts(memories_fts, rank) VALUES ('integrity-check', 1)")
        connection.rollback()
        return connection.execute(f"SELECT {', '.join(columns)} FROM memories ORDER BY id").fetchall()


def entry(key: str, content: str, **more: Any) -> MemoryEntry:
    """Return a core memory."""
    at = "2026-03-01T10:00:00.000000001+00:00"
    return MemoryEntry(
        **{"id": "i", "category": "core", "timestamp": at, "updated_at": at, **more}, key=key, content=content
    )
